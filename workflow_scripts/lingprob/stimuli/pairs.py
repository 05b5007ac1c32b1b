"""Parse published minimal pairs without ratings.

BLiMP: 67 paradigms of 1,000 English pairs made from templates (Warstadt et al. 2020). SLING:
Chinese pairs made from a treebank (Song et al. 2022). ZhoBLiMP: 118 paradigms of 300 Chinese pairs
made from templates (Liu et al. 2024). SCaMP: pairs with plausible or implausible meanings (McCoy &
Griffiths 2025). CrowS-Pairs: a more and a less stereotypical sentence (Nangia et al. 2020).
"""

import json
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from lingprob.stimuli.tables import (
    NO_RATINGS,
    Entry,
    Parsed,
    pairs_as_sentences,
    read_csv_utf8,
    read_lines,
)


def read_json_pairs(path: Path) -> pd.DataFrame:
    """Return good, bad, phenomenon and paradigm of a JSON-lines file with one pair per line.

    The paradigm is the file's name, because SLING's key `paradigm` puts twelve files under one.
    """
    names = {"sentence_good": "good", "sentence_bad": "bad", "linguistics_term": "phenomenon"}
    table = pd.DataFrame([json.loads(line) for line in read_lines(path)]).rename(columns=names)
    return table[["good", "bad", "phenomenon"]].assign(paradigm=path.stem)


def as_stimuli(paradigms: Iterable[pd.DataFrame], entry: Entry) -> Parsed:
    """Return a `stimuli` table without ratings from one table of pairs per paradigm.

    The tables have good, bad, phenomenon and paradigm. Pairs are numbered from 0 in each table.
    Pairs of identical sentences are kept, because analyses count them.
    """
    pairs = pd.concat(paradigms)
    pair_id = pairs["paradigm"] + "." + pairs.index.astype(str)
    pairs = pairs.assign(pair_id=pair_id).reset_index(drop=True)
    return pairs_as_sentences(pairs, entry["language"]), NO_RATINGS


def json_pairs(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of the JSON-lines files of BLiMP or SLING.

    In 7 pairs of BLiMP and in 24 of SLING, both sentences are the same.
    """
    return as_stimuli((read_json_pairs(directory / file["name"]) for file in entry["files"]), entry)


def zhoblimp(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of all JSON-lines files in the archive that the authors published."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(directory / entry["files"][0]["name"]) as archive:
            for member in archive:
                stream, name = archive.extractfile(member), Path(member.name)
                if stream and name.suffix == ".jsonl":
                    Path(folder, name.name).write_bytes(stream.read())
        return as_stimuli(map(read_json_pairs, sorted(Path(folder).iterdir())), entry)


def scamp(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the pairs of all paradigms. A line has the good sentence, a tab and the bad one.

    Text is as published: lower case, with a space before the full stop. Paradigms belong to no
    phenomenon, so each is its own.
    """
    return as_stimuli((read_scamp(directory / file["name"]) for file in entry["files"]), entry)


def read_scamp(path: Path) -> pd.DataFrame:
    """Return good, bad, phenomenon and paradigm of one file of SCaMP."""
    name = path.stem.removesuffix("_implausible").removesuffix("_plausible")
    table = pd.DataFrame([line.split("\t") for line in read_lines(path)], columns=["good", "bad"])
    return table.assign(phenomenon=name, paradigm=name)


def crows_pairs(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return 1,508 pairs as sentences. Paradigms are bias types, phenomena are directions.

    `sent_more` is the more stereotypical sentence of every pair, in both directions: in a `stereo`
    pair it shows a stereotype of a disadvantaged group, and in an `antistereo` pair `sent_less`
    violates one. So both re-codings of the paper (context, §3 and Appendix A) call the same
    sentence acceptable: `sent_less`. Here, acceptability is social and not grammatical.

    The condition is the pair's direction and the sentence's side: `stereo/less`, `stereo/more`,
    `antistereo/less` or `antistereo/more`.
    """
    raw = read_csv_utf8(directory / "crows_pairs_anonymized.csv", dtype="string")
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
