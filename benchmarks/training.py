"""Tokens a second and model-FLOPs utilisation of training, against plain loops, in one run.

    python benchmarks/training.py [--quick] [--profile] [--steps N] [--size NAME]

The work: steps of training GPT-NeoX models from the same first weights on the same rows of a
novel, with the same schedule. Rivals: transformers' Trainer, and a loop as nanoGPT has it (full
logits, autocast, fused AdamW, clipping) around the same model. Each system runs in a process of
its own with its threads fixed, and its first steps do not count. On a CPU the models are the
laptop's, and a ratio of systems on one thread compares CPU time, since machines are shared; on two
cores, wall time. On a GPU they are the paper's, and `ours` is measured without each of its parts.
Agreement is the largest difference of a step's loss from the Trainer's in the same precision.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MIRROR = Path(os.environ.get("LINGPROB_MIRROR", ROOT.parent / "shared" / "mirror"))
OUTPUT = ROOT / "results" / "benchmarks" / "training.csv"
NOVEL = "gutenberg/1342-0.txt"
WARM_UP = 2  # steps that do not count
COLUMNS = (
    "task", "system", "size", "seconds", "cpu_seconds", "per_second", "peak_mb",
    "ratio_to_rival", "agreement",
)  # fmt: skip
sys.path.insert(0, str(ROOT / "workflow_scripts"))


class Clock:
    """Wall and CPU seconds from the end of warm-up on, and the peak of memory (MB)."""

    def __init__(self) -> None:
        self.steps = 0
        self.losses: list[float] = []

    def step(self, loss: float) -> None:
        """Note that a step is done."""
        self.steps += 1
        self.losses.append(loss)
        if self.steps == WARM_UP:
            self.wall, self.cpu = time.perf_counter(), time.process_time()

    def read(self) -> dict[str, Any]:
        """Return steps, seconds, cpu_seconds, peak_mb and the losses."""
        import torch

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if torch.cuda.is_available():
            peak = torch.cuda.max_memory_allocated() / 1e6
        return {
            "steps": self.steps - WARM_UP,
            "seconds": time.perf_counter() - self.wall,
            "cpu_seconds": time.process_time() - self.cpu,
            "peak_mb": peak,
            "losses": self.losses,
        }


def measure_ours(job: dict[str, Any]) -> dict[str, Any]:
    """Train as the workflow does; options switch a part of it off."""
    import torch

    from lingprob.training import model as loss
    from lingprob.training import trainer as training
    from lingprob.training.corpus import TrainingData
    from lingprob.training.sizes import ModelSize

    options, folder = job["options"], Path(tempfile.mkdtemp())
    if "chunk" in options:
        loss.CHUNK = dict.fromkeys(loss.CHUNK, options["chunk"])
    if options.get("compile") is False:
        torch.compiler.set_stance("force_eager")
    plan = training.Plan(**{**job["plan"], "size": ModelSize(**job["plan"]["size"])})
    means = training.Means(
        device="auto", micro_batch_size=job["micro_batch_size"],
        repeat_examples=True, validation_steps=10**9, checkpoint_steps=10**9,
    )  # fmt: skip
    clock = Clock()
    with training.world_of("auto") as world:
        trainer = training.Trainer(plan, means, TrainingData(job["corpus"], 0), folder, "", world)
        if options.get("fused") is False:
            groups = [{"params": g["params"], "weight_decay": g["weight_decay"]}
                      for g in trainer.optimizer.param_groups]  # fmt: skip
            trainer.optimizer = torch.optim.AdamW(groups, betas=plan.betas, foreach=False)
        for step in range(1, job["steps"] + 1):
            clock.step(trainer.step(step)["loss"])
        result = clock.read()
        if options.get("profile") and world.rank == 0:
            result["profile"] = profiled(lambda: trainer.step(job["steps"] + 1))
        return result if world.rank == 0 else {}


def profiled(work: Any) -> str:
    """Return a table of the time of `work` by operation."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    activities += [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
    with profile(activities=activities) as taken:
        work()
    order = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    return taken.key_averages().table(sort_by=order, row_limit=15, max_name_column_width=45)


def setting(job: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """Return the setting of all systems: model, optimizer, learning rates, rows in order."""
    import numpy as np
    import torch

    from lingprob.training.corpus import TrainingData, examples_of_step
    from lingprob.training.model import build_model
    from lingprob.training.sizes import ModelSize
    from lingprob.training.updates import learning_rate, warmup_steps

    plan = job["plan"]
    data = TrainingData(job["corpus"], 0)
    model = build_model(
        ModelSize(**plan["size"]), plan["vocabulary"], plan["context_window"], plan["seed"]
    )
    model = model.to("cuda" if torch.cuda.is_available() else "cpu")
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=tuple(plan["betas"]), fused=True)
    warmup = warmup_steps(plan["steps"], plan["warmup"])
    rates = [
        learning_rate(step, plan["steps"], warmup=warmup, highest=plan["learning_rate"],
                      lowest=plan["lowest_learning_rate"])
        for step in range(1, job["steps"] + 2)
    ]  # fmt: skip
    rows = np.concatenate([
        data.take(examples_of_step(step, plan["batch_size"], data.n_examples, plan["seed"]))
        for step in range(1, job["steps"] + 1)
    ])  # fmt: skip
    return model, optimizer, rates, rows


