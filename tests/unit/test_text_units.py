"""Lines, words and sentences in every script, and corpora in the forms that people have."""

from __future__ import annotations

import gzip
import json
import logging
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents, parser_of
from lingprob.io.files import dataset_paths
from lingprob.io.text_units import plain_word, sentence_ends, split_lines, split_words
from lingprob.overlap.chance import load_kenlm
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


def test_words_counted_from_0_are_read_with_a_warning(tmp_path, caplog):
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


def arpa(unknown: bool) -> str:
    first = ["-2\t<unk>"] * unknown + ["-99\t<s>\t-0.3", "-1\t</s>", "-0.5\tthe\t-0.3", "-1\tcat"]
    lines = ["\\data\\", f"ngram 1={len(first)}", "ngram 2=1", "", "\\1-grams:", *first, ""]
    return "\n".join([*lines, "\\2-grams:", "-0.2\tthe cat", "", "\\end\\", ""])


def test_an_n_gram_model_without_unknown_words_is_refused(tmp_path):
    pytest.importorskip("kenlm")
    (tmp_path / "with.arpa").write_text(arpa(True))
    assert load_kenlm(tmp_path / "with.arpa").score("the cat", bos=False, eos=False) < 0
    (tmp_path / "without.arpa").write_text(arpa(False))
    with pytest.raises(LingprobError, match="no <unk>"):
        load_kenlm(tmp_path / "without.arpa")
