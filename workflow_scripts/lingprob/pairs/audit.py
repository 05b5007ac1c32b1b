"""The audit of minimal pairs: measures of each pair, its problems, and the order of pairs.

A pair is informative about grammar if its two sentences share a message, and if the preferred
sentence does not depend on a convention (string_probability, §2 to §5).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.schemas import SCHEMAS
from lingprob.stimuli.distances import edit_distances, pair_texts
from lingprob.stimuli.tables import SIDES

Array = NDArray[np.float64]
FEWEST = 20  # smallest number of pairs for a regression of one sentence on the other
ROUNDING = 1e-9  # a residual scale below this share of the values is rounding noise
NORMAL = 1.4826  # standard deviation of normal values, as a multiple of their MAD
# Metrics of sentences other than their log-probability, by their names on the page. p and u are
# the sums of log p and of unigram log p, and n is the number of tokens.
METRICS = {
    "mean log p": lambda p, u, n: p / n,
    "log p less unigrams": lambda p, u, n: p - u,
    "SLOR": lambda p, u, n: (p - u) / n,
}
FENCE = 1.5  # interquartile ranges beyond a quartile, as in Tukey's fences
FAR = 3.0
FLIP = "verdict flips"


class Problem(NamedTuple):
    """A kind of problem: its weight in the order of pairs, and a sentence on its meaning."""

    weight: int
    meaning: str


PROBLEMS = {
    "identical": Problem(8, "The two sentences are the same, so neither can be preferred."),
    "called both": Problem(8, "A sentence of this pair is on the other side in another pair."),
    "repeated": Problem(4, "An earlier pair has the same two sentences, so they count twice."),
    "in the corpus": Problem(4, "A corpus contains one of the two sentences in full."),
    FLIP: Problem(3, "The preferred sentence depends on the start token or on the metric."),
    "never preferred": Problem(2, "No convention prefers the grammatical sentence."),
    "words": Problem(2, "The sentences differ in more words than a minimal pair needs."),
    "meaning": Problem(2, "The sentences' embeddings are farther apart than in nearly all pairs."),
    "message": Problem(2, "The log-probabilities differ far more or less than in similar pairs."),
    "frequency": Problem(2, "Unigram log-probabilities differ more than log-probabilities."),
    "first word": Problem(1, "The first words differ. Some models give them no probability."),
    "length": Problem(1, "The numbers of tokens differ, which favours the shorter sentence."),
    "implausible": Problem(
        1, "The grammatical sentence is far less probable than others, per token."
    ),
}


@dataclass(frozen=True)
class Evidence:
    """The tables on which the audit of a data set is based.

    Args:
        dataset: name of the data set.
        stimuli: a `stimuli` table. Sentences without a pair are left out.
        scores: `sentence_scores` under every BOS policy that was scored.
        convention: the BOS policy and the unigram source of the verdict on a pair.
        distances: the `minimalness` table, if there is an embedding model.
        leakage: the `audit_leakage` table of all searched corpora, also for other data sets.
    """

    dataset: str
    stimuli: pd.DataFrame
    scores: pd.DataFrame
    convention: tuple[str, str]
    distances: pd.DataFrame | None = None
    leakage: pd.DataFrame | None = None


def measure(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the measures of each pair, and whether each convention prefers its grammatical side.

    Both tables have one row per pair id. The second has one column per convention, with that of
    the verdict first, and the values True, False or None (for an unknown metric). Raises
    LingprobError for a data set without pairs or without scores.
    """
    texts = pair_texts(evidence.stimuli, evidence.dataset)
    if texts.empty:
        raise LingprobError(
            f"data set {evidence.dataset!r}: no pairs to audit. Give its file the columns `good` "
            "and `bad`, or `pair` and `grammatical`."
        )
    paired = evidence.stimuli[evidence.stimuli["pair_id"].notna()]
    about = paired.drop_duplicates("pair_id").set_index("pair_id")[["phenomenon", "paradigm"]]
    default = evidence.convention[0]
    policies = dict.fromkeys([default, *evidence.scores["bos"]])
    sides = {policy: sides_of(evidence, policy) for policy in policies}
    table = about.join(texts).join(edit_distances(texts)).join(sides[default])
    table["first_word_differs"] = (
        texts["good"].str.split().str[0] != texts["bad"].str.split().str[0]
    )
    table["logprob_difference"] = table["logprob_good"] - table["logprob_bad"]
    table["unigram_difference"] = table["unigram_logprob_good"] - table["unigram_logprob_bad"]
    table["mismatch"] = mismatch(table)
    table["cosine_distance"] = np.nan
    if evidence.distances is not None:
        table["cosine_distance"] = evidence.distances.set_index("pair_id")["cosine_distance"]
    table = table.join(repetitions(texts)).join(leaks(paired, evidence))
    return table, verdicts(sides, default)


