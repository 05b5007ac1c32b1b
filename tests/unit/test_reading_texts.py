"""Texts that people read, GECO in print, and words that are found again in a text."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.reading.printed import cut_out, ids_between, printed_geco
from lingprob.reading.tables import align_words, attach_words, check_words
from lingprob.reading.texts import build_words, passage_texts
from lingprob.workflow import scope
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run
from words_for_tests import words_of

NAMES = [f"w{number}" for number in range(60)]


def parsed(tmp_path: Path, parser: str, content: str | bytes, **entry: Any) -> list[tuple]:
    path = tmp_path / ("text.CSV" if "," in str(content) else "text")
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    words = build_words("mine", {"parser": parser, **entry}, [path])
    return list(words.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("parser", "content", "expected"),
    [
        (
            "brown_spr",
            "docid\tsentid\tsentpos\tword\tmean_rt\n"
            "d00\t0\t1\tIn\t\nd00\t0\t2\t\t\nd00\t1\t1\tA\t\nd01\t2\t1\tB\t\nd01\t2\t2\tC. \t300\n",
            [("d00", 0, "In", 0), ("d00", 1, "A", 1), ("d01", 0, "B", 0), ("d01", 1, "C.", 0)],
        ),
        (
            "frank2013",
            b"sent_nr\tsentence\tquestion\tanswer\n7\tIt\x92s here.\t-\t-\n",
            [("7", 0, "It\u2019s", 0), ("7", 1, "here.", 0)],
        ),
        ("passages", "One  two\n\nthree\n", [("1", 0, "One", 0), ("1", 1, "two", 0),
                                             ("2", 0, "three", 0)]),
        ("passages", "passage_id,word_index,word\n1,5,A\n1,6,b.\n2,5,C\n2,6,d.\n",
         [("1", 0, "A", 0), ("1", 1, "b.", 0), ("2", 0, "C", 0), ("2", 1, "d.", 0)]),
    ],
)  # fmt: skip
def test_texts_in_their_authors_formats(tmp_path, parser, content, expected):
    assert parsed(tmp_path, parser, content) == expected


@pytest.mark.parametrize(
    ("parser", "content", "entry", "said"),
    [
        ("brown_spr", "word\tdocid\nIf\t1\n", {}, r"no columns \['sentid'\]"),
        ("passages", "", {}, "no word in it"),
        ("passages", "one\ntwo\n", {"passages": 3}, "2 passages, not 3"),
        ("passages", b"caf\xe9\n", {}, "not text in UTF-8"),
        ("provoo", "one\n", {}, "Did you mean 'provo'"),
        ("passages", "passage_id,text\n1,a b\n1,a c\n", {}, "row 2, column 'text': another text"),
        ("passages", "word_index,word\n0,a\n", {}, r"no columns \['passage_id', 'item'\]"),
        ("passages", "item,sent\n1,a\n", {"columns": {"text": "txt"}}, r"no columns \['txt'"),
        # Otherwise the words of a text would be shifted against their reading times.
        ("passages", "item,word_index,word\n1,0,A\n2,1,C\n2,2,d.\n", {}, "row 2, .*a word before"),
        ("passages", "item,word_index,word\n1,2,A\n", {"first_index": 1}, "row 1, .*is missing"),
    ],
)
def test_bad_texts_are_one_message(tmp_path, parser, content, entry, said):
    with pytest.raises(LingprobError, match=said):
        parsed(tmp_path, parser, content, **entry)
    with pytest.raises(LingprobError, match=r"gone.txt: no such file"):
        build_words("mine", {"parser": "passages"}, [tmp_path / "gone.txt"])


def test_own_table_of_passages_by_item_and_condition(tmp_path):
    content = "item,cond,sent\n2,a,So  it is.\n1,b,Nay. Yes.\n2,a,So  it is.\n"
    entry = {"columns": {"text": "sent", "condition": "cond"}}
    assert parsed(tmp_path, "passages", content, **entry) == [
        ("2/a", 0, "So", 0), ("2/a", 1, "it", 0), ("2/a", 2, "is.", 0), ("1/b", 0, "Nay.", 0),
        ("1/b", 1, "Yes.", 1),
    ]  # fmt: skip


def test_rows_of_a_passage_come_together(tmp_path):
    rows = [(str(2 - n % 2), n // 2, f"w{n}", 0) for n in range(60)]
    content = "\n".join(["passage_id,word", *(f"{row[0]},{row[2]}" for row in rows)])
    assert parsed(tmp_path, "passages", content) == rows[::2] + rows[1::2]


def test_own_table_of_regions_of_all_readers(tmp_path):
    """Rows of two readers in another order, with words from 1 and stated sentences."""
    rows = ["s2,7,2,the dog,0", "s1,5,1,Oh,1", "s2,7,3,barked. It,0", "s1,7,1,Then,0",
            "s2,7,1,Then,0", "s1,7,4,slept.,1"]  # fmt: skip
    content = "\n".join(["who,item,position,region,sentence", *rows])
    entry = {"columns": {"word_index": "position", "word": "region"}, "first_index": 1}
    assert parsed(tmp_path, "passages", content, **entry) == [
        ("7", 0, "Then", 0), ("7", 1, "the dog", 0), ("7", 2, "barked. It", 0),
        ("7", 3, "slept.", 1), ("5", 0, "Oh", 0),
    ]  # fmt: skip
    content = "subject_id,item,word\ns1,5,Oh\ns2,5,Oh\n"
    with pytest.raises(LingprobError, match=r"no columns \['word_index'\]"):
        parsed(tmp_path, "passages", content)
    content = "item,word_index,word,sentence\n5,0,Oh,1\n5,0,Oh,2\n"
    with pytest.raises(LingprobError, match="'sentence': another sentence than in an earlier"):
        parsed(tmp_path, "passages", content)


def test_natural_stories_sentences_from_second_file(tmp_path):
    rows = 'Mr.\t1\t1\nB\t2\t1\n"so.\t3\t1\nNA\t1\t0\n'
    (tmp_path / "text").write_text("word\tzone\titem\n" + rows)
    marks = tmp_path / "sentences.tsv"
    header = "story_num\tsentence_num\tsentence\tword_num_in_sentence\tword_num_in_story\n"
    rows = "1\t1\tMr.\t1\t1\n1\t1\tB\t2\t2\n1\t2\tso.\t1\t3\n0\t1\tNA\t1\t1\n"
    marks.write_text(header + rows)
    words = build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])
    assert words["word"].tolist() == ["Mr.", "B", '"so.', "NA"]
    assert words["passage_id"].tolist() == ["1", "1", "1", "0"]
    assert words["sentence_index"].tolist() == [0, 0, 1, 0]
    marks.write_text(header + "1\t1\tMr.\t1\t1\n")
    with pytest.raises(LingprobError, match=r"no sentence for story 1, word 2 \('B'\)"):
        build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])


def test_provo_sentences_from_second_file(tmp_path):
    """Marks may lack a sentence's first or last word. One at the end may belong elsewhere.

    The numbers of passages are sorted as text.
    """
    rest = " ".join(f"w{number}" for number in range(40))
    lines = [f"Mrs. Darling, she went so. It was {rest}.", "No. Go.", *map(str, range(3, 11))]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    marks = tmp_path / "provo_sents.csv"
    rows = [
        (1, 1, "darling she went"), (1, 2, f"it was {rest}"), (1, 7, "so"), (2, 1, "no"),
        (2, 2, "go"), *((number, 1, number) for number in range(3, 11)),
    ]  # fmt: skip
    header = '"","Text_ID","Sentence_Number","text"\n'
    marks.write_text(header + "".join(f'"9",{a},{b},"{c}"\n' for a, b, c in rows))
    words = build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])
    assert words["passage_id"].unique().tolist() == ["1", "10", *map(str, range(2, 10))]
    assert words["sentence_index"].tolist() == [0] * 5 + [1] * 42 + [0] + [0, 1] + [0] * 7
    for odd, said in (
        ('"9",1,1,"other words"\n', r"provo_sents.csv, passage '1': .* at word 0"),
        ('"9",3,1,"other words"\n', "no sentences of passage '1'"),
    ):
        marks.write_text(header + odd)
        with pytest.raises(LingprobError, match=said):
            build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])


def test_unmarked_sentences_end_by_rule_and_are_counted(tmp_path, caplog):
    with caplog.at_level("INFO"):
        words = parsed(tmp_path, "passages", 'He said "No!" Why? (Because.) 3.5 is.\nNew one\n')
    assert [word[3] for word in words] == [0, 0, 0, 1, 2, 3, 3, 0, 0]
    assert "9 words in 5 sentences of 2 passages" in caplog.text


def test_demo_texts_have_the_catalogs_counts():
    for name in ("demo_passages", "demo_reading"):
        entry = Catalog().dataset(name)
        words = build_words(name, entry, [])
        assert (words["passage_id"].nunique(), len(words)) == (entry["passages"], entry["words"])
    words = build_words("demo_passages", {"parser": "demo_passages"}, [])
    found = words.groupby(["passage_id", "sentence_index"], sort=False)["word"].agg(" ".join)
    sentences = pd.read_csv(MINIMAL_PAIRS)["good"].tolist()
    assert found.tolist() == sentences
    assert list(found.index) == [(f"{n // 15 + 1:02d}", n % 15) for n in range(len(sentences))]
    backwards = passage_texts(words[::-1])  # the first passage is the last
    assert backwards.iloc[-1] == " ".join(" ".join(sentences[:15]).split()[::-1])


# Words in print.

NOVEL = """*** START OF THIS PROJECT GUTENBERG EBOOK ***
CHAPTER I. ARRIVAL
CHAPTER II. DEPARTURE

