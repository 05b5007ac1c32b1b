"""Masked models: tokens that are masked together, pseudo-log-likelihoods, and the API."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForMaskedLM

import lingprob
from lingprob.api.cli import main
from lingprob.errors import LingprobError
from lingprob.io.shards import Shards
from lingprob.models.folders import is_masked
from lingprob.models.loading import check_language_model, load_language_model
from lingprob.models.masked import load_masked_model
from lingprob.models.prepare import prepare_model
from lingprob.scoring.stimuli import CORRECTIONS, hidden_tokens, score_masked
from lingprob.workflow import scope, sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run
from models_for_tests import (
    CONTEXT_WINDOW,
    SENTENCES,
    passes,
    save_tiny_masked_model,
    save_tiny_model,
)

FAMILIES = ("bert", "roberta")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with a tiny masked model of each family and a causal one."""
    folder = tmp_path_factory.mktemp("masked")
    for family in FAMILIES:
        save_tiny_masked_model(family, folder / family)
    save_tiny_model("gpt_neox", folder / "causal")
    return folder


@pytest.fixture(scope="module")
def bert(folder) -> lingprob.Model:
    return lingprob.load(folder / "bert", cache=folder / "cache", unigrams=pd.Series([-2.0] * 120))


def reference(folder: Path, family: str, text: str, correction: str) -> list[float]:
    """Each token's log-probability in float64, with one pass per token."""
    lm = load_masked_model(folder / family)
    model = AutoModelForMaskedLM.from_pretrained(folder / family, dtype=torch.float64).eval()
    tokenizer = lm.tokenizer
    encoded = tokenizer(text)
    ids, words = encoded["input_ids"], encoded.word_ids()
    found = []
    for place in range(1, len(ids) - 1):
        masked = list(ids)
        for other in range(1, len(ids) - 1):
            same = words[other] == words[place]
            after = correction == "within_word_l2r" and other > place
            if other == place or (same and (after or correction == "whole_word")):
                masked[other] = tokenizer.mask_token_id
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([masked])).logits[0, place]
        found.append(float(logits.log_softmax(-1)[ids[place]]))
    return found


