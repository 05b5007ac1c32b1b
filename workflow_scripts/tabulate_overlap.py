"""Write each passage's longest overlaps with a corpus."""

import logging

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.ngrams.words import load_word_model
from lingprob.overlap.automaton import load_index
from lingprob.overlap.chance import PUBLISHED_COLUMNS
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.streaming import load_result, merge
from lingprob.papers.leakage.overlaps import overlap_table, with_chance_level
from lingprob.workflow import job

logger = logging.getLogger(__name__)

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    searched = snakemake.wildcards.corpus
    index, result = load_index(inputs.index), merge([load_result(path) for path in inputs.scans])
    result.save(snakemake.output.counts)
    overlaps = overlap_table(
        index,
        read_table(inputs.passages, "overlap_passages"),
        longest_matches(index, result),
        open_tokenizer(inputs.tokenizer).decode,
        searched,
        params.scale,
    )
    n_words = params.n_words or result.n_words
    if inputs.ngrams and n_words:
        overlaps = with_chance_level(overlaps, load_word_model(inputs.ngrams), n_words)
    else:
        why = params.no_chance_level or "nobody counted the words of these token ids"
        logger.warning("%s: no chance level: %s", searched, why)
    write_csv(overlaps[PUBLISHED_COLUMNS], snakemake.output.csv)
    provenance = {"tokens": result.n_tokens, "files": len(result.files)}
    write_table(overlaps, "overlap", snakemake.output.parquet, provenance)
