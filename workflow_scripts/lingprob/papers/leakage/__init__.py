"""Inverse scaling and leakage (Oh et al. 2025), a room a study: overlap, training, reading."""
