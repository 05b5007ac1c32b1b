"""What would be run: plans at every scale, and mistakes that are refused before anything runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from checkout import ROOT, copy_of_the_checkout, planned_jobs, planned_resources, snakemake
from lingprob.catalog import Catalog, read_yaml
from lingprob.workflow.costs import BASE_MEMORY_MB

NOWHERE = (
    'datasets={"mine": {"title": "M", "kind": "stimuli", "parser": "table", "path": "nowhere.csv"}}'
)
MOVED = 'models={"mine": {"title": "Mine", "family": "gpt2", "source": "local", "path": "nowhere"}}'

CHUNK_CORPORA = {
    "demo": ["demo_sentences"],
    "laptop": ["gutenberg", "nltk", "brown_corpus"],
    "paper": ["pile_pythia"],
}
# Peak memory (MB) of `benchmarks/tables.py` at BLiMP's numbers of rows in contexts.
USED_ON_LARGE_TABLES = {"judge_contexts": 3400, "measure_context_overlap": 1600,
                        "summarise_context": 3700}  # fmt: skip


# At scale laptop: three models, 15 states of trainings and 4 orders of n-grams.
@pytest.mark.parametrize(
    ("scale", "models", "ngrams"), [("demo", 3, 0), ("laptop", 3 + 15 + 4, 4), ("paper", 16, 0)]
)
def test_every_scale_has_a_plan(checkout, scale, models, ngrams):
    plan = snakemake(checkout, "-n", "--config", f"scale={scale}", "--", "morcela")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["fit_linking_functions"] == models
    assert jobs.get("estimate_ngram_model", 0) == ngrams


@pytest.mark.parametrize(("scale", "most"), [("demo", 60), ("laptop", 400)])
def test_a_small_scale_has_few_jobs(checkout, scale, most):
    plan = snakemake(checkout, "-n", "--config", f"scale={scale}", "--", "all")
    assert plan.returncode == 0, plan.stdout[-2000:]
    assert planned_jobs(plan.stdout)["total"] <= most


def test_the_site_of_one_paper_needs_that_paper_alone(checkout):
    papers = ["-n", "--config", 'site={"papers": ["overlap"]}', "--", "results/index.html"]
    plan = snakemake(checkout, *papers)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["build_site"] == jobs["report_overlap"] == 1
    assert not {"score_stimuli", "report_morcela", "show_model"} & set(jobs)
    assert "results/site/leakage.html" in plan.stdout
    assert "results/site/morcela.html" not in plan.stdout
    assert "build_site" not in planned_jobs(snakemake(checkout, "-n", "--", "overlap").stdout)


@pytest.mark.parametrize(("scale", "files"), [("demo", 1), ("laptop", 19), ("paper", 223)])
def test_every_scale_has_a_plan_for_the_overlaps_a_job_a_file(checkout, scale, files):
    arguments = ["-n", "--config", f"scale={scale}", "missing=stop"]
    plan = snakemake(checkout, *arguments, "--", "overlap")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    texts = read_yaml("scales.yaml")[scale]["overlap"]["texts"]
    scans = jobs.get("scan_corpus", 0) + jobs.get("scan_text", 0)
    assert (scans, jobs["build_words"]) == (files, len(texts))
    assert "score_stimuli" not in jobs
    chosen_from = re.search(r"rule select_chunks:.*?output:", plan.stdout, re.S)[0]
    searched = set(re.findall(r"overlap/files/(\w+)/", chosen_from))
    assert searched == set(CHUNK_CORPORA[scale])


@pytest.mark.parametrize(
    ("scale", "sizes", "gpus"), [("demo", 2, 0), ("laptop", 3, 0), ("paper", 3, 4)]
)
def test_every_scale_has_a_plan_for_training(checkout, scale, sizes, gpus):
    plan = snakemake(
        checkout, "-n", "--resources", "gpu=8", "--config", f"scale={scale}", "--", "train"
    )
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["train_model"] == jobs["fine_tune_model"] == sizes
    assert ("select_chunks" in jobs) == (scale != "demo")
    lines = re.findall(r"rule train_model:.*? resources: ([^\n]*)", plan.stdout, re.S)
    asked = [dict(re.findall(r"(gpu|runtime)=(\d+)", line)) for line in lines]
    assert {int(needs["gpu"]) for needs in asked} == {gpus}
    assert all(60 <= int(needs["runtime"]) <= 3 * 24 * 60 for needs in asked)


def test_reading_at_scale_laptop_is_of_the_trained_models_in_every_state(checkout):
    """Figure 2's points are three sizes before and after 5 and 10 steps of fine-tuning."""
    plan = snakemake(checkout, "-n", "--config", "scale=laptop", "--", "reading")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["train_model"] == jobs["fine_tune_model"] == 3
    scored = set(re.findall(r"output: .*results/surprisal/(trained-[^/]+)/geco\.", plan.stdout))
    states = ["", "-ft5", "-ft10"]
    assert scored == {
        f"trained-tiny-{size}{state}" for size in ("small", "medium", "large") for state in states
    }


