"""Study 2 of the paper on leakage: what surprisal adds to regressions of reading times."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table
from lingprob.reading.predictors import (
    RANDOM_SLOPES,
    Predictors,
    models_named,
    perplexity,
    previous_name,
    regression_frame,
    standardised,
    unigram_surprisal,
)
from lingprob.reading.times import count_exclusions
from lingprob.stats.least_squares import fit_least_squares
from lingprob.stats.linear_mixed.fit import MixedFit, fit_mixed_models, reduce_random_effects
from lingprob.stats.linear_mixed.moments import MixedModelData
from lingprob.stats.resampling import resampled_sums

logger = logging.getLogger(__name__)

# How the random-effects structure is found: the paper's Table 3, or by its rule from the maximal.
RANDOM_EFFECTS = ("paper", "reduced")
PARTS = ["fit", "exploratory", "held_out"]


class Study(NamedTuple):
    """A data set of reading times, and what is regressed.

    `entry` is the catalog's; `times` and `words` are its `reading_times` and `words` tables. The
    sum of `counts`, `word_counts` tables, gives unigram surprisals; `surprisals` has a `surprisal`
    table by model.
    """

    dataset: str
    entry: Mapping[str, Any]
    times: pd.DataFrame
    words: pd.DataFrame
    counts: Sequence[pd.DataFrame]
    surprisals: Mapping[str, pd.DataFrame]

    @property
    def where(self) -> str:
        """What a message names."""
        return f"data set {self.dataset!r}"

    def frame(
        self, smoothing: float, *, corrected: bool, previous_words: int = 1
    ) -> tuple[pd.DataFrame, list[Predictors]]:
        """Return what is regressed, and each model's predictors, as `regression_frame` does."""
        return regression_frame(
            self.times,
            self.words,
            unigram_surprisal(self.words["word"], self.counts, smoothing),
            self.surprisals,
            corrected=corrected,
            previous_words=previous_words,
            where=self.where,
        )


def read_study(
    dataset: str, entry: Mapping[str, Any], models: Sequence[str], files: Mapping[str, Any]
) -> Study:
    """Read a study's tables; `files` are named after its fields, surprisals as `models`."""
    tables = [read_table(path, "surprisal") for path in files["surprisals"]]
    return Study(
        dataset,
        entry,
        read_table(files["times"], "reading_times"),
        read_table(files["words"], "words"),
        [read_table(path, "word_counts") for path in files["counts"]],
        dict(zip(models, tables, strict=True)),
    )


class Comparison(NamedTuple):
    """One regression with surprisal beside the one without.

    `gains` (nats) are by row or by subject, `items` what is drawn again for the interval;
    `ms` and `errors` are of surprisal and the previous word's, by standard deviation.
    """

    regression: str
    baseline_formula: str
    formula: str
    log_likelihoods: tuple[float, float]
    gains: np.ndarray
    items: np.ndarray
    ms: tuple[float, float]
    errors: tuple[float, float]
    converged: bool
    singular: bool


