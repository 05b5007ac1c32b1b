"""Parse SyntaxGym's test suites (Hu et al. 2020): items, conditions, regions and predictions.

Regions are joined to a sentence by single spaces, and empty ones are left out. A comma or period
follows the word before it directly, as in running text. A region's characters include the space
before it, so that every character of a sentence belongs to one region.

Some suites also give pairs of whole sentences. The paper has "the subset of SyntaxGym compatible
with sentence scoring" (string_probability, note 3), with 1,018 pairs, but does not name the suites.
These are the only choice found that gives the count: each contrast between a grammatical and an
ungrammatical condition of one item, in the suites whose predictions are such contrasts. They
exclude garden-path and licensing suites, and all modified suites but those for number, reflexives,
subordination, clefts and embedding.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lingprob.io.files import dataset_paths
from lingprob.stimuli.formulas import Formula, parse_formula
from lingprob.stimuli.tables import NO_RATINGS, SIDES, Entry, Parsed

# The circuits of Hu et al. (2020, §3), by the start of a suite's name.
PHENOMENA = {
    "center_embed": "center_embedding",
    "cleft": "long_distance_dependencies",
    "fgd": "long_distance_dependencies",
    "mvrr": "garden_path_effects",
    "nn-nv-rpl": "garden_path_effects",
    "npz": "garden_path_effects",
    "npi": "licensing",
    "reflexive": "licensing",
    "number": "agreement",
    "subordination": "gross_syntactic_state",
}
# Suites with their contrasts: a grammatical and an ungrammatical condition, joined by >.
CONTRASTS = {
    suite: [tuple(contrast.split(">")) for contrast in contrasts.split()]
    for suites, contrasts in {
        "number_orc number_prep number_src "
        "reflexive_orc_fem reflexive_orc_masc reflexive_prep_fem reflexive_prep_masc "
        "reflexive_src_fem reflexive_src_masc": "match_sing>mismatch_sing "
        "match_plural>mismatch_plural",
        "subordination subordination_orc-orc subordination_pp-pp "
        "subordination_src-src": "sub_matrix>no-sub_matrix no-sub_no-matrix>sub_no-matrix",
        "center_embed center_embed_mod": "plaus>implaus",
        "cleft cleft_modifier": "np_match>np_mismatch vp_match>vp_mismatch",
        "fgd_object fgd_pp fgd_subject": "what_gap>that_gap that_nogap>what_nogap",
        "fgd-embed3 fgd-embed4": "what_gap>that_gap that_no-gap>what_no-gap",
        "fgd_hierarchy": "that_nogap>what_nogap what_subjgap>that_subjgap",
    }.items()
    for suite in suites.split()
}


class Region(NamedTuple):
    """Characters [start, end) of a sentence. An empty region has start = end."""

    number: int
    start: int
    end: int


class Sentence(NamedTuple):
    """The sentence of an item under one condition, with its regions."""

    text: str
    regions: tuple[Region, ...]


class Item(NamedTuple):
    """An item's sentences by condition, in the suite's order."""

    number: int
    sentences: dict[str, Sentence]


@dataclass(frozen=True)
class Suite:
    """A test suite. Published accuracies count its first prediction.

    `fgd_hierarchy`'s second prediction (that surprisals be equal) would leave it no correct item,
    although published item results have 15 of 24.
    """

    name: str
    predictions: tuple[Formula, ...]
    items: tuple[Item, ...]

    @property
    def phenomenon(self) -> str | None:
        """The phenomenon (circuit) of the suite, or None if it is unknown."""
        return next((PHENOMENA[s] for s in PHENOMENA if self.name.startswith(s)), None)

    def grammatical(self, condition: str) -> bool | None:
        """Return whether the first prediction prefers a condition.

        True if it predicts that some region of the condition is less surprising than that of
        another condition, False if more surprising, None if both or neither.
        """
        pairs = self.predictions[0].preferences()
        expected = any(condition == better[0] for better, _ in pairs)
        unexpected = any(condition == worse[0] for _, worse in pairs)
        return None if expected == unexpected else expected


def item_id(suite: str, item: int, condition: str) -> str:
    """Return the id of a sentence in the stimulus table."""
    return f"{suite}/{item}/{condition}"


def read_suite(path: Path) -> Suite:
    """Return the suite in a JSON file. Raises LingprobError if a formula does not parse."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    predictions = tuple(
        parse_formula(prediction["formula"], f"{path}, prediction {number}")
        for number, prediction in enumerate(raw["predictions"], start=1)
    )
    items = []
    for item in raw["items"]:
        sentences = {}
        for one in item["conditions"]:
            regions = [(int(part["region_number"]), part["content"]) for part in one["regions"]]
            in_order = sorted(regions, key=lambda region: region[0])
            sentences[one["condition_name"]] = join_regions(in_order)
        items.append(Item(int(item["item_number"]), sentences))
    return Suite(path.stem, predictions, tuple(items))


def join_regions(regions: Sequence[tuple[int, str]]) -> Sentence:
    """Return the sentence of regions, given as number and text in their order."""
    text, places = "", []
    for number, content in regions:
        content = re.sub(r"\s+([,.])", r"\1", " ".join(content.split()))
        start = len(text)
        if content and text and content[0] not in ",.":
            text += " "
        text += content
        places.append(Region(number, start, len(text)))
    return Sentence(text, tuple(places))


def suites_of(dataset: str, entry: dict[str, Any]) -> list[Suite]:
    """Return the suites of a downloaded data set, or [] if it has other stimuli."""
    if entry["parser"] != "syntaxgym":
        return []
    return [read_suite(path) for path in dataset_paths(dataset, entry)]


def syntaxgym(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return every sentence of every suite as stimuli without ratings.

    The paradigm is the suite, the phenomenon its circuit, and the pair id the item. `grammatical`
    states whether the suite's first prediction prefers the condition, null if that is not clear.
    """
    rows = [
        {
            "item_id": item_id(suite.name, item.number, condition),
            "pair_id": f"{suite.name}/{item.number}",
            "condition": condition,
            "text": sentence.text,
            "grammatical": suite.grammatical(condition),
            "rating": None,
            "rating_source": None,
            "phenomenon": suite.phenomenon,
            "paradigm": suite.name,
            "language": entry["language"],
        }
        for suite in (read_suite(directory / file["name"]) for file in entry["files"])
        for item in suite.items
        for condition, sentence in item.sentences.items()
    ]
    return pd.DataFrame(rows), NO_RATINGS


def syntaxgym_pairs(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return every contrast of `CONTRASTS` as a pair, good sentence first."""
    whole, _ = syntaxgym(dataset, entry, directory, seed)
    pairs = []
    for suite, contrasts in CONTRASTS.items():
        for contrast in contrasts:
            for side, condition in zip(SIDES, contrast, strict=True):
                of_suite = whole["paradigm"] == suite
                chosen = whole[of_suite & (whole["condition"] == condition)]
                pair_id = chosen["pair_id"] + f"/{contrast[0]}"
                about = {"condition": side, "grammatical": side == "good"}
                pairs.append(chosen.assign(pair_id=pair_id, item_id=pair_id + f".{side}", **about))
    return pd.concat(pairs).sort_values("pair_id", kind="stable", ignore_index=True), NO_RATINGS
