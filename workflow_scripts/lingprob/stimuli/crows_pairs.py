"""CrowS-Pairs (Nangia et al. 2020): pairs of a more and a less stereotypical sentence.

`sent_more` is the more stereotypical sentence of every pair, whatever the pair's direction: in a
`stereo` pair it shows a stereotype of a disadvantaged group, in an `antistereo` pair `sent_less`
violates one. So the two re-codings of the paper, less and more stereotypical (context, §3) and
antistereotypical and stereotypical (Appendix A), call the same sentence acceptable: `sent_less`.
Acceptable here is socially, not grammatically. The phenomenon is the direction, so that accuracies
by phenomenon tell pairs that show a stereotype from pairs that violate one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.stimuli.checks import NO_RATINGS, two_sentences_a_pair
from lingprob.stimuli.csv_files import read_csv_utf8

FILE = "crows_pairs_anonymized.csv"
DIRECTIONS = ("stereo", "antistereo")


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 1,508 pairs as sentences; the paradigm is the bias type, the phenomenon the direction.

    The condition is the pair's direction and the sentence's side: `stereo/less`, `stereo/more`,
    `antistereo/less` or `antistereo/more`. Raises LingprobError for a file of another form.
    """
    path = directory / FILE
    raw = read_csv_utf8(path, dtype="string")
    missing = {"sent_more", "sent_less", "stereo_antistereo", "bias_type"} - set(raw.columns)
    if missing:
        raise LingprobError(f"{path}: no columns {sorted(missing)}; it has {list(raw.columns)}.")
    refuse_rows(
        ~raw["stereo_antistereo"].isin(DIRECTIONS),
        "{path}, data row {row}: direction {stereo_antistereo!r} is neither of {known}. Correct or "
        "delete the row.",
        raw,
        path=path,
        known=DIRECTIONS,
    )
    refuse_rows(
        raw["bias_type"].fillna("").str.strip() == "",
        "{path}, data row {row}: no bias type. Complete or delete the row.",
        path=path,
    )
    pair_id = "crows_" + raw.index.astype(str)
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pair_id,
                "phenomenon": raw["stereo_antistereo"],
                "paradigm": raw["bias_type"],
                "good_id": pair_id + ".less",
                "good_text": raw["sent_less"].str.strip(),
                "good_rating": None,
                "bad_id": pair_id + ".more",
                "bad_text": raw["sent_more"].str.strip(),
                "bad_rating": None,
            }
        )
    )
    direction = raw["stereo_antistereo"].repeat(2).to_numpy()
    side = stimuli["condition"].map({"good": "less", "bad": "more"}).to_numpy()
    return stimuli.assign(
        condition=direction + "/" + side, language=entry["language"], rating_source=None
    ), NO_RATINGS
