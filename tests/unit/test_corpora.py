"""Corpus readers on small files of each format, made here."""

import gzip
import json
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.io.corpora import batches, iter_documents

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
def test_a_book_loses_its_licence_and_its_line_wraps(tmp_path, encoding):
    text = BOOK if encoding == "utf-8" else BOOK.removeprefix("\ufeff")
    path = tmp_path / "book.txt"
    path.write_bytes(text.encode(encoding))
    assert list(iter_documents("gutenberg", [path])) == [BODY]


@pytest.mark.parametrize("part", ["header", "footer"])
def test_a_file_that_is_no_gutenberg_book_is_refused(tmp_path, part):
    path = tmp_path / "book.txt"
    if part == "header":
        path.write_text("Just text.\n")
    else:
        path.write_text(BOOK[: BOOK.index("End of")])
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
    with pytest.raises(LingprobError, match=r"brown.zip: has no member called"):
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
def test_a_file_that_is_not_utf8_or_not_whole_is_refused(tmp_path, parser):
    latin, cut = tmp_path / "latin.txt", tmp_path / "cut.txt.gz"
    latin.write_bytes("café".encode("latin-1"))
    cut.write_bytes(gzip.compress(b"many words " * 1000)[:-10])
    for path in (latin, cut):
        with pytest.raises(LingprobError, match=f"{path.name}: cannot be read as UTF-8"):
            list(iter_documents(parser, [path]))


def test_unknown_parsers_and_missing_files_are_named_at_once(tmp_path):
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


def test_parquet_gives_a_row_a_document_and_refuses_other_columns(tmp_path):
    texts = ["One.", None, "", "Two."]
    pq.write_table(pa.table({"text": texts, "url": texts}), tmp_path / "good.parquet")
    assert list(iter_documents("parquet", [tmp_path / "good.parquet"])) == ["One.", "Two."]
    pq.write_table(pa.table({"body": texts}), tmp_path / "other.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    for name in ("other.parquet", "broken.parquet"):
        with pytest.raises(LingprobError, match=rf"{name}: not a Parquet file with a column"):
            list(iter_documents("parquet", [tmp_path / name]))


def test_the_tagged_brown_corpus_is_put_back_as_it_was_printed(tmp_path):
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
def test_a_file_without_text_is_named_even_among_others(tmp_path, parser, name, content):
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
