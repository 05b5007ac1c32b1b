"""Leakage, Study 1: overlaps of reading-time texts with corpora (Oh, Zhu & Schuler 2025)."""

from lingprob.papers.rooms import Table

TABLES = {"overlaps": Table("overlap")}
