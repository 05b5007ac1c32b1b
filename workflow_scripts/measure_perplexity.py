"""Measure the perplexity of reading-time corpora under every trained model."""

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.reading.texts import passage_texts
from lingprob.training.fine_tuning import passage_logprobs, perplexities
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    words = [read_table(path, "words") for path in snakemake.input.words]
    texts = {
        name: passage_texts(table).tolist() for name, table in zip(params.texts, words, strict=True)
    }
    manifests = zip(snakemake.input.models, params.models.values(), strict=True)
    passages = passage_logprobs(
        dict(zip(params.models, manifests, strict=True)),
        texts,
        device=params.device,
        scale=params.scale,
    )
    table = perplexities(passages)
    write_csv(table, snakemake.output.csv)
    write_table(table, "perplexity", snakemake.output.parquet)
    write_table(passages, "passage_logprobs", snakemake.output.passages)
