"""Stimuli: a researcher's own file, the demo's pairs, parsers of published data, and samples."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from openpyxl import load_workbook

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stimuli import demo_pairs
from lingprob.stimuli.build import allot, build_stimuli, sample_pairs
from lingprob.stimuli.formulas import parse_formula
from lingprob.stimuli.linguistic_inquiry import published_scores
from lingprob.stimuli.syntaxgym import join_regions, read_suite

TABLE = {"title": "Mine", "kind": "stimuli", "parser": "table"}
PAIR = {"sentence_good": "She sings.", "sentence_bad": "She sing."}
SURPRISALS = {("a", 1): 1.0, ("a", 2): 5.0, ("b", 1): np.array([2.0, 0.5]), ("b", 2): 3.0,
              ("a", 0): 6.0}  # fmt: skip


def own(path: Path, **entry: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    return build_stimuli("mine", {**TABLE, "path": str(path), **entry}, Path("."), 0)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refuse(path: Path, text: str, said: str, **entry: object) -> None:
    """Check that a file with a text is refused with a message that names the file."""
    with pytest.raises(LingprobError, match=said) as error:
        own(write(path, text), **entry)
    assert str(path) in str(error.value)


def demo(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    entry = Catalog().dataset("demo_minimal_pairs")
    return build_stimuli("demo_minimal_pairs", entry, Path("."), seed)


def test_the_demo_s_ratings_are_simulated_by_seed():
    stimuli, ratings = demo(1)
    assert stimuli["pair_id"].nunique() >= 240
    assert stimuli["phenomenon"].nunique() >= 12
    assert set(stimuli["rating_source"]) == {"simulated"}
    assert stimuli["text"].is_unique
    assert stimuli["grammatical"].tolist() == [True, False] * stimuli["pair_id"].nunique()
    assert [*ratings["participant_id"].unique()] == [f"simulated-{n:02d}" for n in range(1, 25)]
    assert set(ratings["rating"]) == {*range(1, 8)}
    by_participant = ratings.groupby("participant_id")["z"]
    assert by_participant.mean().abs().max() < 1e-12
    assert (by_participant.std() - 1).abs().max() < 1e-12
    assert demo(1)[0]["rating"].equals(stimuli["rating"])
    assert not demo(2)[0]["rating"].equals(stimuli["rating"])
    means = stimuli.groupby("grammatical")["rating"].mean()
    assert means[True] - means[False] > 0.8


def test_simulated_ratings_follow_the_paper_s_model():
    """An unlikely error costs more than a likely one, and a longer message than a shorter one."""
    tables = [demo(seed)[0] for seed in range(8)]
    stimuli = tables[0].assign(rating=np.mean([table["rating"] for table in tables], axis=0))
    assert stimuli["rating"].notna().all()
    sides = stimuli.pivot(index="pair_id", columns="grammatical", values="rating")
    about = stimuli.drop_duplicates("pair_id").set_index("pair_id")
    cost = -np.log(about["phenomenon"].map(demo_pairs.ERROR_PROBABILITY))
    assert set(stimuli["phenomenon"]) == set(demo_pairs.ERROR_PROBABILITY)
    assert set(cost.round(6)) == {2.0, 4.0, 6.0}
    by_cost = (sides[True] - sides[False]).groupby(cost.round(6)).mean()
    assert by_cost.is_monotonic_increasing
    # On the bounded scale of 7 the cost falls short of a straight line, but not by much.
    assert 1.4 < by_cost[6.0] / by_cost[2.0] < 3.2
    words = stimuli["text"].str.split().str.len()
    good = stimuli["grammatical"].astype(bool)
    assert np.corrcoef(words[good], stimuli.loc[good, "rating"])[0, 1] < -0.3


def test_own_pairs_need_no_ratings(tmp_path):
    rows = "A b.,p,yes,x\nB a.,p,No,x\n"
    path = write(tmp_path / "mine.csv", f"sentence,pair,grammatical,paradigm\n{rows}")
    stimuli, _ = own(path)
    assert stimuli["rating"].isna().all()
    assert stimuli["rating_source"].isna().all()
    assert stimuli["grammatical"].tolist() == [True, False]
    for wanted in ("every", "some"):
        with pytest.raises(LingprobError, match=r"no columns \['rating'\]"):
            own(path, ratings=wanted)


def test_a_missing_rating_is_kept_where_some_suffice(tmp_path):
    path = write(tmp_path / "mine.csv", "text,rating\nA.,1\nB.,\n")
    stimuli, ratings = own(path, ratings="some", column="text", language="de")
    assert stimuli[["item_id", "language"]].to_numpy().tolist() == [["1", "de"], ["2", "de"]]
    assert stimuli["rating"].isna().tolist() == [False, True]
    assert stimuli["rating_source"].unique().tolist() == ["human"]
    assert ratings.empty


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentence,rating\n", "no rows"),
        ("sentence,rating\nA.,1\nB.,\n", "data row 2, column 'rating': no value"),
        ("sentense,rating\nA.,1\n", r"no columns \['sentence'\].*Set datasets\.mine\.columns"),
        ("sentence,rating\nA.,1\nB.,2\nC.,high\n", r"data row 3.*not a number: 'high'"),
        ("sentence,rating\nA.,1\n  ,2\n", r"data row 2, column 'sentence': an empty sentence"),
        ("item,sentence,rating\na,A.,1\na,B.,2\n", r"data row 2, column 'item': an id that"),
        ("sentence,rating,grammatical\nA.,1,perhaps\n", r"neither true nor false: 'perhaps'"),
        ("sentence,rating\nA.,-inf\n", "infinite"),
        ("sentence,rating\nA.,1\nB.,2\nA.,3\n", "data row 3.*earlier row has.*Name the `particip"),
        ("sentence;rating\nA.;1\n", r"separated by a semicolon, and those of \.csv by a comma"),
        ("sentence\trating\nA.\t1\n", r"separated by a tab"),
        ("sentence,rating\nA, b.,1\n", r"line 2: 3 fields, but .* 2.* in quotation marks"),
        ("item,sentence,rating\na,A.,1\n,B.,2\n", r"data row 2, column 'item': no id.*numbered"),
        ("sentence,rating\nA.,3\nB.,3\n", r"column 'rating': every rating is 3, so nothing"),
        ("sentence,rating,rating\nA.,3,4\n", r"two columns are named 'rating'"),
        ("Sentence,Rating\nA.,3\n", r"Did you mean {sentence: Sentence, rating: Rating}\?"),
        ("good,bad,rating\nA.,B.,3\n", r"a row is a pair, and each sentence needs a rating"),
    ],
)
def test_bad_input_names_file_row_and_remedy(tmp_path, text, said):
    refuse(tmp_path / "mine.csv", text, said, ratings="every")


def test_ids_lose_outer_spaces_and_sentences_keep_them(tmp_path, caplog):
    rows = "1,p,A b. ,TRUE,1\n2 , p ,B.,FALSE ,2\n3,NA,C.,,3\n"
    path = write(tmp_path / "mine.csv", f"item,pair,sentence,grammatical,Rating\n{rows}")
    stimuli, _ = own(path)
    assert stimuli["text"].tolist() == ["A b. ", "B.", "C."]
    assert "1 sentences, such as 'A b. ', have white space at their ends" in caplog.text
    assert stimuli["item_id"].tolist() == ["1", "2", "3"]
    assert stimuli["pair_id"].tolist()[:2] == ["p", "p"]
    assert stimuli["pair_id"].isna()[2]
    assert stimuli["grammatical"].tolist()[:2] == [True, False]
    assert "the pair of 1 rows is NA, so they are in none" in caplog.text
    assert "{rating: Rating}. To read them, set datasets.mine.columns." in caplog.text


def test_meanings_may_be_empty_or_a_boolean(tmp_path):
    path = write(tmp_path / "mine.csv", "sentence,grammatical\nA.,\nB.,*\n")
    assert own(path, grammatical={"": True, "*": False})[0]["grammatical"].tolist() == [True, False]
    write(path, "sentence,grammatical\nA.,yes\nB.,No\n")
    other, _ = own(path, grammatical={True: False, False: True})
    assert other["grammatical"].tolist() == [False, True]


def test_other_files_and_numbers_of_items_are_refused(tmp_path):
    path = write(tmp_path / "mine.csv", "sentence,rating\nA.,1\nB.,2\n")
    for name, counts, said in (
        ("absent.csv", {}, r"absent\.csv: no such"),
        ("mine.xls", {}, r"a table is \.csv"),
        ("mine.csv", {"items": 3}, "2 items, but the catalog expects 3"),
        ("mine.csv", {"pairs": 1}, "0 pairs, but the catalog expects 1"),
    ):
        with pytest.raises(LingprobError, match=said):
            own(tmp_path / name, **counts)
    entry = {**TABLE, "path": str(path)}
    build_stimuli("mine", entry, tmp_path, 0, sentences_needed=2)
    with pytest.raises(LingprobError, match=r"mine\.csv\): 2 sentences are too few .* need 3"):
        build_stimuli("mine", entry, tmp_path, 0, sentences_needed=3)


@pytest.mark.parametrize("content", [b"\xe9t\xe9", b"\xed\xa0\x80", "A.".encode("utf-16")])
def test_another_encoding_is_named(tmp_path, content):
    path = tmp_path / "mine.csv"
    path.write_bytes(b"sentence,rating\n" + content + b",1\n")
    with pytest.raises(LingprobError, match=r"mine.csv is not text in UTF-8"):
        own(path)
    path.write_bytes(content)
    with pytest.raises(LingprobError, match=r"mine\.csv: not a CSV file in UTF-8"):
        parse("hll", tmp_path, "mine.csv")


def test_every_form_of_table_is_read_alike(tmp_path):
    frame = pd.DataFrame(
        {"item": ["01", "2", "x"], "sentence": ["A “b”, c.", "NA", "Zoë can’t."], "condition": "c",
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


def test_a_workbook_has_one_table_without_dates(tmp_path):
    rows = [["sentence", "rating", "item"], ["A.", 1, 7], [None, None, None], ["B.", 2.5, 8]]
    stimuli, _ = own(workbook(tmp_path / "mine.xlsx", [], rows, []))
    assert stimuli["item_id"].tolist() == ["7", "8"]
    dated = [[None, None], ["item", "sentence"], ["1-1", "A."], [pd.Timestamp("2026-02-01"), "B."]]
    for sheets, said in (
        ([rows, rows], r"2 sheets have rows \(s0, s1\).*save that as CSV"),
        ([[], []], r"mine.xlsx: no rows"),
        ([dated], r"sheet .s0., row 4: a date .*as text"),
        ([[["My study", None, None], *rows]], r"its first row is 'My study' alone"),
        ([[["sentence"], ["=1/0"]]], r"row 2, column A: the formula =1/0 without a stored value"),
        ([[["sentence", "item"], ["A.", "#N/A"]]], r"row 2, column B: the error #N/A"),
    ):
        with pytest.raises(LingprobError, match=said):
            own(workbook(tmp_path / "mine.xlsx", *sheets))


def test_hidden_rows_are_named_and_merged_cells_refused(tmp_path, caplog):
    rows = [["sentence", "pair"], ["It is.", "x"], ["It are.", None]]
    path = workbook(tmp_path / "mine.xlsx", rows)
    own(path)
    assert "hidden" not in caplog.text
    book = load_workbook(path)
    book.active.row_dimensions[3].hidden = True
    book.save(path)
    stimuli, _ = own(path)
    assert stimuli["text"].tolist() == ["It is.", "It are."]
    assert "1 rows are hidden" in caplog.text
    book.active.merge_cells("B2:B3")
    book.save(path)
    with pytest.raises(LingprobError, match=r"sheet 's0': merged cells.*Unmerge them"):
        own(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.xlsx", b""),
        ("mine.xlsx", b"PK and nothing more"),
        ("mine.xlsx", "sentence,rating\nA.,1\n".encode("utf-16")),
        ("mine.parquet", b"PAR1 and nothing more"),
    ],
)
def test_a_damaged_table_is_one_clear_message(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LingprobError, match=f"{name}: cannot be read as a table"):
        own(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"sentence": "A."}\n\n{"sentence": ', r"line 3: not a JSON object .* Each line is a row"),
        ('["A."]\n', r"line 1: not a JSON object"),
        ("\n", "no rows"),
        ('{"sentence": ["A."]}\n', r"data row 1, column 'sentence': not text"),
        ('{"sentence": "A."}\n{"rating": 1}\n', r"data row 2.*sentence"),
        ('{"sentence": "A.", "pair": 9007199254740993}\n{"sentence": "B."}\n', "'pair': too large"),
    ],
)
def test_json_lines_of_another_form_name_the_remedy(tmp_path, text, said):
    refuse(tmp_path / "mine.jsonl", text, said)


def test_parquet_has_texts_and_maybe_an_index(tmp_path):
    path = tmp_path / "mine.parquet"
    pd.DataFrame({"sentence": [["A", "b"], ["C"]], "rating": [1.0, 2.0]}).to_parquet(path)
    with pytest.raises(LingprobError, match=r"data row 1, column 'sentence': not text"):
        own(path)
    frame = pd.DataFrame({"item": ["x", "y"], "sentence": ["A", "B"], "rating": [1.0, 2.0]})
    frame.set_index("item").to_parquet(path)
    assert own(path)[0]["item_id"].tolist() == ["x", "y"]


def test_a_row_may_be_a_pair(tmp_path):
    rows = "A b.,B a.,x,z\nA b.,B a.,y,w\n" * 20
    path = write(tmp_path / "pairs.csv", f"good,bad,paradigm,phenomenon\n{rows}")
    stimuli, _ = own(path)
    assert stimuli["text"].tolist() == ["A b.", "B a."] * 40
    assert stimuli["pair_id"].tolist()[:4] == ["1", "1", "2", "2"]
    assert stimuli["item_id"].tolist()[:4] == ["1.good", "1.bad", "2.good", "2.bad"]
    assert stimuli["grammatical"].tolist() == [True, False] * 40
    about = stimuli["paradigm"] + stimuli["phenomenon"]
    assert about.tolist() == ["xz", "xz", "yw", "yw"] * 20
    write(path, "ok,ko,name\nA b.,B a.,p\nC d.,D c.,q\n")
    named, _ = own(path, columns={"good": "ok", "bad": "ko", "pair": "name"})
    assert named["item_id"].tolist() == ["p.good", "p.bad", "q.good", "q.bad"]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("good,bad\nA b.,\n", {}, "data row 1, column 'bad': an empty sentence"),
        ("good,bad,pair\nA.,B.,1\nC.,D.,1\n", {}, "an id that an earlier row has: '1'"),
        ("good,bad,pair\nA.,B.,\n", {}, "column 'pair': no id"),
        ("Good,bad\nA.,B.\n", {"good": "GOOD"}, r"no columns \['GOOD'\].*mean {GOOD: Good}"),
        ("fine,bad\nA.,B.\n", {}, r"no columns \['sentence'\]"),
        ("participant,good,bad\na,A.,B.\n", {"good": "good"}, r"\['sentence', 'rating'\]"),
    ],
)
def test_bad_tables_of_pairs_are_named(tmp_path, text, columns, said):
    refuse(tmp_path / "pairs.csv", text, said, columns=columns)


JUDGED = """who,item,version,sentence,score,ok
b,2,x,C d.,6,fine
a,1,y,B a.,5,*
a,1,x,A b. ,1,fine
b,1,x,A b.,2,fine
a,2,x,C d.,3,fine
b,1,y,B a.,,*
"""
NAMED = {"participant": "who", "condition": "version", "rating": "score", "grammatical": "ok"}
NAMED["pair"] = "item"  # which is also the item


def test_judgments_are_averaged_within_participants_by_hand(tmp_path, caplog):
    """a rates 1, 5, 3 (mean 3, sd 2), b rates 6, 2 (mean 4, sd 2.83)."""
    entry = {"columns": NAMED, "grammatical": {"fine": True, "*": False}, "ratings": "every"}
    path = write(tmp_path / "mine.csv", JUDGED)
    stimuli, ratings = own(path, **entry)
    assert stimuli["item_id"].tolist() == ["2/x", "1/y", "1/x"]
    assert stimuli["text"].tolist() == ["C d.", "B a.", "A b."]
    assert stimuli["condition"].tolist() == ["x", "y", "x"]
    assert stimuli["pair_id"].tolist() == ["2", "1", "1"]
    assert stimuli["grammatical"].tolist() == [True, False, True]
    half = np.sqrt(0.5)
    np.testing.assert_allclose(stimuli["rating"], [half / 2, 1, (-1 - half) / 2])
    assert ratings["item_id"].tolist() == ["2/x", "1/y", "1/x", "1/x", "2/x"]
    assert ratings["rating"].tolist() == [6, 5, 1, 2, 3]
    np.testing.assert_allclose(ratings["z"], [half, 1, -1, -half, 0], atol=1e-12)
    assert "1 judgments have no rating" in caplog.text
    raw, _ = own(path, **entry, standardise=False)
    assert raw["rating"].tolist() == [4.5, 5, 1.5]


def test_judgments_of_one_sentence_share_its_letters(tmp_path, caplog):
    """Composed in one row, decomposed in another, with other spaces and apostrophes."""
    rows = "p,Zo\u00eb ran.,1,x\nq ,Zoe\u0308  ran.\u00a0,2,x\np,I  don't.,3,\nq,I don’t.\t,2,\n"
    path = write(tmp_path / "mine.csv", f"participant,Sentence,rating,pair\n{rows}")
    stimuli, ratings = own(path, standardise=False, ratings="some", column="Sentence")
    assert "To read them" not in caplog.text
    assert stimuli["text"].tolist() == ["Zo\u00eb ran.", "I  don't."]
    assert stimuli["pair_id"].fillna("none").tolist() == ["x", "none"]
    assert stimuli["rating"].tolist() == [1.5, 2.5]
    assert ratings["participant_id"].tolist() == ["p", "q", "p", "q"]
    assert ratings["z"].equals(ratings["rating"])


def test_other_columns_of_sentences_are_kept(tmp_path):
    """Of judgments, only those with one value per sentence. Known names are changed."""
    table = "text,sentence,N,list,participant,rating\nw,A b.,07,1,p,3\nx,B a.,,1,p,5\n"
    path = write(tmp_path / "mine.csv", f"{table}w,A b.,07,2,q,1\nx,B a.,,2,q,2\n")
    stimuli, _ = own(path)
    assert stimuli[["text", "text_given", "N"]].to_numpy().tolist() == [
        ["A b.", "w", "07"], ["B a.", "x", ""],
    ]  # fmt: skip
    assert "list" not in stimuli
    path = write(tmp_path / "pairs.csv", "good,bad,verb,rating\nIt is.,It are.,is,4\n")
    stimuli, _ = own(path)
    assert stimuli[["text", "verb", "rating_given"]].to_numpy().tolist() == [
        ["It is.", "is", "4"], ["It are.", "is", "4"],
    ]  # fmt: skip
    assert stimuli["rating"].isna().all()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,2,x,C d.,4,fine", r"data row 7, column 'who': a second judgment of one sentence: 'a'"),
        ("c,2,x,C d.,4,*", r"data row 7, column 'ok': another value than earlier: '\*'"),
        (",2,x,C d.,4,fine", "data row 7, column 'who': no participant"),
        ("c,2,x,C d.,4,maybe", "another value"),
        ("a,3,x,C d.,1e400,fine", "infinite"),
        ("c,2,x,C e.,4,fine", "data row 7, column 'sentence': another sentence .*: 'C e.'"),
    ],
)
def test_bad_judgments_are_named(tmp_path, row, said):
    meant = {"fine": True, "*": False}
    refuse(tmp_path / "mine.csv", f"{JUDGED}{row}\n", said, columns=NAMED, grammatical=meant)


def parse(parser: str, folder: Path, *names: str) -> pd.DataFrame:
    entry = {"parser": parser, "language": "xx", "files": [{"name": name} for name in names]}
    stimuli, _ = build_stimuli("mine", entry, folder, 0)
    assert set(stimuli.columns) == set(SCHEMAS["stimuli"].names)
    return stimuli


def json_lines(path: Path, *records: dict) -> Path:
    lines = [json.dumps(record, ensure_ascii=False) + "\n" for record in records]
    return write(path, "".join(lines))


def test_a_line_of_blimp_becomes_two_rows(tmp_path):
    pair = PAIR | {"linguistics_term": "agreement"}
    json_lines(tmp_path / "one.jsonl", pair, {**pair, "sentence_good": "A\u2028b."})
    table = parse("blimp", tmp_path, "one.jsonl")
    assert list(table["item_id"]) == ["one.0.good", "one.0.bad", "one.1.good", "one.1.bad"]
    assert list(table["grammatical"]) == [True, False] * 2
    assert list(table["text"])[:2] == ["She sings.", "She sing."]
    assert set(table["paradigm"] + table["phenomenon"] + table["language"]) == {"oneagreementxx"}
    assert table["text"].iloc[2] == "A\u2028b."


def test_crows_pairs_sides_and_directions_by_hand(tmp_path):
    rows = ["sent_more,sent_less,stereo_antistereo,bias_type",
            "Poor people lie.,Rich people lie.,stereo,class",
            "Men cry. , Women cry.,antistereo,sex"]  # fmt: skip
    (tmp_path / "crows_pairs_anonymized.csv").write_text("\n".join(rows))
    entry = {"parser": "crows_pairs", "language": "en"}
    table = build_stimuli("crows", entry, tmp_path, 0)[0].set_index("item_id")
    assert table["text"].to_dict() == {
        "crows_0.less": "Rich people lie.", "crows_0.more": "Poor people lie.",
        "crows_1.less": "Women cry.", "crows_1.more": "Men cry.",
    }  # fmt: skip
    assert table["grammatical"].tolist() == [True, False, True, False]
    assert table["condition"].tolist() == [
        "stereo/less", "stereo/more", "antistereo/less", "antistereo/more"
    ]  # fmt: skip
    assert table["paradigm"].tolist() == ["class", "class", "sex", "sex"]


def test_scamp_reads_windows_line_ends(tmp_path):
    for name in ("order_implausible.tsv", "order_plausible.tsv"):
        (tmp_path / name).write_bytes(b"a b .\tb a .\r\nc d .\td c .\r\n")
        table = parse("scamp", tmp_path, name)
        assert list(table["text"]) == ["a b .", "b a .", "c d .", "d c ."]
        assert set(table["paradigm"] + table["phenomenon"]) == {"orderorder"}


def test_zhoblimp_reads_all_files_of_its_archive(tmp_path):
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        for name, text in (("BA", "我把书看了。"), ("AB", "他来了。")):
            pair = {**PAIR, "phenomenon": "verbs", "sentence_good": text}
            archive.add(json_lines(tmp_path / "one", pair), f"ZhoBLiMP/{name}.jsonl")
    table = parse("zhoblimp", tmp_path, "all.tar.gz")
    assert table["item_id"].tolist() == ["AB.0.good", "AB.0.bad", "BA.0.good", "BA.0.bad"]
    assert table["text"].tolist()[::2] == ["他来了。", "我把书看了。"]
    assert set(table["language"] + table["phenomenon"]) == {"xxverbs"}


def test_cola_has_no_pairs(tmp_path):
    (tmp_path / "c.tsv").write_text("gj04\t1\t\tFine.\ngj04\t0\t*\tWhat.\n")
    stimuli = parse("cola", tmp_path, "c.tsv")
    assert stimuli["text"].tolist() == ["Fine.", "What."]
    assert stimuli["grammatical"].tolist() == [True, False]
    assert stimuli["item_id"].tolist() == ["c.1", "c.2"]
    assert stimuli["paradigm"].tolist() == ["gj04", "gj04"]
    assert stimuli["pair_id"].isna().all()


def judgments(path: Path, rows: list[tuple]) -> None:
    columns = ["participant", "group", "sentence", "grammatical", "rating"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def test_hll_pairs_sentences_of_a_group(tmp_path):
    """Participant a rates 7, 5, 1, 3 (mean 4, sd 2.582), b the reverse of a's middle: by hand."""
    sentences = [("g1", "好一", 1), ("g1", "好二", 1), ("g1", "坏", 0), ("g2", "好一", 1)]
    rows = [
        (who, *sentence, rating)
        for who, ratings in (("a", (7, 5, 1, 3)), ("b", (5, 7, 1, 3)))
        for sentence, rating in zip(sentences, ratings, strict=True)
    ]
    judgments(tmp_path / "hll.csv", rows)
    entry = {"parser": "hll", "files": [{"name": "hll.csv"}]}
    stimuli, ratings = build_stimuli("hll", entry, tmp_path, 0)
    assert stimuli.groupby("pair_id")["text"].agg(list).tolist() == [["好一", "坏"], ["好二", "坏"]]
    sd = np.sqrt((9 + 1 + 9 + 1) / 3)
    expected = [2 / sd, -3 / sd, 2 / sd, -3 / sd]
    np.testing.assert_allclose(stimuli["rating"], expected)
    means = ratings.groupby("item_id", sort=False)["z"].mean()
    np.testing.assert_allclose(means.reindex(stimuli["item_id"]), expected)
    assert ratings.groupby("item_id").size().eq(2).all()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("a", "g", "x", "yes", 3), "column 'grammatical': neither 0 nor 1: 'yes'"),
        (("a", "g", "x", 1, 9), "column 'rating': not from 1 to 7: '9'"),
        (("a", "g", " ", 1, 3), "column 'sentence'"),
        (("a", "", "x", 1, 3), "column 'group'"),
        (("", "g", "x", 1, 3), "column 'participant'"),
    ],
)
def test_hll_names_the_row_at_fault(tmp_path, row, said):
    judgments(tmp_path / "hll.csv", [("a", "g", "good", 1, 3), row])
    with pytest.raises(LingprobError, match=f"row 2, {said}"):
        parse("hll", tmp_path, "hll.csv")