def test_tokens_are_masked_together_by_hand():
    """Kauf & Ivanova's example: of `traveler lost the so ##uven ##ir`, tokens of one word."""
    words = np.array([0, 1, 2, 3, 3, 3])
    shown = {}
    for correction in CORRECTIONS:
        rows = hidden_tokens(words, correction).astype(int)
        shown[correction] = ["".join(".#"[cell] for cell in row) for row in rows]
    alone = ["#.....", ".#....", "..#..."]
    assert shown["none"] == [*alone, "...#..", "....#.", ".....#"]
    assert shown["within_word_l2r"] == [*alone, "...###", "....##", ".....#"]
    assert shown["whole_word"] == [*alone, "...###", "...###", "...###"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_each_token_has_its_own_pass(folder, family, correction):
    lm = load_masked_model(folder / family)
    table = score_masked(lm, ["a", "b"], SENTENCES[:2], correction, dataset="d")
    for item, text in zip("ab", SENTENCES[:2], strict=True):
        rows = table[table["item_id"] == item]
        expected = reference(folder, family, text, correction)
        np.testing.assert_allclose(rows["logprob"], expected, atol=2e-5)
        assert rows["token_index"].tolist() == list(range(len(expected)))


def test_numbers_depend_on_no_other_text_or_budget(folder, caplog):
    lm = load_masked_model(folder / "bert")
    alone = score_masked(lm, ["i"], [SENTENCES[3]], "none", dataset="d")
    with caplog.at_level(logging.INFO):
        among = score_masked(lm, list("abcd"), SENTENCES[:4], "none", dataset="d")
    assert "scoring d: 4/4 sentences" in caplog.text
    assert among[among["item_id"] == "d"]["logprob"].tolist() == alone["logprob"].tolist()
    one = score_masked(lm, ["i"], [SENTENCES[3]], "none", dataset="d", tokens_per_batch=1)
    np.testing.assert_allclose(one["logprob"], alone["logprob"], atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_texts_longer_than_the_window_are_named(folder, family):
    lm = load_masked_model(folder / family)
    assert lm.context_window == CONTEXT_WINDOW
    fits = " ".join(["."] * 200)
    while len(lm.tokenize([fits])[0].tokens.ids) > CONTEXT_WINDOW - 2:
        fits = fits[:-1]
    assert np.isfinite(score_masked(lm, ["i"], [fits], "none", dataset="d")["logprob"]).all()
    number = len(lm.tokenize([fits + " . ."])[0].tokens.ids)
    with pytest.raises(LingprobError, match=rf"'long': {number} .*room for {CONTEXT_WINDOW - 2}"):
        score_masked(lm, ["long"], [fits + " . ."], "none", dataset="d")


def test_texts_have_one_token_at_least(folder):
    lm = load_masked_model(folder / "bert")
    assert len(score_masked(lm, ["i"], ["."], "none", dataset="d")) == 1
    with pytest.raises(LingprobError, match="'d', row 1, item_id 'b': the tokenizer has no token"):
        score_masked(lm, ["a", "b"], [".", ""], "none", dataset="d")


def test_masked_values_that_are_not_finite_are_refused(folder):
    lm = load_masked_model(folder / "bert")
    lm.model.get_output_embeddings().bias[:] = torch.inf
    with pytest.raises(LingprobError, match="bert: a log-probability is not finite"):
        score_masked(lm, ["i"], SENTENCES[:1], "none", dataset="d")


def test_without_a_head_all_logits_are_made(folder, monkeypatch):
    lm = load_masked_model(folder / "bert")
    expected = score_masked(lm, ["i"], SENTENCES[:1], "whole_word", dataset="d")
    monkeypatch.setattr(lm.model, "get_output_embeddings", lambda: None)
    found = score_masked(lm, ["i"], SENTENCES[:1], "whole_word", dataset="d")
    pd.testing.assert_frame_equal(found, expected, check_exact=False, atol=1e-5)


def test_sentences_words_and_pairs_through_the_api(folder, bert):
    texts = [*SENTENCES[:3], SENTENCES[0]]
    table = bert.score(pd.Series(texts, index=list("wxyz")))
    assert table.index.tolist() == list("wxyz")
    assert (table["correction"] == "within_word_l2r").all()
    for text, logprob, mean in zip(texts, table["logprob"], table["mean_logprob"], strict=True):
        expected = reference(folder, "bert", text, "within_word_l2r")
        assert logprob == pytest.approx(sum(expected), abs=1e-4)
        assert mean == pytest.approx(np.mean(expected), abs=1e-4)
    assert table["slor"].tolist() == pytest.approx((table["mean_logprob"] + 2).tolist())
    words = bert.surprisal(["Who did\nMary  say?", "The cat sat."])
    assert words["word"].tolist() == ["Who", "did", "Mary", "say?", "The", "cat", "sat."]
    assert words["text_id"].tolist() == [1] * 4 + [2] * 3
    whole = bert.score(["Who did Mary say?", "The cat sat."])
    sums = words.groupby("text_id")["surprisal"].sum().to_numpy()
    np.testing.assert_allclose(sums * np.log(2), -whole["logprob"], atol=1e-6)
    # Of `The`, a token alone in its word.
    first = reference(folder, "bert", "The cat sat.", "within_word_l2r")[0]
    assert words["surprisal"][4] == pytest.approx(-first / np.log(2), abs=1e-4)
    assert words["n_tokens"].sum() == whole["n_tokens"].sum()
    regions = ["Who did|Mary say?", "The|.|.|.|cat sat."]
    texts = ["Who did Mary say?", "The... cat sat."]
    cut = bert.surprisal(texts, regions=regions)["surprisal"].groupby([0, 1, 2, 2, 2, 2, 3]).sum()
    in_regions = bert.surprisal(texts)["surprisal"].groupby([0, 0, 1, 1, 2, 3, 3]).sum()
    np.testing.assert_allclose(cut, in_regions, atol=1e-4)
    pairs = [(SENTENCES[0], SENTENCES[1]), (SENTENCES[1], SENTENCES[0])]
    assert bert.compare(pairs)[["n", "accuracy"]].to_numpy().tolist() == [[2, 0.5]]
    better = sorted(pairs, key=lambda pair: bert.score(pair)["logprob"].diff()[1])[:1]
    compared = bert.compare(better)
    assert compared["accuracy"].tolist() == [1.0]
    assert compared["correction"].tolist() == ["within_word_l2r"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda lm: lm.score("The cat.", context="A dog."), "reads no context"),
        (lambda lm: lm.surprisal("The cat.", context="A dog."), "reads no context"),
        (lambda lm: lm.score("The cat.", bos="none"), r"bos='none' out.*whole_word"),
        (lambda lm: lm.compare([("a", "b")], bos="bos"), r"bos='bos' out"),
        (lambda lm: lm.tokens("The cat."), "predicts no next token"),
        (lambda lm: lm.next_tokens("The cat"), "predicts no next token"),
        (lambda lm: lm.audit([("a", "b")]), "no start tokens to compare"),
        (lambda lm: lm.score(" "), "sentence 1 is ' '"),
        (lambda lm: lm.surprisal("cat \u0007 cat"), "passage '1', word 2"),
        (lambda lm: lm.surprisal("The cat", regions="T|he|cat"), "before and of 'he'"),
    ],
)
def test_calls_that_masked_models_refuse_say_why(bert, call, said):
    with pytest.raises(LingprobError, match=said):
        call(bert)


