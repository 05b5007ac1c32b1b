"""The words of a corpus that lost their punctuation, in the form that the book prints them in.

The public material of GECO (Cop et al. 2017) has neither punctuation nor the names and compounds
that its lexicon lacks, about one word in thirty. But its ids count the words that readers saw:
1-5-42 after 1-5-40 says that a word stood between. Aligned with the printed novel, every word gets
its printed form, and the words left out come back.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.tables import read

HEADING = re.compile(r"^CHAPTER [IVXLC]+\b.*$", re.MULTILINE)
END = re.compile(r"^\*\*\* ?END OF", re.MULTILINE)
# Straight apostrophes, -- for dashes and no double quotation marks: with these the chapters have
# lengths within 1.7% of the published ones (with quotation marks, 2.9% more on the whole), and
# chapter 4 has the published longest overlap, 317 tokens up to a quotation.
TYPOGRAPHY = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": "", "\u201d": "", '"': "", "\u2014": "--"}
)
# Numbers of drawings, alone on a line, and the marks of italics are no print.
NO_PRINT = re.compile(r"^\s*\d\d\s*$|_", re.MULTILINE)
WINDOW = 1000  # words that are aligned at once
ANCHOR = 8  # words in a row that must agree where one window ends and the next begins
SMALLEST_SHARE = 0.95
# Of a word that ends a sentence, where the corpus does not mark any.
SENTENCE_END = r"[.?!][\"'\u201d\u2019)\]]*$"

Opcode = tuple[str, int, int, int, int]
# Place in the material, place and wording in the print, word.
Row = tuple[int | None, int, str, str]


def printed_geco(material: Path, novel: Path) -> pd.DataFrame:
    """Return the words of GECO in print, a row a word.

    Args:
        material: EnglishMaterial.csv: WORD_ID (part-trial-number of the word on the screen),
            SENTENCE_ID, WORD.
        novel: the text of Project Gutenberg.

    Returns:
        passage_id (the chapter, from 1), word_index (from 0 in the chapter), word (in print, with
        straight apostrophes, -- for a dash and without double quotation marks: the typography that
        comes closest to the published passage lengths), sentence_index (from 0 in the chapter),
        word_id (of the word on the screen; null where the editions differ), material_word (null
        where the material leaves the word out) and novel_word (what stands there in print). The
        material's words are all there, in their order.

    Raises LingprobError if the novel has no chapters, or another text than the material.
    """
    table = read(material, ",", ["WORD_ID", "SENTENCE_ID", "WORD"], quoting=0)
    table = table[table["WORD"].str.strip() != ""].reset_index(drop=True)
    printed = [
        (str(number), unit)
        for number, chapter in enumerate(chapters(novel), start=1)
        for unit in chapter.split()
    ]
    words = [unit for _, unit in printed]
    rows = pd.DataFrame(
        _rows(table["WORD"].tolist(), words, f"{material} and {novel}"),
        columns=["place", "unit", "novel_word", "word"],
    )
    rows["passage_id"] = pd.Series([chapter for chapter, _ in printed]).reindex(rows["unit"]).array
    rows = with_ids(rows, table["WORD_ID"])
    rows["sentence"] = _sentences(rows, table["SENTENCE_ID"])
    by_passage = rows.groupby("passage_id", sort=False)
    return pd.DataFrame(
        {
            "passage_id": rows["passage_id"],
            "word_index": by_passage.cumcount(),
            "word": rows["word"],
            "sentence_index": by_passage["sentence"].transform(lambda ids: pd.factorize(ids)[0]),
            "word_id": rows["word_id"],
            "material_word": table["WORD"].reindex(rows["place"]).array,
            "novel_word": rows["novel_word"],
        }
    )


def chapters(novel: Path) -> list[str]:
    """Return the chapters of a Project Gutenberg text, without their headings.

    Raises LingprobError if there are none.
    """
    text = novel.read_text(encoding="utf-8-sig").translate(TYPOGRAPHY)
    end = END.search(text)
    bodies = HEADING.split(text[: end.start()] if end else text)[1:]
    found = [NO_PRINT.sub("", body) for body in bodies if body.strip()]  # contents have no body
    if not found:
        raise LingprobError(f"{novel}: no line CHAPTER I, II ... Is it Project Gutenberg's text?")
    return found


def letters(word: str) -> str:
    """Return a word's letters and digits, in lower case and without accents."""
    if not word.isascii():
        word = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return re.sub(r"[\W_]", "", word.lower())


