"""The audit of minimal pairs: what each is measured by, what is wrong with it, and which is worst.

Reasons for each measure are those of Hu et al. (2026), §2 to §5: a pair tells about grammar as far
as its two sentences share a message, and as its verdict does not hang on a convention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stimuli.distances import edit_distances, pair_texts

Array = NDArray[np.float64]
SIDES = ("good", "bad")
# Pairs that a regression of one sentence on the other rests on at least.
FEWEST = 20
# Below this part of the values a scale is rounding noise.
ROUNDING = 1e-9
# What makes a median absolute deviation a standard deviation, were the values normal.
NORMAL = 1.4826
# Metrics of sentences beside their log-probability, by what they are called on the page.
METRICS = {
    "mean log p": lambda p, u, n: p / n,
    "log p less unigrams": lambda p, u, n: p - u,
    "SLOR": lambda p, u, n: (p - u) / n,
}
# Beyond this many interquartile ranges from the quartiles a value is far out (Tukey's fences).
FENCE = 1.5
FAR = 3.0
FLIP = "verdict flips"


@dataclass(frozen=True)
class Problem:
    """A kind of problem: how much it counts in the order of pairs, and what it means."""

    weight: int
    meaning: str


PROBLEMS = {
    "identical": Problem(8, "The two sentences are the same: nothing can be preferred."),
    "called both": Problem(
        8, "Another pair has one of the sentences on the other side, grammatical or not."
    ),
    "repeated": Problem(4, "An earlier pair has the same two sentences: it counts twice."),
    "in the corpus": Problem(
        4, "A corpus has one of the two sentences whole: its probability may be remembered."
    ),
    FLIP: Problem(
        3, "Which sentence is preferred hangs on the start token, the first token, length or "
        "frequency.",
    ),
    "never preferred": Problem(
        2, "No convention prefers the grammatical sentence: are the two swapped, or does the model "
        "lack the contrast?"
    ),
    "words": Problem(2, "More words are edited than a minimal pair needs."),
    "meaning": Problem(
        2, "The embeddings of the two are farther apart than those of nearly all pairs here."
    ),
    "message": Problem(
        2, "By the model's log p the two differ far more, or less, than those of other pairs here "
        "of their length: they may not share a message.",
    ),
    "frequency": Problem(
        2, "The words' frequencies alone differ by more than the model's log p does."
    ),
    "first word": Problem(
        1, "The sentences differ in their first word, which a model without start token cannot "
        "judge.",
    ),
    "length": Problem(1, "The two have different numbers of tokens: sums of log p are unlike."),
    "implausible": Problem(
        1, "The grammatical sentence is far less probable, per token, than the others here."
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Evidence:
    """What is known of a data set's pairs.

    Args:
        stimuli: with `pair_id` and `grammatical`; sentences without a pair are left out.
        scores: `sentence_scores` under every BOS policy that was scored.
        convention: the BOS policy and the unigram source that count.
        distances: the `minimalness` table, where an embedding model is there.
        leakage: `audit_leakage` of all corpora that were searched, of any data sets.
    """

    dataset: str
    stimuli: pd.DataFrame
    scores: pd.DataFrame
    convention: tuple[str, str]
    distances: pd.DataFrame | None = None
    leakage: pd.DataFrame | None = None


def measure(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a row a pair, and whether each convention prefers its grammatical sentence.

    The second, by pair id, has a column of True, False or None (a metric unknown) a convention, the
    one that counts first. Raises LingprobError for a data set without pairs or without scores.
    """
    texts = pair_texts(evidence.stimuli, evidence.dataset)
    if texts.empty:
        raise LingprobError(
            f"data set {evidence.dataset!r}: no pairs to audit. Give its file the columns `good` "
            "and `bad`, or `pair` and `grammatical`."
        )
    paired = evidence.stimuli[evidence.stimuli["pair_id"].notna()]
    about = paired.drop_duplicates("pair_id").set_index("pair_id")[["phenomenon", "paradigm"]]
    sides = {policy: sides_of(evidence, policy) for policy in policies(evidence)}
    chosen = sides[evidence.convention[0]]
    table = about.join(texts).join(edit_distances(texts)).join(chosen)
    table["first_word_differs"] = (
        texts["good"].str.split().str[0] != texts["bad"].str.split().str[0]
    )
    table["logprob_difference"] = table["logprob_good"] - table["logprob_bad"]
    table["unigram_difference"] = table["unigram_logprob_good"] - table["unigram_logprob_bad"]
    table["mismatch"] = mismatch(table)
    table["cosine_distance"] = np.nan
    if evidence.distances is not None:
        cosine = evidence.distances.set_index("pair_id")["cosine_distance"]
        table["cosine_distance"] = cosine.reindex(table.index)
    table = table.join(repetitions(texts)).join(leaks(paired, evidence))
    return table, verdicts(sides, evidence.convention[0])


