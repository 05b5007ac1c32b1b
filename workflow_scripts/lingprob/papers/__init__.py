"""Compute the numbers of papers from tables, with one package per paper."""
