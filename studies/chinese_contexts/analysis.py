"""Chinese sentences as contexts, and claims about judgments after them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from lingprob.context.names import MATCHED, MISMATCHED
from lingprob.context.prefixes import Tokenize, Writing
from lingprob.context.sampling import Source, sample_contexts
from lingprob.papers.context.analysis import Settings, Tables, summarise, together
from lingprob.papers.context.effects import coefficient, weighted
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import Statistic, judge_claims, make_scorecard

# End marks as the data sets have them: some of SLING's questions end with the English one.
ENDS = ("。", "！", "？", "…", ".", "!", "?")
QUOTES = "”’」』\"'"
TABLES = ("context_accuracy", "context_regression")
# No prefixes of one suite before targets of others, because no figure shows them.
NO_MATRIX = {"matrix_sentences": 1, "matrix_prefixes": 0, "matrix_targets": None}
STATISTICS: dict[str, Statistic] = {
    "matched_acceptable_raises": weighted({MATCHED[0]: 1}),
    "matched_unacceptable_lowers": weighted({MATCHED[1]: 1}),
    "matched_exceeds_mismatched_acceptable": weighted({MATCHED[0]: 1, MISMATCHED[0]: -1}),
    "matched_exceeds_mismatched_unacceptable": weighted({MATCHED[1]: 1, MISMATCHED[1]: -1}),
    "length_by_match_by_acceptability": coefficient("related", "log_length:matched:acceptable"),
}


def joined(sentences: Sequence[str]) -> tuple[str, list[int]]:
    """Join Chinese sentences as Chinese is written: without spaces, and with their end marks.

    Returns the text and the end of each sentence in it. A sentence without an end mark gets `。`.
    """
    closed = [one if one.rstrip(QUOTES).endswith(ENDS) else f"{one}。" for one in sentences]
    return "".join(closed), np.cumsum([len(one) for one in closed], dtype=int).tolist()


CHINESE = Writing(joined, "")


def chinese_prefixes(
    dataset: str,
    stimuli: pd.DataFrame,
    other: pd.DataFrame,
    tokenize: Tokenize,
    *,
    drawn: Mapping[str, Any],
    seed: int,
) -> Iterator[pd.DataFrame]:
    """Yield a `context_prefixes` table in pieces: the prefixes before the pairs of a data set.

    Args:
        dataset: its name.
        stimuli: its `stimuli` table.
        other: `stimuli` of the other data set, whose acceptable sentences are the unrelated ones.
        tokenize: counts the tokens of prefixes.
        drawn: pairs_per_suite, lengths (tokens) and pairs_per_prefix.
        seed: seed of every draw.
    """
    control = other.loc[other["grammatical"] == True, "text"].unique().tolist()  # noqa: E712
    pairs = drawn["pairs_per_suite"]
    source = Source(dataset, stimuli, control, tokenize, writing=CHINESE)
    return sample_contexts(source, pairs, {**NO_MATRIX, **drawn}, seed)


def summarise_models(judgments: Sequence[pd.DataFrame], settings: Settings) -> Tables:
    """Return TABLES of each model's judgments, model by model."""
    parts = [
        summarise(rows[rows["dataset"] == name], settings)
        for rows in judgments
        for name in rows["dataset"].unique()
    ]
    tables = together(parts)
    return {name: tables[name] for name in TABLES}


def judge(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the verdicts on the study's claims: a `scorecard` table."""
    claims = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))
    return make_scorecard(judge_claims(claims, STATISTICS, tables, run))
