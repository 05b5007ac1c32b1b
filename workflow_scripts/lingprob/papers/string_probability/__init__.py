"""String probability and grammaticality (Hu et al. 2026): three predictions on minimal pairs."""

from lingprob.papers.rooms import Table

TABLES = {
    "scores": Table("string_scores", compared=False),
    "correlations": Table("string_correlations"),
    "separation": Table("string_separation"),
    "roc": Table("string_roc", compared=False),
    "confounds": Table("string_confounds"),
    "pools": Table("string_pools"),
    "paradigms": Table(None, compared=False),
    "toy_stimuli": Table("stimuli"),
    "toy_scores": Table("sentence_scores", part="model"),
    "datasets": Table(None, drawn=False),
    "filters": Table(None, drawn=False),
}
