"""Lines, words and sentences in every script, corpora of every form, and aligned times."""

from __future__ import annotations

import gzip
import json
import logging
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
from lingprob.reading.alignment import check_words
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.predictors import unigram_surprisal
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
    [
        ("“Cat's,”", "cat's"),
        ("की", "की"),
        ("ที่", "ที่"),
        ("...", "..."),
        ("Cafe\u0301", "café"),
        ("²!", "²"),
    ],
)
def test_marks_belong_to_their_letters(word, plain):
    assert plain_word(word) == plain


def test_unigrams_of_hindi_by_hand():
    counts = count_words(["का का का का की के को घर"])
    assert counts.set_index("word")["count"].to_dict() == {
        "का": 4,
        "की": 1,
        "के": 1,
        "को": 1,
        "घर": 1,
    }
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
        ("She paid $3.50 in Part 2. Then (really!) left.", 2),
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
        ("s1", "b", 1, "etc.", "x"), ("s1", "a", 3, "7", "2"), ("s1", "b", 2, "Then", "x"),
    ]  # fmt: skip
    words = words_table(
        tmp_path, rows, "subject_id", "passage_id", "word_index", "word", "sentence"
    )
    assert words[["passage_id", "word_index", "word", "sentence_index"]].to_numpy().tolist() == [
        ["b", 0, "etc.", 0], ["b", 1, "Then", 0],
        ["a", 0, "7", 0], ["a", 1, "No.", 1], ["a", 2, "7", 1],
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json.gz", gzip.compress(RECORD.encode())),
        ("a.ndjson", RECORD.encode()),
        ("a.JSONL", RECORD.encode()),
        ("a.json", json.dumps([json.loads(RECORD)]).encode()),
        ("a.jsonl.zst", pa.Codec("zstd").compress(RECORD.encode()).to_pybytes()),
        ("a.txt", RECORD.encode()),
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


def test_lines_that_only_look_like_json_are_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('[He left.]\n{"a": 1}\n')
    assert [*iter_documents("lines", [path])] == ["[He left.]", '{"a": 1}']
    assert parser_of(path) == "text"


def test_files_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "weights.txt"
    path.write_bytes(b"MZ\0\0\1\2")
    with pytest.raises(LingprobError, match=r"weights\.txt: not a text file"):
        [*iter_documents("text", [path])]
    pq.write_table(pa.table({"text": [TEXT]}), tmp_path / "a.bin")
    assert parser_of(tmp_path / "a.bin") == "parquet"


def test_folders_are_searched_whole_and_without_their_descriptions(tmp_path):
    shards = tmp_path / "repo" / "data" / "en"
    shards.mkdir(parents=True)
    (tmp_path / "repo" / "README.md").write_text("# A corpus\n")
    (tmp_path / "repo" / ".gitattributes").write_text("hidden")
    (shards / "part-0.jsonl").write_text(RECORD + "\n")
    (shards / "part-1.jsonl").write_text(RECORD + "\n")
    for path in ("repo", "repo/data", "repo/**/*.jsonl"):
        found = dataset_paths("mine", {"path": str(tmp_path / path)})
        assert [file.name for file in found] == ["part-0.jsonl", "part-1.jsonl"]
    (shards.parent / "part-0.jsonl").write_text(RECORD + "\n")
    with pytest.raises(LingprobError, match="two files have the same name"):
        dataset_paths("mine", {"path": str(tmp_path / "repo")})
    alone = tmp_path / "alone"
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


def test_words_from_0_are_read_with_a_warning(tmp_path, caplog):
    assert len(read_times(tmp_path, rows_of(), with_words=True)) == 120
    assert "by number alone" not in caplog.text
    assert len(read_times(tmp_path, rows_of(), with_words=False)) == 120
    assert "by number alone" in caplog.text


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (rows_of(1, lambda word: word[-1] != "."), "no reader has a time for word 0"),
        (rows_of(0, lambda word: word not in ("black.", "five.")), "has 1 words more"),
        (rows_of(3, lambda word: word[-1] != "."), "the lowest number is 3"),
    ],
)
def test_shifted_numbers_are_refused(rows, match, tmp_path):
    with pytest.raises(LingprobError, match=match):
        read_times(tmp_path, rows, with_words=False)


