"""Variance components of changes by suite, target and prefix (beyond context, Appendix D).

A target's change depends on the target, on the prefix that was drawn, and on how the two fit. They
are told apart where targets stand after several prefixes and prefixes before several targets: in a
matrix of suites (kind `from_suite`), and where targets have prefixes of their own and shared ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from lingprob.context.names import FROM_SUITE, KINDS, NO_PREFIX
from lingprob.errors import LingprobError
from lingprob.papers.context.prefix_power import EFFECTS, Sample, ends, needed_rows
from lingprob.regression.crossed_power import Variances
from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.schemas import SCHEMAS

logger = logging.getLogger(__name__)

# Random effects by what they are of; of what prefixes of one suite have in common, in a matrix.
TERMS = {"suite": "suite", "target": "pair_id", "prefix": "prefix"}
SOURCE = {"source": "source"}
# Targets of each suite, and suites of a matrix, that components are estimated from; with more, a
# fit takes much longer and is hardly surer.
MOST_TARGETS, MOST_SUITES = 20, 20


def some_pairs(judgments: pd.DataFrame) -> list[str]:
    """Return the first pairs of each suite by name, as many as components are estimated from."""
    pairs = judgments[["suite", "pair_id"]].drop_duplicates().sort_values(["suite", "pair_id"])
    return pairs.groupby("suite", sort=False).head(MOST_TARGETS)["pair_id"].tolist()


def some_suites(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of evenly spaced suites by name, as many as matrices are estimated from."""
    names = np.unique(rows["suite"].astype(str))
    kept = names[np.unique(np.linspace(0, len(names) - 1, MOST_SUITES).astype(int))]
    return rows[rows["suite"].isin(kept)]


def changes(
    judgments: pd.DataFrame, scores: pd.DataFrame, acceptable: pd.Series, longest: int
) -> pd.DataFrame:
    """Return kind, suite, pair_id, prefix, source and two changes, a row a target after a prefix.

    `accuracy` and `logprob_margin` (nats) are those after the longest cut of the prefix less those
    without a prefix. A prefix before targets of several suites counts as one for each, since it
    may help one and harm another.

    Args:
        judgments: `context_judgments` of one model and data set of plain pairs.
        scores: `context_scores` of the same pairs.
        acceptable: by item id, whether its sentence is the acceptable one.
        longest: cut of growing prefixes, tokens: the longest that own and shared ones both have.
    """
    keys = ["prefix_id", "length", "pair_id"]
    signs = np.where(acceptable.loc[scores["item_id"]].astype(bool), 1.0, -1.0)
    margins = (scores["logprob"] * signs).groupby([scores[key] for key in keys]).sum()
    judged = judgments.join(margins.rename("logprob_margin"), on=keys)
    judged = judged.assign(accuracy=judged["correct"].astype(float))
    alone = judged[judged["kind"] == NO_PREFIX].drop_duplicates("pair_id").set_index("pair_id")
    counted = judged["kind"].isin(KINDS) & (judged["length"] <= longest)
    rows = judged[counted | (judged["kind"] == FROM_SUITE)].sort_values("length", kind="stable")
    rows = rows.drop_duplicates(["kind", "prefix_id", "pair_id"], keep="last")
    measures = list(EFFECTS)
    before = alone.loc[rows["pair_id"], measures].to_numpy()
    rows = rows.assign(
        prefix=rows["prefix_id"].astype(str) + "/" + rows["suite"].astype(str),
        source=rows["source_suite"].astype(object).fillna("") + "/" + rows["suite"].astype(str),
        **dict(zip(measures, (rows[measures].to_numpy() - before).T, strict=True)),
    )
    names = ["kind", "suite", "pair_id", "prefix", "source", *measures]
    return rows[names].reset_index(drop=True)


def told_apart(rows: pd.DataFrame) -> bool:
    """Tell whether targets and prefixes of one kind are crossed, in several suites."""
    recurring = all(len(rows) > rows[column].nunique() for column in ("pair_id", "prefix"))
    return recurring and rows["suite"].nunique() > 1


