"""n-gram models: estimates against KenLM's and the definition, and scores like any model's."""

import logging
import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from checkout import ROOT
from lingprob.errors import LingprobError
from lingprob.models.folders import write_manifest
from lingprob.models.loading import load_language_model, load_prepared
from lingprob.models.tokenizer import open_tokenizer
from lingprob.ngrams import lmplz
from lingprob.ngrams import words as words_module
from lingprob.ngrams.estimate import (
    FALLBACK,
    count_ngrams,
    discounts,
    estimate_model,
    with_mark,
    word_tokenizer,
)
from lingprob.ngrams.model import as_language_model
from lingprob.ngrams.words import CountedWords, count_words, estimate_word_model, load_word_model
from lingprob.reading.surprisal import word_surprisals
from lingprob.scoring.continuations import ContextItem, score_in_context
from lingprob.scoring.engine import Scorer
from lingprob.unigrams.counts import count_tokens
from lingprob.workflow import missing, scope, sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.costs import BASE_MEMORY_MB, Costs
from lingprob.workflow.missing import is_placed
from lingprob.workflow.sources import Run
from models_for_tests import save_tiny_tokenizer
from ngram_reference import FACTS, MARK, ORDER, VOCABULARY, KneserNey, arpa_ngrams, corpus
from scripts_for_tests import run_script

TEXT = [
    "The cat sat on the mat.\nThe dog sat on the cat.",
    "\n\nThe cat saw the dog, and the dog saw a cat.\nA dog sat.\nThe bird sat on the mat.",
]


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
    tokenizer = open_tokenizer(folder / "provider/manifest.json")
    estimate_model(lambda: TEXT, 4, folder, tokenizer=tokenizer)
    return folder


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_estimates_are_those_of_the_definition(order):
    sentences = corpus(n_sentences=40)
    reference = KneserNey(sentences, order, VOCABULARY)
    tables = count_ngrams(sentences, order, VOCABULARY, MARK)
    ids = [MARK, *sentences[3][:3].tolist(), 2, 28, 3, 2]
    context: tuple = ()
    logits = as_language_model(tables, MARK)(torch.tensor([ids])).logits[0].double().numpy()
    for token, found in zip(ids, logits, strict=True):
        context = ("<s>",) if token == MARK else (*context, token)
        outcomes = ["</s>", *range(1, VOCABULARY)]
        expected = [reference.probability(word, context) for word in outcomes]
        assert found == pytest.approx(np.log(expected), abs=2e-6)


def test_estimates_are_those_of_kenlm():
    """All n-grams of KenLM's estimate (lmplz) of the same corpus, after their own contexts."""
    tables = count_ngrams(corpus(), ORDER, VOCABULARY, MARK)
    assert discounts(np.array([1, 1, 1, 2, 2, 3])) is not FALLBACK
    model = as_language_model(tables, MARK)
    seen = 0
    for ngram, logprob in arpa_ngrams():
        if ngram in ([MARK], ["<s>"]) and logprob >= 0:
            continue  # the beginning of a sentence is no outcome
        if len(ngram) == 1:
            found = tables.logprobs[0][ngram[0]]
        else:
            found = model(torch.tensor([ngram[:-1]])).logits[0, -1, ngram[-1]].item()
        assert found == pytest.approx(logprob, abs=1e-5), ngram
        seen += 1
    assert seen == 26 - 2 + 233 + 469  # <s> and <unk> are left out


def test_word_models_score_as_kenlm_does():
    kenlm = pytest.importorskip("kenlm").Model(str(FACTS))
    counted = count_ngrams(corpus(), ORDER, VOCABULARY, MARK)
    ours = CountedWords(counted, map(str, range(2, VOCABULARY)))
    rng = np.random.default_rng(3)
    texts = [" ".join(map(str, ids)) for ids in [*corpus(8, 20), rng.integers(2, VOCABULARY, 40)]]
    for text in [*texts, "7", "never seen 3 4", "3 4 never 3 4"]:
        for bos, eos in ((True, True), (False, False), (True, False)):
            expected = list(kenlm.full_scores(text, bos=bos, eos=eos))
            found = list(ours.full_scores(text, bos=bos, eos=eos))
            scores = [[score for score, _, _ in each] for each in (found, expected)]
            np.testing.assert_allclose(*scores, atol=1e-5)
            words = [*text.split(), *["</s>"] * eos]
            known = [word == "</s>" or word in ours.ids for word in words]
            assert [not unknown for _, _, unknown in found] == known
            assert ours.score(text, bos=bos, eos=eos) == pytest.approx(
                kenlm.score(text, bos=bos, eos=eos), abs=1e-4
            )


