"""The API and the command `lingprob`: their numbers are those that the rules' scripts write."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lingprob
from lingprob.api import prepared_models as cache
from lingprob.api.corpora import corpus_entry
from lingprob.api.prepared_models import find_model, find_unigrams
from lingprob.catalog import Catalog
from lingprob.context.scores import score_prefixes
from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.io.tables import read_table, write_table
from lingprob.models.folders import write_manifest
from lingprob.models.prepare import prepare_model
from lingprob.ngrams.estimate import estimate_model
from lingprob.scoring.engine import Scorer
from lingprob.workflow import sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.digests import SCRIPTS
from lingprob.workflow.sources import Run
from loopback import HubServer, Repository
from models_for_tests import SENTENCES, save_tiny_model

PAIRS = pd.DataFrame(
    {
        "good": ["The cat sat on the mat.", "The cats sit.", "No student has ever seen it.",
                 "Who did Mary say that John saw?"],
        "bad": ["The cat sat on mat the.", "The cats sits.", "A student has ever seen it.",
                "Who did Mary say John saw that?"],
        "phenomenon": ["order", "agreement", "licensing", "order"],
    }
)  # fmt: skip
PASSAGES = ["The cat sat on the mat. It slept all day.", "Naïve façades: a test of accents!"]
POLICIES = ["bos_first_excluded", "bos", "none", "eos"]
CORPUS = ["Once the cat sat on the mat again.", "Nobody sees a test of accents there."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tiny model's folder, and where a workflow would have made its tables."""
    folder = tmp_path_factory.mktemp("api")
    save_tiny_model("gpt_neox", folder / "tiny")
    return folder


@pytest.fixture(scope="module")
def config(folder) -> dict[str, Any]:
    entry = {"title": "Tiny", "family": "own", "source": "local", "path": str(folder / "tiny")}
    return {"models": {"tiny": {**entry, "bos_policies": POLICIES}}}


@pytest.fixture(scope="module")
def unigrams(folder) -> Path:
    """Unigrams of the model's own source, where a workflow puts them: shuffled, with gaps."""
    path = folder / "results/unigrams/tiny/unigrahams_tiny.parquet"
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"token_id": np.arange(320, dtype=np.int32), "logprob": random.uniform(-9, -2, 320)}
    )
    table = table.drop(index=[0, 1, 2]).sample(frac=1, random_state=1)  # special tokens
    write_table(table.assign(count=None, std_error=None), "unigrams", path)
    return path


@pytest.fixture(scope="module")
def lm(config, folder, unigrams) -> lingprob.Model:
    return lingprob.load("tiny", config=config, cache=folder)


@pytest.fixture(scope="module")
def plan(config) -> Run:
    return Run(*read_settings(config))


# How work is done, as rules/common.smk has it in Snakemake's own configuration.
CONFIG = {"scoring": {"device_map": "single", "tokens_per_batch": 4096, "sentences_per_shard": 500}}


class Named(dict):
    """Named values, as Snakemake gives them to a script."""

    __getattr__ = dict.__getitem__

    def __getitem__(self, key):
        return list(self.values())[key] if isinstance(key, int) else super().__getitem__(key)


@pytest.fixture
def run_rule(tmp_path, monkeypatch):
    """Run a rule's script with such inputs, outputs and params."""
    monkeypatch.chdir(tmp_path)

    def run(rule: str, **given: Any) -> None:
        named = {key: Named(given.get(key, {})) for key in
                 ("input", "output", "params", "wildcards", "resources")}  # fmt: skip
        named["resources"]["mem_mb"] = 1000
        snakemake = SimpleNamespace(
            rule=rule, log=[str(tmp_path / "log")], threads=1, config=CONFIG, **named
        )
        runpy.run_path(str(SCRIPTS / f"{rule}.py"), {"snakemake": snakemake})

    return run


def scored_by_rules(run_rule, lm, plan, folder, stimuli: pd.DataFrame, out: Path) -> pd.DataFrame:
    """The `sentence_scores` that the rules make of stimuli under all BOS policies."""
    write_table(stimuli, "stimuli", out / "stimuli.parquet")
    settings, entry = plan.settings["scoring"], plan.catalog.model("tiny")
    policies = {bos: plan.catalog.bos_policies[bos] for bos in entry["bos_policies"]}
    start_tokens = {policy["start_token"] for policy in policies.values()}
    run_rule(
        "score_stimuli",
        input={"model": folder / sources.model_manifest("tiny"),
               "stimuli": [out / "stimuli.parquet"],
               "unigrams": [folder / "results/unigrams/tiny/unigrahams_tiny.parquet"]},
        output={"tokens": [out / f"{name}.parquet" for name in start_tokens],
                "sentences": [out / "sentences.parquet"], "csv": [out / "sentences.csv"]},
        params={**{key: settings[key] for key in ("device", "dtype")},
                "engine": "c", "model": "tiny", "entry": entry, "bos_policies": policies,
                "start_tokens": {name: plan.catalog.start_tokens[name] for name in start_tokens},
                "unigrams": ["unigrahams_tiny"]},
        resources={"gpu": 0},
    )  # fmt: skip
    return read_table(out / "sentences.parquet", "sentence_scores")


def stimuli_of(texts: list[str], **columns: Any) -> pd.DataFrame:
    table = pd.DataFrame({"item_id": [f"i{n}" for n in range(len(texts))], "text": texts})
    empty = dict.fromkeys(["pair_id", "condition", "grammatical", "rating", "rating_source",
                           "phenomenon", "paradigm"])  # fmt: skip
    return table.assign(**{**empty, "dataset": "d", "language": "en", **columns})