def test_corrections_are_of_masked_models_and_known(folder):
    with pytest.raises(LingprobError, match=r"'whole-word'.*whole_word"):
        lingprob.load(folder / "bert", cache=folder / "cache", correction="whole-word")
    with pytest.raises(LingprobError, match=r"no masked one.*Leave it out"):
        lingprob.load(folder / "causal", cache=folder / "cache", correction="none")


def test_a_causal_model_is_no_masked_one(folder, tmp_path):
    assert [is_masked(folder / name) for name in (*FAMILIES, "causal")] == [True, True, False]
    assert not is_masked(tmp_path)
    (tmp_path / "config.json").write_text("[1]")
    assert not is_masked(tmp_path)
    assert "bos" in lingprob.load(folder / "causal", cache=folder / "cache").score("A cat.")


def plan_of(folder: Path, **settings) -> Run:
    """The plan of a demo with BERT in a folder, and one that the hub has."""
    own = {"title": "B", "family": "b"}
    models = {
        "bert": {**own, "source": "local", "path": str(folder / "bert")},
        "hub": {**own, "source": "hub", "kind": "masked", "repository": "o/b", "revision": "main"},
    }
    models["hub"] |= settings.pop("hub", {})
    return Run(*read_settings({"models": models, **settings}))


def test_masked_models_have_corrections_for_start_tokens(folder):
    plan = plan_of(folder, morcela={"models": ["smollm2-135m", "bert"], "frequency_models": ["*"]})
    assert sources.masked_models(plan) == ["bert", "hub"]
    assert not {"bert", "hub"} & {*sources.causal_models(plan)}
    for name in ("bert", "hub"):
        assert scope.start_tokens(plan, name) == ["within_word_l2r", "whole_word", "uncorrected"]
        assert scope.unigram_sources(plan, name) == ["corpus_gutenberg"]
        assert "both sides" in plan.catalog.model(name)["note"]
        for convention in ("scored", "excluded"):
            assert plan.catalog.bos_policy(name, convention) == "within_word_l2r"
        assert plan.catalog.bos_policy(name, "whole_word") == "whole_word"
    assert scope.frequency_models(plan) == ["smollm2-135m"]


def test_a_masked_model_has_no_words_or_contexts(folder):
    names = ["smollm2-135m", "bert"]
    plan = plan_of(folder, string_probability={"models": names}, reading={"models": ["*"]})
    read = scope.dataset_models(plan, "demo_reading_times")
    assert "smollm2-135m" in read
    assert not {"bert", "hub"} & {*read}
    assert set(scope.model_tables(plan, "bert")) == {
        "linking_functions", "string_separation", "string_correlations",
    }  # fmt: skip


@pytest.mark.parametrize(("settings", "said"), [
    ({"hub": {"bos_policies": ["bos"]}}, "'bos' is not for masked models (`kind`). Choose"),
    ({"hub": {"kind": "causal", "bos_policies": ["whole_word"]}}, "is only for masked models"),
    ({"hub": {"unigrams": ["unigrahams_bert"]}}, "masked models do not generate"),
    ({"hub": {"context_window": 64}}, "models.hub.context_window: 'hub' is a masked model"),
    ({"reading": {"models": ["bert"]}}, "reading.models: 'bert' is a masked model"),
    ({"audit": {"model": "bert"}}, "audit.model: 'bert' is a masked model"),
    ({"context": {"models": ["bert"]}}, "context.models: 'bert' is a masked model"),
    ({"hub": {"kind": "both"}}, "is not one of ['causal', 'masked']"),
])  # fmt: skip
def test_settings_refuse_masked_models(folder, settings, said):
    with pytest.raises(LingprobError) as refused:
        plan_of(folder, **settings)
    assert said in str(refused.value)


