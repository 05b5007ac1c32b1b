"""Held-out bits a byte of the laptop's largest trained model, by recipe, at equal tokens.

    python benchmarks/recipes.py [--seeds N] [--share S] [--size NAME]

The work: the laptop's largest size is trained on as many tokens of the novels by the paper's
learning rates in steps of 16 examples (leakage, Appendix A), by these rates in the laptop's smaller
steps, and by the laptop's own recipe. Two novels are held out. Each training is a process of one
thread; a seed draws the first weights and the order of the examples, and the differences from the
paper's rates are judged over seeds, a t interval each. Tokens are 600 steps of 16 examples,
`--share` of them with a quicker look.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MIRROR = Path(os.environ.get("LINGPROB_MIRROR", ROOT.parent / "shared" / "mirror"))
OUTPUT = ROOT / "results" / "benchmarks" / "recipes.csv"
HELD_OUT = ("1023.txt", "1661.txt")
EXAMPLES = 16 * 600  # that each training sees
PAPER = {"learning_rate": 1e-3, "lowest_learning_rate": 1e-4}
COLUMNS = ("recipe", "seed", "bits_per_byte", "cpu_seconds", "tokens")
sys.path.insert(0, str(ROOT / "workflow_scripts"))


def prepared(training: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Tokenise the novels as training does, and add the bytes of a held-out token."""
    from lingprob.io.progress import Progress
    from lingprob.training.corpus import Chunk, prepare_corpus

    novels = sorted((MIRROR / "gutenberg").glob("[0-9]*.txt"))
    if not novels:
        raise SystemExit(f"{MIRROR}/gutenberg: no novels. Set LINGPROB_MIRROR to the data mirror.")
    chunks = [Chunk("gutenberg", n.name, {"parser": "gutenberg"}, str(n)) for n in novels]
    return prepare_corpus(
        [chunk for chunk in chunks if chunk.file not in HELD_OUT],
        [chunk for chunk in chunks if chunk.file in HELD_OUT],
        tokenizer_file=None, vocabulary=training["vocabulary"],
        context_window=training["context_window"], folder=folder, code="",
        progress=Progress(None, "tokens", "tokens"),
    )  # fmt: skip


def recipes(training: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what each recipe sets, the one that others are compared with first."""
    batch = training["batch_size"]
    own = {key: training[key] for key in PAPER}
    return {
        "the paper's rates, 16 examples a step": {**PAPER, "batch_size": 16},
        f"the paper's rates, {batch} examples a step": {**PAPER, "batch_size": batch},
        f"the laptop's rates, {batch} examples a step": {**own, "batch_size": batch},
    }


def bits_per_byte(nats: float, corpus: dict[str, Any], examples: int) -> float:
    """Return the mean -ln p of held-out tokens in bits a byte of their text."""
    from tokenizers import Tokenizer

    from lingprob.training.corpus import TrainingData

    rows = TrainingData(corpus, examples).validation()[:, 1:]
    tokenizer = Tokenizer.from_file(str(Path(corpus["tokenizer"]) / "tokenizer.json"))
    texts = tokenizer.decode_batch(rows.tolist(), skip_special_tokens=False)
    return nats * rows.size / math.log(2) / sum(len(text.encode()) for text in texts)


def train(job: dict[str, Any]) -> dict[str, Any]:
    """Train as the workflow does; return a row of the table."""
    import time

    from lingprob.training.corpus import TrainingData
    from lingprob.training.sizes import ModelSize
    from lingprob.training.trainer import Means, Plan, Trainer, world_of

    plan = Plan(**{**job["plan"], "size": ModelSize(**job["plan"]["size"])})
    never = plan.steps + 1
    means = Means(
        device="cpu", micro_batch_size=plan.batch_size, repeat_examples=True,
        validation_steps=never, checkpoint_steps=never,
    )  # fmt: skip
    data = TrainingData(job["corpus"], job["validation_examples"])
    with world_of("cpu") as world:
        trainer = Trainer(plan, means, data, Path(tempfile.mkdtemp()), "", world)
        trainer.train()
        cpu_seconds = time.process_time()
        loss = trainer.validation_loss()
    assert loss is not None
    return {
        "recipe": job["recipe"],
        "seed": plan.seed,
        "bits_per_byte": bits_per_byte(loss, job["corpus"], job["validation_examples"]),
        "cpu_seconds": cpu_seconds,
        "tokens": plan.steps * plan.batch_size * plan.context_window,
    }


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Train in a process of its own, with one thread."""
    path = Path(tempfile.mkdtemp()) / "job.json"
    path.write_text(json.dumps(job))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{job['recipe']} failed:\n{done.stderr}")
    row = json.loads(path.with_suffix(".out").read_text())
    print(
        f"  {row['recipe']}, seed {row['seed']}: {row['bits_per_byte']:.4f} bits a byte, "
        f"{row['cpu_seconds']:.0f} CPU seconds",
        flush=True,
    )
    return row


def compare(rows: list[dict[str, Any]], names: list[str]) -> None:
    """Print each recipe's mean, and its difference from the first with a 95% interval."""
    from scipy.special import stdtrit

    found = {
        name: {row["seed"]: row["bits_per_byte"] for row in rows if row["recipe"] == name}
        for name in names
    }
    first = found[names[0]]
    for name in names:
        line = f"{name:45}{statistics.mean(found[name].values()):8.4f} bits a byte"
        differences = [value - first[seed] for seed, value in found[name].items()]
        if name != names[0] and len(differences) > 1:
            n = len(differences)
            half = stdtrit(n - 1, 0.975) * statistics.stdev(differences) / math.sqrt(n)
            mean = statistics.mean(differences)
            line += f", {mean:+.4f} [{mean - half:+.4f}, {mean + half:+.4f}]"
        print(line)


def main() -> None:
    """Parse the command line and train by each recipe and seed, or be one of these processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="trainings a recipe")
    parser.add_argument("--share", type=float, default=1.0, help="of the tokens, for a quick look")
    parser.add_argument("--size", help="another size of scale laptop, e.g. tiny-small")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        row = train(json.loads(asked.worker.read_text()))
        asked.worker.with_suffix(".out").write_text(json.dumps(row))
        return
    from lingprob.workflow.configuration import read_settings

    training = read_settings({"scale": "laptop"})[0]["training"]
    name = asked.size or max(training["sizes"], key=lambda size: training["sizes"][size]["width"])
    if name not in training["sizes"]:
        raise SystemExit(f"--size: {name!r} is none of {', '.join(training['sizes'])}.")
    keys = ("vocabulary", "context_window")
    plan = {key: training[key] for key in keys} | {"precision": "float32"}
    jobs = []
    with tempfile.TemporaryDirectory() as folder:
        corpus = prepared(training, Path(folder))
        for seed in range(1, asked.seeds + 1):
            for recipe, settings in recipes(training).items():
                steps = max(1, round(asked.share * EXAMPLES / settings["batch_size"]))
                own = {"size": training["sizes"][name], "seed": seed, "steps": steps}
                jobs.append({
                    "recipe": recipe, "corpus": corpus, "plan": {**plan, **settings, **own},
                    "validation_examples": training["validation_examples"],
                })  # fmt: skip
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows = list(pool.map(run, jobs))
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{name}, {rows[0]['tokens']:,} tokens")
    compare(rows, list(recipes(training)))


if __name__ == "__main__":
    main()
