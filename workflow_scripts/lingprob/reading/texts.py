"""The texts of reading-time corpora, a word a row; joined by single blanks they are the passages.

So joined and tokenised with Pythia's tokenizer, Brown, Provo and Natural Stories (but for one token
of story 2) have the lengths that the paper's tables give (leakage, footnote 4), and GECO's chapters
differ from theirs by 0.1 to 1.7%.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError, no_such_file, refuse_rows, unknown_name
from lingprob.io import own_tables
from lingprob.io.text_tables import decoded
from lingprob.io.text_units import sentence_ends, split_lines, split_words
from lingprob.reading.alignment import align_words
from lingprob.reading.printed import printed_geco
from lingprob.reading.tables import read

logger = logging.getLogger(__name__)

COLUMNS = ["passage_id", "word_index", "word", "sentence_index"]
PARSED = ["passage_id", "word", "sentence_index"]  # what parsers return
SENTENCES_PER_PASSAGE = 15  # of the demo
PASSAGES_READ = 6  # of the demo, in simulated reading times


def build_words(corpus: str, entry: dict[str, Any], files: Sequence[Path]) -> pd.DataFrame:
    """Parse a corpus's text with the parser that its catalog entry names, and check the result.

    Args:
        corpus: name in the catalog or in config.yaml.
        entry: its entry; `passages` and `words` are the expected counts.
        files: its files.

    Returns:
        A `words` table: passage_id, word_index (from 0 in its passage), word, sentence_index (from
        0 in its passage; where the corpus does not mark sentences, a word that ends in a full
        stop, question or exclamation mark ends one). Passages keep their order.

    Raises LingprobError that names the file and the remedy for bad input, or if the counts are not
    what the catalog expects.
    """
    if entry["parser"] not in PARSERS:
        raise unknown_name("parser", entry["parser"], PARSERS, f"(datasets.{corpus}.parser)")
    for path in files:
        if not path.is_file():
            raise LingprobError(f"{path}: no such text. Check datasets.{corpus}.path.")
    words = with_places(PARSERS[entry["parser"]](*files))
    found = {"passages": words["passage_id"].nunique(), "words": len(words)}
    for key, count in found.items():
        if count == 0 or entry.get(key, count) != count:
            raise LingprobError(
                f"data set {corpus!r}: {count} {key}, but {entry.get(key, 'some')} are expected. "
                "Is the file another version?"
            )
    return words


def words_of(passages: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return the words of passages, each by its id, as `text_units.split_words` finds them."""
    rows = [(name, word, None) for name, text in passages for word in split_words(text)]
    return pd.DataFrame(rows, columns=PARSED)


def with_places(words: pd.DataFrame) -> pd.DataFrame:
    """Return a `words` table without empty words, each with its place in its passage.

    Where sentences are not marked, `sentences_by_rule` says which sentence a word is in.
    """
    words["word"] = words["word"].str.strip()
    words = words[words["word"] != ""].reset_index(drop=True)
    words["word_index"] = words.groupby("passage_id", sort=False).cumcount()
    if words["sentence_index"].isna().all():
        words["sentence_index"] = sentences_by_rule(words)
    return words[COLUMNS]


def passage_texts(words: pd.DataFrame) -> pd.Series:
    """Return each passage's words joined by single blanks, by passage_id, in the table's order."""
    return words.groupby("passage_id", sort=False)["word"].agg(" ".join)


def sentences_by_rule(words: pd.DataFrame) -> pd.Series:
    """Return each word's sentence in its passage, from 0, by `text_units.sentence_ends`."""
    passages = words["passage_id"]
    ends = pd.Series(False, index=words.index)
    for _, some in words.groupby("passage_id", sort=False)["word"]:
        ends[some.index] = sentence_ends(some.tolist())
    sentences = ends.groupby(passages, sort=False).cumsum() - ends.astype(int)
    logger.info(
        "%d words in %d sentences of %d passages; the ends of sentences are found by rule",
        len(words), len(set(zip(passages, sentences, strict=True))), passages.nunique(),
    )  # fmt: skip
    return sentences


