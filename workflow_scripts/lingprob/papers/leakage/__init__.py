"""Inverse scaling and leakage (Oh et al. 2025): overlaps, trainings, and reading times."""