def test_calls_and_rules_agree_under_every_policy(run_rule, lm, plan, folder, tmp_path):
    texts = [*SENTENCES, *PAIRS["good"].unique()[1:], SENTENCES[0]]
    stimuli = stimuli_of(texts)
    table = scored_by_rules(run_rule, lm, plan, folder, stimuli, tmp_path)
    for bos in POLICIES:
        theirs = table[table["bos"] == bos].set_index("item_id").loc[stimuli["item_id"]]
        ours = lm.score(pd.Series(texts, index=range(10, 10 + len(texts))), bos=bos)
        assert ours.index[0] == 10
        for name in ("logprob", "n_tokens", "unigram_logprob"):
            assert ours[name].tolist() == theirs[name].tolist(), (bos, name)
        slor = (theirs["logprob"] - theirs["unigram_logprob"]) / theirs["n_tokens"]
        assert ours["slor"].tolist() == slor.tolist()
        assert ours["mean_logprob"].tolist() == (theirs["logprob"] / theirs["n_tokens"]).tolist()
        # One sentence is scored by another path.
        alone = pd.concat([lm.score(text, bos=bos) for text in texts], ignore_index=True)
        pd.testing.assert_frame_equal(alone, ours.reset_index(drop=True), rtol=1e-5)
        skipped = int(bos.endswith("excluded") or bos == "none")
        tokens = lm.tokens(texts, bos=bos).query("token_index >= @skipped").groupby("sentence_id")
        np.testing.assert_allclose(tokens["logprob"].sum(), theirs["logprob"], rtol=1e-5)
        if not skipped:
            words = lm.surprisal(texts, bos=bos).groupby("text_id")["surprisal_uncorrected"].sum()
            np.testing.assert_allclose(-words * np.log(2), theirs["logprob"], rtol=1e-5)
            after_nothing = lm.score(texts, context="", bos=bos)
            np.testing.assert_allclose(after_nothing["logprob"], theirs["logprob"], rtol=1e-5)
        pairs = lm.compare(PAIRS, by="pair", bos=bos)
        for side in ("good", "bad"):
            scores = lm.score(PAIRS[side], bos=bos)["logprob"]
            np.testing.assert_allclose(pairs[f"logprob_{side}"], scores, rtol=1e-5)
    assert lm.score(texts).equals(lm.score(texts, bos="bos"))
    assert lm.score(texts, bos="paper").equals(lm.score(texts, bos="bos_first_excluded"))
    assert lm.surprisal(texts).equals(lm.surprisal(texts, bos="paper"))


def test_pairs_are_matched_by_their_ids(lm):
    """Sentences in any order, with ids that do not follow it, and a sentence without a pair."""
    rows = pd.DataFrame(
        {
            "sentence": [PAIRS["bad"][2], PAIRS["good"][0], "Yes.", *PAIRS.loc[[2], "good"],
                         PAIRS["bad"][0]],
            "pair": ["9", "2", None, "9", "2"],
            "grammatical": ["no", "yes", None, "yes", "no"],
        }
    )  # fmt: skip
    table = lm.compare(rows, by="pair").set_index("pair")
    assert set(table.index) == {"2", "9"}
    for pair, row in (("2", 0), ("9", 2)):
        good, bad = (lm.score(PAIRS[side][row])["logprob"][0] for side in ("good", "bad"))
        found = table.loc[pair]
        assert found[["good", "bad"]].tolist() == PAIRS.loc[row, ["good", "bad"]].tolist()
        assert found["difference"] == pytest.approx(good - bad, abs=1e-4)
        assert found["preferred"] == ("good" if good > bad else "bad")
    assert lm.compare([("A cat.", "A cat.")], by="pair")["preferred"].tolist() == ["neither"]


def test_tables_keep_their_columns_and_contexts(lm, caplog):
    frame = pd.DataFrame(
        {"id": [7, 3], "sentence": SENTENCES[:2], "context": ["It seems.", None]}, index=[5, 4]
    )
    table = lm.score(frame)
    assert table.columns.tolist()[:4] == ["id", "sentence", "context", "logprob"]
    assert table.index.tolist() == [5, 4]
    expected = lm.score(SENTENCES[:2], context=["It seems.", ""])
    assert table["logprob"].tolist() == expected["logprob"].tolist()
    tokens = lm.tokens(frame)
    assert tokens.groupby("id", sort=False)["logprob"].sum().tolist() == pytest.approx(
        expected["logprob"].tolist(), abs=1e-4
    )
    words = lm.surprisal(frame.rename(columns={"sentence": "text"}))
    assert words["id"].tolist() == [7] * 6 + [3] * 6
    assert words["word_index"].tolist() == [*range(6)] * 2
    whole = lm.surprisal(f"It seems. {SENTENCES[0]}")["surprisal"]
    second = lm.surprisal(SENTENCES[1])["surprisal"]
    np.testing.assert_allclose(words["surprisal"], [*whole[2:], *second], rtol=1e-5)
    assert (
        lm.surprisal(SENTENCES[0], context="It  seems. ")["surprisal"].tolist()
        == (whole.tolist()[2:])
    )
    assert "white space" not in caplog.text
    spaced = lm.score("It sat.", context="The cat saw me. ")
    assert "context 1, 'The cat saw me. ', ends in white space" in caplog.text
    assert (
        abs(spaced["logprob"] - lm.score("It sat.", context="The cat saw me.")["logprob"])[0] > 0.01
    )
    caplog.clear()
    lm.score("It sat.", context="The cat saw me. ", context_separator="")
    assert "white space" not in caplog.text
    lm.next_tokens("The cat ")
    assert "context 1, 'The cat ', ends in white space" in caplog.text
    for wrong in (table, words.assign(text="A.")):
        with pytest.raises(
            LingprobError, match=r"the table: a column '(logprob|text_id)' is there"
        ):
            lm.score(wrong) if wrong is table else lm.surprisal(wrong)
    with pytest.raises(LingprobError, match="an argument and a column"):
        lm.score(frame, context="It seems.")
    with pytest.raises(LingprobError, match="pairs take no contexts"):
        lm.compare(PAIRS.assign(context="It seems."))


