"""What a run costs: GPU hours, memory and downloads of each model and paper, without any job.

The hours are those of passes over text and of trainings. What two papers share counts in both.
Start-up, fits and figures are left out: they take minutes of a core.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from lingprob.catalog import Catalog
from lingprob.plan.costs import BASE_MEMORY_MB, Costs
from lingprob.plan.speeds import speeds
from lingprob.plan.work import Work
from lingprob.training.sizes import model_name
from lingprob.workflow import scope
from lingprob.workflow.names import surprisal_models
from lingprob.workflow.sources import Run

FETCHED = ("hub", "package")
STRING_LISTS = ("prediction_1", "prediction_2", "prediction_3")
SUMMED = ["gpu_hours", "core_hours"]


def estimate(settings: dict[str, Any], catalog: Catalog) -> pd.DataFrame:
    """Return the costs of each paper's models and data sets.

    Returns:
        One row per paper and model or data set (`name`): `gpu_hours` and `core_hours` (expected),
        `gpus` and `memory_gb` (of one job), `download_gb`.
    """
    costs = Costs(settings, catalog)
    rows: list[dict[str, Any]] = []
    for paper, seconds in _seconds(settings, catalog, costs.work).items():
        rows += [_model_row(paper, model, needed, costs) for model, needed in seconds.items()]
    for size in settings["training"]["sizes"]:
        rows.append(_training_row(size, costs))
    for paper, names in _datasets(settings, catalog).items():
        rows += [_data_row(paper, name, costs) for name in names]
    return pd.DataFrame(rows).sort_values("paper", kind="stable", ignore_index=True)


def totals(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per paper, and `all`, in which a download counts once and memory is the largest.

    Args:
        table: as `estimate` returns it.
    """
    papers = [*table.groupby("paper", sort=True), ("all", table)]
    rows = []
    for paper, part in papers:
        download = part.drop_duplicates("name")["download_gb"].sum()
        largest = part[["gpus", "memory_gb"]].max()
        rows.append({"paper": paper, **part[SUMMED].sum(), **largest, "download_gb": download})
    return pd.DataFrame(rows).astype({"gpus": int})


def as_text(table: pd.DataFrame, scale: str, left_out: Sequence[str]) -> str:
    """Return the totals with the assumptions that they rest on, to be read in a terminal.

    Args:
        table: as `totals` returns it.
        scale: of the run.
        left_out: what is missing and how to get it, a line each.
    """
    parts = [
        f"What a run at scale {scale} costs; results/plan.csv has it by model and data set:",
        table.to_string(index=False, float_format="{:,.1f}".format),
        "Hours are expected ones. Memory and GPUs are the largest of a job. What papers share "
        "counts in each of them, but a download counts once in `all`.",
        "Speeds:\n" + "\n".join(f"  {line}" for line in speeds().sources()),
        "Missing:\n" + "\n".join(f"  {line}" for line in left_out or ["nothing"]),
    ]
    return "\n\n".join(parts) + "\n"


def _seconds(settings: dict[str, Any], catalog: Catalog, work: Work) -> dict[str, dict[str, float]]:
    """Return the seconds that each model with weights runs, by paper."""
    run = Run(settings, catalog)
    by_paper = {
        "morcela": {name: _rated(name, run, work) for name in settings["morcela"]["models"]},
        "string_probability": {
            name: _scored(name, "string_probability", run, work)
            for name in settings["string_probability"]["models"]
        },
        "reading": dict(_reading(settings, catalog, work)),
        "context": {name: _in_context(name, run, work) for name in settings["context"]["models"]},
    }
    return {
        paper: {
            name: seconds
            for name, seconds in by_model.items()
            if catalog.model(name)["source"] not in ("scores", "trained")
        }
        for paper, by_model in by_paper.items()
    }


def _scored(model: str, section: str, run: Run, work: Work) -> float:
    """Return the seconds in which a model scores a section's data sets."""
    jobs = {job[0]: job[2] for job in scope.scoring_jobs(run, [model])}
    return work.scoring_stimuli(model, jobs.get(section, []))


