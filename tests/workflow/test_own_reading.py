"""A researcher's own texts, reading times and word surprisals, by config entries alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from checkout import copy_of_the_checkout, snakemake

SENTENCE = "The old cat sat on a mat and slept all day."
TIMES = {
    "title": "Mine", "kind": "reading_times", "parser": "reading_times_table", "texts": "my-texts",
    "path": "times.csv", "method": "self_paced", "unit": "subject", "measure": "time",
}  # fmt: skip
THEIRS = {
    "title": "Theirs", "family": "theirs", "source": "scores", "corrected": False,
    "level": "word", "texts": ["my-texts"], "path": "surprisals.csv",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two passages of 20 sentences, six readers whose times follow the imported surprisals."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("own") / "lingprob")
    random = np.random.default_rng(3)
    passage = " ".join([SENTENCE] * 20)
    (folder / "texts.txt").write_text(f"{passage}\n{passage}\n")
    keys = [(name, index) for name in (1, 2) for index in range(len(passage.split()))]
    words = pd.DataFrame(keys, columns=["passage_id", "word_index"])
    words["surprisal"] = random.exponential(5, len(words))
    words.to_csv(folder / "surprisals.csv", index=False)
    parts = [
        words[["passage_id", "word_index"]].assign(
            subject_id=f"s{number}",
            rt_ms=300 + 20 * number + (6 + number) * words["surprisal"]
            + random.normal(0, 30, len(words)),
            word=passage.split() * 2,
        )
        for number in range(6)
    ]  # fmt: skip
    pd.concat(parts).to_csv(folder / "times.csv", index=False)
    config = {
        "datasets": {
            "my-texts": {"title": "T", "kind": "reading_texts", "parser": "passages",
                         "path": "texts.txt"},
            "my-times": TIMES,
        },
        "models": {"theirs": THEIRS, "their-sentences": {**THEIRS, "context": "sentence"}},
        "reading": {"datasets": ["my-times"], "models": ["the*"]},
        "bootstrap": 20,
    }  # fmt: skip
    (folder / "own.yaml").write_text(yaml.safe_dump(config))
    return folder


def test_own_reading_times_and_surprisals_go_all_the_way(folder):
    done = snakemake(folder, "--configfile", "own.yaml", "--", "reading")
    assert done.returncode == 0, done.stdout[-4000:]
    table = pd.read_csv(folder / "results/reading/delta_log_likelihood.csv")
    columns = ["model", "dataset", "context", "corrected", "n_subjects"]
    assert table[columns].to_numpy().tolist() == [
        ["their-sentences", "my-times", "sentence", False, 6],
        ["theirs", "my-times", "imported", False, 6],
    ]
    assert table["delta"][0] > 100
    # 9 words of a sentence of 11 are at no boundary, half of them in the fit partition.
    assert table["n_fit"][0] == 6 * 40 * 9 / 2
    assert (folder / "results/reading/figure_2.pdf").read_bytes().startswith(b"%PDF")


def test_times_of_another_text_say_where_they_part(folder):
    times = pd.read_csv(folder / "times.csv")
    times["word"] = times["word"].replace({"cat": "dog", "mat": "log"})
    times.to_csv(folder / "times.csv", index=False)
    done = snakemake(
        folder, "--configfile", "own.yaml", "--", "results/reading_times/my-times.parquet"
    )
    assert done.returncode != 0
    said = "word 2 of passage '1' is 'dog' in the reading times and 'cat' in the text"
    assert said in done.stdout.split(" ERROR lingprob: ")[-1]