def test_a_second_call_runs_the_model_once(lm):
    runs: list[int] = []
    first = lm.score(SENTENCES[:2])
    handle = lm.lm.model.base_model.register_forward_pre_hook(lambda *_: runs.append(1) and None)
    try:
        assert lm.score(SENTENCES[:2]).equals(first)
    finally:
        handle.remove()
    assert len(runs) == 1


def test_targets_after_contexts_are_scored_as_the_rules_do_to_the_bit(lm):
    prefix, good, bad = "The teacher think the children read.", *SENTENCES[:2]
    stimuli = stimuli_of([good, bad], pair_id="p", grammatical=[True, False])
    prefixes = pd.DataFrame(
        {"prefix_id": ["x"], "kind": ["matched"], "pair_ids": [["p"]], "text": [prefix],
         "char_ends": [[len(prefix)]]}
    )  # fmt: skip
    n_tokens = len(lm.lm.tokenize([prefix])[0].ids)
    (scores,) = score_prefixes(
        lm.lm, stimuli, [prefixes.assign(n_tokens=[[n_tokens]])], [n_tokens], start_token="bos",
        regions={}, baselines=False, dataset="d",
    )  # fmt: skip
    ours = lm.score([good, bad], context=prefix)
    assert ours["logprob"].tolist() == scores["logprob"].tolist()
    assert ours["n_tokens"].tolist() == scores["n_tokens"].tolist()
    # After contexts of their own, in another order, and after none: every token counts.
    mixed = lm.score([bad, good, bad, good], context=[prefix, None, "It seems.", prefix])
    np.testing.assert_allclose(mixed["logprob"][[3, 0]], ours["logprob"], atol=1e-4)
    alone = lm.score(good, bos="bos")
    np.testing.assert_allclose(mixed["logprob"][1], alone["logprob"][0], atol=1e-4)
    assert mixed["n_tokens"][1] == alone["n_tokens"][0] == lm.score(good)["n_tokens"][0]
    assert mixed["unigram_logprob"][1] == pytest.approx(alone["unigram_logprob"][0])
    assert abs(mixed["logprob"][2] - ours["logprob"][1]) > 0.01


def test_words_have_the_surprisals_that_the_rule_writes_to_the_bit(
    run_rule, lm, plan, folder, tmp_path
):
    (tmp_path / "texts.txt").write_text("\n".join(PASSAGES), encoding="utf-8")
    run_rule(
        "build_words",
        output={"table": tmp_path / "words.parquet"},
        wildcards={"dataset": "mine"},
        params={"entry": {"parser": "passages", "path": str(tmp_path / "texts.txt")}},
    )
    reading = plan.settings["reading"]
    named = ("context", "window_counts")
    run_rule(
        "compute_word_surprisal",
        input={"model": folder / sources.model_manifest("tiny"),
               "words": [tmp_path / "words.parquet"]},
        output={"tables": [tmp_path / "surprisal.parquet"], "csv": [tmp_path / "words.csv"]},
        wildcards={"model": "tiny"},
        params={**{key: reading[key] for key in named}, "device": "auto", "dtype": "auto",
                "start_token": "bos", "entry": plan.catalog.model("tiny"), "engine": "c"},
        resources={"gpu": 0},
    )  # fmt: skip
    theirs = read_table(tmp_path / "surprisal.parquet", "surprisal")
    ours = lm.surprisal(PASSAGES)
    assert ours["text_id"].tolist() == theirs["passage_id"].astype(int).tolist()
    for name in ("word_index", "surprisal", "surprisal_uncorrected", "n_tokens"):
        assert ours[name].tolist() == theirs[name].tolist(), name
    assert ours["word"].tolist() == " ".join(PASSAGES).split()
    broken = lm.surprisal(PASSAGES[0].replace(" ", "\n  "))  # white space of any kind
    assert broken["surprisal"].tolist() == lm.surprisal(PASSAGES[0])["surprisal"].tolist()


