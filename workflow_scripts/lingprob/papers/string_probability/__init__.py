"""String probability and grammaticality (Hu et al. 2026): three predictions on minimal pairs."""

from lingprob.papers.rooms import Table

TABLES = {
    "scores": Table("string_scores", compared=False),
    "correlations": Table("string_correlations"),
    "separation": Table("string_separation"),
    "roc": Table("string_roc", compared=False),
    "toy_stimuli": Table("stimuli", compared=False),
    "toy_scores": Table("sentence_scores", part="model", compared=False),
    "datasets": Table(None, drawn=False),
    "filters": Table(None, drawn=False),
}
