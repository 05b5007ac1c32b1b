"""Sentences a second and peak memory of scoring, against minicons, in one run.

    python benchmarks/scoring.py [--quick] [--model DIRECTORY] [--rival-python PYTHON]

The work: total ln p of 13,400 BLiMP sentences, 100 pairs of each paradigm (--quick: of three
paradigms), under SmolLM2-135M in float32 on a CPU, after <|endoftext|>. minicons runs at its best
batch size, found on a sample, with a paradigm's pairs next to each other, which have similar
lengths. A ratio of systems on one thread compares CPU time, since machines are shared; on two
cores, wall time (minicons on one thread or on two, whichever was faster). The last column is
the largest difference (nats a sentence) to float64. The floor that is printed is the time of the
matrix products alone, of the tokens that are run and the positions that predict one, at the
float32 peak of a core: the best of ten products of 2,048 rows and columns.
"""

import json
import sys
from typing import Any

from rival import (
    MIRROR,
    ROOT,
    START_TOKEN,
    Clock,
    finish,
    has_minicons,
    measure_float64,
    measure_minicons,
    options_of,
    start,
    write,
)  # fmt: skip

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
PAIRS_OF_A_PARADIGM = 100
QUICK = ("adjunct_island", "irregular_past_participle_verbs", "wh_questions_object_gap")
TASK = "BLiMP"


def measure_ours(model: str, texts: list[list[str]], _options: dict[str, Any]) -> dict[str, Any]:
    """Score with lingprob as the workflow does, without counting the time to load the model."""
    sys.path.insert(0, str(ROOT / "workflow_scripts"))
    import numpy as np

    from lingprob.models.loading import load_language_model
    from lingprob.scoring.engine import Scorer

    language_model = load_language_model(model, device="cpu", dtype="float32")
    operations = count_operations(language_model.model)
    clock = Clock()
    sequences = [tokens.ids for tokens in language_model.tokenize([text for _, text in texts])]
    scored = Scorer(language_model).score(sequences, language_model.start_id(START_TOKEN))
    totals = [float(logprobs.sum(dtype=np.float64)) for logprobs in scored]
    measured = clock.read()
    return {"totals": totals, "floor_seconds": sum(operations) / peak(), **measured}


def count_operations(model: Any) -> list[int]:
    """Return a list that collects the operations of the matrix products of each pass."""
    from lingprob.scoring.forward import Forward

    operations: list[int] = []
    head = model.get_output_embeddings()
    weights = sum(
        part.weight.numel()
        for part in model.modules()
        if type(part) is type(head) and part is not head
    )
    model.base_model.register_forward_pre_hook(
        lambda _module, _args, kwargs: operations.append(2 * weights * kwargs["input_ids"].numel()),
        with_kwargs=True,
    )
    logsumexp = Forward._logsumexp

    def counted(self: Any, outputs: Any, members: Any) -> Any:
        operations.append(2 * head.weight.numel() * len(outputs))
        return logsumexp(self, outputs, members)

    Forward._logsumexp = counted  # type: ignore[method-assign]
    return operations


def peak() -> float:
    """Return the float32 operations a second of CPU time that a core is capable of."""
    import torch

    one, other = torch.rand(2, 2048, 2048)
    seconds = []
    for _ in range(10):
        clock = Clock()
        torch.nn.functional.linear(one, other)
        seconds.append(clock.read()["cpu_seconds"])
    return 2 * 2048**3 / min(seconds)


WORKERS = {"ours": measure_ours, "minicons": measure_minicons, "float64": measure_float64}


def read_texts(quick: bool) -> list[list[str]]:
    """Return ('', sentence) for the pairs' sentences, a pair's two in a row."""
    paths = sorted((MIRROR / "blimp").glob("*.jsonl"))
    if not paths:
        raise SystemExit(f"{MIRROR}/blimp: no files. Set LINGPROB_MIRROR to the data mirror.")
    texts = []
    for path in paths:
        if not quick or path.stem in QUICK:
            with open(path, encoding="utf-8") as stream:
                for _, line in zip(range(PAIRS_OF_A_PARADIGM), stream, strict=False):
                    pair = json.loads(line)
                    texts += [["", pair["sentence_good"]], ["", pair["sentence_bad"]]]
    return texts


