"""Lines, words and sentences in every script, corpora of every form, and aligned times."""

import bz2
import gzip
import io
import json
import logging
import re
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.io.corpora import batches, iter_documents, parser_of
from lingprob.io.files import dataset_paths
from lingprob.io.text_units import plain_word, sentence_ends, split_lines, split_words
from lingprob.ngrams.lmplz import load_kenlm
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.predictors import unigram_surprisal
from lingprob.reading.tables import check_words
from lingprob.reading.texts import build_words
from lingprob.reading.times import build_reading_times
from lingprob.unigrams.counts import count_words


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0c", "\x0b", "\x1c", "\x1e"])
def test_lines_end_at_line_ends_alone(inside, tmp_path):
    text = f"one{inside}two\r\nthree\rfour\n\nfive"
    assert split_lines(text) == [f"one{inside}two", "three", "four", "", "five"]
    path = tmp_path / "texts.txt"
    path.write_bytes(f"A b{inside}c d.\nE f.\n".encode())
    words = build_words("mine", {"parser": "passages"}, [path])
    assert words["passage_id"].unique().tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("à 10\u00a0km d'ici\tmême\nfin", ["à", "10\u00a0km", "d'ici", "même", "fin"]),
        ("dit\u202f: «\u00a0Bonjour\u00a0!\u00a0»", ["dit\u202f:", "«\u00a0Bonjour\u00a0!\u00a0»"]),
        ("a\u2028b\u3000c\x85d", ["a", "b", "c", "d"]),
        (" \u00a0 a  b ", ["a", "b"]),
    ],
)
def test_no_break_spaces_join_words(text, words):
    assert split_words(text) == words


@pytest.mark.parametrize(
    ("word", "plain"),
    [("“Cat's,”", "cat's"), ("की", "की"), ("ที่", "ที่"), ("...", "..."), ("Cafe\u0301", "café"),
     ("²!", "²")],
)  # fmt: skip
def test_marks_belong_to_their_letters(word, plain):
    assert plain_word(word) == plain


def test_unigrams_of_hindi_by_hand():
    counts = count_words(["का का का का की के को घर"])
    assert counts.set_index("word")["count"].to_dict() == {
        "का": 4, "की": 1, "के": 1, "को": 1, "घर": 1,
    }  # fmt: skip
    found = unigram_surprisal(pd.Series(["की"]), [counts])[0]
    assert found == pytest.approx(-np.log2(2 / 14))


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ('"He is here." She left. Why?', 3),
        ("Er sagte: „Ich komme.“ Dann ging sie. „Warum?“ Niemand wusste es.", 4),
        ("Er sagte: »Ich komme.« Dann ging sie.", 2),
        ("राम घर गया। सीता वहाँ थी। वे खुश थे।", 3),
        ("Πού είναι; Δεν ξέρω.", 2),
        ("He came; she left.", 1),
        ("他 来 了。 她 走 了。 为什么？", 3),
        ("أين هو؟ لا أعرف.", 2),
        ("He waited… Then he left. He … stayed.", 3),
        ("Mr. Smith met Dr. J. Jones at 5 p.m. on Monday. They talked.", 2),
        ("It is I. He came etc.", 2),
        ("She paid $3.50 in Part 2. Then (really!) (or not) left.", 2),
    ],
)
def test_sentences_by_hand(text, n):
    ends = sentence_ends(text.split())
    assert ends[-1]
    assert ends.sum() == n


def words_table(folder: Path, rows: list[tuple], *names: str) -> pd.DataFrame:
    path = folder / "words.csv"
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return build_words("mine", {"parser": "passages"}, [path])


