"""The costs of a run, estimated without a job: GPU hours, memory and downloads.

The hours are those of models that read text and of trainings. Work that several papers share counts
for each of them. Start-up, fits and figures are left out, because they take minutes on one core.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lingprob.training.sizes import model_name
from lingprob.workflow import scope
from lingprob.workflow.costs import BASE_MEMORY_MB, SPEEDS, Costs
from lingprob.workflow.names import choose, surprisal_models

COLUMNS = ["paper", "gpu_hours", "core_hours", "gpus", "memory_gb", "download_gb"]
Row = dict[str, Any]


def plan(costs: Costs) -> list[Row]:
    """Return one row per model or data set (`name`) of a paper, sorted by paper.

    A row has `gpu_hours` and `core_hours` (expected), `gpus` and `memory_gb` (of one job) and
    `download_gb`.
    """
    settings, catalog, texts = costs.settings, costs.catalog, scope.read_texts(costs)
    found = []
    for paper in ("morcela", "string_probability", "context", "reading"):
        patterns = settings[paper]["models"]
        models = choose([*catalog.models], patterns)
        if paper == "reading":
            models = surprisal_models(catalog, patterns, texts[0])
        for model in models:
            source = catalog.model(model)["source"]
            if source in ("scores", "trained"):
                continue
            seconds = costs.reading(model, texts) if paper == "reading" else 0.0
            if paper == "context":
                seconds = costs.judging(model) + costs.judging_perturbed(model)
            elif paper in scope.SECTIONS:
                seconds = _scored(paper, model, costs)
            fetched = costs.model_download_mb(model) / 1000 * (source in ("hub", "package"))
            memory, gpus = costs.memory_mb(model), costs.gpus(model)
            found.append(_row(paper, model, seconds, gpus, memory, fetched))
    for size in settings["training"]["sizes"]:
        memory, gpus = costs.training_memory_mb(size), costs.training_gpus()
        found.append(_row("training", model_name(size), costs.training(size), gpus, memory, 0.0))
    for paper, names in _datasets(costs).items():
        for name in dict.fromkeys(names):  # a corpus streams through a core
            seconds = costs.scanning(name) if catalog.dataset(name)["kind"] == "corpus" else 0.0
            size = costs.bytes_of(name) / 1e9
            found.append(_row(paper, name, seconds, 0, BASE_MEMORY_MB, size))
    return sorted(found, key=lambda row: str(row["paper"]))


def totals(rows: Sequence[Row]) -> list[Row]:
    """Return the totals of the rows of `plan`: one row per paper, and `all` for the whole run.

    Hours are sums, and GPUs and memory are maxima. In `all`, a shared download counts once.
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
    """Return a text for the terminal: the rows of `totals`, the assumed speeds and missing data.

    `scale` is that of the run. `left_out` has a line for each missing data set or model.
    """
    numbers = ([row[key] for key in COLUMNS] for row in rows)
    cells = [[f"{one:,.1f}" if isinstance(one, float) else str(one) for one in n] for n in numbers]
    table = ["".join(f"{cell:>20}" for cell in line) for line in [COLUMNS, *cells]]
    rest = [
        f"  {name}: {'measured' if part['measured'] else 'ASSUMED'}: {part['source']}"
        for name, part in SPEEDS.items()
    ]
    parts = [
        f"Costs of a run at scale {scale}; results/plan.csv lists them by model and data set:",
        "\n".join(table),
        "Hours are expected ones. Memory and GPUs are the largest of a job. Work that papers share "
        "counts in each of them, but a download counts once in `all`.",
        "\n".join(["Speeds:", *rest]),
        "\n".join(["Missing:", *([f"  {line}" for line in left_out] or ["  nothing"])]),
    ]
    return "\n\n".join(parts) + "\n"


def _scored(paper: str, model: str, costs: Costs) -> float:
    """Return a model's seconds for a paper's data sets and, for MORCELA, samples and regression."""
    seconds = costs.scoring_stimuli(model, scope.datasets_to_score(costs, model, paper))
    if paper == "morcela":
        kinds = [source.partition("_")[0] for source in scope.unigram_sources(costs, model)]
        seconds += sum(costs.sampling(model) for kind in kinds if kind in costs.catalog.samplings)
        seconds += costs.regressing(model) * (model in scope.frequency_models(costs))
    return seconds


def _datasets(costs: Costs) -> dict[str, list[str]]:
    """Return the names of the data sets that each paper, or part of a paper, reads."""
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


def _row(paper: str, name: str, seconds: float, gpus: int, mb: float, download: float) -> Row:
    hours = seconds / 3600
    on = {"gpu_hours": hours * gpus, "core_hours": 0.0 if gpus else hours}
    sizes = {"memory_gb": mb / 1000, "download_gb": download}
    return {"paper": paper, "name": name, **on, "gpus": gpus, **sizes}
