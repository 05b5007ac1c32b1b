"""Parse the texts of reading-time corpora into tables with one row per word.

A passage is its words joined by single spaces. Tokenised with Pythia's tokenizer, the passages of
Brown, Provo and Natural Stories (except for one token of story 2) have the lengths in the paper's
tables (leakage, footnote 4). GECO's chapters differ from these by 0.1 to 1.7%.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError, looked_up, refuse_rows
from lingprob.io.table_files import FORMATS
from lingprob.io.text_tables import decoded
from lingprob.io.text_units import sentence_ends, split_lines, split_words
from lingprob.reading.own_reading import own_passages
from lingprob.reading.printed import printed_geco
from lingprob.reading.tables import OTHER, align_words, check_files, read

logger = logging.getLogger(__name__)

COLUMNS = ["passage_id", "word_index", "word", "sentence_index"]
PARSED = ["passage_id", "word", "sentence_index"]  # returned by parsers
OWN = "passages"  # the parser of a user's own texts
SENTENCES_PER_PASSAGE = 15  # of the demo
PASSAGES_READ = 6  # of the demo, in simulated reading times


def build_words(corpus: str, entry: dict[str, Any], files: Sequence[Path]) -> pd.DataFrame:
    """Return the `words` table of a corpus, by the parser that its catalog entry names.

    Its columns are passage_id, word, and word_index and sentence_index (both from 0 in each
    passage). Sentences are found by rule if the corpus does not mark them.

    Raises LingprobError for bad input, or if the number of passages or words is not the entry's.
    """
    check_files(files, corpus, is_own=entry["parser"] == OWN)
    parse = looked_up("parser", entry["parser"], PARSERS, f"(datasets.{corpus}.parser)")
    words = with_places(parse(*files, *[entry] * (entry["parser"] == OWN)))
    found = {"passages": words["passage_id"].nunique(), "words": len(words)}
    if words.empty:
        raise LingprobError(f"{', '.join(map(str, files)) or corpus}: no word in it. Fill it.")
    for key, count in found.items():
        if entry.get(key, count) != count:
            raise LingprobError(f"data set {corpus!r}: {count} {key}, not {entry[key]}. {OTHER}")
    return words


def words_of(passages: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return the columns PARSED for passages (id, text), split by `text_units.split_words`."""
    rows = [(name, word, None) for name, text in passages for word in split_words(text)]
    return pd.DataFrame(rows, columns=PARSED)


def with_places(words: pd.DataFrame) -> pd.DataFrame:
    """Return a `words` table from PARSED, without empty words.

    Rows of a passage come together. If no sentence_index is known, `text_units.sentence_ends` finds
    the sentences.
    """
    order = pd.Series(pd.factorize(words["passage_id"])[0], words.index)
    words = words.loc[order.sort_values(kind="stable").index]
    words["word"] = words["word"].str.strip()
    words = words[words["word"] != ""].reset_index(drop=True)
    by_passage = words.groupby("passage_id", sort=False)
    words["word_index"] = by_passage.cumcount()
    if words["sentence_index"].isna().all():
        ends = by_passage["word"].transform(lambda some: sentence_ends(some.tolist())).astype(int)
        words["sentence_index"] = ends.groupby(words["passage_id"], sort=False).cumsum() - ends
        logger.info(
            "%d words in %d sentences of %d passages, whose ends are found by rule",
            len(words), len(words[["passage_id", "sentence_index"]].drop_duplicates()),
            by_passage.ngroups,
        )  # fmt: skip
    return words[COLUMNS]


def passage_texts(words: pd.DataFrame) -> pd.Series:
    """Return the text of each passage of a `words` table, indexed by passage_id in its order."""
    return words.groupby("passage_id", sort=False)["word"].agg(" ".join)


def _natural_stories(path: Path, sentences: Path) -> pd.DataFrame:
    """Return the columns PARSED of Natural Stories from all_stories.tok (Futrell et al. 2021).

    The second file, with story_num, sentence_num and word_num_in_story, marks the sentences.
    """
    table = read(path, "\t", ["word", "item", "zone"])
    marks = read(sentences, "\t", ["story_num", "sentence_num", "word_num_in_story"])
    keys = marks["story_num"] + "/" + marks["word_num_in_story"]
    numbers = dict(zip(keys, marks["sentence_num"].astype(int) - 1, strict=True))
    sentence = (table["item"] + "/" + table["zone"]).map(numbers)
    said = "{path}: no sentence for story {item}, word {zone} ({word!r}). " + OTHER
    refuse_rows(sentence.isna(), said, table, path=sentences)
    return table[["word"]].assign(passage_id=table["item"], sentence_index=sentence.astype(int))


