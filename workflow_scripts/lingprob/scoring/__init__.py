"""Compute token log-probabilities of texts under language models, and sum them over sentences."""
