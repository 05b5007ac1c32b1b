"""Plans at every scale, and mistakes that are refused before any job runs."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import yaml

from checkout import ROOT, copy_of_the_checkout, planned_jobs, planned_resources, snakemake
from lingprob.catalog import Catalog, read_yaml
from lingprob.workflow.costs import BASE_MEMORY_MB
from rehearsal_for_tests import ALL, NOT_IN_THE_DEMO, in_folder, written

NOWHERE = (
    'datasets={"mine": {"title": "M", "kind": "stimuli", "parser": "table", "path": "nowhere.csv"}}'
)

CHUNK_CORPORA = {
    "demo": ["demo_sentences"],
    "laptop": ["gutenberg", "nltk", "brown_corpus"],
    "paper": ["pile_pythia"],
}
# Peak memory (MB) of `benchmarks/tables.py` at BLiMP's numbers of rows in contexts.
USED_ON_LARGE_TABLES = {"judge_contexts": 3400, "measure_context_overlap": 1600,
                        "summarise_context": 3700}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A dry run: its text, its jobs by rule, and the resources of each job."""

    text: str
    jobs: dict[str, int]
    resources: pd.DataFrame

    def of(self, rule: str) -> str:
        """The descriptions of the jobs of a rule."""
        return "\n".join(re.findall(rf"^(?:local)?rule {rule}:\n(?: .*\n)+", self.text, re.M))


def planned(checkout: Path, *arguments: str) -> Plan:
    """Return the jobs that a command would run."""
    done = snakemake(checkout, "-n", *arguments)
    assert done.returncode == 0, done.stdout[-4000:]
    return Plan(done.stdout, planned_jobs(done.stdout), planned_resources(done.stdout))


@pytest.fixture(scope="module")
def plans(checkout) -> dict[str, Plan]:
    """Everything at each scale, with the data to be placed by hand."""
    config = ["--resources", "gpu=8", "--config", "missing=stop"]
    return {
        scale: planned(checkout, *config, f"scale={scale}", "--", "all")
        for scale in ("demo", "laptop", "paper")
    }


# At scale laptop: three models, 15 states of trainings and orders of n-grams.
@pytest.mark.parametrize(
    ("rule", "counts"),
    [
        ("fit_linking_functions", [3, 3 + 15 + 4, 16]), ("analyse_strings", [1, 5 + 15 + 5, 4]),
        ("train_model", [2, 3, 3]), ("fine_tune_model", [2, 3, 3]), ("audit_pairs", [1, 5, 5]),
        ("estimate_ngram_model", [0, 5, 0]), ("sample_stimuli", [0, 3, 0]),
    ],
)  # fmt: skip
def test_scales_have_their_models_jobs(plans, rule, counts):
    assert [plan.jobs.get(rule, 0) for plan in plans.values()] == counts


def test_a_small_scale_has_few_jobs(plans):
    assert plans["demo"].jobs["total"] <= 60
    assert plans["laptop"].jobs["total"] <= 400


@pytest.mark.parametrize(("scale", "files"), [("demo", 1), ("laptop", 19), ("paper", 223)])
def test_one_job_scans_each_corpus_file(plans, scale, files):
    jobs = plans[scale].jobs
    assert jobs.get("scan_corpus", 0) + jobs.get("scan_text", 0) == files
    searched = set(re.findall(r"overlap/files/(\w+)/", plans[scale].of("select_chunks")))
    assert searched == set(CHUNK_CORPORA[scale])


def test_trainings_ask_for_gpus_and_time_by_scale(plans):
    for scale, gpus in (("demo", 0), ("laptop", 0), ("paper", 4)):
        asked = plans[scale].resources.query("rule == 'train_model'")
        assert set(asked["gpu"]) == {gpus}
        assert asked["runtime"].between(60, 3 * 24 * 60).all()


def test_laptop_reads_with_every_trained_state(plans):
    """Figure 2's points are three sizes before and after 5 and 10 steps of fine-tuning."""
    scored = set(re.findall(r"results/surprisal/(trained-[^/]+)/geco\.", plans["laptop"].text))
    sizes, states = ("small", "medium", "large"), ("", "-ft5", "-ft10")
    assert scored == {f"trained-tiny-{size}{state}" for size in sizes for state in states}


def test_unigrams_are_made_for_models_that_need_them(plans):
    """String probability wants a million items of FineWeb, and nothing for Chinese models."""
    made = re.findall(r"output: results/unigrams/(\S+)\.parquet", plans["paper"].text)
    assert "gpt2/corpus_fineweb_10bt" in made
    assert not any("chinese" in name for name in made)


