"""Join predictors to reading times, and standardise them (leakage, Appendix B)."""

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.text_units import plain_word, split_words
from lingprob.reading.tables import KEYS
from lingprob.reading.times import sentence_numbers

logger = logging.getLogger(__name__)

BASELINE = ("unigram_surprisal", "length", "index")
PREVIOUS_FIXATED = "previous_fixated"
ROW = ["subject_id", "sentence", "partition", "rt_ms"]
# Random slopes of the models that converged (leakage, Table 3).
RANDOM_SLOPES = {
    "self_paced": ("surprisal", "previous_surprisal", "length", "index"),
    "eye_tracking": ("surprisal", "index"),
}


@dataclass(frozen=True)
class Predictors:
    """Names of the columns of `regression_frame` that a regression on one model's surprisal uses.

    `surprisal` is that of the word's own surprisal, and `previous` has those of the words before
    it, the nearest first. `factors`, a part of the `baseline`, code conditions.
    """

    model: str
    surprisal: str
    previous: tuple[str, ...]
    baseline: tuple[str, ...]
    factors: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """The columns of all predictors, in the order of the leakage paper's formula."""
        return (self.surprisal, *self.previous, *self.baseline)

    @property
    def roles(self) -> dict[str, str]:
        """The leakage paper's name (such as `surprisal`) of each column in `all`."""
        lags = {name: previous_name("surprisal", n) for n, name in enumerate(self.previous, 1)}
        return {self.surprisal: "surprisal"} | lags | {name: name for name in self.baseline}

    def named(self, formula: str) -> str:
        """Return a formula with each column replaced by its paper's name."""
        return re.sub(r"\w+", lambda found: self.roles.get(found[0], found[0]), formula)


def previous_name(column: str, lag: int) -> str:
    """Return the name of the column for the surprisal of the `lag`-th word before a word."""
    return f"previous_{lag}_{column}" if lag > 1 else f"previous_{column}"


def regression_frame(
    times: pd.DataFrame,
    words: pd.DataFrame,
    unigram_surprisal: np.ndarray,
    surprisals: Mapping[str, pd.DataFrame],
    *,
    corrected: bool = True,
    previous_words: int = 1,
    about: str = "",
) -> tuple[pd.DataFrame, list[Predictors]]:
    """Return the reading times that are not excluded, and their predictors in original units.

    Args:
        times, words: a `reading_times` table, and the `words` table of its text. Conditions, if the
            times have several, are predictors.
        unigram_surprisal: unigram surprisal (bits) of each row of `words`, shape (len(words),).
        surprisals: the `surprisal` table of each model, by the model's name.
        corrected: use the surprisals with the correction for trailing spaces.
        previous_words: number of preceding words whose surprisals are predictors too.

    Returns:
        A frame with the columns ROW, unigram_surprisal (bits), length (letters), index (place in
        the sentence, from 1), previous_fixated if it is known, and the surprisals of each model
        (bits). Rows that lack any predictor are left out. The second result lists each model's
        Predictors, without length, index or previous_fixated if it is constant.

    Raises LingprobError if nothing is left, or if a surprisal is infinite.
    """
    table = words[KEYS].assign(
        sentence=sentence_numbers(words),
        unigram_surprisal=unigram_surprisal,
        length=words["word"].str.replace(" ", "").str.len().astype(float),
    )
    table["index"] = table.groupby("sentence").cumcount().astype(float) + 1
    passages, own = words["passage_id"].to_numpy(), {}
    for model, found in surprisals.items():
        column = "surprisal" if corrected else "surprisal_uncorrected"
        values = pd.Series(_aligned(words, found, column, f"{about}, model {model!r}"))
        name = re.sub(r"\W", "_", f"surprisal_of_{model}")
        while name in table:
            name += "_"
        table[name] = values.to_numpy()
        previous = [previous_name(name, lag) for lag in range(1, previous_words + 1)]
        for lag, before in enumerate(previous, start=1):
            table[before] = values.groupby(passages).shift(lag).to_numpy()
        own[model] = name, tuple(previous)
    frame = times[times["excluded"].isna()].merge(table, on=KEYS, how="left")
    baseline: tuple[str, ...] = BASELINE
    if frame[PREVIOUS_FIXATED].notna().all():
        baseline = (*baseline, PREVIOUS_FIXATED)
        frame[PREVIOUS_FIXATED] = frame[PREVIOUS_FIXATED].astype(float)
    if constant := [name for name in baseline[1:] if frame[name].nunique() == 1]:
        baseline = tuple(name for name in baseline if name not in constant)
        logger.warning("%s: no predictors, because they are constant: %s", about, constant)
    frame, factors = _with_factors(frame)
    baseline = (*baseline, *factors)
    predictors = [Predictors(model, *names, baseline, factors) for model, names in own.items()]
    columns = list(dict.fromkeys(name for entry in predictors for name in entry.all))
    return _complete(frame[[*ROW, *columns]], columns, about), predictors


