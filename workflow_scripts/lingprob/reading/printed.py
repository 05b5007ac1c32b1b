"""Restore the punctuation and the missing words of GECO's material from the printed novel.

The public material of GECO (Cop et al. 2017) has no punctuation. It also lacks the names and
compounds that its lexicon lacks, about one word in thirty. But its ids count the words that readers
saw: 1-5-42 after 1-5-40 means that one word between them is missing. The words are aligned with the
novel ("the print"), which gives each word its printed form and supplies the missing words.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.tables import OTHER, read

HEADING = re.compile(r"^CHAPTER [IVXLC]+\b.*$", re.MULTILINE)
END = re.compile(r"^\*\*\* ?END OF", re.MULTILINE)
# Straight apostrophes, -- for dashes and no double quotation marks. With these the chapters have
# lengths within 1.7% of the published ones (with quotation marks, 2.9% more in total), and
# chapter 4 has the published longest overlap, 317 tokens up to a quotation.
TYPOGRAPHY = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": "", "\u201d": "", '"': "", "\u2014": "--"}
)
# Numbers of drawings, alone on a line, and the marks of italics are not part of the text.
NO_PRINT = re.compile(r"^\s*\d\d\s*$|_", re.MULTILINE)
WINDOW = 1000  # words that are aligned at once
ANCHOR = 8  # equal words in a row at which one window ends and the next begins
SMALLEST_SHARE = 0.95
SENTENCE_END = r"[.?!][\"'\u201d\u2019)\]]*$"

Opcode = tuple[str, int, int, int, int]
# Index in the material (None for a word that it lacks), index in the print, word.
Row = tuple[int | None, int, str]


def printed_geco(material: Path, novel: Path) -> pd.DataFrame:
    """Return the words that GECO's readers saw, in their printed form, one row per word.

    `material` is EnglishMaterial.csv with WORD_ID (PART-TRIAL-NUMBER of the word on the screen),
    SENTENCE_ID and WORD. `novel` is Project Gutenberg's text file.

    Returns passage_id (the chapter, from 1), word_index and sentence_index (from 0 in the chapter),
    word, and word_id (WORD_ID, missing if the editions differ), with all words of the material.

    Raises LingprobError if the novel has no chapters, or another text than the material.
    """
    table = read(material, ",", ["WORD_ID", "SENTENCE_ID", "WORD"], quoting=0)
    table = table[table["WORD"].str.strip() != ""].reset_index(drop=True)
    printed = pd.Series([chapter.split() for chapter in chapters(novel)]).explode().dropna()
    where = f"{material} and {novel}"
    aligned = _aligned(table["WORD"].tolist(), printed.tolist(), where)
    rows = pd.DataFrame(aligned, columns=["place", "unit", "word"])
    rows["passage_id"] = (printed.index[rows["unit"]] + 1).astype(str)
    rows = _with_ids(rows, table["WORD_ID"])
    rows["sentence"] = _sentences(rows, table["SENTENCE_ID"])
    by_passage = rows.groupby("passage_id", sort=False)
    return rows[["passage_id", "word", "word_id"]].assign(
        word_index=by_passage.cumcount(),
        sentence_index=by_passage["sentence"].transform(lambda ids: pd.factorize(ids)[0]),
    )


def chapters(novel: Path) -> list[str]:
    """Return the text of each chapter of a Project Gutenberg file. Raise LingprobError if none."""
    text = novel.read_text(encoding="utf-8-sig").translate(TYPOGRAPHY)
    end = END.search(text)
    bodies = HEADING.split(text[: end.start()] if end else text)[1:]
    found = [NO_PRINT.sub("", body) for body in bodies if body.strip()]  # not the contents
    if not found:
        raise LingprobError(f"{novel}: no line CHAPTER I, II ... Is it Project Gutenberg's text?")
    return found


def _letters(word: str) -> str:
    """Return a word's letters and digits, in lower case and without accents."""
    if not word.isascii():
        word = unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode()
    return re.sub(r"[\W_]", "", word.lower())