@pytest.mark.parametrize("scale", ["demo", "laptop", "paper"])
def test_contexts_have_jobs_per_model_and_data(plans, scale):
    context, jobs = read_yaml("scales.yaml")[scale]["context"], plans[scale].jobs
    assert jobs["sample_prefixes"] == len(context["datasets"])
    assert jobs["perturb_prefixes"] == jobs["measure_context_overlap"] == 1
    of_models = ("judge_contexts", "judge_perturbed_contexts", "summarise_context")
    assert [jobs[rule] for rule in of_models] == [len(context["models"])] * 3


def test_every_paper_has_a_scorecard(plans):
    papers = ("morcela", "overlap", "reading", "string_probability", "training", "context")
    for plan in plans.values():
        made = set(re.findall(r"results/(\w+/scorecard\.\w+)", plan.text))
        kinds = ("parquet", "csv", "html")
        assert made == {f"{paper}/scorecard.{kind}" for paper in papers for kind in kinds}


@pytest.mark.parametrize(
    ("target", "jobs", "absent"),
    [
        ("overlap", ["report_overlap"], ["score_stimuli", "build_site"]),
        ("train", ["report_training", "train_model"], ["judge_contexts", "report_reading"]),
        ("results/scores/trained-tiny-small-ft5/none/demo_minimal_pairs.parquet",
         ["train_model", "fine_tune_model", "score_stimuli"], ["report_morcela"]),
    ],
)  # fmt: skip
def test_a_target_plans_its_own_jobs_alone(checkout, target, jobs, absent):
    plan = planned(checkout, "--", target)
    assert {*jobs} <= {*plan.jobs}
    assert not {*absent} & {*plan.jobs}


def test_one_paper_s_site_needs_it_alone(checkout):
    papers = 'site={"papers": ["overlap"]}'
    plan = planned(checkout, "--config", papers, "--", "results/index.html")
    assert plan.jobs["build_site"] == plan.jobs["report_overlap"] == 1
    assert not {"score_stimuli", "report_morcela", "show_model"} & set(plan.jobs)
    assert "results/site/leakage.html" in plan.text
    assert "results/site/morcela.html" not in plan.text


def test_kept_models_need_their_training_alone(checkout):
    target = "results/scores/trained-tiny-small-step4/none/demo_minimal_pairs.parquet"
    kept = 'training={"keep_checkpoints": [4]}'
    jobs = planned(checkout, "--config", kept, "--", target).jobs
    assert (jobs["train_model"], jobs["score_stimuli"]) == (1, 1)
    assert "fine_tune_model" not in jobs


def test_own_pairs_are_audited_under_every_policy(checkout):
    entry = '{"title": "M", "kind": "stimuli", "parser": "table", "path": "pairs.csv"}'
    (checkout / "pairs.csv").write_text("good,bad\nA b.,B a.\n")
    config = ["--config", f'datasets={{"mine": {entry}}}', 'audit={"datasets": ["mine"]}']
    plan = planned(checkout, *config, "--", "audit")
    assert plan.jobs["audit_pairs"] == 1
    scored = re.findall(r"results/scores/smollm2-135m/(\w+)/mine\.parquet", plan.text)
    policies = Catalog().model("smollm2-135m")["bos_policies"]
    assert set(scored) == {Catalog().start_token_of(policy) for policy in policies}


def test_own_ratings_cost_what_they_need(checkout):
    """At scale laptop: the model and its samples, and nothing about the papers' own data."""
    entry = '{"title": "M", "kind": "stimuli", "parser": "table", "path": "ratings.csv"}'
    (checkout / "ratings.csv").write_text("sentence,rating\nA b.,1\nB a.,2\n")
    fitted = 'morcela={"datasets": ["mine"], "models": ["smollm2-135m"]}'
    config = ["--config", "scale=laptop", f'datasets={{"mine": {entry}}}', fitted]
    plan = planned(checkout, "morcela", *config)
    assert plan.jobs["total"] <= 16  # the target is one of them
    assert not [name for name in plan.jobs if "download" in name or "frequency" in name]
    made = ("build_stimuli", "prepare_model", "fit_linking_functions")
    assert [plan.jobs[rule] for rule in made] == [1, 1, 1]
    unigrams = set(re.findall(r"results/unigrams/smollm2/(\S+)\.parquet", plan.text))
    assert unigrams == {"unigrahams_smollm2-135m"}


