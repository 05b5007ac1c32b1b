"""Parsers of minimal pairs and rated sentences: what they make of good and of bad files."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stimuli.build import allotted, build_stimuli, sample_pairs
from lingprob.stimuli.linguistic_inquiry import published_scores

PAIR = {
    "sentence_good": "She sings.",
    "sentence_bad": "She sing.",
    "linguistics_term": "agreement",
    "phenomenon": "agreement",
}


def parse(parser: str, folder: Path, *names: str) -> pd.DataFrame:
    entry = {"title": "Mine", "kind": "stimuli", "parser": parser}
    entry = {**entry, "files": [{"name": name} for name in names]}
    stimuli, _ = build_stimuli("mine", entry, folder, 0)
    assert set(stimuli.columns) == set(SCHEMAS["stimuli"].names)
    return stimuli


def json_lines(path: Path, *records: dict) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_of_blimp_becomes_two_rows(tmp_path):
    json_lines(tmp_path / "one.jsonl", PAIR, {**PAIR, "sentence_good": "A\u2028b."})
    table = parse("blimp", tmp_path, "one.jsonl")
    assert list(table["item_id"]) == ["one.0.good", "one.0.bad", "one.1.good", "one.1.bad"]
    assert list(table["grammatical"]) == [True, False] * 2
    assert list(table["text"])[:2] == ["She sings.", "She sing."]
    assert set(table["paradigm"]) == {"one"}
    assert table["text"].iloc[2] == "A\u2028b."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (json.dumps({**PAIR, "sentence_bad": " "}), ["line 2", "'sentence_bad'", "both"]),
        (json.dumps({"sentence_good": "Alone."}), ["line 2", "'sentence_bad'"]),
        ("{", ["line 2", "not JSON"]),
    ],
)
def test_a_pair_with_a_member_missing_is_named(tmp_path, line, said):
    path = json_lines(tmp_path / "one.jsonl", PAIR)
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(LingprobError) as error:
        parse("blimp", tmp_path, "one.jsonl")
    assert all(part in str(error.value) for part in [str(path), *said])


@pytest.mark.parametrize("parser", ["blimp", "scamp", "cola"])
def test_text_in_another_encoding_is_named_by_its_line(tmp_path, parser):
    (tmp_path / "old.tsv").write_bytes("a\tb\nNaïve\tb\n".encode("latin-1"))
    with pytest.raises(LingprobError, match=r"old\.tsv, line [12]"):
        parse(parser, tmp_path, "old.tsv")
    (tmp_path / "old.tsv").write_bytes("gj04\t1\t\tNaïve.\n".encode("latin-1"))
    with pytest.raises(LingprobError, match="line 1: not UTF-8"):
        parse(parser, tmp_path, "old.tsv")


@pytest.mark.parametrize(
    ("parser", "name"),
    [
        ("crows_pairs", "crows_pairs_anonymized.csv"),
        ("hll", "own.csv"),
        ("li_adger", "own.csv"),
        ("li_large", "LI_Large_pairs.csv"),
        ("linguistic_inquiry", "linguistic_inquiry_data.csv"),
    ],
)
def test_a_csv_file_in_another_encoding_is_named(tmp_path, parser, name):
    (tmp_path / name).write_bytes("sentence\nNaïve\n".encode("latin-1"))
    with pytest.raises(LingprobError, match=rf"{name}: not a CSV file in UTF-8"):
        parse(parser, tmp_path, name)


def test_a_pair_of_crows_pairs_without_a_bias_type_is_named(tmp_path):
    rows = ["sent_more,sent_less,stereo_antistereo,bias_type", "A.,B.,stereo,age", "C.,D.,stereo,"]
    (tmp_path / "crows_pairs_anonymized.csv").write_text("\n".join(rows))
    with pytest.raises(LingprobError, match="data row 2: no bias type"):
        parse("crows_pairs", tmp_path, "crows_pairs_anonymized.csv")


def test_scamp_reads_windows_line_ends_and_refuses_a_lonely_sentence(tmp_path):
    (tmp_path / "order_implausible.tsv").write_bytes(b"a b .\tb a .\r\nc d .\td c .\r\n")
    table = parse("scamp", tmp_path, "order_implausible.tsv")
    assert list(table["text"]) == ["a b .", "b a .", "c d .", "d c ."]
    assert set(table["paradigm"]) == {"order"}
    (tmp_path / "order_implausible.tsv").write_text("a b .\n")
    with pytest.raises(LingprobError, match="line 1: a pair is two sentences"):
        parse("scamp", tmp_path, "order_implausible.tsv")


def test_zhoblimp_reads_its_archive_and_refuses_another_file(tmp_path):
    json_lines(tmp_path / "BA.jsonl", {**PAIR, "sentence_good": "我把书看了。"})
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "BA.jsonl", "ZhoBLiMP/BA.jsonl")
    table = parse("zhoblimp", tmp_path, "all.tar.gz")
    assert table["text"].iloc[0] == "我把书看了。"
    assert set(table["language"]) == {"zh"}
    (tmp_path / "all.tar.gz").write_bytes(b"not an archive")
    with pytest.raises(LingprobError, match="not a whole tar archive"):
        parse("zhoblimp", tmp_path, "all.tar.gz")


def test_a_line_of_cola_becomes_a_sentence_of_no_pair(tmp_path):
    (tmp_path / "c.tsv").write_text("gj04\t1\t\tFine.\ngj04\t0\t*\tWhat.\n")
    stimuli = parse("cola", tmp_path, "c.tsv")
    assert stimuli["text"].tolist() == ["Fine.", "What."]
    assert stimuli["grammatical"].tolist() == [True, False]
    assert stimuli["item_id"].tolist() == ["c.1", "c.2"]
    assert stimuli["pair_id"].isna().all()


def test_a_label_that_is_neither_0_nor_1_is_named(tmp_path):
    (tmp_path / "c.tsv").write_text("gj04\t1\t\tFine.\ngj04\t2\t*\tWhat.\n")
    with pytest.raises(LingprobError, match=r"c\.tsv, line 2: .*label \(0 or 1\)"):
        parse("cola", tmp_path, "c.tsv")


def judgments(path: Path, rows: list[tuple]) -> None:
    columns = ["participant", "group", "sentence", "grammatical", "rating"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def test_hll_pairs_every_good_with_every_other_sentence_of_a_group(tmp_path):
    """Participant a rates 7, 5, 1, 3 (mean 4, sd 2.582), b the reverse of a's middle: by hand."""
    sentences = [("g1", "好一", 1), ("g1", "好二", 1), ("g1", "坏", 0), ("g2", "独", 1)]
    rows = [
        (who, *sentence, rating)
        for who, ratings in (("a", (7, 5, 1, 3)), ("b", (5, 7, 1, 3)))
        for sentence, rating in zip(sentences, ratings, strict=True)
    ]
    judgments(tmp_path / "hll.csv", rows)
    entry = {"title": "HLL", "kind": "stimuli", "parser": "hll", "files": [{"name": "hll.csv"}]}
    stimuli, ratings = build_stimuli("hll", entry, tmp_path, 0)
    assert stimuli.groupby("pair_id")["text"].agg(list).tolist() == [["好一", "坏"], ["好二", "坏"]]
    sd = np.sqrt((9 + 1 + 9 + 1) / 3)
    expected = [2 / sd, -3 / sd, 2 / sd, -3 / sd]
    np.testing.assert_allclose(stimuli["rating"], expected)
    means = ratings.groupby("item_id", sort=False)["z"].mean()
    np.testing.assert_allclose(means.reindex(stimuli["item_id"]), expected)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (("a", "g", "x", "yes", 3), "column 'grammatical': 'yes'"),
        (("a", "g", "x", 1, 9), "column 'rating': '9'"),
        (("a", "g", " ", 1, 3), "column 'sentence'"),
        (("a", "", "x", 1, 3), "column 'group'"),
        (("", "g", "x", 1, 3), "column 'participant'"),
    ],
)
def test_hll_names_the_row_at_fault(tmp_path, row, said):
    judgments(tmp_path / "hll.csv", [("a", "g", "good", 1, 3), row])
    with pytest.raises(LingprobError, match=f"row 2, {said}"):
        parse("hll", tmp_path, "hll.csv")


