"""Regress reading times on surprisal (leakage, Study 2)."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table
from lingprob.reading.predictors import (
    RANDOM_SLOPES,
    Predictors,
    perplexity,
    regression_frame,
    standardised,
    unigram_surprisal,
)
from lingprob.reading.tables import READER
from lingprob.reading.times import count_exclusions, subject_numbers
from lingprob.stats.least_squares import INTERCEPT, fit_least_squares
from lingprob.stats.linear_mixed.fit import MixedFit, fit_mixed_models
from lingprob.stats.linear_mixed.moments import MixedFormula, MixedModelData
from lingprob.stats.resampling import sum_interval

logger = logging.getLogger(__name__)

SUBJECTS = "subjects"  # value of `partition` for cross-validation over subjects
FOLDS = 5
REACH = 1.96  # standard errors from a fixed effect to either end of its 95% interval
PARTS = ["fit", "exploratory", "held_out"]


class Options(NamedTuple):
    """Settings of all regressions of a run.

    - bootstrap, seed: number and seed of the resamples of subjects and sentences for intervals.
    - corrected: whether to use surprisals that are corrected for trailing spaces.
    - partition: the evaluated partition, or `subjects` for all rows, by cross-validation over
      subjects (over sentences for means).
    - random_effects: `paper` (Table 3), or `reduced` (from the maximal ones by the paper's rule).
    - smoothing: number that is added to each unigram count.
    - previous_words: number of preceding words whose surprisals are predictors too.
    """

    bootstrap: int
    seed: int
    scale: str
    corrected: bool = True
    partition: str = "exploratory"
    random_effects: str = "paper"
    smoothing: float = 1.0
    previous_words: int = 1


class Study(NamedTuple):
    """A data set of reading times: its catalog entry and the tables of its regressions.

    The sum of the `word_counts` tables in `counts` gives unigram surprisals. `surprisals` has the
    `surprisal` table of each model.
    """

    dataset: str
    entry: Mapping[str, Any]
    times: pd.DataFrame
    words: pd.DataFrame
    counts: Sequence[pd.DataFrame]
    surprisals: Mapping[str, pd.DataFrame]

    @property
    def about(self) -> str:
        """The data set's name for messages."""
        return f"data set {self.dataset!r}"

    def frame(self, options: Options) -> tuple[pd.DataFrame, list[Predictors]]:
        """Return the table of the regressions and each model's Predictors (`regression_frame`).

        Raises LingprobError if the condition is a factor and does not vary, or is unknown.
        """
        is_factor = "condition" in self.entry.get("factors", [])
        conditions = self.times["condition"] if is_factor else pd.Series([0, 1])
        if conditions.isna().any() or conditions.nunique() < 2:
            raise LingprobError(
                f"{self.about}: `factors: [condition]` needs two or more conditions, but the times "
                f"have {[*conditions.unique()]}. Name their column in `columns:`."
            )
        return regression_frame(
            self.times if is_factor else self.times.assign(condition=None),
            self.words,
            unigram_surprisal(self.words["word"], self.counts, options.smoothing),
            self.surprisals,
            corrected=options.corrected,
            previous_words=options.previous_words,
            about=self.about,
        )


def read_study(
    dataset: str, entry: Mapping[str, Any], models: Sequence[str], files: Mapping[str, Any]
) -> Study:
    """Read the study of a data set. `files` has the paths of tables by the names of Study's fields.

    `files["surprisals"]` is in the order of `models`.
    """
    surprisals = [read_table(path, "surprisal") for path in files["surprisals"]]
    counts = [read_table(path, "word_counts") for path in files["counts"]]
    times, words = read_table(files["times"], "reading_times"), read_table(files["words"], "words")
    return Study(dataset, entry, times, words, counts, dict(zip(models, surprisals, strict=True)))


class Comparison(NamedTuple):
    """A regression with surprisal ("full") and one without ("baseline").

    `log_likelihoods` has their log-likelihoods (nats) and the number of rows n by subject and
    sentence. `effects` has the full regression's fixed effects (ms) and standard errors.
    """

    formulas: tuple[str, str]
    log_likelihoods: pd.DataFrame
    effects: pd.DataFrame
    converged: bool
    singular: bool

    @property
    def gains(self) -> pd.Series:
        """The gain in log-likelihood (nats) by subject and sentence."""
        return self.log_likelihoods["full"] - self.log_likelihoods["baseline"]


def compare_regressions(
    study: Study,
    *,
    contexts: Mapping[str, str],
    corrections: Mapping[str, bool | None],
    **options: Any,
) -> dict[str, pd.DataFrame]:
    """Regress reading times of one data set with and without each model's surprisal.

    Mixed models with random effects by subject are fitted to the fit partition by maximum
    likelihood, with surprisal (of the word and of the one before) and without. The difference of
    their log-likelihoods on another partition is ΔLogLik. Means over readers are regressed by
    ordinary least squares.

    `contexts` and `corrections` have the values of these columns for each model's surprisals:
    `corrected` is whether they are corrected for trailing spaces (None if unknown). `options` are
    the fields of Options.

    Returns tables by name: `delta_log_likelihood` (one row per model), `reading_gains` (the parts
    of ΔLogLik by subject and sentence, and of log perplexity by passage) and `reading_effects`
    (fixed effects).
    """
    chosen = Options(**options)
    frame, models = study.frame(chosen)
    found = _compared(frame, models, study, chosen)
    is_all = chosen.partition == SUBJECTS
    common = {
        "dataset": study.dataset,
        "texts": study.entry["texts"],
        "measure": study.entry["measure"],
        "rt_source": study.entry.get("rt_source", "human"),
        "regression": "mixed model" if study.entry["unit"] == "subject" else "least squares",
        "partition": chosen.partition,
        "n_fit": len(frame) if is_all else int((frame["partition"] == "fit").sum()),
        "n_evaluated": int(found[0].log_likelihoods["n"].sum()),
        "n_subjects": frame["subject_id"].nunique(),
        "scale": chosen.scale,
    }
    rows, gains, effects = [], [], []
    for model, one in zip(models, found, strict=True):
        table, name = study.surprisals[model.model], model.model
        by_word, by_token = perplexity(table, chosen.corrected)
        cells = one.gains.unstack(fill_value=0.0).to_numpy()
        low, high = sum_interval(cells, chosen.bootstrap, chosen.seed)
        own = {
            "context": contexts[name],
            "corrected": corrections[name],
            "delta_low": low,
            "delta_high": high,
            "word_perplexity": by_word,
            "token_perplexity": by_token,
        }
        rows.append({**common, **own, **_described(model, one)})
        of_model = _gains(one, table, chosen.corrected)
        gains.append(of_model.assign(model=name, dataset=study.dataset, convention=""))
        effects.append(_effects(model, one).assign(dataset=study.dataset, scale=chosen.scale))
    tables = {"delta_log_likelihood": pd.DataFrame(rows)}
    tables |= {"reading_gains": pd.concat(gains), "reading_effects": pd.concat(effects)}
    return {name: table[SCHEMAS[name].names] for name, table in tables.items()}


def _described(model: Predictors, one: Comparison) -> dict[str, Any]:
    """Return one model's values in a `delta_log_likelihood` table, by column."""
    baseline, full = one.formulas
    sums = one.log_likelihoods.sum()
    terms = {"surprisal": model.surprisal, "previous": model.previous[0]}
    return {
        "model": model.model,
        "baseline_formula": model.named(baseline),
        "formula": model.named(full),
        "log_likelihood_baseline": sums["baseline"],
        "log_likelihood": sums["full"],
        "delta": sums["full"] - sums["baseline"],
        **{f"{name}_{c}": one.effects[c][at] for name, at in terms.items() for c in one.effects},
        "converged": one.converged,
        "singular": one.singular,
    }


def _effects(model: Predictors, one: Comparison) -> pd.DataFrame:
    """Return a model's rows of a `reading_effects` table, without dataset and scale."""
    table = one.effects.rename(index=model.roles).rename_axis("term").reset_index()
    reach = REACH * table["std_error"]
    return table.assign(
        model=model.model,
        ms_low=table["ms"] - reach,
        ms_high=table["ms"] + reach,
        converged=one.converged,
        singular=one.singular,
    )


def _gains(one: Comparison, surprisal: pd.DataFrame, corrected: bool) -> pd.DataFrame:
    """Return a model's rows of a `reading_gains` table, without model and dataset.

    They are the parts of ΔLogLik by subject and sentence, and surprisal (nats) by passage.
    """
    deltas = one.log_likelihoods.assign(of="delta", nats=one.gains)
    deltas = deltas.rename_axis(index=["subject", "item"]).reset_index()
    bits = surprisal["surprisal" if corrected else "surprisal_uncorrected"].astype(float).dropna()
    by_passage = (bits * np.log(2)).groupby(surprisal["passage_id"]).agg(nats="sum", n="size")
    passages = by_passage.rename_axis("item").reset_index()
    both = [deltas, passages.assign(of="log_perplexity", subject=READER)]
    return pd.concat([part.astype({"subject": str, "item": str}) for part in both])


def with_units(gains: pd.DataFrame) -> pd.DataFrame:
    """Return `reading_gains` with a column `unit`: subjects, or items of a single subject."""
    one = gains["subject"].nunique() < 2
    return gains.assign(unit=gains["item" if one else "subject"])


def _compared(
    frame: pd.DataFrame, models: Sequence[Predictors], study: Study, options: Options
) -> list[Comparison]:
    """Return each model's comparison on the evaluated partition, or over all folds."""
    is_mixed = study.entry["unit"] == "subject"
    readers, needed = frame["subject_id"].unique(), 3 if options.partition == SUBJECTS else 2
    if is_mixed and len(readers) < needed:
        raise LingprobError(
            f"{study.about}: too few readers ({len(readers)}, such as {readers[0]!r}), fewer than "
            f"{needed}. Add readers, or set `unit: word` if the times are means over readers."
        )
    slopes: tuple[str, ...] | None = None
    if options.random_effects == "paper":
        slopes = looked_up("method", study.entry["method"], RANDOM_SLOPES)
    if options.partition != SUBJECTS:
        return _split(frame, models, study, options.partition, slopes)[0]
    whole, slopes = _split(frame.assign(partition="fit"), models, study, "fit", slopes)
    number = subject_numbers(frame["subject_id"]) if is_mixed else frame["sentence"]
    folds = []
    for fold in sorted(set(number % FOLDS)):
        parts = np.where(number % FOLDS == fold, SUBJECTS, "fit")
        folds.append(_split(frame.assign(partition=parts), models, study, SUBJECTS, slopes)[0])
    # Effects and random slopes come from the fit to all rows.
    return [
        one._replace(
            log_likelihoods=pd.concat([fold.log_likelihoods for fold in of_model]),
            converged=one.converged and all(fold.converged for fold in of_model),
            singular=one.singular or any(fold.singular for fold in of_model),
        )
        for one, *of_model in zip(whole, *folds, strict=True)
    ]


def _split(
    frame: pd.DataFrame,
    models: Sequence[Predictors],
    study: Study,
    partition: str,
    slopes: tuple[str, ...] | None,
) -> tuple[list[Comparison], tuple[str, ...] | None]:
    """Return comparisons of regressions fitted to the partition `fit` and evaluated on another.

    `slopes` are the random slopes, or None for `_reduced_slopes`. They are returned as well.
    """
    if not {"fit", partition} <= {*frame["partition"]}:
        raise LingprobError(f"{study.about}: the partition 'fit' or {partition!r} is empty.")
    columns = list(dict.fromkeys(name for model in models for name in model.all))
    measured = [name for name in columns if name not in models[0].factors]
    frame = standardised(frame, measured, study.about)
    frame = frame.sort_values(["subject_id", "sentence"], kind="stable")
    fitted, evaluated = (frame[frame["partition"] == name] for name in ("fit", partition))
    if study.entry["unit"] != "subject":
        return [_least_squares(fitted, evaluated, model) for model in models], slopes
    data = MixedModelData.from_frame(
        fitted, response="rt_ms", predictors=columns, group="subject_id"
    )
    if slopes is None:
        slopes = tuple(_reduced_slopes(data, models))
    return _mixed(fit_formulas(data, models, slopes), evaluated, models), slopes


def fit_formulas(
    data: MixedModelData, models: Sequence[Predictors], slopes: Sequence[str]
) -> list[MixedFit]:
    """Return the fit without surprisal, which all models share, and the fit of each model."""
    baseline = _formula(models[0], models[0].baseline, slopes)
    full = [_formula(model, model.all, slopes) for model in models]
    return fit_mixed_models(data, [baseline, *full])


def _formula(model: Predictors, fixed: Sequence[str], slopes: Sequence[str]) -> MixedFormula:
    """Return a formula with those random slopes in `slopes` (paper's names) that are in `fixed`."""
    columns = {role: column for column, role in model.roles.items() if column in fixed}
    random = [columns[name] for name in slopes if name in columns]
    return MixedFormula("rt_ms", (INTERCEPT, *fixed), (INTERCEPT, *random), "subject_id")


def _reduced_slopes(data: MixedModelData, models: Sequence[Predictors]) -> tuple[str, ...]:
    """Return the random slopes with which all models converge (leakage, Appendix B).

    The first fits have all slopes. Each next step removes the slope whose removal costs all fits
    together the least log-likelihood. lme4 often warns at an optimum with singular covariance, so a
    singular fit counts as not converged.

    Raises LingprobError if the models do not converge without any slope.
    """
    slopes = tuple(models[0].roles.values())
    fits = fit_formulas(data, models, slopes)
    while not all(fit.converged and not fit.singular for fit in fits):
        if not slopes:
            fit = next(fit for fit in fits if fit.singular or not fit.converged)
            raise LingprobError(
                f"{fit.formula.text!r} has no random slope to take out and does not converge: "
                f"standard deviation between groups {fit.covariance.iloc[0, 0] ** 0.5:.3g}."
            )
        left = [tuple(name for name in slopes if name != out) for out in slopes]
        slopes, fits = max(
            ((names, fit_formulas(data, models, names)) for names in left),
            key=lambda candidate: sum(fit.log_likelihood for fit in candidate[1]),
        )
        logger.info("random slopes: %s", slopes)
    return slopes


def _mixed(
    fits: Sequence[MixedFit], evaluated: pd.DataFrame, models: Sequence[Predictors]
) -> list[Comparison]:
    """Return the comparisons of mixed fits (of `fit_formulas`) on `evaluated` rows."""
    for name, fit in zip(["baseline", *(model.model for model in models)], fits, strict=True):
        if not fit.converged or fit.singular:
            state = "is singular" if fit.converged else "did not converge"
            logger.warning("%s: %s %s", name, fit.formula.text, state)
    without, *of_models = fits
    n = evaluated.groupby(["subject_id", "sentence"]).size()
    values = [fit.held_out_log_likelihoods(evaluated, "sentence") for fit in fits]
    return [
        Comparison(
            (without.formula.text, full.formula.text),
            pd.DataFrame({"baseline": values[0], "full": of_full, "n": n}),
            pd.DataFrame({"ms": full.fixed_effects, "std_error": full.standard_errors}),
            without.converged and full.converged,
            without.singular or full.singular,
        )
        for full, of_full in zip(of_models, values[1:], strict=True)
    ]


def _least_squares(fitted: pd.DataFrame, evaluated: pd.DataFrame, model: Predictors) -> Comparison:
    """Compare least-squares fits to the rows `fitted`, without and with surprisal.

    Log-likelihoods are those of the rows `evaluated`.
    """
    baseline, full = (
        fit_least_squares(fitted, "rt_ms", names) for names in (model.baseline, model.all)
    )
    values = evaluated[["subject_id", "sentence"]].assign(
        baseline=baseline.log_likelihoods(evaluated), full=full.log_likelihoods(evaluated), n=1
    )
    return Comparison(
        (f"rt_ms ~ {' + '.join(model.baseline)}", f"rt_ms ~ {' + '.join(model.all)}"),
        values.groupby(["subject_id", "sentence"]).sum(),
        pd.DataFrame({"ms": full.coefficients, "std_error": full.standard_errors}),
        converged=True,
        singular=False,
    )


def reading_counts(
    dataset: str, entry: Mapping[str, Any], times: pd.DataFrame, scale: str
) -> pd.DataFrame:
    """Return a `reading_counts` table: reading times by reason of exclusion or partition."""
    counts = count_exclusions(times)
    counts = counts.assign(dataset=dataset, rt_source=entry.get("rt_source", "human"), scale=scale)
    return counts[SCHEMAS["reading_counts"].names]


def table_2(counts: pd.DataFrame) -> pd.DataFrame:
    """Return Table 2: the number of reading times per data set in each partition and exclusion."""
    order = [fate for fate in counts["fate"].unique() if fate not in PARTS] + PARTS
    wide = counts.pivot(index=["dataset", "rt_source"], columns="fate", values="rows")
    wide = wide.reindex(columns=order).fillna(0).astype(int)
    return wide.reindex(counts[["dataset", "rt_source"]].drop_duplicates()).reset_index()


def table_3(deltas: pd.DataFrame) -> pd.DataFrame:
    """Return Table 3: each data set's regression formulas with and without surprisal."""
    columns = ["dataset", "rt_source", "regression", "formula", "baseline_formula"]
    return deltas[columns].drop_duplicates().reset_index(drop=True)
