"""Judge pairs by their log-probabilities after prefixes and without a prefix."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED, NO_PREFIX
from lingprob.stimuli.syntaxgym import Suite

KEYS = ["prefix_id", "length", "pair_id"]
DESCRIBED = ["kind", "source_suite", "perturbation"]
# Columns of judgments from which the response of a suite is computed.
RESPONSE = [
    "model", "dataset", "suite", "pair_id", "kind", "perturbation", "length", "correct", "margin",
]  # fmt: skip


def judge(
    model: str,
    dataset: str,
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    scores: pd.DataFrame,
    suites: Sequence[Suite],
) -> pd.DataFrame:
    """Return a `context_judgments` table: one row per pair, prefix and length.

    A pair is right if the acceptable sentence has the higher log-probability (context, Eq. 1), an
    item of a suite if the suite's first prediction is true. `margin` is the unacceptable sentence's
    perplexity per token minus the acceptable one's, given the prefix: Eq. 3 with the opposite
    sign, so that right judgments tend to be positive. It is null for items of suites.
    """
    stimuli = with_suites(stimuli, dataset)
    paired = judged_suites(stimuli, scores, suites) if suites else judged_pairs(stimuli, scores)
    of_pair = stimuli.drop_duplicates("pair_id").set_index("pair_id")[["paradigm", "phenomenon"]]
    described = prefixes.set_index("prefix_id")[DESCRIBED]
    described.loc[NO_PREFIX] = [NO_PREFIX, None, None]
    # If a target's first token begins in the prefix, the members of a pair differ by a token.
    sizes = scores.groupby(KEYS)[["prefix_tokens", "n_sentences"]].min()
    table = paired.join(sizes, on=KEYS).join(of_pair, on="pair_id").join(described, on="prefix_id")
    return table.rename(columns={"paradigm": "suite"}).assign(model=model, dataset=dataset)


def judged_pairs(stimuli: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return KEYS, `correct` (bool) and `margin` of pairs of sentences, as `judge` defines them."""
    acceptable = stimuli.set_index("item_id")["grammatical"].astype(bool)
    sides = scores.assign(side=np.where(acceptable.loc[scores["item_id"]], "good", "bad"))
    wide = sides.pivot(index=KEYS, columns="side", values=["logprob", "n_tokens"])
    logprob, perplexity = wide["logprob"], np.exp(-wide["logprob"] / wide["n_tokens"])
    correct, margin = logprob["good"] > logprob["bad"], perplexity["bad"] - perplexity["good"]
    return pd.DataFrame({"correct": correct, "margin": margin}).reset_index()


def judged_suites(
    stimuli: pd.DataFrame, scores: pd.DataFrame, suites: Sequence[Suite]
) -> pd.DataFrame:
    """Return `correct` (bool) of items by KEYS: whether their suite's first prediction is met.

    Predictions compare the surprisals (bits) of regions.
    """
    rows = scores.join(stimuli.set_index("item_id")[["paradigm", "condition"]], on="item_id")
    rows = rows.assign(surprisal=-rows["logprob"] / np.log(2))
    by_suite = dict(tuple(rows.groupby("paradigm", sort=False)))
    tables = []
    for suite in suites:
        if suite.name not in by_suite:
            continue
        of_suite = by_suite[suite.name]
        wide = of_suite.pivot(index=KEYS, columns=["condition", "region"], values="surprisal")
        surprisals = {region: wide[region].to_numpy() for region in wide.columns}
        correct = suite.predictions[0].holds(surprisals)
        tables.append(pd.DataFrame({"correct": correct}, index=wide.index).reset_index())
    return pd.concat(tables, ignore_index=True).assign(margin=None)


def in_categories(judgments: pd.DataFrame) -> pd.DataFrame:
    """Return judgments with texts as categories, which take a tenth of the memory."""
    texts = judgments.columns[[pd.api.types.is_string_dtype(kind) for kind in judgments.dtypes]]
    return judgments.astype(dict.fromkeys(texts, "category"))


def with_baseline(judgments: pd.DataFrame) -> pd.DataFrame:
    """Return judgments after prefixes with baseline_correct and baseline_margin.

    These are the judgment and margin of the same pair without a prefix.
    """
    keys = ["model", "dataset", "pair_id"]
    alone = judgments[judgments["kind"] == NO_PREFIX].drop_duplicates(keys)
    baseline = alone.set_index(keys)[["correct", "margin"]].add_prefix("baseline_")
    return judgments[judgments["kind"] != NO_PREFIX].join(baseline, on=keys)


def at_longest(judgments: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return each pair's judgment after its longest prefix of one kind, as `with_baseline`."""
    prefixed = with_baseline(judgments)
    rows = prefixed[(prefixed["kind"] == kind) & prefixed["perturbation"].isna()]
    return rows.sort_values("length", kind="stable").drop_duplicates(
        ["model", "dataset", "pair_id"], keep="last"
    )


def responsive_suites(judgments: pd.DataFrame, count: int) -> list[str]:
    """Return the names of the suites that respond most to matched acceptable prefixes.

    The response is the absolute change in accuracy at the greatest length, averaged over models as
    in Table 1, to which footnote 8 refers. Ties are ordered by name. (context, §5)
    """
    rows = at_longest(judgments, MATCHED[0])
    by_suite = rows.groupby(["model", "suite"])[["correct", "baseline_correct"]].mean()
    mean = (by_suite["correct"] - by_suite["baseline_correct"]).abs().groupby("suite").mean()
    # Suites are in the order of their names.
    ordered = mean.sort_values(ascending=False, kind="stable")
    return [str(suite) for suite in ordered.index[:count]]


def with_suites(stimuli: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the pairs of a `stimuli` table, with each item's suite in the column paradigm.

    The suite of an item without a paradigm is its phenomenon, or else the data set. Sentences
    without a pair are left out, because they cannot be judged.
    """
    stimuli = stimuli[stimuli["pair_id"].notna()].reset_index(drop=True)
    suite = stimuli["paradigm"].astype(object).fillna(stimuli["phenomenon"].astype(object))
    return stimuli.assign(paradigm=suite.fillna(dataset))
