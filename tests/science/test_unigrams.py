"""Published unigram tables of the Pile, and corpora of the mirror, against known facts."""

import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from lingprob.io.corpora import iter_documents
from lingprob.unigrams.counts import count_tokens
from lingprob.unigrams.estimate import smoothed_logprobs
from lingprob.unigrams.published import published_counts, published_logprobs

MIRROR = Path(
    os.environ.get("LINGPROB_MIRROR", Path(__file__).resolve().parents[3] / "shared" / "mirror")
)
VOCABULARY_SIZE = 50_277


@pytest.fixture(scope="module")
def tokenizer():
    return PreTrainedTokenizerFast(
        tokenizer_file=str(_needed("tokenizers/gpt-neox-20b/20B_tokenizer.json"))
    )


@pytest.fixture(scope="module")
def published_file():
    path = _needed("pile_unigrams/pile_unigram_logprobs.json")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def logprobs(tokenizer):
    path = _needed("pile_unigrams/pile_unigram_logprobs.json")
    return published_logprobs(path, tokenizer, VOCABULARY_SIZE)


@pytest.fixture(scope="module")
def counts():
    path = _needed("pile_unigrams/the_pile_16k_unigrams.npy")
    return published_counts(path, VOCABULARY_SIZE)["sum"].to_numpy()


def _needed(name):
    if not (MIRROR / name).exists():
        pytest.skip(f"{MIRROR / name} is not there (set LINGPROB_MIRROR)")
    return MIRROR / name


def test_the_published_table_covers_gpt_neox_s_vocabulary(logprobs):
    table, metadata = logprobs
    assert len(table) == VOCABULARY_SIZE
    assert metadata["published_sum"] == pytest.approx(1.050, abs=5e-4)
    assert metadata["covered_sum"] == pytest.approx(0.9994, abs=5e-5)
    assert metadata["covered_tokens_exactly"] == pytest.approx(50_049 / VOCABULARY_SIZE)
    assert metadata["covered_tokens"] == pytest.approx(50_078 / VOCABULARY_SIZE)
    assert metadata["floor"] == pytest.approx(-14.4074, abs=1e-4)


def test_values_of_frequent_tokens_as_published(logprobs, tokenizer):
    table, _ = logprobs
    ids = [tokenizer.convert_tokens_to_ids(token) for token in ("Ċ", ".", ",", "Ġthe", "Ġof")]
    expected = [-3.2941, -3.4140, -3.4982, -3.6157, -4.1801]
    np.testing.assert_allclose(table["logprob"][ids], expected, atol=5e-5)


def test_normalising_moves_nearly_all_tokens_by_one_constant(logprobs, tokenizer):
    path = _needed("pile_unigrams/pile_unigram_logprobs.json")
    normalised, metadata = published_logprobs(path, tokenizer, VOCABULARY_SIZE, normalise=True)
    assert np.exp(normalised["logprob"]).sum() == pytest.approx(1.0, abs=1e-9)
    difference = normalised["logprob"] - logprobs[0]["logprob"]
    moved_alike = np.abs(difference + metadata["normalising_constant"]) < 1e-9
    assert abs(metadata["normalising_constant"]) < 1e-3
    assert moved_alike.mean() > 0.989  # the others share a decoded string


def test_published_probabilities_and_published_counts_agree(
    logprobs, counts, tokenizer, published_file
):
    """r over tokens that alone decode to their string; smoothing bends the rare end."""
    decoded = tokenizer.batch_decode([[token_id] for token_id in range(VOCABULARY_SIZE)])
    copies = Counter(decoded)
    alone = [copies[text] == 1 and text in published_file for text in decoded]
    comparable = np.array(alone) & (counts > 0)
    assert comparable.sum() == 49_536
    raw = np.log(counts[comparable] / counts.sum())
    published = logprobs[0]["logprob"].to_numpy()[comparable]
    assert np.corrcoef(published, raw)[0, 1] == pytest.approx(0.9745, abs=5e-5)
    # The published table is smoothed by about 4e-7 a token: so are the counts here.
    total = int(counts.sum())
    sums = published_counts(MIRROR / "pile_unigrams/the_pile_16k_unigrams.npy", VOCABULARY_SIZE)
    smoothed = smoothed_logprobs(sums, smoothing=4e-7 * total, total=total)["logprob"][comparable]
    assert np.corrcoef(published, smoothed)[0, 1] > 0.992
    assert np.median(np.abs(published - smoothed)) < 0.02


@pytest.mark.parametrize(
    ("parser", "pattern", "documents", "characters"),
    [
        ("gutenberg", "gutenberg/*.txt", 14, 22_771_099),
        ("nltk_zip", "nltk_corpora/abc.zip", 2, 4_038_266),
        ("nltk_zip", "nltk_corpora/inaugural.zip", 59, 807_101),
        ("nltk_zip", "nltk_corpora/state_union.zip", 65, 2_073_581),
        ("nltk_zip", "nltk_corpora/webtext.zip", 6, 1_716_155),
    ],
)
def test_corpora_have_their_known_numbers_of_documents(parser, pattern, documents, characters):
    _needed(Path(pattern).parent)
    texts = list(iter_documents(parser, sorted(MIRROR.glob(pattern))))
    assert len(texts) == documents
    assert characters is None or sum(map(len, texts)) == characters


def test_books_hold_neither_licence_nor_line_wraps():
    _needed("gutenberg/1342-0.txt")
    (text,) = iter_documents("gutenberg", [MIRROR / "gutenberg/1342-0.txt"])
    assert "Gutenberg" not in text
    first = (
        "It is a truth universally acknowledged, that a single man in possession of a good "
        "fortune, must be in want of a wife."
    )
    assert f"\n\n{first}\n\n" in text
    assert text.endswith("bringing her into Derbyshire, had been the means of uniting them.")


def test_corpus_frequencies_resemble_those_of_the_pile(tokenizer, logprobs):
    documents = iter_documents("nltk_zip", [_needed("nltk_corpora/inaugural.zip")])
    counts = count_tokens(documents, tokenizer, VOCABULARY_SIZE)
    frequent = counts > 50
    own = np.log(counts[frequent] / counts.sum())
    assert frequent.sum() > 300
    assert np.corrcoef(own, logprobs[0]["logprob"][frequent])[0, 1] > 0.6
