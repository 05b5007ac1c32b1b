"""Conversion of experiment software's result files to tables of reading times and of ratings.

A file is first read as rows under the program's own names of columns, in lower case with
underscores. PCIbex and Ibex Farm write comments that name the columns of the lines below them.
jsPsych writes trials as JSON or CSV, Gorilla one row per event, and OpenSesame one per trial.
"""

import csv
import html
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.table_files import NO_NUMBER, need_columns, numeric, read_frame, refuse, whole
from lingprob.io.text_tables import decoded
from lingprob.io.text_units import split_lines

COMMENT = re.compile(r"#\s*(?:Col\. )?(\d+)[.:]\s*(.*?)\.?\s*$")
# The first seven columns of PCIbex and Ibex Farm, whose names differ between versions.
IBEX_COLUMNS = ("time", "md5_hash", "controller", "order", "element", "label", "latin_square")
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
# A quoted field with a doubled quotation mark in it.
DOUBLED = re.compile(r'(?:^|,)"(?=[^,])(?:[^",]|"")*""(?:[^",]|"")*"(?:,|$)')
ENTITY = re.compile(r"&(#\d+|#x[0-9A-Fa-f]+|[A-Za-z]+);")
TWIN = "__"  # before the number of a column whose name an earlier one has
TIMES, RATINGS = "reading_times", "ratings"
SENTENCE = "sentence_or_sentence_md5"  # Ibex's column of the sentence
SPR = ["spr_words", "spr_rts"]  # jsPsych's columns with lists of words and of times

# Each program, with columns that only it writes.
PROGRAMS = {
    "PCIbex": {"pennelementtype"},
    "Ibex Farm": {"md5_hash"},
    "jsPsych": {"trial_type", "trial_index"},
    "Gorilla": {"participant_private_id"},
    "OpenSesame": {"subject_nr"},
    "a table": set(),
}
# For each of this project's names, the names that experimenters use, the preferred name first.
COMMON = {
    "participant": "participant participant_id subject subject_id subj prolific_pid prolific_id",
    "item": "item item_id itemnum itemno item_no item_number",
    "condition": "condition cond",
    "sentence": "sentence text",
    "grammatical": "grammatical",
    "word": "word region",
    "word_number": "word_number word_index word_position position region_number",
    "rt_ms": "rt_ms reading_time rt",
    "rating": "rating judgment judgement choice",
    "good": "good sentence_good",
    "bad": "bad sentence_bad",
}
# Further names in all programs but PCIbex and Ibex Farm, which have names of their own.
OTHERS = {
    "participant": "run_id participant_private_id subject_nr",
    "sentence": "spr_sentence stimulus",
    "rt_ms": "reaction_time response_time",
    "rating": "response responses",
}
SPECIAL = {
    "PCIbex": {
        "participant": "id md5_hash",
        "sentence": SENTENCE,
        "word": "value",
        "word_number": "parameter",
        "rating": "value",
    },
    "Ibex Farm": {
        "participant": "md5_hash",
        "item": "latin_square",
        "condition": "label",
        "sentence": SENTENCE,
        "rating": "answer",
    },
}
# Patterns of PCIbex's column PennElementType in rows of each kind.
PCIBEX_ROWS = {
    TIMES: "Controller-DashedSentence",
    RATINGS: "Scale|Selector|Key|DropDown|Controller-.*(Judgment|Question)",
}
NEEDED = {
    TIMES: ("participant", "word_number", "word", "rt_ms"),
    RATINGS: ("participant", "sentence", "rating"),
}
KEPT = {TIMES: ("item", "condition"), RATINGS: ("item", "condition", "grammatical")}


