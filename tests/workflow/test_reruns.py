"""An edit reruns exactly the jobs that depend on it, after a simulated run.

Every output of the demo is made, but empty, and `--touch`ed. Snakemake then remembers inputs and
params as after a run. Plans are therefore those after a real run, which test_demo.py makes.
"""

import os
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from checkout import copy_of_the_checkout, planned_jobs, snakemake

PACKAGE = Path("workflow_scripts/lingprob")
CODE = "\nEDITED = True\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A copy of the checkout in which the demo seems to have run to its end."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("finished") / "lingprob")
    summary = snakemake(folder, "--summary", "demo").stdout
    for line in summary[summary.index("output_file") :].splitlines()[1:]:
        path = folder / line.split("\t")[0]
        if not path.suffix:  # the output is a folder
            path.mkdir(parents=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    done = snakemake(folder, "--touch", "--forceall", "demo")
    assert done.returncode == 0, done.stdout[-2000:]
    return folder


def planned(folder: Path, *arguments: str, target: str = "demo") -> dict[str, int]:
    """Return the jobs of a dry run without the target and the sum, or none."""
    text = snakemake(folder, "-n", *arguments, "--", target).stdout
    if "Nothing to be done" in text:
        return {}
    jobs = planned_jobs(text)
    assert jobs.pop("total") == sum(jobs.values())
    jobs.pop("demo", None)
    return jobs


@pytest.fixture
def edited(finished):
    """Put `new` for the first `old` in a file of the checkout, until the test ends."""
    before: dict[Path, tuple[str, int]] = {}

    def edit(file: Path, old: str, new: str) -> None:
        path = finished / file
        text = path.read_text()
        assert old in text
        before[path] = (text, path.stat().st_mtime_ns)
        path.write_text(text.replace(old, new, 1))

    yield edit
    for path, (text, time) in before.items():
        path.write_text(text)
        os.utime(path, ns=(time, time))


def jobs(*names: str) -> Counter[str]:
    """Return the number of jobs by name. Several names may be in one text."""
    return Counter(" ".join(names).split())


# Jobs that follow from sentence scores of the demo's pairs by its models, and from its prefixes.
SCORED = "audit_pairs report_morcela analyse_strings report_string_probability build_site"
CONTEXTS = (
    "judge_contexts measure_context_overlap perturb_prefixes judge_perturbed_contexts "
    "summarise_context report_context build_site"
)


def test_edits_that_change_no_number_rerun_nothing(finished, edited):
    """All at once, for a plan takes seconds; the plan names the rule that one of them touches."""
    edited(PACKAGE / "scoring/forward.py", "\n\n\n", "\n# A comment.\n\n\n")
    edited(PACKAGE / "models/loading.py", '"""', '"""In other words: ')
    edited(Path("workflow_scripts/score_stimuli.py"), '"""', '"""In other words: ')
    edited(PACKAGE / "io/tables.py", "\n\n\n", CODE + "\n\n")
    edited(PACKAGE / "stimuli/pairs.py", "\n\n\n", CODE + "\n\n")  # of no data set of the demo
    edited(PACKAGE / "catalog/datasets/scamp.yaml", "title: ", "title: The ")
    for script in (finished / "workflow_scripts").glob("*.py"):
        script.touch()
    batches = 'scoring={"tokens_per_batch": 1024, "sentences_per_shard": 100}'
    assert planned(finished, "--config", batches) == {}


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        pytest.param(
            PACKAGE / "stimuli/sentences.py", "\n\n\n", CODE + "\n\n",
            jobs("build_stimuli score_stimuli report_string_probability build_site"),
            id="a parser",
        ),
        pytest.param(
            PACKAGE / "io/schemas/scoring.py",
            '"int32", "n_tokens", "n_words"', '"float64", "n_tokens", "n_words"',
            jobs("score_stimuli " * 4, "fit_linking_functions " * 3, SCORED),
            id="a column's type",
        ),
        pytest.param(
            PACKAGE / "catalog/models.yaml", "title: SmolLM2 135M", "title: SmolLM2",
            jobs("report_context report_morcela report_reading report_string_probability",
                 "audit_pairs build_site"),
            id="a model's title",
        ),
        pytest.param(
            PACKAGE / "demo/control_sentences.txt", "the", "a",
            jobs("sample_prefixes", CONTEXTS),
            id="the package's data",
        ),
    ],
)  # fmt: skip
def test_an_edit_reruns_exactly_its_dependents(finished, edited, file, old, new, expected):
    edited(file, old, new)
    assert planned(finished) == expected


def test_one_more_model_repeats_no_scores(finished):
    """Of the demo's model, the perturbed ones alone: which suites these are, all models decide."""
    models = 'context={"models": ["smollm2-135m", "gpt2"]}'
    plan = snakemake(finished, "-n", "--config", models, "--", "context").stdout
    again = re.findall(r"rule judge_(?:perturbed_)?contexts:\n.*\n +output: ([^\s,]+)", plan)
    assert sorted(again) == [
        f"results/context/judgments/{name}.parquet"
        for name in ("drawn/gpt2", "perturbed/gpt2", "perturbed/smollm2-135m")
    ]
    assert "rule sample_prefixes" not in plan


def test_replaced_local_weights_are_another_model(finished):
    """Replaced weights. If only their time is new, Snakemake compares small files' content."""
    folder = finished / "models/mine"
    folder.mkdir(parents=True)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        (folder / name).write_text(name)
    entry = {"title": "Mine", "family": "mine", "source": "local", "path": "models/mine"}
    (finished / "own.yaml").write_text(yaml.safe_dump({"models": {"mine": entry}}))
    target = "results/scores/mine/none/demo_minimal_pairs.parquet"
    for path in (target, "resources/models/mine/manifest.json"):
        (finished / path).parent.mkdir(parents=True)
        (finished / path).touch()
    arguments = ("--configfile", "own.yaml")
    done = snakemake(finished, *arguments, "--touch", "--forceall", "--", target)
    assert done.returncode == 0, done.stdout[-2000:]
    assert planned(finished, *arguments, target=target) == {}
    (folder / "model.safetensors").write_text("other weights")
    rerun = planned(finished, *arguments, target=target)
    unigrams = "sample_unigrahams estimate_unigrams"
    assert rerun == jobs("prepare_model", unigrams, "score_stimuli")


def test_jobs_run_the_code_of_their_own_checkout(tmp_path, monkeypatch):
    """Not that of a package which was installed from elsewhere: a second clone, for instance."""
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    elsewhere = tmp_path / "elsewhere" / "lingprob"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("raise ImportError('the code of another checkout')\n")
    target = "results/stimuli/demo_minimal_pairs.parquet"
    monkeypatch.setenv("PYTHONPATH", str(elsewhere.parent))
    done = snakemake(folder, "--", target)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (folder / target).is_file()
