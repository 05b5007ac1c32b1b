"""Fixation durations by subject; 0 or NaN where a word was not fixated."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.alignment import attach_words
from lingprob.reading.parsers import Source
from lingprob.reading.parsers.printed import printed_geco
from lingprob.reading.parsers.tables import number, read, whole

NOT_FIXATED = ("", ".", "NA")


def ucl_first_pass(source: Source) -> pd.DataFrame:
    """Read eyetracking.RT.txt: subj_nr, sent_nr, word_pos, word, RTfirstpass (Frank et al.)."""
    path = source.files[0]
    columns = ["subj_nr", "sent_nr", "word_pos", "word", "RTfirstpass"]
    table = read(path, "\t", columns, encoding="cp1252")
    return pd.DataFrame(
        {
            "subject_id": table["subj_nr"],
            "passage_id": table["sent_nr"],
            "word_index": whole(path, table["word_pos"]) - 1,
            "word": table["word"],
            "rt_ms": number(path, table["RTfirstpass"]),
        }
    )


def provo_first_pass(source: Source) -> pd.DataFrame:
    """Read Provo_Corpus-Eyetracking_Data.csv: the duration of the first run of fixations.

    IA_SKIP marks the words that were passed over at first; their first run comes later and is no
    first pass (Luke & Christianson 2018).
    """
    path = source.files[0]
    columns = ["Participant_ID", "Text_ID", "IA_ID", "IA_LABEL", "IA_FIRST_RUN_DWELL_TIME"]
    table = read(path, ",", [*columns, "IA_SKIP"], quoting=0)
    duration = number(path, table["IA_FIRST_RUN_DWELL_TIME"], missing=NOT_FIXATED)
    times = pd.DataFrame(
        {
            "subject_id": table["Participant_ID"],
            "passage_id": whole(path, table["Text_ID"]).astype(str),
            "number": whole(path, table["IA_ID"]),
            "word": table["IA_LABEL"],
            "rt_ms": duration.where(number(path, table["IA_SKIP"]) == 0),
        }
    )
    return attach_words(times, source.words, str(path))


def provo_motr(source: Source) -> pd.DataFrame:
    """Read reader_N_reading_measures.csv: para_nr, word, word_nr, gaze_duration (Wilcox et al.)."""
    parts = []
    for path in source.files:
        table = read(path, ",", ["para_nr", "word", "word_nr", "gaze_duration"], quoting=0)
        part = pd.DataFrame(
            {
                "subject_id": path.stem.split("_")[1],
                "passage_id": whole(path, table["para_nr"]).astype(str),
                "number": whole(path, table["word_nr"]),
                "word": table["word"],
                "rt_ms": number(path, table["gaze_duration"], missing=NOT_FIXATED),
            }
        )
        parts.append(attach_words(part, source.words, str(path)))
    return pd.concat(parts, ignore_index=True)


def geco_first_pass(source: Source) -> pd.DataFrame:
    """Read MonolingualReadingData (.xlsx or saved as .csv): the duration of the first pass.

    WORD_SKIP marks the words that were passed over at first; the time that later fixations on them
    took is no first pass (as with Provo). The other files are the material and the novel, by which
    a WORD_ID has its place (Cop et al. 2017).
    """
    path, material, novel = source.files
    columns = ["PP_NR", "WORD_ID", "WORD_GAZE_DURATION", "WORD_SKIP"]
    table = read(path, ",", columns, quoting=0)
    place = geco_places(material, novel)
    known = table["WORD_ID"].isin(place.index)
    if known.mean() < 0.9:
        raise LingprobError(
            f"{path}: only {known.mean():.0%} of the words are in {material}, for instance not "
            f"{table.loc[~known, 'WORD_ID'].iloc[0]!r}. Is it the English material?"
        )
    table = table[known]
    duration = number(path, table["WORD_GAZE_DURATION"], missing=NOT_FIXATED)
    return pd.DataFrame(
        {
            "subject_id": table["PP_NR"].to_numpy(),
            "passage_id": place.loc[table["WORD_ID"], "passage_id"].to_numpy(),
            "word_index": place.loc[table["WORD_ID"], "word_index"].to_numpy(),
            "rt_ms": duration.where(number(path, table["WORD_SKIP"]) == 0).to_numpy(),
        }
    )


def geco_total(source: Source) -> pd.DataFrame:
    """Read ppN-relfix-feats.csv, a reader a file: word_id_orig, TRT, 0 where never fixated.

    The first files are the material and the novel, by which a word has its place.
    """
    material, novel, *readers = source.files
    place = geco_places(material, novel)
    parts = []
    for path in readers:
        table = read(path, ",", ["word_id_orig", "TRT"], quoting=0)
        table = table[table["word_id_orig"].isin(place.index)]
        here = place.loc[table["word_id_orig"]]
        parts.append(
            pd.DataFrame(
                {
                    "subject_id": path.name.split("-")[0],
                    "passage_id": here["passage_id"].to_numpy(),
                    "word_index": here["word_index"].to_numpy(),
                    "rt_ms": number(path, table["TRT"]).to_numpy(),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def geco_places(material: Path, novel: Path) -> pd.DataFrame:
    """Return passage_id and word_index by WORD_ID, as the printed words are numbered."""
    words = printed_geco(material, novel)
    words = words[words["word_id"].notna()]
    return words.set_index("word_id")[["passage_id", "word_index"]]
