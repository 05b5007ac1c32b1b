"""Data sets on which mixed models are compared with lme4's values in mixed_facts.json.

Simulated ones have the sizes and the random-effects structures of the paper (leakage, table 2,
appendix B). They come from raw bits of PCG64, which numpy keeps stable, so that they are the
same with every version of it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from lingprob.stats.linear_mixed.moments import MixedModelData, parse_formula

SELF_PACED = (
    "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index"
    " + (1 + surprisal + previous_surprisal + length + index | subject_id)"
)
EYE_TRACKING = (
    "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index"
    " + previous_fixated + (1 + surprisal + index | subject_id)"
)
SLOPES = ("surprisal", "previous_surprisal", "length", "index")


class MixedCase(NamedTuple):
    """Recipe of a data set, and the formula fitted to it."""

    make: Callable[..., pd.DataFrame]
    arguments: tuple
    formula: str


def read(frame: pd.DataFrame, formulas: list[str]) -> MixedModelData:
    """Return the data with all that these formulas need."""
    parsed = [parse_formula(text) for text in formulas]
    predictors = [name for formula in parsed for name in formula.predictors]
    names = {"response": parsed[0].response, "group": parsed[0].group}
    return MixedModelData.from_frame(frame, predictors=predictors, **names)


class Numbers:
    """Deviates from the raw bits of PCG64."""

    def __init__(self, seed: int) -> None:
        self.bits = np.random.PCG64(seed)

    def uniform(self, *shape: int) -> np.ndarray:
        """Return uniform deviates strictly between 0 and 1."""
        raw = self.bits.random_raw(int(np.prod(shape))).reshape(shape)
        return ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53

    def normal(self, *shape: int) -> np.ndarray:
        """Return standard normal deviates."""
        return ndtri(self.uniform(*shape))


def standardised(values: np.ndarray) -> np.ndarray:
    """Return the columns with mean 0 and standard deviation 1 (n - 1), as R's scale does."""
    return (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)


def simulated(rows: int, subjects: int, seed: int, slope_sd: tuple[float, ...]) -> pd.DataFrame:
    """Return reading times of `subjects` who read unequal amounts of text, z-scored predictors.

    `slope_sd` scales the differences between subjects (ms) in the intercept and SLOPES.
    """
    numbers = Numbers(seed)
    share = np.cumsum(0.5 + numbers.uniform(subjects))
    subject = np.searchsorted(share / share[-1], numbers.uniform(rows))
    length, surprisal, previous, index = numbers.normal(4, rows)
    frame = pd.DataFrame(
        {
            "surprisal": np.exp(0.4 * surprisal + 0.3 * length),
            "previous_surprisal": np.exp(0.4 * previous + 0.1 * surprisal),
            "unigram_surprisal": 0.6 * length + 0.5 * surprisal + 0.6 * numbers.normal(rows),
            "length": np.round(4.5 + 2 * length),
            "index": np.floor(np.exp(2.2 + 0.7 * index)),
            "previous_fixated": (numbers.uniform(rows) < 0.6).astype(float),
        }
    )
    frame[:] = standardised(frame.to_numpy())
    mixing = np.eye(5) + 0.5 * np.tril(numbers.normal(5, 5), -1)
    deviations = numbers.normal(subjects, 5) @ mixing.T * np.array(slope_sd)
    slopes = np.array([330.0, 6.0, 4.0, 3.0, -2.0]) + deviations
    design = np.column_stack([np.ones(rows), frame[list(SLOPES)]])
    expected = (design * slopes[subject]).sum(axis=1) + 2 * frame["unigram_surprisal"]
    frame["rt_ms"] = expected + 90 * numbers.normal(rows) * np.exp(0.3 * numbers.normal(rows))
    frame["subject_id"] = subject
    return frame


def ucl_first_pass(mirror: Path) -> pd.DataFrame:
    """Return first-pass times of the UCL corpus, 43 readers, of fixated words."""
    words = pd.read_csv(
        mirror / "ucl_frank2013" / "eyetracking.RT.txt", sep="\t", keep_default_na=False
    )
    frame = _read_by_eye(words, "RTfirstpass", "word_pos", words["subj_nr"])
    return _scaled(frame[(frame["index"] > 1) & (frame["rt_ms"] > 0)])


def _read_by_eye(words: pd.DataFrame, time: str, index: str, subject: object) -> pd.DataFrame:
    length, times = words["word"].str.len(), words[time].astype(float)
    return pd.DataFrame(
        {
            "rt_ms": times, "length": length, "previous_length": length.shift(1),
            "index": words[index], "previous_fixated": (times.shift(1) > 0).astype(float),
            "subject_id": subject,
        }
    )  # fmt: skip


def geco_total_times(mirror: Path) -> pd.DataFrame:
    """Return total times of 14 readers of GECO, of the fixated words of every fourth sentence."""
    tables = []
    for path in sorted((mirror / "geco" / "relfix").glob("pp*-relfix-feats.csv")):
        words = pd.read_csv(path, keep_default_na=False)
        fourth = (words["sentence_id"] % 4 == 0) & (words["word_id"] > 0)
        tables.append(_read_by_eye(words, "TRT", "word_id", path.name.split("-")[0])[fourth])
    frame = pd.concat(tables)
    return _scaled(frame[frame["rt_ms"] > 0])


