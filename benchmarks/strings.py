"""Time of the analyses and figures of one scored model, and of embedding sentences.

    python benchmarks/strings.py [--quick]

The mirror's English data sets (LINGPROB_MIRROR) in full, with made scores: what a model's numbers
are does not change the work. `--quick` takes a tenth of the pairs and of the bootstrap draws.
Times are CPU seconds of this one process, for machines are shared. The claim is at most 60 s for
the analyses and figures of all data sets together. Embeddings are of all-MiniLM-L6-v2, a sample.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))

from lingprob.catalog import Catalog  # noqa: E402
from lingprob.figures.style import save_figure  # noqa: E402
from lingprob.minimalness.distances import pair_texts  # noqa: E402
from lingprob.minimalness.embeddings import SentenceEmbedder  # noqa: E402
from lingprob.models.embedding import prepare_embedding  # noqa: E402
from lingprob.models.manifest import read_manifest  # noqa: E402
from lingprob.papers.string_probability.analysis import analyse  # noqa: E402
from lingprob.papers.string_probability.data import Dataset, Options  # noqa: E402
from lingprob.papers.string_probability.figures import draw_figures  # noqa: E402
from lingprob.stimuli.build import build_stimuli  # noqa: E402
from lingprob.stimuli.sample import sample_pairs  # noqa: E402
from lingprob.tables import write_csv  # noqa: E402

MIRROR = Path(os.environ.get("LINGPROB_MIRROR") or ROOT.parent / "shared" / "mirror")
OUTPUT = ROOT / "results" / "benchmarks" / "strings.csv"
PREDICTIONS = {
    "blimp": {1, 3},
    "scamp_plausible": {1, 3},
    "scamp_implausible": {1, 3},
    "syntaxgym_pairs": {1, 3},
    "li_large": {2, 3},
    "cola": {3},
}
EMBEDDED = 1000


def made_dataset(name: str, quick: bool) -> Dataset:
    """Read a data set and give it scores and distances by chance."""
    entry = Catalog().dataset(name)
    first = entry["files"][0]
    path = str(MIRROR / first.get("mirror", f"{name}/{first['name']}"))
    stimuli, _ = build_stimuli(name, entry, Path(path.removesuffix(first["name"])), 0)
    if quick and len(stimuli) > 20_000:
        stimuli = sample_pairs(stimuli, len(stimuli) // 20, 0)
    rng = np.random.default_rng(0)
    length = stimuli["text"].str.split().str.len().to_numpy() + 1
    logprob = -5.0 * length + stimuli["grammatical"] + rng.standard_normal(len(stimuli))
    scores = pd.DataFrame({"item_id": stimuli["item_id"], "logprob": logprob})
    scores = scores.assign(bos="none", unigrams="u", n_tokens=length, n_words=length)
    scores["unigram_logprob"] = -8.0 * length + rng.standard_normal(len(stimuli))
    pairs = pair_texts(stimuli, "blimp").index
    distances = pd.DataFrame(
        {
            "pair_id": pairs,
            "levenshtein_characters": rng.integers(1, 30, len(pairs)),
            "levenshtein_words": rng.integers(1, 5, len(pairs)),
            "cosine_distance": rng.random(len(pairs)),
        }
    )
    measured = distances if PREDICTIONS[name] & {1, 2} else None
    return Dataset(name, frozenset(PREDICTIONS[name]), stimuli, scores, measured)


def timed(what: str, sentences: int, start: float) -> dict[str, object]:
    seconds = time.process_time() - start
    row = {"what": what, "sentences": sentences, "cpu_seconds": round(seconds, 2)}
    print(f"{what}: {seconds:.1f} s CPU for {sentences:,} sentences", flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    draws = 100 if quick else 1000
    options = Options(10, "characters", 0.75, "below", draws, False, 5, 0, "benchmark")
    rows = []
    start = time.process_time()
    datasets = [made_dataset(name, quick) for name in PREDICTIONS]
    sentences = sum(len(dataset.stimuli) for dataset in datasets)
    rows.append(timed("reading the data sets", sentences, start))
    start = time.process_time()
    tables = analyse("model", datasets, list(PREDICTIONS), 50_000, options)
    rows.append(timed("analyses", sentences, start))
    start = time.process_time()
    toy = pd.DataFrame(columns=["model", "text", "grammatical", "surprisal"])
    models = {"model": {"title": "Model", "family": "m", "family_title": "M"}}
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in draw_figures(tables, toy, models, {}, [], "benchmark").items():
            save_figure(figure, Path(folder, f"{name}.pdf"), Path(folder, f"{name}.png"))
        rows.append(timed("figures", sentences, start))
        texts = datasets[0].stimuli["text"].tolist()[: 200 if quick else EMBEDDED]
        manifest = Path(folder, "embedding", "manifest.json")
        entry = Catalog().embedding("all-minilm-l6-v2")
        prepare_embedding("all-minilm-l6-v2", entry, manifest)
        embed = SentenceEmbedder(read_manifest(manifest)["directory"], entry["context_window"])
        start = time.process_time()
        embed(texts)
        rows.append(timed("embedding", len(texts), start))
    write_csv(pd.DataFrame(rows), OUTPUT)


if __name__ == "__main__":
    main()
