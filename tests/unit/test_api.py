"""The API and the command `lingprob`: their numbers are those that the rules' scripts write."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import lingprob
from lingprob.api import prepared_models as cache
from lingprob.api.cli import COMMANDS, main
from lingprob.api.corpora import corpus_entry
from lingprob.api.inputs import read_passages
from lingprob.api.prepared_models import find_model, find_unigrams
from lingprob.catalog import Catalog
from lingprob.context.scores import score_prefixes
from lingprob.errors import LingprobError
from lingprob.io.tables import read_table, write_table
from lingprob.models.folders import write_manifest
from lingprob.models.prepare import prepare_model
from lingprob.ngrams.estimate import estimate_model
from lingprob.scoring.engine import Scorer
from lingprob.workflow import sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.digests import SCRIPTS
from lingprob.workflow.sources import Run
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
    return {"models": {"tiny": {**entry, "bos_policies": ["bos_first_excluded", "bos", "none"]}}}


@pytest.fixture(scope="module")
def unigrams(folder) -> Path:
    """A table of unigrams of the model's own source, where a workflow puts it."""
    path = folder / "results/unigrams/tiny/unigrahams_tiny.parquet"
    values = np.random.default_rng(1).uniform(-9, -2, 320)
    table = pd.DataFrame({"token_id": np.arange(320, dtype=np.int32), "logprob": values})
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


def test_sentences_are_scored_as_the_rules_do_to_the_bit(run_rule, lm, plan, folder, tmp_path):
    texts = [*SENTENCES, *PAIRS["good"].unique()[1:]]
    table = scored_by_rules(run_rule, lm, plan, folder, stimuli_of(texts), tmp_path)
    for bos in ("bos_first_excluded", "bos", "none"):
        theirs = table[table["bos"] == bos].set_index("item_id").loc[stimuli_of(texts)["item_id"]]
        ours = lm.score(pd.Series(texts, index=range(10, 10 + len(texts))), bos=bos)
        assert ours.index[0] == 10
        for name in ("logprob", "n_tokens", "unigram_logprob"):
            assert ours[name].tolist() == theirs[name].tolist(), (bos, name)
        slor = (theirs["logprob"] - theirs["unigram_logprob"]) / theirs["n_tokens"]
        assert ours["slor"].tolist() == slor.tolist()
        assert ours["mean_logprob"].tolist() == (theirs["logprob"] / theirs["n_tokens"]).tolist()
    assert lm.score(texts).equals(lm.score(texts, bos="bos"))
    assert lm.score(texts, bos="paper").equals(lm.score(texts, bos="bos_first_excluded"))


def test_repeated_sentences_have_a_row_each_and_one_text_is_a_list_of_one(lm):
    table = lm.score([SENTENCES[0], SENTENCES[1], SENTENCES[0]])
    assert table["logprob"][0] == table["logprob"][2] != table["logprob"][1]
    assert lm.score(SENTENCES[0])["sentence"].tolist() == [SENTENCES[0]]


def test_a_second_call_runs_the_model_once_and_gives_the_same(lm):
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


def test_all_calls_give_one_number_for_one_convention(lm):
    good, bad = PAIRS["good"].tolist(), PAIRS["bad"].tolist()
    for bos in (None, "paper", "bos", "bos_first_excluded", "none", "eos"):
        table = lm.compare(PAIRS, by="pair", bos=bos)
        assert (
            table[["good", "bad"]].to_numpy().tolist() == PAIRS[["good", "bad"]].to_numpy().tolist()
        )
        for side, texts in (("good", good), ("bad", bad)):
            scores = lm.score(texts, bos=bos)
            np.testing.assert_allclose(table[f"logprob_{side}"], scores["logprob"], atol=1e-4)
            assert set(table["bos"]) == set(scores["bos"])
        difference = table["logprob_good"] - table["logprob_bad"]
        assert table["difference"].tolist() == difference.tolist()
        assert table["preferred"].tolist() == ["good" if d > 0 else "bad" for d in difference]
    for bos in (None, "bos", "eos"):
        words = lm.surprisal(good, bos=bos).groupby("text_id")["surprisal_uncorrected"].sum()
        np.testing.assert_allclose(-words * np.log(2), lm.score(good, bos=bos)["logprob"], 1e-5)
    assert lm.surprisal(good).equals(lm.surprisal(good, bos="paper"))
    same = lm.compare([("A cat.", "A cat.")], by="pair")
    assert same["preferred"].tolist() == ["neither"]


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


def test_a_context_that_ends_in_a_space_is_warned_of(lm, caplog):
    plain = lm.score("It sat.", context="The cat saw me.")
    assert "white space" not in caplog.text
    spaced = lm.score("It sat.", context="The cat saw me. ")
    assert "context 1, 'The cat saw me. ', ends in white space" in caplog.text
    assert abs(spaced["logprob"] - plain["logprob"])[0] > 0.01
    caplog.clear()
    lm.score("It sat.", context="The cat saw me. ", context_separator="")
    assert "white space" not in caplog.text


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


