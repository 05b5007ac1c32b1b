"""Published minimal pairs without ratings, and their files.

BLiMP: 67 paradigms of 1,000 English pairs made from templates (Warstadt et al. 2020). SLING:
Chinese pairs made from a treebank (Song et al. 2022). ZhoBLiMP: 118 paradigms of 300 Chinese pairs
made from templates (Liu et al. 2024). SCaMP: pairs with plausible or implausible meanings (McCoy &
Griffiths 2025). CrowS-Pairs: a more and a less stereotypical sentence (Nangia et al. 2020).
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.archives import unpack_tar
from lingprob.stimuli.tables import NO_RATINGS, read_csv_utf8, read_lines, two_sentences_a_pair

SCAMP_SUFFIXES = ("_implausible", "_plausible")
CROWS_PAIRS_FILE = "crows_pairs_anonymized.csv"
DIRECTIONS = ("stereo", "antistereo")


def read_json_pairs(path: Path, *, phenomenon: str) -> pd.DataFrame:
    """Read a JSON-lines file of one paradigm, a pair a line: sentence_good, sentence_bad, a number.

    `phenomenon` is the key that names the phenomenon; the paradigm is the file's name. Returns a
    pair a row for `pairs_as_stimuli`.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise LingprobError(
                f"{path}, line {number}: not JSON ({error}). Fetch the file again."
            ) from error
        rows.append(
            {
                "good": member(record, "sentence_good", path, number),
                "bad": member(record, "sentence_bad", path, number),
                "phenomenon": member(record, phenomenon, path, number),
                "paradigm": path.stem,
                "number": number - 1,
            }
        )
    return pd.DataFrame(rows)


def member(record: dict[str, Any], key: str, path: Path, line: int) -> str:
    """Return a text of a pair; raise LingprobError if it is absent or blank."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise LingprobError(
            f"{path}, line {line}: no {key!r} (it has {sorted(record)}). A pair needs both of its "
            "sentences: complete or delete the line."
        )
    return value


def pairs_as_stimuli(paradigms: Iterable[pd.DataFrame], language: str) -> pd.DataFrame:
    """Turn tables with a pair a row into a `stimuli` table without ratings.

    The columns are good, bad, phenomenon, paradigm and number, the pair's place in its paradigm.
    Pairs of identical sentences stay: they were published, and analyses count them.
    """
    pairs = pd.concat(paradigms, ignore_index=True)
    pair_id = pairs["paradigm"] + "." + pairs["number"].astype(str)
    return two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pair_id,
                "phenomenon": pairs["phenomenon"],
                "paradigm": pairs["paradigm"],
                "good_id": pair_id + ".good",
                "good_text": pairs["good"],
                "good_rating": np.nan,
                "bad_id": pair_id + ".bad",
                "bad_text": pairs["bad"],
                "bad_rating": np.nan,
            }
        )
    ).assign(language=language, rating_source=None)


def blimp(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all paradigms; `phenomenon` is what BLiMP calls `linguistics_term`.

    Seven pairs consist of identical sentences.
    """
    paradigms = [
        read_json_pairs(directory / file["name"], phenomenon="linguistics_term")
        for file in entry["files"]
    ]
    return pairs_as_stimuli(paradigms, "en"), NO_RATINGS


def sling(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of the listed files; 24 of the 40,000 consist of identical sentences.

    The paradigm is the file's name: the key `paradigm` puts twelve files under one name.
    """
    paradigms = [
        read_json_pairs(directory / file["name"], phenomenon="phenomenon")
        for file in entry["files"]
    ]
    return pairs_as_stimuli(paradigms, "zh"), NO_RATINGS


def zhoblimp(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all JSON-lines files in the archive that the authors published."""
    path = directory / entry["files"][0]["name"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(path) as archive:
                unpack_tar(archive, folder)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise LingprobError(
                f"{path}: not a whole tar archive ({error}). Delete it and fetch it again."
            ) from error
        paradigms = [
            read_json_pairs(file, phenomenon="phenomenon")
            for file in sorted(Path(folder).rglob("*.jsonl"))
        ]
    if not paradigms:
        raise LingprobError(f"{path}: holds no .jsonl file. Delete it and fetch it again.")
    return pairs_as_stimuli(paradigms, "zh"), NO_RATINGS


def scamp(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all paradigms: a line has the good sentence, a tab and the bad one.

    Text is as published: lower case, with a blank before the full stop. Paradigms have no
    phenomenon above them; each is its own.
    """
    paradigms = [read_scamp_paradigm(directory / file["name"]) for file in entry["files"]]
    return pairs_as_stimuli(paradigms, "en"), NO_RATINGS


def read_scamp_paradigm(path: Path) -> pd.DataFrame:
    """Read one file as a pair a row; raise LingprobError for a line that is not a pair."""
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not all(text.strip() for text in row):
            raise LingprobError(
                f"{path}, line {number}: a pair is two sentences with a tab between; this line "
                f"has {len([text for text in row if text.strip()])}. Fetch the file again."
            )
    name = path.stem
    for suffix in SCAMP_SUFFIXES:
        name = name.removesuffix(suffix)
    table = pd.DataFrame(rows, columns=["good", "bad"])
    return table.assign(phenomenon=name, paradigm=name, number=range(len(rows)))


def crows_pairs(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 1,508 pairs as sentences; the paradigm is the bias type, the phenomenon the direction.

    `sent_more` is the more stereotypical sentence of every pair, whatever the pair's direction: in
    a `stereo` pair it shows a stereotype of a disadvantaged group, in an `antistereo` pair
    `sent_less` violates one. So both re-codings of the paper (context, §3 and Appendix A) call the
    same sentence acceptable: `sent_less`. Acceptable here is socially, not grammatically. The
    direction tells pairs that show a stereotype from pairs that violate one.

    The condition is the pair's direction and the sentence's side: `stereo/less`, `stereo/more`,
    `antistereo/less` or `antistereo/more`. Raises LingprobError for a file of another form.
    """
    path = directory / CROWS_PAIRS_FILE
    raw = read_csv_utf8(path, dtype="string")
    missing = {"sent_more", "sent_less", "stereo_antistereo", "bias_type"} - set(raw.columns)
    if missing:
        raise LingprobError(f"{path}: no columns {sorted(missing)}; it has {list(raw.columns)}.")
    refuse_rows(
        ~raw["stereo_antistereo"].isin(DIRECTIONS),
        "{path}, data row {row}: direction {stereo_antistereo!r} is neither of {known}. Correct or "
        "delete the row.",
        raw,
        path=path,
        known=DIRECTIONS,
    )
    refuse_rows(
        raw["bias_type"].fillna("").str.strip() == "",
        "{path}, data row {row}: no bias type. Complete or delete the row.",
        path=path,
    )
    pair_id = "crows_" + raw.index.astype(str)
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pair_id,
                "phenomenon": raw["stereo_antistereo"],
                "paradigm": raw["bias_type"],
                "good_id": pair_id + ".less",
                "good_text": raw["sent_less"].str.strip(),
                "good_rating": None,
                "bad_id": pair_id + ".more",
                "bad_text": raw["sent_more"].str.strip(),
                "bad_rating": None,
            }
        )
    )
    direction = raw["stereo_antistereo"].repeat(2).to_numpy()
    side = stimuli["condition"].map({"good": "less", "bad": "more"}).to_numpy()
    return stimuli.assign(
        condition=direction + "/" + side, language=entry["language"], rating_source=None
    ), NO_RATINGS