def judged(folder: Path, *lines: str) -> None:
    """Save judgments of the first study, five lines below the file's beginning."""
    (folder / "sprouse2013_LS").mkdir()
    lines = ("item,participant,judgment,zscores", *lines)
    write(folder / "sprouse2013_LS/LI.ls.results.csv", "\n" * 5 + "\n".join(lines))


def test_linguistic_inquiry_has_likert_ratings(tmp_path):
    """Other columns of ratings, other capitals, an item of another study and a missing judgment."""
    rows = [
        ("1.2.kim.3a.g.01", "1.2.Kim.3a.*.01", "He ran.", "Ran he.", 0.5, -0.25, 9, 8),
        ("1.2.kim.3a.g.02", "1.2.kim.3a.*.02", "She ran.", "Ran she.", 0.75, -1, 7, 6),
    ]
    columns = ["Good ID", "Bad ID", "Good Sentence", "Bad Sentence", "Good Sentence LS",
               "Bad Sentence LS", "Good Sentence ME", "Bad Sentence ME"]  # fmt: skip
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "linguistic_inquiry_data.csv")
    lines = "1.2.kim.3A.g.01,7,6,0.5 1.2.kim.3a.*.01,7,2,-0.25 9.9.other.1.g.01,7,5,3"
    judged(tmp_path, *lines.split(), "1.2.kim.3a.g.02,8,,")
    stimuli, ratings = build_stimuli("li", {"parser": "linguistic_inquiry"}, tmp_path, 0)
    assert stimuli[["item_id", "text", "grammatical", "rating"]].to_numpy().tolist() == [
        ["1.2.kim.3a.g.01", "He ran.", True, 0.5], ["1.2.Kim.3a.*.01", "Ran he.", False, -0.25],
        ["1.2.kim.3a.g.02", "She ran.", True, 0.75], ["1.2.kim.3a.*.02", "Ran she.", False, -1],
    ]  # fmt: skip
    assert set(stimuli["phenomenon"]) == {"1.2.kim"}
    assert stimuli["paradigm"].tolist()[::2] == ["1.2.Kim.3a.*", "1.2.kim.3a.*"]
    assert ratings.to_numpy().tolist() == [
        ["7", "1.2.kim.3a.g.01", 6, 0.5], ["7", "1.2.Kim.3a.*.01", 2, -0.25]
    ]  # fmt: skip