def test_pairs_are_judged_and_audited_as_the_rules_do_to_the_bit(
    run_rule, lm, plan, folder, tmp_path, monkeypatch
):
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    entry = {"parser": "table", "path": str(tmp_path / "pairs.csv")}
    run_rule(
        "build_stimuli",
        output={"ratings": tmp_path / "ratings.parquet", "stimuli": tmp_path / "made.parquet"},
        wildcards={"dataset": "mine"},
        params={"entry": entry, "seed": 0},
        resources={"sentences_needed": 1},
    )
    made = read_table(tmp_path / "made.parquet", "stimuli")
    scores = scored_by_rules(run_rule, lm, plan, folder, made, tmp_path)
    (tmp_path / "corpus.txt").write_text(CORPUS[0])
    run_rule(
        "audit_pairs",
        input={"stimuli": tmp_path / "stimuli.parquet", "scores": tmp_path / "sentences.parquet",
               "distances": [], "tokenizer": folder / sources.model_manifest("tiny")},
        output={**{name: tmp_path / f"audit.{name}" for name in ("parquet", "csv", "html")},
                "leakage": [tmp_path / "leakage.parquet"]},
        params={"dataset": "pairs", "convention": ["bos", "unigrahams_tiny"], "model": "tiny",
                "words_edited": 2, "scale": "demo", "title": "Pairs", "model_title": "Tiny",
                "corpora": {"corpus.txt": {"parser": "text",
                                           "files": [str(tmp_path / "corpus.txt")]}}},
    )  # fmt: skip
    theirs = read_table(tmp_path / "audit.parquet", "audit")
    monkeypatch.setattr("lingprob.api.pairs.measure_distances", lambda *_: None)
    ours = lm.audit(PAIRS, corpora=[tmp_path / "corpus.txt"])
    pd.testing.assert_frame_equal(ours, theirs, check_exact=True, check_dtype=False)

    sides = scores[scores["bos"] == "bos"].set_index("item_id")["logprob"]
    right = [sides[f"{n}.good"] > sides[f"{n}.bad"] for n in range(1, 5)]
    table = lm.compare(PAIRS).set_index("phenomenon")
    assert table.index.tolist() == ["order", "agreement", "licensing", "all"]
    assert table["n"].tolist() == [2, 1, 1, 4]
    assert set(table["bos"]) == {"bos"}  # the first of its policies that counts first tokens
    assert set(lm.compare(PAIRS, bos="none")["bos"]) == {"none"}
    shares = [np.mean([right[0], right[3]]), right[1], right[2], np.mean(right)]
    assert table["accuracy"].tolist() == [float(share) for share in shares]
    assert (table["accuracy_low"] <= table["accuracy"]).all()
    # Wilson's interval of 2 of 4, by hand: z = 1.96, .5 -+ z / 2 / sqrt(4 + z^2) = .5 -+ .350.
    swapped = PAIRS.rename(columns={"good": "bad", "bad": "good"})
    assert lm.compare(swapped)["accuracy"].iloc[-1] == 1 - np.mean(right)
    same = pd.DataFrame({"good": PAIRS["good"], "bad": PAIRS["good"]})
    tied = lm.compare(same).iloc[-1]
    assert tied["accuracy"] == 0.5
    assert (tied["accuracy_low"], tied["accuracy_high"]) == pytest.approx((0.15, 0.85), abs=1e-3)
    assert lm.compare(zip(PAIRS["good"], PAIRS["bad"], strict=True))["n"].tolist() == [4]


@pytest.mark.parametrize(
    ("tokens", "policy"),
    [
        ({"bos_token": "<s>", "eos_token": "</s>"}, "bos"),
        ({"eos_token": "</s>"}, "eos"),
        ({"pad_token": "<|endoftext|>", "eos_token": "</s>"}, "endoftext"),
        ({}, "none"),
    ],
)
def test_a_sentence_follows_the_start_token_that_the_tokenizer_has(
    tmp_path, caplog, tokens, policy
):
    save_tiny_model("gpt_neox", tmp_path / "m")
    path = tmp_path / "m/tokenizer_config.json"
    content = json.loads(path.read_text())
    for name in ("bos_token", "eos_token", "pad_token"):
        del content[name]
    path.write_text(json.dumps(content | tokens))
    if "pad_token" in tokens:
        whole = (tmp_path / "m/tokenizer.json").read_text().replace("<pad>", "<|endoftext|>")
        (tmp_path / "m/tokenizer.json").write_text(whole)
    model = lingprob.load(tmp_path / "m", cache=tmp_path)
    assert caplog.text.count("has no start token") == (policy == "none")
    assert set(model.score(SENTENCES)["bos"]) == {policy}
    assert set(model.compare(PAIRS)["bos"]) == {policy}
    said = "1 of 4 pairs differ in their first token"
    assert (said in caplog.text) == (policy == "none")
    assert caplog.text.count("has no start token") == (policy == "none")


def test_tokens_are_those_of_a_plain_forward_pass(lm):
    text, context = SENTENCES[0], "The teacher read."
    for bos, before in (("bos", [0]), ("none", []), (None, [0])):
        ids = lm.tokenizer(text)["input_ids"]
        with torch.no_grad():
            logits = lm.model(torch.tensor([[*before, *ids]])).logits[0].double()
        logp = logits.log_softmax(-1)[: len(ids) - 1 + len(before)]
        table = lm.tokens([SENTENCES[1], text], bos=bos).query("sentence_id == 2")
        assert table["token_id"].tolist() == ids
        assert table["token"].str.cat() == text
        assert [text[a:b] for a, b in zip(table["char_start"], table["char_end"], strict=True)] == (
            table["token"].tolist()
        )
        seen = table.iloc[len(ids) - len(logp) :]
        assert table["logprob"].isna().sum() == 1 - len(before)
        rows = range(len(logp))
        own = logp[rows, seen["token_id"].tolist()]
        np.testing.assert_allclose(seen["logprob"], own, atol=1e-4)
        np.testing.assert_allclose(seen["surprisal"], -own / np.log(2), atol=1e-4)
        entropy = -(logp.exp() * logp).sum(1) / np.log(2)
        np.testing.assert_allclose(seen["entropy"], entropy, atol=1e-4)
        order = logp.argsort(1, descending=True).tolist()
        assert seen["rank"].tolist() == [
            order[row].index(token) + 1 for row, token in zip(rows, seen["token_id"], strict=True)
        ]
    after = lm.tokens([text, SENTENCES[1]], context=context).groupby("sentence_id")
    expected = lm.score([text, SENTENCES[1]], context=context)
    np.testing.assert_allclose(after["logprob"].sum(), expected["logprob"], atol=1e-4)
    assert after.size().tolist() == expected["n_tokens"].tolist()
    assert after["char_end"].max().tolist() == [len(text), len(SENTENCES[1])]


