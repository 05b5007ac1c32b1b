"""Composed prefixes: which member of which pair stands where, and what controls change."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lingprob.context.compositions import (
    BLOCK,
    POOL,
    Composer,
    Sizes,
    composed_prefixes,
    shuffled,
    spread,
)
from lingprob.context.conditions import CONTROLS, DISTANCE, DOSE, DOSES, PLACE, SIDES, level_of
from lingprob.context.nonce import FUNCTION, NonceWriter, split_ending
from lingprob.context.perturbations import Perturber
from lingprob.context.sampling import generator, sample_targets
from lingprob.context.similarity import f1, words
from lingprob.errors import LingprobError
from lingprob.schemas import SCHEMAS

CONTROL = [f"Unrelated text number {number} is here." for number in range(30)]
SIZES = Sizes(longest=60, varied=40, block=10)


def words_as_tokens(texts):
    """Offsets of a tokenizer whose tokens are words with the blank before them."""
    return [
        np.array([match.span() for match in re.finditer(r"\s?\S+", text)]).reshape(-1, 2)
        for text in texts
    ]


@pytest.fixture
def stimuli() -> pd.DataFrame:
    """Four suites, two a phenomenon, of twenty pairs of five-word sentences."""
    names = [chr(ord("a") + n) * 3 for n in range(20)]
    rows = [
        {
            "item_id": f"{suite}{pair}{side}",
            "pair_id": f"{suite}{pair}",
            "text": f"The {suite} saw {names[pair]} {verb}.",
            "grammatical": side == "good",
            "phenomenon": suite[0],
            "paradigm": suite,
        }
        for suite in ("p1", "p2", "q1", "q2")
        for pair in range(20)
        for side, verb in (("good", "walking"), ("bad", "walked"))
    ]
    return pd.DataFrame(rows)


def composed(stimuli, **changes) -> pd.DataFrame:
    options = {
        "suites": [], "suites_drawn": 2, "pairs_per_suite": 2, "pairs_per_prefix": 2,
        "sizes": SIZES, "language": "en", "seed": 3,
    }  # fmt: skip
    options |= changes
    return pd.concat(
        composed_prefixes("mine", stimuli, CONTROL, words_as_tokens, **options), ignore_index=True
    )


def composer_of(stimuli, control=CONTROL) -> Composer:
    return Composer("mine", stimuli, control, words_as_tokens, sizes=SIZES, language="en", seed=0)


@pytest.fixture
def one_suite(stimuli) -> pd.DataFrame:
    """The prefixes of one suite's targets, by kind and level."""
    table = composed(stimuli, suites_drawn=1)
    return table.set_index(["kind", "perturbation"])


def sides(stimuli, source_ids) -> list[bool]:
    """Which sentences of a prefix are unacceptable."""
    return (~stimuli.set_index("item_id").loc[list(source_ids), "grammatical"]).tolist()


def test_the_table_is_one_of_prefixes_with_every_condition(stimuli):
    table = composed(stimuli)
    assert set(table.columns) == set(SCHEMAS["context_prefixes"].names)
    assert table["prefix_id"].is_unique
    conditions = {(DOSE, level_of(dose)) for dose in DOSES} | {(PLACE, "early"), (PLACE, "late")}
    conditions |= {(kind, side) for kind in (DISTANCE, *CONTROLS) for side in SIDES}
    for _, rows in table.groupby("suite"):
        assert set(zip(rows["kind"], rows["perturbation"], strict=True)) == conditions
    assert table["suite"].nunique() == 2


def test_doses_and_places_are_of_the_same_pairs_in_the_same_order(stimuli, one_suite):
    pair_of = stimuli.set_index("item_id")["pair_id"]
    order = pair_of[list(one_suite.loc[(DOSE, "0"), "source_ids"])].tolist()
    assert not set(order) & set(one_suite["pair_ids"].iloc[0])
    for dose in DOSES:
        prefix = one_suite.loc[(DOSE, level_of(dose))]
        unacceptable = sides(stimuli, prefix["source_ids"])
        assert pair_of[list(prefix["source_ids"])].tolist() == order[: len(unacceptable)]
        for first in range(0, len(unacceptable) - BLOCK + 1, BLOCK):
            assert sum(unacceptable[first : first + BLOCK]) == dose * BLOCK
        # 40 tokens are eight sentences, and 90 (1.5 times 60) all eighteen others.
        assert len(unacceptable) == (18 if dose in (0, 1) else 8)
    early, late = (sides(stimuli, one_suite.loc[(PLACE, place), "source_ids"])
                   for place in ("early", "late"))  # fmt: skip
    assert early == [True] * 4 + [False] * 4
    assert late == early[::-1]