def test_own_texts_state_their_sentences(tmp_path):
    """Two readers, words out of order, and sentences that the rule would not find."""
    rows = [
        ("s2", "b", 1, "etc.", "x"), ("s1", "a", 2, "No.", "2"), ("s1", "a", 1, "7", "1"),
        ("s1", "b", 1, "etc.", "x"), ("s1", "a", 3, "7", "1"), ("s1", "b", 2, "Then", "x"),
    ]  # fmt: skip
    names = ["subject_id", "passage_id", "word_index", "word", "sentence"]
    words = words_table(tmp_path, rows, *names)
    assert words[["passage_id", "word_index", "word", "sentence_index"]].to_numpy().tolist() == [
        ["b", 0, "etc.", 0], ["b", 1, "Then", 0],
        ["a", 0, "7", 0], ["a", 1, "No.", 1], ["a", 2, "7", 2],
    ]  # fmt: skip
    plain = words_table(tmp_path, [("a", "Go."), ("a", "On"), ("b", "Go.")], "passage_id", "word")
    assert plain["sentence_index"].tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("a", 0, "Go", 1), ("a", 0, "On", 1)], "data row 2, column 'word': another word"),
        ([("a", 0, "Go", 1), ("a", 2, "on", 1)], "data row 2, column 'word_index': a word before"),
        ([("a", 0, "Go", 1), ("a", 1, "on", None)], "data row 2, column 'sentence': no value"),
        ([("a", 0, "Go", 1), (None, 1, "on", 1)], "data row 2, column 'passage_id': no value"),
    ],
)
def test_tables_of_words_with_gaps_are_refused(tmp_path, rows, said):
    with pytest.raises(LingprobError, match=said):
        words_table(tmp_path, rows, "passage_id", "word_index", "word", "sentence")


def test_composed_and_decomposed_words_are_the_same():
    words = pd.DataFrame(
        {"passage_id": "1", "word_index": range(3), "word": ["café", "fermé", "à"]}
    )
    times = words.assign(word=[unicodedata.normalize("NFD", word) for word in words["word"]])
    check_words(times, words, "mine")


TEXT = 'He said "go home" and left.\nThe old man the boat.'
RECORD = json.dumps({"text": TEXT, "url": "https://example.org/a"})
BOOK = """\ufeffThe Project Gutenberg EBook of Café Stories, by Nobody\r
\r
License text.\r
*** START OF THIS PROJECT GUTENBERG EBOOK CAFÉ\r
STORIES ***\r
\r
\r
Chapter 1\r
\r
A line that\r
is wrapped at the caf\u00e9.\r
  \r
The end.\r
\r
End of Project Gutenberg's Café Stories, by Nobody\r
*** END OF THIS PROJECT GUTENBERG EBOOK CAFÉ STORIES ***\r
More licence.\r
"""
BODY = "Chapter 1\n\nA line that is wrapped at the café.\n\nThe end."
OLDER = BOOK.replace("THIS PROJECT GUTENBERG EBOOK", "THE PROJECT GUTENBERG ETEXT")
LINES = "First document.\nZweites Stück.\n"


