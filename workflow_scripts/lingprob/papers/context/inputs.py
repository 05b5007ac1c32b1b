"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "accuracy": Table("context_accuracy", ("plot", "compare", "tabulate")),
    "regression": Table("context_regression", ("compare",)),
    "matrix": Table("context_matrix"),
    "overlap": Table("context_overlap", ("plot", "compare")),
    "correlations": Table("context_correlations"),
    "unprefixed": Table("context_unprefixed", ("plot",)),
    "points": Table("context_points", ("plot",)),
}
