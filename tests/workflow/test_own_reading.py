"""A researcher's own texts, reading times and word surprisals, by config entries alone."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from checkout import copy_of_the_checkout, planned_jobs, snakemake

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


def test_own_reading_times_and_surprisals_run_through(folder):
    done = snakemake(folder, "--configfile", "own.yaml", "--", "results/index.html")
    assert done.returncode == 0, done.stdout[-4000:]
    page = (folder / "results/index.html").read_text()
    assert "<h1>Your study</h1>" in page
    assert "Model differences" in page
    assert "sentence_boundary" in page
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


LAB = {"path": "lab.csv", "first_index": 1}
LAB_COLUMNS = {"item": "itemno", "condition": "cond", "word_index": "position", "word": "region"}


def test_a_laboratorys_table_needs_no_renaming(folder):
    """Items in two conditions, regions of several words, all rows by cross-validation."""
    random = np.random.default_rng(4)
    regions = {"a": ["Then", "the old cat", "sat", "a mat", "and slept."]}
    regions["b"] = [*regions["a"][:3], "on", *regions["a"][3:]]
    rows = [
        (f"p{reader}", item, cond, place, region,
         300 + 20 * reader + 12 * len(region) + 60 * (cond == "b") + random.normal(0, 20))
        for reader in range(6)
        for item in range(20)
        for cond in "ab"
        for place, region in enumerate(regions[cond], start=1)
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["who", "itemno", "cond", "position", "region", "RT"])
    frame.sample(frac=1, random_state=1).to_csv(folder / "lab.csv", index=False)
    keys = frame.drop_duplicates(["itemno", "cond", "position"])
    keys = keys.sort_values(["itemno", "cond", "position"])
    surprisals = pd.DataFrame({
        "passage_id": keys["itemno"].astype(str) + "/" + keys["cond"],
        "word_index": keys["position"] - 1, "surprisal": random.exponential(5, len(keys)),
    })  # fmt: skip
    surprisals.to_csv(folder / "lab_surprisals.csv", index=False)
    columns = {**LAB_COLUMNS, "subject_id": "who", "rt_ms": "RT"}
    config = {
        "datasets": {
            "lab-texts": {**LAB, "title": "T", "kind": "reading_texts", "parser": "passages",
                          "columns": LAB_COLUMNS},
            "lab-times": {**TIMES, **LAB, "texts": "lab-texts", "columns": columns,
                          "factors": ["condition"]},
        },
        "models": {"theirs": {**THEIRS, "texts": ["lab-texts"], "path": "lab_surprisals.csv"}},
        "reading": {"datasets": ["lab-times"], "models": ["theirs"], "partition": "subjects",
                    "random_effects": "reduced"},
        "bootstrap": 20,
    }  # fmt: skip
    (folder / "lab.yaml").write_text(yaml.safe_dump(config))
    done = snakemake(folder, "--configfile", "lab.yaml", "--", "reading")
    assert done.returncode == 0, done.stdout[-4000:]
    row = pd.read_csv(folder / "results/reading/delta_log_likelihood.csv").iloc[0]
    # First and last regions are at boundaries. The first inner one follows a surprisal.
    assert row["n_fit"] == row["n_evaluated"] == 6 * 20 * (3 + 4)
    effects = pd.read_csv(folder / "results/reading/effects.csv").set_index("term")["ms"]
    assert effects["condition_a"] == pytest.approx(-30, abs=5)


def test_own_times_plan_no_other_data(folder):
    """At scale laptop, whose own data sets include Natural Stories and its published fits."""
    config = ["--configfile", "own.yaml", "--config", "scale=laptop"]
    plan = snakemake(folder, "-n", *config, "--", "reading", "results/index.html")
    assert plan.returncode == 0, plan.stdout[-4000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["fit_reading_times"] == 1
    built = [jobs.get(name, 0) for name in ("build_words", "build_reading_times")]
    assert max(built) <= 1  # earlier tests may have made them
    assert "reproduce_published_fits" not in jobs
    assert "natural_stories" not in plan.stdout
    assert not {"report_morcela", "report_context", "report_overlap"} & jobs.keys()


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