def test_published_scores_are_in_nats_and_keep_slor(tmp_path):
    """The n-gram model's SLOR times the length is log-probability less unigram log-probability."""
    pairs = pd.DataFrame(
        {
            "dataset": ["LI", "LI"], "phenomenon": "other", "ungramm_id": ["A.1", "A.2"],
            "gramm_sentence": ["Kim left.", "No score."],
            "ungramm_sentence": ["Left Kim, no?", "Score no."], "gramm_judgement": [1.0, 0.5],
            "ungramm_judgement": [-1.0, -0.5], "logProb_gramm": [-6.0, np.nan],
            "logProb_ungramm": [-9.0, -4.0], "slor_gramm": [1.0, np.nan],
            "slor_ungramm": [0.5, 0.1],
        }
    )  # fmt: skip
    pairs.to_csv(tmp_path / "p.csv", index=False)
    about = ["pair_id", "text", "rating", "phenomenon", "paradigm"]
    assert parse("li_adger", tmp_path, "p.csv")[about].to_numpy().tolist() == [
        ["pair.0", "Kim left.", 1, "LI", "a"], ["pair.0", "Left Kim, no?", -1, "LI", "a"]
    ]  # fmt: skip
    scores = published_scores(tmp_path / "p.csv", "trigram").set_index("item_id")
    assert list(scores.index) == ["pair.0.good", "pair.0.bad"]
    assert list(scores["n_tokens"]) == [4, 6], "words, marks and the end of the sentence"
    slor = (scores["logprob"] - scores["unigram_logprob"]) / scores["n_tokens"]
    np.testing.assert_allclose(slor, np.log(10) * np.array([1.0, 0.5]))
    with pytest.raises(LingprobError, match="trigram"):
        published_scores(tmp_path / "p.csv", "trigramm")


