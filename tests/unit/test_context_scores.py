"""Scores in context against plain forward passes, and judgments of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.context.judgments import judge
from lingprob.context.scores import Targets, formula_regions, score_prefixes
from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.scoring.continuations import sum_tokens
from lingprob.scoring.engine import Scorer
from lingprob.stimuli.formulas import parse_formula
from lingprob.stimuli.syntaxgym import Item, Region, Suite, item_id, join_regions
from models_for_tests import save_tiny_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_language_model(save_tiny_model("gpt2", tmp_path_factory.mktemp("tiny")))


PAIRS = pd.DataFrame(
    {
        "item_id": ["1g", "1b", "2g", "2b"], "pair_id": ["1", "1", "2", "2"],
        "condition": ["good", "bad", "good", "bad"],
        "text": ["The cat sat.", "Sat cat the.", "Who did John see?", "Who John did see?"],
        "grammatical": [True, False, True, False], "phenomenon": ["p"] * 4,
        "paradigm": ["s", "s", "t", "t"],
    }
)  # fmt: skip
PREFIX = "The mats. The cats sat."


def prefix_rows(pair_ids, kind="matched_acceptable", text=PREFIX, char_ends=(9, 23)):
    return pd.DataFrame(
        {
            "prefix_id": ["x"], "kind": [kind], "suite": ["s"], "source_suite": [None],
            "perturbation": [None], "pair_ids": [pair_ids], "text": [text],
            "char_ends": [list(char_ends)],
        }
    )  # fmt: skip


def counted(lm, prefixes):
    counts = [
        [len(tokens.ids) for tokens in lm.tokenize([row.text[:end] for end in row.char_ends])]
        for row in prefixes.itertuples()
    ]
    return prefixes.assign(n_tokens=counts)


def score(lm, prefixes, lengths, stimuli=PAIRS, **changes):
    targets = Targets("mine", stimuli, changes.pop("regions", {}))
    options = {"start_token": "bos", "alone": True, **changes}
    return pd.concat(
        score_prefixes(Scorer(lm), targets, [counted(lm, prefixes)], lengths, **options)
    )


def plain(lm, text, start, end):
    """Sum of ln p over the tokens that start in text[start:end], by one plain float64 pass."""
    tokens = lm.tokenize([text])[0]
    ids = torch.tensor([[0, *tokens.ids.tolist()]])
    with torch.no_grad():
        logits = lm.model(ids).logits[0].double()
    logprobs = torch.log_softmax(logits[:-1], -1)[torch.arange(ids.shape[1] - 1), ids[0, 1:]]
    inside = (tokens.char_start >= start) & (tokens.char_start < end)
    return float(logprobs.numpy()[inside].sum()), int(inside.sum())


def test_scores_equal_a_plain_pass_at_every_length(tiny):
    prefixes = prefix_rows(["1"])
    counts = counted(tiny, prefixes)["n_tokens"].iloc[0]
    scores = score(tiny, prefixes, [counts[0] + 1, 100])
    assert sorted(scores["prefix_tokens"].unique()) == [0, *counts]
    assert sorted(scores["n_sentences"].unique()) == [0, 1, 2]
    assert set(scores["pair_id"]) == {"1"}  # even alone: the other has no prefix
    for row in scores.itertuples():
        before = {0: "", 1: PREFIX[:9] + " ", 2: PREFIX + " "}[row.n_sentences]
        text = before + PAIRS.set_index("item_id").loc[row.item_id, "text"]
        # The space before the target is the first of its characters.
        logprob, n_tokens = plain(tiny, text, max(len(before) - 1, 0), len(text))
        assert row.logprob == pytest.approx(logprob, abs=1e-4)
        assert row.n_tokens == n_tokens
    glued = score(tiny, prefixes, [100], alone=False, separator="\n").set_index("item_id")
    text = f"{PREFIX}\nThe cat sat."
    expected = plain(tiny, text, len(PREFIX), len(text))
    assert glued.loc["1g", ["logprob", "n_tokens"]].tolist() == pytest.approx(expected, abs=1e-4)


def test_a_first_token_counts_wherever_something_precedes_it(tiny):
    prefixes = prefix_rows(["1"])
    keys = ["length", "item_id"]
    after_bos = score(tiny, prefixes, [100]).set_index(keys)["n_tokens"]
    alone = score(tiny, prefixes, [100], start_token="none").set_index(keys)["n_tokens"]
    missing = after_bos - alone
    assert missing[missing.index.get_level_values("length") == 0].eq(1).all()
    assert missing[missing.index.get_level_values("length") > 0].eq(0).all()


def test_another_suite_s_prefix_precedes_many_pairs(tiny):
    """Its number of sentences is fixed for plain pairs. Before regions, lengths limit it."""
    texts = zip(PAIRS["item_id"], PAIRS["text"], strict=True)
    regions = {item: [Region(0, 0, len(text))] for item, text in texts}
    three = prefix_rows(["1", "2"], "from_suite", f"{PREFIX} It is.", (9, 23, 30))
    _, second, third = counted(tiny, three)["n_tokens"].iloc[0]
    for options, longest, sentences, length in (
        ({}, 100, 3, third), ({}, second, 3, third), ({"regions": regions}, second, 2, second),
        ({"regions": regions}, 100, 3, third),
    ):  # fmt: skip
        scores = score(tiny, three, [3, longest], **options)
        after = scores[scores["prefix_id"] == "x"]
        assert set(after["item_id"]) == set(PAIRS["item_id"])
        assert set(zip(after["n_sentences"], after["length"], strict=True)) == {(sentences, length)}


def test_where_the_window_ends_a_prefix_does(tiny):
    """The tiny window has 64 tokens."""
    text = " ".join(["The cats sat."] * 12)
    prefixes = prefix_rows(["1", "2"], text=text, char_ends=[14 * n + 13 for n in range(12)])
    assert counted(tiny, prefixes)["n_tokens"].iloc[0][-1] > 70
    scores = score(tiny, prefixes, [1000])
    after = scores[scores["prefix_id"] == "x"]
    assert set(after["length"]) == {1000}, "a curve has the lengths asked for and no others"
    sentences = after["n_sentences"].iloc[0]
    assert 0 < sentences < 12
    assert (after["prefix_tokens"] + after["n_tokens"]).max() <= 63
    with_next = counted(tiny, prefixes)["n_tokens"].iloc[0][sentences]
    assert with_next + after["n_tokens"].max() > 63


def test_lengths_below_every_sentence_are_refused(tiny):
    with pytest.raises(LingprobError, match="no prefix has a whole sentence within 2 tokens"):
        score(tiny, prefix_rows(["1"]), [1, 2])


def suite_of(texts, *formulas):
    """A suite of one item whose conditions have these regions."""
    sentences = {
        name: join_regions(list(enumerate(regions, start=1))) for name, regions in texts.items()
    }
    return Suite("s", tuple(parse_formula(one, "s") for one in formulas), (Item(1, sentences),))


def suite_stimuli(suite):
    return pd.DataFrame(
        [
            {
                "item_id": item_id("s", 1, name), "pair_id": "s/1", "condition": name,
                "text": sentence.text, "grammatical": None, "phenomenon": "p", "paradigm": "s",
            }
            for name, sentence in suite.items[0].sentences.items()
        ]
    )  # fmt: skip


REGIONS = {"one": ["The cat", "sat", "on it"], "many": ["The cats", "", "sits", "on it"]}


def test_regions_sum_the_tokens_that_start_in_them(tiny):
    """The comma starts at the end of the region before it."""
    texts = {**REGIONS, "one": ["The cat", "sat", ", on it"]}
    suite = suite_of(texts, "((2;%one%) + (3;%one%)) < (3;%many%)")
    stimuli = suite_stimuli(suite)
    scores = score(
        tiny, prefix_rows(["s/1"]), [100], stimuli=stimuli, regions=formula_regions([suite])
    )
    regions = scores[scores["region"] > 0].set_index(["prefix_id", "item_id", "region"])
    assert len(regions) == 6
    for before, name in (("", "none"), (PREFIX + " ", "x")):
        expected = plain(tiny, f"{before}The cat sat, on it", len(before) + 7, len(before) + 11)
        found = regions.loc[(name, "s/1/one", 2), ["logprob", "n_tokens"]]
        assert found.tolist() == pytest.approx(list(expected), abs=1e-4)
        expected = plain(tiny, f"{before}The cats sits on it", len(before) + 8, len(before) + 13)
        found = regions.loc[(name, "s/1/many", 3), ["logprob", "n_tokens"]]
        assert found.tolist() == pytest.approx(list(expected), abs=1e-4)


def test_only_regions_in_formulas_are_scored(tiny):
    """The last word of one sentence is in no named region. The other is named whole."""
    texts = {"one": ["The cat", "sat", "on the mats"], "many": ["The cats", "sat", "on it"]}
    suite = suite_of(texts, "(2;%one%) < (*;%many%)")
    stimuli, regions = suite_stimuli(suite), formula_regions([suite])
    scores = score(tiny, prefix_rows(["s/1"]), [100], stimuli=stimuli, regions=regions)
    after = scores[scores["prefix_id"] == "x"].set_index("item_id")
    assert after["region"].to_dict() == {"s/1/one": 2, "s/1/many": 0}
    before = PREFIX + " "
    for item, start, end in (("one", 7, 11), ("many", -1, 18)):
        text = f"{before}{' '.join(texts[item])}"
        expected = plain(tiny, text, len(before) + start, len(before) + end)
        found = after.loc[f"s/1/{item}", ["logprob", "n_tokens"]].tolist()
        assert found == pytest.approx(list(expected), abs=1e-4)
    alone = scores[scores["prefix_id"] == "none"].set_index("item_id")
    assert alone["region"].to_dict() == {"s/1/one": 2, "s/1/many": 0}


@pytest.mark.parametrize(
    ("formula", "item"),
    [("(1;%one%) < (1;%many%)", "s/1/one"), ("(2;%one%) < (1;%many%)", "s/1/many")],
)
def test_a_region_without_a_token_is_named(tiny, formula, item):
    """Without a start token nothing predicts the first word."""
    suite = suite_of({"one": ["The", "cat"], "many": ["The", "cats"]}, formula)
    with pytest.raises(LingprobError, match=f"'{item}': no scored token starts in region 1"):
        score(
            tiny, prefix_rows(["s/1"]), [100], stimuli=suite_stimuli(suite),
            regions=formula_regions([suite]), start_token="none",
        )  # fmt: skip


def test_regions_without_tokens_are_found_among_many(tiny):
    """At two lengths either item has one of two regions: as many rows as items and lengths."""
    texts = {"one": ["The cat", "", "sat"], "many": ["The cats", "", "sat"]}
    suite = suite_of(texts, "(1;%one%) < (2;%one%) & (1;%many%) < (2;%many%)")
    prefixes = prefix_rows(["s/1"])
    lengths = counted(tiny, prefixes)["n_tokens"].iloc[0]
    options = {"stimuli": suite_stimuli(suite), "regions": formula_regions([suite])}
    with pytest.raises(LingprobError, match="'s/1/one': no scored token starts in region 2"):
        score(tiny, prefixes, lengths, alone=False, **options)
    alone = PAIRS.assign(text=["The", *PAIRS["text"][1:]])
    with pytest.raises(LingprobError, match="'1g': no scored token starts in the sentence"):
        score(tiny, prefixes.assign(pair_ids=[["1"]]), lengths, stimuli=alone, start_token="none")


def test_suite_items_are_scored_alone_or_after_prefixes(tiny):
    suite = suite_of(REGIONS, "(2;%one%) < (3;%many%)")
    one, regions = suite_stimuli(suite), formula_regions([suite])
    two = one.assign(pair_id="s/2", item_id=one["item_id"].str.replace("s/1", "s/2"))
    regions |= {name.replace("s/1", "s/2"): named for name, named in regions.items()}
    scores = score(
        tiny, prefix_rows(["s/1"]), [100], stimuli=pd.concat([one, two]), regions=regions
    )
    by = scores.groupby("prefix_id")["pair_id"].unique().map(list).to_dict()
    assert by == {"x": ["s/1"], "none": ["s/1", "s/2"]}


def scores_of(values, region=0):
    """A table: ln p of every sentence by (prefix_id, length), of two tokens if it is good."""
    rows = [
        {
            "prefix_id": prefix_id, "length": length, "prefix_tokens": length, "n_sentences": 1,
            "pair_id": "1", "item_id": item, "region": region, "logprob": logprob,
            "n_tokens": 1 + item.endswith("g"),
        }
        for (prefix_id, length), items in values.items()
        for item, logprob in items.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_the_likelier_sentence_is_right_with_perplexity_margins():
    scores = scores_of({("none", 0): {"1g": -2.0, "1b": -4.0}, ("x", 5): {"1g": -4.0, "1b": -2.0},
                        ("x", 9): {"1g": -2.0, "1b": -2.0}})  # fmt: skip
    judged = judge("m", "mine", PAIRS, prefix_rows(["1"]), scores, [])
    judged = judged.sort_values("length")
    assert judged["correct"].tolist() == [True, False, False]
    expected = [np.exp(4) - np.exp(1), 0, np.exp(2) - np.exp(1)]
    assert judged["margin"].tolist() == pytest.approx(expected)
    assert judged["kind"].tolist() == ["none", "matched_acceptable", "matched_acceptable"]
    assert set(judged["suite"]) == {"s"}


def test_a_judgment_has_its_prefix_s_fewest_tokens():
    """A target whose first token begins in the prefix takes a token from it. Pairs are by name."""
    scores = scores_of({("x", 5): {"1g": -2.0, "1b": -4.0, "2g": -3.0, "2b": -1.0}})
    scores["pair_id"] = scores["item_id"].str[0]
    scores["prefix_tokens"] = [5, 4, 5, 5]
    judged = judge("m", "mine", PAIRS, prefix_rows(["1", "2"]), scores[::-1], [])
    judged = judged.set_index("pair_id")
    assert judged["prefix_tokens"].to_dict() == {"1": 4, "2": 5}
    assert judged["correct"].to_dict() == {"1": True, "2": False}
    assert judged["suite"].to_dict() == {"1": "s", "2": "t"}


def test_tokens_are_summed_in_float64():
    """In float32 the sum of these thirds is off by more than 1e-6. The first token has no score."""
    tokens = pd.DataFrame({
        "item_index": 0, "cut_index": 0, "target_index": 0, "prefix_tokens": 7,
        "logprob": np.array([np.nan] + [-1 / 3] * 400, dtype=np.float32),
    })  # fmt: skip
    (row,) = sum_tokens(tokens).itertuples()
    assert (row.n_tokens, row.prefix_tokens) == (400, 7)
    assert row.logprob == pytest.approx(400 * float(np.float32(-1 / 3)), abs=1e-10)


def test_items_are_right_if_their_formula_is():
    suite = suite_of(REGIONS, "(2;%one%) < (3;%many%)", "(3;%many%) < (2;%one%)")
    # Surprisal of region 2 of one against region 3 of many, in that order, at two lengths.
    values = {("none", 0): (-1.0, -3.0), ("x", 5): (-3.0, -1.0)}
    tables = [
        scores_of({key: {"s/1/one": pair[0]} for key, pair in values.items()}, region=2),
        scores_of({key: {"s/1/many": pair[1]} for key, pair in values.items()}, region=3),
    ]
    scores = pd.concat(tables).assign(pair_id="s/1")
    suites = [replace(suite, name="not drawn"), suite]
    judged = judge("m", "d", suite_stimuli(suite), prefix_rows(["s/1"]), scores, suites)
    assert judged.sort_values("length")["correct"].tolist() == [True, False]
    # Surprisals are in bits: 1 nat is 1.44.
    for limit, correct in ((1.4, False), (1.5, True)):
        suite = suite_of(REGIONS, f"(2;%one%) < {limit}")
        judged = judge("m", "d", suite_stimuli(suite), prefix_rows(["s/1"]), scores, [suite])
        assert judged.sort_values("length")["correct"].tolist() == [correct, False]
    assert judged["margin"].isna().all()


def test_pieces_of_any_size_give_the_same_judgments(tiny, monkeypatch):
    one, two = prefix_rows(["1", "2"]), prefix_rows(["2"], text="It is.", char_ends=(6,))
    prefixes = pd.concat([one, two.assign(prefix_id="y")], ignore_index=True)
    whole = score(tiny, prefixes, [5, 20])
    options = {"start_token": "bos", "alone": True}
    targets = Targets("mine", PAIRS, {})
    given = counted(tiny, prefixes)
    monkeypatch.setattr("lingprob.context.scores.PAIRS_ALONE", 1)
    pieces = [*score_prefixes(Scorer(tiny), targets, [given], [5, 20], **options)]
    assert [set(piece["prefix_id"]) for piece in pieces] == [{"x", "y"}, {"none"}]
    assert sorted(pieces[1]["item_id"]) == sorted(PAIRS["item_id"])
    monkeypatch.undo()
    monkeypatch.setattr("lingprob.context.scores.SENTENCES_AT_ONCE", 0)
    given = [rows for _, rows in given.groupby("prefix_id", sort=False)]
    pieces = [*score_prefixes(Scorer(tiny), targets, given, [5, 20], **options)]
    assert [set(piece["prefix_id"]) for piece in pieces] == [{"x"}, {"y"}, {"none"}]
    pd.testing.assert_frame_equal(
        pd.concat(pieces, ignore_index=True), whole.reset_index(drop=True), rtol=0, atol=1e-4
    )
    judged = [judge("m", "mine", PAIRS, prefixes, piece, []) for piece in pieces]
    both = (pd.concat(judged), judge("m", "mine", PAIRS, prefixes, whole, []))
    keys = ["prefix_id", "length", "pair_id"]
    pd.testing.assert_frame_equal(*(one.sort_values(keys, ignore_index=True) for one in both))


def test_pairs_without_room_for_prefixes_are_refused(tiny):
    """The window without the start token is as long as the longest member of all pairs."""
    prefixes = prefix_rows(["1", "2"], text="A. The cats sat.", char_ends=(2, 16))
    tokens = max(len(one.ids) for one in tiny.tokenize(list(" " + PAIRS["text"])))
    assert len(score(tiny, prefixes, [30], alone=False)) == 4
    short = replace(tiny, context_window=tokens + 1)  # with the start token
    said = rf"'mine', pair '2': {tokens} tokens .* room for {tokens}\."
    with pytest.raises(LingprobError, match=said):
        score(short, prefixes, [30], alone=False)