def test_first_surprisals_of_zero_are_missing(tmp_path, caplog):
    (tmp_path / "t.txt").write_text("\n".join(PASSAGES))
    words = build_words("mine", {"parser": "passages"}, [tmp_path / "t.txt"])
    keys = words[["passage_id", "word_index"]]
    for rest, missing in ((8.0, 2), (0.0, 0)):
        given = keys.assign(surprisal=np.where(words["word_index"] == 0, 0.0, rest))
        given.to_csv(tmp_path / "s.csv", index=False)
        table = import_word_surprisals(tmp_path / "s.csv", words)
        assert table["surprisal"].isna().sum() == missing
    assert "has a surprisal of 0" in caplog.text


def arpa(unknown: str) -> str:
    first = ["-99\t<s>\t-0.3", "-1\t</s>", "-0.5\tthe\t-0.3", "-1\tcat", *unknown.splitlines()]
    lines = ["\\data\\", f"ngram 1={len(first)}", "ngram 2=1", "", "\\1-grams:", *first, ""]
    return "\n".join([*lines, "\\2-grams:", "-0.2\tthe cat", "", "\\end\\", ""])


@pytest.mark.parametrize("unknown", ["", "-99\t<unk>", "-2\t[UNK]", "-2\tunk"])
def test_n_gram_models_without_unknown_words_are_refused(unknown, tmp_path):
    pytest.importorskip("kenlm")
    (tmp_path / "with.arpa").write_text(arpa("-2\t<unk>"))
    assert load_kenlm(tmp_path / "with.arpa").score("the cat", bos=False, eos=False) < 0
    (tmp_path / "without.arpa").write_text(arpa(unknown))
    with pytest.raises(LingprobError, match="no <unk>"):
        load_kenlm(tmp_path / "without.arpa")


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


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_book_loses_licence_and_line_wraps(tmp_path, encoding):
    text = BOOK if encoding == "utf-8" else BOOK.removeprefix("\ufeff")
    path = tmp_path / "book.txt"
    path.write_bytes(text.encode(encoding))
    assert list(iter_documents("gutenberg", [path])) == [BODY]


@pytest.mark.parametrize("part", ["header", "footer"])
def test_files_that_are_no_gutenberg_book_are_refused(tmp_path, part):
    path = tmp_path / "book.txt"
    path.write_text("Just text.\n" if part == "header" else BOOK[: BOOK.index("End of")])
    with pytest.raises(LingprobError, match=rf"book.txt.*{part}.*`text`"):
        list(iter_documents("gutenberg", [path]))


def test_text_members_of_a_zip_are_documents(tmp_path):
    path = tmp_path / "corpus.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("corpus/", "")
        archive.writestr("corpus/README", "not this")
        archive.writestr("corpus/b.txt", "cost £20\r\nin bars\r\n".encode("latin-1"))
        archive.writestr("corpus/a.txt", "naïve")
    assert list(iter_documents("nltk_zip", [path])) == ["cost £20\nin bars", "naïve"]


def test_zips_without_text_or_broken_are_refused(tmp_path):
    tagged, broken = tmp_path / "brown.zip", tmp_path / "broken.zip"
    with zipfile.ZipFile(tagged, "w") as archive:
        archive.writestr("brown/ca01", "The/at")
    broken.write_bytes(b"PK not a zip")
    with pytest.raises(LingprobError, match=r"brown.zip: no text in it"):
        list(iter_documents("nltk_zip", [tagged]))
    with pytest.raises(LingprobError, match=r"broken\.zip: not a whole zip file"):
        list(iter_documents("nltk_zip", [broken]))


def test_text_and_line_files_plain_and_gzipped(tmp_path):
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("\ufeffOne.\nTwo.\n\n")
    with gzip.open(zipped, "wt", encoding="utf-8") as stream:
        stream.write("Drei.\nVier: ü.")
    assert list(iter_documents("text", [plain, zipped])) == ["One.\nTwo.\n\n", "Drei.\nVier: ü."]
    assert list(iter_documents("lines", [plain, zipped])) == ["One.", "Two.", "Drei.", "Vier: ü."]


def test_json_lines(tmp_path):
    path = tmp_path / "pile.jsonl"
    records = [{"text": "a\nb", "meta": 1}, {"text": " "}, {"text": "ü"}]
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    assert list(iter_documents("lines", [path])) == ["a\nb", "ü"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "b"', "line 2: not JSON"),
        ('{"body": "b"}', 'line 2: no string field "text"'),
        ('{"text": 1}', 'line 2: no string field "text"'),
        ('["text"]', 'line 2: no string field "text"'),
    ],
)
def test_a_bad_json_line_is_named(tmp_path, line, message):
    path = tmp_path / "pile.jsonl"
    path.write_text('{"text": "a"}\n' + line + "\n")
    with pytest.raises(LingprobError, match=message):
        list(iter_documents("lines", [path]))