def sides_of(evidence: Evidence, policy: str) -> pd.DataFrame:
    """Return the scores of both sentences of each pair under a BOS policy, by pair id.

    Columns are logprob, unigram_logprob and n_tokens, each with `_good` and `_bad`. Unigrams are
    those of `evidence.convention`, or else of the first scored source. Raises LingprobError for a
    sentence without a score.
    """
    scores = evidence.scores[evidence.scores["bos"] == policy]
    source = evidence.convention[1]
    available = scores["unigrams"].unique()
    scores = scores[scores["unigrams"] == (source if source in available else available[0])]
    paired = evidence.stimuli[evidence.stimuli["pair_id"].notna()]
    joined = paired.merge(scores, on="item_id", how="left", validate="one_to_one")
    refuse_rows(
        joined["logprob"].isna(),
        f"data set {evidence.dataset!r}, item {{item_id!r}}: no score under BOS policy {policy!r}. "
        "Score the whole data set.",
        joined,
    )
    sides = []
    for side in SIDES:
        of_side = joined[joined["grammatical"] == (side == "good")].set_index("pair_id")
        columns = of_side[["logprob", "unigram_logprob", "n_tokens"]].astype(float)
        sides.append(columns.add_suffix(f"_{side}"))
    return pd.concat(sides, axis=1).loc[paired["pair_id"].drop_duplicates()]


def verdicts(sides: dict[str, pd.DataFrame], default: str) -> pd.DataFrame:
    """Return whether each convention prefers the grammatical sentence, one column per convention.

    `sides` has `sides_of` each BOS policy. METRICS use the policy `default`. A tie is no
    preference.
    """
    found = {
        f"log p ({policy})": table["logprob_good"] > table["logprob_bad"]
        for policy, table in sides.items()
    }
    chosen = sides[default]
    for name, metric in METRICS.items():
        good, bad = (
            metric(
                chosen[f"logprob_{side}"], chosen[f"unigram_logprob_{side}"],
                chosen[f"n_tokens_{side}"],
            )
            for side in SIDES
        )  # fmt: skip
        found[name] = (good > bad).astype(object).where(good.notna() & bad.notna(), None)
    table = pd.DataFrame(found)
    return table.loc[:, table.notna().any()]


def mismatch(table: pd.DataFrame) -> Array:
    """Return the residual of each pair in a regression, in robust standard deviations, (n,).

    Log p of the ungrammatical sentence is regressed on log p of the grammatical sentence and both
    lengths. The sentences of minimal pairs share a message (Prediction 1). A large residual marks a
    pair that differs by more, or by less, than others. NaN for fewer than 20 pairs.
    """
    if len(table) < FEWEST:
        return np.full(len(table), np.nan)
    terms = table[["logprob_good", "n_tokens_good", "n_tokens_bad"]].to_numpy(dtype=float)
    design = np.column_stack([np.ones(len(table)), terms])
    bad = table["logprob_bad"].to_numpy(dtype=float)
    weights, *_ = np.linalg.lstsq(design, bad)
    residual = bad - design @ weights
    residual -= np.median(residual)
    scale = NORMAL * float(np.median(np.abs(residual)))
    known = scale > ROUNDING * float(np.abs(bad).max())
    return residual / scale if known else np.full(len(table), np.nan)


def repetitions(texts: pd.DataFrame) -> pd.DataFrame:
    """Return the repetitions of sentences in pairs, by pair id.

    `identical` tells whether both sentences of the pair are the same. `repeats` names an earlier
    pair of the same sentences. `both_ways` has a sentence that is on the other side in another
    pair.
    """
    first = texts.groupby(["good", "bad"], sort=False)["good"].transform(lambda of: of.index[0])
    repeats = first.where(first != texts.index)
    contradicted = set(texts["good"]) & set(texts["bad"])
    different = texts["good"] != texts["bad"]
    both_ways = pd.Series(None, index=texts.index, dtype=object)
    for side in SIDES:
        hit = different & texts[side].isin(contradicted) & both_ways.isna()
        both_ways = both_ways.where(~hit, texts[side])
    return pd.DataFrame({"identical": ~different, "repeats": repeats, "both_ways": both_ways})