def test_li_large_has_judgments_of_the_first_study(tmp_path):
    """Its own columns phenomenon and paradigm are others, and two pairs share a sentence."""
    pairs = pd.DataFrame({
        "sentence_grammatical": ["He ran.", "He ran.", "She ran."], "phenomenon": "x",
        "sentence_ungrammatical": ["Ran he.", "Ran.", "Ran she."], "paradigm": "y",
        "source": ["Sprouse"] * 2 + ["M"], "pair_ID": [1, 2, 3],
        "Good ID": ["1.2.kim.3a.g.01", "1.2.kim.3a.g.01", "g"],
        "Bad ID": ["1.2.Kim.3a.*.01", "1.2.Kim.3b.*.01", "4.5.lee.*"],
        "LS_grammatical": [0.5, 0.5, 0.7], "LS_ungrammatical": [-0.5, -0.7, np.nan],
    })  # fmt: skip
    pairs.to_csv(tmp_path / "LI_Large_pairs.csv")
    lines = ("1.2.kim.3a.g.01,7,6,0.5", "1.2.kim.3b.*.01,7,2,-0.25", "4.5.lee.*,7,1,-1")
    judged(tmp_path, *lines)
    stimuli, ratings = build_stimuli("li", {"parser": "li_large"}, tmp_path, 0)
    assert stimuli["phenomenon"].tolist() == ["Sprouse"] * 4 + ["M"] * 2
    assert stimuli["paradigm"].tolist() == ["1.2.kim"] * 4 + ["4.5.lee"] * 2
    assert stimuli["rating"].tolist()[:5] == [0.5, -0.5, 0.5, -0.7, 0.7]
    assert sorted(zip(ratings["item_id"], ratings["rating"], strict=True)) == [
        ("pair.1.good", 6), ("pair.2.bad", 2), ("pair.2.good", 6)
    ]  # fmt: skip


