"""Unigram log-probabilities: corpus counts, published tables and the unigrahams estimator."""
