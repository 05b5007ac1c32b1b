"""What n-gram models are estimated from, and by which program."""

from __future__ import annotations

from typing import Any

from lingprob.kenlm import PROGRAMS, lmplz_missing
from lingprob.plan.data import Plan


def ngram_inputs(plan: Plan, model: str) -> dict[str, Any]:
    """Return what a model of source `ngram` is estimated from: `corpus`, `tokenizer` (none where
    its tokens are words) and `programs`, KenLM's (none where they cannot be had, or not asked for).
    """
    entry = plan.catalog.model(model)
    words, asked = entry["tokenizer"] == model, entry["estimator"]
    counted = asked == "counts" or (asked == "auto" and lmplz_missing() is not None)
    return {
        "corpus": plan.corpus_files(entry["corpus"]),
        "tokenizer": [] if words else plan.tokenizer_manifest(entry["tokenizer"]),
        "programs": [] if counted else [f"resources/tools/kenlm/{name}" for name in PROGRAMS],
    }
