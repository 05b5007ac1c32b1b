"""Strings one edit away: against all of them by brute force, and what tables make of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.minimalness.neighbours import measure_neighbours, rows_of_pair
from lingprob.models.loading import load_language_model
from lingprob.papers.string_probability.neighbours import (
    best_neighbours,
    quantities_of,
    summarise_neighbours,
)
from lingprob.scoring.neighbours import (
    EDITS,
    Neighbour,
    Neighbourhood,
    best_of_each_edit,
    single_edits,
)
from lingprob.tables import read_table, write_table
from models_for_tests import VOCABULARY_SIZE, save_tiny_model

TEXT = "The cats sat on mat."
GOOD = "The cat sat on mat."


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("neighbours")
    return load_language_model(save_tiny_model("gpt_neox", folder), device="cpu")


def logprobs(lm, sequences: list[list[int]], start: int | None) -> list[float]:
    """ln p of sequences in float64, those of one length side by side and whole; a first token after
    nothing has none."""
    model = lm.model.double()
    before = [] if start is None else [start]
    found = [0.0] * len(sequences)
    for length in {len(ids) for ids in sequences}:
        members = [k for k, ids in enumerate(sequences) if len(ids) == length]
        fed = torch.tensor([[*before, *sequences[k]] for k in members])
        with torch.no_grad():
            table = model(fed).logits[:, :-1].log_softmax(-1)
        values = table.gather(2, fed[:, 1:, None]).sum(dim=(1, 2)).tolist()
        for k, value in zip(members, values, strict=True):
            found[k] = value
    model.float()
    return found


def logprob(lm, ids: list[int], start: int | None) -> float:
    return logprobs(lm, [ids], start)[0]


def every_edit(ids: list[int], vocabulary: int) -> dict[tuple[int, ...], str]:
    """All sequences one edit away, with the first of EDITS that makes each."""
    found: dict[tuple[int, ...], str] = {}
    n = len(ids)
    for place in range(n):
        found.setdefault(tuple(ids[:place] + ids[place + 1 :]), "deletion")
    for place in range(n - 1):
        a, b = ids[place : place + 2]
        found.setdefault(tuple([*ids[:place], b, a, *ids[place + 2 :]]), "transposition")
    for place in range(n):
        for token in range(vocabulary):
            found.setdefault(tuple([*ids[:place], token, *ids[place + 1 :]]), "substitution")
    for place in range(n + 1):
        for token in range(vocabulary):
            found.setdefault(tuple([*ids[:place], token, *ids[place:]]), "insertion")
    found.pop(tuple(ids), None)
    return found


@pytest.mark.parametrize("start_token", ["bos", "none"])
def test_with_all_tokens_tried_the_best_of_each_edit_is_the_best_there_is(lm, start_token):
    """The whole vocabulary at each place of a short string, no neighbour sharing anything."""
    (tokens,) = lm.tokenize(["cat"])
    ids, start = tokens.ids.tolist(), lm.start_id(start_token)
    size = min(lm.vocabulary_size, len(lm.tokenizer))
    kept = []
    for other, edit in every_edit(ids, size).items():
        text = lm.tokenizer.decode(list(other))
        canonical = text.strip() and lm.tokenize([text])[0].ids.tolist() == list(other)
        # Without a start token nothing says which tokens are probable in the first place.
        unknown = start is None and edit == "insertion" and other[1:] == tuple(ids)
        if canonical and not unknown:
            kept.append((edit, text, list(other)))
    values = logprobs(lm, [other for *_, other in kept], start)
    best: dict[str, tuple[float, str]] = {}
    for (edit, text, _), value in zip(kept, values, strict=True):
        if edit not in best or value > best[edit][0]:
            best[edit] = value, text
    neighbours = Neighbourhood(lm, start, tokens=size).score("cat")
    texts = [neighbour.text for neighbour in neighbours]
    if start is None:
        assert {*texts} <= {text for _, text, _ in kept}
    else:
        assert sorted(texts) == sorted(text for _, text, _ in kept)
    found = best_of_each_edit(neighbours)
    assert [neighbour.edit for neighbour in found] == [edit for edit in EDITS if edit in best]
    for neighbour in found:
        value, text = best[neighbour.edit]
        assert neighbour.logprob == pytest.approx(value, abs=1e-4)
        if start is not None:  # else all first tokens score alike
            assert neighbour.text == text


def test_every_neighbour_is_scored_as_it_is_alone(lm):
    start = lm.start_id("bos")
    found = Neighbourhood(lm, start, tokens=4).score(TEXT)
    assert {neighbour.edit for neighbour in found} == {*EDITS}
    assert len({neighbour.text for neighbour in found}) == len(found)
    assert TEXT not in {neighbour.text for neighbour in found}
    for neighbour in found[::9]:
        (tokens,) = lm.tokenize([neighbour.text])
        assert neighbour.logprob == pytest.approx(logprob(lm, tokens.ids.tolist(), start), abs=1e-4)


def test_a_string_of_blanks_is_no_neighbour(lm):
    found = Neighbourhood(lm, lm.start_id("bos"), tokens=VOCABULARY_SIZE).score("a")
    assert "b" in {neighbour.text for neighbour in found}
    assert all(neighbour.text.strip() for neighbour in found)


def test_probable_tokens_are_those_that_follow_what_precedes(lm):
    start = lm.start_id("bos")
    (tokens,) = lm.tokenize([TEXT])
    likely = Neighbourhood(lm, start, tokens=3).likely(tokens.ids)
    assert len(likely) == len(tokens.ids) + 1
    for place in (0, 2, len(tokens.ids)):
        with torch.no_grad():
            logits = lm.model(torch.tensor([[start, *tokens.ids.tolist()[:place]]])).logits[0, -1]
        assert likely[place] == logits.topk(3).indices.tolist()
    assert Neighbourhood(lm, None, tokens=3).likely(tokens.ids)[0] == []


def test_tokens_spelled_alike_differ_in_half_their_letters_at_most(lm):
    neighbourhood = Neighbourhood(lm, lm.start_id("bos"), tokens=400)
    spell = neighbourhood.spellings
    for word, limit in (("at", 1), ("a", 0), ("mat", 1), (" sat", 1)):
        token = spell.index(word)
        expected = {k for k, other in enumerate(spell) if k != token and far(word, other) <= limit}
        assert set(neighbourhood.alike(token)) == expected
    assert len(Neighbourhood(lm, None, tokens=2).alike(spell.index("at"))) == 2


def test_long_tokens_spelled_alike_differ_in_three_letters_at_most(lm):
    neighbourhood = Neighbourhood(lm, None, tokens=9)
    neighbourhood.spellings = [" abcdefgh", " abcdefgx", " abcdexyz", " abcdwxyz", " abcd", "ab"]
    assert sorted(neighbourhood.alike(0)) == [1, 2]
    # Half of five letters are two, and half of two one: `ab` has no other within it.
    neighbourhood.spellings = [" abcde", " abcxy", " abxyz", "ab", "xy", "ax"]
    assert [sorted(neighbourhood.alike(token)) for token in (3, 4)] == [[5], []]
    neighbourhood.met.clear()
    assert sorted(neighbourhood.alike(0)) == [1]


def far(one: str, other: str) -> int:
    """Levenshtein's distance by its definition; 9 for what is longer by more than a letter."""
    if abs(len(one) - len(other)) > 1:
        return 9
    if not one or not other:
        return len(one) + len(other)
    return min(
        far(one[1:], other) + 1,
        far(one, other[1:]) + 1,
        far(one[1:], other[1:]) + (one[0] != other[0]),
    )