def import_export(
    path: Path,
    kind: str,
    columns: Mapping[str, str] | None = None,
    rows: Mapping[str, Sequence[str]] | None = None,
    values: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return a result file of experiment software as a table of this project, and notes on it.

    The notes are about all rows and columns that were left out. A table of kind `reading_times` has
    the columns subject_id, passage_id, word_index (from 0), word and rt_ms, and one of kind
    `ratings` has participant, sentence and rating. Both have item and condition if known.

    Args:
        columns: the file's column for each of this project's names that this module cannot find.
        rows: the values of some columns in the rows to keep, such as {"label": ["experiment"]}.
        values: numbers for answers that are not numbers, such as {"F": "1", "J": "0"}.

    Raises LingprobError that names the file and the column at fault.
    """
    words = {*COMMON["word"].split(), "value", plain_name((columns or {}).get("word", ""))}
    frame = read_export(path, words if kind == TIMES else set())
    program = next(name for name, marks in PROGRAMS.items() if marks <= {*frame.columns})
    notes = [f"{path}: {len(frame):,} rows of {program}"]
    keep = {column: "|".join(map(re.escape, given)) for column, given in (rows or {}).items()}
    if program == "PCIbex":
        keep.setdefault("pennelementtype", PCIBEX_ROWS[kind])
    for column, pattern in keep.items():
        need_columns(path, frame, [plain_name(column)], "Name one of these in --rows.")
        frame = _kept(frame, frame[plain_name(column)].str.fullmatch(pattern), column, notes)
    frame = _with_sentences(frame)
    if kind == TIMES:
        frame = _with_words(path, frame)
    table, read = _our_columns(path, frame, SPECIAL.get(program, OTHERS), columns or {})
    named = {ours: names[0] for ours, names in read.items()}
    for name in {"sentence", "word", "good", "bad"} & {*table.columns}:
        table[name] = table[name].map(_without_html)
    if kind == RATINGS and "rating" in table.columns:
        table = _single_answers(path, table, named["rating"])
        if {"good", "bad"} <= {*table.columns}:
            table = _chosen(path, table, named)
    missing = [ours for ours in NEEDED[kind] if ours not in table.columns]
    if missing:
        raise LingprobError(
            f"{path}: no column for `{missing[-1]}` among those of {program}: "
            f"{list(frame.columns)[:20]}. Name it: --column {missing[-1]}=YOURS."
        )
    for ours in NEEDED[kind]:
        empty = NO_NUMBER if ours in ("rating", "rt_ms") else {""}
        table = _kept(table, ~table[ours].isin(empty), f"an empty {named[ours]}", notes)
    if table.empty:
        raise LingprobError(f"{path}: no {kind.replace('_', ' ')} in it. {'. '.join(notes)}.")
    unread = [name for name in frame.columns if not any(name in names for names in read.values())]
    notes.append(f"columns that are not read: {', '.join(unread) or 'none'}")
    table = table.loc[:, (table != "").any()].reset_index(drop=True)
    if kind == TIMES:
        return as_reading_times(path, table, named), notes
    return as_ratings(path, table, named, values or {}), notes


def _our_columns(
    path: Path, frame: pd.DataFrame, special: Mapping[str, str], columns: Mapping[str, str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the known columns of a file under this project's names, and the file's names of each.

    If several columns have one name in this project, each row takes the first that is not empty.
    """
    given = {ours: plain_name(theirs) for ours, theirs in columns.items()}
    need_columns(path, frame, given.values(), "Name one of these in --column.")
    table, read = pd.DataFrame(index=frame.index), {}
    for ours, known in COMMON.items():
        names = given.get(ours) or f"{known} {special.get(ours, '')}"
        found = [name for name in names.split() if name in frame.columns]
        for name in [] if ours in given else found:
            twin = f"{name}{TWIN}2"
            if twin in frame.columns and (frame[name] != frame[twin]).any():
                raise LingprobError(
                    f"{path}: two columns are named {name!r}, and their values differ. Name the "
                    f"right one: --column {ours}={name} or --column {ours}={twin}."
                )
        if found:
            read[ours] = found
            table[ours] = frame[found].replace("", pd.NA).bfill(axis=1).iloc[:, 0].fillna("")
    return table, read


def _chosen(path: Path, table: pd.DataFrame, named: dict[str, str]) -> pd.DataFrame:
    """Return two rows per forced choice: the chosen sentence has rating 1, and the other 0.

    Their items are ITEM/good and ITEM/bad. The answer (column `rating`) must be `good`, `bad` or
    the text of one of the two sentences.
    """
    answer, named["sentence"] = table["rating"], named["good"]
    chosen = {side: answer.eq(side) | answer.eq(table[side]) for side in ("good", "bad")}
    unknown = ~(chosen["good"] ^ chosen["bad"]) & (answer != "")
    remedy = "The answer must be `good`, `bad` or one of the two sentences."
    refuse(path, named["rating"], unknown, "another answer", answer, remedy)
    both = []
    for side in chosen:
        rating = chosen[side].map({True: "1", False: "0"}).where(answer != "", "")
        rows = table.assign(sentence=table[side], grammatical=str(side == "good"), rating=rating)
        both.append(rows.assign(item=rows["item"] + f"/{side}") if "item" in rows else rows)
    return pd.concat(both).sort_index(kind="stable").drop(columns=["good", "bad"])


def _kept(frame: pd.DataFrame, keep: pd.Series, reason: str, notes: list[str]) -> pd.DataFrame:
    """Return the rows to keep, and append to `notes` the number of other rows and the reason."""
    keep = keep.fillna(False).astype(bool)
    if not keep.all():
        notes.append(f"{int((~keep).sum()):,} rows are left out because of {reason}")
    return frame[keep]


def plain_name(name: str) -> str:
    """Return a column's name in lower case, with underscores for other than letters and digits."""
    name = re.sub(r"^spreadsheet: ", "", name.strip().lower())
    return re.sub(r"\W+", "_", name).strip("_")


def read_export(path: Path, words: Collection[str] = ()) -> pd.DataFrame:
    """Return the rows of a result file as text ('' if missing), with `plain_name` names.

    In columns that `words` names, the text null is a word and not a missing value. Raises
    LingprobError that names the file and the line at fault.
    """
    suffix = path.suffix.lower()
    if suffix in (".json", ".jsonl"):
        return _as_text(pd.DataFrame(_read_trials(path)), words)
    if suffix not in (".xlsx", ".parquet", ".tsv"):
        lines = split_lines(decoded(path))
        if any(COMMENT.match(line) for line in lines):
            return _as_text(pd.DataFrame(_read_ibex(path, lines)), words)
    frame = _as_text(read_frame(path), words)
    return frame[frame.iloc[:, 0] != "END OF FILE"]  # Gorilla's last row


def _as_text(frame: pd.DataFrame, words: Collection[str]) -> pd.DataFrame:
    """Return a table as text under plain names, of which no two are the same."""
    frame = frame.set_axis(told_apart([plain_name(str(name)) for name in frame]), axis=1)
    texts = frame.map(_cell).astype(object)
    absent = [name for name in texts.columns if name not in words]
    texts[absent] = texts[absent].replace({"NULL": "", "null": ""})
    return texts


def told_apart(names: Sequence[str]) -> list[str]:
    """Return names of columns, of which later ones with the same name end in __2, __3 and so on."""
    before = [names[:place].count(name) for place, name in enumerate(names)]
    return [f"{name}{TWIN}{n + 1}" if n else name for name, n in zip(names, before, strict=True)]


def _cell(value: Any) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value)
    if value is None or (isinstance(value, float) and value != value):
        return ""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _read_ibex(path: Path, lines: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a file of PCIbex or Ibex Farm, in which comments name the columns below.

    A comment with number n replaces the names of column n and all later ones. Older files describe
    each line of a group of lines in turn. Commas in texts are URL-encoded.
    """
    forms: list[list[str]] = [[]]
    rows = []
    turn = 0
    for number, line in enumerate(lines, start=1):
        if re.match(r"#\s*Line 1:", line):
            forms, turn = [[]], 0
        elif re.match(r"#\s*Line \d+:", line):
            forms.append([])
        elif found := COMMENT.match(line):
            place, name = int(found[1]) - 1, plain_name(found[2])
            if "Col." not in line:
                forms, turn = forms[-1:], 0
            fixed = IBEX_COLUMNS[place] if place < len(IBEX_COLUMNS) else name
            forms[-1] = told_apart([*forms[-1][:place], fixed])
        elif line.strip() and not line.startswith("#"):
            names = forms[turn % len(forms)]
            fields = _fields(line, len(names))
            if len(fields) != len(names):
                raise LingprobError(
                    f"{path}, line {number}: {len(fields)} fields, but the comments above name "
                    f"{len(names)} columns. Is the file whole, and every comma in a text encoded?"
                )
            rows.append(dict(zip(names, map(unquote, fields), strict=True)))
            turn += 1
    return rows


def _fields(line: str, number: int) -> list[str]:
    """Return the fields of an Ibex line. Its quotation marks are text, if `number` fields result.

    Ibex itself quotes no fields. A program that saved the file again may have quoted some, which
    then have commas or doubled marks, or all fields.
    """
    plain = line.split(",")
    quoted = all(len(field) > 1 and field[0] == field[-1] == '"' for field in plain)
    if '"' not in line or (len(plain) == number and not quoted and not DOUBLED.search(line)):
        return plain
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error:  # marks within a field, so that they do not quote it
        return plain


def _read_trials(path: Path) -> list[dict[str, Any]]:
    """Return jsPsych's trials: those of one JSON array, or of one array or trial per line."""
    text = decoded(path)
    try:
        parts = [json.loads(text)]
    except ValueError:
        try:
            parts = [json.loads(line) for line in split_lines(text) if line.strip()]
        except ValueError as error:
            raise LingprobError(f"{path}: not JSON ({error}). Export the data again.") from error
    trials = [trial for part in parts for trial in (part if isinstance(part, list) else [part])]
    if not all(isinstance(trial, dict) for trial in trials):
        raise LingprobError(f"{path}: a trial is no JSON object. Export the data again.")
    return trials


def _with_sentences(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows of Ibex with a trial's sentence in each row, not only before the judgment."""
    if not {"md5_hash", SENTENCE} <= {*frame.columns}:
        return frame
    trial = [frame[name] for name in ("time", "md5_hash", "order")]
    filled = frame[SENTENCE].replace("", pd.NA).groupby(trial).transform("first")
    return frame.assign(**{SENTENCE: filled.fillna("")})


def _without_html(text: str) -> str:
    """Return a text without the HTML that experiments in a browser have in their texts."""
    if not (TAG.search(text) or ENTITY.search(text)):
        return text
    parted = re.sub(r"(?i)<(/?(p|div|li|h\d)\b[^<>]*|br\s*/?)>", " ", text)
    return " ".join(html.unescape(TAG.sub("", parted)).split())


def _single_answers(path: Path, table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return one row per question if one answer is a JSON object with several answers."""
    answers = table["rating"].map(lambda text: _json(text, dict) if text[:1] == "{" else {"": text})
    remedy = 'Answers to several questions are JSON, such as {"Q0": 4}.'
    refuse(path, column, answers.isna(), "no JSON object", table["rating"], remedy)
    lists = answers.map(lambda answer: [*answer.values()])
    table = table.assign(rating=lists).explode("rating", ignore_index=True)
    return table.assign(rating=table["rating"].map(_cell))


def _json(text: str, kind: type) -> Any:
    """Return the value of a JSON text if it has this type, or else None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def _with_words(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per word of jsPsych's trials, which have lists of words and times."""
    if not {*SPR} <= {*frame.columns}:
        return frame
    trials = frame[(frame[SPR] != "").all(axis=1)]
    words, times = (trials[name].map(lambda text: _json(text, list)) for name in SPR)
    wrong = (words.str.len() != times.str.len()).reindex(frame.index, fill_value=False)
    remedy = "Both are JSON lists of one length. Correct or delete the trial."
    refuse(path, "spr_rts", wrong, "not one time per word", frame["spr_rts"], remedy)
    numbers = words.map(lambda words: [*range(1, len(words) + 1)])
    trials = trials.drop(columns=["rt", "region"], errors="ignore")
    trials = trials.assign(word=words, rt_ms=times, word_number=numbers)
    lists = ["word", "rt_ms", "word_number"]
    rows = trials.explode(lists, ignore_index=True)
    return rows.assign(**{name: rows[name].map(_cell) for name in lists})


def as_reading_times(path: Path, table: pd.DataFrame, named: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of reading times, whose passages are named after item and condition.

    Sentences without an item are numbered from 1. Raises LingprobError if two readers of a passage
    read different words, or if a reader has two times for a word.
    """
    number = whole(path, named["word_number"], table["word_number"])
    times = numeric(path, named["rt_ms"], table["rt_ms"])
    passage = pd.Series("", index=table.index)
    if "sentence" in table.columns:
        sentences = pd.Series(pd.factorize(table["sentence"])[0] + 1, index=table.index)
        passage = "sentence " + sentences.astype(str)
    if "item" in table.columns:
        item = table["item"]
        several = table["word"].groupby([item, number]).transform("nunique").gt(1)
        if several.any() and "condition" in table.columns:
            item = item + "/" + table["condition"]
        passage = passage.where(table["item"] == "", item)
    refuse(path, "item", passage == "", "no item", None, "Name its column: --column item=YOURS.")
    found = table.rename(columns={"participant": "subject_id"})
    found = found.assign(passage_id=passage, word_index=number - number.min(), rt_ms=times)
    words = found.groupby(["passage_id", "word_index"])["word"].transform("first")
    refuse(
        path, "passage_id", found["word"] != words, "another word than other readers have there",
        found["word"],
        "Name the columns of items and conditions: --column item=..., --column condition=...",
    )  # fmt: skip
    again = found.duplicated(["subject_id", "passage_id", "word_index"])
    refuse(
        path, named["participant"], again, "a second time for one word", found["subject_id"],
        "Name the column that tells participants apart (--column participant=...), or keep fewer "
        "rows (--rows).",
    )  # fmt: skip
    about = [name for name in KEPT[TIMES] if name in table.columns]
    return found[["subject_id", "passage_id", "word_index", "word", "rt_ms", *about]]


def as_ratings(
    path: Path, table: pd.DataFrame, named: Mapping[str, str], values: Mapping[str, str]
) -> pd.DataFrame:
    """Return a table of ratings, one row per judgment."""
    given = table["rating"].map(lambda value: values.get(value, value))
    odd = ~np.isfinite(pd.to_numeric(given, errors="coerce"))
    first = next(iter(given[odd]), "")
    refuse(
        path, named["rating"], odd, "not a number", given,
        f"State a number for each answer, such as --value {first}=1, or keep fewer rows.",
    )  # fmt: skip
    names = ["participant", *(name for name in KEPT[RATINGS] if name in table.columns), "sentence"]
    texts = table[names].astype("string").replace("", pd.NA)
    return texts.assign(rating=pd.to_numeric(given))
