"""Parsers of self-paced reading and maze times (see `reading.tables` for arguments and results)."""

import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.reading.tables import OTHER, READER, Source, attach_words, check_words, read_times

# The stories of A-maze by name (Boyce & Levy 2023), numbered as in Natural Stories.
STORIES = (
    "Boar", "Aqua", "MatchstickSeller", "KingOfBirds", "Elvis", "MrSticky", "HighSchool", "Roswell",
    "Tulips", "Tourettes",
)  # fmt: skip
# Typing errors of the self-paced study, which its README and its texts have.
UCL_TYPING_ERRORS = {
    "Sott got": "Scott got",
    "staring that the": "staring at the",
    "Margeret": "Margaret",
    "nan of the": "None of the",
}
UCL_WORD = re.compile(r"^  Word \d+: '(.*)'  <<([\d.]+)>>", re.M)
UCL_TRIAL = re.compile(r"^Trial \d+:$", re.M)
SUBJECTS = 8  # simulated


def natural_stories(source: Source) -> pd.DataFrame:
    """Return the times of each subject in processed_RTs.tsv (Futrell et al. 2021), `shifted`."""
    columns = {"subject_id": "WorkerId", "passage_id": "item", "number": "zone", "word": "word",
               "rt_ms": "RT", "correct": "correct"}  # fmt: skip
    return shifted(read_times(source.files[0], "\t", columns), source)


def natural_stories_means(source: Source) -> pd.DataFrame:
    """Return the mean times in processed_wordinfo.tsv (Futrell et al. 2021), `shifted`."""
    columns = {"word": "word", "number": "zone", "passage_id": "item", "rt_ms": "meanItemRT"}
    times = read_times(source.files[0], "\t", columns)
    return shifted(times.assign(subject_id=READER), source)


def shifted(times: pd.DataFrame, source: Source) -> pd.DataFrame:
    """Replace `number` (the word's zone, from 1) by word_index, plus the entry's `zone_shift`.

    Releases of Natural Stories before May 2025 give a zone the time of the next word, which
    `zone_shift: 1` corrects. The column `word` is compared with the text before times are moved.
    Times that would move beyond the end of their passage are left out.
    """
    words, by = source.words, source.entry.get("zone_shift", 0)
    times = times.assign(word_index=times.pop("number") - 1)
    check_words(times, words, str(source.files[0]))
    length = words.groupby("passage_id")["word_index"].max() + 1
    moved = times.drop(columns="word").assign(word_index=times["word_index"] + by)
    return moved[moved["word_index"] < moved["passage_id"].map(length)]


def brown_spr(source: Source) -> pd.DataFrame:
    """Return the times of each subject in brown_spr.csv (Smith & Levy 2013).

    text_id numbers the passages of the `words` table from 0, in their order.
    """
    path = source.files[0]
    columns = {"subject_id": "subject", "sentence": "text_id", "number": "text_pos",
               "word": "word", "rt_ms": "time"}  # fmt: skip
    times = read_times(path, ",", columns, quoting=0)
    names, text = source.words["passage_id"].unique(), times.pop("sentence")
    if text.max() >= len(names):
        raise LingprobError(
            f"{path}, column 'text_id': {text.min()} to {text.max()}, but there are {len(names)}. "
            + OTHER
        )
    times["passage_id"] = names[text]
    return attach_words(times, source.words, str(path))


def brown_spr_means(source: Source) -> pd.DataFrame:
    """Return the mean times in a table with docid, word and mean_rt (Smith & Levy 2013)."""
    columns = {"passage_id": "docid", "word": "word", "rt_ms": "mean_rt"}
    times = read_times(source.files[0], "\t", columns)
    index = times.groupby("passage_id").cumcount()
    return times.assign(subject_id=READER, word_index=index)


