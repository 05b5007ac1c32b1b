"""Write each passage's longest overlaps with a corpus."""

import logging

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.ngrams.words import load_word_model
from lingprob.overlap.automaton import PassageIndex, load_arrays, save_arrays
from lingprob.overlap.matches import Matches, merge
from lingprob.papers.leakage.overlaps import PUBLISHED_COLUMNS, overlap_table, with_chance_level
from lingprob.workflow import job

logger = logging.getLogger(__name__)

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    searched = snakemake.wildcards.corpus
    matches = merge([load_arrays(Matches, path) for path in inputs.scans])
    save_arrays(matches, snakemake.output.counts)
    overlaps = overlap_table(
        load_arrays(PassageIndex, inputs.index),
        read_table(inputs.passages, "overlap_passages"),
        matches,
        open_tokenizer(inputs.tokenizer).decode,
        searched,
        params.scale,
    )
    n_words = params.n_words or matches.n_words
    if inputs.ngrams and n_words:
        overlaps = with_chance_level(overlaps, load_word_model(inputs.ngrams), n_words)
    else:
        why = params.no_chance_level or "the words of these token ids were not counted"
        logger.warning("%s: no chance level: %s", searched, why)
    write_csv(overlaps[PUBLISHED_COLUMNS], snakemake.output.csv)
    provenance = {"tokens": matches.n_tokens, "files": len(inputs.scans)}
    write_table(overlaps, "overlap", snakemake.output.parquet, provenance)
