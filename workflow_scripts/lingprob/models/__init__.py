"""Functions that fetch, check, convert and load language models."""