def test_an_odd_number_of_sentences_has_as_many_unacceptable_ones_early_as_late(stimuli):
    table = composed(stimuli, suites_drawn=1, sizes=Sizes(60, 35, 10)).set_index(
        ["kind", "perturbation"]
    )
    early, late = (sides(stimuli, table.loc[(PLACE, place), "source_ids"])
                   for place in ("early", "late"))  # fmt: skip
    assert (early, late) == ([True] * 3 + [False] * 4, [False] * 4 + [True] * 3)


def test_unrelated_sentences_follow_a_block_and_are_the_same_on_both_sides(stimuli, one_suite):
    ids = {side: list(one_suite.loc[(DISTANCE, side), "source_ids"]) for side in SIDES}
    # 10 tokens are two sentences; 90 tokens are 15 of six words.
    assert sides(stimuli, ids["acceptable"][:2]) == [False, False]
    assert sides(stimuli, ids["unacceptable"][:2]) == [True, True]
    assert ids["acceptable"][2:] == ids["unacceptable"][2:]
    texts = [CONTROL[int(name.removeprefix("unrelated/"))] for name in ids["acceptable"][2:]]
    assert one_suite.loc[(DISTANCE, "acceptable"), "text"].endswith(" ".join(texts))
    assert len(texts) == len(set(texts)) == 15


def test_controls_keep_the_words_or_the_syntax_or_neither(stimuli, one_suite):
    text = stimuli.set_index("item_id")["text"]
    for side in SIDES:
        shuffled = one_suite.loc[("shuffled", side)]
        originals = text[list(shuffled["source_ids"])].tolist()
        assert Counter(words(shuffled["text"])) == Counter(words(" ".join(originals)))
        assert shuffled["text"] != " ".join(originals)
        assert len(originals) == 8  # 40 tokens
        nonce = one_suite.loc[("nonce", side)]
        pattern = r"(The \w+ \w+ \w+ \w+" + {"acceptable": "ing", "unacceptable": "ed"}[side]
        assert re.fullmatch(rf"{pattern}\. ?)+", nonce["text"])
        assert not set(words(nonce["text"])) & (set(words(" ".join(text))) - {"the"})
    alike = one_suite.loc[("overlap_matched", "acceptable")]
    described = stimuli.set_index("item_id").loc[list(alike["source_ids"])]
    assert set(described["phenomenon"]) == {"p", "q"} - {one_suite["suite"].iloc[0][0]}
    assert described["grammatical"].all()
    assert len(set(alike["source_ids"])) == 8


def test_sentences_of_others_are_as_like_the_targets_as_can_be(stimuli):
    """Targets share one word with most sentences, and two with those of the same name."""
    table = composed(stimuli, suites_drawn=1, pairs_per_suite=1).set_index(["kind", "perturbation"])
    text = stimuli.set_index("item_id")["text"]
    target = text[[f"{table['pair_ids'].iloc[0][0]}{side}" for side in ("good", "bad")]]
    for key in ((DOSE, "0"), ("overlap_matched", "acceptable")):
        prefix = table.loc[key]
        expected = np.mean([f1(words(text[one]), words(two))
                            for one in prefix["source_ids"][:8] for two in target])  # fmt: skip
        assert prefix["similarity"] == pytest.approx(expected)
    own, alike = (table.loc[key, "similarity"]
                  for key in ((DOSE, "0"), ("overlap_matched", "acceptable")))  # fmt: skip
    # A sentence of an own suite shares the suite's name, too, unless another has the target's name.
    assert 0 < own - alike <= 0.2


def test_the_nearest_sentences_of_others_are_taken(stimuli):
    """Names make some of the others' sentences like the targets, by a little or much."""
    composer = composer_of(stimuli)
    targets = ["The p1 saw aaa walking.", "The q1 saw bbb bbb bbb."]

    def like(pair) -> float:
        return float(np.mean([f1(words(text), words(two)) for text in pair for two in targets]))

    own = composer.pairs.taken(np.flatnonzero(composer.suites == "p1"))
    chosen = composer._alike("p1", own, targets, generator(5))
    left = [like(pair) for pair in composer.pairs.texts[composer.phenomena == "q"]]
    for mine, found in zip(own.texts, chosen.texts, strict=False):
        nearest = min(abs(other - like(mine)) for other in left)
        assert abs(like(found) - like(mine)) == pytest.approx(nearest)
        left.remove(like(found))
    assert len(chosen.texts) == 16  # twice 40 tokens of five a sentence
    assert POOL == 5000  # so many pairs are looked at, at most