def test_next_tokens_are_the_likeliest_of_a_plain_forward_pass(lm):
    ids = lm.tokenizer("The cat")["input_ids"]
    with torch.no_grad():
        p = lm.model(torch.tensor([[0, *ids]])).logits[0, -1].double().softmax(0)
    table = lm.next_tokens("The cat", top=5)
    assert table["token_id"].tolist() == p.argsort(descending=True)[:5].tolist()
    np.testing.assert_allclose(table["probability"], p[table["token_id"].tolist()], atol=1e-6)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5]
    assert len(lm.next_tokens("", top=1)) == 1
    for options in ({"bos": "none"}, {"top": 0}):
        with pytest.raises(LingprobError, match="give a context or a start token"):
            lm.next_tokens("", **options)
    with pytest.raises(LingprobError, match="does not fit the context window"):
        lm.tokens("The cat sat. " * 60)


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


def test_lines_that_look_wrapped_are_warned_of(tmp_path, caplog):
    text = tmp_path / "text.txt"
    text.write_text("The cat, which\nwas old, sat\non the mat.\n\nIt slept.\nYes.\n")
    assert len(read_passages(text)) == 6
    assert not caplog.records  # two of five
    text.write_text("The cat, which\nwas old, sat\non the mat.\n")
    assert read_passages(text) == ["The cat, which", "was old, sat", "on the mat."]
    assert "2 of 3 lines do not end a sentence" in caplog.text
    caplog.clear()
    text.write_text("A title without an end\n")
    assert len(read_passages(text)) == 1
    assert not caplog.records


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


