"""Sequences that go some way along one long chain of tokens, which is run once.

The chain's keys and values are kept; what each sequence has beside it hangs on them as a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.errors import LingprobError
from lingprob.scoring.engine import Scorer, is_out_of_memory
from lingprob.scoring.forward import Prefix
from lingprob.scoring.trees import Branch, shared_length

# The pieces in which a chain is run: a longer one makes more of the attention in vain.
TOKENS_PER_PIECE = {"cpu": 256, "cuda": 4096}


@dataclass(frozen=True)
class _Wanted:
    """Tokens of sequences that the chain predicts: by `position`, token `index` of `owner`."""

    position: np.ndarray
    target: np.ndarray
    owner: np.ndarray
    index: np.ndarray


def score_along(
    scorer: Scorer,
    chain: np.ndarray,
    sequences: Sequence[np.ndarray],
    score_from: Sequence[int],
    context_id: int | None,
) -> list[np.ndarray]:
    """Return ln p of `sequences[k][score_from[k]:]`, each token given those before it.

    `chain` (n,) holds the token ids that the sequences begin with, each as far as it agrees. All
    are preceded by `context_id` unless that is None, in which case the value of a sequence's
    first token is NaN. Results are float32 (float64 for a float64 model). A model that takes no
    trees reads every sequence from its beginning.
    Raises LingprobError if a sequence exceeds the context window, does not fit into memory, or
    has a value that is not finite.
    """
    before = [] if context_id is None else [context_id]
    whole = [np.array([*before, *ids], dtype=np.int64) for ids in sequences]
    first = [at + len(before) for at in score_from]
    longest = max((len(ids) for ids in whole), default=0)
    if longest > scorer.language_model.context_window:
        raise LingprobError(
            f"{longest} tokens do not fit the {scorer.language_model.context_window} of "
            f"{scorer.language_model.directory}. Shorten the prefix."
        )
    context = scorer.prepare(whole, context_id)
    read = 0 if context is None else 1
    chain = np.array([*before, *chain], dtype=np.int64)
    if not scorer.forward.takes_trees:
        chain = chain[:read]
    common = [min(shared_length(chain, ids), len(ids) - 1) for ids in whole]
    logprobs = [np.full(len(ids), np.nan, dtype=scorer.result_dtype) for ids in whole]
    wanted = _wanted_of_chain(whole, first, common)
    prefix, values = _run_chain(scorer, context, chain[: max(common, default=0)], wanted)
    for owner, index, value in zip(wanted.owner, wanted.index, values, strict=True):
        logprobs[owner][index] = value
    owners = [k for k, ids in enumerate(whole) if len(ids) - common[k] > 1]
    branches = [
        Branch(whole[k][common[k] :], max(first[k] - common[k], 1), common[k]) for k in owners
    ]
    for number, values in scorer.run(branches, prefix):
        logprobs[owners[number]][-len(values) :] = values
    return [values[at:] for values, at in zip(logprobs, first, strict=True)]


def _wanted_of_chain(whole: list[np.ndarray], first: list[int], common: list[int]) -> _Wanted:
    """List the tokens wanted of each sequence that come right after a token of the chain."""
    columns: list[tuple[int, int, int, int]] = [
        (index - 1, ids[index], owner, index)
        for owner, ids in enumerate(whole)
        for index in range(max(first[owner], 1), common[owner] + 1)
    ]
    return _Wanted(*np.array(columns, dtype=np.int64).reshape(-1, 4).T)


def _run_chain(
    scorer: Scorer, prefix: Prefix | None, chain: np.ndarray, wanted: _Wanted
) -> tuple[Prefix | None, np.ndarray]:
    """Run a chain, of which `prefix` is read already, in pieces; return its values as well."""
    values = np.full(len(wanted.position), np.nan, dtype=scorer.result_dtype)
    if prefix is not None and prefix.logprobs is not None:
        there = wanted.position == prefix.length - 1
        values[there] = prefix.logprobs[wanted.target[there]]
    size = TOKENS_PER_PIECE[scorer.language_model.device.type]
    start = 0 if prefix is None else prefix.length
    while start < len(chain):
        piece = chain[start : start + min(size, scorer.tokens_per_batch)]
        there = (wanted.position >= start) & (wanted.position < start + len(piece))
        places, targets = wanted.position[there] - start, wanted.target[there]
        try:
            prefix, values[there] = scorer.forward.extend(prefix, piece, places, targets)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            scorer.shrink(len(piece))
            continue
        start += len(piece)
    scorer.check_finite(values)
    return prefix, values
