"""n-gram models in the form of transformers' models, with config.json, weights and logits.

The same code as for other models therefore scores sentences, contexts and words, after the same
start tokens. The logits are log-probabilities over the vocabulary.
"""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

from lingprob.ngrams.estimate import NgramTables

CONTEXT_WINDOW = 2048  # tokens of a pass, although a prediction depends on the last few only


class NgramConfig(PreTrainedConfig):
    """Number of token ids, and numbers of n-grams of each order from 2 on."""

    model_type = "ngram"

    def __init__(
        self, vocab_size: int = 2, n_ngrams: list[int] | None = None, **others: Any
    ) -> None:
        self.vocab_size = vocab_size
        self.n_ngrams = n_ngrams or []
        self.max_position_embeddings = CONTEXT_WINDOW
        super().__init__(**{"tie_word_embeddings": False, **others})


class Unigrams(torch.nn.Module):
    """Unigram log-probabilities (V,), which take the place of a network's embeddings."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(vocabulary_size))


class NgramForCausalLM(PreTrainedModel):
    """A backoff model (`NgramTables`), whose `forward` returns log-probabilities as logits."""

    config_class = NgramConfig
    base_model_prefix = "model"

    def __init__(self, config: NgramConfig) -> None:
        super().__init__(config)
        self.unigrams = Unigrams(config.vocab_size)
        sizes = [config.vocab_size, *config.n_ngrams]
        self.logprobs = torch.nn.ParameterList([torch.zeros(n) for n in sizes[1:]])
        self.backoffs = torch.nn.ParameterList([torch.zeros(n) for n in sizes[:-1]])
        for order, n in enumerate(sizes[1:], start=2):
            self.register_buffer(f"keys_{order}", torch.zeros(n, dtype=torch.int64))
        self.post_init()

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Do nothing, because all weights come from the tables."""

    def get_input_embeddings(self) -> torch.nn.Module:
        """Return the unigrams, which show transformers the device of the model."""
        return self.unigrams

    def get_output_embeddings(self) -> torch.nn.Module:
        """Return the unigrams, which have one row per logit."""
        return self.unigrams

    @torch.no_grad()
    def forward(
        self,
        input_ids: torch.Tensor,
        past_key_values: Any = None,
        position_ids: torch.Tensor | None = None,
        **_: Any,
    ) -> CausalLMOutput:
        """Return ln p of every token after each of `input_ids`: (rows, length) gives (..., V).

        Raises TypeError if earlier tokens are passed as keys and values or by positions.
        """
        if past_key_values is not None or position_ids is not None:
            raise TypeError("an n-gram model reads the tokens before a token and keeps no others")
        rows, length = input_ids.shape
        logits = self.unigrams.weight.repeat(rows * length, 1)
        for order in range(2, len(self.logprobs) + 2):
            n_context = order - 1
            if n_context > length:
                break
            contexts = input_ids.unfold(1, n_context, 1).flatten(0, 1)
            after = torch.arange(rows * length, device=input_ids.device).view(rows, length)
            context, seen = self._places(contexts)
            self._follow(logits, order, context[seen], after[:, n_context - 1 :].flatten()[seen])
        return CausalLMOutput(logits=logits.view(rows, length, -1))

    @torch.no_grad()
    def logprobs_at(
        self,
        ids: torch.Tensor,
        row: torch.Tensor,
        column: torch.Tensor,
        targets: torch.Tensor,
    ) -> torch.Tensor:
        """Return ln p (n,) of `targets` (n,) after positions (`row`, `column`) of `ids`.

        The values equal those of `forward`, which computes them for the whole vocabulary.
        """
        device = self.unigrams.weight.device
        ids, row, column, targets = (part.to(device) for part in (ids, row, column, targets))
        found = self.unigrams.weight[targets]
        for order in range(2, len(self.logprobs) + 2):
            far = torch.nonzero(column >= order - 2)[:, 0]
            before = column[far, None] + torch.arange(2 - order, 1, device=device)
            context, seen = self._places(ids[row[far, None], before])
            far, context = far[seen], context[seen]
            found[far] += self.backoffs[order - 2][context]
            ngram, seen = self._place(order, context, targets[far])
            found[far[seen]] = self.logprobs[order - 2][ngram[seen]]
        return found

    def _places(self, contexts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the places (n,) of contexts (n, order) in the tables, and which contexts exist."""
        place = contexts[:, 0]
        seen = torch.ones_like(place, dtype=torch.bool)
        for column in range(1, contexts.shape[1]):
            place, there = self._place(column + 1, place, contexts[:, column])
            seen = seen & there
        return place, seen

    def _place(
        self, order: int, context: torch.Tensor, token: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the places (n,) of n-grams (a context's place and a token), and which exist."""
        keys = self.get_buffer(f"keys_{order}")
        wanted = context * self.config.vocab_size + token
        place = torch.searchsorted(keys, wanted).clamp_(max=len(keys) - 1)
        return place, keys[place] == wanted

    def _follow(
        self, logits: torch.Tensor, order: int, context: torch.Tensor, row: torch.Tensor
    ) -> None:
        """Update rows of logits (positions, V) by backoff weights and n-grams of their contexts."""
        keys, vocabulary = self.get_buffer(f"keys_{order}"), self.config.vocab_size
        logits[row] += self.backoffs[order - 2][context, None]
        first = torch.searchsorted(keys, context * vocabulary)
        numbers = torch.searchsorted(keys, (context + 1) * vocabulary) - first
        skipped = numbers.cumsum(0) - numbers
        ngram = torch.arange(int(numbers.sum()), device=keys.device)
        ngram += (first - skipped).repeat_interleave(numbers)
        values = self.logprobs[order - 2][ngram].to(logits.dtype)
        logits[row.repeat_interleave(numbers), keys[ngram] % vocabulary] = values


def as_language_model(tables: NgramTables, mark: int) -> NgramForCausalLM:
    """Return tables as a model for transformers. The token id `mark` begins and ends its texts."""
    config = NgramConfig(
        tables.vocabulary_size,
        [len(keys) for keys in tables.keys[1:]],
        bos_token_id=mark,
        eos_token_id=mark,
        dtype="float32",
    )
    model = NgramForCausalLM(config)
    model.unigrams.weight.data = torch.from_numpy(tables.logprobs[0])
    for order, keys in enumerate(tables.keys[1:], start=2):
        model.register_buffer(f"keys_{order}", torch.from_numpy(keys))
        model.logprobs[order - 2].data = torch.from_numpy(tables.logprobs[order - 1])
        model.backoffs[order - 2].data = torch.from_numpy(tables.backoffs[order - 2])
    return model


AutoConfig.register("ngram", NgramConfig)
AutoModelForCausalLM.register(NgramConfig, NgramForCausalLM)
