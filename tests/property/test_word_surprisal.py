"""Word surprisals with real tokenizers: known sums, and probabilities that sum to one."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

from lingprob.models.loading import LanguageModel, Tokens
from lingprob.models.tokenizer import Letters
from lingprob.reading.surprisal import ScoredPassage, sum_words, token_word_index
from lingprob.scoring.engine import Scorer

ODD = (
    "The long-bearded mill owners' wool, don't naïve “quoted” café 1,995 $5 — ... E=mc² 北京 "
    "👩\u200d🔬 İstanbul antidisestablishmentarianism"
)
ANY = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=12)
WORDS = st.lists(st.one_of(st.sampled_from(ODD.split()), ANY), min_size=1, max_size=20)


@pytest.fixture(scope="module", params=["gpt2", "opt", "gpt-neox-20b"])
def encoder(request: pytest.FixtureRequest, mirror: Path) -> Any:
    """A real tokenizer of the mirror, whose `encode` gives ids, token texts and offsets."""
    folder = mirror / "tokenizers"
    if request.param == "gpt-neox-20b":
        return Tokenizer.from_file(str(folder / "gpt-neox-20b/20B_tokenizer.json"))
    vocabulary, merges = {
        "gpt2": ("gpt2/encoder.json", "gpt2/vocab.bpe"),
        "opt": ("opt/gpt2-vocab.json", "opt/gpt2-merges.txt"),
    }[request.param]
    read = json.loads((folder / vocabulary).read_text(encoding="utf-8"))
    pairs = [
        tuple(line.split(" "))
        for line in (folder / merges).read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#version")
    ]
    return ByteLevelBPETokenizer(vocab=read, merges=pairs)


def tokens_of(encoder: Any, text: str) -> Tokens:
    encoding = encoder.encode(text)
    offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
    return Tokens(np.array(encoding.ids, dtype=np.int32), offsets[:, 0], offsets[:, 1])


@settings(max_examples=150, deadline=None)
@given(words=WORDS, seed=st.integers(0, 2**32 - 1))
def test_surprisals_of_words_sum_to_the_passages(encoder: Any, words: list[str], seed: int) -> None:
    words = [word for word in words if word.split() == [word]] or ["word"]
    tokens = tokens_of(encoder, " ".join(words))
    glued = np.zeros(len(words), dtype=bool)
    index = token_word_index(words, tokens, "test", glued)
    assert set(index) == set(range(len(words)))
    assert (np.diff(index) >= 0).all()
    random = np.random.default_rng(seed)
    logprob = -random.exponential(3, len(index))
    passage = ScoredPassage(logprob, -random.exponential(1, len(index) + 1))
    found = sum_words(index, passage, random.random(len(words)) < 0.5)
    corrected, uncorrected = found["surprisal"], found["surprisal_uncorrected"]
    assert uncorrected.sum() == pytest.approx(-logprob.sum() / np.log(2))
    # The correction cancels between neighbours, except for the space after the last word.
    whole = -(logprob.sum() + passage.space[-1]) / np.log(2)
    assert corrected.sum() == pytest.approx(whole)


@settings(max_examples=100, deadline=None)
@given(words=WORDS)
def test_tokens_of_a_word_are_its_letters(encoder: Any, words: list[str]) -> None:
    """Decoded together, the tokens that a word is given are the word and the space before it."""
    words = [word for word in words if word.split() == [word]] or ["word"]
    tokens = tokens_of(encoder, " ".join(words))
    index = token_word_index(words, tokens, "test", np.zeros(len(words), dtype=bool))
    decoded = [encoder.decode(tokens.ids[index == place].tolist()) for place in range(len(words))]
    normalised = encoder.decode(encoder.encode(" ".join(words)).ids)
    assert "".join(decoded).strip() == normalised.strip()
    assert all(part.startswith(" ") for part in decoded[1:])


# A vocabulary in which two of six tokens begin with a space.
SPACE_TOKENS = np.array([4, 5])
START = 0
OTHER_TOKENS = (START, 1, 2, 3)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    torch.manual_seed(3)
    config = GPTNeoXConfig(
        vocab_size=6, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=32,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    folder = tmp_path_factory.mktemp("tiny")
    return LanguageModel(model, None, torch.device("cpu"), torch.float64, 32, folder, Letters(), 6)


@pytest.mark.parametrize("context", [[4], [5, 1], [4, 2, 3, 5]])
def test_probabilities_of_all_words_sum_to_one(tiny: LanguageModel, context: list[int]) -> None:
    """Sums over all words of up to four tokens, and the rest for longer ones."""
    longest = 4
    words = [
        (first, *rest)
        for size in range(1, longest + 1)
        for first in SPACE_TOKENS
        for rest in itertools.product(OTHER_TOKENS, repeat=size - 1)
    ]
    # The last token only makes room for the place after the word.
    sequences = [np.array([*context, *word, 1]) for word in words]
    scored = Scorer(tiny).score(sequences, START, members=SPACE_TOKENS)
    corrected, uncorrected, unfinished = [], [], 0.0
    for word, values in zip(words, scored, strict=True):
        passage = ScoredPassage(values[:-1, 0], values[:, 1])
        index = np.array([0] * len(context) + [1] * len(word))
        bits = sum_words(index, passage, np.zeros(2, dtype=bool))
        corrected.append(2 ** -bits["surprisal"][1])
        uncorrected.append(2 ** -bits["surprisal_uncorrected"][1])
        if len(word) == longest:
            before = np.exp(passage.space[len(context)])
            unfinished += uncorrected[-1] / before * -np.expm1(passage.space[-1])
    assert sum(corrected) + unfinished == pytest.approx(1.0, abs=1e-9)
    assert 0.1 < sum(corrected) < 1
    # Without the space that ends it, a word's probability includes that of all longer ones.
    assert sum(uncorrected) / before > 1.001
