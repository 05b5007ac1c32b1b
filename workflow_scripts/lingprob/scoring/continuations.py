"""Continuations of a prefix: targets after its cuts, scored along one long chain of tokens.

Targets are tokens of the whole text. The chain is run once and its keys and values are kept; what
each sequence has beside it hangs on them as a branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.models.loading import LanguageModel, Tokens
from lingprob.scoring.engine import Scorer
from lingprob.scoring.forward import KeyValues
from lingprob.scoring.trees import Branch, pack, shared_length

# The pieces in which a chain is run: a longer one makes more of the attention in vain.
TOKENS_PER_PIECE = {"cpu": 256, "cuda": 4096, "mps": 2048}


@dataclass(frozen=True)
class ContextItem:
    """A prefix, and targets that follow its first `cut` characters for each of the `cuts`.

    A cut of 0 means the targets alone. Pairs that share the prefix are more targets of one item.
    Where `ends` are given, one a target in characters, tokens that begin there or later are left
    out: of what comes after all that is asked for.
    """

    prefix: str
    cuts: Sequence[int]
    targets: Sequence[str]
    ends: Sequence[int] | None = None

    def target_ends(self) -> Sequence[int]:
        """Return where each target ends, in characters."""
        return [len(target) for target in self.targets] if self.ends is None else self.ends


@dataclass(frozen=True)
class Continuation:
    """A target after a cut: all of its tokens, of which `first` precede the target's.

    `begin` is where the target begins in the text that was tokenised, in characters;
    `is_retokenized` says whether the cut changed the prefix's own tokens.
    """

    cut_index: int
    target_index: int
    tokens: Tokens
    first: int
    begin: int
    is_retokenized: bool


def tokenize_item(
    language_model: LanguageModel, item: ContextItem, separator: str
) -> tuple[np.ndarray, list[Continuation]]:
    """Return the tokens of the prefix up to its last cut, and all continuations."""
    places = [
        (cut_index, cut, target_index)
        for cut_index, cut in enumerate(item.cuts)
        for target_index in range(len(item.targets))
    ]
    befores = [item.prefix[:cut] + separator if cut else "" for _, cut, _ in places]
    texts = [before + item.targets[k] for before, (_, _, k) in zip(befores, places, strict=True)]
    chain, *tokenized = language_model.tokenize([item.prefix[: max(item.cuts, default=0)], *texts])
    continuations = []
    ends = item.target_ends()
    for before, whole, (cut_index, cut, k) in zip(befores, tokenized, places, strict=True):
        tokens = whole.beginning_before(len(before) + ends[k])
        first = int(np.argmax(tokens.char_end > cut)) if cut else 0
        is_retokenized = shared_length(chain.ids, tokens.ids) < first
        continuations.append(Continuation(cut_index, k, tokens, first, len(before), is_retokenized))
    return chain.ids, continuations


def score_along(
    scorer: Scorer,
    chain: np.ndarray,
    sequences: Sequence[np.ndarray],
    score_from: Sequence[int],
    start_id: int | None,
) -> list[np.ndarray]:
    """Return ln p of `sequences[k][score_from[k]:]`, each token given those before it.

    `chain` (n,) holds the token ids that the sequences begin with, each as far as it agrees. All
    are preceded by `start_id` unless that is None, in which case the value of a sequence's
    first token is NaN. Results are float32 (float64 for a float64 model). A model that takes no
    trees reads every sequence from its beginning.
    Raises LingprobError if a sequence exceeds the context window, does not fit into memory, or
    has a value that is not finite.
    """
    before = [] if start_id is None else [start_id]
    whole = [np.array([*before, *ids], dtype=np.int64) for ids in sequences]
    first = [at + len(before) for at in score_from]
    longest = max(map(len, whole))
    if longest > scorer.language_model.context_window:
        raise LingprobError(
            f"{longest} tokens do not fit the {scorer.language_model.context_window} of "
            f"{scorer.language_model.directory}. Shorten the prefix."
        )
    after_start = scorer.prepare(whole, start_id)
    read = 0 if after_start is None else 1
    chain = np.array([*before, *chain], dtype=np.int64)
    if not scorer.forward.takes_trees:
        chain = chain[:read]
    common = [min(shared_length(chain, ids), len(ids) - 1) for ids in whole]
    logprobs = [np.full(len(ids), np.nan, dtype=scorer.result_dtype) for ids in whole]
    if after_start is not None and after_start.logprobs is not None:
        for k, ids in enumerate(whole):
            if len(ids) > 1:
                logprobs[k][1] = after_start.logprobs[ids[1]]
    chain = chain[: max(common)]
    for k, position, values in _run(scorer, after_start, chain, _Sequences(whole, first, common)):
        logprobs[k][position:][: len(values)] = values
    return [values[at:] for values, at in zip(logprobs, first, strict=True)]


@dataclass(frozen=True)
class _Sequences:
    """Sequences, where each one's wanted tokens begin, and how many of its tokens are shared.

    The last token is not run, so it doesn't count as shared.
    """

    whole: list[np.ndarray]
    first: list[int]
    common: list[int]

    def along(self, start: int, end: int, with_branches: bool) -> tuple[list[int], list[Branch]]:
        """Return what the chain's tokens from `start` to `end` serve: owners, and branches.

        Those are tokens predicted in the piece, and, `with_branches`, all of each sequence
        that leaves the chain in it.
        """
        owners, branches = [], []
        for k, ids in enumerate(self.whole):
            last = min(self.common[k], end)
            if with_branches and start < self.common[k] <= end:
                last = len(ids) - 1
            if max(self.first[k], start + 1) <= last:
                owners.append(k)
                score_from = max(self.first[k] - start, 1)
                branches.append(Branch(ids[start : last + 1], score_from, start))
        return owners, branches

    def beside(self, start: int, end: int) -> tuple[list[int], list[Branch]]:
        """Return what hangs on the chain after more than `start`, up to `end`, of its tokens."""
        owners, branches = [], []
        for k, ids in enumerate(self.whole):
            at = self.common[k]
            if start < at <= end and at < len(ids) - 1:
                owners.append(k)
                branches.append(Branch(ids[at:], max(self.first[k] - at, 1), at))
        return owners, branches


def _run(
    scorer: Scorer, prefix: KeyValues | None, chain: np.ndarray, sequences: _Sequences
) -> Iterator[tuple[int, int, np.ndarray]]:
    """Run a chain, of which `prefix` is read, and all branches; yield owner, position, ln p.

    The chain is run in pieces, each in one pass with the branches that hang on it if they fit
    the budget; if not, those follow in passes of their own.
    """
    start = 0 if prefix is None else prefix.length
    yield from _beside(scorer, prefix, sequences.beside(-1, start))
    while start < len(chain):
        size = min(TOKENS_PER_PIECE[scorer.language_model.device.type], scorer.tokens_per_batch)
        end = min(start + size, len(chain))
        piece = Branch(np.append(chain[start:end], 0), end - start + 1, start)  # none wanted
        for together in (True, False):
            owners, branches = sequences.along(start, end, with_branches=together)
            (row,) = pack([*branches, piece], sum(map(len, sequences.whole)))
            if len(row.ids) <= scorer.tokens_per_batch:
                break
        try:
            prefix, values = scorer.forward.extend(prefix, row, len(branches))
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            scorer.shrink(len(row.ids))
            continue
        scorer.check_finite(values)
        parts = np.split(values, np.cumsum(row.wanted)[:-1])
        for number, part in zip(row.branches, parts, strict=True):
            if number < len(branches):
                yield owners[number], start + branches[number].score_from, part
        if not together:
            yield from _beside(scorer, prefix, sequences.beside(start, end))
        start = end


def _beside(
    scorer: Scorer, prefix: KeyValues | None, hanging: tuple[list[int], list[Branch]]
) -> Iterator[tuple[int, int, np.ndarray]]:
    owners, branches = hanging
    for number, values in scorer.run(branches, prefix):
        branch = branches[number]
        yield owners[number], branch.start + branch.score_from, values