def test_a_trained_model_is_scored_as_any_other(checkout):
    target = "results/scores/trained-tiny-small-ft5/none/demo_minimal_pairs.parquet"
    plan = snakemake(checkout, "-n", "--", target)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert (jobs["train_model"], jobs["fine_tune_model"], jobs["score_stimuli"]) == (1, 1, 1)


def test_a_model_kept_in_training_comes_of_its_training_alone(checkout):
    target = "results/scores/trained-tiny-small-step4/none/demo_minimal_pairs.parquet"
    plan = snakemake(checkout, "-n", "--config", 'training={"keep_checkpoints": [4]}', "--", target)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert (jobs["train_model"], jobs["score_stimuli"]) == (1, 1)
    assert "fine_tune_model" not in jobs


@pytest.mark.parametrize(("scale", "scored"), [("demo", 2), ("laptop", 42), ("paper", 6)])
def test_every_scale_has_a_plan_for_string_probability(checkout, scale, scored):
    arguments = ["-n", "--config", f"scale={scale}", "missing=stop"]
    plan = snakemake(checkout, *arguments, "--", "string_probability")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    # At scale laptop, 15 states of trainings and 5 orders of n-grams.
    assert jobs["analyse_strings"] == {"demo": 1, "laptop": 5 + 15 + 5, "paper": 4}[scale]
    assert jobs["score_stimuli"] == scored
    assert jobs.get("sample_stimuli", 0) == {"demo": 0, "laptop": 3, "paper": 0}[scale]
    if scale == "paper":
        # SLOR is for Prediction 3, which no Chinese model is tested on: no unigrams for them.
        # And for the others a million items of FineWeb, counted by each model's tokenizer; GPT-2's
        # entry lists its own samples, too.
        assert jobs["count_tokens"] == 2 * 50
        assert jobs["sample_unigrahams"] == 50
        assert "chinese" not in "".join(
            line for line in plan.stdout.splitlines() if "results/unigram" in line
        )


def test_own_pairs_are_audited_under_every_policy_and_the_scale_s_on_scores_that_are_there(
    checkout,
):
    entry = '{"title": "M", "kind": "stimuli", "parser": "table", "path": "pairs.csv"}'
    (checkout / "pairs.csv").write_text("good,bad\nA b.,B a.\n")
    config = ["--config", f'datasets={{"mine": {entry}}}', 'audit={"datasets": ["mine"]}']
    plan = snakemake(checkout, "-n", *config, "--", "audit")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["audit_pairs"] == 1
    scored = re.findall(r"results/scores/smollm2-135m/(\w+)/mine\.parquet", plan.stdout)
    policies = Catalog().model("smollm2-135m")["bos_policies"]
    assert set(scored) == {Catalog().start_token_of(policy) for policy in policies}
    laptop = ["-n", "--config", "scale=laptop", "missing=stop", "--"]
    alone = planned_jobs(snakemake(checkout, *laptop, "string_probability").stdout)
    both = planned_jobs(snakemake(checkout, *laptop, "string_probability", "audit").stdout)
    assert both["audit_pairs"] == 5
    assert both["score_stimuli"] == alone["score_stimuli"]
    assert both["measure_minimalness"] == alone["measure_minimalness"]


def test_own_ratings_cost_what_they_need(checkout):
    """At scale laptop: the model and its samples, and nothing about the papers' own data."""
    entry = '{"title": "M", "kind": "stimuli", "parser": "table", "path": "ratings.csv"}'
    (checkout / "ratings.csv").write_text("sentence,rating\nA b.,1\nB a.,2\n")
    fitted = 'morcela={"datasets": ["mine"], "models": ["smollm2-135m"]}'
    own = [f'datasets={{"mine": {entry}}}', fitted]
    plan = snakemake(checkout, "-n", "morcela", "--config", "scale=laptop", *own)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["total"] <= 16  # the target is one of them
    assert {name for name in jobs if "download" in name or "frequency" in name} == set()
    assert (jobs["build_stimuli"], jobs["prepare_model"], jobs["fit_linking_functions"]) == (
        1,
        1,
        1,
    )
    assert set(re.findall(r"results/unigrams/smollm2/(\S+)\.parquet", plan.stdout)) == {
        "unigrahams_smollm2-135m"
    }


