"""Next-token distributions of a causal model over its whole vocabulary, one text at a time."""

import re
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import count

import numpy as np
import pandas as pd
import torch

from lingprob.errors import LingprobError
from lingprob.io.text_units import split_words
from lingprob.models.loading import LanguageModel
from lingprob.models.tokenizer import encode
from lingprob.scoring.engine import Scorer
from lingprob.scoring.forward import plain_logits

SPACE = re.compile(r"\s")
AT_ONCE = 16  # candidate words or beginnings in one forward pass
MOST = 5000  # candidate words or beginnings in all passes


def log_distributions(scorer: Scorer, ids: Sequence[int]) -> torch.Tensor:
    """Return ln p of every token of the vocabulary after each of n ids, float32 (n, V).

    Raises LingprobError if the ids do not fit into the context window, or if the model is not
    causal.
    """
    lm = scorer.language_model
    if len(ids) > lm.context_window:
        raise LingprobError(
            f"a text of {len(ids)} tokens does not fit the context window of {lm.context_window}. "
            "Shorten it, or use `score` or `surprisal`."
        )
    scorer.prepare([np.array([*ids, ids[-1]])], None, alone=True)  # which checks the model
    return _logprobs(lm, [ids])[0]


def _logprobs(lm: LanguageModel, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    return plain_logits(lm, rows).float().log_softmax(-1).cpu()


def _start_ids(lm: LanguageModel, start_token: str) -> list[int]:
    start_id = lm.start_id(start_token)
    return [] if start_id is None else [start_id]


def describe_tokens(
    scorer: Scorer, contexts: list[str], texts: list[str], start_token: str, separator: str
) -> pd.DataFrame:
    """Return the table of `Model.tokens`: one row per token of each text after its context."""
    lm = scorer.language_model
    before = _start_ids(lm, start_token)
    tables = []
    for number, (context, text) in enumerate(zip(contexts, texts, strict=True), start=1):
        whole = f"{context}{separator}{text}" if context else text
        tokens = lm.tokenize([whole])[0]
        begin = len(whole) - len(text)
        if not (tokens.char_end > begin).any():
            raise LingprobError(
                f"sentence {number}: the tokenizer has no token for any letter of {text!r}. "
                "Correct the sentence, leave it out, or choose another model."
            )
        ids = tokens.ids.astype(np.int64)
        logprobs = log_distributions(scorer, [*before, *ids])
        # Row k predicts token k + 1. Without a start token nothing predicts the first one.
        predicting = logprobs[: len(ids)] if before else logprobs[:-1]
        own = predicting.gather(1, torch.from_numpy(ids[len(ids) - len(predicting) :])[:, None])
        bits = {
            "logprob": own[:, 0],
            "surprisal": -own[:, 0] / np.log(2),
            "rank": (predicting > own).sum(1) + 1,
            "entropy": -(predicting.exp() * predicting).nansum(1) / np.log(2),
        }
        unknown = np.full(len(ids) - len(predicting), np.nan)
        spans = zip(tokens.char_start, tokens.char_end, strict=True)
        table = pd.DataFrame(
            {
                "sentence_id": number,
                "token_index": np.arange(len(ids)),
                "token": [whole[start:end] for start, end in spans],
                "token_id": ids,
                "char_start": np.maximum(tokens.char_start - begin, 0),
                "char_end": np.maximum(tokens.char_end - begin, 0),
                **{name: np.append(unknown, value.numpy()) for name, value in bits.items()},
            }
        )
        first = int((tokens.char_end <= len(context)).sum()) if context else 0
        tables.append(table.iloc[first:].assign(token_index=np.arange(len(ids) - first)))
    return pd.concat(tables, ignore_index=True).astype({"rank": "Int64"})


def likeliest_tokens(scorer: Scorer, context: str, start_token: str, top: int) -> pd.DataFrame:
    """Return the table of `Model.next_tokens`: the `top` most likely tokens after a context."""
    lm = scorer.language_model
    ids = [*_start_ids(lm, start_token), *(lm.tokenize([context])[0].ids if context else [])]
    _check(ids, top, "next_tokens")
    logprobs, chosen = log_distributions(scorer, ids)[-1].topk(min(top, lm.vocabulary_size))
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(chosen) + 1),
            "token": [lm.tokenizer.decode([number]) for number in chosen.tolist()],
            "token_id": chosen.numpy(),
            "probability": logprobs.exp().numpy(),
            "logprob": logprobs.numpy(),
        }
    )


def _check(ids: list[int], top: int, call: str) -> None:
    if not ids or not isinstance(top, int | np.integer) or top < 1:
        raise LingprobError(f"{call}: give a context or a start token, and a whole `top` from 1.")


