"""Texts that people read: raw corpora to tables of words."""