def test_regions_sum_the_surprisal_of_their_words_and_parts(lm):
    """By hand: words' sums, and within a word tokens, with its spaces at its two ends."""
    text = "The cat sat on the mat. It's a test."
    words = lm.surprisal(text)
    cut = ["The cat", " sat ", "on the", "mat", ".", "It", "'s a", "test."]
    found = lm.surprisal(text, regions=cut)
    assert found["word"].tolist() == [region.strip() for region in cut]
    assert found["word_index"].tolist() == list(range(8))
    of_word = [[0, 1], [2], [3, 4], [5], [5], [6], [6, 7], [8]]
    for name in ("surprisal", "surprisal_uncorrected", "n_tokens"):
        for row in (0, 1, 2, 7):
            assert found[name][row] == pytest.approx(words[name][of_word[row]].sum())
        assert found[name][[3, 4]].sum() == pytest.approx(words[name][5])
        assert found[name][[5, 6]].sum() == pytest.approx(words[name][[6, 7]].sum())
    tokens = lm.tokens(text)
    stop = tokens.loc[tokens["char_end"] == len("The cat sat on the mat."), "surprisal"].item()
    assert found["surprisal_uncorrected"][4] == pytest.approx(stop, abs=1e-4)
    # The space before `mat` counts there, and the space after it at the full stop.
    before = (words["surprisal_uncorrected"] - words["surprisal"])[:5].sum()
    assert found["surprisal"][3] - found["surprisal_uncorrected"][3] == pytest.approx(before)
    frame = pd.DataFrame({"text": [text, "A cat."], "regions": ["|".join(cut), "A|cat."]})
    table = lm.surprisal(frame, context=["", "It seems."])
    np.testing.assert_allclose(table["surprisal"][:8], found["surprisal"], rtol=1e-5)
    assert table["word"].tolist()[8:] == ["A", "cat."]
    two = lm.surprisal(["A cat.", "It sat."], regions=[["A cat."], "It|sat."])
    assert two["word"].tolist() == ["A cat.", "It", "sat."]
    for regions, said in (
        (["The cat", "sat on a"], "text 1: .*'sat on a' is not at"),
        (["The cat", "", "sat"], "text 1: its regions do not spell it"),
        (cut[:-1], r"text 1: its regions end before 'test\.'"),
        (["T", "he cat sat on the mat. It's a test."], "a token spans the regions 'T' and"),
    ):
        with pytest.raises(LingprobError, match=said):
            lm.surprisal(text, regions=regions)
    with pytest.raises(LingprobError, match="regions of 1 texts, and 2 texts"):
        lm.surprisal(["A.", "B."], regions=[["A."]])


def test_next_tokens_and_words_are_those_of_plain_passes(lm):
    """Words by hand: every sequence of up to two tokens that continues a word."""
    context = "The cat"
    ids = lm.tokenizer(context)["input_ids"]

    def after(*more: int) -> torch.Tensor:
        with torch.no_grad():
            return lm.model(torch.tensor([[0, *ids, *more]])).logits[0, -1].double().softmax(0)

    p = after()
    table = lm.next_tokens(context, top=5)
    assert table["token_id"].tolist() == p.argsort(descending=True)[:5].tolist()
    np.testing.assert_allclose(table["probability"], p[table["token_id"].tolist()], atol=1e-6)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]
    assert len(lm.next_tokens("", top=1)) == 1

    names = [lm.tokenizer.decode([number]) for number in range(320)]
    spaces = [n for n, name in enumerate(names) if name.startswith(" ")]
    inner = [n for n in range(3, 320) if n not in spaces and not names[n].isspace()]
    by_hand: dict[str, float] = {}
    for one in spaces:
        following = after(one)
        candidates = [([one], p[one], following)]
        likely = [n for n in inner if p[one] * following[n] > 1e-4]
        candidates += [([one, n], p[one] * following[n], after(one, n)) for n in likely]
        for tokens, probability, ends in candidates:
            word = lm.tokenizer.decode(tokens).strip()
            if word and lm.tokenizer(f"{context} {word}")["input_ids"] == [*ids, *tokens]:
                by_hand[word] = float(probability * ends[spaces].sum() / p[spaces].sum())
    expected = sorted(by_hand, key=by_hand.get, reverse=True)[:4]
    words = lm.next_words(context, top=4)
    assert words["word"].tolist() == expected
    np.testing.assert_allclose(
        words["probability"], [by_hand[word] for word in expected], rtol=1e-4
    )
    for word, surprisal in zip(words["word"], words["surprisal"], strict=True):
        last = lm.surprisal(f"{context} {word}").iloc[-1]
        assert last["word"] == word
        assert last["surprisal"] == pytest.approx(surprisal, abs=1e-4)
    (first,) = lm.next_words("", top=1).itertuples()
    assert lm.surprisal(first.word)["surprisal"][0] == pytest.approx(first.surprisal, abs=1e-4)
    for call in (lm.next_tokens, lm.next_words):
        for options in ({"bos": "none"}, {"top": 0}):
            with pytest.raises(LingprobError, match="give a context or a start token"):
                call("", **options)
    with pytest.raises(LingprobError, match="does not fit the context window"):
        lm.tokens("The cat sat. " * 60)


TEMPLATE = (
    "{% for one in messages %}<s>{{ one.role }}: {{ one.content }}</s>{% endfor %}"
    "{% if messages[0].content == 'Hush!' %}{{ raise_exception('no') }}{% endif %}"
)