def leaks(paired: pd.DataFrame, evidence: Evidence) -> pd.DataFrame:
    """Return the share of each sentence's tokens in its longest overlap with a corpus, by pair id.

    `corpus` names the corpus with the larger overlap. All are null if no corpus was searched.
    """
    ids = paired["pair_id"].drop_duplicates()
    empty = pd.DataFrame({"leaked_good": np.nan, "leaked_bad": np.nan, "corpus": None}, index=ids)
    if evidence.leakage is None:
        return empty
    leakage = evidence.leakage[evidence.leakage["dataset"] == evidence.dataset]
    shares = leakage.assign(share=leakage["overlap_tokens"] / leakage["n_tokens"])
    joined = paired[["item_id", "pair_id", "grammatical"]].merge(shares, on="item_id")
    top = joined.sort_values("share", ascending=False, kind="stable").drop_duplicates("pair_id")
    sides = joined.groupby(["pair_id", "grammatical"])["share"].max().unstack()
    sides = sides.reindex(columns=[True, False])
    found = pd.DataFrame({"leaked_good": sides[True], "leaked_bad": sides[False]})
    return found.join(top.set_index("pair_id")["corpus"]).reindex(ids)


def audit(
    evidence: Evidence, model: str, words_edited: int, scale: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `audit` table, with the worst pair first, and the verdicts of `measure`.

    Pairs are ordered by the weights of their problems, and then by their mismatch. A pair may
    differ in `words_edited` words without a problem. A moved word counts as two.
    """
    table, preferred = measure(evidence)
    default = preferred.columns[0]
    flipped = preferred.apply(lambda column: column.notna() & (column != preferred[default]))
    never = ~preferred.fillna(False).astype(bool).any(axis=1) & ~table["identical"]
    found = {**flags(table, words_edited), FLIP: flipped.any(axis=1), "never preferred": never}
    table = table.assign(
        dataset=evidence.dataset,
        model=model,
        scale=scale,
        pair_id=table.index,
        preferred=preferred[default],
        flips=named(flipped, ", "),
        problems=named(pd.DataFrame({name: found[name] for name in PROBLEMS}, table.index), "; "),
        weight=sum(found[name] * problem.weight for name, problem in PROBLEMS.items()),
    )
    order = np.lexsort([-table["mismatch"].abs(), -table["weight"]])
    table = table.iloc[order].reset_index(drop=True)
    return table[SCHEMAS["audit"].names], preferred


def flags(table: pd.DataFrame, words_edited: int) -> dict[str, Any]:
    """Return which pairs have each problem, apart from problems of verdicts, by problem."""
    per_token = table["logprob_good"] / table["n_tokens_good"]
    unigrams, logprob = table["unigram_difference"].abs(), table["logprob_difference"].abs()
    return {
        "identical": table["identical"],
        "called both": table["both_ways"].notna(),
        "repeated": table["repeats"].notna(),
        "in the corpus": table[["leaked_good", "leaked_bad"]].max(axis=1) >= 1,
        "words": table["levenshtein_words"] > words_edited,
        "meaning": beyond(table["cosine_distance"]),
        "message": table["mismatch"].abs() > FAR,
        "frequency": unigrams > logprob,
        "first word": table["first_word_differs"],
        "length": table["n_tokens_good"] != table["n_tokens_bad"],
        "implausible": beyond(-per_token),
    }


def beyond(values: pd.Series) -> pd.Series:
    """Return which values exceed the upper quartile by more than FENCE interquartile ranges."""
    low, high = values.quantile(0.25), values.quantile(0.75)
    return values > high + FENCE * (high - low)


def named(flags: pd.DataFrame, between: str) -> list[str]:
    """Return the names of the columns that are true in each row, joined by `between`."""
    columns = np.array(flags.columns)
    return [between.join(columns[row]) for row in flags.to_numpy(dtype=bool)]
