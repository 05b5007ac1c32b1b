"""Prefixes: their sentences, growth, joining and perturbations."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from lingprob.context.judgments import with_suites
from lingprob.context.names import FROM_SUITE, KINDS, pairs_per_suite
from lingprob.context.perturbations import PERTURBATIONS, Perturber, perturbed_prefixes
from lingprob.context.prefixes import (
    control_sentences,
    count_tokens,
    joined,
    natural,
    sentences_within,
    tokenizer_of,
    unrelated_sentences,
)
from lingprob.context.sampling import PrefixSampler, Source, sample_contexts, sample_targets
from lingprob.errors import LingprobError
from lingprob.models.folders import write_manifest
from models_for_tests import save_tiny_model

CONTROL = [f"Unrelated text number {number} is here." for number in range(30)]


def words_as_tokens(texts):
    """Offsets of a tokenizer whose tokens are words with the space before them."""
    return [
        np.array([match.span() for match in re.finditer(r"\s?\S+", text)]).reshape(-1, 2)
        for text in texts
    ]


def pairs(suites: str = "abc", count: int = 10) -> pd.DataFrame:
    """Suites of pairs of four-word sentences."""
    rows = [
        (f"{suite}{pair}{side}", f"{suite}{pair}", side, f"Sentence {suite} {pair} {side}.",
         side == "good", "p", suite)
        for suite in suites for pair in range(count) for side in ("good", "bad")
    ]  # fmt: skip
    columns = ["item_id", "pair_id", "condition", "text", "grammatical", "phenomenon", "paradigm"]
    return pd.DataFrame(rows, columns=columns).astype({"grammatical": object})


@pytest.fixture
def stimuli() -> pd.DataFrame:
    return pairs()


def with_texts(table: pd.DataFrame, texts: dict[str, str]) -> pd.DataFrame:
    """Replace the texts of some items."""
    return table.assign(text=table["item_id"].map(dict(table[["item_id", "text"]].values) | texts))


class Drawn(PrefixSampler):
    """A sampler whose prefixes have their sentences."""

    def _row(self, chosen, **about):
        row = super()._row(chosen, **about)
        return SimpleNamespace(**row, sentences=[self.texts[one] for one in chosen], row=row)


def sampler(stimuli, **changes) -> Drawn:
    lengths = [changes.pop("min_tokens", 4), changes.pop("max_tokens", 1000)]
    return Drawn(source_of(stimuli, **changes), lengths, seed=1)


def source_of(stimuli, **changes) -> Source:
    return Source("mine", stimuli, CONTROL, words_as_tokens)._replace(**changes)


def drawn_pieces(stimuli, dataset="mine", seed=1, suites=(), pairs_per_suite=2, **changes):
    settings = {"lengths": [4, 8, 20], "pairs_per_prefix": 1, "matrix_sentences": 3,
                "matrix_prefixes": 1, "matrix_targets": None}  # fmt: skip
    source = source_of(stimuli, dataset=dataset, suites=suites)
    return sample_contexts(source, pairs_per_suite, {**settings, **changes}, seed)


def contexts(stimuli, *args, **changes):
    return pd.concat(drawn_pieces(stimuli, *args, **changes), ignore_index=True)


def test_each_kind_draws_from_its_own_sentences(stimuli):
    described = stimuli.set_index("item_id")
    expected = {
        "matched_acceptable": ({"a"}, True), "matched_unacceptable": ({"a"}, False),
        "mismatched_acceptable": ({"b", "c"}, True), "mismatched_unacceptable": ({"b", "c"}, False),
    }  # fmt: skip
    orders = set()
    for kind, (suites, grammatical) in expected.items():
        prefix = sampler(stimuli, max_tokens=30).grow("a", ["a3"], kind)
        sources = described.loc[list(prefix.source_ids)]
        assert set(sources["paradigm"]) <= suites
        assert set(sources["grammatical"]) == {grammatical}
        assert "a3" not in set(sources["pair_id"])
        orders.add(tuple(sources["pair_id"]))
    assert len(orders) == 4  # each kind draws for itself
    unrelated = sampler(stimuli).grow("a", ["a3"], "unrelated")
    assert set(unrelated.sentences) <= set(CONTROL)


def good(suite: str, *but: int) -> set[str]:
    """Items of a suite's acceptable sentences, but of some pairs."""
    return {f"{suite}{pair}good" for pair in range(10) if pair not in but}