def _opcodes(ours: Sequence[str], theirs: Sequence[str]) -> Iterator[Opcode]:
    """Yield the opcodes of difflib.SequenceMatcher that turn `ours` into `theirs`.

    The sequences are long and differ little, so windows of them are compared one by one. A window
    ends with its last run of ANCHOR or more equal words. Without such a run it is doubled.
    """
    i = j = 0
    size = WINDOW
    while i < len(ours) or j < len(theirs):
        last = i + size >= len(ours)
        a, b = ours[i : i + size], theirs[j:] if last else theirs[j : j + size + size // 4]
        found = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        if not last:
            long = [n for n, op in enumerate(found) if op[0] == "equal" and op[2] - op[1] >= ANCHOR]
            found = found[: long[-1] + 1] if long else []
        if not found:
            size *= 2
            continue
        for tag, first, end, start, stop in found:
            yield tag, first + i, end + i, start + j, stop + j
        i, j, size = found[-1][2] + i, found[-1][4] + j, WINDOW


def _aligned(material: Sequence[str], printed: Sequence[str], where: str) -> list[Row]:
    """Return one row per word of the material or the print.

    Words with the same letters get their printed form. Others keep the letters of the material,
    because readers saw these, and get the punctuation of the print. Raises LingprobError, which
    begins with `where`, if fewer than 95% of the words have the same letters.
    """
    ours, theirs = [_letters(word) for word in material], [_letters(word) for word in printed]
    rows: list[Row] = []
    same = 0
    for tag, first, end, start, stop in _opcodes(ours, theirs):
        places, units = range(first, end), range(start, stop)
        if tag == "equal":
            same += len(places)
            rows += [(place, u, printed[u]) for place, u in zip(places, units, strict=True)]
        else:
            rows += _of_other_words(material, printed, places, units)
    if same < SMALLEST_SHARE * len(ours):
        share = same / max(len(ours), 1)
        raise LingprobError(f"{where}: only {share:.0%} of the words agree. {OTHER}")
    return rows


def _of_other_words(
    material: Sequence[str], printed: Sequence[str], places: range, units: range
) -> list[Row]:
    """Return the rows of a stretch in which the material (`places`) and the print (`units`) differ.

    If the print has the letters of the material's words without a gap (every one: everyone), these
    words get this part of the print. Otherwise the same number of words replace each other
    (practiced: practised), with the material's letters.
    """
    if not places:
        return [(None, unit, printed[unit]) for unit in units]
    near = units.start if units else max(units.start - 1, 0)
    words = [material[place] for place in places]
    pieces = cut_out(words, " ".join(printed[unit] for unit in units))
    if pieces is not None:
        before, cut, after = pieces
    elif len(places) == len(units):
        pairs = zip(words, units, strict=True)
        before, cut, after = [], [_punctuated(word, printed[unit]) for word, unit in pairs], []
    else:  # another wording: the material's comes first
        before, cut, after = [], words, [printed[unit] for unit in units]
    numbered = [*[None] * len(before), *places, *[None] * len(after)]
    found = zip(numbered, [*before, *cut, *after], strict=True)
    return [(place, near, word) for place, word in found]


def cut_out(words: Sequence[str], text: str) -> tuple[list[str], list[str], list[str]] | None:
    """Find words in a text by their letters, and return the words before them, them, and the rest.

    Punctuation belongs to the word before it. The result is None if the text lacks the letters or
    has gaps between them.

    >>> cut_out(["girl", "who"], "the girl--who, perhaps")
    (['the'], ['girl--', 'who,'], ['perhaps'])
    """
    at = [place for place, letter in enumerate(text) if _letters(letter)]
    offset = "".join(_letters(text[place]) for place in at).find("".join(map(_letters, words)))
    if offset < 0 or not all(map(_letters, words)) or any(len(_letters(text[p])) != 1 for p in at):
        return None
    bounds = np.cumsum([offset, *(len(_letters(word)) for word in words)])
    starts = [at[bound] if bound < len(at) else len(text) for bound in bounds]
    if not offset:
        starts[0] = 0  # an opening bracket or quotation mark
    cut = [text[start:end] for start, end in pairwise(starts)]
    last, _, rest = cut[-1].partition(" ")
    cut = [part.strip() for part in [*cut[:-1], last]]
    return text[: starts[0]].split(), cut, (rest + text[starts[-1] :]).split()


def _punctuated(word: str, printed: str) -> str:
    """Return `word` with the punctuation before and after the word `printed`."""
    return re.sub(r"^(\W*)(.*?)(\W*)$", lambda found: found[1] + word + found[3], printed, count=1)


def _with_ids(rows: pd.DataFrame, ids: pd.Series) -> pd.DataFrame:
    """Return `rows` with word_id, without the words that were not on the screen.

    `rows` has the index of each word in `ids` (column `place`). Words that the material lacks get
    the ids between those of their neighbours.
    """
    rows = rows.astype({"place": "Int64"})
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
    return rows.assign(word_id=word_id)[on_screen].reset_index(drop=True)


def ids_between(
    before: tuple[str, int] | None, after: tuple[str, int] | None, count: int
) -> list[str | None]:
    """Return the ids of `count` words between two words with the (trial, number) before and after.

    A trial's numbers start from 1, and its length is unknown. The ids are None if the numbers would
    also fit more or fewer words. The list is empty if they leave no room.

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


def _sentences(rows: pd.DataFrame, sentence_ids: pd.Series) -> np.ndarray:
    """Return the sentence id of each word. Words that the material lacks get their neighbours' id.

    Between two sentences, it is the first's up to the last punctuation of a sentence's end.
    """
    sentence = sentence_ids.reindex(rows["place"]).reset_index(drop=True)
    before, after = sentence.ffill().bfill(), sentence.bfill().ffill()
    ends = rows["word"].str.contains(SENTENCE_END)
    run = rows["place"].notna().cumsum()
    to_come = ends[::-1].groupby(run).cummax()[::-1]
    return np.where(to_come, before, after)