def test_a_sentence_stands_in_a_prefix_once_and_never_before_itself(stimuli):
    target = stimuli[stimuli["paradigm"] == "p1"]["text"].iloc[0]
    twice = stimuli["item_id"].isin([f"p1{pair}good" for pair in (3, 4, 5)])
    same = stimuli.assign(text=stimuli["text"].mask(twice, target))
    composer = composer_of(same)
    rows = np.flatnonzero(composer.suites == "p1")
    drawn = composer._drawn(rows, [], generator(0)).texts.ravel().tolist()
    assert len(drawn) == len(set(drawn)) == 2 * 17
    assert target not in composer._drawn(rows, [target], generator(0)).texts
    alike = stimuli.assign(text=stimuli["text"].mask(stimuli["pair_id"] == "p19", "The same."))
    drawn = composer_of(alike)._drawn(rows, [], generator(0))
    assert len(drawn.ids) == 19
    assert "The same." not in drawn.texts


def test_a_draw_depends_on_the_seed_the_data_set_and_the_targets(stimuli, one_suite):
    """Other pairs of the suite in the order of one permutation, with pairs taken by name."""
    prefix = one_suite.loc[(DOSE, "0")]
    targets = list(prefix["pair_ids"])
    of_suite = stimuli.loc[stimuli["paradigm"] == prefix["suite"], "pair_id"]
    others = np.array(sorted(set(of_suite) - set(targets)))
    rng = generator(3, "mine", *targets, "composed")
    expected = others[rng.permutation(len(others))]
    assert list(prefix["source_ids"]) == [f"{pair}good" for pair in expected]
    order = generator(3, "mine", "composed").permutation(["p1", "p2", "q1", "q2"])
    for count in (1, 2, 3):
        assert set(composed(stimuli, suites_drawn=count)["suite"]) == set(order[:count])


def test_targets_are_dealt_to_groups_that_share_their_prefixes(stimuli):
    table = composed(stimuli, suites_drawn=1, pairs_per_suite=5)
    groups = table.drop_duplicates("prefix_id")["pair_ids"].map(tuple).drop_duplicates().tolist()
    assert [len(group) for group in groups] == [2, 2, 1]
    sampled = sample_targets("mine", stimuli, [table["suite"].iloc[0]], 5, 3)["pair_id"]
    assert [pair for group in groups for pair in group] == sampled.tolist()


def test_two_sentences_are_enough(stimuli):
    table = composed(stimuli, suites_drawn=1, sizes=Sizes(60, 10, 5))
    assert table.loc[table["kind"] == PLACE, "source_ids"].map(len).tolist() == [2, 2]


def test_as_many_short_unrelated_sentences_follow_as_have_the_longest_length(stimuli):
    composer = composer_of(stimuli, [f"Word{number}." for number in range(100)])
    block = composer.pairs.taken(np.arange(2))
    ids, texts = composer._distances(block, generator(0))[(DISTANCE, "acceptable")]
    assert len(ids) == len(texts) == 2 + 90  # 1.5 times 60 tokens, one a sentence


def test_a_shuffled_question_stays_one():
    perturber = Perturber(["Who did Kim meet?"])
    found = {shuffled("Who did Kim meet?", perturber, np.random.default_rng(n)) for n in range(9)}
    assert all(sorted(words(one)) == ["did", "kim", "meet", "who"] for one in found)
    assert all(one.endswith("?") and one[0].isupper() for one in found)
    assert len(found) > 2


def test_a_larger_sample_contains_a_smaller_one_and_targets_are_sampled_ones(stimuli):
    small, large = composed(stimuli, suites_drawn=1), composed(stimuli, suites_drawn=3)
    kept = large[large["prefix_id"].isin(small["prefix_id"])].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, small)
    sampled = sample_targets("mine", stimuli, [], 5, 3)["pair_id"]
    assert {pair for ids in large["pair_ids"] for pair in ids} <= set(sampled)
    other = composed(stimuli, suites_drawn=1, seed=4)
    assert set(other["prefix_id"]) != set(small["prefix_id"])


def test_without_other_suites_or_english_words_there_are_fewer_controls(stimuli, caplog):
    alone = composed(stimuli[stimuli["paradigm"] == "p1"], suites_drawn=9)
    assert set(alone["kind"]) == {DOSE, PLACE, DISTANCE, "nonce", "shuffled"}
    assert not caplog.records
    german = composed(stimuli, language="de")
    assert "mine is in 'de': no nonce words" in caplog.text
    assert set(german["kind"]) == {DOSE, PLACE, DISTANCE, "overlap_matched", "shuffled"}
    blockless = composed(stimuli, sizes=Sizes(60, 40, 4))
    assert set(blockless["kind"]) == {DOSE, PLACE, *CONTROLS}
    nameless = composed(stimuli.assign(phenomenon=None), suites_drawn=1)
    shown = nameless.set_index("kind").loc["overlap_matched", "source_ids"].iloc[0]
    assert nameless["suite"].iloc[0] not in {name[:2] for name in shown}


