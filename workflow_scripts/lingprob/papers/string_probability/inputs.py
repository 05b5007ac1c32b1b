"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "scores": Table("string_scores", ("plot",)),
    "correlations": Table("string_correlations"),
    "separation": Table("string_separation"),
    "roc": Table("string_roc", ("plot",)),
    "toy_stimuli": Table("stimuli", ("plot",)),
    "toy_scores": Table("sentence_scores", ("plot",), "model"),
    "datasets": Table(None, ("compare",)),
    "filters": Table(None, ("compare",)),
}