def _natural_stories(path: Path, sentences: Path | None = None) -> pd.DataFrame:
    """Read all_stories.tok: word, zone, item (Futrell et al. 2021).

    A second file has the sentence of each word: story_num, sentence_num, word_num_in_story.
    """
    table = read(path, "\t", ["word", "item", "zone"])
    if sentences is None:
        return pd.DataFrame(
            {"passage_id": table["item"], "word": table["word"], "sentence_index": None}
        )
    marks = read(sentences, "\t", ["story_num", "sentence_num", "word_num_in_story"])
    keys = marks["story_num"] + "/" + marks["word_num_in_story"]
    number = (table["item"] + "/" + table["zone"]).map(
        dict(zip(keys, marks["sentence_num"].astype(int) - 1, strict=True))
    )
    refuse_rows(
        number.isna(),
        "{path}: no sentence for story {item}, word {zone} ({word!r}). Is the file another "
        "version?",
        table,
        path=sentences,
    )
    return pd.DataFrame(
        {"passage_id": table["item"], "word": table["word"], "sentence_index": number.astype(int)}
    )


def _brown_spr(path: Path) -> pd.DataFrame:
    """Read docid, sentid, sentpos, word, mean_rt (Smith & Levy 2013)."""
    table = read(path, "\t", ["docid", "sentid", "word"])
    sentence = table["sentid"].astype(int)
    first = sentence.groupby(table["docid"]).transform("min")
    return pd.DataFrame(
        {"passage_id": table["docid"], "word": table["word"], "sentence_index": sentence - first}
    )


def _geco(path: Path, novel: Path | None = None) -> pd.DataFrame:
    """Read the English material in print: its words alone have no punctuation (Cop et al. 2017).

    A passage is a chapter of the novel, the second file.
    """
    if novel is None:
        raise LingprobError(
            f"{path}: GECO's words have lost their punctuation. List the novel that they come from "
            "(Project Gutenberg's 863-0.txt) as the second of `files`."
        )
    return printed_geco(path, novel)[COLUMNS]


def _provo(path: Path, sentences: Path | None = None) -> pd.DataFrame:
    """Read a passage a line, in the order of the corpus's Text_ID (Luke & Christianson 2018).

    Passages come in the order of the published overlaps, which sort the numbers as text: 1, 10, 11.
    A second file has the sentences without case and punctuation: Text_ID, Sentence_Number, text.
    """
    numbered = [(str(number), text) for number, text in enumerate(lines_of(path), start=1)]
    words = words_of(sorted(numbered))
    if sentences is None:
        return words
    marks = read(sentences, ",", ["Text_ID", "Sentence_Number", "text"], quoting=0)
    marks = marks.assign(word=marks["text"].str.split()).explode("word", ignore_index=True)
    parts = [
        _marked(part["word"].tolist(), marks[marks["Text_ID"] == passage], sentences, str(passage))
        for passage, part in words.groupby("passage_id", sort=False)
    ]
    return words.assign(sentence_index=np.concatenate(parts))


def _marked(words: list[str], marks: pd.DataFrame, path: Path, passage: str) -> np.ndarray:
    """Return each word's sentence; one that the marks lack is in the sentence of the word before.

    Marks of words out of their order do not count (stray rows of Provo's passages 21 and 45).
    """
    if marks.empty:
        raise LingprobError(f"{path}: no sentences of passage {passage!r}. Fetch the file again.")
    place = align_words(marks["word"].tolist(), words, f"{path}, passage {passage!r}")
    found = place >= 0
    number = pd.Series(marks["Sentence_Number"].to_numpy()[found], index=place[found])
    sentence = number.reindex(range(len(words))).ffill().bfill()
    return (sentence != sentence.shift()).cumsum().to_numpy() - 1


