"""The predictors of reading times, joined to the times and standardised (leakage, Appendix B)."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.text_units import plain_word
from lingprob.reading.times import sentence_numbers

logger = logging.getLogger(__name__)

BASELINE = ("unigram_surprisal", "length", "index")
PREVIOUS_FIXATED = "previous_fixated"
# Random slopes of the models that converged (leakage, Table 3).
RANDOM_SLOPES = {
    "self_paced": ("surprisal", "previous_surprisal", "length", "index"),
    "eye_tracking": ("surprisal", "index"),
}


@dataclass(frozen=True)
class Predictors:
    """The columns of a regression of one language model's surprisal.

    `surprisal` and `previous` (of the words before, the next one first) name its columns in the
    frame; `baseline` names the others.
    """

    model: str
    surprisal: str
    previous: tuple[str, ...]
    baseline: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """All predictors, in the order of the paper's formula."""
        return (self.surprisal, *self.previous, *self.baseline)

    def named(self, formula: str) -> str:
        """Return a formula in the paper's words."""
        for lag, column in enumerate(self.previous, start=1):
            formula = formula.replace(column, previous_name("surprisal", lag))
        return formula.replace(self.surprisal, "surprisal")


def previous_name(column: str, lag: int) -> str:
    """Return the name for the surprisal (`column`) of the `lag`-th word before."""
    return f"previous_{lag}_{column}" if lag > 1 else f"previous_{column}"


@contextmanager
def models_named(predictors: Sequence[Predictors]) -> Iterator[None]:
    """Name the models in the messages of errors where these speak of a model's columns."""
    words = {entry.surprisal: f"surprisal of {entry.model}" for entry in predictors}
    words |= {
        column: f"previous surprisal of {entry.model}"
        for entry in predictors
        for column in entry.previous
    }
    try:
        yield
    except LingprobError as error:
        message = re.sub(r"\w+", lambda found: words.get(found[0], found[0]), str(error))
        raise LingprobError(message) from error


def regression_frame(
    times: pd.DataFrame,
    words: pd.DataFrame,
    unigram_surprisal: np.ndarray,
    surprisals: Mapping[str, pd.DataFrame],
    *,
    corrected: bool = True,
    previous_words: int = 1,
    where: str = "",
) -> tuple[pd.DataFrame, list[Predictors]]:
    """Return the reading times that are not excluded with their predictors, not yet standardised.

    Args:
        times: a `reading_times` table.
        words: the `words` table of its text.
        unigram_surprisal: of each row of `words`, in bits.
        surprisals: a `surprisal` table by model.
        corrected: take the surprisals with the correction for trailing blanks.
        previous_words: words before a word whose surprisals are predictors, too.
        where: the data set, for messages.

    Returns:
        A frame with subject_id, sentence (from 0 through all passages), partition, rt_ms,
        unigram_surprisal (bits), length (letters), index (place in the sentence from 1),
        previous_fixated if the data set knows it, and the surprisals of each model; and their
        names.
        A row that lacks any predictor is left out for all models.

    Raises LingprobError if nothing is left, a surprisal is infinite (a missing one leaves its rows
    out), or the times do not fit the words.
    """
    table = _word_table(words, unigram_surprisal)
    models = []
    for number, (model, found) in enumerate(surprisals.items()):
        column = "surprisal" if corrected else "surprisal_uncorrected"
        values = _aligned(words, found, column, f"{where}, model {model!r}")
        own = f"surprisal_{number}"
        table[own] = values
        lags = range(1, previous_words + 1)
        previous = tuple(previous_name(own, lag) for lag in lags)
        for lag, name in zip(lags, previous, strict=True):
            table[name] = _previous(words, values, lag)
        models.append((model, own, previous))
    kept = times[times["excluded"].isna()]
    frame = kept.merge(table, on=["passage_id", "word_index"], how="left")
    refuse_rows(
        frame["length"].isna(),
        "{where}: a reading time for word {word_index} of passage {passage_id!r}, which the text "
        "does not have.",
        frame,
        where=where,
    )
    baseline: tuple[str, ...] = BASELINE
    if frame[PREVIOUS_FIXATED].notna().all():
        baseline = (*baseline, PREVIOUS_FIXATED)
        frame[PREVIOUS_FIXATED] = frame[PREVIOUS_FIXATED].astype(float)
    predictors = [Predictors(model, now, before, baseline) for model, now, before in models]
    columns = list(dict.fromkeys(name for entry in predictors for name in entry.all))
    whole = frame[columns].notna().all(axis=1)
    if not whole.all():
        absent = frame[columns].isna().sum()
        logger.info(
            "%s: %d of %d reading times are left out of all models, as they lack %s", where,
            (~whole).sum(), len(frame), ", ".join(f"{k} ({n})" for k, n in absent.items() if n),
        )  # fmt: skip
    frame = frame.loc[whole, ["subject_id", "sentence", "partition", "rt_ms", *columns]]
    if frame.empty:
        raise LingprobError(f"{where}: no reading time has all predictors.")
    return frame.reset_index(drop=True), predictors


