"""Tabulate, draw and summarise all overlaps, and judge the paper's claims about them."""

from lingprob.figures import style
from lingprob.io.tables import read_tables, write_table
from lingprob.overlap.soft import longest_of_files, summarise_soft_overlaps
from lingprob.papers.leakage.overlap_claims import compare
from lingprob.papers.leakage.overlap_figures import draw
from lingprob.papers.leakage.overlaps import summarise_overlaps, with_published
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import write_scorecard_pages
from lingprob.site.page import write_pages
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    tables, run = read_tables(dict(files.items())), Run(**params.run)
    overlaps = with_published(tables["overlap"], params.published, run.scale)
    summary = {"summary": summarise_overlaps(overlaps, params.coverage)}
    write_pages(summary, {"summary": params.title}, [output.csv, output.html])
    write_table(overlaps, "overlap", output.overlap)
    for path in output.soft:
        soft = longest_of_files([tables["soft_overlap"]])
        pages = {"soft_overlaps": soft, "soft_summary": summarise_soft_overlaps(soft)}
        write_pages(pages, {"soft_summary": params.soft_title}, output.soft_pages)
        write_table(soft, "soft_overlap", path, params.soft)
    figures = draw({"overlap": overlaps}, run)
    card = compare(tables | {"overlap": overlaps}, run, params.coverage)
    card = with_failures(card, style.failures(figures))
    write_table(card, "scorecard", output.scorecard)
    write_scorecard_pages(card, output.pages, params.left_out)
    style.save_figures(figures, output.figures, params.left_out)