def a_maze(mirror: Path) -> pd.DataFrame:
    """Return A-maze times of 63 readers of Natural Stories."""
    words = pd.read_csv(mirror / "natural_stories_maze" / "boyce_2023.tsv", sep="\t")
    frame = words.rename(
        columns={
            "rt": "rt_ms", "wlen": "length", "unigramsurp": "unigram_surprisal", "sentpos": "index",
            "subject": "subject_id",
        }
    )  # fmt: skip
    return _scaled(frame[["rt_ms", "length", "unigram_surprisal", "index", "subject_id"]])


def _scaled(frame: pd.DataFrame) -> pd.DataFrame:
    frame = frame.reset_index(drop=True)
    predictors = [name for name in frame if name not in ("rt_ms", "subject_id")]
    frame[predictors] = standardised(frame[predictors].to_numpy(dtype=float))
    return frame


READ_BY_EYE = (
    "rt_ms ~ length + previous_length + index + previous_fixated"
    " + (1 + length + index | subject_id)"
)
SIMULATED: dict[str, MixedCase] = {
    "natural_stories_size": MixedCase(
        simulated, (384_984, 181, 1, (90.0, 3.0, 2.0, 2.0, 4.0)), SELF_PACED
    ),
    "brown_size": MixedCase(simulated, (59_292, 35, 2, (90.0, 3.0, 2.0, 2.0, 4.0)), SELF_PACED),
    "dundee_size": MixedCase(simulated, (98_115, 10, 3, (30.0, 3.0, 2.0, 2.0, 4.0)), EYE_TRACKING),
    "geco_size": MixedCase(simulated, (144_850, 14, 4, (30.0, 3.0, 2.0, 2.0, 4.0)), EYE_TRACKING),
    "provo_size": MixedCase(simulated, (52_959, 84, 5, (30.0, 3.0, 2.0, 2.0, 4.0)), EYE_TRACKING),
    "singular_slopes": MixedCase(simulated, (3_000, 12, 6, (60.0, 4.0, 0.0, 0.0, 0.0)), SELF_PACED),
    "singular_intercept": MixedCase(
        simulated, (2_000, 9, 7, (0.0, 8.0, 0.0, 0.0, 0.0)), EYE_TRACKING
    ),
    "few_rows": MixedCase(simulated, (150, 20, 8, (60.0, 10.0, 0.0, 0.0, 5.0)), EYE_TRACKING),
}
REAL: dict[str, MixedCase] = {
    "ucl_first_pass": MixedCase(ucl_first_pass, (), READ_BY_EYE),
    "geco_total_times": MixedCase(geco_total_times, (), READ_BY_EYE),
    "a_maze": MixedCase(
        a_maze,
        (),
        "rt_ms ~ length + unigram_surprisal + index"
        " + (1 + length + unigram_surprisal + index | subject_id)",
    ),
}


class LogisticCase(NamedTuple):
    """Accuracies after prefixes: groups, pairs a group, deviation between groups, mean logit.

    `tolerance` is glmer's tolPwrss for the fact. Above it glmer's likelihood has weights one
    step behind (log-likelihoods off by 1e-5, standard errors by 0.3%), below it noise in its
    numerical Hessian.
    """

    groups: int
    pairs: int
    sd: float
    logit: float
    seed: int
    tolerance: float = 1e-13


LENGTHS = (10, 30, 100, 300, 600, 1000)
LOGISTIC: dict[str, LogisticCase] = {
    "twelve_phenomena": LogisticCase(12, 40, 0.9, 1.3, 11),
    "few_pairs": LogisticCase(12, 3, 0.7, 1.0, 12),
    "near_ceiling": LogisticCase(13, 25, 1.2, 2.8, 13),
    "suites": LogisticCase(23, 15, 0.5, 0.4, 14, 1e-12),
    "singular_logistic": LogisticCase(12, 30, 0.0, 0.8, 15),
}


def accuracies(case: LogisticCase) -> pd.DataFrame:
    """Return one row per phenomenon, prefix length and kind of prefix: correct of trials.

    Terms are those of the paper (context, section 3): centred log prefix length, matched
    and acceptable as +1 and -1.
    """
    numbers = Numbers(case.seed)
    cells = pd.MultiIndex.from_product(
        [range(case.groups), np.log(LENGTHS) - np.log(LENGTHS).mean(), (-1.0, 1.0), (-1.0, 1.0)],
        names=["phenomenon", "log_length", "matched", "acceptable"],
    ).to_frame(index=False)
    length, matched, acceptable = (
        cells[name].to_numpy() for name in ("log_length", "matched", "acceptable")
    )
    logit = case.logit + case.sd * numbers.normal(case.groups)[cells["phenomenon"]]
    logit += 0.1 * matched + 0.3 * acceptable + length * (0.03 + 0.1 * acceptable)
    logit += 0.2 * matched * acceptable + 0.15 * length * matched * acceptable
    drawn = numbers.uniform(len(cells), case.pairs) < 1 / (1 + np.exp(-logit))[:, None]
    return cells.assign(correct=drawn.sum(axis=1), trials=case.pairs)