@pytest.mark.parametrize(
    ("texts", "suites", "kind", "drawn"),
    [
        # Words of the target.
        ({"a7good": "Sentence a 3 good."}, (), "matched_acceptable", good("a", 3, 7)),
        # Words of the target's suite: c's neutral sentences may be those of a.
        ({f"c{pair}good": f"Sentence a {pair} good." for pair in range(9)}, (),
         "mismatched_acceptable", good("b") | {"c9good"}),
        ({}, ["a", "b"], "mismatched_acceptable", good("b")),
    ],
)  # fmt: skip
def test_prefixes_lack_words_and_suites_of_targets(stimuli, texts, suites, kind, drawn):
    prefix = sampler(with_texts(stimuli, texts), suites=suites).grow("a", ["a3"], kind)
    assert set(prefix.source_ids) == drawn
    assert len(prefix.source_ids) == len(drawn)


def test_sentences_are_drawn_without_replacement_by_their_words(stimuli):
    same = dict.fromkeys(good("b", 8, 9), "The same words.")
    drawn = sampler(with_texts(stimuli, same))
    for target, kind, expected in (("b", "matched", 2), ("a", "mismatched", 13)):
        sentences = drawn.grow(target, [f"{target}9"], f"{kind}_acceptable").sentences
        assert len(sentences) == len(set(sentences)) == expected
    matrix = drawn.from_suite("b", ["a1"], 0, None)
    assert sorted(matrix.sentences) == ["Sentence b 8 good.", "Sentence b 9 good.",
                                        "The same words."]  # fmt: skip


def test_suites_are_paradigms_phenomena_or_data_sets(stimuli):
    stimuli.loc[stimuli["paradigm"] == "a", "paradigm"] = None
    assert with_suites(stimuli, "mine")["paradigm"].unique().tolist() == ["p", "b", "c"]
    nameless = stimuli.assign(paradigm=None, phenomenon=None)
    assert set(with_suites(nameless, "mine")["paradigm"]) == {"mine"}
    table = contexts(nameless, pairs_per_suite=None)
    assert set(table["suite"].dropna()) == {"mine"}
    assert set(table["kind"]) == {"matched_acceptable", "matched_unacceptable", "unrelated"}
    assert len(table) == 30 * 3


def test_ones_own_pairs_are_all_used():
    context = {"pairs_per_suite": 2, "pairs_per_suite_of": {"syntaxgym": 1000}}
    assert pairs_per_suite(context, "mine", {"parser": "table"}) is None
    assert pairs_per_suite(context, "blimp", {"parser": "blimp"}) == 2
    assert pairs_per_suite(context, "syntaxgym", {"parser": "syntaxgym"}) == 1000


def test_longer_prefixes_extend_shorter_ones(stimuli):
    short = sampler(stimuli, max_tokens=12).grow("a", ["a3"], "mismatched_acceptable")
    long = sampler(stimuli, max_tokens=30).grow("a", ["a3"], "mismatched_acceptable")
    assert len(short.sentences) == 5  # 20 tokens: the first number of sentences above 1.5 x 12
    assert long.sentences[:5] == short.sentences


def test_a_larger_sample_contains_a_smaller_one(stimuli):
    one, two = contexts(stimuli, pairs_per_suite=1), contexts(stimuli, pairs_per_suite=2)
    grown = [each[each["kind"].isin(KINDS)].set_index("prefix_id")["text"] for each in (one, two)]
    assert len(grown[0]) == 15
    assert len(set(grown[0].index.str[-1])) > 1  # and each suite
    assert grown[1].loc[grown[0].index].equals(grown[0])
    other = contexts(stimuli, pairs_per_suite=1, seed=2)
    assert not set(other["text"]) & set(one["text"])