def test_edits_by_hand():
    found = [
        (edit, ids.tolist())
        for edit, ids in single_edits(np.array([1, 2]), [[7], [8], [9]], [[5], []])
    ]
    assert found == [
        ("deletion", [2]), ("deletion", [1]), ("transposition", [2, 1]),
        ("substitution", [7, 2]), ("substitution", [5, 2]), ("substitution", [1, 8]),
        ("insertion", [7, 1, 2]), ("insertion", [1, 8, 2]), ("insertion", [1, 2, 9]),
    ]  # fmt: skip
    assert not [edit for edit, _ in single_edits(np.array([1]), [[], []], [[]])]
    swaps = single_edits(np.array([1, 2, 3, 4]), [[]] * 5, [[]] * 4)
    swapped = [ids.tolist() for edit, ids in swaps if edit == "transposition"]
    assert swapped == [[2, 1, 3, 4], [1, 3, 2, 4], [1, 2, 4, 3]]


def stimuli() -> pd.DataFrame:
    rows = [("p1", True, GOOD), ("p1", False, TEXT), ("p2", True, "Same."), ("p2", False, "Same.")]
    return pd.DataFrame(
        [
            {"item_id": f"{pair}/{flag}", "pair_id": pair, "paradigm": "agreement",
             "grammatical": flag, "text": text}
            for pair, flag, text in rows
        ]
    )  # fmt: skip


def test_a_table_has_each_pair_s_best_neighbours_with_partner_and_cosine(lm, tmp_path):
    distances = pd.DataFrame({"pair_id": ["p1", "p2"], "cosine_distance": [0.25, 0.0]})
    start = lm.start_id("bos")
    neighbourhood = Neighbourhood(lm, start, tokens=2)
    table = measure_neighbours("m", "d", stimuli(), distances, neighbourhood, "demo")
    write_table(table, "neighbours", tmp_path / "t.parquet", {})
    table = read_table(tmp_path / "t.parquet", "neighbours")
    assert table["pair_id"].unique().tolist() == ["p1"]  # identical sentences have none
    assert table["edit"].tolist() == [edit for edit in EDITS if edit in set(table["edit"])]
    assert table["best"].sum() == 1
    assert table.loc[table["best"], "logprob"].item() == table["logprob"].max()
    assert table["partner_in_reach"].all()  # by a deletion
    assert (table["is_partner"] == (table["neighbour"] == GOOD)).all()
    for column, text in (("logprob_good", GOOD), ("logprob_bad", TEXT)):
        (tokens,) = lm.tokenize([text])
        alone = logprob(lm, tokens.ids.tolist(), start)
        assert table[column].iloc[0] == pytest.approx(alone, abs=1e-4)
    excluded = Neighbourhood(lm, start, tokens=2, first=1)
    (tokens,) = lm.tokenize([TEXT])
    first = logprob(lm, tokens.ids.tolist()[:1], start)
    value = excluded.logprobs([tokens.ids])[0]
    assert value == pytest.approx(logprob(lm, tokens.ids.tolist(), start) - first, abs=1e-4)


