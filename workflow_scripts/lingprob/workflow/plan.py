"""What a run costs: GPU hours, memory and downloads of each model and paper, without any job.

The hours are those of passes over text and of trainings. What two papers share counts in both.
Start-up, fits and figures are left out, because they take minutes of a core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lingprob.training.sizes import model_name
from lingprob.workflow import scope
from lingprob.workflow.costs import BASE_MEMORY_MB, Costs, speeds
from lingprob.workflow.names import choose, surprisal_models

PAPERS = ("morcela", "string_probability", "context")  # whose models score
COLUMNS = ["paper", "gpu_hours", "core_hours", "gpus", "memory_gb", "download_gb"]
Row = dict[str, Any]


def plan(costs: Costs) -> list[Row]:
    """Return the costs of each paper's models and data sets.

    One row per paper and model or data set (`name`): `gpu_hours` and `core_hours` (expected),
    `gpus` and `memory_gb` (of one job), `download_gb`.
    """
    rows = [_model_row(paper, name, seconds, costs) for paper, name, seconds in _passes(costs)]
    for size in costs.settings["training"]["sizes"]:
        memory, gpus = costs.training_memory_mb(size), costs.training_gpus()
        rows.append(_row("training", model_name(size), costs.training(size), gpus, memory))
    for paper, names in _datasets(costs).items():
        rows += [_data_row(paper, name, costs) for name in dict.fromkeys(names)]
    return sorted(rows, key=lambda row: str(row["paper"]))


def totals(rows: Sequence[Row]) -> list[Row]:
    """Return a row per paper, and `all`, in which a download counts once and memory is the largest.

    Args:
        rows: as `plan` returns them.
    """
    found = []
    for paper in [*dict.fromkeys(row["paper"] for row in rows), "all"]:
        part = [row for row in rows if paper in (row["paper"], "all")]
        summed = {key: sum(row[key] for row in part) for key in ("gpu_hours", "core_hours")}
        largest = {key: max(row[key] for row in part) for key in ("gpus", "memory_gb")}
        download = sum({row["name"]: row["download_gb"] for row in part}.values())
        found.append({"paper": paper, **summed, **largest, "download_gb": download})
    return found


def as_text(rows: Sequence[Row], scale: str, left_out: Iterable[str]) -> str:
    """Return the totals with the assumptions that they rest on, to be read in a terminal.

    Args:
        rows: as `totals` returns them.
        scale: of the run.
        left_out: what is missing and how to get it, a line each.
    """
    cells = [COLUMNS, *([_shown(row[key]) for key in COLUMNS] for row in rows)]
    table = ["".join(f"{cell:>20}" for cell in line) for line in cells]
    rest = [
        f"  {name}: {'measured' if part['measured'] else 'ASSUMED'}: {part['source']}"
        for name, part in speeds().items()
    ]
    parts = [
        f"What a run at scale {scale} costs; results/plan.csv has it by model and data set:",
        "\n".join(table),
        "Hours are expected ones. Memory and GPUs are the largest of a job. What papers share "
        "counts in each of them, but a download counts once in `all`.",
        "\n".join(["Speeds:", *rest]),
        "\n".join(["Missing:", *([f"  {line}" for line in left_out] or ["  nothing"])]),
    ]
    return "\n\n".join(parts) + "\n"


def _passes(costs: Costs) -> Iterator[tuple[str, str, float]]:
    """Yield each paper and model with weights from elsewhere, and the seconds that it runs."""
    settings, texts = costs.settings, scope.read_texts(costs)
    models = {paper: choose([*costs.catalog.models], settings[paper]["models"]) for paper in PAPERS}
    models["reading"] = surprisal_models(costs.catalog, settings["reading"]["models"], texts[0])
    seconds: dict[str, Callable[[str], float]] = {
        "morcela": lambda model: _rated(model, costs),
        "string_probability": lambda model: _scored(model, "string_probability", costs),
        "reading": lambda model: costs.reading(model, texts),
        "context": lambda model: costs.judging(model) + costs.judging_perturbed(model),
    }
    for paper, of_model in seconds.items():
        for model in models[paper]:
            if costs.catalog.model(model)["source"] not in ("scores", "trained"):
                yield paper, model, of_model(model)


def _scored(model: str, section: str, costs: Costs) -> float:
    """Return the seconds in which a model scores a section's data sets."""
    jobs = {job[0]: job[2] for job in scope.scoring_jobs(costs, [model])}
    return costs.scoring_stimuli(model, jobs.get(section, []))


def _rated(model: str, costs: Costs) -> float:
    """Return the seconds of a model in MORCELA: scores, unigrams of its samples, frequency."""
    kinds = [source.partition("_")[0] for source in scope.unigram_sources(costs, model)]
    sampled = sum(costs.sampling(model) for kind in kinds if kind in costs.catalog.samplings)
    on_frequency = costs.regressing(model) if model in scope.frequency_models(costs) else 0.0
    return _scored(model, "morcela", costs) + sampled + on_frequency


def _datasets(costs: Costs) -> Mapping[str, list[str]]:
    """Return the data sets that each paper reads."""
    settings = costs.settings
    morcela, overlap, reading = settings["morcela"], settings["overlap"], settings["reading"]
    frequency = [morcela["frequency_corpus"]] if morcela["frequency_models"] else []
    texts = [costs.catalog.dataset(name)["texts"] for name in reading["datasets"]]
    return {
        "morcela": [*morcela["datasets"], *frequency],
        "string_probability": [*scope.predictions(costs)],
        "overlap": [*overlap["texts"], *overlap["corpora"]],
        "reading": [*reading["datasets"], *texts, *reading["unigram_corpora"]],
        "context": [*settings["context"]["datasets"], settings["context"]["control"]],
    }


def _row(paper: str, name: str, seconds: float, gpus: int, mb: float, download: float = 0.0) -> Row:
    hours = seconds / 3600
    on = {"gpu_hours": hours * gpus, "core_hours": 0.0 if gpus else hours}
    sizes = {"memory_gb": mb / 1000, "download_gb": download}
    return {"paper": paper, "name": name, **on, "gpus": gpus, **sizes}


def _model_row(paper: str, model: str, seconds: float, costs: Costs) -> Row:
    fetched = costs.catalog.model(model)["source"] in ("hub", "package")
    download = costs.model_download_mb(model) / 1000 if fetched else 0.0
    return _row(paper, model, seconds, costs.gpus(model), costs.memory_mb(model), download)


def _data_row(paper: str, name: str, costs: Costs) -> Row:
    """Return what a paper's data set takes; a corpus streams through a core."""
    is_corpus = costs.catalog.dataset(name)["kind"] == "corpus"
    seconds = costs.scanning(name) if is_corpus else 0.0
    return _row(paper, name, seconds, 0, BASE_MEMORY_MB, costs.bytes_of(name) / 1e9)


def _shown(value: Any) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