@pytest.mark.parametrize("parser", ["text", "lines"])
def test_broken_or_non_utf8_files_are_refused(tmp_path, parser):
    latin, cut = tmp_path / "latin.txt", tmp_path / "cut.txt.gz"
    latin.write_bytes("café".encode("latin-1"))
    cut.write_bytes(gzip.compress(b"many words " * 1000)[:-10])
    for path in (latin, cut):
        with pytest.raises(LingprobError, match=f"{path.name}: cannot be read as UTF-8"):
            list(iter_documents(parser, [path]))


def test_unknown_parsers_and_missing_files_are_named(tmp_path):
    with pytest.raises(LingprobError, match="Did you mean 'gutenberg'"):
        iter_documents("gutenburg", [tmp_path])
    with pytest.raises(LingprobError, match=r"absent\.txt: no such corpus file"):
        iter_documents("text", [tmp_path / "absent.txt"])
    with pytest.raises(LingprobError, match="has no files"):
        iter_documents("text", [])


def test_batches_reach_their_size_and_keep_all_items():
    assert list(batches(["aa", "b", "cccc", "d"], 3)) == [["aa", "b"], ["cccc"], ["d"]]
    assert list(batches(["aaa", "aa", "b"], 3)) == [["aaa"], ["aa", "b"]]
    assert list(batches([], 3)) == []


def test_demo_sentences_are_the_acceptable_ones():
    documents = list(iter_documents("demo_sentences", []))
    pairs = pd.read_csv(MINIMAL_PAIRS)
    assert documents == pairs["good"].tolist()


def test_compressed_lines_are_read_as_the_plain_ones(tmp_path):
    lines = ["First document.", "Zweites Stück."]
    for name in ("plain.txt", "packed.txt.gz", "packed.txt.bz2", "packed.txt.zst"):
        with pa.output_stream(str(tmp_path / name), compression="detect") as stream:
            stream.write("\n".join(lines).encode())
        assert list(iter_documents("lines", [tmp_path / name])) == lines


def test_parquet_has_one_document_per_row(tmp_path):
    texts = ["One.", None, "", "Two."]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "good.parquet")
    assert list(iter_documents("parquet", [tmp_path / "good.parquet"])) == ["One.", "Two."]
    pq.write_table(pa.table({"body": texts}), tmp_path / "other.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    for name in ("other.parquet", "broken.parquet"):
        with pytest.raises(LingprobError, match=rf"{name}: not a Parquet file with a column"):
            list(iter_documents("parquet", [tmp_path / name]))


def test_the_tagged_brown_corpus_becomes_running_text(tmp_path):
    path = tmp_path / "brown.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("brown/README", "not a text")
        archive.writestr(
            "brown/ca01", "``/`` No/at ''/'' ,/, he/pps said/vbd (/( 1\\/2/cd )/) ./.\n"
        )
    assert list(iter_documents("brown_zip", [path])) == ['"No", he said (1\\/2).']


@pytest.mark.parametrize(
    ("parser", "name", "content"),
    [
        ("text", "b.txt", b""),
        ("text", "b.txt", b" \n \n"),
        ("lines", "b.txt", b"\n\n"),
        ("lines", "b.jsonl", b'{"text": ""}\n'),
        ("lines", "b.txt.gz", gzip.compress(b"", mtime=0)),
    ],
)
def test_a_file_without_text_is_named(tmp_path, parser, name, content):
    """Its corpus would make every text leakage-free."""
    (tmp_path / "a.txt").write_text("some text")
    (tmp_path / name).write_bytes(content)
    documents = iter_documents(parser, [tmp_path / "a.txt", tmp_path / name])
    assert next(documents) == "some text"
    with pytest.raises(LingprobError, match=rf"{name}: no text in it"):
        list(documents)


def test_half_a_character_is_named_by_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "whole \\ud83d\\ude00"}\n{"text": "half \\ud83d"}\n')
    documents = iter_documents("lines", [path])
    assert next(documents) == "whole 😀"
    with pytest.raises(LingprobError, match=r"a\.jsonl, line 2: half of a character"):
        next(documents)
