"""Leakage, Study 2: models trained without it, and fine-tuned on it (Oh, Zhu & Schuler 2025)."""

from lingprob.papers.rooms import Table

TABLES = {
    "perplexity": Table("perplexity"),
    "logs": Table(None, part="size", compared=False),
}