def test_matrix_prefixes_get_targets_in_turn(stimuli):
    table = contexts(stimuli, pairs_per_suite=5, matrix_prefixes=3)
    of_a = table[(table["kind"] == "from_suite") & (table["source_suite"] == "a")]
    dealt = [list(pairs) for pairs in of_a["pair_ids"]]
    assert [len(pairs) for pairs in dealt] == [4, 4, 2]  # 5 each of b and c
    assert of_a["pair_ids"].explode().is_unique
    assert all({pair[0] for pair in pairs} == {"b", "c"} for pairs in dealt)
    assert len({tuple(sources) for sources in of_a["source_ids"]}) == 3
    some = contexts(stimuli, pairs_per_suite=5, matrix_prefixes=3, matrix_targets=4)
    taken = some.loc[some["source_suite"] == "a", "pair_ids"].tolist()
    judged = table.loc[table["kind"] == "matched_acceptable", "pair_ids"].explode()
    first = {*judged.groupby(judged.str[0]).head(4)}
    assert [[*pairs] for pairs in taken] == [[p for p in pairs if p in first] for pairs in dealt]
    few = contexts(stimuli, pairs_per_suite=2, matrix_prefixes=3)
    first = few.loc[few["source_suite"] == "a", "pair_ids"].tolist()
    assert len(first) == 2  # no prefix without a target
    assert all(set(pairs) <= set(more) for pairs, more in zip(first, dealt, strict=False))


def test_shared_sentences_are_never_in_a_matrix(stimuli):
    """Sentences of one suite may be an item's of another in its neutral condition."""
    of_b = {f"b{pair}bad": f"Sentence a {pair} good." for pair in range(8)}
    prefix = sampler(with_texts(stimuli, of_b)).from_suite("a", ["b0", "b1"], 0, None)
    assert set(prefix.source_ids) == {"a8good", "a9good"}
    table = with_texts(pairs("ab", 3), of_b)
    with pytest.raises(LingprobError, match=r"suite 'a': its 0 sentences have 0 tokens"):
        sampler(table).from_suite("a", ["b0"], 0, 5)


@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 6), (4, [3, 3]), (5, [3, 3]), (6, [6])])
def test_pairs_are_dealt_out_evenly_to_shared_prefixes(stimuli, most, sizes):
    table = contexts(stimuli, suites=["a"], pairs_per_suite=6, pairs_per_prefix=most)
    of_kind = table.loc[table["kind"] == "unrelated", "pair_ids"]
    assert of_kind.map(len).tolist() == sizes
    assert len(set(of_kind.sum())) == 6
    for row in table[table["kind"] == "matched_acceptable"].itertuples():
        assert not {source[:2] for source in row.source_ids} & set(row.pair_ids)


def test_tokens_count_up_to_each_sentence_end(stimuli):
    prefix = sampler(stimuli, max_tokens=12).grow("a", ["a3"], "matched_acceptable")
    table = pd.DataFrame([prefix.row])
    assert count_tokens(table, words_as_tokens) == [[4, 8, 12, 16, 20]]  # half as much to spare
    for length, sentences in ((8, 2), (9, 3)):
        found = sentences_within(table, [words_as_tokens], length)
        assert found == {prefix.prefix_id: sentences}
    coarser = [words_as_tokens, lambda texts: [spans[::2] for spans in words_as_tokens(texts)]]
    assert sentences_within(table, coarser, 8) == {prefix.prefix_id: 4}