def test_the_size_of_a_sample_is_in_its_name(checkout):
    """So that another size is another data set, and neither is taken for the other."""
    arguments = ["-n", "--config", "scale=laptop", 'string_probability={"pairs_per_dataset": 670}']
    plan = snakemake(checkout, *arguments, "--", "string_probability").stdout
    assert "results/scores/smollm2-135m/endoftext/blimp_sample670.parquet" in plan
    assert "sample2010" not in plan
    assert "li_large_sample" not in plan


@pytest.mark.parametrize(("scale", "figures"), [("demo", 10), ("laptop", 16), ("paper", 16)])
def test_every_scale_has_a_plan_for_contexts(checkout, scale, figures):
    plan = snakemake(checkout, "-n", "--config", f"scale={scale}", "--", "context")
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    context = read_yaml("scales.yaml")[scale]["context"]
    models, datasets = len(context["models"]), len(context["datasets"])
    assert jobs["sample_prefixes"] == datasets
    assert jobs["perturb_prefixes"] == jobs["measure_context_overlap"] == 1
    of_models = ("judge_contexts", "judge_perturbed_contexts", "summarise_context")
    assert [jobs[rule] for rule in of_models] == [models] * 3
    drawn = set(re.findall(r"results/context/figure_\d+\.png", plan.stdout))
    assert len(drawn) == figures


def test_what_is_not_there_and_cannot_be_fetched_is_left_out_and_all_else_is_planned(checkout):
    plan = snakemake(checkout, "-n", "--config", "scale=paper", "--", "all")
    assert plan.returncode == 0, plan.stdout[-2000:]
    for name in ("brown_spr", "dundee", "hll", "pile_test", "llama-3-70b"):
        assert len(re.findall(rf"^Left out: {name} .*\(", plan.stdout, re.M)) == 1
        assert f"={name}\n" not in plan.stdout
    jobs = planned_jobs(plan.stdout)
    assert (jobs["analyse_strings"], jobs["report_string_probability"]) == (3, 1)
    assert (jobs["train_model"], jobs["fit_reading_times"]) == (3, 3)
    assert "regress_on_frequency" not in jobs
    assert jobs["fit_linking_functions"] == 16


@pytest.fixture(scope="module")
def paper_jobs(checkout) -> pd.DataFrame:
    """The jobs at paper scale, with the data to be placed by hand, and what they ask for."""
    arguments = ["-n", "--resources", "gpu=8", "--config", "scale=paper", "missing=stop"]
    plan = snakemake(checkout, *arguments, "--", "all")
    assert plan.returncode == 0, plan.stdout[-4000:]
    return planned_resources(plan.stdout)


def test_no_job_at_paper_scale_asks_for_more_than_a_day_or_for_no_disk_to_download_to(paper_jobs):
    jobs = paper_jobs
    assert len(jobs) > 700
    assert jobs["runtime"].max() == 24 * 60
    scans = jobs["rule"].isin(["scan_corpus", "scan_text"])
    assert jobs.loc[scans, "runtime"].max() <= 60
    # Pythia 12B over a hundred million tokens is cut into jobs, of which one sums up all.
    of_frequency = ["sum_frequency_moments", "regress_on_frequency"]
    moments = jobs.loc[jobs["rule"].isin(of_frequency), "runtime"]
    assert (len(moments), moments.max() < 8 * 60) == (9 * 8, True)
    # Only training has a process a GPU; of models, Llama-3-70B needs three, and OPT-30B in
    # single precision two.
    several = jobs[(jobs["gpu"] > 1) & (jobs["rule"] != "train_model")]
    job = several["rule"] + " " + several["wildcards"]
    named = job.str.extract("(llama-3-70b|opt-30b)", expand=False)
    assert set(zip(named, several["gpu"], strict=True)) == {("llama-3-70b", 3), ("opt-30b", 2)}
    downloads = jobs[jobs["download"] > 0]
    assert len(downloads) > 223
    assert downloads["disk_mb"].min() >= 100
    assert (downloads["disk_mb"] > 4196).sum() >= 143


def asked_by_jobs_on_large_tables(jobs: pd.DataFrame) -> pd.Series:
    """The least memory (MB) that a job on BLiMP's contexts asks for, by rule."""
    return jobs[jobs["rule"].isin(USED_ON_LARGE_TABLES)].groupby("rule")["mem_mb"].min()