def test_missing_data_are_named_if_needed(checkout):
    plan = planned(checkout, "--config", "scale=paper", "--", "all")
    for name in ("brown_spr", "dundee", "hll", "pile_test", "llama-3-70b"):
        assert len(re.findall(rf"^Left out: {name} .*\(", plan.text, re.M)) == 1
        assert f"={name}\n" not in plan.text
    assert (plan.jobs["analyse_strings"], plan.jobs["report_string_probability"]) == (3, 1)
    assert (plan.jobs["train_model"], plan.jobs["fit_reading_times"]) == (3, 3)
    assert "regress_on_frequency" not in plan.jobs
    alone = planned(checkout, "--config", "scale=paper", "--", "morcela")
    assert re.findall(r"^Left out: (\S+) ", alone.text, re.M) == ["pile_test"]


def test_paper_scale_jobs_fit_a_cluster(plans):
    jobs = plans["paper"].resources
    assert len(jobs) > 700
    assert jobs["runtime"].max() == 24 * 60
    scans = jobs["rule"].isin(["scan_corpus", "scan_text"])
    assert jobs.loc[scans, "runtime"].max() <= 60
    # Pythia 12B over a hundred million tokens is cut into jobs, of which one sums up all.
    of_frequency = ["sum_frequency_moments", "regress_on_frequency"]
    moments = jobs.loc[jobs["rule"].isin(of_frequency), "runtime"]
    assert (len(moments), moments.max() < 8 * 60) == (9 * 8, True)
    # Only training has a process per GPU; of models, Llama-3-70B needs three, and OPT-30B in
    # single precision two.
    several = jobs[(jobs["gpu"] > 1) & (jobs["rule"] != "train_model")]
    named = (several["rule"] + " " + several["wildcards"]).str.extract("(llama-3-70b|opt-30b)")[0]
    assert set(zip(named, several["gpu"], strict=True)) == {("llama-3-70b", 3), ("opt-30b", 2)}
    downloads = jobs[jobs["download"] > 0]
    assert len(downloads) > 223
    assert downloads["disk_mb"].min() >= 100
    assert (downloads["disk_mb"] > 4196).sum() >= 143
    scoring = jobs[jobs["rule"].str.startswith("score_stimuli_morcela")]
    memory = scoring.set_index("wildcards")["mem_mb"]
    assert 70_000 < memory["model=pythia-12b"] < 120_000
    assert memory["model=opt-30b"] > memory["model=opt-13b"]


@pytest.fixture(scope="module")
def rehearsal(checkout, mirror, tmp_path_factory) -> str:
    """The plan of the whole rehearsal of the papers."""
    folder = written(tmp_path_factory.mktemp("paper"), mirror)
    return in_folder(checkout, folder, "-n", *ALL)


def test_a_rehearsal_has_the_same_jobs_and_requests(plans, rehearsal):
    assert "Left out" not in rehearsal
    jobs, rehearsed = plans["paper"].jobs, planned_jobs(rehearsal)
    differs = {rule for rule in rehearsed if rehearsed[rule] != jobs.get(rule)}
    # Sets are sampled, and the stream of a corpus is a file.
    assert differs == {"sample_stimuli", "download_dataset", "download_corpus_file", "total"}
    asked = plans["paper"].resources.merge(
        planned_resources(rehearsal), on=["rule", "wildcards"], suffixes=("", "_less")
    )
    assert len(asked) > 0.98 * jobs["total"]
    assert (asked["gpu"] == asked["gpu_less"]).all()
    less = asked[asked["mem_mb"] != asked["mem_mb_less"]]
    # Models that are trained are small.
    others = less[~less["rule"].isin(["train_model", "fine_tune_model"])]
    assert others["wildcards"].str.contains("model=trained-").all()


def test_a_short_rehearsal_has_every_rule(plans, checkout, mirror, rehearsal, tmp_path):
    plan = in_folder(checkout, written(tmp_path, mirror, short=True), "-n", *ALL)
    jobs, whole = planned_jobs(plan), planned_jobs(rehearsal)
    # The short one does not read Natural Stories, of which the whole one fits published surprisals.
    assert whole.keys() - jobs.keys() <= {"reproduce_published_fits"}
    assert jobs["total"] <= 100 < 800 < whole["total"]
    assert jobs.keys() - plans["demo"].jobs.keys() == NOT_IN_THE_DEMO


