"""Leakage, Study 2: reading times regressed on surprisal (Oh, Zhu & Schuler 2025)."""

from lingprob.papers.rooms import Table

TABLES = {
    "deltas": Table("delta_log_likelihood"),
    "counts": Table("reading_counts", drawn=False),
    "published": Table("published_delta"),
}