def test_the_command_writes_what_the_calls_return(lm, config, folder, tmp_path, capsys):
    own = tmp_path / "own.yaml"
    own.write_text(json.dumps(config))
    sentences = pd.DataFrame({"Text": SENTENCES[:3], "mark": ["a", "b", "c"]})
    sentences.to_csv(tmp_path / "sentences.csv", index=False)
    sentences.assign(context="It seems.").to_csv(tmp_path / "contexts.csv", index=False)
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    (tmp_path / "texts.txt").write_text("\n".join(PASSAGES), encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"text": CORPUS[0]}))
    model = ["--model", "tiny", "--config", own, "--cache", folder]

    def run(command: str, name: str, *options: object) -> pd.DataFrame:
        output = tmp_path / "output.parquet"
        with pytest.raises(SystemExit) as ended:
            main([command, *map(str, (tmp_path / name, *options, "--output", output))])
        assert ended.value.code == 0
        return pd.read_parquet(output)

    scored = run("score", "sentences.csv", *model, "--column", "sentence=Text")
    called = lm.score(SENTENCES[:3])
    assert scored.columns.tolist() == ["Text", "mark", *called.columns[1:]]
    assert scored[called.columns[1:]].equals(called[called.columns[1:]])
    after = run("score", "contexts.csv", *model, "--column", "sentence=Text", "--bos", "bos")
    expected = lm.score(SENTENCES[:3], context="It seems.", bos="bos")
    assert after["logprob"].tolist() == expected["logprob"].tolist()
    assert run("surprisal", "texts.txt", *model).equals(lm.surprisal(PASSAGES))
    pd.DataFrame({"Passage": PASSAGES}).to_csv(tmp_path / "passages.csv", index=False)
    in_column = run("surprisal", "passages.csv", *model, "--column", "text=Passage")
    assert in_column.equals(lm.surprisal(PASSAGES))
    compared = run("compare", "pairs.csv", *model, "--by", "phenomenon")
    pd.testing.assert_frame_equal(compared, lm.compare(PAIRS), check_exact=True)
    found = run("overlap", "texts.txt", "--corpus", tmp_path / "corpus.jsonl", "--model",
                folder / "tiny", "--cache", folder, "--min-length", "2")  # fmt: skip
    assert found["overlap_tokens"].tolist() == lingprob.find_overlap(
        PASSAGES, CORPUS[:1], tokenizer=folder / "tiny", cache=folder, min_length=2
    )["overlap_tokens"].tolist()  # fmt: skip
    with pytest.raises(SystemExit):
        main(["score", str(tmp_path / "sentences.csv"), *map(str, model), "--column",
              "sentence=Text"])  # fmt: skip
    said = capsys.readouterr()
    assert said.out.startswith("Text,mark,logprob,n_tokens,mean_logprob,")
    assert f"3 rows: {tmp_path / 'output.parquet'} (log-probabilities in nats)\n" in said.err
    rounded = run("score", "contexts.csv", *model, "--column", "sentence=Text", "--digits", 2)
    in_full = lm.score(SENTENCES[:3], context="It seems.")["logprob"]
    assert rounded["logprob"].tolist() == [round(logprob, 2) for logprob in in_full]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("Sentences\nThe cat sat.\n", [], r"no column 'sentence'.*--column sentence=Sentences\?"),
        ("Satz\nThe cat sat.\n", [], r"no column 'sentence'.*right one: --column sentence=YOURS"),
        ("sentence,logprob\nThe cat sat.,1\n", [], "a column 'logprob' is there"),
        ("sentence,mark\nThe cat sat.,a\n  ,b\n", [], "sentence 2 is empty"),
        (
            "text\nThe cat sat.\n",
            ["--column", "sentence=Text"],
            r"no column 'Text'.*\['text'\].*mean --column sentence=text\?",
        ),
        ("Text\nThe cat sat.\n", ["--column", "sentnce=Text"], "Did you mean 'sentence'"),
        ("sentence\nThe cat sat.\n", ["--bos", "boss"], "unknown BOS policy 'boss'. Did you mean"),
        ("sentence\nThe cat sat.\n", ["--unigrams", "no.csv"], "no.csv: no such file"),
        (None, [], "no such file"),
    ],
)
def test_a_mistake_is_answered_with_one_message(
    config, folder, tmp_path, capfd, text, options, said
):
    (tmp_path / "own.yaml").write_text(json.dumps(config))
    if text is not None:
        (tmp_path / "in.csv").write_text(text)
    given = ["--model", "tiny", "--config", tmp_path / "own.yaml", "--cache", folder]
    output = tmp_path / "out.csv"
    with pytest.raises(SystemExit, match=rf"(?s)^lingprob score: .*{said}") as ended:
        main(["score", *map(str, (tmp_path / "in.csv", *given, *options, "--output", output))])
    assert "Traceback" not in str(ended.value.code) + capfd.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--output", "scores.txt"], "ends in none of .csv, .tsv, .parquet"),
        (["--output", "nowhere/scores.csv"], "no folder 'nowhere'"),
        (["--column", "sentence"], "is not OURS=YOURS"),
        (["--batch", "3"], "unrecognized arguments"),
    ],
)
def test_options_are_refused_before_anything_is_read(capsys, options, said):
    with pytest.raises(SystemExit) as ended:
        main(["score", "absent.csv", "--model", "tiny", *options])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command_has_an_example_that_it_takes(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    example = f"lingprob {command} {COMMANDS[command].example}"
    assert f"example:\n  {example}" in shown
    from lingprob.api.cli import build_parser

    assert build_parser().parse_args(example.split()[1:]).command == command


def test_importing_the_package_and_asking_for_help_import_nothing_heavy():
    heavy = {"torch", "transformers", "pandas", "numpy", "scipy", "yaml", "spacy"}
    statements = ("import lingprob", "import lingprob.api.cli as p; p.build_parser()")
    for statement in statements:
        code = f"import sys; {statement}; print(*sys.modules)"
        loaded = subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONPATH": str(SCRIPTS)}, text=True,
            capture_output=True, check=True,
        ).stdout.split()  # fmt: skip
        assert not heavy & set(loaded), statement
        assert "lingprob" in loaded


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("good,worse\nA.,B.\n", [], r"no column 'bad'.*right one: --column bad=YOURS"),
        ("Good,Bad\nA.,B.\n", ["--column", "good=Good"], r"no column 'bad'.*--column bad=Bad\?"),
        ("sentence,pair\nA.,1\n", [], "pair '1': 0 grammatical sentences"),
    ],
)
def test_a_column_of_pairs_that_is_not_there_is_named_with_its_file(
    config, folder, tmp_path, text, options, said
):
    (tmp_path / "own.yaml").write_text(json.dumps(config))
    (tmp_path / "pairs.csv").write_text(text)
    given = ["--model", "tiny", "--config", tmp_path / "own.yaml", "--cache", folder, *options]
    with pytest.raises(SystemExit, match=rf"(?s)^lingprob compare: .*{said}"):
        main(["compare", str(tmp_path / "pairs.csv"), *map(str, given)])


def test_a_mistyped_model_is_told_before_anything_heavy_is_imported(tmp_path):
    (tmp_path / "in.csv").write_text("sentence\nThe cat sat.\n")
    code = (
        "import sys; from lingprob.api.cli import main\n"
        "try: main(['score', 'in.csv', '--model', 'smolm2-135m'])\n"
        "except SystemExit as end: print(end.code, {'torch', 'statsmodels'} & set(sys.modules))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SCRIPTS)}, text=True,
        cwd=tmp_path, capture_output=True, check=True,
    ).stdout  # fmt: skip
    assert "Did you mean 'smollm2-135m'?" in said
    assert said.endswith("set()\n")


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


def test_the_cache_is_where_one_says(monkeypatch, tmp_path):
    monkeypatch.delenv("LINGPROB_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "lingprob"
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path / "here"))
    assert cache.cache_folder() == tmp_path / "here"
    assert cache.cache_folder("there") == Path("there")


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


def test_settings_of_a_configuration_hold(config, folder):
    odd = {**config, "scoring": {"dtype": "bfloat16"}, "reading": {"context": "sentence"}}
    model = lingprob.load("tiny", config=odd, cache=folder)
    assert model.provenance["dtype"] == "torch.bfloat16"
    text = "The cat sat. The cat sat."
    surprisal = model.surprisal(text)["surprisal"].tolist()
    assert surprisal[:3] == surprisal[3:]  # no sentence knows of the one before


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
