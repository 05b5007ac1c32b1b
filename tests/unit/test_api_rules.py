"""Calls give the numbers of the rules' scripts."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lingprob
from api_for_tests import CORPUS, PAIRS, PASSAGES, POLICIES, stimuli_of
from lingprob.context.scores import Targets, score_prefixes
from lingprob.io.tables import read_table, write_table
from lingprob.scoring.engine import Scorer
from lingprob.workflow import sources
from models_for_tests import SENTENCES
from scripts_for_tests import run_script

pytest_plugins = ["api_for_tests"]

# How work is done, as rules/common.smk has it in Snakemake's own configuration.
CONFIG = {"scoring": {"device_map": "single", "tokens_per_batch": 4096, "sentences_per_shard": 500}}


@pytest.fixture
def run_rule(tmp_path, monkeypatch):
    """Run a rule's script with such inputs, outputs and params."""
    monkeypatch.chdir(tmp_path)
    return partial(run_script, config=CONFIG)


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
               "unigrams": [folder / "results/unigrams/bytes/unigrahams_tiny.parquet"]},
        output={"tokens": [out / f"{name}.parquet" for name in start_tokens],
                "sentences": [out / "sentences.parquet"], "csv": [out / "sentences.csv"]},
        params={**{key: settings[key] for key in ("device", "dtype")},
                "engine": "c", "model": "tiny", "entry": entry, "bos_policies": policies,
                "start_tokens": {name: plan.catalog.start_tokens[name] for name in start_tokens},
                "unigrams": ["unigrahams_tiny"]},
    )  # fmt: skip
    return read_table(out / "sentences.parquet", "sentence_scores")


def test_calls_and_rules_agree_under_every_policy(run_rule, lm, plan, folder, config, tmp_path):
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
        alone = pd.concat([lm.score(text, bos=bos) for text in texts], ignore_index=True)
        pd.testing.assert_frame_equal(alone, ours.reset_index(drop=True), rtol=1e-5)
        skipped = int(bos.endswith("excluded") or bos == "none")
        tokens = lm.tokens(texts, bos=bos).query("token_index >= @skipped").groupby("sentence_id")
        np.testing.assert_allclose(tokens["logprob"].sum(), theirs["logprob"], rtol=1e-5)
        # Of words after the first, every policy has all tokens.
        words = lm.surprisal(texts, bos=bos).query("word_index > 0").groupby("text_id")
        rest = lm.tokens(texts, bos=bos)
        first = rest["sentence_id"].map(lambda row: len(texts[int(row) - 1].split()[0]))
        rest = rest[rest["char_start"] >= first].groupby("sentence_id")["surprisal"].sum()
        found = words["surprisal_uncorrected"].sum().rename(int).sort_index()
        np.testing.assert_allclose(found, rest.rename(int).sort_index(), rtol=1e-4)
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
    # Words have a start token before them even if the first policy has none.
    entry = {**config["models"]["tiny"], "bos_policies": ["none", "eos"]}
    other = lingprob.load("tiny", config={"models": {"tiny": entry}}, cache=folder)
    for one, bos in ((lm, "bos"), (other, "eos")):
        assert lm.surprisal(texts, bos=bos).equals(one.surprisal(texts, bos="paper"))


def test_contexts_are_scored_as_by_the_rules(lm):
    prefix, good, bad = "The teacher think the children read.", *SENTENCES[:2]
    stimuli = stimuli_of([good, bad], pair_id="p", grammatical=[True, False])
    prefixes = pd.DataFrame(
        {"prefix_id": ["x"], "kind": ["matched"], "pair_ids": [["p"]], "text": [prefix],
         "char_ends": [[len(prefix)]]}
    )  # fmt: skip
    n_tokens = len(lm.lm.tokenize([prefix])[0].ids)
    (scores,) = score_prefixes(
        Scorer(lm.lm), Targets("d", stimuli, {}), [prefixes.assign(n_tokens=[[n_tokens]])],
        [n_tokens], alone=False, start_token="bos",
    )  # fmt: skip
    ours = lm.score([good, bad], context=prefix)
    assert ours["logprob"].tolist() == scores["logprob"].tolist()
    assert ours["n_tokens"].tolist() == scores["n_tokens"].tolist()
    (unigrams,) = lm.unigrams.values()
    tokens = lm.tokens([good, bad], context=prefix)
    sums = unigrams.loc[tokens["token_id"]].groupby(tokens["sentence_id"].to_numpy()).sum()
    np.testing.assert_allclose(ours["unigram_logprob"], sums)
    # After contexts of their own, in another order, and after none: every token counts.
    mixed = lm.score([bad, good, bad, good], context=[prefix, None, "It seems.", prefix])
    np.testing.assert_allclose(mixed["logprob"][[3, 0]], ours["logprob"], atol=1e-4)
    alone = lm.score(good, bos="bos")
    np.testing.assert_allclose(mixed["logprob"][1], alone["logprob"][0], atol=1e-4)
    assert mixed["n_tokens"][1] == alone["n_tokens"][0] == lm.score(good)["n_tokens"][0]
    assert mixed["unigram_logprob"][1] == pytest.approx(alone["unigram_logprob"][0])
    assert abs(mixed["logprob"][2] - ours["logprob"][1]) > 0.01


