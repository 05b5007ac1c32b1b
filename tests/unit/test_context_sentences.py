"""Sentences of contexts one by one: which are whole, what they lose, what is put around them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lingprob.context.perturbations import Perturber
from lingprob.context.sentences import natural, unrelated_sentences


@pytest.mark.parametrize(
    "line",
    [
        "He said ( and went away .",
        "He read <unk> in it .",
        "= This is its heading = .",
        'He said " and went away .',
        "He went away and then",
    ],
)
def test_what_is_cut_or_unknown_or_a_heading_is_no_sentence(line):
    assert unrelated_sentences([line]) == []


@pytest.mark.parametrize(
    ("tokenised", "text"),
    [
        ('He said " no . "', 'He said "no."'),
        ('He said " no " .', 'He said "no".'),
        ('" No , " he said .', '"No," he said.'),
        ('" No " " yes "', '"No" "yes"'),
    ],
)
def test_quotation_marks_stand_at_what_they_quote(tokenised, text):
    assert natural(tokenised) == text


def test_first_words_are_lowered_that_stand_inside_or_begin_a_clause():
    perturber = Perturber(["Cold rain fell.", "We met Rain there."])
    assert perturber.uncapitalised("Fell it") == "fell it"
    assert perturber.uncapitalised("The cold") == "the cold"  # a function word, seen or not
    assert perturber.uncapitalised("Rain fell") == "Rain fell"
    assert Perturber(["Cold rain fell."]).uncapitalised("Rain fell") == "rain fell"
    assert perturber.uncapitalised("Cold rain") == "Cold rain"  # first words tell nothing
    for body in ("Regardless of rain", "Although cold", "First and foremost, it fell"):
        assert perturber.uncapitalised(body) == body[0].lower() + body[1:]


def test_all_perturbations_together_have_their_clause_at_either_end_half_the_time():
    """Of 400 draws; the standard deviation is 10."""
    perturber = Perturber(["The dogs bark."])
    found = [
        perturber.perturb("The dogs bark.", "all", np.random.default_rng(n)) for n in range(400)
    ]
    clause = re.compile(r"(regardless|although|even if) .* the dogs bark", re.IGNORECASE)
    assert 160 <= sum(bool(clause.search(one)) for one in found) <= 240
