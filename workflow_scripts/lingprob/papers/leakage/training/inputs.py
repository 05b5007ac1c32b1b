"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "perplexity": Table("perplexity"),
    "passages": Table("passage_logprobs", ("compare",)),
    "logs": Table(None, ("plot",), "size"),
}
