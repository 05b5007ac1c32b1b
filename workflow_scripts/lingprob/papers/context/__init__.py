"""Judgements in context (Sinha et al. 2023): minimal pairs after growing prefixes."""

from lingprob.papers.rooms import Table

TABLES = {
    "accuracy": Table("context_accuracy"),
    "regression": Table("context_regression", drawn=False),
    "matrix": Table("context_matrix"),
    "overlap": Table("context_overlap", compared=False),
    "correlations": Table("context_correlations"),
    "points": Table("context_points", compared=False),
}