def test_a_turn_is_scored_in_the_model_s_template(lm, folder, tmp_path):
    """By hand: the tokens of the text in the conversation that the template lays out."""
    shutil.copytree(folder / "tiny", tmp_path / "chat")
    (tmp_path / "chat/chat_template.jinja").write_text(TEMPLATE)
    chat = lingprob.load(tmp_path / "chat", cache=tmp_path)
    prompt, texts = "Who sat?", ["The cat sat.", "er: The cats."]
    table = chat.score(texts, context=prompt, chat=True)
    for text, logprob, n_tokens in zip(texts, table["logprob"], table["n_tokens"], strict=True):
        before, after = f"<s>user: {prompt}</s><s>assistant: ", "</s>"
        encoded = chat.tokenizer(before + text + after, return_offsets_mapping=True)
        ids = torch.tensor(encoded["input_ids"])
        with torch.no_grad():
            logp = chat.model(ids[None]).logits[0].double().log_softmax(-1)
        own = [k for k, (_, end) in enumerate(encoded["offset_mapping"])
               if len(before) < end <= len(before) + len(text)]  # fmt: skip
        assert n_tokens == len(own)
        assert logprob == pytest.approx(sum(float(logp[k - 1, ids[k]]) for k in own), abs=1e-4)
    assert set(table["bos"]) == {"chat"}
    alone = chat.score(texts[0], chat=True)["logprob"][0]
    assert alone != pytest.approx(table["logprob"][0])
    for call, said in (
        (lambda: lm.score("A cat.", chat=True), "no chat template"),
        (lambda: chat.score("A cat.", chat=True, bos="none"), "Leave them out"),
        (lambda: chat.score("A </s> cat.", chat=True), "contains '</s>'"),
        (lambda: chat.score("A cat.", context="Hush!", chat=True), "cannot lay out"),
    ):
        with pytest.raises(LingprobError, match=said):
            call()


def test_rows_of_the_hub_are_a_table(monkeypatch, tmp_path, lm):
    import datasets

    commit = "0123456789abcdef0123456789abcdef01234567"
    PAIRS.to_json(tmp_path / "pairs.jsonl", orient="records", lines=True)
    asked = []

    def open_stream(name: str, entry: dict[str, Any]) -> Any:
        asked.append((name, *entry.values()))
        files = str(tmp_path / "pairs.jsonl")
        return datasets.load_dataset("json", data_files=files, split="train", streaming=True)

    monkeypatch.setattr("lingprob.io.hub_rows.open_stream", open_stream)
    monkeypatch.setattr(download, "RETRY_SECONDS", ())
    with HubServer({"lab/pairs": Repository(commit, {}, tags={"main", "v1"})}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        table = lingprob.read_table("hub:lab/pairs")
        named = lingprob.read_table("hub:lab/pairs@v1", split="test", configuration="en")
        with pytest.raises(LingprobError, match="no revision 'v2'"):
            lingprob.read_table("hub:lab/pairs@v2")
    assert table.equals(PAIRS)
    assert named.equals(PAIRS)
    assert table.attrs["source"] == f"hub:lab/pairs@{commit}"
    assert asked == [
        ("lab/pairs", "lab/pairs", commit, "train", None),
        ("lab/pairs", "lab/pairs", commit, "test", "en"),
    ]
    assert lm.compare(table).equals(lm.compare(PAIRS))


def test_overlaps_are_those_of_the_rules(run_rule, plan, folder, tmp_path, lm):
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in CORPUS)
    )
    words = tmp_path / "words.parquet"
    (tmp_path / "texts.txt").write_text("\n".join(PASSAGES), encoding="utf-8")
    run_rule(
        "build_words", output={"table": words}, wildcards={"dataset": "mine"},
        params={"entry": {"parser": "passages", "path": str(tmp_path / "texts.txt")}},
    )  # fmt: skip
    tokenizer = folder / sources.model_manifest("tiny")
    run_rule(
        "index_passages", input={"words": [words], "tokenizer": tokenizer},
        output={"index": tmp_path / "index.npz", "passages": tmp_path / "passages.parquet"},
        params={"texts": ["mine"]},
    )  # fmt: skip
    run_rule(
        "scan_corpus", input={"index": tmp_path / "index.npz", "tokenizer": tokenizer},
        output={"counts": tmp_path / "scan.npz"}, wildcards={"corpus": "c", "file": "f"},
        params={"path": str(tmp_path / "corpus.jsonl"), "entry": {"parser": "lines"},
                "min_length": 1, "chunk": None},
    )  # fmt: skip
    run_rule(
        "tabulate_overlap",
        input={"index": tmp_path / "index.npz", "passages": tmp_path / "passages.parquet",
               "scans": [tmp_path / "scan.npz"], "tokenizer": tokenizer, "ngrams": []},
        output={"counts": tmp_path / "counts.npz", "parquet": tmp_path / "overlap.parquet",
                "csv": tmp_path / "overlap.csv"},
        wildcards={"corpus": "c"},
        params={"no_chance_level": "none", "scale": "demo", "n_words": None},
    )  # fmt: skip
    theirs = read_table(tmp_path / "overlap.parquet", "overlap")
    run_rule(
        "build_cdawg", input={"tokenizer": tokenizer}, output={"graphs": tmp_path / "saved"},
        wildcards={"corpus": "c"},
        params={"entry": {"parser": "lines", "path": str(tmp_path / "corpus.jsonl")},
                "tokenizer": str(folder / "tiny")},
    )  # fmt: skip
    run_rule(
        "query_cdawg",
        input={"graphs": tmp_path / "saved", "scanned": tmp_path / "overlap.parquet",
               "index": tmp_path / "index.npz", "passages": tmp_path / "passages.parquet",
               "tokenizer": tokenizer},
        output={"table": tmp_path / "by_graph.parquet"}, wildcards={"corpus": "c"},
        params={"min_length": 1, "scale": "demo"},
    )  # fmt: skip
    assert read_table(tmp_path / "by_graph.parquet", "overlap").equals(theirs)
    columns = {"n_tokens": "article_len", "overlap_tokens": "overlap_len",
               "last_token": "overlap_last_token", "occurrences": "overlap_freq",
               "overlap_text": "overlap_text"}  # fmt: skip
    from_file = [str(tmp_path / "corpus.jsonl"), [tmp_path / "corpus.jsonl"]]
    for corpus in (CORPUS, *from_file, tmp_path / "saved"):
        named = {} if corpus == tmp_path / "saved" else {"tokenizer": folder / "tiny"}
        ours = lingprob.find_overlap(PASSAGES, corpus, **named, cache=folder)
        for name, named in columns.items():
            assert ours[name].tolist() == theirs[named].tolist(), name
        assert ours["text_id"].astype(str).tolist() == theirs["passage_id"].tolist()
    assert " cat sat on the mat" in ours["overlap_text"][0]
    none = lingprob.find_overlap(
        PASSAGES, CORPUS, tokenizer=folder / "tiny", min_length=90, cache=folder
    )
    assert none[["overlap_tokens", "last_token", "overlap_text"]].to_numpy().tolist() == [
        [0, -1, ""], [0, -1, ""],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parser"),
    [("a.txt", "text"), ("a.txt.gz", "text"), ("a.jsonl", "lines"), ("a.b.jsonl.zst", "lines"),
     ("a.parquet", "parquet"), ("a", "text")],
)  # fmt: skip
def test_a_corpus_file_is_read_by_what_its_name_ends_in(tmp_path, name, parser):
    (tmp_path / name).touch()
    assert corpus_entry(tmp_path / name) == {"parser": parser}
    with pytest.raises(LingprobError, match="no such corpus file"):
        corpus_entry(tmp_path / f"absent-{name}")


