"""n-gram models: estimates against KenLM's and the definition, and scores like any model's."""

from __future__ import annotations

import logging
import runpy
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.models.folders import write_manifest
from lingprob.models.loading import load_language_model, load_prepared
from lingprob.models.tokenizer import load_tokenizer
from lingprob.ngrams.estimate import (
    FALLBACK,
    count_ngrams,
    discounts,
    estimate_model,
    word_tokenizer,
)
from lingprob.ngrams.lmplz import PROGRAMS, obtain_programs
from lingprob.ngrams.model import as_language_model
from lingprob.ngrams.tables import read_arpa
from lingprob.reading.surprisal import word_surprisals
from lingprob.scoring.continuations import ContextItem, score_in_context
from lingprob.scoring.engine import Scorer
from lingprob.unigrams.counts import count_tokens
from lingprob.workflow import scope, sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.costs import BASE_MEMORY_MB, Costs
from lingprob.workflow.digests import SCRIPTS
from lingprob.workflow.sources import Run
from models_for_tests import save_tiny_tokenizer
from ngram_reference import FACTS, MARK, ORDER, VOCABULARY, KneserNey, corpus

TEXT = [
    "The cat sat on the mat.\nThe dog sat on the cat.",
    "\n\nThe cat saw the dog, and the dog saw a cat.\nA dog sat.\nThe bird sat on the mat.",
]


def logprobs(tables, ids):
    """ln p (length, V) after each beginning of `ids`, as the language model gives them."""
    return as_language_model(tables, MARK)(torch.tensor([ids])).logits[0].double().numpy()


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """The folder of a trigram model of the words of TEXT, all of which count."""
    folder = tmp_path_factory.mktemp("words")
    estimate_model(lambda: TEXT, 3, folder, least_count=1)
    return folder


@pytest.fixture(scope="module")
def subwords(tmp_path_factory):
    """The folder of a 4-gram model of the tiny tokenizer's tokens."""
    folder = tmp_path_factory.mktemp("subwords")
    save_tiny_tokenizer(folder / "provider")
    (folder / "provider/config.json").write_text('{"model_type": "gpt2", "vocab_size": 330}')
    (folder / "provider/model.safetensors").write_text("")
    write_manifest("tiny", "local", "", folder / "provider", folder / "provider/manifest.json")
    tokenizer, size = load_tokenizer(folder / "provider/manifest.json")
    estimate_model(lambda: TEXT, 4, folder, tokenizer=tokenizer, vocabulary_size=size)
    return folder


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_estimates_are_those_of_the_definition(order):
    sentences = corpus(n_sentences=40)
    reference = KneserNey(sentences, order, VOCABULARY)
    tables = count_ngrams(sentences, order, VOCABULARY, MARK)
    ids = [MARK, *sentences[3][:3].tolist(), 2, 28, 3, 2]
    context: tuple = ()
    for token, found in zip(ids, logprobs(tables, ids), strict=True):
        context = ("<s>",) if token == MARK else (*context, token)
        outcomes = ["</s>", *range(1, VOCABULARY)]
        expected = [reference.probability(word, context) for word in outcomes]
        assert found == pytest.approx(np.log(expected), abs=2e-6)


def test_estimates_and_probabilities_are_kenlm_s():
    """KenLM's own estimate (lmplz) of the same corpus, and what its own program says of texts."""
    theirs = read_arpa(FACTS, VOCABULARY, MARK)
    ours = count_ngrams(corpus(), ORDER, VOCABULARY, MARK)
    assert discounts(np.array([1, 1, 1, 2, 2, 3])) is not FALLBACK
    for name in ("keys", "logprobs", "backoffs"):
        pairs = list(zip(getattr(ours, name), getattr(theirs, name), strict=True))
        for our, their in pairs:
            assert our == pytest.approx(their, abs=1e-5)
    kenlm = pytest.importorskip("kenlm")
    queried = kenlm.Model(str(FACTS))
    rng = np.random.default_rng(3)
    for ids in [*corpus(8, 20), rng.integers(2, VOCABULARY, 40)]:
        found = logprobs(ours, [MARK, *ids.tolist()])
        scores = queried.full_scores(" ".join(map(str, ids)), bos=True, eos=True)
        expected = np.array([score for score, _, _ in scores]) * np.log(10)
        outcomes = [*ids.tolist(), MARK]
        assert found[np.arange(len(outcomes)), outcomes] == pytest.approx(expected, abs=1e-5)


