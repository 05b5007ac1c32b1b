"""Token log-probabilities of stimuli under any model with weights, causal or masked.

A masked model gives pseudo-log-likelihoods: each token of a text given all others. The *correction*
determines which tokens are masked with it: none (Salazar et al. 2020, Masked Language Model
Scoring), the later tokens of its word (`within_word_l2r`) or all tokens of its word (`whole_word`),
both by Kauf & Ivanova (2023, A Better Way to Do Masked Language Model Scoring). Without one, a
word's other tokens make a token easy to predict. Scores are kept in shards, so that a killed job
can resume.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from lingprob.errors import LingprobError
from lingprob.io.files import identity_of
from lingprob.io.progress import Progress
from lingprob.io.shards import NOWHERE, Shards
from lingprob.models.loading import Tokens, load_prepared
from lingprob.models.masked import MaskableText, MaskedLanguageModel
from lingprob.scoring.engine import TOKENS_PER_BATCH, Scorer, shard_ranges, worker_map

logger = logging.getLogger(__name__)
CORRECTIONS = ("within_word_l2r", "whole_word", "none")


def score_stimuli(
    scorer: Scorer,
    item_ids: Sequence[str],
    texts: Sequence[str],
    start_token: str,
    *,
    dataset: str,
    workers: int = 1,
    **kept: Any,
) -> pd.DataFrame:
    """Return a `scores` table (logprob in nats) of texts that a causal model reads left to right.

    Each distinct text is scored once. Long texts are read in windows of the context window.

    `start_token` is that of `LanguageModel.start_id`. With 'none', first tokens are not scored.
    `dataset` is a name for messages. `workers` threads score several shards at once on a CPU.
    `kept` has the arguments shards and sentences_per_shard of `_score_in_shards`.

    Raises LingprobError, before any scoring, for a text without a token to score.
    """
    lm = scorer.language_model
    start_id = lm.start_id(start_token)
    unique = list(dict.fromkeys(texts))
    tokens = dict(zip(unique, lm.tokenize(unique), strict=True))
    _check_scorable(item_ids, texts, tokens, start_token, dataset)
    settings = [start_id, lm.context_window, str(lm.dtype)]

    def score(shard: list[str], progress: Progress) -> list[np.ndarray]:
        ids, alone = [tokens[text].ids for text in shard], len(tokens) == 1
        return scorer.score(ids, start_id, progress=progress, alone=alone)

    with worker_map(lm, workers) as mapping:
        logprobs = _score_in_shards(tokens, score, settings, dataset, mapping, **kept)
    return scores_table(item_ids, texts, tokens, logprobs)


def score_masked(
    lm: MaskedLanguageModel,
    item_ids: Sequence[str],
    texts: Sequence[str],
    correction: str,
    *,
    dataset: str,
    tokens_per_batch: int | None = None,
    **kept: Any,
) -> pd.DataFrame:
    """Return a `scores` table (logprob in nats) of texts that a masked model reads.

    Every token counts. Each distinct text is scored alone, so that its numbers depend on no other
    text. `dataset` and `kept` are arguments of `score_stimuli`. Raises LingprobError for a text
    without a token, or one longer than the model can read.
    """
    unique = list(dict.fromkeys(texts))
    tokenized = dict(zip(unique, lm.tokenize(unique), strict=True))
    tokens = {text: one.tokens for text, one in tokenized.items()}
    longest = lm.context_window - len(lm.before) - len(lm.after)
    _check_scorable(item_ids, texts, tokens, "", dataset, longest)
    budget = tokens_per_batch or TOKENS_PER_BATCH[lm.device.type]

    def score(shard: list[str], progress: Progress) -> list[np.ndarray]:
        found = []
        for text in shard:
            found.append(pseudo_logprobs(lm, tokenized[text], correction, budget))
            progress.advance()
        return found

    settings = [correction, str(lm.dtype)]
    logprobs = _score_in_shards(tokens, score, settings, dataset, map, **kept)
    return scores_table(item_ids, texts, tokens, logprobs)


def _score_in_shards(
    tokens: Mapping[str, Tokens],
    score: Callable[[list[str], Progress], list[np.ndarray]],
    settings: Sequence[object],
    dataset: str,
    mapping: Callable[..., Iterator[pa.Table]],
    *,
    shards: Shards = NOWHERE,
    sentences_per_shard: int = 2000,
) -> dict[str, np.ndarray]:
    """Return the token log-probabilities (nats, float32) of each distinct text.

    `score` returns the log-probabilities of some texts, and advances the progress. `settings` has
    JSON values of all settings that change them. `mapping` is a function like `map`, which may
    score several shards at once. A shard has at most `sentences_per_shard` texts.
    """
    ordered = sorted(tokens, key=lambda text: (tokens[text].ids.tolist(), text))  # alike ones meet
    ranges = shard_ranges(len(ordered), sentences_per_shard)
    parts = [ordered[one.start : one.stop] for one in ranges]
    there: list[pa.Table] = []

    def scored(part: list[str]) -> pa.Table:
        described = [settings, part, [tokens[text].ids.tolist() for text in part]]
        if (kept := shards.read(described)) is not None:
            there.append(kept)
            progress.advance(len(part))
            return kept
        values = [row.astype(np.float32) for row in score(part, progress)]
        table = pa.table({"logprob": pa.array(values, pa.list_(pa.float32()))})
        shards.write(described, table)
        return table

    found: list[np.ndarray] = []
    with Progress(len(ordered), f"scoring {dataset}", "sentences") as progress:
        for table in mapping(scored, parts):
            found += [row.values.to_numpy(zero_copy_only=False) for row in table.column("logprob")]
    if there:
        logger.info("%d of %d shards were there already", len(there), len(parts))
    return dict(zip(ordered, found, strict=True))


def scores_table(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: Mapping[str, Tokens],
    logprobs: Mapping[str, np.ndarray],
) -> pd.DataFrame:
    """Return a `scores` table: one row per token of each item, `scored` unless NaN."""
    of_items = [tokens[text] for text in texts]
    lengths = [len(one.ids) for one in of_items]
    logprob = np.concatenate([logprobs[text] for text in texts]).astype(np.float32)
    return pd.DataFrame(
        {
            "item_id": np.repeat(np.array(item_ids, dtype=object), lengths),
            "token_index": np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]),
            "token_id": np.concatenate([one.ids for one in of_items]),
            "char_start": np.concatenate([one.char_start for one in of_items]),
            "char_end": np.concatenate([one.char_end for one in of_items]),
            "logprob": logprob,
            "scored": ~np.isnan(logprob),
        }
    )


def _check_scorable(
    item_ids: Sequence[str],
    texts: Sequence[str],
    tokens: Mapping[str, Tokens],
    start_token: str,
    dataset: str,
    longest: float = np.inf,
) -> None:
    """Raise LingprobError for a text without a token to score, or with more than `longest`."""
    for row, (item_id, text) in enumerate(zip(item_ids, texts, strict=True)):
        where = f"dataset {dataset!r}, row {row}, item_id {item_id!r}"
        n_tokens = len(tokens[text].ids)
        if n_tokens == 0:
            raise LingprobError(
                f"{where}: the tokenizer has no token for any letter of {text!r}. Correct it, "
                "delete the row, or choose another model."
            )
        if n_tokens == 1 and start_token == "none":
            raise LingprobError(
                f"{where}: {text!r} is a single token, and with bos 'none' a first token has no "
                "score. Choose a BOS policy with a start token, or delete the row."
            )
        if n_tokens > longest:
            raise LingprobError(
                f"{where}: {n_tokens} tokens, but a masked model reads a whole sentence, and this "
                f"one has room for {longest}. Shorten the sentence, or choose a causal model."
            )


def hidden_tokens(words: np.ndarray, correction: str) -> np.ndarray:
    """Return which tokens (columns) are masked while each token (row) is predicted, (n, n) bool.

    `words`, (n,), has the number of each token's word. The diagonal is always masked.
    """
    if correction == "none":
        return np.eye(len(words), dtype=bool)
    of_word = words[:, None] == words[None, :]
    return np.triu(of_word) if correction == "within_word_l2r" else of_word


@torch.inference_mode()
def pseudo_logprobs(
    lm: MaskedLanguageModel, text: MaskableText, correction: str, tokens_per_batch: int
) -> np.ndarray:
    """Return each token's log-probability given the tokens that are not masked, (n,) float32, nats.

    The text is run once for each of its tokens, between the special tokens of the model, in batches
    of `tokens_per_batch` tokens. Raises LingprobError for a value that is not finite.
    """
    ids = text.tokens.ids
    n, skipped = len(ids), len(lm.before)
    rows = np.tile(np.array([*lm.before, *ids, *lm.after], dtype=np.int64), (n, 1))
    rows[:, skipped : skipped + n][hidden_tokens(text.words, correction)] = lm.mask_id
    inputs = torch.from_numpy(rows).to(lm.device)
    at_once = max(1, tokens_per_batch // rows.shape[1])
    found = []
    for places in torch.arange(n, device=lm.device).split(at_once):
        logits = _logits_at(lm, inputs[places], places + skipped)
        predicted = logits.float().log_softmax(-1)
        wanted = inputs.new_tensor(ids[places.cpu().numpy()], dtype=torch.int64)
        found.append(predicted.gather(1, wanted[:, None])[:, 0])
    logprobs = torch.cat(found).cpu().numpy()
    lm.check_finite(logprobs)
    return logprobs


def _logits_at(lm: MaskedLanguageModel, inputs: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the logits (rows, V) at one place in each row of `inputs` (rows, n).

    If a separate layer computes them from hidden states (rows, n, width), it gets only the states
    at these places.
    """
    rows = torch.arange(len(places), device=places.device)

    def choose(_: torch.nn.Module, given: tuple[torch.Tensor]) -> torch.Tensor:
        return given[0][rows, places][:, None]

    head = lm.model.get_output_embeddings()
    with head.register_forward_pre_hook(choose) if head is not None else nullcontext():
        logits = lm.model(input_ids=inputs).logits
    return logits[:, 0] if logits.shape[1] == 1 else logits[rows, places]


