"""Overlap of texts with corpora of any size, exact, in the memory of the stimuli."""
