"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "scores": Table("string_scores", ("plot",)),
    "correlations": Table("string_correlations"),
    "separation": Table("string_separation"),
    "roc": Table("string_roc", ("plot",)),
    "confounds": Table("string_confounds"),
    "pools": Table("string_pools"),
    "paradigms": Table(None, ("plot",)),
    "stimuli": Table("stimuli", ("plot",), "dataset"),
    "toy_stimuli": Table("stimuli"),
    "toy_scores": Table("sentence_scores", part="model"),
    "datasets": Table(None, ("compare",)),
    "filters": Table(None, ("compare",)),
}