def measure_trainer(job: dict[str, Any]) -> dict[str, Any]:
    """Train with transformers' Trainer, in our order and with our schedule."""
    import torch
    from torch.utils.data import SequentialSampler
    from transformers import Trainer, TrainerCallback, TrainingArguments

    model, optimizer, rates, rows = setting(job)
    clock = Clock()

    class InOrder(Trainer):
        def _get_train_sampler(self, *_: Any) -> Any:
            return SequentialSampler(self.train_dataset)

    class Watch(TrainerCallback):
        def on_log(self, *_: Any, logs: dict[str, Any], **__: Any) -> None:
            if "loss" in logs:
                clock.step(float(logs["loss"]))

    micro, batch = job["micro_batch_size"], job["plan"]["batch_size"]
    arguments = TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=micro,
        gradient_accumulation_steps=batch // micro, max_steps=job["steps"], max_grad_norm=1.0,
        logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(), bf16=job["plan"]["precision"] == "bfloat16",
    )  # fmt: skip
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rates[step])
    dataset = [{"input_ids": row, "labels": row} for row in torch.from_numpy(rows)]
    InOrder(
        model, arguments, train_dataset=dataset, optimizers=(optimizer, schedule),
        callbacks=[Watch()],
    ).train()  # fmt: skip
    return clock.read()


def measure_loop(job: dict[str, Any]) -> dict[str, Any]:
    """Train with a short loop: autocast, the logits of a micro-batch, clipping, fused AdamW."""
    import torch

    model, optimizer, rates, rows = setting(job)
    device, half = model.device, job["plan"]["precision"] == "bfloat16"
    micro, batch = job["micro_batch_size"], job["plan"]["batch_size"]
    if device.type == "cuda":
        model = torch.compile(model)
    clock, tensor = Clock(), torch.from_numpy(rows)
    for step in range(job["steps"]):
        total = 0.0
        for part in tensor[step * batch : (step + 1) * batch].split(micro):
            part = part.to(device)
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=half):
                logits = model(part[:, :-1], use_cache=False).logits
                loss = torch.nn.functional.cross_entropy(
                    logits.flatten(0, 1), part[:, 1:].flatten()
                )
            (loss * len(part) / batch).backward()
            total += loss.item() * len(part) / batch
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = rates[step]
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        clock.step(total)
    return clock.read()


WORKERS = {"ours": measure_ours, "trainer": measure_trainer, "loop": measure_loop}