def policies(evidence: Evidence) -> list[str]:
    """Return the BOS policies that were scored, the one that counts first."""
    default, _ = evidence.convention
    scored = list(dict.fromkeys(evidence.scores["bos"]))
    if default not in scored:
        raise LingprobError(
            f"data set {evidence.dataset!r}: no sentence scores under BOS policy {default!r}; "
            f"there are {scored}."
        )
    return [default, *(policy for policy in scored if policy != default)]


def sides_of(evidence: Evidence, policy: str) -> pd.DataFrame:
    """Return the scores of both sentences of each pair under one BOS policy, by pair id; with the
    unigrams that count, or the first source there is."""
    scores = evidence.scores[evidence.scores["bos"] == policy]
    source = evidence.convention[1]
    available = scores["unigrams"].unique()
    scores = scores[scores["unigrams"] == (source if source in available else available[0])]
    paired = evidence.stimuli[evidence.stimuli["pair_id"].notna()]
    joined = paired.merge(scores, on="item_id", how="left", validate="one_to_one")
    if joined["logprob"].isna().any():
        missing = joined.loc[joined["logprob"].isna(), "item_id"].iloc[0]
        raise LingprobError(
            f"data set {evidence.dataset!r}, item {missing!r}: no score under BOS policy "
            f"{policy!r}. Score the whole data set."
        )
    columns = joined[["logprob", "unigram_logprob", "n_tokens"]].astype(float)
    return pd.concat(
        [
            columns[joined["grammatical"] == (side == "good")]
            .set_axis(joined.loc[joined["grammatical"] == (side == "good"), "pair_id"])
            .add_suffix(f"_{side}")
            for side in SIDES
        ],
        axis=1,
    )


def verdicts(sides: dict[str, pd.DataFrame], default: str) -> pd.DataFrame:
    """Return whether each convention prefers the grammatical sentence; a tie is no preference."""
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
    """Return how far each pair is from the line of log p of the ungrammatical sentence on that of
    the grammatical one and both lengths, (n,), in robust standard deviations.

    What minimal pairs share is the message (Prediction 1); a pair far from the line is one whose
    sentences differ for this model by more, or by less, than those of others. NaN for few pairs.
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
    """Return, by pair id: identical; repeats, an earlier pair of the same sentences; both_ways, the
    sentence of this pair that another pair calls the opposite."""
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
    """Return the share of each sentence's tokens in its longest overlap with any corpus, and which
    corpus that of the pair is; null where no corpus was searched."""
    ids = paired["pair_id"].drop_duplicates()
    empty = pd.DataFrame({"leaked_good": np.nan, "leaked_bad": np.nan, "corpus": None}, index=ids)
    if evidence.leakage is None:
        return empty
    leakage = evidence.leakage[evidence.leakage["dataset"] == evidence.dataset]
    shares = leakage.assign(share=leakage["overlap_tokens"] / leakage["n_tokens"])
    joined = paired[["item_id", "pair_id", "grammatical"]].merge(shares, on="item_id")
    top = joined.sort_values("share", ascending=False, kind="stable").drop_duplicates("pair_id")
    sides = joined.groupby(["pair_id", "grammatical"])["share"].max().unstack()
    found = pd.DataFrame({"leaked_good": sides[True], "leaked_bad": sides[False]})
    return found.join(top.set_index("pair_id")["corpus"]).reindex(ids)


def audit(
    evidence: Evidence, model: str, words_edited: int, scale: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `audit` table, the worst pair first, and the verdicts under each convention.

    `words_edited` is how many words a minimal pair may differ in; a word put in another place is
    two. Pairs are in the order of the weights of their problems, then of their mismatch.
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
        preferred=preferred[default].astype(bool),
        flips=named(flipped, ", "),
        problems=named(pd.DataFrame({name: found[name] for name in PROBLEMS}), "; "),
        weight=sum(found[name] * problem.weight for name, problem in PROBLEMS.items()),
        words=found["words"],
    )
    worst = table["mismatch"].abs().fillna(0)
    order = np.lexsort([-worst, -table["weight"]])
    table = table.iloc[order].reset_index(drop=True)
    return table[SCHEMAS["audit"].names], preferred


def flags(table: pd.DataFrame, words_edited: int) -> dict[str, Any]:
    """Return which pairs have each problem but those of verdicts, boolean columns by pair id."""
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
    """Tell which values are far above the upper quartile; none where all are unknown."""
    low, high = values.quantile(0.25), values.quantile(0.75)
    return values > high + FENCE * (high - low)


def named(flags: pd.DataFrame, between: str) -> list[str]:
    """Return the names of the columns that are true in each row, joined."""
    columns = np.array(flags.columns)
    return [between.join(columns[row]) for row in flags.to_numpy(dtype=bool)]