def test_hll_cannot_be_downloaded_and_says_whom_to_ask():
    entry = Catalog().dataset("hll")
    assert entry["access"] == "manual"
    assert "authors" in entry["instructions"]


def test_published_scores_are_in_nats_and_keep_slor(tmp_path):
    """The n-gram model's SLOR times the length is log-probability less unigram log-probability."""
    pairs = pd.DataFrame(
        {
            "dataset": ["LI", "LI"],
            "ungramm_id": ["1.a.1", "1.a.2"],
            "gramm_sentence": ["Kim left.", "No score."],
            "ungramm_sentence": ["Left Kim, no?", "Score no."],
            "gramm_judgement": [1.0, 0.5],
            "ungramm_judgement": [-1.0, -0.5],
            "logProb_gramm": [-6.0, np.nan],
            "logProb_ungramm": [-9.0, -4.0],
            "slor_gramm": [1.0, np.nan],
            "slor_ungramm": [0.5, 0.1],
        }
    )
    pairs.to_csv(tmp_path / "p.csv", index=False)
    assert parse("li_adger", tmp_path, "p.csv")["pair_id"].tolist() == ["pair.0", "pair.0"]
    scores = published_scores(tmp_path / "p.csv", "trigram").set_index("item_id")
    assert list(scores.index) == ["pair.0.good", "pair.0.bad"]
    assert list(scores["n_tokens"]) == [4, 6], "words, marks and the end of the sentence"
    slor = (scores["logprob"] - scores["unigram_logprob"]) / scores["n_tokens"]
    np.testing.assert_allclose(slor, np.log(10) * np.array([1.0, 0.5]))
    with pytest.raises(LingprobError, match="trigram"):
        published_scores(tmp_path / "p.csv", "trigramm")


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


def test_a_sample_keeps_pairs_whole_and_paradigms_alike(paradigms):
    sample = sample_pairs(paradigms, 20, seed=1)
    assert sample.groupby("pair_id").size().eq(2).all()
    assert sample.groupby("paradigm")["pair_id"].nunique().to_dict() == {"a": 12, "b": 8}
    assert "b3" not in set(sample["pair_id"])
    pd.testing.assert_frame_equal(sample, sample_pairs(paradigms, 20, seed=1))
    assert not sample.equals(sample_pairs(paradigms, 20, seed=2))
    assert sample["item_id"].tolist() == [
        i for i in paradigms["item_id"] if i in set(sample["item_id"])
    ]


def test_all_pairs_of_different_sentences_may_be_drawn_but_no_more(paradigms):
    assert sample_pairs(paradigms, 49, seed=0)["pair_id"].nunique() == 49
    with pytest.raises(LingprobError, match=r"50 pairs.*there are 49"):
        sample_pairs(paradigms, 50, seed=0)


def test_a_remainder_goes_to_random_paradigms_of_one_size():
    sizes = {tuple(allotted(np.full(4, 10), 10, np.random.default_rng(s))) for s in range(20)}
    assert all(sum(size) == 10 and set(size) == {2, 3} for size in sizes)
    assert len(sizes) > 1
