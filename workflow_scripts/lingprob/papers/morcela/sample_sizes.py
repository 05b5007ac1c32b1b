"""What errors in sampled unigrams do to beta and gamma, by the number of samples.

An error in u, a predictor, moves beta towards 0 and gamma with it. Its variance is inverse to the
number of samples, and so, to first order, is what it does. Parts of the samples show that, and
carry the line on to an infinite number: twice the value of all samples less the mean of the values
of their halves. That is SIMEX (Cook & Stefanski 1994) with errors that are real where SIMEX
simulates some. On ratings simulated with the moments of SmolLM2's own text and beta .749, 256
samples give .688, extrapolated .763; 1,024 give .734 for .744, extrapolated .747: less error, not
none, since higher orders are left and it overshoots where samples are few. What fails there:
the error variance of log(u) by the delta method (beta of -.000 and .589), since the relative errors
of rare tokens are not small, and one half as an instrument for the other (.678 and .734), since
both halves are biased alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from lingprob.regression.designs import checked_inputs, fit_design
from lingprob.regression.linking import parameters
from lingprob.scoring.sentences import summarise_sentences
from lingprob.unigrams.estimate import merge_sums, smoothed_logprobs

ESTIMATES = ["beta", "gamma", "r"]


def vary_samples(
    stimuli: pd.DataFrame,
    token_scores: pd.DataFrame,
    policy: Mapping[str, str],
    shards: Sequence[pd.DataFrame],
    samples: Sequence[int],
) -> pd.DataFrame:
    """Fit MORCELA with the unigrams of parts of the samples, and extrapolate.

    Args:
        stimuli: a rated data set.
        token_scores: its `scores` under the start token of `policy`.
        policy: the BOS policy.
        shards: `unigram_sums` of independent samples.
        samples: the number of samples in each; one without any, as where samples are few, is
            left out.

    Returns:
        samples, part, extrapolated, beta, gamma and r: a row for each 1, 2, 4 ... shards that lie
        side by side, for all of them, and, if there are two or more, for infinitely many samples.
    """
    drawn_from = [place for place, count in enumerate(samples) if count]
    shards, samples = ([of_all[place] for place in drawn_from] for of_all in (shards, samples))
    rating = stimuli.set_index("item_id")["rating"]
    rows = []
    for number, part in enumerate(parts(len(shards))):
        sums = merge_sums([shards[place] for place in part])
        drawn = sum(samples[place] for place in part)
        unigrams = smoothed_logprobs(sums, smoothing=0.0, total=drawn)
        sentences = summarise_sentences(
            stimuli,
            {policy["start_token"]: token_scores},
            {"policy": policy},
            {"part": unigrams.set_index("token_id")["logprob"]},
        )
        inputs = checked_inputs(
            sentences["logprob"],
            sentences["unigram_logprob"],
            sentences["n_tokens"],
            rating[sentences["item_id"]],
        )
        fit = fit_design("morcela", inputs)
        rows.append({"samples": drawn, "part": number, **parameters(fit), "r": fit.r})
    table = pd.DataFrame(rows).assign(extrapolated=False)
    if len(shards) < 2:
        return table
    return pd.concat([table, extrapolate(table)], ignore_index=True)


def parts(shards: int) -> list[range]:
    """Return the parts: sets of 1, 2, 4 ... shards side by side, the halves, and all shards."""
    half = shards // 2
    sizes = sorted(({2**power for power in range(half.bit_length())} | {half, shards}) - {0})
    return [
        range(first, first + size) for size in sizes for first in range(0, shards - size + 1, size)
    ]


def extrapolate(table: pd.DataFrame) -> pd.DataFrame:
    """Return the row for infinitely many samples: all samples' values, doubled, less the halves'.

    An odd shard belongs to no half; the halves' errors are larger by the ratio of samples.
    """
    whole = table["samples"].max()
    smaller = table[table["samples"] < whole]
    halves = table[table["samples"] == smaller["samples"].max()]
    excess = whole / halves["samples"].iloc[0] - 1
    at_all = table.loc[table["samples"] == whole, ESTIMATES].iloc[0]
    at_half = halves[ESTIMATES].mean()
    row = at_all + (at_all - at_half) / excess
    place = {"samples": whole, "part": len(table), "extrapolated": True}
    return pd.DataFrame([{**place, **row.astype(np.float64)}])
