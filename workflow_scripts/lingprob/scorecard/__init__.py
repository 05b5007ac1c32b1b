"""Verdicts: a paper's numbers and claims beside ours, judged by intervals."""