def natural_stories_maze(source: Source) -> pd.DataFrame:
    """Return the A-maze times of each subject in Natural Stories (Boyce & Levy 2023).

    Columns of the file: rt, wlen, subject, docid, sentid (from 0 through all stories) and sentpos
    (from 1). Its sentences are those of the text, except for two that it splits. First and last
    words have no times. So a sentence has one word after its last position, and a sentence without
    any times has the remaining words of its story. Word lengths (wlen) must fit the text.
    """
    path = source.files[0]
    columns = {"subject_id": "subject", "passage_id": "docid", "sentence": "sentid",
               "position": "sentpos", "rt_ms": "rt", "letters": "wlen"}  # fmt: skip
    times = read_times(path, "\t", columns)
    story = times["passage_id"].map({name: str(n) for n, name in enumerate(STORIES, start=1)})
    refuse_rows(story.isna(), "{path}: unknown story {passage_id!r}.", times, path=path)
    times["passage_id"] = story
    starts = _sentence_starts(times, source.words, path)
    times["word_index"] = times.pop("sentence").map(starts) + times.pop("position") - 1
    joined = times.merge(source.words, on=["passage_id", "word_index"], how="left")
    refuse_rows(
        joined["word"].str.len() != joined["letters"],
        "{path}: story {passage_id}, word {word_index} has {letters} letters there and is {word!r} "
        "in the text, as with {count} rows.",
        joined,
        path=path,
    )
    return times.drop(columns="letters")


def _sentence_starts(times: pd.DataFrame, words: pd.DataFrame, path: Path) -> dict[int, int]:
    """Return the index of the first word of each sentence in its story, by sentence number."""
    by_sentence = times.groupby("sentence")
    lengths, stories = by_sentence["position"].max() + 1, by_sentence["passage_id"].first()
    sizes = words.groupby("passage_id").size()
    starts: dict[int, int] = {}
    for name in sorted(stories.unique(), key=int):
        numbers = stories.index[stories == name]
        first = max(starts, default=-1) + 1
        every = range(min(first, numbers.min()), numbers.max() + 1)
        missing = [place for place in every if place not in lengths.index]
        left = int(sizes[name] - sum(lengths.get(place, 0) for place in every))
        if len(missing) > 1 or left < 0 or (left > 0) != bool(missing):
            raise LingprobError(
                f"{path}: the sentences of story {name} have {sizes[name] - left} words, the text "
                f"{sizes[name]}, and {len(missing)} sentences have no times. {OTHER}"
            )
        begin = 0
        for place in every:
            starts[place] = begin
            begin += int(lengths.get(place, left))
    return starts


def ucl(source: Source) -> pd.DataFrame:
    """Return the self-paced times of the UCL corpus (Frank et al. 2013).

    The file prompts.jsonl.zip has one line per subject with the text of all trials.
    """
    path = source.files[0]
    texts = source.words.groupby("passage_id", sort=False)["word"].agg(" ".join)
    passages = {text: passage for passage, text in texts.items()}
    try:
        with zipfile.ZipFile(path) as archive:
            lines = archive.read("prompts.jsonl").decode().splitlines()
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise LingprobError(f"{path}: no prompts.jsonl in it ({error}). Download it.") from error
    rows = []
    for record in map(json.loads, lines):
        if not record["experiment"].endswith("self_paced_reading"):
            continue
        subject = str(record["participant_id"])
        for trial in UCL_TRIAL.split(record["text"])[1:]:
            found = UCL_WORD.findall(trial)
            text = " ".join(word for word, _ in found)
            for wrong, right in UCL_TYPING_ERRORS.items():
                text = text.replace(wrong, right)
            if text not in passages:
                raise LingprobError(
                    f"{path}: subject {subject} read {text!r}, which is none of the sentences."
                )
            passage = passages[text]
            rows += [(subject, passage, index, float(t)) for index, (_, t) in enumerate(found)]
    return pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"])


def demo_reading_times(source: Source) -> pd.DataFrame:
    """Return simulated self-paced times (ms) of eight readers.

    The times are longer for long words and for words that occur once in the text. Readers differ in
    pace and in the time per letter. Noise is log-normal.
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
