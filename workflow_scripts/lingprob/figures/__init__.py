"""Figures from result tables: one style, a module a paper."""
