"""Import one model's log-probabilities of tokens or sentences from a user's file."""

from pathlib import Path

from lingprob.io.tables import read_table, with_texts, write_csv, write_table
from lingprob.scoring.imported import import_scores, refuse_shared_ids
from lingprob.stimuli.linguistic_inquiry import published_scores
from lingprob.unigrams.estimate import read_unigrams
from lingprob.workflow import job

with job(snakemake):
    params, given, output = snakemake.params, snakemake.input, snakemake.output
    unigrams = read_unigrams(params.unigrams, given.unigrams)
    path, token_files = Path(params.path), iter(output.tokens)
    found = published_scores(path, params.published) if params.published else None
    tables = [read_table(file, "stimuli") for file in given.stimuli]
    refuse_shared_ids(path, tables)
    for stimuli, sentence_file, csv in zip(tables, output.sentences, output.csv, strict=True):
        tokens, sentences = import_scores(
            path, params.level, stimuli, params.bos_policies, unigrams, found
        )
        about = {"model": params.model, "dataset": stimuli["dataset"].iloc[0]}
        origin = about | {"imported_from": params.path}
        if tokens is not None:
            write_table(tokens, "scores", next(token_files), origin)
        sentences = sentences.assign(**about)
        write_table(sentences, "sentence_scores", sentence_file, origin)
        write_csv(with_texts(sentences, "sentence_scores", stimuli), csv)