def test_every_name_of_the_package_can_be_had_and_no_other():
    for name in lingprob.__all__:
        assert getattr(lingprob, name).__name__ == name
        assert name in dir(lingprob)
    assert set(lingprob.__all__) == set(lingprob._PLACES)
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        lingprob.laod  # noqa: B018


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda lm: lm.score([]), "there are no sentences"),
        (lambda lm: lm.score(["The cat sat.", " "]), "sentence 2 is empty. Fill it in"),
        (lambda lm: lm.score(["The cat sat.", None]), "sentence 2 is None, which is no text"),
        (lambda lm: lm.score(PAIRS), r"no columns \['sentence'\]. It has \['good'"),
        (lambda lm: lm.score(["A.", "B."], context=["C."]), "1 contexts for 2 texts"),
        (lambda lm: lm.score("A", bos="none", context=""), "no token of it has a score"),
        (lambda lm: lm.surprisal(" \n"), "no word in the texts"),
        (lambda lm: lm.compare(PAIRS[["good"]]), "columns \\['bad'\\]"),
        (lambda lm: lm.compare(PAIRS[["phenomenon"]]), "no columns 'good' and 'bad'"),
        (lambda lm: lm.compare(["The cat sat."]), r"neither a data frame nor \(good, bad\)"),
        (lambda lm: lm.compare(PAIRS.assign(bad="")), "data row 1, column 'bad': an empty"),
        (lambda lm: lm.compare(PAIRS, by="phenomenom"), "Did you mean 'phenomenon'"),
        (lambda lm: lm.score("A.", bos="cls"), r"no single token for '\[CLS\]'"),
    ],
)
def test_what_a_call_cannot_take_is_named(lm, call, said):
    with pytest.raises(LingprobError, match=said):
        call(lm)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("smolm2-135m", {}, "unknown model 'smolm2-135m'. Did you mean 'smollm2-135m'"),
        ("./absent", {}, "no such folder"),
        ("some/model", {}, "which revision"),
        ("some/model/more", {"revision": "main"}, "neither a folder that exists nor"),
        ("tiny", {"config": {"model": {}}}, r"unknown key.*did you mean 'models'"),
        ("gpt2", {"config": "absent.yaml"}, "absent.yaml: cannot be read"),
    ],
)
def test_a_model_that_is_not_there_is_answered_with_the_nearest(model, options, said):
    with pytest.raises(LingprobError, match=said):
        lingprob.load(model, **options)


def test_a_model_is_a_name_a_folder_or_a_repository(folder):
    name, plan = find_model("pythia-70m")
    assert name == "pythia-70m"
    pinned = plan.catalog.model(name)
    for given in ("EleutherAI/pythia-70m", "EleutherAI/pythia-70m@main"):
        name, plan = find_model(given)
        entry = plan.catalog.model(name)
        assert entry["revision"] == (pinned["revision"] if "@" not in given else "main")
        assert entry["bos_policies"] == pinned["bos_policies"]
        assert "/" not in name
    name, plan = find_model("some/model", revision="v1", family="gpt2")
    assert plan.catalog.model(name)["bos_policies"] == Catalog().model("gpt2")["bos_policies"]
    name, plan = find_model(folder / "tiny")
    assert plan.catalog.model(name)["bos_policies"][0] == "none"
    assert find_model(str(folder / "tiny"))[0] == name
    with pytest.raises(LingprobError, match="unknown family 'gtp2'"):
        find_model(folder / "tiny", family="gtp2")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"source": "scores", "path": "scores.csv"}, r"file of log-probabilities \(scores\.csv\)"),
        ({"source": "trained"}, "is made by the workflow.*models/mine/manifest.json"),
        ({"source": "ngram"}, "is made by the workflow.*models/mine/manifest.json"),
        ({"source": "local", "path": "."}, "models cannot be kept there.*LINGPROB_CACHE"),
    ],
)
def test_a_model_that_cannot_be_prepared_says_why(tmp_path, entry, said):
    (tmp_path / "file").touch()
    with pytest.raises(LingprobError, match=said):
        cache.prepared_model("mine", entry, tmp_path / "file/models/mine/manifest.json")


