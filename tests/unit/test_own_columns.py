"""Every optional column of a user's sentences with every target: it ends well, or says why."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.context.judgments import judge
from lingprob.context.names import NO_PREFIX
from lingprob.context.sampling import Source, sample_contexts
from lingprob.errors import LingprobError
from lingprob.figures import style
from lingprob.figures.palette import describe_models
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import as_table
from lingprob.papers.context.analysis import Settings, summarise
from lingprob.papers.morcela.analysis import DataSet, fit_model, predict_datasets
from lingprob.papers.run import Run, failures
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.data import Options, assemble
from lingprob.papers.string_probability.figures import draw
from lingprob.papers.string_probability.tables import tabulate
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.distances import measure_pairs
from lingprob.workflow import scope, sources
from lingprob.workflow.configuration import read_settings

PAIRS = 40
OPTIONAL = ["phenomenon", "paradigm", "pair", "rating", "grammatical", "context"]
OTHER = ["demo_minimal_pairs"]
TARGETS = {
    "morcela.datasets": {"morcela": {"datasets": ["mine"]}},
    "string_probability.prediction_1": {"string_probability": {"prediction_1": ["mine"]}},
    "string_probability.prediction_2": {"string_probability": {"prediction_2": ["mine"]}},
    "string_probability.prediction_3": {"string_probability": {"prediction_3": ["mine"]}},
    "context.datasets": {"context": {"datasets": ["mine"]}},
}
# Columns that a target needs besides `sentence`, without those that may have gaps.
NEEDED = {
    "morcela.datasets": {"rating"}, "string_probability.prediction_1": {"pair", "grammatical"},
    "string_probability.prediction_2": {"pair", "grammatical", "rating"},
    "string_probability.prediction_3": {"grammatical"}, "context.datasets": {"pair", "grammatical"},
}  # fmt: skip
WHOLE = {"morcela.datasets": {"rating"}}  # columns that must be whole in addition to `grammatical`


def write_sentences(path: Path, column: str, state: str) -> None:
    """Sentences in pairs, in a random order, with numbers that have gaps."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "sentence": f"Word {n} {side} here{' now' * (n % 3)}.",
            "pair": f"p{7 * n}", "grammatical": int(side == "is"), "phenomenon": f"ph{n % 2}",
            "paradigm": f"pa{n % 4}", "context": "It was so.",
            "rating": round(float(rng.normal(side == "is")), 3),
        }
        for n in range(PAIRS) for side in ("is", "are")
    )  # fmt: skip
    rows = rows.sample(frac=1, random_state=1).reset_index(drop=True)
    if state == "absent":
        rows = rows.drop(columns=column)
    elif state == "partly":
        pairs = rows["pair"].isin(["p0", "p14", "p28"])
        rows[column] = rows[column].astype(object).mask(pairs)
    rows.to_csv(path, index=False)


def scores_of(stimuli: pd.DataFrame) -> pd.DataFrame:
    words = stimuli["text"].str.split().str.len()
    noise = np.random.default_rng(2).normal(size=(2, len(stimuli)))
    return pd.DataFrame(
        {"model": "m", "dataset": "mine", "item_id": stimuli["item_id"], "bos": "bos",
         "unigrams": "u", "logprob": -5.0 * words + noise[0],
         "unigram_logprob": -7.0 * words + noise[1], "n_tokens": words, "n_words": words}
    )[::-1].reset_index(drop=True)  # fmt: skip


def run_morcela(stimuli: pd.DataFrame, target: str) -> None:
    every = {"mine": DataSet(stimuli, scores_of(stimuli))}
    options = {"default_convention": ("bos", "u"), "cluster": "article", "scale": "demo"}
    how = {"keep_together": "pair", "folds": 5, "repeats": 2, "bootstrap": 20, "seed": 1}
    fits, _ = fit_model("m", every, **how, **options)
    as_table(fits, "linking_functions", target)
    options["convention"] = options.pop("default_convention")
    predicted = predict_datasets("m", every, fitted_to=["mine"], **options)
    assert set(predicted["item_id"]) == set(stimuli["item_id"])


