"""Calls of the API on two sentences with a loaded model, against minicons.

    python benchmarks/calls.py [--quick] [--model DIRECTORY] [--rival-python PYTHON]

The work: total ln p of 20 pairs of sentences (--quick: 5), one pair per call, under SmolLM2-135M in
float32 on a CPU, after <|endoftext|>, on one thread. Neither loading nor a first call is counted.
The ratio compares CPU time, because machines are shared. The last column is the largest
difference from float64 (nats per sentence).
"""

import sys
import tempfile
from typing import Any

from rival import (
    ROOT,
    Clock,
    finish,
    has_minicons,
    measure_float64,
    measure_minicons,
    options_of,
    start,
    write,
)  # fmt: skip

NOUNS = ("cat", "teacher", "queen of France", "old man", "child")
VERBS = (("sleeps", "sleep"), ("has seen it", "have seen it"), ("sings well", "sing well"),
         ("reads", "read"))  # fmt: skip
TASK = "two sentences a call"


def measure_ours(model: str, texts: list[list[str]], _options: dict[str, Any]) -> dict[str, Any]:
    """Score a pair a call with `lingprob.load(FOLDER).score`."""
    sys.path.insert(0, str(ROOT / "workflow_scripts"))
    import lingprob

    with tempfile.TemporaryDirectory() as cache:
        lm = lingprob.load(model, family="smollm2", device="cpu", cache=cache)
    lm.score(["A first call.", "And its second sentence."], bos="endoftext")
    clock, totals = Clock(), []
    for first in range(0, len(texts), 2):
        pair = [text for _, text in texts[first : first + 2]]
        totals += lm.score(pair, bos="endoftext")["logprob"].tolist()
    return {"totals": totals, **clock.read()}


WORKERS = {"ours": measure_ours, "minicons": measure_minicons, "float64": measure_float64}


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    options = options_of(__doc__, "5 calls in place of 20", WORKERS)
    if options is None:
        return
    forms = [(noun, verb) for verbs in VERBS for noun in NOUNS for verb in verbs]
    texts = [["", f"The {noun} {verb}."] for noun, verb in forms][: 10 if options.quick else None]
    systems = {"lingprob": ("ours", sys.executable)}
    if has_minicons(options.rival_python):
        systems["minicons"] = ("minicons", options.rival_python)
    exact = finish(start("float64", sys.executable, options.model, texts))["totals"]
    rows: list[dict[str, Any]] = []
    for system, (worker, python) in systems.items():
        found = finish(start(worker, python, options.model, texts, batch_sizes=[2, 2]))
        off = [abs(one - other) for one, other in zip(found["totals"], exact, strict=True)]
        row = {"task": TASK, "system": system, "size": len(texts), **found, "agreement": max(off)}
        rows.append({**row, "per_second": len(texts) / found["seconds"]})
    if len(rows) > 1:
        rows[0]["ratio_to_rival"] = rows[1]["cpu_seconds"] / rows[0]["cpu_seconds"]
    write("calls", rows)
    print(
        f"calls ratio={rows[0].get('ratio_to_rival', float('nan')):.2f} "
        f"agreement={rows[0]['agreement']:.1e} peak_mb={rows[0]['peak_mb']:.0f}"
    )


if __name__ == "__main__":
    main()