def test_a_model_that_the_workflow_made_is_taken_from_its_folder(tmp_path):
    """A bigram model of words, after whose `the` there are two cats and a dog."""
    text = ["the cat sat", "the cat ran", "the dog ran"]
    manifest = tmp_path / "resources/models/mine/manifest.json"
    estimate_model(lambda: text, 2, manifest.parent, least_count=1)
    write_manifest("mine", "ngram", "n-grams of gutenberg", manifest.parent, manifest)
    entry = {"title": "M", "family": "n", "source": "ngram", "corpus": "gutenberg", "order": 2}
    model = lingprob.load("mine", config={"models": {"mine": entry}}, cache=tmp_path)
    cat, dog = model.score(["the cat", "the dog"])["logprob"]
    assert cat > dog


def test_settings_and_options_hold(config, folder, monkeypatch, tmp_path):
    odd = {**config, "scoring": {"dtype": "bfloat16"}, "reading": {"context": "sentence"}}
    model = lingprob.load("tiny", config=odd, cache=folder, tokens_per_batch=64, device="cpu")
    assert model.provenance["dtype"] == "torch.bfloat16"
    assert model.scorer.engine.tokens_per_batch == 64
    text = "The cat sat. The cat sat."
    surprisal = model.surprisal(text)["surprisal"].tolist()
    assert surprisal[:3] == surprisal[3:]  # each sentence is read alone
    fed, predicted = (
        lingprob.load(
            "tiny", config={**config, "reading": {"window_counts": name}}, cache=folder
        ).surprisal("The cat sat on the mat. " * 12)["surprisal"]
        for name in ("fed", "predicted")
    )
    assert not fed.equals(predicted)  # longer than the window
    monkeypatch.delenv("LINGPROB_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "lingprob"
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path / "here"))
    assert cache.cache_folder() == tmp_path / "here"
    assert cache.cache_folder("there") == Path("there")


def test_a_model_is_prepared_once_and_again_when_its_files_change(tmp_path, monkeypatch):
    prepared: list[str] = []

    def prepare(name, entry, manifest):
        prepared.append(name)
        prepare_model(name, entry, manifest)

    monkeypatch.setattr(cache, "prepare_model", prepare)
    save_tiny_model("gpt2", tmp_path / "mine")
    where = {"cache": tmp_path / "cache"}
    first = lingprob.load(tmp_path / "mine", **where)
    before = first.score(SENTENCES[0])
    assert lingprob.load(tmp_path / "mine", **where).score(SENTENCES[0]).equals(before)
    assert len(prepared) == 1
    weights = tmp_path / "mine" / "model.safetensors"
    weights.touch()  # another time, the same content
    lingprob.load(tmp_path / "mine", **where)
    assert len(prepared) == 1
    save_tiny_model("gpt2", tmp_path / "mine", seed=1)
    changed = lingprob.load(tmp_path / "mine", **where)
    assert len(prepared) == 2
    assert changed.provenance["files_digest"] != first.provenance["files_digest"]
    assert not changed.score(SENTENCES[0]).equals(before)


def test_unigrams_are_given_or_found_and_else_there_is_no_slor(
    lm, plan, folder, unigrams, tmp_path
):
    table = read_table(unigrams, "unigrams")
    table[["token_id", "logprob"]].to_csv(tmp_path / "unigrams.csv", index=False)
    series = table.set_index("token_id")["logprob"]
    for given in (series, table, unigrams, tmp_path / "unigrams.csv", "unigrahams_tiny", None):
        ((_, found),) = find_unigrams(given, "tiny", plan, folder).items()
        assert found.index.tolist() == series.index.tolist()
        np.testing.assert_allclose(found, series, rtol=1e-12)
    assert find_unigrams(None, "tiny", plan, tmp_path) == {}
    for source in ("unigrahams_tiny", "pile_published"):
        with pytest.raises(LingprobError, match=rf"{source}.*Make it.*snakemake --directory"):
            find_unigrams(source, "tiny", plan, tmp_path)
    with pytest.raises(LingprobError, match="no columns \\['logprob'\\]"):
        find_unigrams(table[["token_id"]], "tiny", plan, folder)
    other = lingprob.load(folder / "tiny", unigrams=series, cache=folder)
    slor = lm.score(SENTENCES, bos="bos")["slor"]
    assert other.score(SENTENCES, bos="bos")["slor"].tolist() == slor.tolist()
    other.unigrams = {"short": series[:5]}
    with pytest.raises(LingprobError, match="made for another tokenizer"):
        other.score(SENTENCES)
    other.unigrams = {}
    assert "slor" not in other.score(SENTENCES).columns


def test_what_nothing_checked_is_not_kept_of_a_start_token(lm):
    """A text of one token has no place to try what the start token leaves behind."""
    scorer = Scorer(lm.lm)
    start = lm.lm.start_id("bos")
    scorer.score([np.array([70])], start)
    assert start not in scorer.forward.after_starts
    scorer.score([np.array([70, 71, 72])], start)
    assert start in scorer.forward.after_starts
    with torch.no_grad():
        alone = lm.lm.model(torch.tensor([[start, 70]])).logits[0, 0].log_softmax(0)[70]
    assert scorer.score([np.array([70])], start)[0][0] == pytest.approx(float(alone), abs=1e-5)
