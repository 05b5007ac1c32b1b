"""Calls: data frames in and out, checked by hand and by plain passes; models by name."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch

import lingprob
from api_for_tests import PAIRS
from lingprob.api import prepared_models as cache
from lingprob.api.inputs import as_pairs
from lingprob.api.pairs import measure_distances
from lingprob.api.prepared_models import find_model, find_unigrams
from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.io.corpora import parser_of
from lingprob.io.tables import read_table
from lingprob.models.folders import write_manifest
from lingprob.models.prepare import origin_of, prepare_model
from lingprob.ngrams.estimate import estimate_model
from loopback import HubServer, Repository
from models_for_tests import SENTENCES, passes, save_tiny_model

pytest_plugins = ["api_for_tests"]


def test_pairs_are_matched_by_their_ids(lm):
    """Sentences in any order, with ids that do not follow it, and a sentence without a pair."""
    rows = pd.DataFrame(
        {
            "sentence": [PAIRS["bad"][2], PAIRS["good"][0], "Yes.", *PAIRS.loc[[2], "good"],
                         PAIRS["bad"][0]],
            "pair": ["9", "2", None, "9", "2"],
            "item": ["9", "2", "0", "9", "2"],
            "condition": ["x", "x", "y", "y", "y"],
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
    numbered = lm.compare(PAIRS.assign(item=1, condition="x"))
    pd.testing.assert_frame_equal(numbered, lm.compare(PAIRS))
    assert lm.compare([("A cat.", "A cat.")], by="pair")["preferred"].tolist() == ["neither"]
    # Of pair 9 the better sentence is called ungrammatical, and of pair 2 grammatical.
    scores = lm.score(rows["sentence"])["logprob"]
    better = scores == scores.groupby(rows["pair"]).transform("max")
    rows["grammatical"] = (better == (rows["pair"] == "2")).where(rows["pair"].notna())
    named = rows.assign(paradigm=rows["pair"].map({"9": "wrong", "2": "right"})).dropna()
    bad, good = (named[named["grammatical"] == side].sort_values("pair") for side in (False, True))
    named = pd.concat([bad[::-1], good])  # pairs come in one order, grammatical ones in another
    shares = lm.compare(named, by="paradigm").set_index("paradigm")["accuracy"]
    assert shares.to_dict() == {"wrong": 0.0, "right": 1.0, "all": 0.5}


def test_tables_keep_their_columns_and_contexts(lm, caplog):
    frame = pd.DataFrame(
        {"id": [7, 3], "sentence": SENTENCES[:2], "context": ["It seems.", None]}, index=[5, 4]
    )
    table = lm.score(frame)
    assert table.columns.tolist()[:4] == ["id", "sentence", "context", "logprob"]
    assert table.index.tolist() == [5, 4]
    excluded = {"bos": "bos_first_excluded"}
    long = "A cat. " * 30  # longer than the window
    alone = lm.score([SENTENCES[1], long], **excluded)["logprob"]
    among = lm.score([*frame["sentence"], long], context=["It.", "", ""], **excluded)["logprob"]
    assert among[1:].tolist() == alone.tolist()
    ones, turns = pd.Series([*SENTENCES[:2], "It."]), pd.Series(["It.", "He.", "It."], [7, 8, 9])
    every = lm.score(ones, context=turns)["logprob"]  # which are matched by place
    each = [lm.score(ones[row], context=turns[row + 7])["logprob"][0] for row in range(3)]
    assert every.tolist() == pytest.approx(each, abs=1e-4)
    expected = lm.score(SENTENCES[:2], context=["It seems.", ""])
    assert table["logprob"].tolist() == expected["logprob"].tolist()
    tokens = lm.tokens(frame)
    sums = tokens.groupby("id", sort=False)["logprob"].sum()
    np.testing.assert_allclose(sums, expected["logprob"], atol=1e-4)
    words = lm.surprisal(frame.rename(columns={"sentence": "text"}))
    assert words["id"].tolist() == [7] * 6 + [3] * 6
    assert words["word_index"].tolist() == [*range(6)] * 2
    whole = lm.surprisal(f"It seems. {SENTENCES[0]}")["surprisal"]
    second = lm.surprisal(SENTENCES[1])["surprisal"]
    np.testing.assert_allclose(words["surprisal"], [*whole[2:], *second], rtol=1e-5)
    after = lm.surprisal(SENTENCES[0], context="It  seems. ")["surprisal"]
    assert after.tolist() == whole.tolist()[2:]
    assert "white space" not in caplog.text
    spaced = lm.score(["It sat."] * 2, context=["The cat saw me.", "The cat saw me. "])
    assert "context 2, 'The cat saw me. ', ends in white space" in caplog.text
    assert abs(spaced["logprob"].diff()[1]) > 0.01
    caplog.clear()
    lm.score("It sat.", context="The cat saw me. ", context_separator="")
    assert "white space" not in caplog.text
    lm.score(frame.assign(context=["biased", "high-cloze"]))
    assert "words such as 'biased'. Rename it if they are conditions" in caplog.text
    lm.score("It sat.", context="NA")
    assert "1 contexts are the text NA" in caplog.text
    lm.next_tokens("The cat ")
    assert "context 1, 'The cat ', ends in white space" in caplog.text
    for wrong in (table, words.assign(text="A.")):
        with pytest.raises(LingprobError, match=r"table: a column '(logprob|text_id)' is there"):
            lm.score(wrong) if wrong is table else lm.surprisal(wrong)
    with pytest.raises(LingprobError, match="an argument and a column"):
        lm.score(frame, context="It seems.")
    with pytest.raises(LingprobError, match="pairs take no contexts"):
        lm.compare(PAIRS.assign(context="It seems."))


def test_a_second_call_runs_the_model_once(lm):
    first = lm.score(SENTENCES[:2])
    with passes(lm.model.base_model) as fed:
        assert lm.score(SENTENCES[:2]).equals(first)
    assert len(fed) == 1


@pytest.mark.parametrize(
    ("tokens", "policy"),
    [
        ({"bos_token": "<s>", "eos_token": "</s>"}, "bos"),
        ({"eos_token": "</s>"}, "eos"),
        ({"pad_token": "<|endoftext|>", "eos_token": "</s>"}, "endoftext"),
        ({}, "none"),
    ],
)
def test_sentences_follow_a_start_token_of_the_tokenizer(tmp_path, caplog, tokens, policy):
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
    for table in (model.score(SENTENCES), model.compare(PAIRS)):
        assert set(table["bos"]) == {policy}
    for said in ("1 of 4 pairs differ in their first token", "has no start token"):
        assert caplog.text.count(said) == (policy == "none")


def test_tokens_are_those_of_plain_passes(lm):
    text = SENTENCES[0]
    for bos, before in (("bos", [0]), ("none", []), (None, [0])):
        ids = lm.tokenizer(text)["input_ids"]
        with torch.no_grad():
            logits = lm.model(torch.tensor([[*before, *ids]])).logits[0].double()
        logp = logits.log_softmax(-1)[: len(ids) - 1 + len(before)]
        table = lm.tokens([SENTENCES[1], text], bos=bos).query("sentence_id == 2")
        assert table["token_id"].tolist() == ids
        assert table["token"].str.cat() == text
        spans = zip(table["char_start"], table["char_end"], strict=True)
        assert [text[start:end] for start, end in spans] == table["token"].tolist()
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
    given = {"context": "The teacher read.", "context_separator": "\n\n"}
    after = lm.tokens([text, SENTENCES[1]], **given).groupby("sentence_id")
    expected = lm.score([text, SENTENCES[1]], **given)
    np.testing.assert_allclose(after["logprob"].sum(), expected["logprob"], atol=1e-4)
    assert after.size().tolist() == expected["n_tokens"].tolist()
    assert (after[["token_index", "char_start"]].min() == 0).all(axis=None)
    assert after["char_end"].max().tolist() == [len(text), len(SENTENCES[1])]


def test_regions_sum_their_words_and_parts(lm):
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
    assert table.groupby("text_id")["word_index"].agg("min").tolist() == [0, 0]
    np.testing.assert_allclose(table["surprisal"][:8], found["surprisal"], rtol=1e-5)
    assert table["word"].tolist()[8:] == ["A", "cat."]
    assert lm.surprisal("A cat.", regions="A|cat.")["word"].tolist() == ["A", "cat."]
    # An empty text does not shift the contexts of later ones.
    later = lm.surprisal(["", "A cat."], context=["It seems.", "Then"], regions=["", "A|cat."])
    alone = lm.surprisal("A cat.", context="Then")
    assert later["surprisal"].tolist() == pytest.approx(alone["surprisal"].tolist())
    two = lm.surprisal(["A cat.", "It sat."], regions=[["A cat."], "It|sat."])
    assert two["word"].tolist() == ["A cat.", "It", "sat."]
    for regions, said in (
        (["The cat", "sat on a"], "text 2: .*'sat on a' is not at"),
        (["The cat", "", "sat"], "text 2: its regions do not spell it"),
        (cut[:-1], r"text 2: its regions end before 'test\.'"),
        (["T", "he cat sat on the mat. It's a test."], "a token spans 'T' and .he cat"),
    ):
        with pytest.raises(LingprobError, match=said):
            lm.surprisal(["A cat.", text], regions=[["A cat."], regions])
    with pytest.raises(LingprobError, match="regions of 1 texts, and 2 texts"):
        lm.surprisal(["A.", "B."], regions=[["A."]])


def test_next_words_are_those_of_plain_passes(lm):
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
    assert [len(lm.next_tokens("", top=top)) for top in (1, 999)] == [1, 320]

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
    words = lm.next_words(" The\n cat ", top=4)
    assert words["word"].tolist() == expected
    likely = [by_hand[word] for word in expected]
    np.testing.assert_allclose(words["probability"], likely, rtol=1e-4)
    for row in words.itertuples():
        last = lm.surprisal(f"{context} {row.word}").iloc[-1]
        assert (last["word"], last["n_tokens"]) == (row.word, row.n_tokens)
        assert last["surprisal"] == pytest.approx(row.surprisal, abs=1e-4)
    (first,) = lm.next_words("", top=1).itertuples()
    assert lm.surprisal(first.word)["surprisal"][0] == pytest.approx(first.surprisal, abs=1e-4)
    for call in (lm.next_tokens, lm.next_words):
        for options in ({"bos": "none"}, {"top": 0}):
            with pytest.raises(LingprobError, match="give a context or a start token"):
                call("", **options)
    with pytest.raises(LingprobError, match="does not fit the context window"):
        lm.tokens("A" * 64)  # after a start token
    assert len(lm.tokens("A" * 63)) == 63


TEMPLATE = (
    "{% for one in messages %}<s>{{ one.role }}: {{ one.content | trim if messages[0].content == "
    "'Trim!' else one.content }}</s>{% endfor %}"
    "{% if messages[0].content == 'Hush!' %}{{ raise_exception(strftime_now('%Y')) }}{% endif %}"
)


def test_a_turn_is_scored_in_its_template(lm, folder, tmp_path, caplog):
    """By hand: the tokens of the text in the conversation that the template lays out."""
    shutil.copytree(folder / "tiny", tmp_path / "chat")
    (tmp_path / "chat/chat_template.jinja").write_text(TEMPLATE)
    chat = lingprob.load(tmp_path / "chat", cache=tmp_path)
    turns = pd.DataFrame({"context": ["Who?", "When?"], "sentence": ["The cat sat.", "er: It."]})
    table = chat.score(turns, chat=True)
    for prompt, text, logprob, n_tokens, *_ in table.itertuples(index=False):
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
    assert "can write today's date" in caplog.text
    alone = chat.score("The cat sat.", chat=True)["logprob"][0]
    assert alone != pytest.approx(table["logprob"][0])
    for call, said in (
        (lambda: lm.score("A cat.", chat=True), "no chat template"),
        (lambda: chat.score("A cat.", chat=True, bos="none"), "Leave them out"),
        (lambda: chat.score("A cat.", chat=True, context_separator=""), "Leave them out"),
        (lambda: chat.score("A </s> cat.", chat=True), "contains '</s>'"),
        (lambda: chat.score("A cat.", context="A </s>", chat=True), "'A </s>' contains '</s>'"),
        (lambda: chat.score("A cat.", context="Hush!", chat=True), "lay out a user's turn"),
        (lambda: chat.score("A cat. ", context="Trim!", chat=True), "changes the .* 'A cat. '"),
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


def test_names_of_corpus_files_choose_their_parser(tmp_path, monkeypatch):
    """Without reading a large file as a whole."""
    monkeypatch.setattr(Path, "read_bytes", None)
    names = ("a.txt.gz", "a.jsonl", "a.b.jsonl.zst", "a.parquet", "a")
    for name, parser in zip(names, ("text", "lines", "lines", "parquet", "text"), strict=True):
        (tmp_path / name).touch()
        assert parser_of(tmp_path / name) == parser


def test_the_package_has_its_public_names_alone():
    assert [getattr(lingprob, name).__name__ for name in lingprob.__all__] == lingprob.__all__
    assert {*lingprob.__all__} <= {*dir(lingprob)}
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        lingprob.laod  # noqa: B018


NUMBERS = pd.Series(range(20))
ORDERED = (-NUMBERS, None, NUMBERS, NUMBERS[::-1])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda lm: lm.score([]), "there are no sentences"),
        (lambda lm: lm.score(["The cat sat.", " "]), "sentence 2 is ' ', which is no text"),
        (lambda lm: lm.score(["The cat sat.", None]), "sentence 2 is None, which is no text"),
        (lambda lm: lm.score(PAIRS), r"no columns \['sentence'\]. It has \['good'"),
        (lambda lm: lm.score(["A."], context={"C."}), "contexts are a set, which is no"),
        (lambda lm: lm.score(["A.", "B."], context=["C."]), "1 contexts for 2 texts"),
        (lambda lm: lm.score("A", bos="bos_first_excluded", context=""), "no scored token under"),
        (lambda lm: lm.next_words("A" * 62), "the context has 63 tokens.*window of 64. Shorten"),
        (lambda lm: lm.surprisal(" \n"), "no word in the texts"),
        (lambda lm: lm.compare(PAIRS[["good"]]), "columns \\['bad'\\]"),
        (lambda lm: lm.compare(PAIRS[["phenomenon"]]), r"no columns \['good', 'bad'\]"),
        (lambda lm: lm.compare(PAIRS.rename(columns=str.upper)), r"{good: GOOD, bad: BAD}\?"),
        (lambda lm: lm.compare(["It", "is"]), r"neither a data frame nor \(good, bad\)"),
        (lambda lm: lm.compare(PAIRS.to_dict("records")), r"by `pandas\.DataFrame\(records\)`"),
        (lambda lm: lm.compare(pd.concat([PAIRS, PAIRS["bad"]], axis=1)), "are named 'bad'"),
        (lambda lm: lm.score({"a": "The cat sat."}), "which is no list of texts"),
        (lambda lm: lm.score(Path("texts.txt")), "which is no list of texts"),
        (lambda lm: lm.surprisal(["A.", "B."], regions=["A.", None]), "text 2 has the regions N"),
        (lambda lm: lm.compare(PAIRS.assign(bad="")), "data row 1, column 'bad': an empty"),
        (lambda lm: lm.compare(PAIRS, by="phenomenom"), "Did you mean 'phenomenon'"),
        (lambda lm: lm.score(["A."], context=[["B", "C"]]), "context 1 is .*no text"),
        (lambda lm: lm.score("A.", context="B.", context_separator=1), "separator 1 is 1, which"),
        (lambda lm: lm.surprisal("A b.", regions=[["A", None]]), "because None is not at 'b.'"),
        (lambda lm: lm.next_tokens(["The cat"]), r"context 1 is \['The cat'\], which is no text"),
        (lambda lm: lm.next_words(None), "context 1 is None, which is no text"),
        (lambda lm: lm.next_words("The cat", top=2.5), "a whole `top` from 1"),
        (lambda lm: lm.score(PAIRS["good"], context=PAIRS["bad"][::-1]), "sentences and contexts"),
        (lambda lm: lm.tokens(PAIRS["good"], context=PAIRS["bad"][::-1]), "in different orders"),
        (lambda lm: lm.surprisal(PAIRS["bad"], regions=PAIRS["bad"][::-1]), "texts and regions ha"),
        (lambda lm: lingprob.fit_linking_functions(*ORDERED, clusters=None), "in different orders"),
        (lambda lm: lm.score("A.", bos="imported"), "unknown BOS policy 'imported'"),
        (lambda lm: lm.score("A.", bos="cls"), r"no single token for '\[CLS\]'"),
    ],
)
def test_wrong_input_of_calls_is_named(lm, call, said):
    with pytest.raises(LingprobError, match=said):
        call(lm)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("smolm2-135m", {}, "unknown model 'smolm2-135m'. Did you mean 'smollm2-135m'"),
        ("./absent", {}, "neither a folder that exists nor"),
        ("/absent/model", {"revision": "main"}, "neither a folder that exists nor"),
        ("some/model", {}, "which revision"),
        ("some/model@main", {"revision": "v1"}, "two revisions"),
        ("some/model/more", {"revision": "main"}, "neither a folder that exists nor"),
        ("tiny", {"config": {"model": {}}}, r"unknown key.*did you mean 'models'"),
        ("gpt2", {"config": "absent.yaml"}, "absent.yaml: cannot be read"),
        (".", {"family": "gtp2"}, "unknown family 'gtp2'. Did you mean 'gpt2'"),
    ],
)
def test_unknown_models_get_the_nearest_names(model, options, said):
    with pytest.raises(LingprobError, match=said):
        lingprob.load(model, **options)


def test_models_are_names_folders_or_repositories(folder):
    hub, (pinned, opt) = "EleutherAI/pythia-70m", map(Catalog().model, ("pythia-70m", "opt-125m"))
    revision = pinned["revision"]
    for given, options, expected, family in (
        ("pythia-70m", {}, revision, pinned),
        (hub, {}, revision, pinned),
        (f"{hub}@main", {}, "main", pinned),
        ("pythia-70m", {"revision": "step1000"}, "step1000", pinned),
        (hub, {"family": "opt"}, revision, opt),
        ("pythia-70m", {"family": "opt"}, revision, opt),
    ):
        name, plan = find_model(given, **options)
        entry = plan.catalog.model(name)
        assert "/" not in name
        assert (entry["repository"], entry["revision"]) == (hub, expected)
        for key in ("bos_policies", "unigrams", "tokenizer", "parameters"):
            assert entry[key] == (pinned if key == "parameters" else family)[key]
    for same in ({}, {"revision": revision, "family": "pythia"}):
        assert find_model("pythia-70m", **same)[0] == "pythia-70m"
    for given, said in ((folder / "tiny", "has no revision 'v1'"), ("smollm2-135m", "no reposi")):
        with pytest.raises(LingprobError, match=said):
            find_model(given, revision="v1")
    name, plan = find_model("some/model", revision="v1", family="gpt2")
    assert plan.catalog.model(name)["bos_policies"] == Catalog().model("gpt2")["bos_policies"]
    name, plan = find_model("some/model", revision=1234567)  # a commit without letters
    assert plan.catalog.model(name)["revision"] == "1234567"
    name, plan = find_model(folder / "tiny")
    assert plan.catalog.model(name)["bos_policies"][0] == "none"
    assert find_model(str(folder / "tiny"))[0] == name


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"source": "scores", "path": "scores.csv"}, r"file of log-probabilities \(scores\.csv\)"),
        ({"source": "trained"}, "is made by the workflow.*models/mine/manifest.json"),
        ({"source": "ngram"}, "is made by the workflow.*models/mine/manifest.json"),
        ({"source": "local", "path": "."}, "models cannot be kept there.*LINGPROB_CACHE"),
    ],
)
def test_models_that_cannot_be_prepared_say_why(tmp_path, entry, said):
    (tmp_path / "file").touch()
    with pytest.raises(LingprobError, match=said):
        cache.prepared_model("mine", entry, tmp_path / "file/models/mine/manifest.json")


def test_models_of_a_run_come_from_its_folder(tmp_path):
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
    odd = {**config, "reading": {"context": "sentence"}}
    odd |= {"scoring": {"dtype": "bfloat16", "device": "mps"}}
    options = {"config": odd, "cache": folder, "tokens_per_batch": 64}
    with pytest.raises(LingprobError, match="no Apple GPU"):
        lingprob.load("tiny", **options)
    with pytest.raises(LingprobError, match="tokens_per_batch: 0"):
        lingprob.load("tiny", **{**options, "tokens_per_batch": 0}, device="cpu")
    by_settings = lingprob.load("tiny", **options, device="cpu").provenance["dtype"]
    model = lingprob.load("tiny", **options, device="cpu", dtype="float32")
    assert (by_settings, model.provenance["dtype"]) == ("torch.bfloat16", "torch.float32")
    for scorer in (model.direction.scorer, model.direction.context_scorer):
        assert scorer.tokens_per_batch == 64
    surprisal = model.surprisal("The cat sat. The cat sat.")["surprisal"].tolist()
    assert surprisal[:3] == surprisal[3:]  # each sentence is read alone
    found = []
    for name in ("fed", "predicted"):
        counting = {**config, "reading": {"window_counts": name}}
        model = lingprob.load("tiny", config=counting, cache=folder)
        found.append(model.surprisal("The cat sat on the mat. " * 12)["surprisal"])
    assert not found[0].equals(found[1])  # longer than the window
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for variable, found in (("", tmp_path / "lingprob"), ("~/here", Path.home() / "here")):
        monkeypatch.setenv("LINGPROB_CACHE", variable)
        assert cache.cache_folder() == found
    assert cache.cache_folder("there") == Path("there")


@pytest.mark.parametrize(
    "entry",
    [
        {"source": "hub", "repository": "a/b", "revision": "v1"},
        {"source": "package", "package": "p", "version": "1", "sha256": "0"},
        {"source": "package", "wheels": [{"package": "p", "version": "1"}]},
        {"source": "local", "path": "."},
    ],
)
def test_a_prepared_model_is_of_one_entry(tmp_path, monkeypatch, entry):
    monkeypatch.chdir(tmp_path)
    manifest, part = Path("manifest.json"), entry.get("wheels", [entry])[0]
    write_manifest("m", entry["source"], origin_of(entry), Path(), manifest)
    assert cache.is_current(manifest, {**entry, "title": "M"})
    for key in part.keys() - {"source"}:
        with monkeypatch.context() as patched:
            patched.setitem(part, key, "..")
            assert not cache.is_current(manifest, entry)
    monkeypatch.setattr("lingprob.models.prepare.CONVERSION", 99)
    assert cache.is_current(manifest, entry) == ("sha256" not in entry)


def test_embeddings_of_another_revision_are_fetched(monkeypatch, tmp_path, plan):
    prepared, entry = [], {"source": "hub", "repository": "a/b", "context_window": 8}

    def prepare(name, entry, manifest):
        prepared.append(entry["revision"])
        manifest.parent.mkdir(parents=True, exist_ok=True)
        write_manifest(name, "hub", origin_of(entry), manifest.parent, manifest)

    monkeypatch.setattr("lingprob.models.prepare.prepare_embedding", prepare)
    embedder = "lingprob.pairs.embeddings.SentenceEmbedder"
    monkeypatch.setattr(embedder, lambda *_: lambda texts: np.eye(len(texts), dtype="float32"))
    monkeypatch.setattr(Catalog, "embedding", lambda *_: entry)
    for entry["revision"] in ("v1", "v1", "v2"):
        found = measure_distances(as_pairs(PAIRS, "en"), "en", plan, tmp_path, "cpu")
    assert found["cosine_distance"].tolist() == [1] * 4
    assert prepared == ["v1", "v2"]


def test_changed_files_are_prepared_again(tmp_path, monkeypatch):
    prepare = Mock(wraps=prepare_model)
    monkeypatch.setattr(cache, "prepare_model", prepare)
    load = partial(lingprob.load, save_tiny_model("gpt2", tmp_path / "mine"), cache=tmp_path)
    first = load()
    before = first.score(SENTENCES[0])
    assert load().score(SENTENCES[0]).equals(before)
    (tmp_path / "mine/model.safetensors").touch()  # another time, the same content
    load()
    assert prepare.call_count == 1
    save_tiny_model("gpt2", tmp_path / "mine", seed=1)
    changed = load()
    assert prepare.call_count == 2
    assert changed.provenance["files_digest"] != first.provenance["files_digest"]
    assert not changed.score(SENTENCES[0]).equals(before)


def test_unigrams_are_given_or_found(lm, plan, folder, unigrams, tmp_path):
    table = read_table(unigrams, "unigrams")
    csv, series = tmp_path / "unigrams.csv", table.set_index("token_id")["logprob"]
    table[["token_id", "logprob"]].to_csv(csv, index=False)
    for given in (series, series.to_dict(), table, unigrams, csv, "unigrahams_tiny", None):
        ((_, found),) = find_unigrams(given, "tiny", plan, folder).items()
        assert found.index.tolist() == series.index.tolist()
        np.testing.assert_allclose(found, series, rtol=1e-12)
    assert find_unigrams(None, "tiny", plan, tmp_path) == {}
    for source in ("unigrahams_tiny", "pile_published"):
        with pytest.raises(LingprobError, match=rf"{source}.*Make it.*snakemake --directory"):
            find_unigrams(source, "tiny", plan, tmp_path)
    with pytest.raises(LingprobError, match="no columns \\['logprob'\\]"):
        find_unigrams(table[["token_id"]], "tiny", plan, folder)
    for wrong, said in (
        (pd.concat([series, series[3:4]]), "'token_id': an id that an earlier row has: 3"),
        (series.mask(series.index == 4), "column 'logprob': no value"),
        (np.exp(series), "above 0, so no log-probability"),
        (series.to_frame().reset_index().assign(logprob=-np.inf), "infinite"),
    ):
        with pytest.raises(LingprobError, match=said):
            lingprob.load(folder / "tiny", unigrams=wrong, cache=folder)
    other = lingprob.load(folder / "tiny", unigrams=series, cache=folder)
    slor = lm.score(SENTENCES, bos="bos")["slor"]
    assert other.score(SENTENCES, bos="bos")["slor"].tolist() == slor.tolist()
    other.unigrams = {"short": series[:5]}
    with pytest.raises(LingprobError, match="made for another tokenizer"):
        other.score(SENTENCES)
    other.unigrams = {}
    assert "slor" not in other.score(SENTENCES).columns