def test_word_models_by_the_definition(tmp_path, monkeypatch):
    """A document is one sentence of white-space words, across its lines."""
    monkeypatch.setattr(words_module, "has_kenlm", lambda: False)
    with pytest.raises(LingprobError, match="without a sentence"):
        estimate_word_model(["", " "], 3, 10, tmp_path / "small.ngrams")
    assert list(tmp_path.iterdir()) == []
    documents = [*TEXT, "The\u00a0cat\tsat .", " \n "]
    estimate_word_model(documents, 3, 10, tmp_path / "small.ngrams")
    model = load_word_model(tmp_path / "small.ngrams")
    sentences = [np.array([model.ids[w] for w in text.split()]) for text in documents[:-1]]
    reference = KneserNey(sentences, 3, len(model.ids) + 2)
    for text in ("cat sat on", "mat. The dog", "The unicorn sat", "bird"):
        ids = [model.ids.get(word, 1) for word in text.split()]
        expected = [
            math.log10(reference.probability(word, tuple(ids[:place])))
            for place, word in enumerate(ids)
        ]
        found = [score for score, _, _ in model.full_scores(text, bos=False, eos=False)]
        assert found == pytest.approx(expected, abs=1e-5)
        assert model.score(text, bos=False, eos=False) == pytest.approx(sum(expected), abs=1e-5)
    orders = [order for _, order, _ in model.full_scores("cat sat on the unicorn", False, False)]
    assert orders == [1, 2, 3, 3, 1]
    assert list(model.full_scores("", bos=False, eos=False)) == []
    with pytest.raises(LingprobError, match="more than 6 words, which do not fit"):
        count_words(["a b c d", "e f g"], 2, memory_mb=0.001)
    assert len(count_words(["a b c d", "e f"], 2, memory_mb=0.001).ids) == 6


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A machine whose PATH has one folder, with nothing in it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, script: str = "") -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return add


def test_kenlm_is_there_with_package_and_programs(programs, monkeypatch):
    packages = {"kenlm"}
    monkeypatch.setattr(lmplz, "find_spec", lambda name: name if name in packages else None)
    for program in ("lmplz", "build_binary"):
        assert not lmplz.has_kenlm()
        programs(program)
    assert lmplz.has_kenlm()
    packages.clear()
    assert not lmplz.has_kenlm()
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(LingprobError, match=r"a\.arpa: the package kenlm.*is not installed"):
        lmplz.load_kenlm("a.arpa")


