"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {
    "deltas": Table("delta_log_likelihood"),
    "trends": Table("reading_trends", ("compare",)),
    "counts": Table("reading_counts", ("compare",)),
    "published": Table("published_delta"),
    "differences": Table("model_differences", ("plot",)),
}
