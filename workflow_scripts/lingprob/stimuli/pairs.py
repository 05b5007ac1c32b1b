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

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.archives import unpack_tar
from lingprob.stimuli.tables import (
    NO_RATINGS,
    Entry,
    Parsed,
    pairs_as_sentences,
    read_csv_utf8,
    read_lines,
)

SCAMP_SUFFIXES = ("_implausible", "_plausible")
CROWS_PAIRS_FILE = "crows_pairs_anonymized.csv"
DIRECTIONS = ("stereo", "antistereo")


def read_json_pairs(path: Path, phenomenon: str) -> pd.DataFrame:
    """Read a JSON-lines file of one paradigm, one pair per line.

    `phenomenon` is the key that names the phenomenon. The paradigm is the file's name. Raises
    LingprobError that names a line that is no pair.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise LingprobError(
                f"{path}, line {number}: not JSON ({error}). Fetch the file again."
            ) from error
        keys = {"good": "sentence_good", "bad": "sentence_bad", "phenomenon": phenomenon}
        for key in keys.values():
            value = record.get(key)
            if not isinstance(value, str) or not value.strip():
                raise LingprobError(
                    f"{path}, line {number}: no {key!r} (it has {sorted(record)}). A pair needs "
                    "both of its sentences: complete or delete the line."
                )
        rows.append({name: record[key] for name, key in keys.items()})
    return pd.DataFrame(rows).assign(paradigm=path.stem)


def as_stimuli(paradigms: Iterable[pd.DataFrame], language: str) -> Parsed:
    """Turn tables of one paradigm's pairs into a `stimuli` table without ratings.

    The columns are good, bad, phenomenon and paradigm. Pairs are numbered from 0 in each. Pairs of
    identical sentences stay, because analyses count them.
    """
    pairs = pd.concat(paradigms)
    pair_id = pairs["paradigm"] + "." + pairs.index.astype(str)
    pairs = pairs.assign(pair_id=pair_id).reset_index(drop=True)
    return pairs_as_sentences(pairs, language), NO_RATINGS


def blimp(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of all paradigms. `phenomenon` is BLiMP's `linguistics_term`.

    Seven pairs consist of identical sentences.
    """
    files = [directory / file["name"] for file in entry["files"]]
    return as_stimuli([read_json_pairs(file, "linguistics_term") for file in files], "en")


def sling(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of the listed files. 24 of the 40,000 consist of identical sentences.

    The paradigm is the file's name, because the key `paradigm` puts twelve files under one name.
    """
    files = [directory / file["name"] for file in entry["files"]]
    return as_stimuli([read_json_pairs(file, "phenomenon") for file in files], "zh")


def zhoblimp(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
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
        files = sorted(Path(folder).rglob("*.jsonl"))
        paradigms = [read_json_pairs(file, "phenomenon") for file in files]
    if not paradigms:
        raise LingprobError(f"{path}: no .jsonl file in it. Delete it and fetch it again.")
    return as_stimuli(paradigms, "zh")


def scamp(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of all paradigms. A line has the good sentence, a tab and the bad one.

    Text is as published: lower case, with a space before the full stop. Paradigms belong to no
    phenomenon, so each is its own.
    """
    return as_stimuli([read_scamp(directory / file["name"]) for file in entry["files"]], "en")


def read_scamp(path: Path) -> pd.DataFrame:
    """Read one file, one row per pair. Raises LingprobError for a line that is not a pair."""
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not all(text.strip() for text in row):
            raise LingprobError(
                f"{path}, line {number}: a pair is two sentences with a tab between, and this line "
                f"has {len([text for text in row if text.strip()])}. Fetch the file again."
            )
    name = path.stem
    for suffix in SCAMP_SUFFIXES:
        name = name.removesuffix(suffix)
    return pd.DataFrame(rows, columns=["good", "bad"]).assign(phenomenon=name, paradigm=name)


def crows_pairs(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return 1,508 pairs as sentences. Paradigms are bias types, phenomena are directions.

    `sent_more` is the more stereotypical sentence of every pair, in both directions: in a `stereo`
    pair it shows a stereotype of a disadvantaged group, and in an `antistereo` pair `sent_less`
    violates one. So both re-codings of the paper (context, §3 and Appendix A) call the same
    sentence acceptable: `sent_less`. Acceptable here is socially, not grammatically.

    The condition is the pair's direction and the sentence's side: `stereo/less`, `stereo/more`,
    `antistereo/less` or `antistereo/more`. Raises LingprobError for a file of another form.
    """
    path = directory / CROWS_PAIRS_FILE
    raw = read_csv_utf8(path, dtype="string")
    missing = {"sent_more", "sent_less", "stereo_antistereo", "bias_type"} - set(raw.columns)
    if missing:
        raise LingprobError(f"{path}: no columns {sorted(missing)}. It has {list(raw.columns)}.")
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
    pairs = pd.DataFrame(
        {
            "pair_id": pair_id,
            "phenomenon": raw["stereo_antistereo"],
            "paradigm": raw["bias_type"],
            "good": raw["sent_less"].str.strip(),
            "good_id": pair_id + ".less",
            "bad": raw["sent_more"].str.strip(),
            "bad_id": pair_id + ".more",
        }
    )
    stimuli = pairs_as_sentences(pairs, entry["language"])
    side = stimuli["condition"].map({"good": "less", "bad": "more"})
    return stimuli.assign(condition=stimuli["phenomenon"] + "/" + side), NO_RATINGS
