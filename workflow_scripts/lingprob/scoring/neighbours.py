"""The strings one edit away from a string, and the most probable ones of each kind.

Edits are of tokens: one deleted, two neighbours swapped, one replaced or put in. What is put in are
the tokens that the model finds most probable there after what precedes, and, in another's place,
those spelled like it. All of a string's neighbours are scored at once, as trees: a beginning that
several share is run once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from lingprob.models.loading import LanguageModel
from lingprob.scoring.engine import Scorer

EDITS = ("deletion", "transposition", "substitution", "insertion")
# Characters in which a token may differ from one that is spelled like it: half of its own at most.
ALIKE = 3


@dataclass(frozen=True)
class Neighbour:
    """A string one `edit` away (one of EDITS), with its log-probability in nats."""

    edit: str
    text: str
    logprob: float


class Neighbourhood:
    """Finds neighbours of strings under one model after one start token.

    `tokens` is how many tokens are tried at each place, most probable and alike ones each.
    `first` is the first token that counts in a log-probability: 1 leaves a sentence's first out.
    """

    def __init__(
        self, language_model: LanguageModel, start_id: int | None, *, tokens: int, first: int = 0
    ) -> None:
        self.language_model, self.start_id = language_model, start_id
        self.tokens, self.first = tokens, first
        self.scorer = Scorer(language_model)
        size = min(language_model.vocabulary_size, len(language_model.tokenizer))
        self.spellings = language_model.tokenizer.batch_decode([[token] for token in range(size)])
        self.met: dict[int, list[int]] = {}

    def logprobs(self, sequences: Sequence[np.ndarray]) -> np.ndarray:
        """Return the log-probability of each token sequence, (n,) float64 in nats."""
        scored = self.scorer.score(sequences, self.start_id)
        return np.array([np.nansum(row[self.first :], dtype=np.float64) for row in scored])

    def score(self, text: str) -> list[Neighbour]:
        """Return all neighbours of a string that are tokenised as they were made.

        Others are strings too, but what the model gives these tokens is not their probability.
        """
        (tokens,) = self.language_model.tokenize([text])
        edited = list(self.edits(tokens.ids))
        texts = self.language_model.tokenizer.batch_decode([ids.tolist() for _, ids in edited])
        again = self.language_model.tokenize(texts)
        kept = [
            (edit, ids, neighbour)
            for (edit, ids), neighbour, found in zip(edited, texts, again, strict=True)
            if np.array_equal(found.ids, ids) and neighbour.strip()
        ]
        values = self.logprobs([ids for _, ids, _ in kept])
        return [
            Neighbour(edit, neighbour, float(value))
            for (edit, _, neighbour), value in zip(kept, values, strict=True)
        ]

    def edits(self, ids: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield every token sequence one edit away, once, with the first of EDITS that makes it."""
        likely = self.likely(ids)
        seen = {ids.tobytes()}
        for edit, other in single_edits(ids, likely, [self.alike(int(token)) for token in ids]):
            if other.tobytes() not in seen:
                seen.add(other.tobytes())
                yield edit, other

    @torch.inference_mode()
    def likely(self, ids: np.ndarray) -> list[list[int]]:
        """Return the most probable tokens at each of n + 1 places, given what precedes.

        Without a start token nothing precedes the first place, which has none.
        """
        before = [] if self.start_id is None else [self.start_id]
        fed = torch.tensor([[*before, *ids.tolist()]], device=self.language_model.device)
        logits = self.language_model.model(input_ids=fed, use_cache=False).logits[0]
        logits = logits[:, : len(self.spellings)]
        best = logits.topk(min(self.tokens, logits.shape[1]), dim=1).indices.tolist()
        return best if before else [[], *best]

    def alike(self, token: int) -> list[int]:
        """Return the tokens that are spelled most like one, in the order of the vocabulary."""
        if token not in self.met:
            spelling = self.spellings[token]
            found = process.extract(
                spelling, self.spellings, scorer=Levenshtein.distance,
                score_cutoff=min(ALIKE, len(spelling.strip()) // 2), limit=self.tokens + 1,
            )  # fmt: skip
            self.met[token] = [place for _, _, place in found if place != token][: self.tokens]
        return self.met[token]


def single_edits(
    ids: np.ndarray, likely: Sequence[Sequence[int]], alike: Sequence[Sequence[int]]
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield token sequences one edit away from `ids` (n,), with the edit; some more than once.

    `likely` has what may stand at each of n + 1 places, `alike` more that may replace each token.
    """
    for place in range(len(ids)):
        if len(ids) > 1:
            yield "deletion", np.delete(ids, place)
    for place in range(len(ids) - 1):
        swapped = ids.copy()
        swapped[[place, place + 1]] = ids[[place + 1, place]]
        yield "transposition", swapped
    for place in range(len(ids)):
        for token in (*likely[place], *alike[place]):
            replaced = ids.copy()
            replaced[place] = token
            yield "substitution", replaced
    for place, tokens in enumerate(likely):
        for token in tokens:
            yield "insertion", np.insert(ids, place, token)


def best_of_each_edit(neighbours: Sequence[Neighbour]) -> list[Neighbour]:
    """Return the most probable neighbour of each edit, in the order of EDITS."""
    best: dict[str, Neighbour] = {}
    for neighbour in neighbours:
        if neighbour.edit not in best or neighbour.logprob > best[neighbour.edit].logprob:
            best[neighbour.edit] = neighbour
    return [best[edit] for edit in EDITS if edit in best]
