"""Sum token log-probabilities to sentence scores under each convention."""

from lingprob.scoring.sentences import summarise_sentences
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    scores = [read_table(path, "scores") for path in snakemake.input.scores]
    unigrams = [read_table(path, "unigrams") for path in snakemake.input.unigrams]
    sentences = summarise_sentences(
        stimuli,
        dict(zip(params.start_tokens, scores, strict=True)),
        params.bos_policies,
        {
            source: table.set_index("token_id")["logprob"]
            for source, table in zip(params.unigrams, unigrams, strict=True)
        },
    )
    write_table(sentences, "sentence_scores", snakemake.output[0], dict(snakemake.wildcards))