def likeliest_words(scorer: Scorer, context: str, start_token: str, top: int) -> pd.DataFrame:
    """Return the table of `Model.next_words`: the `top` most likely words after a context.

    The search is exact: it extends every beginning of a word that is more probable than the least
    probable of the best words so far. As in `Model.surprisal`, only the tokenizer's own
    segmentation of a word counts.
    """
    lm, words = scorer.language_model, split_words(context)
    text = " ".join(words)
    of_text = lm.tokenize([text])[0].ids.tolist() if words else []
    before = [*_start_ids(lm, start_token), *of_text]
    _check(before, top, "next_words")
    spaces, begin, inner = word_tokens(lm)
    first = log_distributions(scorer, before)[-1]
    # The first word of a text has no space before it, but some tokenizers write one.
    shift = first[spaces].logsumexp(0).item() if words else 0.0
    queue = Candidates()
    queue.add([], first - shift, begin if words else torch.cat([begin, inner]))
    found: dict[str, tuple[float, int]] = {}
    worst, run = -np.inf, 0
    while candidates := list(queue.best(worst)):
        run += len(candidates)
        if run > MOST:
            raise LingprobError(
                f"next_words: the {top} likeliest words are not certain after {MOST} candidates. "
                "Ask for fewer, or use next_tokens."
            )
        if len(before) + len(candidates[0][1]) > lm.context_window:
            raise LingprobError(
                f"next_words: the context has {len(before)} tokens, which leaves too little room "
                f"for a word in the context window of {lm.context_window}. Shorten the context."
            )
        after = _logprobs(lm, [[*before, *ids] for _, ids in candidates])[:, -1]
        for (logprob, ids), following in zip(candidates, after, strict=True):
            queue.add(ids, following + logprob, inner)
            word = lm.tokenizer.decode([*before, *ids])[len(lm.tokenizer.decode(before)) :].strip()
            usual = encode(lm.tokenizer, [f"{text} {word}" if words else word])["input_ids"][0]
            if word and usual == [*of_text, *ids]:
                found[word] = (logprob + following[spaces].logsumexp(0).item(), len(ids))
        ranked = sorted(found.items(), key=lambda one: -one[1][0])[:top]
        worst = ranked[-1][1][0] if len(ranked) == top else -np.inf
    logprobs = np.array([logprob for _, (logprob, _) in ranked])
    return pd.DataFrame(
        {
            "rank": np.arange(1, len(ranked) + 1),
            "word": [word for word, _ in ranked],
            "probability": np.exp(logprobs),
            "logprob": logprobs,
            "surprisal": -logprobs / np.log(2),
            "n_tokens": [n for _, (_, n) in ranked],
        }
    )


def word_tokens(lm: LanguageModel) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids of tokens with an initial space, of those that begin a word, and of all others."""
    from lingprob.reading.surprisal import space_tokens

    spaces = space_tokens(lm.tokenizer, lm.vocabulary_size)
    known = set(range(min(len(lm.tokenizer), lm.vocabulary_size)))
    others = sorted(known - {*spaces.tolist()} - {*lm.tokenizer.added_tokens_decoder})
    chosen = []
    for ids in (spaces.tolist(), others):
        texts = [lm.tokenizer.decode([one]).removeprefix(" ") for one in ids]
        chosen.append([one for one, text in zip(ids, texts, strict=True) if not SPACE.search(text)])
    return torch.from_numpy(spaces), torch.tensor(chosen[0]), torch.tensor(chosen[1])


class Candidates:
    """A queue of candidate words and beginnings of words, the most probable first."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, int, list[int], torch.Tensor, torch.Tensor]] = []
        self.numbers = count()

    def add(self, ids: list[int], logprobs: torch.Tensor, allowed: torch.Tensor) -> None:
        """Add extensions of `ids` by allowed tokens. `logprobs` (V,) has ln p of each."""
        values, order = logprobs[allowed].sort(descending=True)
        self._push(0, ids, values, allowed[order])

    def best(self, least: float) -> Iterator[tuple[float, list[int]]]:
        """Yield ln p and ids of the best candidates of one length, with ln p above `least`."""
        length = len(self.heap[0][3]) if self.heap else 0
        for _ in range(AT_ONCE):
            if not self.heap or -self.heap[0][0] <= least or len(self.heap[0][3]) != length:
                return
            value, _, place, ids, values, tokens = heappop(self.heap)
            self._push(place + 1, ids, values, tokens)
            yield -value, [*ids, int(tokens[place])]

    def _push(self, place: int, ids: list[int], values: torch.Tensor, tokens: torch.Tensor) -> None:
        if place < len(values):
            entry = (-values[place].item(), next(self.numbers), place, ids, values, tokens)
            heappush(self.heap, entry)