def test_jobs_on_large_tables_ask_for_what_they_were_seen_to_use(paper_jobs):
    asked = asked_by_jobs_on_large_tables(paper_jobs)
    assert asked.index.tolist() == sorted(USED_ON_LARGE_TABLES)
    assert (asked > pd.Series(USED_ON_LARGE_TABLES)).all()


@pytest.mark.slow
def test_jobs_on_large_tables_use_no_more_than_they_ask_for(paper_jobs, checkout):
    subprocess.run([sys.executable, ROOT / "benchmarks/tables.py"], cwd=checkout, check=True)
    used = pd.read_csv(ROOT / "results/benchmarks/tables.csv", index_col="job")
    assert used.loc["judge_contexts", "rows"] > 15_000_000
    assert (used["peak_mb"] < asked_by_jobs_on_large_tables(paper_jobs)).all()


def test_a_rule_that_states_no_needs_has_the_same_ones_in_every_profile():
    profiles = [
        yaml.safe_load(path.read_text())["default-resources"]
        for path in sorted((ROOT / "profiles").glob("*/profile.yaml"))
    ]
    needs = [{key: profile[key] for key in ("mem_mb", "runtime")} for profile in profiles]
    assert needs == [{"mem_mb": BASE_MEMORY_MB, "runtime": 30}] * 2


def test_paper_scale_asks_for_memory_time_and_gpus_by_model_size(checkout):
    plan = snakemake(checkout, "-n", "--config", "scale=paper", "--", "morcela").stdout
    asked = {}
    for model, resources in re.findall(
        r"rule score_(\S+)_for_morcela:.*?resources: ([^\n]*)", plan, re.S
    ):
        asked[model] = {
            key: int(value) for key, value in re.findall(r"(mem_mb|gpu|runtime)=(\d+)", resources)
        }
    assert len(asked) == 16
    assert {resources["gpu"] for resources in asked.values()} == {1}
    assert 70_000 < asked["pythia-12b"]["mem_mb"] < 120_000
    assert asked["opt-30b"]["mem_mb"] > asked["opt-13b"]["mem_mb"]
    assert all(10 <= resources["runtime"] <= 3 * 24 * 60 for resources in asked.values())


@pytest.mark.parametrize(
    ("target", "paper"),
    [
        *((name, name) for name in ("morcela", "overlap", "reading", "string_probability")),
        ("train", "training"),
        ("context", "context"),
    ],
)
def test_a_target_makes_its_paper_s_card(checkout, target, paper):
    plan = snakemake(checkout, "--config", "scale=demo", "-n", "--", target)
    assert plan.returncode == 0, plan.stdout[-2000:]
    made = re.findall(r"^    output: (.*/scorecard.*)", plan.stdout, re.M)
    assert {path for path in ", ".join(made).split(", ") if "/scorecard." in path} == {
        f"results/{paper}/scorecard.{kind}" for kind in ("parquet", "csv", "html")
    }


def test_one_model_s_target_plans_that_model_alone(checkout):
    plan = snakemake(
        checkout, "-n", "--config", "scale=laptop", "--", "results/morcela/gpt2.parquet"
    )
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    assert jobs["fit_linking_functions"] == jobs["prepare_model"] == 1
    assert "report_morcela" not in jobs
    assert "smollm2-135m" not in plan.stdout


def test_a_model_s_folder_may_go_once_it_is_prepared(checkout):
    manifest = checkout / "resources" / "models" / "mine" / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}")
    try:
        plan = snakemake(checkout, "-n", "--config", MOVED, "--", "results/morcela/mine.parquet")
    finally:
        shutil.rmtree(checkout / "resources")
    assert plan.returncode == 0, plan.stdout[-2000:]