def test_a_partner_out_of_reach_is_said_to_be(lm):
    neighbourhood = Neighbourhood(lm, lm.start_id("bos"), tokens=1)
    for good, in_reach in ((GOOD, True), ("Nothing like that is near it.", False)):
        rows = rows_of_pair(good, TEXT, neighbourhood)
        assert [row["partner_in_reach"] for row in rows] == [in_reach] * len(rows)
        assert len(rows) > 1


def test_a_sentence_without_its_partner_is_refused(lm):
    alone = stimuli().iloc[:1]
    neighbourhood = Neighbourhood(lm, lm.start_id("bos"), tokens=1)
    with pytest.raises(LingprobError, match="'p1': 0 ungrammatical"):
        measure_neighbours("m", "d", alone, pd.DataFrame(columns=["pair_id", "cosine_distance"]),
                           neighbourhood, "demo")  # fmt: skip


def simulated(n: int, through: str, seed: int = 1) -> pd.DataFrame:
    """Pairs whose ungrammatical sentences follow their partner, or their neighbour."""
    random = np.random.default_rng(seed)
    good = random.normal(-40, 10, n)
    distance = random.uniform(0, 1, n)
    neighbour = good + random.gamma(2, 4 * distance)
    bad = {"partner": good, "neighbour": neighbour}[through] - 8 + random.normal(0, 1, n)
    return pd.DataFrame(
        {"model": "m", "dataset": "d", "pair_id": [f"p{k}" for k in range(n)], "paradigm": "a",
         "edit": "substitution", "best": True, "neighbour": "x", "logprob": neighbour,
         "logprob_good": good, "logprob_bad": bad, "cosine_distance": distance,
         "is_partner": False, "partner_in_reach": True, "n_neighbours": 9, "scale": "demo"}
    )  # fmt: skip


@pytest.mark.parametrize(("through", "sign"), [("partner", -1), ("neighbour", 1)])
def test_what_the_sentence_follows_is_told(through, sign):
    found = summarise_neighbours(simulated(300, through), draws=200, seed=0)
    found = found[found["among"] == "all edits"].set_index("quantity")
    lead = found.loc["r(bad, neighbour) - r(bad, partner)"]
    assert lead["low"] * sign > 0
    assert lead["high"] * sign > 0
    # Excess has mean E[8 d] = 4 and grows with the distance.
    excess = found.loc["excess"]
    assert excess["low"] < 4 < excess["high"]
    assert found.loc["r(excess, cosine)", "low"] > 0.2
    assert found.loc["best is the partner", ["value", "low", "high"]].tolist() == [0, 0, 0]
    assert found.loc["partner in reach", "value"] == 1
    assert (found["n_pairs"] == 300).all()


def test_quantities_are_those_of_their_definitions():
    table = simulated(50, "partner").assign(is_partner=[True] * 10 + [False] * 40)
    found = {row["quantity"]: row["value"] for row in quantities_of(table, 10, 0)}
    r = np.corrcoef(table[["logprob_bad", "logprob_good", "logprob"]].T)
    assert found["r(bad, partner)"] == pytest.approx(r[0, 1])
    assert found["r(bad, neighbour)"] == pytest.approx(r[0, 2])
    lead = found["r(bad, neighbour) - r(bad, partner)"]
    assert lead == pytest.approx(r[0, 2] - r[0, 1])
    excess = table["logprob"] - table["logprob_good"]
    assert found["excess"] == pytest.approx(excess.mean())
    cosine = np.corrcoef(excess, table["cosine_distance"])[0, 1]
    assert found["r(excess, cosine)"] == pytest.approx(cosine)
    assert found["best is the partner"] == pytest.approx(0.2)


def test_the_best_neighbour_is_chosen_among_the_edits_asked_for():
    table = pd.DataFrame(
        {"pair_id": ["a", "a", "b", "b"], "edit": ["deletion", "substitution"] * 2,
         "logprob": [-1.0, -2.0, -9.0, -3.0]}
    )  # fmt: skip
    assert best_neighbours(table)["edit"].tolist() == ["deletion", "substitution"]
    assert best_neighbours(table, ("substitution",))["logprob"].tolist() == [-2.0, -3.0]
    several = [Neighbour("insertion", "x", -3.0), Neighbour("deletion", "y", -4.0),
               Neighbour("insertion", "z", -2.0)]  # fmt: skip
    assert [found.text for found in best_of_each_edit(several)] == ["y", "z"]
    alike = [Neighbour("deletion", text, -1.0) for text in ("first", "second")]
    assert [found.text for found in best_of_each_edit(alike)] == ["first"]
