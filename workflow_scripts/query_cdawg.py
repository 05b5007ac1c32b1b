"""Write each passage's longest overlaps with a corpus from its DAWG, and check them by a scan's."""

from pathlib import Path

from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import PassageIndex, load_arrays
from lingprob.overlap.corpora import load_corpus, search
from lingprob.overlap.matches import merge
from lingprob.papers.leakage.overlaps import overlap_table, require_same_overlaps
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    tokenizer, index = open_tokenizer(inputs.tokenizer), load_arrays(PassageIndex, inputs.index)
    matches = search(load_corpus(Path(inputs.graphs)), index, tokenizer, params.min_length)
    overlaps = overlap_table(
        index,
        read_table(inputs.passages, "overlap_passages"),
        merge(matches),
        tokenizer.decode,
        snakemake.wildcards.corpus,
        params.scale,
    )
    require_same_overlaps(overlaps, read_table(inputs.scanned, "overlap"), inputs.scanned)
    write_table(overlaps, "overlap", snakemake.output[0], {"method": "cdawg"})