def test_a_model_s_page_plans_its_model_alone_and_all_four_papers(checkout):
    lists = [f'{paper}={{"models": ["gpt2"]}}'
             for paper in ("string_probability", "reading", "context")]  # fmt: skip
    page = "results/models/gpt2.html"
    plan = snakemake(checkout, "-n", "--config", "scale=laptop", *lists, "--", page)
    assert plan.returncode == 0, plan.stdout[-2000:]
    jobs = planned_jobs(plan.stdout)
    # SmolLM2 only brings the tokenizer that prefixes are measured by.
    assert jobs["prepare_model"] == 2
    assert not re.search(r"wildcards: .*model=(?!gpt2)(?!smollm2-135m\n)", plan.stdout)
    scored = re.findall(r"rule score_(\S+)_for_\w+:", plan.stdout)
    assert set(scored) == {"gpt2"}
    assert len(scored) == jobs["score_stimuli"] == 2
    for rule in ("judge_contexts", "compute_word_surprisal"):
        scored = re.findall(rf"rule {rule}:.*?wildcards: ([^\n]*)", plan.stdout, re.S)
        assert len(scored) == jobs[rule]
        assert all("model=gpt2" in one for one in scored)
    assert jobs["analyse_strings"] == jobs["fit_linking_functions"] == jobs["show_model"] == 1
    assert jobs["fit_reading_times"] >= 5  # those that need no file placed by hand
    assert not {"report_morcela", "report_context"} & set(jobs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "scal=demo"], "unknown key at top level: 'scal'"),
        (["--config", "scale=dmo"], "did you mean 'demo'?"),
        (["--config", "seed=one"], "seed: 'one' is not a valid integer"),
        (["--config", 'morcela={"models": ["pythia-70"]}'], "Did you mean 'pythia-70m'"),
        (["--config", 'morcela={"datasets": ["demo"]}'], "'demo_minimal_pairs'"),
        (["--config", 'overlap={"texts": ["prov"]}'], "Did you mean 'provo'"),
        (["--config", 'overlap={"corpora": ["provo"]}'], "texts that people read, not a corpus"),
        (
            ["--config", 'overlap={"tokenizer": "gpt-neox"}'],
            "unknown model or tokenizer",
        ),
        (["--config", 'reading={"datasets": ["geco"]}'], "not a data set of reading times"),
        (["--config", 'reading={"models": ["smollm"]}'], "Did you mean 'smollm2-135m'"),
        (
            ["--config", "scale=laptop", 'reading={"models": ["published-*"]}'],
            "none of ['published-*'] has surprisals of 'brown_spr'",
        ),
        (["--config", 'string_probability={"models": ["gtp2"]}'], "Did you mean 'gpt2'"),
        (["--config", 'string_probability={"prediction_1": ["sling"]}'], "none for 'zh'"),
        (["--config", 'string_probability={"embeddings": {"en": "mpnet"}}'], "'all-mpnet-base-v2'"),
        (["--config", 'string_probability={"prediction_3": []}'], "prediction_3"),
        (["--config", 'context={"datasets": ["blmp"]}'], "Did you mean 'blimp'"),
        (["--config", 'context={"datasets": ["syntaxgym"]}'], "one of plain pairs is needed"),
        (["--config", 'context={"control": "blimp"}'], "a data set of stimuli, not a corpus"),
        (["--config", MOVED], "models.mine.path: there is no 'nowhere'"),
        (
            ["--config", NOWHERE],
            "datasets.mine.path: there is no 'nowhere.csv'. Correct the path",
        ),
        (["--config", "scale=laptop", "--", "demo"], "ask for morcela or all"),
    ],
)
def test_a_mistake_is_one_clear_message_and_nothing_is_done(checkout, arguments, said):
    target = [] if "--" in arguments else ["--", "morcela"]
    refused = snakemake(checkout, *arguments, *target)
    assert refused.returncode != 0
    assert said in refused.stdout
    assert "Traceback (most recent call last)" not in refused.stdout
    assert not (checkout / "results").exists()
    assert not (checkout / "resources").exists()


def test_the_plan_is_a_table_by_paper_and_model_and_makes_nothing_else(tmp_path):
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    done = snakemake(folder, "--config", "scale=paper", "--", "plan")
    assert done.returncode == 0, done.stdout[-4000:]
    assert (folder / "results/plan.txt").read_text() in done.stdout
    assert {"gpt2", "blimp"} <= set(pd.read_csv(folder / "results/plan.csv")["name"])
    assert {path.name for path in (folder / "results").iterdir()} == {"plan.csv", "plan.txt"}


def test_the_code_is_clean_for_snakemake(checkout):
    assert snakemake(checkout, "--lint").returncode == 0


def test_lock_files_fit_each_other_and_pyproject():
    checked = subprocess.run(
        [sys.executable, ROOT / "envs" / "lock.py", "--check"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_every_rule_has_a_script_of_its_name_that_stays_small():
    text = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    scripts = {Path(name).stem for name in re.findall(r'script:\s+"([^"]+)"', text)}
    rules = set(re.findall(r"^rule (\w+):", text, re.M))
    targets = {"audit", "context", "morcela", "overlap", "reading", "train"}
    targets |= {"string_probability"}
    # By the script of judge_contexts.
    assert rules - scripts == targets | {"judge_perturbed_contexts"}
    for name in scripts:
        lines = (ROOT / "workflow_scripts" / f"{name}.py").read_text().splitlines()
        assert len(lines) <= 45, name
        assert not any("snakemake.config" in line for line in lines), name