def _with_factors(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the frame with sum-coded conditions, and the names of the new columns.

    Each condition but the last has a column: 1 in this condition, -1 in the last one, else 0.
    """
    if "condition" not in frame or frame["condition"].isna().any():
        return frame, ()
    levels = sorted(frame["condition"].unique())
    names = [re.sub(r"\W", "_", f"condition_{level}") for level in levels]
    if len(set(names)) < len(names):
        raise LingprobError(f"conditions {levels} differ in punctuation alone. Rename them.")
    at_last = frame["condition"] == levels[-1]
    codes = {
        name: (frame["condition"] == level).astype(float) - at_last
        for name, level in zip(names[:-1], levels[:-1], strict=True)
    }
    return frame.assign(**codes), tuple(codes)


def _complete(frame: pd.DataFrame, columns: Sequence[str], about: str) -> pd.DataFrame:
    """Return the rows that have a value in all `columns`, and log how many do not."""
    absent = frame[columns].isna()
    left_out = absent.any(axis=1)
    if left_out.any():
        counts = absent.sum()
        logger.info(
            "%s: %d of %d reading times are left out, because they lack %s",
            about, left_out.sum(), len(frame), counts[counts > 0].to_dict(),
        )  # fmt: skip
    if left_out.all():
        raise LingprobError(f"{about}: no reading time has all predictors.")
    return frame[~left_out].reset_index(drop=True)


def standardised(frame: pd.DataFrame, columns: Sequence[str], about: str = "") -> pd.DataFrame:
    """Return the frame with `columns` z-transformed by their mean and SD in the fit partition.

    Raises LingprobError for a column that is constant in the fit partition.
    """
    fitted = frame.loc[frame["partition"] == "fit", list(columns)]
    mean, deviation = fitted.mean(), fitted.std(ddof=1)
    constant = [name for name in columns if not deviation[name] > 1e-12 * max(1, abs(mean[name]))]
    if constant:
        raise LingprobError(
            f"{about}: the predictor {constant[0]!r} is {mean[constant[0]]:g} in every row of the "
            "fit partition. Leave it out, or use more data."
        )
    return frame.assign(**{name: (frame[name] - mean[name]) / deviation[name] for name in columns})


def perplexity(surprisal: pd.DataFrame, corrected: bool = True) -> tuple[float, float | None]:
    """Return the perplexity per word and per token of a text from its `surprisal` table.

    Per token, it is 2 to the power of the mean uncorrected surprisal (bits), or None if the number
    of tokens is unknown.
    """
    bits = surprisal["surprisal" if corrected else "surprisal_uncorrected"]
    by_word = float(2 ** bits.mean())
    known = surprisal.dropna(subset=["surprisal_uncorrected", "n_tokens"])
    if known.empty:
        return by_word, None
    tokens = known["n_tokens"].astype(float).sum()
    return by_word, float(2 ** (known["surprisal_uncorrected"].sum() / tokens))


def _aligned(words: pd.DataFrame, found: pd.DataFrame, column: str, about: str) -> np.ndarray:
    """Return a column (bits) of a `surprisal` table, whose rows must be those of `words`."""
    same = len(found) == len(words) and (found[KEYS].to_numpy() == words[KEYS].to_numpy()).all()
    if not same:
        raise LingprobError(
            f"{about}: surprisals of {len(found)} words for a text of {len(words)}. Delete them."
        )
    values = found[column].to_numpy(float)
    refuse_rows(
        np.isinf(values),
        "{about}: the surprisal of word {word_index} of passage {passage_id!r} is infinite, as of "
        "{count} words.",
        found,
        about=about,
    )
    return values


def unigram_surprisal(
    words: pd.Series, counts: Iterable[pd.DataFrame], smoothing: float = 1.0
) -> np.ndarray:
    """Return the unigram surprisal (bits, float64) of each of n words, shape (n,).

    `counts` are `word_counts` tables, which are summed. The probability of a word with count c is
    (c + s) / (N + s (V + 1)) for N words of V forms, with s the `smoothing`. The leakage paper
    instead takes KenLM's unigrams of OpenWebText (Appendix B). A region gets the sum of its words.

    Raises LingprobError if a word is absent from the corpus and `smoothing` is 0.
    """
    total = pd.concat(list(counts)).groupby("word")["count"].sum()
    single = words.map(split_words).explode()
    found = single.map(plain_word).map(total).fillna(0).to_numpy(float) + smoothing
    refuse_rows(
        found <= 0,
        "the word {word!r} is not in the corpus of the unigrams, so its surprisal is infinite. "
        "Give a smoothing above 0.",
        single.to_frame("word"),
    )
    bits = -np.log2(found / (total.sum() + smoothing * (len(total) + 1)))
    return pd.Series(bits).groupby(single.index.to_numpy(), sort=False).sum().to_numpy()
