"""Ordinal mixed regression of single judgments, participants and items crossed."""
