"""The tables that this room takes, by name."""

from lingprob.papers.rooms import Table

TABLES = {"overlaps": Table("overlap"), "chunks": Table("overlap_chunks", ("compare",))}
