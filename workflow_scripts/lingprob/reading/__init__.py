"""Texts that people read and how long they took: to tables of words, times and surprisals."""