def test_words_have_the_surprisals_of_the_rule(run_rule, lm, plan, folder, tmp_path):
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
    )  # fmt: skip
    theirs = read_table(tmp_path / "surprisal.parquet", "surprisal")
    ours = lm.surprisal(PASSAGES)
    assert ours["text_id"].tolist() == theirs["passage_id"].astype(int).tolist()
    for name in ("word_index", "surprisal", "surprisal_uncorrected", "n_tokens"):
        assert ours[name].tolist() == theirs[name].tolist(), name
    assert ours["word"].tolist() == " ".join(PASSAGES).split()
    broken = lm.surprisal(PASSAGES[0].replace(" ", "\n  "))  # white space of any kind
    assert broken["surprisal"].tolist() == lm.surprisal(PASSAGES[0])["surprisal"].tolist()


def test_pairs_are_audited_as_by_the_rules(run_rule, lm, plan, folder, tmp_path, monkeypatch):
    PAIRS.to_csv(tmp_path / "pairs.csv", index=False)
    entry = {"parser": "table", "path": str(tmp_path / "pairs.csv")}
    run_rule(
        "build_stimuli",
        output={"ratings": tmp_path / "ratings.parquet", "stimuli": tmp_path / "made.parquet",
                "csv": tmp_path / "made.csv"},
        wildcards={"dataset": "mine"}, params={"entry": entry, "seed": 0},
        resources={"sentences_needed": 1},
    )  # fmt: skip
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
    ours = lm.audit(PAIRS, corpora=tmp_path / "corpus.txt")
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
    # Wilson's interval of 2 of 4, by hand: z = 1.96, 0.5 -+ z / 2 / sqrt(4 + z^2) = 0.5 -+ 0.350.
    swapped = PAIRS.rename(columns={"good": "bad", "bad": "good"})
    assert lm.compare(swapped)["accuracy"].iloc[-1] == 1 - np.mean(right)
    same = pd.DataFrame({"good": PAIRS["good"], "bad": PAIRS["good"]})
    tied = lm.compare(same).iloc[-1]
    assert tied["accuracy"] == 0.5
    assert (tied["accuracy_low"], tied["accuracy_high"]) == pytest.approx((0.15, 0.85), abs=1e-3)
    assert lm.compare(zip(PAIRS["good"], PAIRS["bad"], strict=True))["n"].tolist() == [4]


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
    path = tmp_path / "corpus.jsonl"
    for corpus in (CORPUS, str(path), [path], tmp_path / "saved"):
        named = {} if corpus == tmp_path / "saved" else {"tokenizer": folder / "tiny"}
        ours = lingprob.find_overlap(PASSAGES, corpus, **named, cache=folder)
        for name, named in columns.items():
            assert ours[name].tolist() == theirs[named].tolist(), name
        assert ours["text_id"].astype(str).tolist() == theirs["passage_id"].tolist()
    assert " cat sat on the mat" in ours["overlap_text"][0]
    options = {"tokenizer": folder / "tiny", "cache": folder}
    none = lingprob.find_overlap(PASSAGES, CORPUS, **options, min_length=90)
    columns = ["overlap_tokens", "last_token", "overlap_text"]
    assert none[columns].to_numpy().tolist() == [[0, -1, ""]] * 2