def test_a_prepared_models_tokenizer_gives_offsets(tmp_path):
    """Special tokens in the text are plain text, none is added, and an empty text has no token."""
    directory = save_tiny_model("gpt2", tmp_path / "tiny")
    write_manifest("tiny", "local", "here", directory, tmp_path / "tiny.json")
    texts = ["The cat sat.", "", "<s> a"]
    found = tokenizer_of(tmp_path / "tiny.json")(texts)
    for text, spans in zip(texts, found, strict=True):
        assert "".join(text[start:end] for start, end in spans) == text
        assert spans.shape[1] == 2
    assert len(found[1]) == 0
    assert len(found[2]) >= 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table[table["pair_id"].isin(["a1", "b1", "b2"])], "'a': it has a single"),
        (lambda table: table.assign(grammatical=[True, *table["grammatical"][1:-1], True]),
         "pair 'c9': a pair needs one acceptable and one unacceptable sentence"),
        (lambda table: table.drop(index=0), "pair 'a0': a pair needs two sentences"),
        (lambda table: table.assign(text="Same."), "no pair has two different sentences"),
        (lambda table: table.replace({"pair_id": "b1"}, None),
         r"'mine', pair '\(none\)': a pair needs two sentences"),
    ],
)  # fmt: skip
def test_suites_that_cannot_be_sampled_are_named(stimuli, change, said):
    with pytest.raises(LingprobError, match=said):
        sample_targets(source_of(change(stimuli)), 1, 0)


def test_two_pairs_make_a_suite_but_few_prefixes():
    few = pairs("ab", 2)
    assert set(sample_targets(source_of(few), None, 0)["pair_id"]) == {"a0", "a1", "b0", "b1"}
    with pytest.raises(LingprobError, match="no suite 'z'"):
        sample_targets(source_of(few, suites=["z"]), None, 0)
    with pytest.raises(LingprobError, match=r"suite 'a', matched_acceptable: its 1 sentences"):
        sampler(few, max_tokens=20, min_tokens=8).grow("a", ["a0"], "matched_acceptable")


def test_identical_members_are_no_target(stimuli):
    stimuli.loc[stimuli["pair_id"] == "a0", "text"] = "The same."
    targets = sample_targets(source_of(stimuli, suites=["a"]), 100, 0)
    assert set(targets["pair_id"]) == {f"a{pair}" for pair in range(1, 10)}


def test_sentences_are_joined_with_periods_and_blanks():
    assert joined(["One two", "Three?", "Four."]) == ("One two. Three? Four.", [8, 15, 21])


def test_running_text_becomes_natural_sentences(tmp_path):
    (tmp_path / "c.txt").write_text("Too short.")
    with pytest.raises(LingprobError, match="corpus 'c' has no whole sentence of 4 to 60 words"):
        control_sentences("c", {"parser": "lines", "path": str(tmp_path / "c.txt")})
    line = (
        ' He said " yes , it is " ( in 1 @,@ 000 words ) . A well @-@ known man \'s dog ran off .'
    )
    found = unrelated_sentences([line, "One two three\u2028four five six seven ."])
    assert found == ['He said "yes, it is" (in 1,000 words).', "A well-known man's dog ran off.",
                     "One two three\u2028four five six seven."]  # fmt: skip


def test_perturbed_prefixes_have_similarities_and_equal_pairs(stimuli):
    stimuli = with_texts(stimuli, {name: f"Word {name}." for name in good("b", 1, 3, 5)})
    prefixes = contexts(stimuli, pairs_per_prefix=2)
    sentences = {name: n for n, name in enumerate(prefixes["prefix_id"], start=1)}
    table = pd.concat(perturbed_prefixes(prefixes, stimuli, ["b"], sentences, 1))
    assert len(table) == 2 * len(PERTURBATIONS)
    assert set(table["suite"]) == {"b"}
    given = prefixes.set_index("prefix_id").loc[table["prefix_id"].str.partition("/")[2]]
    assert table["char_ends"].map(len).tolist() == given.index.map(sentences).tolist()
    assert (
        table[["kind", "pair_ids"]].to_numpy().tolist()
        == given[["kind", "pair_ids"]].to_numpy().tolist()
    )
    similarity = table.groupby("perturbation")["similarity"].mean()
    assert similarity["all"] < similarity["quote"] < similarity["prefix_adverb"]
    n_words = stimuli.set_index("item_id")["text"].str.count(" ") + 1
    for row in table[table["perturbation"] == "prefix_adverb"].itertuples():
        words = n_words[row.source_ids]  # and one more after
        assert row.similarity == pytest.approx((2 * words / (2 * words + 1)).mean())
    (other,) = perturbed_prefixes(prefixes, stimuli, ["b"], sentences, 2)
    assert other["text"].tolist() != table["text"].tolist()
    twin = prefixes.assign(prefix_id=prefixes["prefix_id"] + "/2")
    cuts = {f"{name}/2": n for name, n in sentences.items()}
    (second,) = perturbed_prefixes(twin, stimuli, ["b"], cuts, 1)
    assert second["text"].tolist() != table["text"].tolist()


