"""The published minimal pairs: known counts, texts and odd pairs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.stimuli import build_stimuli

# Pairs, pairs of identical sentences, paradigms and phenomena.
PAIRS_AS_PUBLISHED = {
    "blimp": (67_000, 7, 67, 13),
    "scamp_plausible": (67_000, 0, 67, 67),
    "scamp_implausible": (67_000, 0, 67, 67),
    "zhoblimp": (35_400, 0, 118, 15),
    "sling": (40_000, 24, 40, 8),
}


def read_pairs(mirror: Path, dataset: str) -> pd.DataFrame:
    """Parse the mirror's files; the table, or a skip where the mirror lacks them."""
    entry = Catalog().dataset(dataset)
    first = entry["files"][0]
    path = mirror / first.get("mirror", f"{dataset}/{first['name']}")
    folder = Path(str(path).removesuffix(first["name"]))
    if not path.exists():
        pytest.skip(f"the mirror has no {path}")
    return build_stimuli(dataset, entry, folder, 0)[0]


@pytest.mark.parametrize("dataset", PAIRS_AS_PUBLISHED)
def test_counts_are_those_published(mirror, dataset):
    stimuli = read_pairs(mirror, dataset)
    pairs, identical, paradigms, phenomena = PAIRS_AS_PUBLISHED[dataset]
    assert stimuli["pair_id"].nunique() == pairs
    assert stimuli.groupby("pair_id").size().eq(2).all()
    assert (stimuli.groupby("pair_id")["text"].nunique() == 1).sum() == identical
    assert stimuli["paradigm"].nunique() == paradigms
    assert stimuli["phenomenon"].nunique() == phenomena


def test_a_pair_of_blimp_is_what_the_file_says(mirror):
    stimuli = read_pairs(mirror, "blimp").set_index("item_id")
    good, bad = (stimuli.loc[f"adjunct_island.0.{side}"] for side in ("good", "bad"))
    assert good["text"] == "Who should Derek hug after shocking Richard?"
    assert bad["text"] == "Who should Derek hug Richard after shocking?"
    assert good["pair_id"] == bad["pair_id"] == "adjunct_island.0"
    assert (good["condition"], good["grammatical"]) == ("good", True)
    assert (bad["condition"], bad["grammatical"]) == ("bad", False)
    assert good["phenomenon"] == "island_effects"