@pytest.fixture
def paradigms() -> pd.DataFrame:
    """30 pairs of a, 20 of b, one of which has identical sentences."""
    rows = [
        {"item_id": f"{p}{n}.{s}", "pair_id": f"{p}{n}", "paradigm": p, "text": f"{p} {n} {s}"}
        for p, size in (("a", 30), ("b", 20))
        for n in range(size)
        for s in ("good", "bad")
    ]
    table = pd.DataFrame(rows)
    table.loc[table["pair_id"] == "b3", "text"] = "the same"
    return table


def test_samples_have_order_seed_and_different_sentences(paradigms):
    sample = sample_pairs(paradigms, 20, seed=1)
    assert "b3" not in set(sample["pair_id"])
    assert sample.equals(sample_pairs(paradigms, 20, seed=1))
    assert not sample.equals(sample_pairs(paradigms, 20, seed=2))
    drawn = paradigms["item_id"].isin(sample["item_id"])
    assert sample["item_id"].tolist() == paradigms.loc[drawn, "item_id"].tolist()
    assert sample_pairs(paradigms, 49, seed=0)["pair_id"].nunique() == 49
    with pytest.raises(LingprobError, match=r"50 pairs.*there are 49"):
        sample_pairs(paradigms, 50, seed=0)
    alone = paradigms.assign(pair_id=None, paradigm=None)
    assert sample_pairs(alone, 30, seed=0)["item_id"].nunique() == 30