def places(words: list[str]) -> str:
    return "(" + "|".join(words) + ")"


SHORT = ["However", "Surprisingly", "Apparently", "Unfortunately", "Frankly", "Clearly"]
LONG = places(["First and", "As a matter", "Generally", "More often", "To tell"])
CLAUSE = r"(regardless of what|although|even if) \w+ \w+ [\w ]+"
QUOTED = r"(Yesterday|Last week|This morning), \w+ (said|wrote|announced)"


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("prefix_adverb", rf"{places(SHORT)}, the dogs bark\."),
        ("suffix_adverb", rf"The dogs bark, {places(SHORT).lower()}\."),
        ("both_adverbs", rf"{places(SHORT)}, the dogs bark, {places(SHORT).lower()}\."),
        ("long_prefix_adverb", rf"{LONG}[\w ]+, the dogs bark\."),
        ("prefix_clause", rf"(?i:{CLAUSE}), the dogs bark\."),
        ("suffix_clause", rf"The dogs bark, {CLAUSE}\."),
        ("quote", rf'{QUOTED}, "The dogs bark\."'),
        ("all", rf'{QUOTED}, "(?i:({CLAUSE}, )?{LONG}[\w ]+, the dogs bark, '
                rf'{places(SHORT)}(, {CLAUSE})?)\."'),
    ],
)  # fmt: skip
def test_each_perturbation_puts_its_words_in_their_place(kind, pattern):
    perturber = Perturber(["The dogs bark.", "Kim sees the dogs."])
    found = {perturber.perturb("The dogs bark.", kind, np.random.default_rng(n)) for n in range(40)}
    assert all(re.fullmatch(pattern, one) for one in found), found
    assert len(found) > 2
    assert all(one[0].isupper() for one in found)


def test_pieces_of_any_size_give_the_same_prefixes(stimuli, monkeypatch):
    whole = contexts(stimuli)
    counts = count_tokens(whole, words_as_tokens)
    monkeypatch.setattr("lingprob.context.sampling.PREFIXES_AT_ONCE", 4)
    monkeypatch.setattr("lingprob.context.prefixes.TEXTS_AT_ONCE", 3)
    pieces = [*drawn_pieces(stimuli)]
    assert {len(piece) for piece in pieces[:-1]} == {4}
    together = pd.concat(pieces, ignore_index=True)
    pd.testing.assert_frame_equal(together.fillna(""), whole.fillna(""), check_dtype=False)
    assert count_tokens(whole, words_as_tokens) == counts


def test_unrelated_sentences_lack_words_of_the_suite(stimuli):
    drawn = sampler(with_texts(stimuli, {"a5good": CONTROL[7]}))
    assert set(drawn.grow("a", ["a3"], "unrelated").sentences) == {*CONTROL} - {CONTROL[7]}
    assert set(drawn.grow("b", ["b3"], "unrelated").sentences) == {*CONTROL}


def test_members_of_unknown_acceptability_are_ignored(stimuli):
    stimuli.loc[stimuli["pair_id"] == "a3", "grammatical"] = None
    for side, name in (("acceptable", "good"), ("unacceptable", "bad")):
        prefix = sampler(stimuli).grow("a", ["a3"], f"matched_{side}")
        assert sorted(prefix.source_ids) == [f"a{pair}{name}" for pair in range(10) if pair != 3]


@pytest.mark.parametrize(("max_tokens", "sentences"), [(5, 2), (7, 3), (8, 3), (100, 3)])
def test_small_pools_are_used_up(max_tokens, sentences):
    """Three sentences of four tokens are more than 1.5 times seven and no more than that of 8."""
    drawn = sampler(pairs(count=4), max_tokens=max_tokens)
    assert len(drawn.grow("a", ["a0"], "matched_acceptable").sentences) == sentences
    drawn = sampler(pairs(count=4), min_tokens=100)
    found = [len(drawn.from_suite("a", ["b1"], 0, wanted).sentences) for wanted in (3, 4, 5)]
    assert found == [3, 4, 4]