CHAPTER I. ARRIVAL

"Poirot,” said Mr. Inglethorp, “the _protégée’s_ practised—always.”
01
Everyone slept on. Howard was here: I saw him.

CHAPTER II. DEPARTURE

(He) left; nobody wept.

*** END OF THIS PROJECT GUTENBERG EBOOK ***
CHAPTER III. THE LICENCE
"""
# Without the names and the dash, and with other spellings. The second trial begins with Howard.
MATERIAL = [
    ("1-5-2", "1-1", "said"), ("1-5-3", "1-1", "Mr"), ("1-5-5", "1-1", "the"),
    ("1-5-6", "1-1", "protegees"), ("1-5-8", "1-2", "Every"), ("1-5-9", "1-2", "one"),
    ("1-5-10", "1-2", "slept"), ("1-5-11", "1-2", "on"), ("1-6-2", "1-3", "was"),
    ("1-6-3", "1-3", "here"), ("1-6-4", "1-3", "I"), ("1-6-5", "1-3", "saw"),
    ("1-6-6", "1-3", "him"), ("2-1-1", "2-1", "She"), ("2-1-2", "2-1", "left"),
    ("2-1-3", "2-1", "nobody"), ("2-1-4", "2-1", "wept"),
]  # fmt: skip
EXPECTED = [
    ("1", 0, "Poirot,", 0, "1-5-1"), ("1", 1, "said", 0, "1-5-2"), ("1", 2, "Mr.", 0, "1-5-3"),
    ("1", 3, "Inglethorp,", 0, "1-5-4"), ("1", 4, "the", 0, "1-5-5"),
    ("1", 5, "protégée's", 0, "1-5-6"), ("1", 6, "practised--always.", 0, "1-5-7"),
    ("1", 7, "Every", 1, "1-5-8"), ("1", 8, "one", 1, "1-5-9"), ("1", 9, "slept", 1, "1-5-10"),
    ("1", 10, "on.", 1, "1-5-11"), ("1", 11, "Howard", 2, "1-6-1"), ("1", 12, "was", 2, "1-6-2"),
    ("1", 13, "here:", 2, "1-6-3"), ("1", 14, "I", 2, "1-6-4"), ("1", 15, "saw", 2, "1-6-5"),
    ("1", 16, "him.", 2, "1-6-6"), ("2", 0, "(She)", 0, "2-1-1"), ("2", 1, "left;", 0, "2-1-2"),
    ("2", 2, "nobody", 0, "2-1-3"), ("2", 3, "wept.", 0, "2-1-4"),
]  # fmt: skip


def saved_novel(tmp_path: Path, rows: list[tuple[str, str, str]], novel: str) -> list[Path]:
    paths = [tmp_path / "material.csv", tmp_path / "novel.txt"]
    paths[0].write_text("\n".join(["WORD_ID,SENTENCE_ID,WORD", *(",".join(row) for row in rows)]))
    paths[1].write_text(novel, encoding="utf-8")
    return paths


def in_one_trial(material: str) -> list[tuple[str, str, str]]:
    return [(f"1-1-{n}", "1-1", word) for n, word in enumerate(material.split(), start=1)]


@pytest.fixture
def lenient(monkeypatch):
    """Let so short a text differ in more than a twentieth."""
    monkeypatch.setattr("lingprob.reading.printed.SMALLEST_SHARE", 0.5)


@pytest.mark.parametrize("window", [1000, 6])
def test_words_get_punctuation_and_left_out_words(tmp_path, lenient, monkeypatch, window):
    """Two words that are one in print stay two, and a reader's own wording is kept.

    The result is the same if the texts are aligned six words at a time.
    """
    monkeypatch.setattr("lingprob.reading.printed.WINDOW", window)
    monkeypatch.setattr("lingprob.reading.printed.ANCHOR", 2)
    words = printed_geco(*saved_novel(tmp_path, [*MATERIAL, ("2-1-5", "2-1", " ")], NOVEL))
    columns = ["passage_id", "word_index", "word", "sentence_index", "word_id"]
    assert list(words[columns].itertuples(index=False, name=None)) == EXPECTED


@pytest.mark.parametrize(
    ("novel", "said"),
    [
        ("CHAPTER I\n\n" + " ".join(f"other{n}" for n in range(30)), "only 0% of the words agree"),
        ("Poirot said nothing.", "no line CHAPTER I"),
    ],
)
def test_other_novels_are_refused(tmp_path, novel, said):
    with pytest.raises(LingprobError, match=said):
        printed_geco(*saved_novel(tmp_path, MATERIAL, novel))


def test_words_that_the_print_lacks_follow_their_predecessor(tmp_path, lenient):
    novel = "CHAPTER I\n\nOne.\n\nCHAPTER II\n\nTwo three four five six. Fin de la fin."
    rows = in_one_trial("one gone two lost three four five six the end")
    words = printed_geco(*saved_novel(tmp_path, rows, novel))
    assert words["word"].tolist() == [
        "One.", "gone", "Two", "lost", "three", "four", "five", "six.", "the", "end",
        "Fin", "de", "la", "fin.",
    ]  # fmt: skip
    assert words["passage_id"].tolist() == ["1"] * 2 + ["2"] * 12
    assert words["word_index"].tolist() == [0, 1, *range(12)]


def test_omitted_words_up_to_a_stop_end_sentences(tmp_path, lenient):
    """'Foo Bar.' ends one, and 'Then he' begins the next. 'not' is of another edition."""
    rows = [("1-1-1", "1-1", "So"), ("1-1-2", "1-1", "said"), ("1-1-7", "1-2", "went"),
            ("1-1-10", "1-2", "far")]  # fmt: skip
    novel = "CHAPTER I\n\nSo said Foo Bar. Then he went not far."
    words = printed_geco(*saved_novel(tmp_path, rows, novel))
    assert words["sentence_index"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert words["word_id"].isna().tolist() == [False] * 7 + [True, False]


@pytest.mark.parametrize(
    ("before", "after", "count", "expected"),
    [
        (("1-5", 40), ("1-5", 42), 1, ["1-5-41"]),
        (("1-5", 40), ("1-5", 41), 2, []),
        (("1-5", 40), ("1-5", 42), 2, [None, None]),
        (("1-5", 8), ("1-6", 1), 2, ["1-5-9", "1-5-10"]),
        (("1-5", 8), ("1-6", 4), 2, ["1-6-2", "1-6-3"]),
        (None, ("1-5", 2), 2, [None, "1-5-1"]),
        (("4-9", 3), None, 1, ["4-9-4"]),
    ],
)
def test_left_out_words_have_the_free_ids(before, after, count, expected):
    assert ids_between(before, after, count) == expected


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (["V", "A", "D"], "the V.A.D. hospital", (["the"], ["V.", "A.", "D."], ["hospital"])),
        (["bon", "jour"], "'Bonjour, mon", ([], ["'Bon", "jour,"], ["mon"])),
        (["had"], "Philips--had", (["Philips--"], ["had"], [])),
        (["cant"], "I cannot", None),
        (["had"], "had -- gone", ([], ["had"], ["--", "gone"])),
        (["-", "a"], "a b", None),  # a word without letters
        (["b"], "\ufb01 b", None),  # a ligature of two letters
        (["one", "two"], "(One two", ([], ["(One", "two"], [])),
    ],
)
def test_words_are_cut_out_by_their_letters(words, text, expected):
    assert cut_out(words, text) == expected


# Words that are found again.


def test_words_beyond_the_texts_end_are_named():
    with pytest.raises(LingprobError, match=r"at word 5: the text has nothing and .* 'w5'"):
        align_words(NAMES[:10], NAMES[:5], "mine")
    assert align_words([], NAMES, "mine").tolist() == []


def test_the_first_other_word_is_named():
    """Words that the text has in addition are no difference."""
    text = ["new", *NAMES]
    assert align_words(NAMES, text, "mine").tolist() == list(range(1, 61))
    with pytest.raises(LingprobError, match=r"at word 4: the text has 'w3' and .* 'x'"):
        align_words([*NAMES[:3], *"xyvz", *NAMES[7:20]], text[:21], "mine")


def test_five_percent_of_the_words_may_be_mistyped():
    expected = [f"w{number}" for number in range(400)]
    found = [word if number % 20 else f"x{number}" for number, word in enumerate(expected)]
    assert align_words(found, expected, "mine").tolist() == list(range(400))
    found[1] = "y"
    with pytest.raises(LingprobError, match=r"mine: .* only 95%"):
        align_words(found, expected, "mine")


@pytest.mark.parametrize("typed", [3, 4])
def test_at_most_three_consecutive_words_are_mistyped(typed):
    expected = [f"w{n}" if n % 10 else "the" for n in range(100)]
    found = [f"x{n}" if 11 <= n < 11 + typed else word for n, word in enumerate(expected)]
    place = align_words(found, expected, "here")
    gap = range(11, 14) if typed == 3 else [-1] * 4
    assert place.tolist() == [*range(11), *gap, *range(11 + typed, 100)]


def test_rows_of_absent_words_are_logged(caplog):
    words = words_of(" ".join(NAMES))
    times = pd.DataFrame(
        {"passage_id": "1", "number": range(62), "word": [*NAMES, "more", "again"], "rt_ms": 300.0}
    ).iloc[::-1]
    with caplog.at_level("WARNING"):
        found = attach_words(pd.concat([times, times]), words, "mine")
    assert found["word_index"].tolist() == [*range(59, -1, -1)] * 2
    assert "mine: 4 of 124 rows are left out" in caplog.text
    assert "(passage '1': 'again')" in caplog.text
    with pytest.raises(LingprobError, match="passage '9' has reading times and no text"):
        attach_words(times.assign(passage_id="9"), words, "mine")


@pytest.mark.parametrize("others", [1, 2])
def test_one_word_in_twenty_may_differ(others, caplog):
    """Two readers, of whom only one has the other words. Punctuation alone also counts."""
    words = words_of(" ".join([*NAMES[:19], "--"]))
    times = words.assign(word=[*["x"] * others, *words["word"][others:]])
    both = pd.concat([words, times[:others]])
    if others == 1:
        check_words(both, words, "here")
        assert "1 of 21 words are different in the reading times" in caplog.text
        assert "The first is word 0 of passage '1': 'x' and 'w0'" in caplog.text
    else:
        with pytest.raises(LingprobError, match=r"word 0 of passage '1' is 'x'.*as are 2 words"):
            check_words(both, words, "here")
    with pytest.raises(LingprobError, match=r"is '--' in the reading times and '\.\.\.'"):
        check_words(words_of("--"), words_of("..."), "mine")


def test_one_shifted_passage_of_many_is_refused():
    words = words_of(*[" ".join(NAMES[:8])] * 40)
    of_one = (words["passage_id"] == "7") & (words["word_index"] > 0)
    times = words.assign(word=words["word"].where(~of_one, words["word"].shift()))
    with pytest.raises(LingprobError, match=r"word 1 of passage '7' is 'w0'.*as are 7 words"):
        check_words(times, words, "here")


def test_own_times_alone_read_no_other_texts(tmp_path):
    """At scale laptop, whose own data sets include Natural Stories and its published fits."""
    for name in ("texts.txt", "times.csv", "surprisals.csv"):
        (tmp_path / name).write_text("One.\n")
    texts = {"title": "T", "kind": "reading_texts", "parser": "passages"}
    times = {"title": "M", "kind": "reading_times", "parser": "reading_times_table",
             "texts": "my-texts", "method": "self_paced", "unit": "subject",
             "measure": "time"}  # fmt: skip
    theirs = {"title": "S", "family": "f", "source": "scores", "level": "word",
              "texts": ["my-texts"], "path": str(tmp_path / "surprisals.csv")}  # fmt: skip
    own = {
        "datasets": {"my-texts": {**texts, "path": str(tmp_path / "texts.txt")},
                     "my-times": {**times, "path": str(tmp_path / "times.csv")}},
        "models": {"theirs": theirs},
    }  # fmt: skip

    def plan(**reading: Any) -> Run:
        return Run(*read_settings({"scale": "laptop", **own, "reading": reading}))

    alone = plan(datasets=["my-times"], models=["theirs"])
    assert scope.read_texts(alone) == ["my-texts"]
    assert not scope.published_fits(alone)
    assert scope.published_fits(plan())
    both = {
        "datasets": ["my-times", "natural_stories_maze"],
        "models": ["theirs", "published-gpt2"],
    }
    assert scope.published_fits(plan(**both))
    assert not scope.published_fits(plan(**both, published=False))