def components(rows: pd.DataFrame, measure: str) -> Variances:
    """Return the variance components of one kind's changes, by restricted maximum likelihood.

    Raises LingprobError where the rows do not determine them.
    """
    terms = TERMS | (SOURCE if rows["source"].nunique() > rows["suite"].nunique() else {})
    formula = f"{measure} ~ 1 + " + " + ".join(f"(1 | {column})" for column in terms.values())
    data = CrossedData.from_formulas(rows, [formula])
    (fit,) = fit_mixed_models(data, [formula], method="REML", starts=1)
    found = fit.variances()["variance"].tolist()  # type: ignore[union-attr] # of several factors
    return Variances(**dict(zip(terms, found, strict=True)), residual=fit.sigma**2)


def redrawn(rows: pd.DataFrame, measure: str, draws: int, seed: int) -> Iterator[Variances]:
    """Yield the components of resampled suites, each with all its targets and prefixes.

    A draw that determines none is left out.
    """
    columns = ["suite", "pair_id", "prefix", "source"]
    numbered = rows.assign(**{name: pd.factorize(rows[name])[0] for name in columns})
    by_suite = list(numbered.groupby("suite", sort=False).indices.values())
    generator = np.random.default_rng(seed)
    for _ in range(draws):
        suites = [by_suite[n] for n in generator.integers(len(by_suite), size=len(by_suite))]
        drawn = numbered.iloc[np.concatenate(suites)]
        copy = np.repeat(np.arange(len(suites)), [len(one) for one in suites])
        # A suite that was drawn twice is two suites, with targets and prefixes of their own.
        drawn = drawn.assign(**{name: drawn[name] * len(suites) + copy for name in columns})
        try:
            yield components(drawn.reset_index(drop=True), measure)
        except LingprobError:
            continue


def prefix_tables(
    rows: pd.DataFrame, of_run: Mapping[str, Sample], *, draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a `prefix_variances` and a `prefixes_needed` table less model, data set and scale.

    Kinds of which no target stands after several prefixes, or no prefix before several targets, are
    left out, and so are those whose components the rows do not determine, as the log says.

    Args:
        rows: of one model and data set, as `changes` returns them.
        of_run: what the run has of each kind.
        draws: resamples of suites behind each interval, with a fit each.
        seed: of the draws.
    """
    variances, needed = [], []
    for kind, group in rows.groupby("kind", sort=False):
        if not told_apart(group):
            logger.info("%s prefixes: not crossed with targets", kind)
            continue
        group = some_suites(group) if kind == FROM_SUITE else group
        for measure in EFFECTS:
            try:
                found = components(group, measure)
            except LingprobError as error:
                logger.warning("%s prefixes, %s: no components (%s)", kind, measure, error)
                continue
            again = list(redrawn(group, measure, draws, seed))
            about = {"kind": kind, "measure": measure, "n_rows": len(group)}
            variances += [about | row for row in variance_rows(found, again)]
            of_kind = needed_rows(found, again, measure, of_run[str(kind)])
            needed += [{"kind": kind} | row for row in of_kind]
    return with_columns(variances, "prefix_variances"), with_columns(needed, "prefixes_needed")


def with_columns(rows: list[dict[str, object]], table: str) -> pd.DataFrame:
    """Return rows, of which there may be none, with the columns of a table that they have.

    What is infinite, as no number is enough, is null there.
    """
    said = [name for name in SCHEMAS[table].names if name not in ("model", "dataset", "scale")]
    return pd.DataFrame(rows, columns=said).replace([np.inf], np.nan)


def variance_rows(found: Variances, again: list[Variances]) -> Iterator[dict[str, object]]:
    """Yield each component with its interval over resamples, and its share of their sum."""
    for component, variance in found._asdict().items():
        low, high = ends([getattr(one, component) for one in again])
        yield {
            "component": component,
            "variance": variance,
            "variance_low": low,
            "variance_high": high,
            "share": variance / sum(found) if sum(found) else np.nan,
        }
