"""Exact overlap of texts with corpora of any size, in memory that depends only on the texts."""