def test_a_model_is_prepared_by_its_entry(folder, tmp_path):
    entry = {"source": "local", "path": str(folder / "bert")}
    with pytest.raises(LingprobError, match="kind: masked"):
        prepare_model("b", entry, tmp_path / "manifest.json")
    assert not (tmp_path / "manifest.json").exists()
    prepare_model("b", {**entry, "kind": "masked"}, tmp_path / "manifest.json")
    assert (tmp_path / "manifest.json").exists()


def test_shards_are_of_one_correction_and_weights(folder, tmp_path):
    lm = load_masked_model(folder / "bert")
    given = ([*"abc"], SENTENCES[:3])
    options = {"dataset": "d", "sentences_per_shard": 2}

    def score(correction: str, identity: str, **of_model) -> tuple[pd.DataFrame, int]:
        options["shards"] = Shards(tmp_path, identity)
        with passes(lm.model) as fed:
            table = score_masked(replace(lm, **of_model), *given, correction, **options)
        return table, len(fed)

    first, n_first = score("whole_word", "one")
    again, n_again = score("whole_word", "one")
    pd.testing.assert_frame_equal(first, again)
    assert n_first > 0
    assert n_again == 0
    next(iter(tmp_path.glob("*.parquet"))).unlink()
    part, n_part = score("whole_word", "one")
    pd.testing.assert_frame_equal(first, part)
    assert 0 < n_part < n_first
    assert score("whole_word", "other")[1] == score("none", "one")[1] == n_first
    assert score("whole_word", "one", dtype=torch.float64)[1] == n_first


def test_logits_are_made_of_the_masked_places_alone(folder):
    lm = load_masked_model(folder / "roberta")
    seen = []
    lm.model.get_output_embeddings().register_forward_hook(lambda _, given, __: seen.append(given))
    score_masked(lm, ["i"], SENTENCES[:1], "none", dataset="d")
    (text,) = lm.tokenize(SENTENCES[:1])
    assert sum(given[0].shape[0] for given in seen) == len(text.tokens.ids)
    assert {given[0].shape[1] for given in seen} == {1}


@pytest.mark.parametrize("take", [load_language_model, check_language_model])
def test_no_rule_reads_masked_models_left_to_right(folder, take):
    """Wherever it is from: a repository's folder is known when it is there."""
    with pytest.raises(LingprobError, match=r"a masked model.*kind: masked"):
        take(folder / "bert")
    take(folder / "causal")


def test_missing_parts_of_masked_models_are_named(folder, tmp_path):
    save_tiny_masked_model("bert", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text()) | {"num_hidden_layers": 3}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(LingprobError, match="weights are missing"):
        lingprob.load(tmp_path, cache=folder / "cache")
    save_tiny_masked_model("bert", tmp_path)
    tokenizer = json.loads((tmp_path / "tokenizer_config.json").read_text())
    del tokenizer["mask_token"]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    with pytest.raises(LingprobError, match="no mask token"):
        lingprob.load(tmp_path, cache=folder / "cache")
    with pytest.raises(LingprobError, match=r"scoring.device: 'gpu' is not"):
        lingprob.load(folder / "bert", cache=folder / "cache", device="gpu")


def test_the_command_takes_masked_models(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"sentence": SENTENCES}).to_csv("s.csv", index=False)
    pd.DataFrame({"good": SENTENCES[:1], "bad": SENTENCES[1:2]}).to_csv("p.csv", index=False)
    model = ["--model", str(folder / "bert"), "--cache", str(folder / "cache")]
    with pytest.raises(SystemExit) as ended:
        main(["score", "s.csv", *model, "--correction", "whole_word", "--output", "score.csv"])
    assert ended.value.code == 0
    written = pd.read_csv("score.csv")
    sums = [sum(reference(folder, "bert", text, "whole_word")) for text in SENTENCES]
    assert written["logprob"].tolist() == pytest.approx(sums, abs=1e-4)
    assert (written["correction"] == "whole_word").all()
    with pytest.raises(SystemExit, match="masked one"):
        main(["audit", "p.csv", *model])