def compare(totals: list[float], exact: list[float], where: list[int], name: str) -> float:
    """Print how far totals are from float64 at `where`, pairs in a row; return the largest."""
    ours = [totals[i] for i in where]
    differences = [abs(one - other) for one, other in zip(ours, exact, strict=True)]
    pairs = range(0, len(where), 2)
    flipped = sum((ours[i] > ours[i + 1]) != (exact[i] > exact[i + 1]) for i in pairs)
    print(
        f"{name}: {len(where)} sentences differ from float64 by {sum(differences) / len(where):.1e}"
        f" nats in the mean, {max(differences):.1e} at most; preferences flipped: {flipped}"
    )
    return max(differences)


def measure_all(
    model: str, texts: list[list[str]], rival_python: str, quick: bool
) -> list[dict[str, Any]]:
    """Run every system and return a row each, with ratios and agreement filled in."""
    rows: list[dict[str, Any]] = []

    def add(system: str, result: dict[str, Any]) -> dict[str, Any]:
        rows.append({"task": TASK, "system": system, "size": len(texts), **result})
        rows[-1]["per_second"] = len(texts) / result["seconds"]
        print(f"  {system}: {rows[-1]['per_second']:.1f} sentences/s", flush=True)
        return rows[-1]

    one = add(
        "lingprob, 1 process of 1 thread", finish(start("ours", sys.executable, model, texts))
    )
    print(
        f"  floor of its products: {one['floor_seconds']:.1f} s of CPU time, "
        f"{one['cpu_seconds'] / one['floor_seconds']:.2f} times that were needed"
    )
    half = len(texts) // 4 * 2
    halves = [start("ours", sys.executable, model, part) for part in (texts[:half], texts[half:])]
    results = [finish(started) for started in halves]
    two = add(
        "lingprob, 2 processes of 1 thread",
        {
            "seconds": max(result["seconds"] for result in results),
            "cpu_seconds": sum(result["cpu_seconds"] for result in results),
            "peak_mb": sum(result["peak_mb"] for result in results),
        },
    )
    where = [i for i in range(len(texts)) if not quick or i // 2 % 5 == 0]
    exact = start("float64", sys.executable, model, [texts[i] for i in where])
    exact_totals = finish(exact)["totals"]
    one["agreement"] = compare(one["totals"], exact_totals, where, "lingprob")
    if not has_minicons(rival_python):
        return rows
    sample = [
        text
        for first in range(0, len(texts), len(texts) // 3)
        for text in texts[first : first + 64]
    ]
    tuned = finish(start("minicons", rival_python, model, sample, batch_sizes=BATCH_SIZES))
    size = tuned["batch_size"]
    theirs = start("minicons", rival_python, model, texts, batch_sizes=[size])
    rival = add(f"minicons, batch size {size}, 1 thread", finish(theirs))
    rival["agreement"] = compare(rival["totals"], exact_totals, where, "minicons")
    one["ratio_to_rival"] = rival["cpu_seconds"] / one["cpu_seconds"]
    if not quick:
        both = start("minicons", rival_python, model, texts, threads=2, batch_sizes=[size])
        result = add(f"minicons, batch size {size}, 2 threads", finish(both))
        two["ratio_to_rival"] = min(result["seconds"], rival["seconds"]) / two["seconds"]
    return rows


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    options = options_of(__doc__, "600 sentences, about a minute", WORKERS)
    if options is None:
        return
    rows = measure_all(
        options.model, read_texts(options.quick), options.rival_python, options.quick
    )
    write("scoring", rows)
    ratio = rows[0].get("ratio_to_rival", float("nan"))
    print(
        f"scoring ratio={ratio:.2f} agreement={rows[0]['agreement']:.1e} "
        f"peak_mb={rows[0]['peak_mb']:.0f}"
    )


if __name__ == "__main__":
    main()