def _rated(model: str, run: Run, work: Work) -> float:
    """Return the seconds of a model in MORCELA: scores, unigrams of its samples, frequency."""
    scored = _scored(model, "morcela", run, work)
    kinds = [source.partition("_")[0] for source in scope.unigram_sources(run, model)]
    sampled = sum(work.sampling(model, 1) for kind in kinds if kind in work.catalog.samplings)
    on_frequency = model in scope.frequency_models(run)
    frequency = work.scoring(model, work.frequency_tokens(), bulk=True) if on_frequency else 0.0
    return scored + sampled + frequency


def _reading(settings: dict[str, Any], catalog: Catalog, work: Work) -> Iterator[tuple[str, float]]:
    """Yield each model that reads texts, with its seconds; windows overlap by half."""
    reading = settings["reading"]
    texts = {catalog.dataset(name)["texts"] for name in reading["datasets"]}
    models = {text: surprisal_models(catalog, reading["models"], text) for text in sorted(texts)}
    for model in dict.fromkeys(name for names in models.values() for name in names):
        read = [text for text, names in models.items() if model in names]
        yield model, sum(work.scoring(model, 2 * work.text_tokens(text)) for text in read)


def _in_context(model: str, run: Run, work: Work) -> float:
    """Return the seconds in which a model judges pairs after prefixes and without."""
    tokens = work.judged_tokens(model) + work.context_tokens("perturbed", work.primary)
    return work.scoring(model, tokens, bulk=True)


def _datasets(settings: dict[str, Any], catalog: Catalog) -> dict[str, list[str]]:
    """Return the data sets that each paper reads."""
    morcela, strings = settings["morcela"], settings["string_probability"]
    overlap, reading, context = settings["overlap"], settings["reading"], settings["context"]
    texts = [catalog.dataset(name)["texts"] for name in reading["datasets"]]
    frequency = [morcela["frequency_corpus"]] if morcela["frequency_models"] else []
    named = {
        "morcela": [*morcela["datasets"], *frequency],
        "string_probability": [name for key in STRING_LISTS for name in strings[key]],
        "overlap": [*overlap["texts"], *overlap["corpora"]],
        "reading": [*reading["datasets"], *texts, *reading["unigram_corpora"]],
        "context": [*context["datasets"], context["control"]],
    }
    return {paper: list(dict.fromkeys(names)) for paper, names in named.items()}


def _row(paper: str, name: str, hours: float, gpus: int, **needs: float) -> dict[str, Any]:
    on = {"gpu_hours": hours * gpus, "core_hours": 0.0 if gpus else hours}
    return {"paper": paper, "name": name, **on, "gpus": gpus, **needs}


def _model_row(paper: str, model: str, seconds: float, costs: Costs) -> dict[str, Any]:
    fetched = costs.catalog.model(model)["source"] in FETCHED
    download = costs.model_download_mb(model) / 1000 if fetched else 0.0
    memory = costs.memory_mb(model) / 1000
    gpus = costs.gpus(model)
    return _row(paper, model, seconds / 3600, gpus, memory_gb=memory, download_gb=download)


def _training_row(size: str, costs: Costs) -> dict[str, Any]:
    hours, memory = costs.work.training(size) / 3600, costs.training_memory_mb(size) / 1000
    gpus = costs.training_gpus()
    return _row("training", model_name(size), hours, gpus, memory_gb=memory, download_gb=0.0)


def _data_row(paper: str, name: str, costs: Costs) -> dict[str, Any]:
    """Return what a paper's data set takes; a corpus streams through a core."""
    is_corpus = costs.catalog.dataset(name)["kind"] == "corpus"
    hours = costs.work.scanning(name) / 3600 if is_corpus else 0.0
    download, memory = costs.work.bytes_of(name) / 1e9, BASE_MEMORY_MB / 1000
    return _row(paper, name, hours, 0, memory_gb=memory, download_gb=download)
