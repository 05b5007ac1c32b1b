"""Verdicts on a paper's numbers and sentences, judged by intervals."""