def compare_regressions(
    study: Study,
    *,
    contexts: Mapping[str, str],
    corrections: Mapping[str, bool | None],
    corrected: bool = True,
    partition: str = "exploratory",
    random_effects: str = "paper",
    smoothing: float = 1.0,
    previous_words: int = 1,
    bootstrap: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what each model's surprisal adds to the regression of one data set.

    A `delta_log_likelihood` table, a row a model, and a `reading_gains` table with the parts that
    ΔLogLik and log perplexity are the sums of: by subject (by sentence, for means) and by passage.

    Mixed models with random effects by subject are fitted to the fit partition by maximum
    likelihood, with surprisal (of the word and of the one before) and without; the difference of
    their log-likelihoods on another partition is ΔLogLik. Means over readers are regressed by
    ordinary least squares.

    Args:
        study: the data.
        contexts: what each model's surprisals were conditioned on, for the record.
        corrections: whether each model's surprisals are corrected for trailing blanks, for the
            record; None where nobody knows.
        corrected: take the corrected surprisals of a table.
        partition: that is evaluated.
        random_effects: `paper` (Table 3) or `reduced` (from the maximal one by the paper's rule).
        smoothing: of the unigram counts.
        previous_words: words before a word whose surprisals are predictors, too.
        bootstrap: draws of subjects (of sentences, for means) behind the intervals.
        seed: of the draws.
        scale: of the run.
    """
    entry, where = study.entry, study.where
    frame, models = study.frame(smoothing, corrected=corrected, previous_words=previous_words)
    fitted, evaluated, found = _compared(
        frame, models, entry, where, partition=partition, random_effects=random_effects
    )
    common = {
        "dataset": study.dataset,
        "texts": entry["texts"],
        "measure": entry["measure"],
        "rt_source": entry.get("rt_source", "human"),
        "partition": partition,
        "n_fit": len(fitted),
        "n_evaluated": len(evaluated),
        "n_subjects": fitted["subject_id"].nunique(),
        "scale": scale,
    }
    rows, gains = [], []
    for model, comparison in zip(models, found, strict=True):
        low, high = resampled_sums(comparison.gains, comparison.items, bootstrap, seed)
        by_word, by_token = perplexity(study.surprisals[model.model], corrected)
        own = {
            "context": contexts[model.model],
            "corrected": corrections[model.model],
            "delta_low": low,
            "delta_high": high,
            "word_perplexity": by_word,
            "token_perplexity": by_token,
        }
        rows.append({**common, **own, **_described(model, comparison)})
        gains += _gains(study, model.model, comparison, corrected)
    deltas = pd.DataFrame(rows)[SCHEMAS["delta_log_likelihood"].names]
    return deltas, pd.concat(gains, ignore_index=True)


def _gains(study: Study, model: str, comparison: Comparison, corrected: bool) -> list[pd.DataFrame]:
    """Return a model's parts of a `reading_gains` table: of ΔLogLik and of log perplexity."""
    names = {"model": model, "dataset": study.dataset}
    item_kind = "subject" if study.entry["unit"] == "subject" else "sentence"
    by_item = pd.Series(comparison.gains).groupby(pd.Series(comparison.items).astype(str))
    by_passage = word_nats(study.surprisals[model], corrected)
    return [
        _parts(by_item, item_kind, of="delta", **names),
        _parts(by_passage, "passage", of="log_perplexity", **names),
    ]


def word_nats(surprisal: pd.DataFrame, corrected: bool) -> Any:
    """Return the surprisals (nats) of all words that have one, grouped by passage."""
    bits = surprisal["surprisal" if corrected else "surprisal_uncorrected"].astype(float)
    known = bits.notna()
    return (bits[known] * np.log(2)).groupby(surprisal.loc[known, "passage_id"])


def _parts(by_item: Any, item_kind: str, **names: str) -> pd.DataFrame:
    """Return a part of a `reading_gains` table: the sum and the number of an item's values."""
    table = by_item.agg(["sum", "size"]).rename_axis("item").reset_index()
    table = table.rename(columns={"sum": "nats", "size": "n"})
    return table.assign(item_kind=item_kind, **names)[SCHEMAS["reading_gains"].names]


def _compared(
    frame: pd.DataFrame,
    models: Sequence[Predictors],
    entry: Mapping[str, Any],
    where: str,
    *,
    partition: str,
    random_effects: str,
) -> tuple[pd.DataFrame, pd.DataFrame, list[Comparison]]:
    """Return the rows that models are fitted to and evaluated on, and each one's comparison."""
    if not {"fit", partition} <= {*frame["partition"]}:
        raise LingprobError(f"{where}: the partition 'fit' or {partition!r} is empty.")
    columns = list(dict.fromkeys(name for model in models for name in model.all))
    with models_named(models):
        frame = standardised(frame, columns, where)
        fitted, evaluated = (frame[frame["partition"] == name] for name in ("fit", partition))
        if entry["unit"] != "subject":
            found = [_least_squares(fitted, evaluated, model) for model in models]
            return fitted, evaluated, found
        data, other = (
            MixedModelData.from_frame(
                part, response="rt_ms", predictors=columns, group="subject_id"
            )
            for part in (fitted, evaluated)
        )
        slopes = _slopes(entry["method"], models, data, random_effects)
        return fitted, evaluated, _mixed(data, other, models, slopes)


def _described(model: Predictors, comparison: Comparison) -> dict[str, Any]:
    """Return a comparison's part of a row."""
    without, full = comparison.log_likelihoods
    return {
        "model": model.model,
        "regression": comparison.regression,
        "baseline_formula": model.named(comparison.baseline_formula),
        "formula": model.named(comparison.formula),
        "log_likelihood_baseline": without,
        "log_likelihood": full,
        "delta": full - without,
        "surprisal_ms": comparison.ms[0],
        "surprisal_std_error": comparison.errors[0],
        "previous_ms": comparison.ms[1],
        "previous_std_error": comparison.errors[1],
        "converged": comparison.converged,
        "singular": comparison.singular,
    }


def reading_counts(
    dataset: str, entry: Mapping[str, Any], times: pd.DataFrame, scale: str
) -> pd.DataFrame:
    """Return a `reading_counts` table: what becomes of a data set's reading times."""
    counts = count_exclusions(times)
    counts = counts.assign(dataset=dataset, rt_source=entry.get("rt_source", "human"), scale=scale)
    return counts[SCHEMAS["reading_counts"].names]


def trend(table: pd.DataFrame, column: str, of: str = "delta") -> dict[str, float]:
    """Regress ΔLogLik (or the column `of`) on the logarithm (base 10) of a column over models.

    Returns slope (per tenfold), its standard error, r and the two-sided p; NaN for fewer than three
    models. Models without a value are left out.
    """
    from scipy.stats import linregress

    table = table[table[column].notna()]
    if table[column].nunique() < 3:
        return dict.fromkeys(("slope", "std_error", "r", "p"), float("nan"))
    fit = linregress(np.log10(table[column].to_numpy(float)), table[of].to_numpy(float))
    return {
        "slope": float(fit.slope),
        "std_error": float(fit.stderr),
        "r": float(fit.rvalue),
        "p": float(fit.pvalue),
    }


def _slopes(
    method: str, models: Sequence[Predictors], fitted: MixedModelData, random_effects: str
) -> tuple[str, ...]:
    """Return the random slopes of all regressions of a data set, in the paper's words.

    Those without surprisal have to converge like those with it (leakage, Appendix B).
    """
    if random_effects == "paper":
        return RANDOM_SLOPES[method]
    if random_effects not in RANDOM_EFFECTS:
        raise LingprobError(
            f"reading.random_effects: {random_effects!r} is none of {RANDOM_EFFECTS}."
        )
    previous = [previous_name("surprisal", lag + 1) for lag in range(len(models[0].previous))]
    maximal = ("surprisal", *previous, *models[0].baseline)
    formulas = _formulas(models, maximal)
    roles = {model.surprisal: "surprisal" for model in models}
    roles |= {
        column: role
        for model in models
        for column, role in zip(model.previous, previous, strict=True)
    }
    _, removed = reduce_random_effects(fitted, formulas, roles)
    logger.info("random slopes taken out, and the nats they cost: %s", removed)
    return tuple(name for name in maximal if name not in removed)


def _formulas(models: Sequence[Predictors], slopes: Sequence[str]) -> list[str]:
    """Return the formula without surprisal, which all models share, and each model's own."""
    own = [_formula(model, slopes, with_surprisal=True) for model in models]
    return [_formula(models[0], slopes, with_surprisal=False), *own]


def _formula(model: Predictors, slopes: Sequence[str], *, with_surprisal: bool) -> str:
    of_surprisal = {"surprisal": model.surprisal}
    for lag, column in enumerate(model.previous, start=1):
        of_surprisal[previous_name("surprisal", lag)] = column
    fixed = model.all if with_surprisal else model.baseline
    random = [of_surprisal.get(name, name) for name in slopes]
    random = [name for name in random if name in fixed]
    return f"rt_ms ~ {' + '.join(fixed)} + ({' + '.join(['1', *random])} | subject_id)"


def _mixed(
    fitted: MixedModelData,
    evaluated: MixedModelData,
    models: Sequence[Predictors],
    slopes: Sequence[str],
) -> list[Comparison]:
    """Fit the baseline once and each model's regression, all on one pass over the data."""
    formulas = _formulas(models, slopes)
    without, *fits = fit_mixed_models(fitted, formulas)
    by_subject = [fit.held_out_log_likelihood(evaluated) for fit in (without, *fits)]
    _warn("baseline", without.formula.text, without)
    found = []
    for model, full, values in zip(models, fits, by_subject[1:], strict=True):
        _warn(model.model, model.named(full.formula.text), full)
        found.append(
            Comparison(
                "mixed model",
                formulas[0],
                full.formula.text,
                (float(by_subject[0].sum()), float(values.sum())),
                (values - by_subject[0]).to_numpy(),
                values.index.to_numpy(),
                (full.fixed_effects[model.surprisal], full.fixed_effects[model.previous[0]]),
                (full.standard_errors[model.surprisal], full.standard_errors[model.previous[0]]),
                without.converged and full.converged,
                without.singular or full.singular,
            )
        )
    return found


def _warn(name: str, formula: str, fit: MixedFit) -> None:
    if not fit.converged or fit.singular:
        state = "is singular" if fit.converged else "did not converge"
        logger.warning("%s: %s %s", name, formula, state)


def _least_squares(fitted: pd.DataFrame, evaluated: pd.DataFrame, model: Predictors) -> Comparison:
    baseline = fit_least_squares(fitted, "rt_ms", model.baseline)
    full = fit_least_squares(fitted, "rt_ms", model.all)
    values = [fit.log_likelihoods(evaluated) for fit in (baseline, full)]
    return Comparison(
        "least squares",
        f"rt_ms ~ {' + '.join(model.baseline)}",
        f"rt_ms ~ {' + '.join(model.all)}",
        (float(values[0].sum()), float(values[1].sum())),
        values[1] - values[0],
        evaluated["sentence"].to_numpy(),
        (full.coefficients[model.surprisal], full.coefficients[model.previous[0]]),
        (full.standard_errors[model.surprisal], full.standard_errors[model.previous[0]]),
        True,
        False,
    )


def table_2(counts: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2 with what is excluded and why: a row a data set, a column a fate."""
    fates = list(dict.fromkeys(counts["fate"]))
    order = [fate for fate in fates if fate not in PARTS] + PARTS
    wide = counts.pivot(index=["dataset", "rt_source"], columns="fate", values="rows")
    wide = wide.reindex(columns=order).fillna(0).astype(int)
    return wide.reindex(counts[["dataset", "rt_source"]].drop_duplicates()).reset_index()


def table_3(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3: the formulas of each data set, with and without surprisal."""
    columns = ["dataset", "rt_source", "regression", "formula", "baseline_formula"]
    return deltas[columns].drop_duplicates().reset_index(drop=True)
