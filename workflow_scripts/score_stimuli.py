"""Score data sets with one model: tokens after each start token, and sentences."""

from pathlib import Path

from lingprob.io.tables import read_table, with_texts, write_csv, write_table
from lingprob.scoring.sentences import summarise_sentences
from lingprob.scoring.stimuli import load_for_stimuli
from lingprob.unigrams.estimate import read_unigrams
from lingprob.workflow import job, work_settings

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    score, provenance = load_for_stimuli(
        snakemake.input.model,
        params.entry,
        {"device": params.device, "dtype": params.dtype, **work_settings(snakemake, "device_map")},
        {
            "directory": Path("resources/shards/scores", params.model),
            **work_settings(snakemake, "tokens_per_batch", "sentences_per_shard"),
        },
        engine=params.engine,
        workers=snakemake.threads,
    )
    unigrams = read_unigrams(params.unigrams, snakemake.input.unigrams)
    token_files = iter(output.tokens)
    files = zip(snakemake.input.stimuli, output.sentences, output.csv, strict=True)
    for stimuli_file, sentence_file, csv in files:
        stimuli, dataset = read_table(stimuli_file, "stimuli"), Path(stimuli_file).stem
        tokens = {}
        for name, start_token in params.start_tokens.items():
            tokens[name] = score(stimuli, start_token, dataset)
            origin = provenance | {"start_token": start_token}
            write_table(tokens[name], "scores", next(token_files), origin)
        sentences = summarise_sentences(stimuli, tokens, params.bos_policies, unigrams)
        origin = {"model": params.model, "dataset": stimuli["dataset"].iloc[0]}
        sentences = sentences.assign(**origin)
        write_table(sentences, "sentence_scores", sentence_file, origin)
        write_csv(with_texts(sentences, "sentence_scores", stimuli), csv)
