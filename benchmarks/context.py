"""Targets after growing prefixes: speed and memory against minicons, in one run.

    python benchmarks/context.py [--quick] [--model DIRECTORY] [--rival-python PYTHON]

The work: ln p of both sentences of 20 BLiMP pairs (--quick: 2) after prefixes of 10 lengths up
to 1,000 tokens, under SmolLM2-135M in float32 on a CPU, after <|endoftext|>. Prefixes are
acceptable sentences of the pair's paradigm. Two tasks: a prefix of its own for each pair, as in
the paper, and ten pairs that share one. minicons reads every text from its beginning. It
gets texts of one length together, and the best batch size of a sample. Ratios compare CPU time of
one thread, because machines are shared. The last column is the largest difference from float64
(nats per target), over a sample.
"""

import json
import sys
from typing import Any

from rival import (
    MIRROR,
    ROOT,
    START_TOKEN,
    Clock,
    Workers,
    finish,
    has_minicons,
    measure_float64,
    measure_minicons,
    options_of,
    start,
    write,
)  # fmt: skip

sys.path.insert(0, str(ROOT / "workflow_scripts"))

LENGTHS = range(100, 1001, 100)  # tokens of a prefix, at most
PAIRS = 20
PAIRS_THAT_SHARE = 10
BATCH_SIZES = (1, 2, 4, 8)
FLOAT64_TEXTS = 24

Item = tuple[str, list[int], list[str]]  # prefix, cuts, targets


def measure_ours(model: str, items: list[Item], _options: dict[str, Any]) -> dict[str, Any]:
    """Score with lingprob as the workflow does, without counting the time to load the model."""
    import numpy as np

    from lingprob.models.loading import load_language_model
    from lingprob.scoring.continuations import ContextItem, score_in_context
    from lingprob.scoring.engine import Scorer

    language_model = load_language_model(model, device="cpu", dtype="float32")
    fed = []
    language_model.model.base_model.register_forward_pre_hook(
        lambda _module, _args, kwargs: fed.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    clock = Clock()
    table = score_in_context(
        Scorer(language_model), [ContextItem(*item) for item in items], start_token=START_TOKEN
    )
    measured = clock.read()
    by_target = table.astype({"logprob": np.float64}).groupby(
        ["item_index", "cut_index", "target_index"]
    )["logprob"]
    return {"totals": by_target.sum().tolist(), "tokens": sum(fed), **measured}


WORKERS: Workers = {"ours": measure_ours, "minicons": measure_minicons, "float64": measure_float64}


def make_items(model: str, n_pairs: int, n_sharing: int) -> list[Item]:
    """Return items of `n_sharing` pairs each, every item from a paradigm of its own."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    paths = sorted((MIRROR / "blimp").glob("*.jsonl"))
    if not paths:
        raise SystemExit(f"{MIRROR}/blimp: no files. Set LINGPROB_MIRROR to the data mirror.")
    items: list[Item] = []
    for path in paths[:: len(paths) // (n_pairs // n_sharing)][: n_pairs // n_sharing]:
        with open(path, encoding="utf-8") as stream:
            pairs = [json.loads(line) for line in stream]
        targets = [
            pair[member]
            for pair in pairs[:n_sharing]
            for member in ("sentence_good", "sentence_bad")
        ]
        prefix, cuts, lengths = "", [], iter(LENGTHS)
        length = next(lengths)
        for pair in pairs[n_sharing:]:
            longer = f"{prefix} {pair['sentence_good']}".strip()
            if len(tokenizer(longer).input_ids) > length:
                cuts.append(len(prefix))
                length = next(lengths, 0)
                if not length:
                    break
            prefix = longer
        items.append((prefix, cuts, targets))
    return items


def spell_out(items: list[Item]) -> list[list[str]]:
    """Return (prefix, target) for every item, cut and target, in the order of our results."""
    return [
        [prefix[:cut], target]
        for prefix, cuts, targets in items
        for cut in cuts
        for target in targets
    ]


def error_of(totals: list[float], exact: list[float], places: list[int]) -> float:
    """Return the largest difference to float64 over the sampled texts."""
    return max(abs(totals[i] - value) for i, value in zip(places, exact, strict=True))


def measure_task(
    task: str, model: str, items: list[Item], rival_python: str, size: int | None
) -> list[dict[str, Any]]:
    """Run both systems on one task and return one row for each, lingprob first."""
    texts = spell_out(items)
    rows: list[dict[str, Any]] = []
    places = list(range(0, len(texts), max(1, len(texts) // FLOAT64_TEXTS)))
    exact = finish(start("float64", sys.executable, model, [texts[i] for i in places]))["totals"]

    def add(system: str, result: dict[str, Any]) -> dict[str, Any]:
        rows.append({"task": task, "system": system, "size": len(texts), **result})
        rows[-1]["per_second"] = len(texts) / result["seconds"]
        rows[-1]["agreement"] = error_of(result["totals"], exact, places)
        print(f"  {task}, {system}: {rows[-1]['per_second']:.2f} targets/s", flush=True)
        return rows[-1]

    ours = add("lingprob", finish(start("ours", sys.executable, model, items)))
    print(
        f"  tokens run: {ours['tokens']}, {ours['tokens'] / ours['cpu_seconds']:.0f}/s of CPU time"
    )
    if size is not None:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i][0]))
        arranged = [texts[i] for i in order]
        theirs = finish(start("minicons", rival_python, model, arranged, batch_sizes=[size]))
        places_in_order = sorted(range(len(texts)), key=lambda k: order[k])
        theirs["totals"] = [theirs["totals"][k] for k in places_in_order]
        rival = add(f"minicons, batch size {size}", theirs)
        ours["ratio_to_rival"] = rival["cpu_seconds"] / ours["cpu_seconds"]
    return rows


def measure_all(model: str, rival_python: str, quick: bool) -> list[dict[str, Any]]:
    """Run both tasks; the shared prefix only if not `quick`, since minicons needs minutes."""
    own = make_items(model, 2 if quick else PAIRS, 1)
    size = None
    if has_minicons(rival_python):
        sample = [[item[0][: item[1][4]], target] for item in own[:4] for target in item[2]]
        size = finish(start("minicons", rival_python, model, sample, batch_sizes=BATCH_SIZES))[
            "batch_size"
        ]
    rows = measure_task("a prefix of its own", model, own, rival_python, size)
    if not quick:
        shared = make_items(model, PAIRS, PAIRS_THAT_SHARE)
        rows += measure_task("ten pairs share a prefix", model, shared, rival_python, size)
    return rows


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    options = options_of(__doc__, "two pairs, about two minutes", WORKERS)
    if options is None:
        return
    rows = measure_all(options.model, options.rival_python, options.quick)
    write("context", rows)
    ratios = [row["ratio_to_rival"] for row in rows if "ratio_to_rival" in row]
    print(
        f"context ratio={min(ratios, default=float('nan')):.2f} "
        f"agreement={rows[0]['agreement']:.1e} peak_mb={rows[0]['peak_mb']:.0f}"
    )


if __name__ == "__main__":
    main()