def run_strings(stimuli: pd.DataFrame, target: str) -> None:
    number = int(target[-1])
    distances = {}
    if number < 3:
        vectors = np.random.default_rng(3).normal(size=(len(stimuli), 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        distances = {"mine": measure_pairs(stimuli, "mine", lambda texts: vectors[: len(texts)])}
    numbers = sorted({number, 3})  # no run is without Prediction 3
    datasets = assemble({"mine": numbers}, [stimuli], [scores_of(stimuli)], distances,
                        convention=("bos", "u"))  # fmt: skip
    tables = analyse("m", datasets, ["mine"], 1000, Options(20, "clusters", 1, "demo"))
    for name, table in tables.items():
        as_table(table, name, target)
    kept = tables["string_scores"].set_index("item_id")["rating"]
    given = stimuli.set_index("item_id")["rating"].reindex(kept.index)
    assert kept.isna().equals(given.isna())
    look = describe_models(Catalog().models)["smollm2-135m"]
    run = Run("demo", {"m": look}, {"mine": "Mine"}, read_published("string_probability"))
    shown = {**tables, "stimuli": stimuli, "whole": stimuli, "toy_surprisals": pd.DataFrame(
        columns=["model", "text", "grammatical", "surprisal"])}  # fmt: skip
    assert failures(tabulate(shown, run, distances if number == 2 else {})) == {}
    if number == 1:  # its figures are among those of the others
        return
    assert style.failures(draw(shown, run, ["mine"])) == {}


def run_context(stimuli: pd.DataFrame, target: str) -> None:
    def words(texts: list[str]) -> list[np.ndarray]:
        return [np.array([m.span() for m in re.finditer(r"\s?\S+", text)]) for text in texts]

    settings = {"lengths": [8, 20], "pairs_per_prefix": 1, "matrix_sentences": 3,
                "matrix_prefixes": 1, "matrix_targets": None}  # fmt: skip
    control = [f"Unrelated text number {number} is near." for number in range(30)]
    source = Source("mine", stimuli, control, words)
    prefixes = pd.concat(sample_contexts(source, 3, settings, 1))
    prefixes = as_table(prefixes, "context_prefixes", target)
    after = prefixes[["prefix_id", "pair_ids"]].explode("pair_ids").assign(length=8, n_sentences=2)
    alone = pd.DataFrame({"prefix_id": NO_PREFIX, "pair_ids": after["pair_ids"].unique(),
                          "length": 0, "n_sentences": 0})  # fmt: skip
    scores = pd.concat([after, alone]).rename(columns={"pair_ids": "pair_id"})
    scores = scores.merge(stimuli[["pair_id", "item_id"]], on="pair_id")
    scores = scores.assign(prefix_tokens=scores["length"], region=0, n_tokens=5,
                           logprob=np.random.default_rng(4).normal(-9, 2, len(scores)))  # fmt: skip
    judged = judge("m", "mine", stimuli, prefixes, scores, [])
    judged = as_table(judged, "context_judgments", target)
    for name, table in summarise(judged, Settings(2, 20, 1, "demo")).items():
        as_table(table, name, target)


RUNS = {"morcela": run_morcela, "string_probability": run_strings, "context": run_context}
CASES = [
    (target, column, state)
    for target in TARGETS
    for column in OPTIONAL for state in ("absent", "partly", "present")
    if state != "present" or column == OPTIONAL[0]
]  # fmt: skip


@pytest.mark.parametrize(("target", "column", "state"), CASES)
def test_own_sentences_are_analysed_or_refused(tmp_path, caplog, target, column, state):
    path = tmp_path / "mine.csv"
    write_sentences(path, column, state)
    own = {"mine": {"title": "M", "kind": "stimuli", "parser": "table", "path": str(path)}}
    settings, catalog = read_settings({"scale": "demo", "datasets": own, **TARGETS[target]})
    entry = scope.stimuli_entry(sources.Run(settings, catalog), "mine")
    needed = column in NEEDED[target]
    whole = column in {"grammatical"} & NEEDED[target] | WHOLE.get(target, set())
    if (needed and state == "absent") or (whole and state == "partly"):
        with pytest.raises(LingprobError, match=rf"mine\.csv.*{column}") as error:
            build_stimuli("mine", entry, tmp_path, 0)
        assert re.search(r"datasets\.mine\.columns|Correct or delete|Complete", str(error.value))
        return
    stimuli, _ = build_stimuli("mine", entry, tmp_path, 0)
    is_read = column == "context" and state == "absent"
    assert ("the column `context` is not read" in caplog.text) != is_read
    if column != "context":  # a column that no stimuli have
        stimuli = stimuli[SCHEMAS["stimuli"].names]
        RUNS[target.partition(".")[0]](as_table(stimuli, "stimuli", target), target)