def test_a_length_that_no_two_pairs_fit_is_refused(stimuli):
    with pytest.raises(LingprobError, match=r"'mine', suite '..': 1 other pairs fit 9 tokens"):
        composed(stimuli, sizes=Sizes(60, 9, 5))


def test_suites_without_two_pairs_beside_the_targets_are_left_out_and_named(stimuli, caplog):
    kept = {"p1": 20, "p2": 4, "q1": 3, "q2": 20}
    few = stimuli[stimuli["pair_id"].str[2:].astype(int) < stimuli["paradigm"].map(kept)]
    table = composed(few, suites_drawn=9)
    assert set(table["suite"]) == {"p1", "p2", "q2"}
    assert [r.getMessage() for r in caplog.records if "no composed prefixes for q1:" in r.message]
    first = composed(few, suites_drawn=3)  # a suite that is left out takes no other's place
    pd.testing.assert_frame_equal(first, table)
    with pytest.raises(LingprobError, match=r"'mine'.*every suite.*composed_suites to 0"):
        composed(few[few["paradigm"] == "q1"])


@given(st.integers(0, 40), st.integers(0, 9))
def test_each_dose_is_its_share_of_every_block_and_in_every_higher_one(count, seed):
    rng, other = generator(seed), generator(seed)
    ranks = spread(count, rng)
    assert len(ranks) == count
    for _ in range(0, count, BLOCK):
        other.permutation(BLOCK)
    assert rng.random() == other.random()  # no more blocks are drawn than are needed
    for lower, higher in pairwise(DOSES):
        assert set(np.flatnonzero(ranks < lower)) <= set(np.flatnonzero(ranks < higher))
    for first in range(0, count - BLOCK + 1, BLOCK):
        assert sorted(ranks[first : first + BLOCK]) == [0, 0.25, 0.5, 0.75]


@given(st.lists(st.integers(1, 9), min_size=2, max_size=12), st.integers(1, 60))
def test_pairs_are_taken_as_long_as_their_longer_members_fit(lengths, tokens):
    rows = [
        {"item_id": f"{n}{side}", "pair_id": f"{n:02}", "paradigm": "s", "phenomenon": "p",
         "text": f"{n} {side}" + " x" * (length + (side == "b")), "grammatical": side == "a"}
        for n, length in enumerate(lengths) for side in "ab"
    ]  # fmt: skip
    composer = Composer("d", pd.DataFrame(rows), [], words_as_tokens, sizes=SIZES,
                        language="de", seed=0)  # fmt: skip
    found, total = 0, 0
    for length in lengths:
        total += length + 3
        if total > tokens:
            break
        found += 1
    assert len(composer._within(composer.pairs, tokens).ids) == found


@pytest.mark.parametrize(
    ("word", "stem", "ending"),
    [
        ("hugs", "hug", "s"), ("hugged", "hug", "ed"), ("making", "mak", "ing"),
        ("make", "mak", ""), ("kissing", "kiss", "ing"), ("glass", "glass", ""),
        ("going", "go", "ing"), ("need", "need", ""), ("sing", "sing", ""), ("red", "red", ""),
        ("boy's", "boy", "'s"), ("women", "women", "s"), ("quickly", "quick", "ly"),
        ("os", "os", ""), ("stopped", "stop", "ed"), ("eggs", "egg", "s"), ("bus", "bus", ""),
    ],
)  # fmt: skip
def test_endings_are_split_from_stems(word, stem, ending):
    assert split_ending(word) == (stem, ending)


def test_a_stem_has_one_nonce_word_and_function_words_stay():
    writer = NonceWriter(["The dogs hug a dog."], 1)
    text = writer.rewrite("Dogs that hugged a dog couldn't hug Mary's dog, not even now.")
    found = re.fullmatch(
        r"(\w+)s that (\w+)ed a (\w+) couldn't (\w+) (\w+)'s (\w+), not even now\.", text
    )
    assert found, text
    plural, hugged, dog, hug, name, again = found.groups()
    assert plural == dog.capitalize()
    assert (dog, hug, name) == (again, hugged, name.capitalize())
    assert (dog + hug).islower()
    assert NonceWriter([], 1).rewrite("dog") == dog
    assert NonceWriter([], 2).rewrite("dog") != dog
    assert NonceWriter([f"A {dog}."], 1).rewrite("dog") != dog


@given(st.lists(st.sampled_from(sorted(FUNCTION)), min_size=1).map(" ".join))
def test_a_sentence_of_function_words_stays(sentence):
    assert NonceWriter([], 0).rewrite(sentence) == sentence
