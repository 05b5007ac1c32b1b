"""Stimulus tables from the demo and from a researcher's own file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.stimuli import demo_pairs
from lingprob.stimuli.build import build_stimuli

TABLE = {"title": "Mine", "kind": "stimuli", "parser": "table"}


def own(path: Path, **entry: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    return build_stimuli("mine", {**TABLE, "path": str(path), **entry}, Path("."), 0)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_demo_has_enough_pairs_and_says_that_ratings_are_simulated():
    stimuli, ratings = build_stimuli(
        "demo_minimal_pairs", Catalog().dataset("demo_minimal_pairs"), Path("."), 1
    )
    assert stimuli["pair_id"].nunique() >= 240
    assert stimuli["phenomenon"].nunique() >= 12
    assert set(stimuli["rating_source"]) == {"simulated"}
    assert stimuli["text"].is_unique
    assert (
        stimuli.groupby("pair_id")["grammatical"]
        .agg(list)
        .map(sorted)
        .map([False, True].__eq__)
        .all()
    )
    assert ratings["participant_id"].str.startswith("simulated").all()
    by_participant = ratings.groupby("participant_id")["z"]
    assert by_participant.mean().abs().max() < 1e-12
    assert (by_participant.std() - 1).abs().max() < 1e-12


def test_simulated_ratings_follow_the_seed_and_favour_the_acceptable_sentence():
    entry = Catalog().dataset("demo_minimal_pairs")
    first, again, other = (
        build_stimuli("demo_minimal_pairs", entry, Path("."), seed)[0]["rating"]
        for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)
    stimuli = build_stimuli("demo_minimal_pairs", entry, Path("."), 1)[0]
    means = stimuli.groupby("grammatical")["rating"].mean()
    assert means[True] - means[False] > 0.8


def test_simulated_ratings_follow_the_paper_s_model():
    """An unlikely error costs more than a likely one, and a longer message than a shorter one."""
    entry = Catalog().dataset("demo_minimal_pairs")
    tables = [build_stimuli("demo_minimal_pairs", entry, Path("."), seed)[0] for seed in range(8)]
    for stimuli in tables:
        assert set(stimuli["phenomenon"]) == set(demo_pairs.ERROR_PROBABILITY)
        assert stimuli["rating"].notna().all()
    stimuli = tables[0].assign(rating=np.mean([table["rating"] for table in tables], axis=0))
    sides = stimuli.pivot(index="pair_id", columns="grammatical", values="rating")
    about = stimuli.drop_duplicates("pair_id").set_index("pair_id")
    cost = -np.log(about["phenomenon"].map(demo_pairs.ERROR_PROBABILITY))
    assert set(cost.round(6)) == {2.0, 4.0, 6.0}
    by_cost = (sides[True] - sides[False]).groupby(cost.round(6)).mean()
    assert by_cost.is_monotonic_increasing
    # On the bounded scale of 7 the cost falls short of a straight line, but not by much.
    assert 1.4 < by_cost[6.0] / by_cost[2.0] < 3.2
    words = stimuli["text"].str.split().str.len()
    good = stimuli["grammatical"].astype(bool)
    assert np.corrcoef(words[good], stimuli.loc[good, "rating"])[0, 1] < -0.3


def test_an_own_csv_needs_only_sentence_and_rating(tmp_path):
    path = write(tmp_path / "mine.csv", 'sentence,rating\n"The cat sat.",1.5\nCat the sat.,-2\n')
    stimuli, ratings = own(path)
    assert stimuli["item_id"].tolist() == ["1", "2"]
    assert stimuli["rating"].tolist() == [1.5, -2.0]
    assert stimuli["rating_source"].unique().tolist() == ["human"]
    assert ratings.empty


def test_own_pairs_need_no_ratings_where_nothing_asks_for_them(tmp_path):
    path = write(
        tmp_path / "mine.csv", "sentence,pair,grammatical,paradigm\nA b.,p,1,x\nB a.,p,0,x\n"
    )
    stimuli, _ = own(path)
    assert stimuli["rating"].isna().all()
    assert stimuli["rating_source"].isna().all()
    assert stimuli["grammatical"].tolist() == [True, False]
    for wanted in ("every", "some"):
        with pytest.raises(LingprobError, match="no column 'rating'"):
            own(path, ratings=wanted)


def test_a_missing_rating_is_kept_where_some_suffice(tmp_path):
    path = write(tmp_path / "mine.csv", "sentence,rating\nA.,1\nB.,\n")
    assert own(path, ratings="some")[0]["rating"].isna().tolist() == [False, True]
    with pytest.raises(LingprobError, match="data row 2, column 'rating': no value"):
        own(path, ratings="every")
    path = write(tmp_path / "mine.csv", "sentence,rating\nA.,1\nB.,high\n")
    with pytest.raises(LingprobError, match="data row 2, column 'rating': not a number"):
        own(path, ratings="some")


def test_own_columns_pairs_and_phenomena_are_kept(tmp_path):
    path = tmp_path / "mine.parquet"
    pd.DataFrame(
        {
            "s": ["A b.", "B a."],
            "likert": [7, 1],
            "pair": ["p", "p"],
            "phenomenon": ["x", "x"],
            "grammatical": ["yes", "no"],
        }
    ).to_parquet(path)
    stimuli, _ = own(path, columns={"sentence": "s", "rating": "likert"})
    assert stimuli["pair_id"].tolist() == ["p", "p"]
    assert stimuli["phenomenon"].tolist() == ["x", "x"]
    assert stimuli["grammatical"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows"),
        ("sentence,rating\n", "no rows"),
        ("sentense,rating\nA.,1\n", r"no column 'sentence'.*columns\.sentence to 'sentense'\?"),
        ("sentence,rating\nA.,1\nB.,\n", r"data row 2, column 'rating': no value"),
        ("sentence,rating\nA.,1\nB.,NaN\n", r"data row 2, column 'rating': no value"),
        (
            "sentence,rating\nA.,good\nB.,bad\n",
            r"data row 1, column 'rating': not a number: 'good'",
        ),
        ("sentence,rating\nA.,1\nB.,2\nC.,high\n", r"data row 3.*not a number: 'high'"),
        ("sentence,rating\nA.,1\n  ,2\n", r"data row 2, column 'sentence': an empty sentence"),
        ("sentence,rating\nA.,1\n,2\n", r"data row 2, column 'sentence': an empty sentence"),
        ("item,sentence,rating\na,A.,1\na,B.,2\n", r"data row 2, column 'item': an id that"),
        ("sentence,rating,grammatical\nA.,1,perhaps\n", r"neither true nor false: 'perhaps'"),
        ("sentence,rating\nA.,inf\n", "infinite"),
        ("sentence,rating\nA.,1\nB.,2\nA.,3\n", r"data row 3.*earlier row has.*average the judgm"),
    ],
)
def test_bad_input_names_file_row_and_remedy(tmp_path, text, said):
    path = write(tmp_path / "mine.csv", text)
    with pytest.raises(LingprobError, match=said) as error:
        own(path, ratings="every")
    assert str(path) in str(error.value)


def test_a_missing_file_and_an_unknown_suffix_are_named(tmp_path):
    with pytest.raises(LingprobError, match=r"absent\.csv: no such file"):
        own(tmp_path / "absent.csv")
    with pytest.raises(
        LingprobError, match=r"a table is \.csv, \.tsv, \.parquet, \.xlsx, \.jsonl\. C"
    ):
        own(write(tmp_path / "mine.xls", "x"))


def test_an_unexpected_number_of_items_is_refused(tmp_path):
    path = write(tmp_path / "mine.csv", "sentence,rating\nA.,1\n")
    with pytest.raises(LingprobError, match="1 items, but the catalog expects 2"):
        own(path, items=2)


def test_an_unknown_parser_lists_the_known_ones(tmp_path):
    with pytest.raises(LingprobError, match="'table'"):
        build_stimuli("mine", {**TABLE, "parser": "tabel"}, tmp_path, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence;rating\nA.;1\n", r"separated by a semicolon, and those of \.csv by a comma"),
        ("sentence;rating\nA, b.;1\n", r"separated by a semicolon, and those of \.csv by a comma"),
        ("sentence\trating\nA.\t1\n", r"separated by a tab"),
        (
            "sentence,rating\nA, b.,1\n",
            r"line 2: 3 fields, where .* 2.* in quotation marks",
        ),
        ('sentence,rating\n"A"\n b.,1\n"B.",2\n', r"fields, where the header has 2"),
        ("item,sentence,rating\na,A.,1\n,B.,2\n", r"data row 2, column 'item': no id.*numbered"),
        ("sentence,rating\nA.,3\nB.,3\n", r"column 'rating': every rating is 3, so nothing"),
        ("sentence,rating,rating\nA.,3,4\n", r"two columns are named 'rating'"),
        ("sentence,rating\nA.,\nB.,\n", r"data row 1, column 'rating': no value"),
    ],
)
def test_files_of_another_form_name_the_remedy(tmp_path, text, said):
    path = write(tmp_path / "mine.csv", text)
    with pytest.raises(LingprobError, match=said) as error:
        own(path, ratings="every")
    assert str(path) in str(error.value)


@pytest.mark.parametrize("content", [b"\xe9t\xe9", b"\xed\xa0\x80", "A.".encode("utf-16")])
def test_another_encoding_and_a_lone_surrogate_are_said_to_be_no_utf_8(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"sentence,rating\n" + content + b",1\n")
    with pytest.raises(LingprobError, match=r"mine.csv is not text in UTF-8") as error:
        own(path)
    assert "etch" not in str(error.value)


def test_ids_and_sentences_are_text_as_it_stands(tmp_path):
    path = write(tmp_path / "mine.csv", "item,sentence,rating\n01,NA,1\n1,null,2\n")
    stimuli, _ = own(path)
    assert stimuli["item_id"].tolist() == ["01", "1"]
    assert stimuli["text"].tolist() == ["NA", "null"]


def test_every_form_of_a_table_gives_the_same_sentences(tmp_path):
    frame = pd.DataFrame(
        {"item": ["01", "2", "x"], "sentence": ["A “b”, c.", "NA", "Zoë can’t."],
         "rating": [1.5, -2.0, 3.0], "pair": ["p", "p", None], "grammatical": [True, False, None]}
    )  # fmt: skip
    frame.to_csv(tmp_path / "mine.csv", index=False)
    frame.to_csv(tmp_path / "mine.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "mine.parquet")
    frame.to_excel(tmp_path / "mine.xlsx", index=False)
    frame.to_json(tmp_path / "mine.jsonl", orient="records", lines=True, force_ascii=False)
    tables = [own(path)[0] for path in sorted(tmp_path.glob("mine.*"))]
    assert len(tables) == 5
    assert tables[0]["item_id"].tolist() == ["01", "2", "x"]
    assert tables[0]["rating"].tolist() == [1.5, -2.0, 3.0]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def workbook(path: Path, *sheets: list[list[object]]) -> Path:
    with pd.ExcelWriter(path) as writer:
        for number, rows in enumerate(sheets):
            pd.DataFrame(rows).to_excel(writer, sheet_name=f"s{number}", index=False, header=False)
    return path


def test_a_workbook_has_one_table_whose_blank_rows_do_not_count(tmp_path):
    rows = [["sentence", "rating", "item"], ["A.", 1, 7], [None, None, None], ["B.", 2.5, 8]]
    stimuli, _ = own(workbook(tmp_path / "mine.xlsx", [], rows, []))
    assert stimuli["item_id"].tolist() == ["7", "8"]
    with pytest.raises(LingprobError, match=r"2 sheets have rows \(s0, s1\).*save that as CSV"):
        own(workbook(tmp_path / "two.xlsx", rows, rows))
    with pytest.raises(LingprobError, match=r"none.xlsx: no rows"):
        own(workbook(tmp_path / "none.xlsx", [], []))


def test_what_excel_made_a_date_of_is_refused(tmp_path):
    rows = [["item", "sentence"], ["1-1", "A."], [pd.Timestamp("2026-02-01"), "B."]]
    with pytest.raises(LingprobError, match=r"mine.xlsx, data row 2, column 1: a date .*as text"):
        own(workbook(tmp_path / "mine.xlsx", rows))


def test_a_damaged_workbook_is_one_clear_message(tmp_path):
    for content in (b"", b"PK and nothing more", "sentence,rating\nA.,1\n".encode("utf-16")):
        (tmp_path / "mine.xlsx").write_bytes(content)
        with pytest.raises(LingprobError, match=r"mine.xlsx: cannot be read as a table"):
            own(tmp_path / "mine.xlsx")
    with pytest.raises(LingprobError, match=r"absent.xlsx: no such file"):
        own(tmp_path / "absent.xlsx")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"sentence": "A."}\n\n{"sentence": ', r"line 3: not JSON .* Each line is a row"),
        ('["A."]\n', r"line 1: list and no object"),
        ("\n", "no rows"),
        ('{"sentence": ["A."]}\n', r"data row 1, column 'sentence': not text"),
        ('{"sentence": "A."}\n{"rating": 1}\n', r"data row 2.*sentence"),
    ],
)
def test_json_lines_of_another_form_name_the_remedy(tmp_path, text, said):
    path = write(tmp_path / "mine.jsonl", text)
    with pytest.raises(LingprobError, match=said) as error:
        own(path)
    assert str(path) in str(error.value)


def test_damaged_or_odd_parquet_is_one_clear_message(tmp_path):
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(LingprobError, match=r"mine.parquet: cannot be read as a table"):
        own(path)
    pd.DataFrame({"sentence": [["A", "b"], ["C"]], "rating": [1.0, 2.0]}).to_parquet(path)
    with pytest.raises(LingprobError, match=r"data row 1, column 'sentence': not text"):
        own(path)
    frame = pd.DataFrame({"item": ["x", "y"], "sentence": ["A", "B"], "rating": [1.0, 2.0]})
    frame.set_index("item").to_parquet(path)
    assert own(path)[0]["item_id"].tolist() == ["x", "y"]


def test_too_few_sentences_for_the_folds_are_refused_at_once(tmp_path):
    path = write(tmp_path / "mine.csv", "sentence,rating\nA.,1\nB.,2\n")
    build_stimuli("mine", {**TABLE, "path": str(path)}, tmp_path, 0, sentences_needed=2)
    with pytest.raises(LingprobError, match=r"mine\.csv\): 2 sentences are too few .* need 3"):
        build_stimuli("mine", {**TABLE, "path": str(path)}, tmp_path, 0, sentences_needed=3)
