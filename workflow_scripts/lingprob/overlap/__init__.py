"""Overlap of stimuli with corpora of any size, exact, in the memory of the stimuli."""

from lingprob.overlap.automaton import StimulusIndex, build_index, load_index
from lingprob.overlap.cdawg import Cdawg, build_cdawg, load_cdawg
from lingprob.overlap.chunks import select_chunks, summarise_chunks
from lingprob.overlap.passages import longest_matches, overlap_texts, passage_overlaps
from lingprob.overlap.streaming import ScanResult, load_result, merge, scan
from lingprob.overlap.token_blocks import TokenBlock, block_of, count_rows, read_rows, read_texts

__all__ = [
    "Cdawg",
    "ScanResult",
    "StimulusIndex",
    "TokenBlock",
    "block_of",
    "build_cdawg",
    "build_index",
    "count_rows",
    "load_cdawg",
    "load_index",
    "load_result",
    "longest_matches",
    "merge",
    "overlap_texts",
    "passage_overlaps",
    "read_rows",
    "read_texts",
    "scan",
    "select_chunks",
    "summarise_chunks",
]