def opcodes_in_windows(
    ours: Sequence[str], theirs: Sequence[str], window: int = WINDOW, anchor: int = ANCHOR
) -> Iterator[Opcode]:
    """Yield difflib's opcodes of two long sequences that differ little, in a window at a time.

    A window's opcodes count as far as its last run of `anchor` or more equal words, where the next
    window begins; without such a run it is widened.
    """
    i = j = 0
    size = window
    while i < len(ours) or j < len(theirs):
        last = i + size >= len(ours)
        a, b = ours[i : i + size], theirs[j:] if last else theirs[j : j + size + size // 4]
        found = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if not last:
            long = [n for n, op in enumerate(found) if op[0] == "equal" and op[2] - op[1] >= anchor]
            found = found[: long[-1] + 1] if long else []
        if not found:
            size *= 2
            continue
        for tag, first, end, start, stop in found:
            yield tag, first + i, end + i, start + j, stop + j
        i, j, size = found[-1][2] + i, found[-1][4] + j, window


def _rows(material: Sequence[str], printed: Sequence[str], where: str) -> list[Row]:
    """Return a row for every word of the material and of the print.

    Words with the same letters have their printed form. Others keep the material's letters, which
    are those that were read, with the punctuation of the print.
    """
    ours, theirs = [letters(word) for word in material], [letters(word) for word in printed]
    rows: list[Row] = []
    same = 0
    for tag, first, end, start, stop in opcodes_in_windows(ours, theirs):
        places, units = range(first, end), range(start, stop)
        if tag == "equal":
            same += len(places)
            rows += [(p, u, printed[u], printed[u]) for p, u in zip(places, units, strict=True)]
        else:
            rows += _of_other_words(material, printed, places, units)
    if same < SMALLEST_SHARE * len(ours):
        raise LingprobError(
            f"{where}: only {same / max(len(ours), 1):.0%} of the words agree. Are both the same "
            "text?"
        )
    return rows


def _of_other_words(
    material: Sequence[str], printed: Sequence[str], places: range, units: range
) -> list[Row]:
    """Return the rows of a stretch in which material and print part.

    Where the letters of the material's words are in the print, in a row (every one: everyone), they
    are cut out of it, and what stands before and after them are words that the material leaves out.
    Else as many words are taken for each other (practiced: practised), and keep the material's
    letters.
    """
    if not places:
        return [(None, unit, printed[unit], printed[unit]) for unit in units]
    near = units.start if units else max(units.start - 1, 0)
    words = [material[place] for place in places]
    stretch = " ".join(printed[unit] for unit in units)
    pieces = cut_out(words, stretch)
    if pieces is not None:
        before, cut, after = pieces
    elif len(places) == len(units):
        pairs = zip(words, units, strict=True)
        before, cut, after = [], [punctuated(word, printed[unit]) for word, unit in pairs], []
    else:  # another wording: the material's comes first
        before, cut, after = [], words, [printed[unit] for unit in units]
    return [
        *((None, near, stretch, word) for word in before),
        *((place, near, stretch, word) for place, word in zip(places, cut, strict=True)),
        *((None, near, stretch, word) for word in after),
    ]


def cut_out(words: Sequence[str], text: str) -> tuple[list[str], list[str], list[str]] | None:
    """Find words in a text by their letters alone; return the text before, in and after them.

    >>> cut_out(["girl", "who"], "the girl--who, perhaps")
    (['the'], ['girl--', 'who,'], ['perhaps'])

    Punctuation goes with the word before it. None if the letters are not there in a row.
    """
    at = [place for place, letter in enumerate(text) if letters(letter)]
    offset = "".join(letters(text[place]) for place in at).find("".join(map(letters, words)))
    if offset < 0 or not all(map(letters, words)) or any(len(letters(text[p])) != 1 for p in at):
        return None
    bounds = np.cumsum([offset, *(len(letters(word)) for word in words)])
    starts = [at[bound] if bound < len(at) else len(text) for bound in bounds]
    if not offset:
        starts[0] = 0  # an opening bracket or quotation mark
    cut = [text[start:end] for start, end in pairwise(starts)]
    last, _, rest = cut[-1].partition(" ")
    cut = [part.strip() for part in [*cut[:-1], last]]
    return text[: starts[0]].split(), cut, (rest + text[starts[-1] :]).split()


def punctuated(word: str, printed: str) -> str:
    """Return a word between the punctuation that stands around a printed one."""
    found = re.fullmatch(r"(\W*)(.*?)(\W*)", printed, re.DOTALL)
    assert found is not None  # the pattern fits every text
    return found[1] + word + found[3]


def with_ids(rows: pd.DataFrame, ids: pd.Series) -> pd.DataFrame:
    """Give words that the material leaves out the ids that lie between those of their neighbours.

    `rows` has place (in `ids`, null for a word left out); word_id is added, and words that were not
    on the screen go.
    """
    rows = rows.astype({"place": "Int64"}).reset_index(drop=True)
    split = ids.str.rsplit("-", n=1)
    screen = list(zip(split.str[0], split.str[1].astype(int), strict=True))
    word_id = ids.reindex(rows["place"]).to_numpy(dtype=object)
    known = np.flatnonzero(rows["place"].notna())
    on_screen = np.ones(len(rows), dtype=bool)
    for left, right in zip(np.append(-1, known), np.append(known, len(rows)), strict=True):
        if right - left > 1:
            before = screen[rows["place"].iloc[left]] if left >= 0 else None
            after = screen[rows["place"].iloc[right]] if right < len(rows) else None
            between = ids_between(before, after, right - left - 1)
            on_screen[left + 1 : right] = bool(between)
            word_id[left + 1 : right] = between or None
    rows["word_id"] = word_id
    return rows[on_screen].reset_index(drop=True)


def ids_between(
    before: tuple[str, int] | None, after: tuple[str, int] | None, count: int
) -> list[str | None]:
    """Return the ids of `count` words between two whose trial and number are known.

    A trial's numbers start from 1, and how many it has is not known. None where a trial has other
    words than the print; no ids at all where its numbers leave no room.

    >>> ids_between(("1-5", 8), ("1-6", 2), 3)
    ['1-5-9', '1-5-10', '1-6-1']
    """
    if before and after and before[0] == after[0]:
        gap = after[1] - before[1] - 1
        if gap not in (0, count):
            return [None] * count
        return [f"{before[0]}-{before[1] + n}" for n in range(1, gap + 1)]
    leading = min(count, after[1] - 1) if after else 0
    ids: list[str | None] = [
        f"{before[0]}-{before[1] + n}" if before else None for n in range(1, count - leading + 1)
    ]
    return ids + [f"{after[0]}-{after[1] - n}" for n in range(leading, 0, -1) if after]


def words_that_differ(words: pd.DataFrame) -> pd.DataFrame:
    """Return the words that the material leaves out, or that the novel prints with other letters.

    `words` is as `printed_geco` gives it. Columns passage_id, word_index, word_id, word,
    material_word, novel_word and difference: `left out` of the material, `other edition` (left out,
    and the ids leave room for more or fewer words), or `other letters` in the novel.
    """
    absent = words["material_word"].isna()
    same = words["word"].map(letters) == words["novel_word"].map(letters)
    what = np.select(
        [words["word_id"].isna(), absent, ~same],
        ["other edition", "left out", "other letters"],
        "",
    )
    columns = ["passage_id", "word_index", "word_id", "word", "material_word", "novel_word"]
    return words.assign(difference=what).loc[what != "", [*columns, "difference"]]


def _sentences(rows: pd.DataFrame, sentence_ids: pd.Series) -> np.ndarray:
    """Return each word's sentence; a word left out is in that of its neighbours.

    Between two sentences, it is in the first as far as a word of those left out ends one.
    """
    sentence = sentence_ids.reindex(rows["place"]).reset_index(drop=True)
    before, after = sentence.ffill().bfill(), sentence.bfill().ffill()
    ends = rows["word"].str.contains(SENTENCE_END)
    run = rows["place"].notna().cumsum()
    # Whether a word that ends a sentence is still to come among those left out here.
    to_come = ends[::-1].groupby(run).cummax()[::-1]
    return np.where(to_come, before, after)
