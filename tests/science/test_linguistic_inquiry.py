"""The real ratings: counts, ids and z-scores as morcela, §3.3 states them."""

from __future__ import annotations

import pandas as pd
import pytest
from tokenizers import ByteLevelBPETokenizer, Tokenizer

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.stimuli.build import build_stimuli


@pytest.fixture(scope="module")
def tables(mirror):
    entry = Catalog().dataset("linguistic_inquiry")
    return build_stimuli("linguistic_inquiry", entry, mirror / "linguistic_inquiry", 0)


def test_725_pairs_of_an_acceptable_and_an_unacceptable_sentence(tables):
    stimuli, _ = tables
    assert len(stimuli) == 1450
    assert stimuli["pair_id"].nunique() == 725
    assert stimuli.groupby("pair_id")["grammatical"].sum().eq(1).all()
    assert stimuli["text"].nunique() == 1439
    assert stimuli["item_id"].iloc[0] == "32.1.martin.20a.g.01"
    assert stimuli["rating"].iloc[0] == pytest.approx(0.8223392831538462, abs=1e-15)
    assert set(stimuli["rating_source"]) == {"human"}


def test_the_example_sentences_of_the_paper_have_its_scores(tables):
    """morcela, Figure 1; the scores there are rounded to two places."""
    stimuli, _ = tables
    ratings = stimuli.set_index("text")["rating"]
    assert round(ratings["It is silly for one to sing in the shower."], 2) == 1.19
    assert round(ratings["It seems a cat to be in the tree."], 2) == -1.11


def test_mean_judgments_are_the_ratings(tables):
    stimuli, judgments = tables
    assert len(judgments) == 18_326
    means = judgments.groupby("item_id")["z"].mean().reindex(stimuli["item_id"])
    assert (means.to_numpy() - stimuli["rating"]).abs().max() < 1e-12


def test_the_longest_sentence_has_34_tokens_in_pythia_s_tokenizer(tables, mirror):
    """morcela, Appendix B: l = 34, "the longest sentence"; OPT's tokenizer makes 35 of it."""
    folder = mirror / "tokenizers"
    pythia = Tokenizer.from_file(str(folder / "gpt-neox-20b" / "20B_tokenizer.json"))
    opt = ByteLevelBPETokenizer(
        str(folder / "opt" / "gpt2-vocab.json"), str(folder / "opt" / "gpt2-merges.txt")
    )
    longest = [
        max(len(tokenizer.encode(text).ids) for text in tables[0]["text"])
        for tokenizer in (pythia, opt)
    ]
    assert longest == [34, 35]


def test_files_that_do_not_belong_together_are_refused(mirror, tmp_path):
    source = mirror / "linguistic_inquiry"
    (tmp_path / "sprouse2013_LS").mkdir()
    judgments = "sprouse2013_LS/LI.ls.results.csv"
    (tmp_path / judgments).write_bytes((source / judgments).read_bytes())
    pairs = pd.read_csv(source / "linguistic_inquiry_data.csv")
    pairs.loc[5, "Good Sentence LS"] += 0.01
    pairs.to_csv(tmp_path / "linguistic_inquiry_data.csv", index=False)
    with pytest.raises(LingprobError, match="do not belong together"):
        build_stimuli("linguistic_inquiry", Catalog().dataset("linguistic_inquiry"), tmp_path, 0)


def test_the_paper_s_filters_from_the_raw_files_give_its_pairs_but_for_thirty(mirror):
    """morcela, §3.3: equal semantic plausibility, no unpaired sentences, no missing data.

    Plausibility is a column of the authors' materials (blank: controlled). Of 1,200 pairs with
    judgments that leaves 723. The paper has 709 of these and not the items 02 to 08 of two
    phenomena, whose first items it has; and 16 pairs of two phenomena that the materials at hand
    do not list.
    """
    folder = mirror / "linguistic_inquiry"
    materials = pd.read_excel(folder / "SSA.Materials.xlsx", header=None, skiprows=4)
    bad, good = (materials[column].astype(str).str.strip().str.lower() for column in (0, 4))
    raw = pd.read_csv(
        folder / "sprouse2013_LS/LI.ls.results.csv", skiprows=5, encoding="latin-1"
    ).dropna(subset=["judgment"])
    judged = set(raw["item"].str.lower())
    conditions = pd.read_csv(folder / "sprouse2013_LS/LI.conditions.csv")
    assert 8 * len(conditions) == 1200
    kept = materials[3].isna() & bad.isin(judged) & good.isin(judged)
    ours = set(zip(good[kept], bad[kept], strict=True))
    paper = pd.read_csv(folder / "linguistic_inquiry_data.csv")
    theirs = set(zip(paper["Good ID"].str.lower(), paper["Bad ID"].str.lower(), strict=True))
    assert (len(ours), len(theirs), len(ours & theirs)) == (723, 725, 709)

    def phenomena(pairs):
        return sorted({bad_id.rpartition(".")[0] for _, bad_id in pairs})

    assert phenomena(ours - theirs) == ["40.1.caponigro.25b.*", "41.2.bruening.36b.*"]
    assert {bad_id[-2:] for _, bad_id in ours - theirs} == {f"{n:02d}" for n in range(2, 9)}
    assert phenomena(theirs - ours) == ["33.1.dendikken.62b.*", "36.4.dendikken.45.*"]
    assert not any(bad_id in set(bad) for _, bad_id in theirs - ours)
