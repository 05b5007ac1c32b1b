"""Reproduce published fits of twelve models to Natural Stories, and correct their two errors.

Kuribayashi, Oseki & Baldwin regress the mean reading time of a word on its surprisal, with the
surprisals, lengths and frequencies of the two words before it. ΔLogLik is the gain in the
log-likelihood of the fitted data from the word's own surprisal. The published run joined the
surprisals of the words before in the string order of the story numbers (1, 10, 2, ...), so most
words got another story's. In the release of mean times, a word has the time of the next.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.table_files import need_columns
from lingprob.papers.leakage.trends import PUBLISHED
from lingprob.reading.imported import read_story_json
from lingprob.reading.tables import READER
from lingprob.stats.least_squares import fit_least_squares
from lingprob.stats.resampling import sum_interval

CONVENTIONS = {
    "compat": "as published: previous surprisals in string order of the stories",
    "numeric_order": "previous surprisals of the same story",
    "realigned": "the same, and times moved to the words that they belong to",
    "realigned_all": "realigned, and against a regression without any surprisal",
}
CONTROLS = [
    f"{name}{lag}" for lag in ("", "_prev_1", "_prev_2") for name in ("length", "log_gmean_freq")
]
PREVIOUS = ["surprisal_prev_1", "surprisal_prev_2"]
COLUMNS = ["article", "zone", "time", "is_first", "is_last", "sent_id", *CONTROLS]
RESULT = re.compile(r"^(delta loglik|perplexity|No\. Observations):\s+([\d.]+)", re.M)


def read_annotated_means(path: Path) -> pd.DataFrame:
    """Return COLUMNS of all.txt.annotation.filtered.averaged_rt.csv, sorted by story and word.

    Raises LingprobError if it lacks a column.
    """
    table = pd.read_csv(path, index_col=0)
    need_columns(path, table, COLUMNS, "Is it another file?")
    return table[COLUMNS].sort_values(["article", "zone"], ignore_index=True)


def read_published_result(path: Path) -> dict[str, float]:
    """Return `delta loglik`, `perplexity` and `No. Observations` of a published .result file."""
    found = {name: float(value) for name, value in RESULT.findall(path.read_text(encoding="utf-8"))}
    if len(found) < 3:
        raise LingprobError(f"{path}: no {RESULT.pattern!r} in it. Fetch it again.")
    return found


def published_deltas(
    means: pd.DataFrame,
    files: Mapping[str, tuple[Path, Path]],
    surprisals: Mapping[str, pd.DataFrame],
    *,
    bootstrap: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a `published_delta` table, and the `reading_gains` of its sentences.

    Args:
        means: the annotated means (`read_annotated_means`).
        files: paths of each published model's surprisals by story (nats) and of its result.
        surprisals: `surprisal` tables (bits) of other models, which have no row with the
            convention `compat`.
        bootstrap, seed: number and seed of the resamples of sentences for the intervals.
    """
    nats = {model: _published_nats(means, path) for model, (path, _) in files.items()}
    nats |= {model: _nats(means, table) for model, table in surprisals.items()}
    rows, gains = [], []
    for model, found in nats.items():
        for convention in CONVENTIONS:
            published = {}
            if convention == "compat":
                if model not in files:
                    continue
                published = read_published_result(files[model][1])
            row, parts = _delta(means, found, convention, bootstrap, seed)
            row["published_delta"] = published.get("delta loglik")
            row["published_perplexity"] = published.get("perplexity")
            rows.append({"model": model, **row, "scale": scale})
            gains.append(parts.assign(model=model, convention=convention))
    parts = pd.concat(gains, ignore_index=True)
    return pd.DataFrame(rows), parts.assign(dataset=PUBLISHED, of="delta", subject=READER)


def _delta(
    means: pd.DataFrame, nats: pd.Series, convention: str, bootstrap: int, seed: int
) -> tuple[dict[str, object], pd.DataFrame]:
    """Return a model's row of `published_delta`, and its rows (item, nats, n) by sentence."""
    frame = means.assign(**_lagged(means, nats, convention == "compat"))
    if convention.startswith("realigned"):
        frame["time"] = frame.groupby("article")["time"].shift().fillna(0.0)
    kept = frame[~frame["is_first"] & ~frame["is_last"] & (frame["time"] > 0)]
    known = [] if convention == "realigned_all" else PREVIOUS
    baseline = fit_least_squares(kept, "time", [*known, *CONTROLS])
    full = fit_least_squares(kept, "time", ["surprisal", *PREVIOUS, *CONTROLS])
    gains = full.log_likelihoods(kept) - baseline.log_likelihoods(kept)
    sentence = kept["article"].astype(str) + "/" + kept["sent_id"].astype(str)
    by_sentence = pd.Series(gains).groupby(sentence.to_numpy()).agg(nats="sum", n="size")
    low, high = sum_interval(by_sentence[["nats"]].to_numpy().T, bootstrap, seed)
    row = {
        "convention": convention,
        "description": CONVENTIONS[convention],
        "delta": full.log_likelihood - baseline.log_likelihood,
        "delta_low": low,
        "delta_high": high,
        "word_perplexity": float(np.exp(kept["surprisal"].mean())),
        "n": len(kept),
    }
    return row, by_sentence.rename_axis("item").reset_index()


def _lagged(means: pd.DataFrame, nats: pd.Series, string_order: bool) -> dict[str, np.ndarray]:
    """Return the surprisals (nats) of each word and of the two before it, by column, (n,) each.

    At the beginning of a sentence, the mean over all words replaces the surprisal of a missing
    word. If `string_order`, stories are in the published, wrong order for the words before.
    """
    by_sentence = nats.groupby([means["article"], means["sent_id"]])
    order = np.arange(len(nats))
    if string_order:
        order = np.argsort(means["article"].astype(str).to_numpy(str), kind="stable")
    columns = {"surprisal": nats.to_numpy()}
    for lag, name in enumerate(PREVIOUS, start=1):
        before = by_sentence.shift(lag).fillna(float(nats.to_numpy().mean()))
        columns[name] = before.to_numpy()[order]
    return columns


def _published_nats(means: pd.DataFrame, path: Path) -> pd.Series:
    """Return the published surprisals (nats) of each row of the means, (n,).

    Raises LingprobError if the sentences do not have as many words in both files.
    """
    stories = read_story_json(path)
    parts = [part for story in means["article"].unique() for part in stories.get(str(story), [])]
    if [*map(len, parts)] != means.groupby(["article", "sent_id"]).size().tolist():
        raise LingprobError(
            f"{path}: its sentences are not those of the mean times. Fetch the file again."
        )
    return pd.Series(np.concatenate(parts))


def _nats(means: pd.DataFrame, surprisals: pd.DataFrame) -> pd.Series:
    """Return the surprisals (nats) of a `surprisal` table for each row of the means, (n,).

    A first word without a surprisal gets the mean, because no regression uses it.
    """
    nats = surprisals["surprisal"].to_numpy(float) * np.log(2)
    nats = np.where(np.isnan(nats), np.nanmean(nats), nats)
    keys = [surprisals["passage_id"].astype(int), surprisals["word_index"]]
    wanted = pd.MultiIndex.from_arrays([means["article"], means["zone"] - 1])
    return (
        pd.Series(nats, index=pd.MultiIndex.from_arrays(keys))
        .reindex(wanted)
        .reset_index(drop=True)
    )