def zipped(members: dict[str, str]) -> bytes:
    """Return a zip archive of texts, in Latin-1 if it has their letters."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text.encode("latin-1"))
    return file.getvalue()


PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "zst": pa.Codec("zstd").compress,
          "lz4": pa.Codec("lz4").compress}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json.gz", gzip.compress(RECORD.encode())),
        ("a.ndjson", RECORD.encode()),
        ("a.JSONL", RECORD.encode()),
        ("a.json", json.dumps([json.loads(RECORD)]).encode()),
        ("a.jsonl.zst", PACKED["zst"](RECORD.encode())),
        ("a.txt", b"\n" + RECORD.encode()),
        ("a", gzip.compress(RECORD.encode())),
        ("a.jsonl", b"\xef\xbb\xbf" + RECORD.encode()),
    ],
)
def test_json_is_known_by_name_or_content(name, content, tmp_path, caplog):
    path = tmp_path / name
    path.write_bytes(content)
    assert parser_of(path) == "lines"
    with caplog.at_level(logging.INFO):
        assert [*iter_documents("lines", [path])] == [TEXT]
    assert f"{name}: 1 files, 1 documents, {len(TEXT)} characters" in caplog.text


@pytest.mark.parametrize(
    ("parser", "name", "content", "documents"),
    [
        ("lines", "a.txt", b'[He left.]\n{"a": 1}\n', ["[He left.]", '{"a": 1}']),
        ("lines", "a.txt", b'He left.\n{"text": "a"}\n', ["He left.", '{"text": "a"}']),
        ("lines", "a.txt", b"\xef\xbb\xbf One.\t\nTwo.\n\n", [" One.\t", "Two."]),
        ("lines", "a.jsonl", b'{"text": "a\\nb", "meta": 1}\n{"text": " "}\n{"text": "\\u00fc"}',
         ["a\nb", "ü"]),
        *(("lines", f"a.txt.{form}", pack(LINES.encode()), LINES.splitlines())
          for form, pack in PACKED.items()),
        ("text", "a.txt", b"\xef\xbb\xbfOne.\nTwo.\n\n", ["One.\nTwo.\n\n"]),
        ("text", "a.txt.gz", gzip.compress(LINES.encode()), [LINES]),
        ("gutenberg", "book.txt", BOOK.encode(), [BODY]),
        ("gutenberg", "book.txt", re.sub("End of .*|\ufeff", "", OLDER).encode("latin-1"), [BODY]),
        ("nltk_zip", "a.zip", zipped({"c/": "", "c/README": "not this", "c/b.txt": "£20\r\nin bars",
         "c/a.txt": " naïve\rtoo\n"}), ["£20\nin bars", "naïve\ntoo"]),
        # The Brown corpus is put back as it was printed.
        ("brown_zip", "a.zip", zipped({"brown/README": "not a text", "brown/ca01":
         "``/`` No/at ''/'' ,/, he/pps said/vbd (/( 1\\/2/cd )/) ./.\n",
         "brown/cr09": "Ha/uh !/."}), ['"No", he said (1\\/2).', "Ha!"]),
    ],
)  # fmt: skip
def test_a_corpus_file_is_its_documents(parser, name, content, documents, tmp_path):
    (tmp_path / name).write_bytes(content)
    assert list(iter_documents(parser, [tmp_path / name])) == documents


@pytest.mark.parametrize(
    ("parser", "name", "content", "said"),
    [
        ("text", "a.txt", b"MZ\0\0\1\2", "null characters"),
        *((parser, name, content, "cannot be read as UTF-8")
          for parser in ("text", "lines")
          for name, content in (("latin.txt", "café".encode("latin-1")),
                                ("cut.txt.gz", gzip.compress(b"many words " * 1000)[:-10]))),
        *(("lines", "a.jsonl", f'{{"text": "a"}}\n{line}\n'.encode(), f", line 2: {said}")
          for line, said in (('{"text": "b"', "not JSON"), ('["text"]', 'no string field "text"'),
                             ('{"body": "b"}', 'no string field "text"'),
                             ('{"text": 1}', 'no string field "text"'),
                             ('{"text": "half \\ud83d"}', "half of a character"))),
        ("lines", "a.txt", b'{"body": "b"}\n', ', line 1: no string field "text"'),
        ("lines", "a.jsonl", b'[{"text": "a"}]\n[{"text": "b"}]\n', "not JSON"),
        ("lines", "a.json", b'[{"text": "a"},\n1]', ', object 2: no string field "text"'),
        *((parser, f"a.{end}", content, "a table, whose commas") for parser in ("text", "lines")
          for end, content in (("csv", b"id,text\n1,a\n"), ("tsv.gz", gzip.compress(b"id\ttext")))),
        *(("text", "a.txt", begin, f"the file is {kind}") for begin, kind in ((b"%PDF-1", "PDF"),
          (b"{\\rtf1", "rich"), (b"\xd0\xcf\x11\xe0", "a workbook"), (b"\xfd7zXZ", "compressed"))),
        ("text", "a.wet.gz", gzip.compress(b"WARC/1.0\r\n\r\nb"), r"the file is a web archive"),
        ("text", "a.tar.gz", gzip.compress(b"a.txt\0\0ab"), "null characters"),
        ("gutenberg", "a.txt", b"Just text.\n", "no lines with START OF and END OF .*`text`"),
        ("gutenberg", "a.txt", BOOK[: BOOK.index("End of")].encode(),
         "no lines with START OF and END OF .*`text`"),
        ("nltk_zip", "brown.zip", zipped({"brown/ca01": "The/at"}), "no text in it"),
        ("nltk_zip", "broken.zip", b"PK not a zip", "not a whole zip file"),
        ("parquet", "a.parquet", b"PAR1", "not a Parquet file with a column"),
        # A file without text, even among others: its corpus would make every text leakage-free.
        ("text", "a.txt", b"", "no text in it"),
        ("text", "a.txt", b" \n \n", "no text in it"),
        ("lines", "a.txt", b"\n\n", "no text in it"),
        ("lines", "a.jsonl", b'{"text": ""}\n', "no text in it"),
        ("lines", "a.txt.gz", gzip.compress(b"", mtime=0), "no text in it"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_corpus_is_named(parser, name, content, said, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LingprobError, match=re.escape(name) + r"\W*" + said):
        list(iter_documents(parser, [path]))
    if said == "no text in it" and parser != "nltk_zip":
        (tmp_path / "first.txt").write_text("some text")
        documents = iter_documents(parser, [tmp_path / "first.txt", path])
        assert next(documents) == "some text"
        with pytest.raises(LingprobError, match=re.escape(name)):
            list(documents)


def test_parquet_rows_are_documents(tmp_path):
    texts = ["One.", None, "", "Two."]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "good.bin")
    assert parser_of(tmp_path / "good.bin") == "parquet"
    assert list(iter_documents("parquet", [tmp_path / "good.bin"])) == ["One.", "Two."]
    pq.write_table(pa.table({"body": texts}), tmp_path / "other.parquet")
    with pytest.raises(LingprobError, match=r"other\.parquet: not a Parquet file with a column"):
        list(iter_documents("parquet", [tmp_path / "other.parquet"]))


def test_folders_are_searched_whole_and_without_their_descriptions(tmp_path):
    shards = tmp_path / "repo" / "data" / "en"
    shards.mkdir(parents=True)
    for name in ("README.md", "LICENSE", "Licence.txt", "dataset_infos.json"):
        (tmp_path / "repo" / name).write_text("# A corpus\n")
    (tmp_path / "repo" / ".gitattributes").write_text("hidden")
    for number in (2, 0, 4, 1, 3):
        (shards / f"part-{number}.jsonl").write_text(RECORD + "\n")
    for path in ("repo", "repo/data", "repo/**/*.jsonl"):
        found = dataset_paths("mine", {"path": str(tmp_path / path)})
        assert [file.name for file in found] == [f"part-{n}.jsonl" for n in range(5)]
    (shards.parent / "part-0.jsonl").write_text(RECORD + "\n")
    with pytest.raises(LingprobError, match="two files have the same name"):
        dataset_paths("mine", {"path": str(tmp_path / "repo")})
    alone = tmp_path / "alone [1]"
    alone.mkdir()
    (alone / "README.md").write_text("text\n")
    assert len(dataset_paths("mine", {"path": str(alone)})) == 1


ENTRY = {"parser": "reading_times_table", "method": "self_paced", "unit": "subject"}
SENTENCES = ["One two three four five.", "Six seven eight nine ten.", "Red green blue white black."]
PASSAGES = [" ".join(SENTENCES), " ".join(SENTENCES[::-1])]


def read_times(folder: Path, rows: list, with_words: bool) -> pd.DataFrame:
    """Build reading times from a table of rows over PASSAGES."""
    (folder / "texts.txt").write_text("\n\n".join(PASSAGES) + "\n")
    words = build_words("mine", {"parser": "passages"}, [folder / "texts.txt"])
    names = ["subject_id", "passage_id", "word_index", "rt_ms", "word"]
    table = pd.DataFrame(rows, columns=names)
    (table if with_words else table.drop(columns="word")).to_csv(folder / "t.csv", index=False)
    return build_reading_times("mine", ENTRY, words, [folder / "t.csv"])


def rows_of(first: int = 0, keep=lambda word: True) -> list:
    return [
        (f"P{'²³①7'[reader]}", passage + 1, index + first, 300 + index, word)
        for reader in range(4)
        for passage, text in enumerate(PASSAGES)
        for index, word in enumerate(text.split())
        if keep(word)
    ]


def test_counting_words_from_zero_warns(tmp_path, caplog):
    assert len(read_times(tmp_path, rows_of(), with_words=True)) == 120
    assert "by number alone" not in caplog.text
    assert len(read_times(tmp_path, rows_of(), with_words=False)) == 120
    assert "by number alone" in caplog.text
    of_one = [row for row in rows_of() if row[1] == 2]  # the first passage has no reader
    assert len(read_times(tmp_path, of_one, with_words=False)) == 60


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (rows_of(1, lambda word: word[-1] != "."), "no reader has a time for word 0"),
        (rows_of(0, lambda word: word not in ("black.", "five.")), "has 1 words more"),
        (rows_of(3, lambda word: word[-1] != "."), "no reader has a time for word 0"),
        (rows_of() + [("Q", number, 15, 300, "x") for number in (1, 2)], "has 1 words fewer"),
    ],
)
def test_shifted_numbers_are_refused(rows, match, tmp_path):
    with pytest.raises(LingprobError, match=match):
        read_times(tmp_path, rows, with_words=False)


def test_first_surprisals_of_zero_are_missing(tmp_path, caplog):
    (tmp_path / "t.txt").write_text("\n".join(PASSAGES))
    words = build_words("mine", {"parser": "passages"}, [tmp_path / "t.txt"])
    keys = words[["passage_id", "word_index"]]
    first = words["word_index"] == 0
    one = first & (words["passage_id"] == words["passage_id"][0])
    for zero, rest, missing in ((first, 8.0, 2), (first, 0.0, 0), (one, 8.0, 0)):
        given = keys.assign(surprisal=np.where(zero, 0.0, rest))
        given.to_csv(tmp_path / "s.csv", index=False)
        table = import_word_surprisals(tmp_path / "s.csv", words)
        assert table["surprisal"].isna().sum() == missing
    assert "has a surprisal of 0" in caplog.text


def arpa(unknown: str) -> str:
    first = ["-99\t<s>\t-0.3", "-1\t</s>", "-0.5\tthe\t-0.3", "-1\tcat", *unknown.splitlines()]
    lines = ["\\data\\", f"ngram 1={len(first)}", "ngram 2=1", "", "\\1-grams:", *first, ""]
    return "\n".join([*lines, "\\2-grams:", "-0.2\tthe cat", "", "\\end\\", ""])


@pytest.mark.parametrize("unknown", ["", "-99\t<unk>", "-2\t[UNK]", "-2\tunk"])
def test_ngram_models_need_unknown_words(unknown, tmp_path):
    pytest.importorskip("kenlm")
    (tmp_path / "with.arpa").write_text(arpa("-2\t<unk>"))
    assert load_kenlm(tmp_path / "with.arpa").score("the cat", bos=False, eos=False) < 0
    (tmp_path / "without.arpa").write_text(arpa(unknown))
    with pytest.raises(LingprobError, match="no <unk>"):
        load_kenlm(tmp_path / "without.arpa")


def test_unknown_parsers_and_missing_files_are_named(tmp_path):
    with pytest.raises(LingprobError, match="Did you mean 'gutenberg'"):
        iter_documents("gutenburg", [tmp_path])
    with pytest.raises(LingprobError, match=r"absent\.txt: no such file"):
        iter_documents("text", [tmp_path / "absent.txt"])
    with pytest.raises(LingprobError, match="has no files"):
        iter_documents("text", [])


def test_batches_reach_their_size_and_keep_all_items():
    assert list(batches(["aa", "b", "cccc", "d"], 3)) == [["aa", "b"], ["cccc"], ["d"]]
    assert list(batches(["aaa", "aa", "b"], 3)) == [["aaa"], ["aa", "b"]]
    assert list(batches([], 3)) == []


def test_demo_sentences_are_the_acceptable_ones():
    assert [*iter_documents("demo_sentences", [])] == [*pd.read_csv(MINIMAL_PAIRS)["good"]]
