"""The judgments of Sprouse et al. (2013), and the MORCELA paper's own arithmetic."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.stats.agreement import split_half, standardise_ratings
from lingprob.stats.linking import information_criteria

MIRROR = Path(
    os.environ.get("LINGPROB_MIRROR")
    or Path(__file__).resolve().parents[2].parent / "shared" / "mirror"
)
FOLDER = MIRROR / "linguistic_inquiry"
needs_mirror = pytest.mark.skipif(not FOLDER.exists(), reason=f"no mirror at {FOLDER}")


@pytest.fixture(scope="module")
def judgments() -> pd.DataFrame:
    """Return all Likert judgments given, fillers included."""
    path = FOLDER / "sprouse2013_LS" / "LI.ls.results.csv"
    table = pd.read_csv(path, skiprows=5, encoding="latin-1").dropna(subset=["judgment"])
    return pd.DataFrame(
        {
            "participant_id": table.participant.astype(str), "item_id": table.item.str.lower(),
            "rating": table.judgment, "z": table.zscores,
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def mean_ratings() -> pd.Series:
    """Return the published mean z-score of the 1450 sentences in minimal pairs, by item_id."""
    table = pd.read_csv(FOLDER / "linguistic_inquiry_data.csv")
    halves = [table.set_index(f"{kind} ID")[f"{kind} Sentence LS"] for kind in ("Bad", "Good")]
    ratings = pd.concat(halves)
    return ratings.set_axis(ratings.index.str.lower())


@needs_mirror
def test_z_scores_and_means_equal_the_published_ones(
    judgments: pd.DataFrame, mean_ratings: pd.Series
) -> None:
    assert len(judgments) == 30_400 - 62
    z = standardise_ratings(judgments)
    assert np.abs(z - judgments.z).max() < 5.01e-10
    means = z.groupby(judgments.item_id).mean().loc[mean_ratings.index]
    assert np.abs(means - mean_ratings).max() < 5.01e-10


@needs_mirror
def test_agreement_of_two_halves(judgments: pd.DataFrame, mean_ratings: pd.Series) -> None:
    """The paper's 0.860 is the mean of no definition, but raw ratings reach it in some draws."""
    rated = judgments[judgments.item_id.isin(mean_ratings.index)]
    assert (len(rated), rated.item_id.nunique()) == (18_326, 1450)
    table = split_half(rated).set_index("definition")
    assert table.r["equal_halves"] == pytest.approx(0.896, abs=0.01)
    assert table.r["raw_equal_halves"] == pytest.approx(0.877, abs=0.01)
    assert table.r["participant_halves"] == pytest.approx(0.895, abs=0.01)
    assert table.r["raw_participant_halves"] == pytest.approx(0.867, abs=0.01)
    reached = table[(table.r_low <= 0.860) & (table.r_high >= 0.860)].index
    assert set(reached) == {"raw_participant_halves"}


# Model, linking function, AIC, BIC, SSE and predictors as published (morcela, Tables 3 and 4).
PUBLISHED = [
    ("OPT 125M", "morcela", -1384.3, -1363.2, 555.1, 4),
    ("OPT 350M", "morcela", -1448.8, -1427.7, 530.9, 4),
    ("OPT 350M", "slor", -1101.8, -1091.3, 676.3, 2),
    ("OPT 30B", "morcela_beta_1", -1389.3, -1373.4, 553.9, 3),
    ("Pythia 14M", "morcela_beta_1", -934.8, -919.0, 757.9, 3),
    ("Pythia 14M", "morcela_gamma_0", -780.7, -764.8, 842.8, 3),
    ("Pythia 1B", "slor", -1078.0, -1067.4, 687.5, 2),
    ("Pythia 6.9B", "morcela", -1560.6, -1539.5, 491.5, 4),
    ("Pythia 12B", "morcela", -1539.3, -1518.1, 498.8, 4),
]


@pytest.mark.parametrize(("model", "name", "aic", "bic", "sse", "predictors"), PUBLISHED)
def test_published_criteria_follow_from_the_published_sse(
    model: str, name: str, aic: float, bic: float, sse: float, predictors: int
) -> None:
    # Half a unit in the last digit of the SSE moves n ln(SSE / n) by n * 0.05 / SSE.
    rounding = 1450 * 0.05 / sse + 0.05
    assert information_criteria(sse, 1450, predictors) == pytest.approx((aic, bic), abs=rounding)
