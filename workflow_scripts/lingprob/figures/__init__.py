"""Figures from result tables: what those of all papers share."""
