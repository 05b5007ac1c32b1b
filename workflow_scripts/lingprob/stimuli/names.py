"""Which module has the function `parse` for the parser that a catalog entry names."""

from __future__ import annotations

from lingprob.errors import looked_up

PARSERS = {
    "blimp": "lingprob.stimuli.blimp",
    "cola": "lingprob.stimuli.cola",
    "crows_pairs": "lingprob.stimuli.crows_pairs",
    "hll": "lingprob.stimuli.hll",
    "li_adger": "lingprob.stimuli.li_adger",
    "li_large": "lingprob.stimuli.li_large",
    "linguistic_inquiry": "lingprob.stimuli.linguistic_inquiry",
    "minimal_pairs": "lingprob.stimuli.minimal_pairs",
    "scamp": "lingprob.stimuli.scamp",
    "sling": "lingprob.stimuli.sling",
    "syntaxgym": "lingprob.stimuli.suites",
    "syntaxgym_pairs": "lingprob.stimuli.syntaxgym_pairs",
    "table": "lingprob.stimuli.user_table",
    "toy_strings": "lingprob.stimuli.toy_strings",
    "zhoblimp": "lingprob.stimuli.zhoblimp",
}


def parser_module(dataset: str, parser: str) -> str:
    """Return the module of a data set's parser. Raises LingprobError if there is none."""
    return looked_up("parser", parser, PARSERS, f"(datasets.{dataset}.parser)")