def _brown_spr(path: Path) -> pd.DataFrame:
    """Return PARSED of the Brown texts from docid, sentid and word (Smith & Levy 2013)."""
    table = read(path, "\t", ["docid", "sentid", "word"])
    sentence = table["sentid"].astype(int)
    first = sentence.groupby(table["docid"]).transform("min")
    return table[["word"]].assign(passage_id=table["docid"], sentence_index=sentence - first)


def _provo(path: Path, sentences: Path) -> pd.DataFrame:
    """Return PARSED of Provo from a file with one passage per line (Luke & Christianson 2018).

    The line number is the passage_id. Passages are sorted by it as text (1, 10, 11), as in the
    published overlaps. The second file, with Text_ID, Sentence_Number and text, has the sentences
    without case and punctuation.
    """
    lines = enumerate(split_lines(decoded(path)), start=1)
    words = words_of(sorted((str(number), text) for number, text in lines))
    marks = read(sentences, ",", ["Text_ID", "Sentence_Number", "text"], quoting=0)
    marks = marks.assign(word=marks["text"].str.split()).explode("word", ignore_index=True)
    parts = [
        _marked(part["word"].tolist(), marks[marks["Text_ID"] == passage], sentences, str(passage))
        for passage, part in words.groupby("passage_id", sort=False)
    ]
    return words.assign(sentence_index=np.concatenate(parts))


def _marked(words: list[str], marks: pd.DataFrame, path: Path, passage: str) -> np.ndarray:
    """Return the sentence (int from 0) of each of a passage's words, shape (len(words),).

    `marks` has word and Sentence_Number. A word without a mark is in the sentence of the word
    before it. Marks out of order are ignored (stray rows of Provo's passages 21 and 45).
    """
    if marks.empty:
        raise LingprobError(f"{path}: no sentences of passage {passage!r}. Download it again.")
    place = align_words(marks["word"].tolist(), words, f"{path}, passage {passage!r}")
    found = place >= 0
    number = pd.Series(marks["Sentence_Number"].to_numpy()[found], index=place[found])
    sentence = number.reindex(range(len(words))).ffill().bfill()
    return (sentence != sentence.shift()).cumsum().to_numpy() - 1


def _frank2013(path: Path) -> pd.DataFrame:
    """Return PARSED of the UCL corpus, in which each sentence is a passage (Frank et al. 2013)."""
    table = read(path, "\t", ["sent_nr", "sentence"], encoding="cp1252")
    words = words_of(zip(table["sent_nr"], table["sentence"], strict=True))
    return words.assign(sentence_index=0)


def _passages(path: Path, entry: Mapping[str, Any]) -> pd.DataFrame:
    """Return PARSED of a user's text: a table (`own_reading`), or one passage per line from 1."""
    if path.suffix.lower() in FORMATS:
        return own_passages(path, entry)
    lines = [line for line in split_lines(decoded(path)) if line.strip()]
    return words_of((str(number), text) for number, text in enumerate(lines, start=1))


def _demo_passages() -> pd.DataFrame:
    """Return PARSED of passages made of the acceptable sentences of the demo's minimal pairs."""
    sentences = pd.read_csv(MINIMAL_PAIRS)["good"]
    rows = [
        (f"{number // SENTENCES_PER_PASSAGE + 1:02d}", word, number % SENTENCES_PER_PASSAGE)
        for number, sentence in enumerate(sentences)
        for word in sentence.split()
    ]
    return pd.DataFrame(rows, columns=PARSED)


def _demo_reading() -> pd.DataFrame:
    """Return the first six of the demo's passages, which are scored in seconds."""
    words = _demo_passages()
    return words[words["passage_id"].astype(int) <= PASSAGES_READ]


PARSERS: dict[str, Callable[..., pd.DataFrame]] = {
    "brown_spr": _brown_spr,
    "demo_passages": _demo_passages,
    "demo_reading": _demo_reading,
    "frank2013": _frank2013,
    "geco": printed_geco,
    "natural_stories": _natural_stories,
    OWN: _passages,
    "provo": _provo,
}