def test_a_remainder_goes_to_random_paradigms():
    sizes = {tuple(allot(np.full(4, 10), 10, np.random.default_rng(s))) for s in range(20)}
    assert all(sum(size) == 10 and set(size) == {2, 3} for size in sizes)
    assert len(sizes) > 1


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        # Further operators are in tests/property/test_context.py.
        ("[(2;%a%) - [(2;%b%) - (1;%a%)]] = 3.0", True),
        (" (1;%a%) < (1;%b%)\n", [True, False]),
        ("(1;%a%) + (2;%a%) = (*;%a%)", True),
        ("(1;%a%) = 1.0005", True),
        ("(1;%a%) = 1.01", False),
        # & binds tighter than |: True | (False & False).
        ("(1;%a%) < 9 | (1;%a%) > 9 & (1;%a%) > 9", True),
    ],
)
def test_a_formula_means_what_it_says(formula, expected):
    assert np.asarray(parse_formula(formula, "here").holds(SURPRISALS)).tolist() == expected


def test_a_formula_knows_its_regions_and_preferences():
    formula = parse_formula("[(7;%x-1%) > (7;%y_2%)] & [[(7;%x-1%) - (7;%y_2%)] > (8;%z%)]", "h")
    assert {*formula.names} == {("x-1", 7), ("y_2", 7), ("z", 8)}
    assert formula.preferences() == [(("y_2", 7), ("x-1", 7))]


