"""Texts of reading-time corpora, from small files in each corpus's layout."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.reading.surprisal import passages_of
from lingprob.reading.texts import build_words, passage_texts


def parsed(tmp_path: Path, parser: str, content: str | bytes, **entry: int) -> list[tuple]:
    path = tmp_path / "text"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    words = build_words("mine", {"parser": parser, **entry}, [path])
    return [
        (row.passage_id, row.word_index, row.word, row.sentence_index) for row in words.itertuples()
    ]


def test_natural_stories_keeps_quotes_and_the_order_of_its_stories(tmp_path):
    content = 'word\tzone\titem\n"If\t1\t2\nNA\t2\t2\nSo\t1\t1\n'
    assert parsed(tmp_path, "natural_stories", content) == [
        ("2", 0, '"If', 0), ("2", 1, "NA", 0), ("1", 0, "So", 0)
    ]  # fmt: skip


def test_brown_counts_sentences_from_0_in_each_passage(tmp_path):
    content = (
        "docid\tsentid\tsentpos\tword\tmean_rt\n"
        "d00\t0\t1\tIn\t\nd00\t1\t1\tA\t\nd01\t2\t1\tB\t\nd01\t2\t2\tC.\t300\n"
    )
    assert parsed(tmp_path, "brown_spr", content) == [
        ("d00", 0, "In", 0), ("d00", 1, "A", 1), ("d01", 0, "B", 0), ("d01", 1, "C.", 0)
    ]  # fmt: skip


def test_geco_without_its_novel_is_refused(tmp_path):
    with pytest.raises(LingprobError, match="lost their punctuation"):
        parsed(tmp_path, "geco", "WORD_ID,SENTENCE_ID,WORD\n1-5-1,1-1,The\n")


def test_provo_sorts_passage_numbers_as_the_published_tables_do(tmp_path):
    words = parsed(tmp_path, "provo", "".join(f"w{number}\n" for number in range(1, 12)))
    assert [word[2] for word in words[:4]] == ["w1", "w10", "w11", "w2"]


def test_frank2013_is_in_windows_1252(tmp_path):
    content = b"sent_nr\tsentence\tquestion\tanswer\n7\tIt\x92s here.\t-\t-\n"
    assert parsed(tmp_path, "frank2013", content) == [
        ("7", 0, "It\u2019s", 0), ("7", 1, "here.", 0)
    ]  # fmt: skip


def test_own_passages_are_lines_and_joining_words_gives_them_back(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("One  two\n\nthree\n")
    words = build_words("mine", {"parser": "passages"}, [path])
    assert passage_texts(words).to_dict() == {"1": "One two", "2": "three"}


@pytest.mark.parametrize(
    ("parser", "content", "entry", "said"),
    [
        ("natural_stories", "word\tzone\nIf\t1\n", {}, "no column 'item'"),
        ("passages", "", {}, "0 passages"),
        ("passages", "one\ntwo\n", {"passages": 3}, "2 passages, but 3"),
        ("passages", b"caf\xe9\n", {}, "not UTF-8"),
        ("provoo", "one\n", {}, "Did you mean 'provo'"),
    ],
)
def test_bad_input_is_one_message(tmp_path, parser, content, entry, said):
    with pytest.raises(LingprobError, match=said):
        parsed(tmp_path, parser, content, **entry)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LingprobError, match=r"gone.txt: no such text"):
        build_words("mine", {"parser": "passages"}, [tmp_path / "gone.txt"])


def test_natural_stories_takes_its_sentences_from_the_second_file(tmp_path):
    (tmp_path / "text").write_text("word\tzone\titem\nMr.\t1\t1\nB\t2\t1\nso.\t3\t1\n")
    marks = tmp_path / "sentences.tsv"
    header = "story_num\tsentence_num\tsentence\tword_num_in_sentence\tword_num_in_story\n"
    marks.write_text(header + "1\t1\tMr.\t1\t1\n1\t1\tB\t2\t2\n1\t2\tso.\t1\t3\n")
    words = build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])
    assert words["sentence_index"].tolist() == [0, 0, 1]
    marks.write_text(header + "1\t1\tMr.\t1\t1\n")
    with pytest.raises(LingprobError, match=r"no sentence for story 1, word 2 \('B'\)"):
        build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])


def test_provo_takes_its_sentences_from_the_second_file(tmp_path):
    """Marks that lack a word, or have one at the end that stands elsewhere, are made good."""
    rest = " ".join(f"w{number}" for number in range(40))
    (tmp_path / "text").write_text(f"Mrs. Darling, so she went. It was {rest}.\nNo. Go.\n")
    marks = tmp_path / "provo_sents.csv"
    rows = [
        (1, 1, "mrs darling she went"), (1, 2, f"it was {rest}"), (1, 7, "so"), (2, 1, "no"),
        (2, 2, "go"),
    ]  # fmt: skip
    header = '"","Text_ID","Sentence_Number","text"\n'
    marks.write_text(header + "".join(f'"9",{a},{b},"{c}"\n' for a, b, c in rows))
    words = build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])
    assert words["sentence_index"].tolist() == [0] * 5 + [1] * 42 + [0, 1]
    marks.write_text(header + '"9",1,1,"other words"\n')
    with pytest.raises(LingprobError, match=r"provo_sents.csv, passage '1': .* part at word 0"):
        build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])
    marks.write_text(header + '"9",3,1,"other words"\n')
    with pytest.raises(LingprobError, match="no sentences of passage '1'"):
        build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])


def test_unmarked_sentences_end_at_a_stop_a_question_or_an_exclamation(tmp_path):
    words = parsed(tmp_path, "passages", 'He said "No!" Why? (Because.) 3.5 is.\nNew one\n')
    assert [word[3] for word in words] == [0, 0, 0, 1, 2, 3, 3, 0, 0]


@pytest.mark.parametrize("name", ["demo_passages", "demo_reading"])
def test_the_demo_s_texts_are_as_long_as_the_catalog_says(name):
    entry = Catalog().dataset(name)
    words = build_words(name, entry, [])
    assert (words["passage_id"].nunique(), len(words)) == (entry["passages"], entry["words"])


def test_the_demo_s_passages_have_fifteen_sentences_each():
    words = build_words("demo_passages", {"parser": "demo_passages"}, [])
    found = words.groupby(["passage_id", "sentence_index"], sort=False)["word"].agg(" ".join)
    sentences = pd.read_csv(MINIMAL_PAIRS)["good"].tolist()
    assert found.tolist() == sentences
    assert list(found.index) == [(f"{n // 15 + 1:02d}", n % 15) for n in range(len(sentences))]


def test_pieces_are_passages_or_sentences_with_their_names_and_places():
    rows = [("a", 0, "So", 0), ("a", 1, "it", 0), ("a", 2, "is.", 1), ("b", 0, "No.", 0)]
    words = pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])
    whole, by_sentence = (passages_of(words, context) for context in ("passage", "sentence"))
    assert [(piece.name, piece.text) for piece in whole] == [
        ("passage 'a'", "So it is."), ("passage 'b'", "No.")
    ]  # fmt: skip
    assert [(piece.name, piece.text) for piece in by_sentence] == [
        ("passage 'a', sentence 0", "So it"), ("passage 'a', sentence 1", "is."),
        ("passage 'b', sentence 0", "No."),
    ]  # fmt: skip
    pd.testing.assert_frame_equal(
        by_sentence[1].keys, pd.DataFrame({"passage_id": ["a"], "word_index": [2]})
    )
    with pytest.raises(LingprobError, match="texts whose sentences are marked"):
        passages_of(words.assign(sentence_index=None), "sentence")
    assert len(passages_of(words.assign(sentence_index=None), "passage")) == 2