def standardised(frame: pd.DataFrame, columns: Sequence[str], where: str = "") -> pd.DataFrame:
    """Return the frame with columns z-transformed by mean and deviation of the fit partition.

    Raises LingprobError for a column that is constant there.
    """
    fitted = frame.loc[frame["partition"] == "fit", list(columns)]
    mean, deviation = fitted.mean(), fitted.std(ddof=1)
    constant = [name for name in columns if not deviation[name] > 1e-12 * max(1, abs(mean[name]))]
    if constant:
        raise LingprobError(
            f"{where}: the predictor {constant[0]!r} is {mean[constant[0]]:g} in every row of the "
            "fit partition, so it has no coefficient. Leave it out, or use more data."
        )
    return frame.assign(**{name: (frame[name] - mean[name]) / deviation[name] for name in columns})


def perplexity(surprisal: pd.DataFrame, corrected: bool = True) -> tuple[float, float | None]:
    """Return a text's perplexity by word and by token (None where tokens are not known).

    That by token is of the uncorrected surprisals, as the tokens have them.
    """
    bits = surprisal["surprisal" if corrected else "surprisal_uncorrected"]
    by_word = float(2 ** bits.mean())
    counted = surprisal["surprisal_uncorrected"].notna() & surprisal["n_tokens"].notna()
    if not counted.any():
        return by_word, None
    known = surprisal[counted]
    tokens = known["n_tokens"].astype(float).sum()
    return by_word, float(2 ** (known["surprisal_uncorrected"].sum() / tokens))


def _word_table(words: pd.DataFrame, unigram_surprisal: np.ndarray) -> pd.DataFrame:
    sentence = sentence_numbers(words)
    return words[["passage_id", "word_index"]].assign(
        sentence=sentence,
        unigram_surprisal=unigram_surprisal,
        length=words["word"].str.len().astype(float),
        index=words.groupby(sentence).cumcount().astype(float) + 1,
    )


def _aligned(words: pd.DataFrame, found: pd.DataFrame, column: str, where: str) -> np.ndarray:
    keys = ["passage_id", "word_index"]
    same = len(found) == len(words) and (found[keys].to_numpy() == words[keys].to_numpy()).all()
    if not same:
        raise LingprobError(
            f"{where}: surprisals of {len(found)} words for a text of {len(words)}. Delete the "
            "table of surprisals and run again."
        )
    values = found[column].to_numpy(float)
    refuse_rows(
        np.isinf(values),
        "{where}: the surprisal of word {word_index} of passage {passage_id!r} is infinite, as of "
        "{count} words. Mend the model's surprisals.",
        found,
        where=where,
    )
    return values


def _previous(words: pd.DataFrame, values: np.ndarray, lag: int) -> np.ndarray:
    """Return the surprisal of the `lag`-th word before in the passage, NaN if it has none."""
    return pd.Series(values).groupby(words["passage_id"].to_numpy()).shift(lag).to_numpy()


def unigram_surprisal(
    words: pd.Series, counts: Iterable[pd.DataFrame], smoothing: float = 1.0
) -> np.ndarray:
    """Return the unigram surprisal (bits, float64) of each word by the sum of `word_counts` tables.

    The paper asks KenLM's unigrams of OpenWebText. Here a word's probability is its count plus one
    over the number of words and forms plus one; words are compared without case and outer
    punctuation (leakage, Appendix B).

    Raises LingprobError if a word is absent from the corpus and `smoothing` is 0.
    """
    total = pd.concat(list(counts)).groupby("word")["count"].sum()
    forms = words.map(plain_word)
    found = forms.map(total).fillna(0).to_numpy(float) + smoothing
    refuse_rows(
        found <= 0,
        "the word {word!r} is not in the corpus of the unigrams, so its surprisal is infinite. "
        "Give a smoothing above 0.",
        words.to_frame("word"),
    )
    return -np.log2(found / (total.sum() + smoothing * (len(total) + 1)))