@pytest.mark.parametrize(
    "formula",
    ["", "(1;%a%) < ", "(1;%a%)", "(1;%a%) ! (1;%b%)", "[(1;%a%) < (1;%b%)",
     "(1;%a%) < (1;%b%)]", "(1;%a%) & (1;%b%)", "[(1;%a%) < 2] + 3 > 1", "[1 < 2] < [1 < 3]",
     "(1;%a%) < (1;%b%) < (2;%a%)", "(x;%a%) < 1", "< (1;%a%)", "1 < 2 * 2", "f(1) < 2", "a < 1"],
)  # fmt: skip
def test_formulas_of_another_form_are_shown(formula):
    with pytest.raises(LingprobError, match=r"my suite: the formula .* does not parse") as error:
        parse_formula(formula, "my suite")
    assert formula in str(error.value)


def test_regions_join_as_running_text():
    regions = ["As the man", " shot ", ",", "", " the woman", "left ."]
    sentence = join_regions([*enumerate(regions, start=1)])
    assert sentence.text == "As the man shot, the woman left."
    pieces = [sentence.text[region.start : region.end] for region in sentence.regions]
    assert pieces == ["As the man", " shot", ",", "", " the woman", " left."]


def suite(tmp_path: Path, formula: str) -> Path:
    """A suite of one item with conditions a and b."""
    conditions = []
    for name, verb in (("a", "bark"), ("b", "barks")):
        numbered = [(2, verb), (1, "The dogs"), (3, "")]
        regions = [{"region_number": number, "content": content} for number, content in numbered]
        conditions.append({"condition_name": name, "regions": regions})
    raw = {
        "predictions": [{"type": "formula", "formula": formula}],
        "items": [{"item_number": 3, "conditions": conditions}],
    }
    return write(tmp_path / "mine.json", json.dumps(raw))


@pytest.mark.parametrize(
    ("formula", "grammatical"),
    [
        ("(2;%a%) < (2;%b%)", [True, False]),
        ("[(2;%a%) < (2;%b%)] & [(1;%a%) > (1;%b%)]", [None, None]),
        ("(2;%a%) + (1;%a%) < (2;%b%)", [None, None]),
    ],
)
def test_a_suite_has_ordered_regions_and_maybe_grammaticality(tmp_path, formula, grammatical):
    read = read_suite(suite(tmp_path, formula))
    assert read.name == "mine"
    assert read.items[0].sentences["b"].text == "The dogs barks"
    assert [read.grammatical(condition) for condition in ("a", "b")] == grammatical