def _frank2013(path: Path) -> pd.DataFrame:
    """Read sent_nr, sentence, question, answer: each sentence a passage (Frank et al. 2013)."""
    table = read(path, "\t", ["sent_nr", "sentence"], encoding="cp1252")
    words = words_of(zip(table["sent_nr"], table["sentence"], strict=True))
    return words.assign(sentence_index=0)


def _passages(path: Path) -> pd.DataFrame:
    """Read a user's own text: one passage per line, numbered from 1, or a table of words."""
    if path.suffix.lower() in own_tables.FORMATS:
        return _table_of_words(path)
    lines = [line for line in lines_of(path) if line.strip()]
    return words_of((str(number), text) for number, text in enumerate(lines, start=1))


def _table_of_words(path: Path) -> pd.DataFrame:
    """Read a table with `passage_id`, `word` and, if it has them, `word_index` and `sentence`.

    Rows of several readers for one word count once. A sentence begins where `sentence` changes.
    Raises LingprobError that names the row at fault if words are numbered with gaps, if a number
    has two words, or if only some words have a sentence.
    """
    given = own_tables.read_frame(path)
    own_tables.need_columns(path, given, ["passage_id", "word"], "A row is a word of a passage.")
    names = [name for name in ("passage_id", "word", "sentence") if name in given.columns]
    words = pd.DataFrame({name: own_tables.text_of(path, name, given[name]) for name in names})
    words = words.astype(object)
    for name in names:
        own_tables.refuse(path, name, words[name].isna(), "no value")
    passages = words["passage_id"]
    if "word_index" in given.columns:
        number = own_tables.whole(path, "word_index", given["word_index"])
        first = words.groupby([passages, number])["word"].transform("first")
        other = words["word"] != first
        own_tables.refuse(path, "word", other, "another word than in an earlier row", words["word"])
        order = pd.DataFrame({"passage": pd.factorize(passages)[0], "number": number})
        order = order.drop_duplicates().sort_values(["passage", "number"])
        gaps = order.groupby("passage")["number"].diff().fillna(1) != 1
        own_tables.refuse(
            path, "word_index", gaps.reindex(words.index, fill_value=False),
            "a word before it is missing", number, "Number the words of a passage without gaps.",
        )  # fmt: skip
        words = words.loc[order.index].reset_index(drop=True)
    sentence = None
    if "sentence" in words.columns:
        changed = words["sentence"] != words.groupby("passage_id")["sentence"].shift()
        sentence = changed.astype(int).groupby(words["passage_id"]).cumsum() - 1
    return words[["passage_id", "word"]].assign(sentence_index=sentence)


def _demo_passages() -> pd.DataFrame:
    """Make passages of the acceptable sentences of the demo's minimal pairs."""
    sentences = pd.read_csv(MINIMAL_PAIRS)["good"]
    rows = [
        (f"{number // SENTENCES_PER_PASSAGE + 1:02d}", word, number % SENTENCES_PER_PASSAGE)
        for number, sentence in enumerate(sentences)
        for word in sentence.split()
    ]
    return pd.DataFrame(rows, columns=PARSED)


def _demo_reading() -> pd.DataFrame:
    """The first of the demo's passages, few enough to be scored in seconds."""
    words = _demo_passages()
    return words[words["passage_id"].astype(int) <= PASSAGES_READ]


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text file. Raises LingprobError if it is not there, or not UTF-8."""
    try:
        return split_lines(decoded(path))
    except UnicodeDecodeError as error:
        raise LingprobError(f"{path}: not UTF-8 text ({error}). Convert it to UTF-8.") from error
    except FileNotFoundError as error:
        raise no_such_file(path) from error
    except OSError as error:
        raise LingprobError(f"{path}: cannot be read ({error}). Check its path.") from error


PARSERS: dict[str, Callable[..., pd.DataFrame]] = {
    "brown_spr": _brown_spr,
    "demo_passages": _demo_passages,
    "demo_reading": _demo_reading,
    "frank2013": _frank2013,
    "geco": _geco,
    "natural_stories": _natural_stories,
    "passages": _passages,
    "provo": _provo,
}
