"""Parsers of reading times; `names` has them by the name that a catalog entry gives.

Each takes (files, words, entry, seed) and returns subject_id, passage_id, word_index and rt_ms (ms;
NaN or 0 where a word was not fixated) and, where known, word, previous_fixated, saccade (words),
at_edge (of a line or screen) and correct (answers to comprehension questions).
"""
