"""SyntaxGym's suites as pairs of whole sentences: the subset fit for sentence scores.

The paper says "the subset of SyntaxGym compatible with sentence scoring" (string_probability, note
3) and counts 1,018 pairs. It does not name the suites; these are the only choice found that gives
the count: each contrast between a grammatical and an ungrammatical condition of one item, in the
suites whose predictions are such contrasts. Garden-path and licensing suites are none of them, and
of the modified suites only those for number, reflexives, subordination, clefts and embedding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli import suites
from lingprob.stimuli.checks import NO_RATINGS

MATCH = [("match_sing", "mismatch_sing"), ("match_plural", "mismatch_plural")]
SUBORDINATION = [("sub_matrix", "no-sub_matrix"), ("no-sub_no-matrix", "sub_no-matrix")]
FILLER_GAP = [("what_gap", "that_gap"), ("that_nogap", "what_nogap")]
EMBEDDED_FILLER_GAP = [("what_gap", "that_gap"), ("that_no-gap", "what_no-gap")]
PLAUSIBILITY = [("plaus", "implaus")]
CLEFT = [("np_match", "np_mismatch"), ("vp_match", "vp_mismatch")]
# Grammatical and ungrammatical condition, by suite.
CONTRASTS = {
    **dict.fromkeys(["number_orc", "number_prep", "number_src"], MATCH),
    **{
        f"reflexive_{modifier}_{gender}": MATCH
        for modifier in ("orc", "prep", "src")
        for gender in ("fem", "masc")
    },
    **dict.fromkeys(
        ["subordination", "subordination_orc-orc", "subordination_pp-pp", "subordination_src-src"],
        SUBORDINATION,
    ),
    **dict.fromkeys(["center_embed", "center_embed_mod"], PLAUSIBILITY),
    **dict.fromkeys(["cleft", "cleft_modifier"], CLEFT),
    **dict.fromkeys(["fgd_object", "fgd_pp", "fgd_subject"], FILLER_GAP),
    **dict.fromkeys(["fgd-embed3", "fgd-embed4"], EMBEDDED_FILLER_GAP),
    "fgd_hierarchy": [("that_nogap", "what_nogap"), ("what_subjgap", "that_subjgap")],
}


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every contrast of `CONTRASTS` as a pair, good sentence first."""
    whole, _ = suites.parse(dataset, entry, directory, seed)
    whole = whole.set_index("item_id")
    pairs = []
    for suite, contrasts in CONTRASTS.items():
        sentences = whole[whole["paradigm"] == suite]
        for good, bad in contrasts:
            missing = {good, bad} - set(sentences["condition"])
            if missing:
                raise LingprobError(
                    f"data set {dataset!r}, suite {suite!r}: no condition {sorted(missing)[0]!r}. "
                    "Fetch the suites again."
                )
            pair_id = sentences["pair_id"] + f"/{good}"
            for side, condition in (("good", good), ("bad", bad)):
                chosen = sentences[sentences["condition"] == condition]
                pairs.append(
                    chosen.assign(
                        pair_id=pair_id[chosen.index],
                        condition=side,
                        grammatical=side == "good",
                        item_id=pair_id[chosen.index] + f".{side}",
                    )
                )
    table = pd.concat(pairs).sort_values("pair_id", kind="stable").reset_index(drop=True)
    return table, NO_RATINGS
