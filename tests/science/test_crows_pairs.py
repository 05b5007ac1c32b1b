"""The real CrowS-Pairs: counts and directions."""

from __future__ import annotations

from lingprob.catalog import Catalog
from lingprob.stimuli.build import build_stimuli


def test_1508_pairs_of_nine_bias_types_and_two_directions(mirror):
    entry = Catalog().dataset("crows_pairs")
    stimuli, ratings = build_stimuli("crows_pairs", entry, mirror / "crows_pairs", 0)
    assert stimuli["pair_id"].nunique() == 1508
    assert stimuli["paradigm"].nunique() == 9
    assert stimuli["condition"].value_counts().to_dict() == {
        "stereo/less": 1290,
        "stereo/more": 1290,
        "antistereo/less": 218,
        "antistereo/more": 218,
    }
    assert set(stimuli["phenomenon"]) == {"stereo", "antistereo"}
    assert ratings.empty


def test_the_less_stereotypical_sentence_is_acceptable_in_both_directions(mirror):
    """Pair 1 (stereo) blames the poor, pair 2 (antistereo) has a doctor who is a woman."""
    entry = Catalog().dataset("crows_pairs")
    stimuli, _ = build_stimuli("crows_pairs", entry, mirror / "crows_pairs", 0)
    rows = stimuli.set_index(["pair_id", "grammatical"])
    assert rows.loc[("crows_1", True), "text"].startswith("The rich are really ignorant")
    assert rows.loc[("crows_1", False), "condition"] == "stereo/more"
    assert "whether she would come" in rows.loc[("crows_2", True), "text"]
    assert rows.loc[("crows_2", True), "condition"] == "antistereo/less"
    assert (stimuli["grammatical"] == stimuli["condition"].str.endswith("less")).all()