def test_sentences_count_once_with_the_space_before():
    seen = []

    def tokenize(texts):
        seen.extend(texts)
        return words_as_tokens(texts)

    drawn = sampler(pairs(), control=[f"Word {n} it is." for n in range(300)], tokenize=tokenize)
    prefix = drawn.grow("a", ["a3"], "unrelated")
    assert len(prefix.sentences) == 300  # 1,200 tokens of 1,500 that would do
    assert sorted(seen) == sorted(f" {sentence}" for sentence in prefix.sentences)


@pytest.mark.parametrize(
    ("dataset", "sentences"), [("mine", [3, 3]), ("syntaxgym", [8, 8]), ("crows_pairs", [])]
)
def test_a_matrix_of_two_suites_has_enough_sentences(dataset, sentences):
    """Eight sentences of four tokens are more than 1.5 times twenty."""
    kinds = contexts(pairs("ab"), dataset).set_index("kind")["source_ids"]
    of_matrix = kinds[kinds.index == FROM_SUITE]
    assert of_matrix.map(len).tolist() == sentences
    assert len(kinds) == 2 * 2 * 5 + len(sentences)
    assert FROM_SUITE not in kinds.index[:20]


@pytest.mark.parametrize(
    ("line", "kept"),
    [(" ".join(["word"] * (count - 1) + ["."]), 4 <= count <= 60) for count in (3, 4, 60, 61)]
    + [(line, False) for line in (
        "He said ( and went away .", "He read <unk> in it .", "= This is its heading = .",
        'He said " and went away .', "He went away and then",
    )],
)  # fmt: skip
def test_only_whole_sentences_of_some_words_are_kept(line, kept):
    """As WikiText has them: the period is a word of its own."""
    assert bool(unrelated_sentences([line])) == kept


@pytest.mark.parametrize(
    ("tokenised", "text"),
    [
        ("Nothing to do here.", "Nothing to do here."),
        ('" It was odd , " she said , " and quiet . "', '"It was odd," she said, "and quiet."'),
        ('He said " no . "', 'He said "no."'),
        ('He said " no " .', 'He said "no".'),
        ('" No , " he said .', '"No," he said.'),
        ('" No " " yes "', '"No" "yes"'),
    ],
)
def test_quotation_marks_stand_at_what_they_quote(tokenised, text):
    assert natural(tokenised) == text


def test_first_words_inside_a_clause_are_lowered():
    perturber = Perturber(["Fell it?", "Cold rain fell.", "We met Rain there."])
    assert perturber.uncapitalised("Fell it") == "fell it"
    assert perturber.uncapitalised("The cold") == "the cold"  # a function word, seen or not
    assert perturber.uncapitalised("It's cold") == "it's cold"
    assert perturber.uncapitalised("Rain fell") == "Rain fell"
    assert Perturber(["Cold rain fell."]).uncapitalised("Rain fell") == "rain fell"
    assert perturber.uncapitalised("Cold rain") == "Cold rain"  # first words tell nothing
    for text, end in (("Who barks?", ', "Who barks?"'), ("Kim barks", ', "Kim barks."')):
        assert perturber.perturb(text, "quote", np.random.default_rng(0)).endswith(end)
    for body in ("Regardless of rain", "Although cold", "First and foremost, it fell"):
        assert perturber.uncapitalised(body) == body[0].lower() + body[1:]


def test_combined_perturbations_put_their_clause_at_either_end():
    """Of 400 draws, with a standard deviation of 10."""
    perturber = Perturber(["The dogs bark."])
    found = [perturber.perturb("The dogs bark.", "all", np.random.default_rng(n))
             for n in range(400)]  # fmt: skip
    clause = re.compile(r"(regardless|although|even if) .* the dogs bark", re.IGNORECASE)
    assert 160 <= sum(bool(clause.search(one)) for one in found) <= 240