def asked_by_jobs_on_large_tables(jobs: pd.DataFrame) -> pd.Series:
    """The least memory (MB) that a job on BLiMP's contexts asks for, by rule."""
    return jobs[jobs["rule"].isin(USED_ON_LARGE_TABLES)].groupby("rule")["mem_mb"].min()


def test_jobs_on_large_tables_ask_for_enough(plans):
    asked = asked_by_jobs_on_large_tables(plans["paper"].resources)
    assert asked.index.tolist() == sorted(USED_ON_LARGE_TABLES)
    assert (asked > pd.Series(USED_ON_LARGE_TABLES)).all()


@pytest.mark.slow
def test_jobs_on_large_tables_use_no_more(plans, checkout):
    subprocess.run([sys.executable, ROOT / "benchmarks/tables.py"], cwd=checkout, check=True)
    used = pd.read_csv(ROOT / "results/benchmarks/tables.csv", index_col="job")
    assert used.loc["judge_contexts", "rows"] > 15_000_000
    asked = asked_by_jobs_on_large_tables(plans["paper"].resources)
    assert (used["peak_mb"] < asked).all()


def test_profiles_share_the_default_needs():
    profiles = [
        yaml.safe_load(path.read_text())["default-resources"]
        for path in sorted((ROOT / "profiles").glob("*/profile.yaml"))
    ]
    needs = [{key: profile[key] for key in ("mem_mb", "runtime")} for profile in profiles]
    assert needs == [{"mem_mb": BASE_MEMORY_MB, "runtime": 30}] * 2


def test_one_model_s_target_plans_that_model_alone(checkout):
    plan = planned(checkout, "--config", "scale=laptop", "--", "results/morcela/gpt2.parquet")
    assert plan.jobs["fit_linking_functions"] == plan.jobs["prepare_model"] == 1
    assert "report_morcela" not in plan.jobs
    assert "smollm2-135m" not in plan.text


def test_a_model_s_page_plans_all_papers(checkout):
    lists = [f'{paper}={{"models": ["gpt2"]}}'
             for paper in ("string_probability", "reading", "context")]  # fmt: skip
    page = "results/models/gpt2.html"
    plan = planned(checkout, "--config", "scale=laptop", *lists, "--", page)
    jobs = plan.jobs
    # SmolLM2 only brings the tokenizer that prefixes are measured by.
    assert jobs["prepare_model"] == 2
    assert not re.search(r"wildcards: .*model=(?!gpt2)(?!smollm2-135m\n)", plan.text)
    assert jobs["score_stimuli"] == 2
    for rule in ("judge_contexts", "compute_word_surprisal"):
        scored = re.findall(rf"rule {rule}:.*?wildcards: ([^\n]*)", plan.text, re.S)
        assert len(scored) == jobs[rule]
        assert all("model=gpt2" in one for one in scored)
    assert jobs["analyse_strings"] == jobs["fit_linking_functions"] == jobs["show_model"] == 1
    assert jobs["fit_reading_times"] >= 5  # those that need no file placed by hand
    assert not {"report_morcela", "report_context"} & set(jobs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--config", "scal=demo", "--", "morcela"], "unknown key at top level: 'scal'"),
        (["--config", NOWHERE, "--", "morcela"], "there is no 'nowhere.csv'. Correct the path"),
        (["--config", "scale=laptop", "--", "demo"], "ask for morcela or all"),
    ],
)
def test_a_mistake_is_one_message_without_work(checkout, arguments, said):
    refused = snakemake(checkout, *arguments)
    assert refused.returncode != 0
    assert said in refused.stdout
    assert "Traceback (most recent call last)" not in refused.stdout
    assert not (checkout / "results").exists()
    assert not (checkout / "resources").exists()


def test_the_plan_makes_nothing_but_a_table(tmp_path):
    folder = copy_of_the_checkout(tmp_path / "lingprob")
    done = snakemake(folder, "--config", "scale=paper", "--", "plan")
    assert done.returncode == 0, done.stdout[-4000:]
    assert (folder / "results/plan.txt").read_text() in done.stdout
    assert {"gpt2", "blimp"} <= set(pd.read_csv(folder / "results/plan.csv")["name"])
    assert {path.name for path in (folder / "results").iterdir()} == {"plan.csv", "plan.txt"}


def test_lock_files_fit_each_other_and_pyproject():
    checked = subprocess.run(
        [sys.executable, ROOT / "envs" / "lock.py", "--check"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


def test_rules_have_small_scripts_of_their_name():
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
