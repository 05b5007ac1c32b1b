"""The real suites: counts, sentences and which conditions their formulas prefer."""

from __future__ import annotations

import pytest

from lingprob.catalog import Catalog
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.syntaxgym import read_suite


@pytest.fixture(scope="module")
def suites(mirror):
    names = [file["name"] for file in Catalog().dataset("syntaxgym")["files"]]
    return {name[:-5]: read_suite(mirror / "syntaxgym" / "json" / name) for name in names}


def test_34_suites_of_842_items(suites):
    assert len(suites) == 34
    assert sum(len(suite.items) for suite in suites.values()) == 842
    assert len(suites["fgd_hierarchy"].predictions) == 2


def test_the_stimulus_table_has_a_row_a_sentence(mirror):
    entry = Catalog().dataset("syntaxgym")
    stimuli, ratings = build_stimuli("syntaxgym", entry, mirror / "syntaxgym" / "json", 0)
    text = stimuli.set_index("item_id")["text"]
    assert text["number_prep/1/match_sing"] == "The author next to the senators is good"
    assert text["npz_obj/1/obj_comma"] == (
        "As the criminal shot his gun, the woman yelled at the top of her lungs"
    )
    assert text["subordination/1/sub_matrix"] == (
        "As the doctor studied the book, the nurse walked into the room."
    )
    assert set(stimuli["phenomenon"]) == {
        "agreement",
        "center_embedding",
        "garden_path_effects",
        "gross_syntactic_state",
        "licensing",
        "long_distance_dependencies",
    }
    assert ratings.empty


def test_formulas_say_which_conditions_are_acceptable(suites):
    def verdicts(name):
        suite = suites[name]
        return {name: suite.grammatical(name) for name in suite.items[0].sentences}

    assert verdicts("fgd_object") == {
        "what_nogap": False,
        "that_nogap": True,
        "what_gap": True,
        "that_gap": False,
    }
    assert verdicts("npi_orc_any") == {
        "neg_pos": True,
        "neg_neg": True,
        "pos_pos": False,
        "pos_neg": False,
    }
    assert verdicts("mvrr") == {
        "reduced_ambig": False,
        "unreduced_ambig": True,
        "reduced_unambig": True,
        "unreduced_unambig": None,
    }
    assert set(verdicts("cleft").values()) == {None}
