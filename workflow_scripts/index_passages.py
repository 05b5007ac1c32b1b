"""Index the passages of the reading-time corpora."""

from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import save_arrays
from lingprob.overlap.corpora import index_texts
from lingprob.reading.texts import passage_texts
from lingprob.workflow import job

with job(snakemake):
    words = [read_table(path, "words") for path in snakemake.input.words]
    texts = dict(zip(snakemake.params.texts, map(passage_texts, words), strict=True))
    tokenizer = open_tokenizer(snakemake.input.tokenizer)
    index, passages = index_texts(texts, tokenizer)
    save_arrays(index, snakemake.output.index)
    write_table(
        passages,
        "overlap_passages",
        snakemake.output.passages,
        {"tokenizer_sha256": tokenizer.sha256, "index_digest": index.digest},
    )
