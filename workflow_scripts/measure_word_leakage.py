"""Write how long and how frequent a text's matches with a corpus are, word by word."""

from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import load_index
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.streaming import load_result
from lingprob.overlap.words import word_leakage
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    inputs = snakemake.input
    index, passages = load_index(inputs.index), read_table(inputs.passages, "overlap_passages")
    table = word_leakage(
        read_table(inputs.words, "words"),
        passages.index[passages["corpus"] == snakemake.wildcards.dataset].tolist(),
        index,
        longest_matches(index, load_result(inputs.counts)),
        open_tokenizer(inputs.tokenizer).tokenizer,
    )
    write_table(table, "word_leakage", snakemake.output[0], {"index_digest": index.digest})