def test_kenlm_s_own_estimate_here(tmp_path):
    if not all(shutil.which(program) for program in PROGRAMS):
        pytest.skip("KenLM's lmplz and build_binary are not on the PATH")
    obtain_programs(tmp_path / "programs")
    for folder, programs in (("ours", None), ("theirs", tmp_path / "programs")):
        estimate_model(lambda: TEXT * 3, 4, tmp_path / folder, programs=programs, memory_mb=100)
    ours, theirs = (load_language_model(tmp_path / name) for name in ("ours", "theirs"))
    weights = ours.model.state_dict()
    assert weights.keys() == theirs.model.state_dict().keys()
    for name, values in theirs.model.state_dict().items():
        assert weights[name].numpy() == pytest.approx(values.numpy(), abs=1e-5), name


@pytest.mark.parametrize("order", [1, 2, 5])
def test_probabilities_sum_to_one_after_any_context(order):
    last = np.full(3, VOCABULARY - 1)
    tables = count_ngrams([*corpus(), last], order, VOCABULARY, MARK)
    rng = np.random.default_rng(order)
    ids = [MARK, *corpus()[0].tolist(), MARK, *last, *rng.integers(0, VOCABULARY, 30).tolist()]
    assert np.exp(logprobs(tables, ids)).sum(axis=1) == pytest.approx(np.ones(len(ids)), abs=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_a_token_asked_for_alone_has_its_logprob_of_all_logits(order):
    model = as_language_model(count_ngrams(corpus(), order, VOCABULARY, MARK), MARK)
    ids = torch.randint(VOCABULARY, (4, 9), generator=torch.Generator().manual_seed(order))
    seen = [token for ids in corpus() for token in (MARK, *ids)]
    ids[2:] = torch.tensor(seen[:18]).view(2, 9)
    logits = model(ids).logits
    row, column = torch.cartesian_prod(torch.arange(4), torch.arange(9)).T
    for shift in range(3):
        targets = (ids[row, (column + 1) % 9] + shift) % VOCABULARY
        alone = model.logprobs_at(ids, row, column, targets)
        assert torch.equal(alone, logits[row, column, targets])


def test_a_vocabulary_of_which_all_occurs_is_refused_where_kenlm_keeps_some(tmp_path):
    with pytest.raises(LingprobError, match="estimator: counts"):
        read_arpa(FACTS, 24, MARK)
    (tmp_path / "damaged.arpa").write_text("nothing\n")
    with pytest.raises(LingprobError, match="not an ARPA file"):
        read_arpa(tmp_path / "damaged.arpa", 24, MARK)


def test_a_discount_out_of_range_or_without_counts_is_kenlm_s_fixed_one():
    assert discounts(np.array([1, 2, 4])) is FALLBACK
    assert discounts(np.array([1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3])) is FALLBACK
    # n1 4, n2 2, n3 1, n4 0: y = 4 / 8.
    found = discounts(np.array([0, 1, 1, 1, 1, 2, 2, 3, 7]))
    assert found == pytest.approx([0, 1 - 0.5, 2 - 3 * 0.5 * 1 / 2, 3])


def test_words_are_told_apart_and_rare_ones_are_unknown():
    tokenizer = word_tokenizer(TEXT, 2)
    ids = tokenizer("The bird, the cat!", add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["The", "<unk>", "<unk>", "the", "cat", "<unk>"]
    assert "bird" in word_tokenizer(TEXT, 1).get_vocab()
    assert tokenizer.bos_token == tokenizer.eos_token == "</s>"


def test_a_folder_is_loaded_and_scored_like_any_model(words, caplog):
    caplog.set_level(logging.INFO)
    lm = load_language_model(words)
    start = lm.start_id("bos")
    tokenized = lm.tokenize(["The cat sat.", "The dog ate the mat."])
    assert tokenized[1].char_end.tolist() == [3, 7, 11, 15, 19, 20]
    unknown = lm.tokenizer.unk_token_id
    assert (tokenized[1].ids == unknown).tolist() == [False, False, True, False, False, False]
    encode = partial(lm.tokenizer, add_special_tokens=False)
    sentences = [encode(line)["input_ids"] for text in TEXT for line in text.split("\n") if line]
    reference = KneserNey([np.array(ids) for ids in sentences], 3, lm.vocabulary_size)
    for ids, found in zip(
        [tokens.ids for tokens in tokenized],
        Scorer(lm).score([tokens.ids for tokens in tokenized], start),
        strict=True,
    ):
        expected = [
            np.log(reference.probability(int(word), ("<s>", *map(int, ids[:place]))))
            for place, word in enumerate(ids)
        ]
        assert found == pytest.approx(expected, abs=1e-5)
    assert "as exact" not in caplog.text  # as is said of what is slower than it might be
    (alone,) = Scorer(lm).score([tokenized[0].ids], None)
    assert np.isnan(alone[0])
    assert not np.isnan(alone[1:]).any()


def test_windows_and_prefixes_change_nothing_that_an_n_gram_sees(subwords):
    lm = load_language_model(subwords)
    (tokens,) = lm.tokenize([" ".join(" ".join(TEXT).split()) * 3])
    (whole,) = Scorer(lm).score([tokens.ids], 0)
    (cut,) = Scorer(lm).score([tokens.ids], 0, window=10, stride=7)
    assert cut == pytest.approx(whole, abs=1e-5)
    item = ContextItem("The cat sat on the mat.", [0, 23], ["The dog sat.", "A dog saw."])
    table = score_in_context(lm, [item], start_token="bos")
    for (cut_index, target), rows in table.groupby(["cut_index", "target_index"]):
        text = item.targets[target] if cut_index == 0 else f"{item.prefix} {item.targets[target]}"
        (plain,) = Scorer(lm).score([lm.tokenize([text])[0].ids], lm.start_id("bos"))
        assert rows["logprob"].to_numpy() == pytest.approx(plain[-len(rows) :], abs=1e-5)


def test_subwords_have_word_surprisals_and_share_the_tokenizer_s_ids(subwords):
    lm = load_language_model(subwords)
    assert lm.vocabulary_size == 330
    assert lm.start_id("bos") == lm.start_id("eos") == 1
    text = ["The", "cat", "sat", "on", "the", "dog."]
    frame = pd.DataFrame({"word": text, "passage_id": "p", "word_index": range(len(text))})
    frame["sentence_index"] = 0
    found = word_surprisals(lm, frame, start_token="bos")
    (tokens,) = lm.tokenize([" ".join(text)])
    (scores,) = Scorer(lm).score([tokens.ids], 1)
    assert found["surprisal_uncorrected"].sum() == pytest.approx(
        -scores.sum() / np.log(2), abs=1e-4
    )
    assert found["surprisal"].notna().all()


def test_the_rule_makes_a_model_whose_tokenizer_counts_its_corpus(tmp_path, monkeypatch):
    """The script, as Snakemake runs it, over a user's file."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(TEXT))
    manifest = tmp_path / "mine/manifest.json"
    manifest.parent.mkdir()
    params = SimpleNamespace(
        entry={"corpus": "mine", "order": 2, "least_count": 1},
        corpus={"parser": "text", "path": "text.txt"},
        code="0",
    )
    snakemake = SimpleNamespace(
        input=SimpleNamespace(tokenizer=[], programs=[]), output=[str(manifest)], params=params,
        wildcards=SimpleNamespace(model="my-bigram"), resources=SimpleNamespace(mem_mb=1000),
        log=[str(tmp_path / "log.txt")], rule="estimate_ngram_model",
    )  # fmt: skip
    runpy.run_path(str(SCRIPTS / "estimate_ngram_model.py"), init_globals={"snakemake": snakemake})
    lm, provenance = load_prepared(manifest, {"dtype": {"cpu": "float32"}})
    assert provenance["origin"] == "n-grams of mine by counts, code 0"
    tokenizer, size = load_tokenizer(manifest)
    counts = count_tokens(TEXT, tokenizer, size)
    vocabulary = tokenizer.get_vocab()
    assert size == lm.vocabulary_size == len(vocabulary)
    assert [counts[vocabulary[word]] for word in ("The", "cat", ".", "</s>")] == [4, 4, 5, 0]


def plan_of(monkeypatch, *, missing: str | None, **entry: object) -> Run:
    monkeypatch.setattr("lingprob.workflow.sources.lmplz_missing", lambda: missing)
    mine = {"title": "M", "family": "ngram", "source": "ngram", "corpus": "mine", "order": 3}
    corpus = {"title": "C", "kind": "corpus", "parser": "text", "path": "text.txt"}
    models = {"grams": {**mine, **entry}}
    return Run(*read_settings({"scale": "demo", "models": models, "datasets": {"mine": corpus}}))


def test_a_model_is_planned_by_its_entry_alone(monkeypatch):
    words = plan_of(monkeypatch, missing="no cmake")
    manifest = "resources/models/grams/manifest.json"
    found = sources.ngram_inputs(words, "grams")
    assert found == {"corpus": ["text.txt"], "tokenizer": [], "programs": []}
    assert sources.tokenizer_manifest(words, "grams") == manifest
    assert words.catalog.model("grams")["unigrams"] == ["corpus_mine"]
    assert scope.start_tokens(words, "grams") == ["bos", "none"]
    shared = plan_of(monkeypatch, missing=None, tokenizer="smollm2")
    found = sources.ngram_inputs(shared, "grams")
    assert found["tokenizer"] == "resources/models/smollm2-135m/manifest.json"
    assert found["programs"] == [f"resources/tools/kenlm/{name}" for name in PROGRAMS]
    for asked, missing, built in (("counts", None, False), ("kenlm", "no cmake", True)):
        plan = plan_of(monkeypatch, missing=missing, estimator=asked)
        assert bool(sources.ngram_inputs(plan, "grams")["programs"]) == built


def test_an_n_gram_model_asks_for_what_its_corpus_makes_it(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a " * 4_000_000)
    plan = plan_of(monkeypatch, missing=None)
    costs = Costs(plan.settings, plan.catalog)
    assert costs.parameters("grams") == 3 * 2_000_000
    assert costs.gpus("grams") == 0
    assert costs.memory_mb("grams") == BASE_MEMORY_MB + 360
    assert costs.runtime(costs.counting("grams")) < 90


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"corpus": "mien"}, r"'mine'.*models\.grams\.corpus"),
        ({"tokenizer": "smolm2"}, "Did you mean 'smollm2'"),
        ({"unigrams": ["unigrahams_grams"]}, "do not generate.*corpus_mine"),
        ({"order": 6}, "order: 6"),
        ({"source": "local", "path": "m"}, "not a key of such an entry"),
    ],
)
def test_a_mistaken_entry_is_one_clear_message(monkeypatch, entry, message):
    with pytest.raises(LingprobError, match=message):
        plan_of(monkeypatch, missing=None, **entry)


def test_what_an_n_gram_model_cannot_do_is_refused(words, tmp_path):
    model = load_language_model(words).model
    with pytest.raises(TypeError, match="keeps no others"):
        model(torch.tensor([[1]]), past_key_values=object())
    with pytest.raises(TypeError, match="keeps no others"):
        model(torch.tensor([[1]]), position_ids=torch.tensor([[0]]))
    with pytest.raises(LingprobError, match="without a sentence"):
        estimate_model(lambda: ["\n"], 2, tmp_path)


def test_discounts_that_a_corpus_is_too_small_for_are_reported(caplog):
    count_ngrams([np.array([1, 2])], 2, 4, MARK)
    assert [record.args for record in caplog.records] == [(1,), (2,)]
