"""Self-paced reading and maze times: by subject, as means over readers, or simulated."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io import own_tables
from lingprob.reading.alignment import attach_words, check_words
from lingprob.reading.tables import READER, Source, number, read, whole

# The stories of A-maze by name (Boyce & Levy 2023), numbered as in Natural Stories.
STORIES = (
    "Boar", "Aqua", "MatchstickSeller", "KingOfBirds", "Elvis", "MrSticky", "HighSchool", "Roswell",
    "Tulips", "Tourettes",
)  # fmt: skip
# Typing errors of the self-paced study, as its README and its texts have them.
UCL_TYPING_ERRORS = {
    "Sott got": "Scott got",
    "staring that the": "staring at the",
    "Margeret": "Margaret",
    "nan of the": "None of the",
}
SECONDS = 20.0  # what no median of reading times in milliseconds is below
REMEDY = "docs/own_data.md lists the columns."
UCL_WORD = re.compile(r"^  Word \d+: '(.*)'  <<(not fixated|[\d.]+)>>", re.M)
UCL_TRIAL = re.compile(r"^Trial \d+:$", re.M)
SUBJECTS = 8


def natural_stories(source: Source) -> pd.DataFrame:
    """Read processed_RTs.tsv: WorkerId, correct, item, zone, RT, word (Futrell et al. 2021).

    Releases before May 2025 give a zone the time of the word after it: `zone_shift: 1` mends it.
    The words are checked where the zones are.
    """
    path = source.files[0]
    table = read(path, "\t", ["WorkerId", "item", "zone", "RT", "correct", "word"])
    times = pd.DataFrame(
        {
            "subject_id": table["WorkerId"],
            "passage_id": table["item"],
            "word_index": whole(path, table["zone"]) - 1,
            "word": table["word"],
            "rt_ms": number(path, table["RT"], missing=("", "NA")),
            "correct": number(path, table["correct"]),
        }
    )
    return shifted(times, source.words, source.entry.get("zone_shift", 0), str(path))


def brown_spr(source: Source) -> pd.DataFrame:
    """Read brown_spr.csv: subject, text_id, text_pos (both from 0), word, time (Smith & Levy 2013).

    Its texts are numbered in the order of ours.
    """
    path = source.files[0]
    columns = ["subject", "text_id", "text_pos", "word", "time"]
    table = read(path, ",", columns, quoting=0)
    names = list(dict.fromkeys(source.words["passage_id"]))
    text = whole(path, table["text_id"])
    if text.min() < 0 or text.max() >= len(names):
        raise LingprobError(
            f"{path}, column 'text_id': {text.min()} to {text.max()}, but there are {len(names)} "
            "texts, numbered from 0."
        )
    times = pd.DataFrame(
        {
            "subject_id": table["subject"],
            "passage_id": np.array(names, dtype=object)[text],
            "number": whole(path, table["text_pos"]),
            "word": table["word"],
            "rt_ms": number(path, table["time"], missing=("", "NA")),
        }
    )
    return attach_words(times, source.words, str(path))


def natural_stories_maze(source: Source) -> pd.DataFrame:
    """Read rt, wlen, subject, docid, sentid (from 0 through all stories), sentpos (from 1).

    Its sentences are ours but for two that it splits, and first and last words have no times: a
    sentence is as long as its last time and one word more, and one without any has what is left of
    its story. The lengths of the words (wlen) are checked.
    """
    path = source.files[0]
    columns = ["rt", "wlen", "subject", "docid", "sentid", "sentpos"]
    table = read(path, "\t", columns)
    story = table["docid"].map({name: str(place) for place, name in enumerate(STORIES, start=1)})
    refuse_rows(story.isna(), "{path}: unknown story {docid!r}.", table, path=path)
    sentence, position = whole(path, table["sentid"]), whole(path, table["sentpos"])
    starts = _sentence_starts(story, sentence, position, source.words, path)
    times = pd.DataFrame(
        {
            "subject_id": table["subject"],
            "passage_id": story,
            "word_index": sentence.map(starts) + position - 1,
            "rt_ms": number(path, table["rt"]),
            "letters": whole(path, table["wlen"]),
        }
    )
    joined = times.merge(source.words, on=["passage_id", "word_index"], how="left")
    refuse_rows(
        joined["word"].str.len() != joined["letters"],
        "{path}: story {passage_id}, word {word_index} has {letters} letters there and is {word!r} "
        "in the text, as with {count} rows.",
        joined,
        path=path,
    )
    return times.drop(columns="letters")


def ucl(source: Source) -> pd.DataFrame:
    """Read the self-paced trials in prompts.jsonl.zip: a subject a line (Frank et al. 2013)."""
    path = source.files[0]
    texts = source.words.groupby("passage_id", sort=False)["word"].agg(" ".join)
    passages = {text: passage for passage, text in texts.items()}
    subjects: list[str] = []
    found: list[str] = []
    index: list[int] = []
    times: list[float] = []
    try:
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("prompts.jsonl").decode().splitlines()
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise LingprobError(f"{path}: no prompts.jsonl in it ({error}). Fetch it again.") from error
    for line in lines:
        record = json.loads(line)
        if not record["experiment"].endswith("self_paced_reading"):
            continue
        for trial in UCL_TRIAL.split(record["text"])[1:]:
            words_read = UCL_WORD.findall(trial)
            passage = passages.get(_ucl_text([word for word, _ in words_read]))
            if passage is None:
                raise LingprobError(
                    f"{path}: subject {record['participant_id']} read "
                    f"{' '.join(word for word, _ in words_read)!r}, which is none of the sentences."
                )
            subjects += [str(record["participant_id"])] * len(words_read)
            found += [passage] * len(words_read)
            index += range(len(words_read))
            times += [float(time) for _, time in words_read]
    return pd.DataFrame(
        {"subject_id": subjects, "passage_id": found, "word_index": index, "rt_ms": times}
    )


def table(source: Source) -> pd.DataFrame:
    """Read a table of the user's own: subject_id, passage_id, word_index (from 0), rt_ms; word.

    Of one of `own_tables.FORMATS` by the file's name; `word` is optional and checked. Times must be
    milliseconds: half of them below SECONDS are refused as seconds.
    """
    path = source.files[0]
    given = own_tables.read_frame(path)
    names = ["subject_id", "passage_id"]
    own_tables.need_columns(path, given, [*names, "word_index", "rt_ms"], REMEDY)
    frame = pd.DataFrame()
    for column in [*names, *({"word"} & set(given.columns))]:
        frame[column] = own_tables.text_of(path, column, given[column])
        own_tables.refuse(path, column, frame[column].isna(), "no value")
    frame["word_index"] = own_tables.whole(path, "word_index", given["word_index"])
    frame["rt_ms"] = own_tables.numeric(path, "rt_ms", given["rt_ms"], nullable=True)
    own_tables.refuse(path, "rt_ms", frame["rt_ms"] < 0, "below 0", frame["rt_ms"])
    middle = frame.loc[frame["rt_ms"] > 0, "rt_ms"].median()
    if middle < SECONDS:
        raise LingprobError(
            f"{path}, column 'rt_ms': half of the times are below {middle:g} ms. Are they seconds "
            "or logarithms? Seconds are to be multiplied by 1000, and logarithms undone."
        )
    return frame.astype(dict.fromkeys(frame.columns.difference(["word_index", "rt_ms"]), object))


def shifted(times: pd.DataFrame, words: pd.DataFrame, by: int, where: str) -> pd.DataFrame:
    """Check the words of times (column `word`, left out then) and move the times on by some words.

    Those that come to stand beyond the end of their passage are left out.
    """
    check_words(times, words, where)
    length = words.groupby("passage_id")["word_index"].max() + 1
    moved = times.drop(columns="word").assign(word_index=times["word_index"] + by)
    return moved[moved["word_index"] < moved["passage_id"].map(length)]


def _sentence_starts(
    story: pd.Series, sentence: pd.Series, position: pd.Series, words: pd.DataFrame, path: Path
) -> dict[int, int]:
    """Return the word (from 0 in its story) at which each sentence begins."""
    lengths = position.groupby(sentence).max() + 1
    sizes = words.groupby("passage_id").size()
    starts: dict[int, int] = {}
    stories = story.groupby(sentence).first()
    for name in sorted(stories.unique(), key=int):
        numbers = stories.index[stories == name]
        first = max(starts, default=-1) + 1
        every = range(min(first, numbers.min()), numbers.max() + 1)
        missing = [place for place in every if place not in lengths.index]
        left = int(sizes[name] - sum(lengths.get(place, 0) for place in every))
        if len(missing) > 1 or left < 0 or (left > 0) != bool(missing):
            raise LingprobError(
                f"{path}: the sentences of story {name} have {sizes[name] - left} words, the text "
                f"{sizes[name]}, and {len(missing)} sentences have no times. Another version?"
            )
        begin = 0
        for place in every:
            starts[place] = begin
            begin += int(lengths.get(place, left))
    return starts


def _ucl_text(words_read: Sequence[str]) -> str:
    text = " ".join(words_read)
    for wrong, right in UCL_TYPING_ERRORS.items():
        text = text.replace(wrong, right)
    return text


def natural_stories_means(source: Source) -> pd.DataFrame:
    """Read processed_wordinfo.tsv: word, zone, item, meanItemRT (Futrell et al. 2021).

    A zone of the release before May 2025 has the time of the word after it: `zone_shift: 1` moves
    it there, so that the first word of a story has none.
    """
    path = source.files[0]
    table = read(path, "\t", ["word", "zone", "item", "meanItemRT"])
    times = pd.DataFrame(
        {
            "subject_id": READER,
            "passage_id": table["item"],
            "word_index": whole(path, table["zone"]) - 1,
            "word": table["word"],
            "rt_ms": number(path, table["meanItemRT"]),
        }
    )
    return shifted(times, source.words, source.entry.get("zone_shift", 0), str(path))


def brown_spr_means(source: Source) -> pd.DataFrame:
    """Read docid, sentid, sentpos, word, mean_rt (empty for first words; Smith & Levy 2013)."""
    path = source.files[0]
    table = read(path, "\t", ["docid", "word", "mean_rt"])
    return pd.DataFrame(
        {
            "subject_id": READER,
            "passage_id": table["docid"],
            "word_index": table.groupby("docid").cumcount(),
            "word": table["word"],
            "rt_ms": number(path, table["mean_rt"]),
        }
    )


def demo_reading_times(source: Source) -> pd.DataFrame:
    """Simulate self-paced times (ms): longer for long words and for words that the text has once.

    Readers differ in pace and in how much a letter costs them; noise is log-normal.
    """
    words = source.words
    random = np.random.default_rng(source.seed)
    letters = words["word"].str.len().to_numpy(float)
    rare = (words.groupby(words["word"].str.lower())["word"].transform("size") == 1).to_numpy(float)
    parts = []
    for reader in range(1, SUBJECTS + 1):
        pace, slope = random.normal(250, 40), random.normal(10, 4)
        mean = pace + slope * letters + 40 * rare + 20 * np.append(0, rare[:-1])
        times = words[["passage_id", "word_index"]].assign(
            subject_id=f"s{reader}", rt_ms=mean * random.lognormal(0, 0.2, len(words))
        )
        parts.append(times)
    return pd.concat(parts, ignore_index=True)
