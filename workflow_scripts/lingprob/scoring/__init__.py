"""Language models in, token log-probabilities out."""