def run(system: str, job: dict[str, Any], threads: int, processes: int = 1) -> dict[str, Any]:
    """Run a worker in a process of its own, or in several by torchrun; return its measurements."""
    path = Path(tempfile.mkdtemp()) / "job.json"
    path.write_text(json.dumps({**job, "system": system}))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        environment[name] = str(threads)
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *(torchrun if processes > 1 else []), __file__]
    command += ["--worker", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{system} failed:\n{done.stderr}")
    return json.loads(path.with_suffix(".out").read_text())


def work(path: Path) -> None:
    """Do the job of a worker and write the measurements next to its description."""
    job = json.loads(path.read_text())
    result = WORKERS[job["system"]](job)
    if result:
        path.with_suffix(".out").write_text(json.dumps(result))


def corpus_of_a_novel(vocabulary: int, context_window: int) -> dict[str, Any]:
    """Tokenise a novel of the mirror as training does."""
    from lingprob.io.progress import Progress
    from lingprob.training.corpus import Chunk, prepare_corpus, split_chunks

    path = MIRROR / NOVEL
    if not path.exists():
        raise SystemExit(f"{path}: not found. Set LINGPROB_MIRROR to the data mirror.")
    chunk = Chunk("novel", path.name, {"parser": "gutenberg"}, str(path))
    return prepare_corpus(
        split_chunks([chunk], None), tokenizer_file=None, vocabulary=vocabulary,
        context_window=context_window, folder=Path(tempfile.mkdtemp()), code="",
        progress=Progress(None, "tokens", "tokens"),
    )  # fmt: skip


def describe(on_gpu: bool, steps: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the sizes, and a job without its size and precision."""
    from lingprob.workflow.configuration import read_settings

    settings, _ = read_settings({"scale": "paper" if on_gpu else "laptop"})
    training = settings["training"]
    keys = ("vocabulary", "context_window", "steps", "learning_rate")
    plan = {key: training[key] for key in keys}
    plan |= {"lowest_learning_rate": 1e-4, "warmup": 0.01, "betas": [0.9, 0.95]}
    micro = training["micro_batch_size"]
    plan |= {"seed": settings["seed"], "batch_size": 4 * micro if on_gpu else micro}
    corpus = corpus_of_a_novel(plan["vocabulary"], plan["context_window"])
    job = {"corpus": corpus, "plan": plan, "micro_batch_size": micro, "steps": steps, "options": {}}
    return training["sizes"], job


def measure(
    name: str, size: dict[str, int], job: dict[str, Any], on_gpu: bool, whole: bool, profile: bool
) -> list[dict[str, Any]]:
    """Run every system on one size; return a row each, with ratios and agreement filled in."""
    plan = job["plan"]
    tokens = plan["batch_size"] * plan["context_window"]
    rows: list[dict[str, Any]] = []

    def add(label: str, system: str, precision: str, threads: int = 1, processes: int = 1,
            **options: Any) -> dict[str, Any]:  # fmt: skip
        asked = {**job, "plan": {**plan, "size": size, "precision": precision}, "options": options}
        result = run(system, asked, threads, processes)
        second = "seconds" if on_gpu or threads * processes > 1 else "cpu_seconds"
        rate = tokens * result["steps"] / result[second]
        rows.append({"task": f"training {name}", "system": label, "size": tokens * result["steps"],
                     **result, "per_second": rate})  # fmt: skip
        print(f"  {name}, {label}: {rate:,.0f} tokens/s", flush=True)
        return rows[-1]

    def against(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        ours["ratio_to_rival"] = ours["per_second"] / theirs["per_second"]
        pairs = zip(ours["losses"], theirs["losses"], strict=True)
        ours["agreement"] = max(abs(one - other) for one, other in pairs)

    for precision in ["bfloat16"] if on_gpu else ["float32", "bfloat16"]:
        ours = add(f"lingprob, {precision}", "ours", precision, profile=profile)
        against(ours, add(f"transformers Trainer, {precision}", "trainer", precision))
        loop = add(f"nanoGPT-style loop, {precision}", "loop", precision)
        loop["ratio_to_rival"] = loop["per_second"] / rows[-2]["per_second"]
    if whole:
        precision = "bfloat16" if on_gpu else "float32"
        parts: dict[str, dict[str, Any]] = {"all logits at once": {"chunk": 10**9},
                                            "AdamW not fused": {"fused": False}}  # fmt: skip
        if on_gpu:
            parts["not compiled"] = {"compile": False}
        for without, options in parts.items():
            add(f"lingprob, {precision}, {without}", "ours", precision, **options)
    if whole and not on_gpu:
        both = add("lingprob, float32, 2 processes of 1 thread", "ours", "float32", processes=2)
        against(both, add("transformers Trainer, float32, 2 threads", "trainer", "float32", 2))
    return rows


def write(rows: list[dict[str, Any]]) -> None:
    """Write the CSV and print its table, then the profiles."""
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, extrasaction="ignore", restval="")
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{'task':22}{'system':44}{'per s':>10}{'CPU s':>8}{'MB':>7}{'ratio':>7}")
    for row in rows:
        ratio = f"{row['ratio_to_rival']:.2f}" if "ratio_to_rival" in row else ""
        print(
            f"{row['task']:22}{row['system']:44}{row['per_second']:10,.0f}"
            f"{row['cpu_seconds']:8.1f}{row['peak_mb']:7.0f}{ratio:>7}"
        )
    for row in rows:
        if "profile" in row:
            print(f"\n{row['task']}, {row['system']}\n{row['profile']}")


def main() -> None:
    """Parse the command line and run the benchmark or a worker of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the middle size, a minute")
    parser.add_argument("--profile", action="store_true", help="say where the time of a step goes")
    parser.add_argument("--steps", type=int, help="steps a system")
    parser.add_argument("--size", help="one size alone, e.g. tiny-large")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        work(asked.worker)
        return
    import torch

    on_gpu = torch.cuda.is_available()
    sizes, job = describe(on_gpu, asked.steps or (7 if asked.quick else 12))
    middle = sorted(sizes, key=lambda name: sizes[name]["width"])[len(sizes) // 2]
    alone = asked.size or (middle if asked.quick else None)
    if alone and alone not in sizes:
        raise SystemExit(f"--size: {alone!r} is none of {', '.join(sizes)}.")
    chosen = {alone: sizes[alone]} if alone else sizes
    rows: list[dict[str, Any]] = []
    for name, size in chosen.items():
        whole = not asked.quick and size["width"] == max(s["width"] for s in sizes.values())
        rows += measure(name, size, job, on_gpu, whole, asked.profile)
    write(rows)
    ours = [row for row in rows if row["system"].startswith("lingprob") and "agreement" in row]
    worst = min(ours, key=lambda row: row["ratio_to_rival"])
    agreement = max(row["agreement"] for row in ours if "float32" in row["system"] or on_gpu)
    print(
        f"training ratio={worst['ratio_to_rival']:.2f} agreement={agreement:.1e} "
        f"peak_mb={worst['peak_mb']:.0f}"
    )


if __name__ == "__main__":
    main()
