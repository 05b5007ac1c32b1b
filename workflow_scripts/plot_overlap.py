"""Draw Figures 1a and 1b: the longest overlap of each passage, its length and frequency."""

from lingprob.figures.style import save_figure
from lingprob.papers.leakage.overlap.analysis import one_per_passage
from lingprob.papers.leakage.overlap.figures import frequency_by_overlap, overlap_by_length
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    passages = one_per_passage(read_table(snakemake.input[0], "overlap"))
    draws = (overlap_by_length, frequency_by_overlap)
    for draw, pdf, png in zip(draws, snakemake.output.pdf, snakemake.output.png, strict=True):
        save_figure(draw(passages, snakemake.params.titles), pdf, png)