def load_for_stimuli(
    manifest: str | Path,
    entry: Mapping[str, Any],
    loading: Mapping[str, str],
    keeping: Mapping[str, Any],
    *,
    engine: str,
    workers: int,
) -> tuple[Callable[[pd.DataFrame, str, str], pd.DataFrame], dict[str, str]]:
    """Return a function that scores stimuli with a model, and the provenance of its scores.

    Args:
        manifest, entry: file of a prepared model, and the model's entry.
        loading: `device`, `dtype` and, for a causal model, `device_map`.
        keeping: `directory` of shards, `sentences_per_shard` and `tokens_per_batch`.
        engine: digest of the code, so that shards of other code are not used.
        workers: threads of a causal model on a CPU.

    The function takes a `stimuli` table, the start token or correction, and the data set's name. It
    returns a `scores` table, with the errors of `score_stimuli` or `score_masked`.
    """
    score: Callable[..., pd.DataFrame]
    budget = keeping["tokens_per_batch"]
    if entry.get("kind") == "masked":
        from lingprob.models.masked import load_prepared_masked

        masked, provenance = load_prepared_masked(manifest, loading["device"], loading["dtype"])
        score = partial(score_masked, masked, tokens_per_batch=budget)
    else:
        lm, provenance = load_prepared(manifest, dict(entry), **loading)
        workers = workers if lm.device.type == "cpu" else 1
        score = partial(score_stimuli, Scorer(lm, budget), workers=workers)
    shards = Shards(keeping["directory"], identity_of(provenance, engine))
    kept = {"shards": shards, "sentences_per_shard": keeping["sentences_per_shard"]}

    def scored(stimuli: pd.DataFrame, start_token: str, dataset: str) -> pd.DataFrame:
        items, texts = stimuli["item_id"].tolist(), stimuli["text"].tolist()
        return score(items, texts, start_token, dataset=dataset, **kept)

    return scored, provenance
