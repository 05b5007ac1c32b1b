"""Fit the regressions of one data set without the words that corpora have."""

import numpy as np

from lingprob.io.tables import read_table, write_csv
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import PassageIndex, load_arrays
from lingprob.overlap.matches import Matches
from lingprob.papers.leakage.regressions import read_study
from lingprob.workflow import job
from studies.leaked_words.analysis import covering_lengths, deltas_without_leaked_words

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    study = read_study(
        snakemake.wildcards.dataset, params.entry, params.models, dict(files.items())
    )
    index, passages = (
        load_arrays(PassageIndex, files.index),
        read_table(files.passages, "overlap_passages"),
    )
    numbers = passages.index[passages["corpus"] == params.entry["texts"]].tolist()
    tokenizer = open_tokenizer(files.tokenizer).tokenizer
    leakage = [
        covering_lengths(study.words, numbers, index, load_arrays(Matches, path).lengths, tokenizer)
        for path in files.scans
    ]
    deltas = deltas_without_leaked_words(
        study,
        np.max(leakage, axis=0),
        contexts=params.contexts,
        corrections=params.corrections,
        **params.options,
    )
    write_csv(deltas, snakemake.output[0])