def test_kenlms_programs_get_documents_as_lines(programs, tmp_path, monkeypatch):
    """Stand-ins for the programs, which write their arguments or fail."""
    monkeypatch.setattr(words_module, "has_kenlm", lambda: True)
    # Builtins of a shell alone, because the PATH has nothing else.
    copy = 'while [ "$1" != "--text" ]; do shift; done; while read -r line; do echo "$line"; done'
    programs("lmplz", f'echo "$*" > {tmp_path}/asked; {copy} < "$2" > "$4"')
    programs("build_binary", 'while read -r line; do echo "$line"; done < "$3" > "$4"')
    target = tmp_path / "results" / "small.ngrams"
    estimate_word_model(["the a\n sees  the f", "it\u00a0does"], 5, 100, target)
    assert target.read_text() == "the a sees the f\nit does\n"
    *asked, folder, fixed, skip = (tmp_path / "asked").read_text().split()[:8]
    assert [*asked, fixed] == ["-o", "5", "-S", "100M", "-T", "--discount_fallback"]
    assert (skip, Path(folder).parent) == ("--skip_symbols", target.parent)
    programs("lmplz", "for n in 1 2 3 4 5 6 7 8; do echo $n; done; echo no room >&2; exit 3")
    target.unlink()
    with pytest.raises(LingprobError, match=r"(?s)lmplz failed[^:]*:\n  2\n.*8\n  no room$"):
        estimate_word_model(["a b"], 5, 100, target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_single_logprobs_are_those_of_all_logits(order):
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


def test_discounts_out_of_range_are_fixed():
    with np.errstate(all="raise"):
        assert discounts(np.array([1, 2, 4])) is FALLBACK
    assert discounts(np.array([1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3])) is FALLBACK
    # n1 4, n2 2, n3 1, n4 0: y = 4 / 8.
    found = discounts(np.array([0, 1, 1, 1, 1, 2, 2, 3, 7]))
    assert found == pytest.approx([0, 1 - 0.5, 2 - 3 * 0.5 * 1 / 2, 3])


def test_rare_words_are_unknown():
    tokenizer = word_tokenizer(TEXT, 2)
    ids = tokenizer("The bird, the cat!", add_special_tokens=False)["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["The", "<unk>", "<unk>", "the", "cat", "<unk>"]
    assert "bird" in word_tokenizer(TEXT, 1).get_vocab()
    assert tokenizer.bos_token == tokenizer.eos_token == "</s>"
    tokenizer.eos_token = None
    assert (with_mark(tokenizer, "t"), tokenizer.eos_token) == (0, "</s>")
    tokenizer.eos_token, tokenizer.sep_token = None, "<unk>"
    assert (with_mark(tokenizer, "t"), tokenizer.bos_token) == (1, "<unk>")
    tokenizer.eos_token = tokenizer.bos_token = tokenizer.sep_token = None
    with pytest.raises(LingprobError, match="'t': no token for the ends of a sentence"):
        with_mark(tokenizer, "t")


def test_a_folder_is_scored_like_any_model(words, caplog):
    caplog.set_level(logging.INFO)
    lm = load_language_model(words)
    start = lm.start_id("bos")
    tokenized = lm.tokenize(["The cat sat.", "The bird ate the mat."])
    assert tokenized[1].char_end.tolist() == [3, 8, 12, 16, 20, 21]
    unknown = lm.tokenizer.unk_token_id
    assert (tokenized[1].ids == unknown).tolist() == [False, False, True, False, False, False]
    encode = partial(lm.tokenizer, add_special_tokens=False)
    sentences = [encode(line)["input_ids"] for text in TEXT for line in text.split("\n") if line]
    reference = KneserNey([np.array(ids) for ids in sentences], 3, lm.vocabulary_size)
    texts = [tokens.ids for tokens in tokenized]
    for ids, found in zip(texts, Scorer(lm).score(texts, start), strict=True):
        expected = [
            np.log(reference.probability(int(word), ("<s>", *map(int, ids[:place]))))
            for place, word in enumerate(ids)
        ]
        assert found == pytest.approx(expected, abs=1e-5)
    assert "as exact" not in caplog.text  # the words of the warning about slowness
    (alone,) = Scorer(lm).score([tokenized[0].ids], None)
    assert np.isnan(alone[0])
    assert not np.isnan(alone[1:]).any()


def test_windows_and_prefixes_change_nothing(subwords):
    lm = load_language_model(subwords)
    (tokens,) = lm.tokenize([" ".join(" ".join(TEXT).split()) * 3])
    (whole,) = Scorer(lm).score([tokens.ids], 0)
    (cut,) = Scorer(lm).score([tokens.ids], 0, window=10, stride=7)
    assert cut == pytest.approx(whole, abs=1e-5)
    item = ContextItem("The cat sat on the mat.", [0, 23], ["The dog sat.", "A dog saw."])
    table = score_in_context(Scorer(lm), [item], start_token="bos")
    for (cut_index, target), rows in table.groupby(["cut_index", "target_index"]):
        text = item.targets[target] if cut_index == 0 else f"{item.prefix} {item.targets[target]}"
        (plain,) = Scorer(lm).score([lm.tokenize([text])[0].ids], lm.start_id("bos"))
        assert rows["logprob"].to_numpy() == pytest.approx(plain[-len(rows) :], abs=1e-5)


def test_subwords_have_word_surprisals(subwords):
    lm = load_language_model(subwords)
    assert lm.vocabulary_size == 330
    assert lm.start_id("bos") == lm.start_id("eos") == 1
    text = ["The", "cat", "sat", "on", "the", "dog."]
    frame = pd.DataFrame({"word": text, "passage_id": "p", "word_index": range(len(text))})
    frame["sentence_index"] = 0
    found = word_surprisals(lm, frame, start_token="bos")
    (tokens,) = lm.tokenize([" ".join(text)])
    (scores,) = Scorer(lm).score([tokens.ids], 1)
    bits = -scores.sum() / np.log(2)
    assert found["surprisal_uncorrected"].sum() == pytest.approx(bits, abs=1e-4)
    assert found["surprisal"].notna().all()


def test_the_rule_makes_a_model(tmp_path, monkeypatch):
    """The script, as Snakemake runs it, over a user's file."""
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("\n".join(TEXT))
    manifest = tmp_path / "mine/manifest.json"
    manifest.parent.mkdir()
    entry = {"corpus": "mine", "order": 2, "least_count": 1}
    run_script(
        "estimate_ngram_model",
        input={"tokenizer": []},
        output={"manifest": str(manifest)},
        params={"entry": entry, "corpus": {"parser": "text", "path": "text.txt"}, "code": "0"},
        wildcards={"model": "my-bigram"},
    )
    lm, provenance = load_prepared(manifest, {"dtype": {"cpu": "float32"}})
    assert provenance["origin"] == "n-grams of mine, code 0"
    tokenizer, size = (opened := open_tokenizer(manifest)).tokenizer, opened.vocabulary_size
    counts = count_tokens(TEXT, tokenizer, size)
    vocabulary = tokenizer.get_vocab()
    assert size == lm.vocabulary_size == len(vocabulary)
    assert [counts[vocabulary[word]] for word in ("The", "cat", ".", "</s>")] == [4, 4, 5, 0]


def plan_of(**entry: object) -> Run:
    mine = {"title": "M", "family": "ngram", "source": "ngram", "corpus": "mine", "order": 3}
    corpus = {"title": "C", "kind": "corpus", "parser": "text", "path": "text.txt"}
    models = {"grams": {**mine, **entry}}
    return Run(*read_settings({"scale": "demo", "models": models, "datasets": {"mine": corpus}}))


def test_a_model_is_planned_by_its_entry_alone():
    words = plan_of()
    assert sources.ngram_inputs(words, "grams") == {"corpus": ["text.txt"], "tokenizer": []}
    assert sources.tokenizer_manifest(words, "grams") == "resources/models/grams/manifest.json"
    entry = sources.pick(words.catalog.model("grams"), "unigrams", "least_count")
    assert entry == {"unigrams": ["corpus_mine"], "least_count": 2}
    assert scope.start_tokens(words, "grams") == ["bos", "none"]
    found = sources.ngram_inputs(plan_of(tokenizer="smollm2"), "grams")
    assert found["tokenizer"] == "resources/models/smollm2-135m/manifest.json"


def test_resources_follow_the_corpus(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a " * 4_000_000)
    plan = plan_of()
    costs = Costs(plan.settings, plan.catalog)
    assert costs.parameters("grams") == 3 * 2_000_000
    assert costs.gpus("grams") == 0
    assert costs.memory_mb("grams") == BASE_MEMORY_MB + 360
    assert costs.counting("grams") == pytest.approx(4 * 8 / 7)


@pytest.mark.parametrize(("entry", "message"), [
    ({"corpus": "mien"}, r"'mine'.*models\.grams\.corpus"),
    ({"tokenizer": "smolm2"}, "Did you mean 'smollm2'"),
    ({"unigrams": ["unigrahams_grams"]}, "do not generate.*corpus_mine"),
    ({"order": 6}, "order: 6"),
    ({"estimator": "counts"}, "estimator"),
    ({"source": "local", "path": "m"}, "does not go with the entry's other keys"),
])  # fmt: skip
def test_a_mistaken_entry_is_one_clear_message(entry, message):
    with pytest.raises(LingprobError, match=message):
        plan_of(**entry)


def test_caches_and_positions_are_refused(words, tmp_path):
    model = load_language_model(words).model
    for earlier in ({"past_key_values": object()}, {"position_ids": torch.tensor([[0]])}):
        with pytest.raises(TypeError, match="keeps no others"):
            model(torch.tensor([[1]]), **earlier)
    with pytest.raises(LingprobError, match="without a sentence"):
        estimate_model(lambda: ["\n"], 2, tmp_path)


def test_a_list_of_words_has_no_longer_ngrams(caplog):
    """A sentence of one word and two marks has three tokens. Too small corpora are reported."""
    count_ngrams([np.array([1, 2])], 2, 4, MARK)
    assert [record.args for record in caplog.records] == [(1,), (2,)]
    tables = [count_ngrams([np.array([1]), np.array([2])], order, 4, MARK) for order in (3, 5)]
    ids = torch.tensor([[MARK, 1, 2, 2, 1, MARK]])
    short, long = (as_language_model(one, MARK)(ids).logits for one in tables)
    torch.testing.assert_close(long, short)


# The corpus of the chance level.

SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text())


def overlap_settings(scale: str, **overlap: object) -> dict:
    return read_settings({**SHIPPED, "scale": scale, "overlap": overlap})[0]["overlap"]


def test_auto_takes_the_first_corpus_that_is_possible(tmp_path, monkeypatch):
    """The Pile's chunks are tokens. OpenWebText and Gigaword are too large without KenLM."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)
    monkeypatch.setattr(missing, "has_kenlm", lambda: False)
    assert overlap_settings("laptop")["ngrams"] == "gutenberg"
    assert overlap_settings("laptop")["no_chance_level"] == ""
    assert overlap_settings("paper")["ngrams"] is None
    assert "KenLM is not there" in overlap_settings("paper")["no_chance_level"]
    monkeypatch.setattr(missing, "has_kenlm", lambda: True)
    assert overlap_settings("paper")["ngrams"] == "openwebtext"
    placed = tmp_path / "resources/datasets/gigaword/gigaword.jsonl.gz"
    placed.parent.mkdir(parents=True)
    placed.write_text("")
    assert overlap_settings("paper")["ngrams"] == "gigaword"
    assert overlap_settings("demo")["ngrams"] is None
    placed.unlink()
    with pytest.raises(LingprobError, match=r"none of overlap\.corpora has text"):
        overlap_settings("paper", corpora=["pile_pythia"])


def test_the_users_choice_of_a_corpus_is_taken(monkeypatch):
    monkeypatch.setattr(missing, "has_kenlm", lambda: False)
    assert overlap_settings("laptop", ngrams="nltk")["ngrams"] == "nltk"
    assert overlap_settings("laptop", ngrams="nltk")["no_chance_level"] == ""
    assert overlap_settings("laptop", ngrams=None)["no_chance_level"] == "overlap.ngrams is null"
    with pytest.raises(LingprobError, match=r"Did you mean 'nltk'.*overlap\.corpora"):
        overlap_settings("laptop", corpora=["nltkk"])


@pytest.mark.parametrize(("mirror", "place", "placed"), [
    ("", "resources/datasets", True),
    ("mirror", "mirror", True),
    ("~/mirror", "home/mirror", True),
    ("mirror", "elsewhere", False),
    ("", ".", False),  # the folder of the run, which is no mirror
    ("https://example.org/mirror", ".", False),
])  # fmt: skip
def test_a_corpus_is_in_resources_or_mirror(tmp_path, monkeypatch, mirror, place, placed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINGPROB_MIRROR", mirror)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    _, catalog = read_settings(SHIPPED)
    assert not is_placed("gigaword", catalog)
    path = tmp_path / place / "gigaword/gigaword.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert is_placed("gigaword", catalog) == placed
