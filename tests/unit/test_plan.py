"""Resources of jobs, and the pairs of data set and model, against values derived by hand."""

import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from checkout import ROOT
from lingprob.figures.palette import series_of
from lingprob.workflow import scope, sources
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.costs import Costs, speed
from lingprob.workflow.missing import LeftOut, leave_out
from lingprob.workflow.plan import as_text, totals
from lingprob.workflow.plan import plan as planned_costs
from lingprob.workflow.sources import Run
from lingprob.workflow.start import StartedRun, read_run

OWN_SCORES = {"title": "S", "family": "mine", "source": "scores", "level": "token", "path": "s.csv"}
MINE = {"title": "M", "family": "mine", "source": "local", "path": "mine"}
OWN_DATA = {"title": "O", "kind": "stimuli", "parser": "table", "path": "own.csv"}


def plan(scale: str = "demo", **config: Any) -> Run:
    return Run(*read_settings({"scale": scale, **config}))


def costs(scale: str = "paper", **config: Any) -> Costs:
    return Costs(*read_settings({"scale": scale, **config}))


# 2,000 MB for Python with torch, and six bytes per parameter. 80,000 MB suffice for 32e9 parameters
# in half precision with a quarter more for the rest, and 16e9 in single. BLiMP's 134,000 sentences
# are 2.01e6 tokens, read after two start tokens. At 0.333 x 19.5 TFLOP/s in single precision (312
# in half), three times 2 FLOP per parameter and token take 1857 s for 1e9 parameters.
@pytest.mark.parametrize(("model", "memory_mb", "gpus", "minutes"), [
    ("pythia-70m", 2000 + 422, 1, 60 + 2 * 2.18),
    ("gpt2", 2000 + 746, 1, 60 + 2 * 3.85),
    ("opt-6.7b", 2000 + 39_950, 1, 60 + 2 * 206.11),
    ("pythia-12b", 2000 + 71_076, 1, 60 + 2 * 366.68),
    ("opt-30b", 2000 + 179_847, 2, 60 + 2 * 927.83),
    ("llama-3-70b", 2000 + 423_322, 3, 60 + 2 * 136.49),  # in half precision
    ("mine", 2000 + 6000, 1, 60 + 30.95),  # of unknown size: a billion; one start token
])  # fmt: skip
def test_resources_follow_from_a_model_s_parameters(model, memory_mb, gpus, minutes):
    asked = costs(models={"mine": MINE, "masked": {**MINE, "kind": "masked"}})
    assert asked.memory_mb(model) == memory_mb
    assert asked.gpus(model) == gpus
    seconds = asked.scoring_stimuli(model, ["blimp"])
    assert asked.runtime(seconds) == min(24 * 60, int(minutes))
    # Three corrections, each of as many passes as a sentence has tokens.
    seconds = asked.scoring_stimuli("mine", ["blimp"])
    assert asked.scoring_stimuli("masked", ["blimp"]) == pytest.approx(3 * 15 * seconds)


def test_small_models_need_no_gpu_on_one_machine():
    asked = costs("laptop")
    assert (asked.gpus("smollm2-135m"), asked.gpus("pythia-410m")) == (0, 1)
    # 2 x 2010 sentences of 15 tokens at 364 tokens/s, twice: 331 s for both start tokens.
    seconds = asked.scoring_stimuli("smollm2-135m", ["blimp_sample2010"])
    assert seconds == pytest.approx(331.3, abs=0.5)
    assert asked.runtime(seconds) == 60 + 3 * 331 // 60
    assert asked.scoring_stimuli("smollm2-135m", ["blimp"]) > 10 * seconds
    assert [asked.threads(name) for name in ("smollm2-135m", "pythia-14m", "opt-30b")] == [8, 1, 1]
    assert costs("laptop", scoring={"device": "cuda"}).gpus("smollm2-135m") == 1
    assert costs("paper", scoring={"device": "cpu"}).gpus("llama-3-70b") == 0
    assert costs("paper", scoring={"dtype": "float16"}).gpus("opt-30b") == 1
    assert (asked.takes_gpu("auto"), costs().takes_gpu("auto")) == (False, True)
    # Five bytes per parameter: 64.2 and 150 GB.
    small_gpus = costs(machine={"gpu_memory_mb": 24_000})
    assert [small_gpus.gpus(name) for name in ("opt-13b", "opt-30b")] == [3, 7]


def test_a_training_asks_for_its_processes():
    """Small: 28,125,440 parameters, of which 15,247,616 take part in products, and attention's
    12 x 3 x 256 x 2,048: 110,360,064 FLOP per token would be 941,000 tokens per second, more than a
    GPU is fed. 2.1e10 tokens at 4 x 200,000 take 26,214 s, requested three times."""
    asked = costs()
    assert asked.training_gpus() == 4
    assert asked.training_memory_mb("small") == 4 * (4000 + 900)
    assert asked.training("small") == pytest.approx(26_214, abs=2)
    alone = costs(training={"device": "cpu", "processes": 1})
    assert alone.training_gpus() == 0
    assert alone.training_memory_mb("small") == 4900


def test_bulk_jobs_have_number_formats_of_their_own():
    there, asked = plan("paper", models={"new": MINE}), costs()
    single, half = {"cpu": "float32", "cuda": "float32"}, {"cpu": "float32", "cuda": "float16"}
    for model, faster in (("pythia-1b", half), ("opt-125m", half), ("new", half), ("gpt2", single)):
        assert sources.model_entry(there, model, "family", bulk=False)["dtype"] == single
        assert sources.model_entry(there, model, "family", bulk=True)["dtype"] == faster
    # The order of params without `bulk`, so that finished scores are kept.
    entry = sources.model_entry(there, "gpt2", "context_window", bulk=False)
    assert [*entry.items()] == [("dtype", single), ("context_window", 1024)]
    formats = {"cuda": "bfloat16", "bulk": "float16"}
    own = plan(models={"mine": {**MINE, "dtype": formats}})
    assert sources.model_entry(own, "mine", "", bulk=False)["dtype"] == {"cuda": "bfloat16"}
    assert sources.model_entry(own, "mine", "", bulk=True)["dtype"] == {"cuda": "float16"}
    # A hundred million tokens, twice, at sixteen times the speed.
    usual, bulk = (asked.scoring("opt-6.7b", 1e6, bulk=each) for each in (False, True))
    assert usual / bulk == pytest.approx(312 / 19.5)
    start_tokens = len(asked.settings["morcela"]["frequency_start_tokens"])
    assert asked.regressing("opt-6.7b") == pytest.approx(bulk * 200 * start_tokens)


def test_long_jobs_have_enough_attempts():
    """Prefixes and trainings continue after a time limit, as often as the profile retries."""
    limit = 24 * 60
    asked, without = costs(), costs(machine={"max_runtime": 100_000})
    seconds = [*map(asked.judging, asked.settings["context"]["models"])]
    seconds += map(asked.training, asked.settings["training"]["sizes"])
    needed = [*map(without.runtime, seconds)]
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "profile.yaml").read_text())
    assert limit < max(needed) <= limit * (1 + profile["retries"])
    assert asked.runtime(max(seconds)) == limit


def test_contexts_take_the_time_of_their_pairs():
    """Five prefixes of 1,000 tokens and targets of 16 at ten lengths for each pair; 67,000 pairs of
    BLiMP, 842 of SyntaxGym, 1,508 of CrowS-Pairs; matrices of 70 and 23 suites."""
    asked = costs()
    matrices = [67_000 * 69 * 16 + 70_000, 842 * 22 * 16 + 23_000, 0]
    pairs = {"blimp": 67_000, "syntaxgym": 842, "crows_pairs": 1508}
    found = [asked.context_tokens("sampled", name) for name in pairs]
    grown = [count * 5 * 1160 for count in pairs.values()]
    assert found == [one + matrix for one, matrix in zip(grown, matrices, strict=True)]
    shared = costs(context={"pairs_per_prefix": 10})
    assert shared.context_tokens("sampled", "syntaxgym") == 842 * 5 * 260 + matrices[1]


def test_contexts_take_the_time_that_their_stage_has():
    """Of the laptop's 20 pairs in 70 suites: 750 tokens before fifteen, targets at three lengths,
    ten pairs per suite in the matrix, 20 suites under 16 perturbations to 125 tokens."""
    asked = costs("laptop")
    matrix = 700 * 69 * 16 + 70_000
    assert asked.context_tokens("sampled", "blimp") == 5 * (70_000 + 1400 * 16 * 3) + matrix
    perturbed = asked.context_tokens("perturbed", "blimp")
    assert perturbed == pytest.approx(16 * (400 / 15 * 125 + 400 * 16))
    # All nine types of bias, of 30 pairs each.
    assert asked.context_tokens("perturbed", "crows_pairs") == 16 * (18 * 125 + 270 * 16)
    names = asked.settings["context"]["datasets"]
    every = sum(asked.context_tokens("sampled", name) + 8 * asked.items(name) for name in names)
    seconds = [asked.judging_perturbed("smollm2-135m"), asked.judging("smollm2-135m")]
    assert seconds == [asked.scoring("smollm2-135m", n, bulk=True) for n in (perturbed, every)]


def test_texts_are_sized_by_words_or_bytes(tmp_path):
    """Provo's 2,745 words have 1.3 tokens each, and windows read them twice. A user's file has
    sixty sentences of 40 bytes. The size of Dundee and of missing files is unknown."""
    (tmp_path / "own.csv").write_text("x" * 2400)
    table = {"title": "T", "kind": "stimuli", "parser": "table"}
    own = {name: {**table, "path": str(tmp_path / f"{name}.csv")} for name in ("own", "none")}
    texts = {"title": "T", "kind": "reading_texts", "parser": "passages"}
    own["read"] = {**texts, "path": str(tmp_path / "own.csv")}
    asked = costs("laptop", datasets=own)
    seconds = asked.reading("smollm2-135m", ["provo"])
    assert seconds == pytest.approx(asked.scoring("smollm2-135m", 2 * 1.3 * 2745))
    assert asked.text_tokens("dundee") == pytest.approx(1.3 * 60_000)
    assert [asked.items(name) for name in ("own", "none")] == [60, 130_000]
    assert asked.context_tokens("sampled", "own") < asked.context_tokens("sampled", "none") / 10
    assert asked.text_tokens("read") == pytest.approx(1.3 * 400)


def test_a_scan_takes_the_time_of_its_bytes():
    """A chunk has 1,024,000 rows of 2,049 tokens of two bytes: 4,196 MB at 85 MB/s, three times; a
    file of unknown size 1,000 MB of text at 7 MB/s. A chunk that passes by is also fetched, at
    50 MB/s."""
    asked = costs(overlap={"keep_chunks": True})
    chunk = "pile_pythia", "chunk-000.npy"
    assert asked.scanning(*chunk) == pytest.approx(4196.352 / 85)
    assert costs().scanning(*chunk) - asked.scanning(*chunk) == pytest.approx(4196.352 / 50)
    unstated = asked.scanning("openwebtext", "train-00000-of-00080.parquet")
    assert unstated == pytest.approx(1000 / 7)
    assert asked.runtime(unstated, start=30) == 37
    own = {"title": "C", "kind": "corpus", "parser": "text", "path": "corpus"}
    assert costs(datasets={"own": own}).scanning("own", "a.txt") == pytest.approx(1000 / 7)
    web = {"title": "W", "kind": "corpus", "source": "hub", "repository": "a/b", "split": "train",
           "revision": "0" * 40, "column": "text", "rows": 500}  # fmt: skip
    assert costs(datasets={"web": web}).bytes_of("web") == 500 * 4000


def test_core_speeds_follow_from_the_nearest_measured_size():
    for parameters, expected in ((134_515_008, 364), (1_345_150_080, 36.4)):
        assert speed("scoring", 1.0, parameters, False, "float32") == pytest.approx(expected)
    # Nearer to Medium's 70 million than to Small's 28.
    medium = speed("training", 1.0, 60_000_000, False, "float32")
    assert medium == pytest.approx(185 * 70 / 60)


def test_totals_count_each_download_once():
    """GPT-2 scores, reads and judges: 746 MB besides Python, and 497 MB of files with a margin."""
    papers = ("morcela", "string_probability", "reading", "context")
    settings = {paper: {"models": ["gpt2"]} for paper in papers}
    models = ["gpt2", "opt-30b", "mine", "s", "trained-*"]
    more = {"models": models, "unigrams": ["none*"], "frequency_models": ["opt*"]}
    asked = costs(**{**settings, "morcela": more}, models={"s": OWN_SCORES, "mine": MINE})
    table = pd.DataFrame(planned := planned_costs(asked))
    rows, datasets = table.set_index(["paper", "name"]), scope.scored_datasets(asked, "morcela")
    small, large = (
        asked.scoring_stimuli(name, datasets) + asked.sampling(name) for name in models[:2]
    )
    seconds = {
        ("morcela", "gpt2"): small,
        ("morcela", "opt-30b"): 2 * (large + asked.regressing("opt-30b")),  # on two GPUs
        ("reading", "gpt2"): asked.reading("gpt2", scope.read_texts(asked)),
        ("context", "gpt2"): asked.judging("gpt2") + asked.judging_perturbed("gpt2"),
        ("training", "trained-small"): 4 * asked.training("small"),
        ("overlap", "openwebtext"): asked.scanning("openwebtext"),
        ("reading", "geco"): 0.0,  # the texts of its times
    }
    hours = table["gpu_hours"].where(table["gpus"] > 0, table["core_hours"]).set_axis(rows.index)
    assert hours[[*seconds]].tolist() == pytest.approx([one / 3600 for one in seconds.values()])
    assert not {("morcela", "s"), ("morcela", "trained-small")} & {*rows.index}
    assert rows.loc[("morcela", "mine"), "download_gb"] == 0
    rows = rows.xs("gpt2", level="name")
    assert sorted(rows.index) == sorted(papers)
    sizes = rows[["gpus", "memory_gb", "download_gb"]].to_numpy().tolist()
    assert sizes == [pytest.approx([1, 2.746, 1.497])] * 4
    summed = pd.DataFrame(totals(planned)).set_index("paper")
    every, once = summed.loc["all"], table.drop_duplicates("name")
    assert every["memory_gb"] == table["memory_gb"].max()
    assert every["gpu_hours"] == pytest.approx(table["gpu_hours"].sum())
    assert every["download_gb"] == pytest.approx(once["download_gb"].sum())
    # 143 chunks of the Pile as Pythia saw it.
    assert summed.loc["overlap", "download_gb"] > 600
    text = as_text(totals(planned), "paper", ["hll: ask its authors"])
    assert "gpu: ASSUMED: peak of" in text
    assert text.endswith("Missing:\n  hll: ask its authors\n")


def test_downloads_ask_for_their_files_disk():
    asked = costs()
    assert asked.download_mb("pile_pythia", "chunk-000.npy") == 100 + 4196
    assert asked.download_mb("abc_news", "abc.zip") == 101
    assert asked.download_mb("crows_pairs") == asked.download_mb("demo_sentences") == 100
    assert asked.leakage_free_bytes("pile_pythia") == 2 * 10 * 1_024_000 * 2049 * 2
    blimp = sum(file["bytes"] for file in asked.catalog.dataset("blimp")["files"])
    assert asked.download_mb("blimp") == 100 + blimp // 1_000_000
    assert asked.model_download_mb("opt-30b") == 1000 + 119_898
    assert asked.model_download_mb("smollm2-135m") == 1000 + 2 * 538


@pytest.mark.parametrize(("machine", "first", "grown"), [
    ({}, 8000, [8000, 16_000, 24_000, 24_000, 24_000]),
    ({"memory_mb": 12_000}, 8000, [8000, 12_000, 12_000]),
    ({"memory_mb": 12_000}, 13_000, [13_000, 13_000]),  # a first attempt is not cut
])  # fmt: skip
def test_memory_grows_with_the_first_attempts(machine, first, grown):
    asked = costs(machine=machine)
    assert [asked.grown(first, attempt) for attempt in range(1, len(grown) + 1)] == grown


# A function of a run, the scale and further settings, the rest of its arguments, and its value.
GPT2_ALONE = {"morcela": {"models": ["smollm2-135m", "other"]}, "models": {"other": OWN_SCORES}}
BERT = {
    "models": {"other": {**OWN_SCORES, "datasets": ["li_adger"]}},
    "morcela": {"models": ["smollm2-135m", "other"], "datasets": ["linguistic_inquiry"]},
}
BOTH = ["unigrahams_smollm2-135m", "corpus_gutenberg"]
OF_CORPORA = {"morcela": {"unigrams": ["corpus_*"]}}
SHARDS = {"unigrams": {"shards": 3}, "unigrahams": {"shards": 2}}
SUMS = "results/unigram_sums"
ENGLISH = ["blimp", "scamp_plausible", "scamp_implausible", "syntaxgym_pairs", "li_large"]
OWN_WORDS = {**OWN_SCORES, "level": "word", "texts": ["provo", "dundee"]}  # the first is read
RATED = ["linguistic_inquiry", "li_adger", "cola", "scamp_plausible_sample2010"]
VALUES = [
    # Two policies, one start token: scored once.
    (scope.start_tokens, "laptop", {}, ["pythia-70m"], ["none", "bos"]),
    (scope.default_convention, "laptop", {}, ["pythia-70m"], ["none", "pile_published"]),
    # A model generates from the first token that its policies name.
    (sources.generation_start_token, "demo", {}, ["smollm2-135m"], "<|endoftext|>"),
    (sources.generation_start_token, "demo", {}, ["pythia-70m"], "bos"),
    (sources.generation_start_token, "demo", {"models": {"mine": MINE}}, ["mine"], "bos"),
    # Patterns choose among unigram sources and spare the default one.
    (scope.unigram_sources, "demo", OF_CORPORA, ["pythia-70m"], ["pile_published"]),
    (scope.unigram_tables, "demo", OF_CORPORA, ["smollm2-135m"],
     [f"results/unigrams/smollm2/{name}.parquet" for name in BOTH]),
    (scope.unigram_tables, "demo", {"models": {"other": OWN_SCORES}}, ["other"], []),
    # Prediction 3 has its own unigrams if a model's entry lists them.
    (scope.string_convention, "paper", {}, ["gpt2"], ["bos", "corpus_fineweb_10bt"]),
    (scope.string_convention, "paper", {}, ["opt-30b"], ["bos", "unigrahams_opt-30b"]),
    (scope.string_convention, "paper", {}, ["gpt2-chinese"], ["cls", "imported"]),
    (scope.string_convention, "paper", {"string_probability": {"unigrams": None}}, ["gpt2"],
     ["bos", "unigrahams_gpt2"]),
    (scope.string_convention, "laptop", {}, ["smollm2-135m"],
     ["endoftext", "unigrahams_smollm2-135m"]),
    (scope.string_convention, "laptop", {}, ["trigram"], ["imported", "imported"]),
    # Shards of samples and of a corpus are counted apart.
    (sources.unigram_shards, "demo", SHARDS, ["gpt2", "unigrahams_gpt2"],
     [f"{SUMS}/gpt2/unigrahams_gpt2/{shard}-of-2.parquet" for shard in (0, 1)]),
    (sources.unigram_shards, "demo", SHARDS, ["gpt2", "corpus_gutenberg"],
     [f"{SUMS}/gpt2/corpus_gutenberg/{shard}-of-3.parquet" for shard in (0, 1, 2)]),
    (sources.unigram_shards, "demo", SHARDS, ["opt", "unigrahams-released_opt-30b"],
     [f"{SUMS}/opt/unigrahams-released_opt-30b/{shard}-of-2.parquet" for shard in (0, 1)]),
    # Strings are scored in a model's language, if published scores cover them.
    (scope.string_datasets, "paper", {}, ["gpt2-chinese"], ["zhoblimp", "sling", "hll"]),
    (scope.string_datasets, "laptop", {}, ["trigram"], ["li_adger"]),
    (scope.string_datasets, "paper", {}, ["gpt2"], [*ENGLISH, "cola"]),
    (scope.paired_datasets, "paper", {}, ["gpt2"], ENGLISH),
    # The size of a sample is in its name.
    (scope.scored_as, "paper", {}, ["blimp"], "blimp"),
    (scope.minimalness, "laptop", {}, ["sling"],
     ["results/minimalness/sbert-base-chinese-nli/sling_sample2010.parquet"]),
    (scope.minimalness, "demo", {"datasets": {"own": {**OWN_DATA, "language": "ja"}}}, ["own"],
     []),
    (scope.made_with, "laptop", {"models": {"other": {**OWN_WORDS, "context": "sentence"}}},
     ["context", ["smollm2-135m", "other", "published-gpt2"]],
     {"smollm2-135m": "passage", "other": "sentence", "published-gpt2": None}),
    (scope.imported_surprisals, "laptop", {"models": {"other": OWN_WORDS}}, ["other", "provo"],
     {"model": "other", "text": "provo", "path": "s.csv", "unit": "bits",
      "texts_in_file": ["provo", "dundee"]}),
    (scope.predictions, "demo", {}, [], {"demo_minimal_pairs": [1, 2, 3]}),
    (scope.frequency_models, "demo", GPT2_ALONE, [], ["smollm2-135m"]),
    (scope.context_lengths, "laptop", {}, ["sampled"], [125, 350, 750]),
    (scope.context_task, "laptop", {"datasets": {"own": OWN_DATA}}, ["perturbed", "own"],
     {"dataset": "own", "entry": {"parser": "table"}, "lengths": [125], "alone": False}),
    (scope.context_lengths, "demo", {"context": {"lengths": [40, 9]}}, ["sampled"], [9, 40]),
    # Fits predict the rated data sets and, by MORCELA's models, others.
    (scope.predicted_datasets, "laptop", {}, ["smollm2-135m"], RATED),
    (scope.predicted_datasets, "laptop", {}, ["trigram"], ["li_adger"]),
    (scope.predicted_datasets, "laptop", {}, ["gpt2"], ["linguistic_inquiry", "li_adger"]),
    # Published scores of BERT cover li_adger and no other rated set.
    (scope.rated_datasets, "demo", BERT, ["smollm2-135m"], ["linguistic_inquiry"]),
    (scope.rated_datasets, "demo", BERT, ["other"], []),
    (scope.fitted_models, "demo", BERT, [], ["smollm2-135m"]),
    # Sources of data sets. The rows of a data set on the hub are one file.
    (sources.raw_dataset, "demo", {}, ["demo_minimal_pairs"], {}),
    (sources.raw_dataset, "demo", {"datasets": {"own": OWN_DATA}}, ["own"], {"own": ["own.csv"]}),
    (sources.raw_dataset, "demo", {}, ["syntaxgym_pairs"],
     {"manifest": "resources/datasets/syntaxgym/manifest.tsv"}),
    (sources.corpus_files, "demo", {}, ["fineweb_10bt"],
     ["resources/datasets/fineweb_10bt/manifest.tsv"]),
    (sources.corpus_file_names, "demo", {}, ["fineweb_10bt"], ["rows.parquet"]),
    (sources.corpus_files, "demo", {}, ["abc_news"],
     ["resources/datasets/abc_news/manifests/abc.zip.tsv"]),
    (sources.corpus_file_path, "demo", {}, ["abc_news", "abc.zip"],
     "resources/datasets/abc_news/abc.zip"),
    (sources.corpus_file_names, "demo", {}, ["demo_sentences"], ["package"]),
    (sources.corpus_file, "demo", {}, ["demo_sentences", "package"], []),
    (sources.tokenizer_files, "demo", {}, ["gpt2"], "resources/models/gpt2/manifest.json"),
    (sources.tokenizer_manifest, "demo", {}, ["opt"], "resources/models/opt-125m/manifest.json"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "scale", "config", "arguments", "value"), VALUES)
def test_what_follows_from_the_settings(function, scale, config, arguments, value):
    assert function(plan(scale, **config), *arguments) == value


def test_lists_of_models_change_no_scoring_job():
    there = plan("laptop")
    assert scope.scored_datasets(there, "morcela") == RATED
    strings = scope.scored_datasets(there, "string_probability")
    samples = [f"{name}_sample2010" for name in ("blimp", "scamp_implausible")]
    assert strings == [*samples, "syntaxgym_pairs", "li_large", "toy_strings"]
    assert scope.scored_datasets(there, "audit") == []  # string_probability has them
    models = ["smollm2-135m", "gpt2", "gpt2-chinese"]
    rules = scope.scoring_rules(there, models)
    assert rules == scope.scoring_rules(plan("laptop", morcela={"models": ["gpt2"]}), models)
    assert rules["string_probability", "en", "endoftext", "none"] == ["smollm2-135m"]
    # No pairs are in its language.
    assert not [key for key in rules if key[:2] == ("string_probability", "zh")]
    assert scope.datasets_to_score(there, "smollm2-135m", "string_probability") == strings
    assert scope.datasets_to_score(there, "trigram", "morcela") == ["li_adger"]


def test_frequency_regressions_have_both_start_tokens():
    there = plan("laptop", morcela={"models": ["smollm2-135m"]})
    regressed = scope.frequency_regression(there, "smollm2-135m")
    assert list(regressed["start_tokens"]) == ["none", "endoftext"]
    assert (regressed["corpus"], regressed["parser"]) == ("state_of_the_union", "nltk_zip")
    for key in ("tokens", "document_tokens"):
        assert regressed[key] == there.settings["morcela"][f"frequency_{key}"]
    alone = scope.frequency_regression(plan("paper"), "pythia-14m")["start_tokens"]
    assert list(alone) == ["none"]


def test_analyses_decide_which_ratings_are_needed():
    demo = "demo_minimal_pairs"
    for morcela, pairs, ratings in (("own", "own", "every"), (demo, "own", "some"),
                                    (demo, demo, "none")):  # fmt: skip
        there = plan(datasets={"own": OWN_DATA}, morcela={"datasets": [morcela]},
                     string_probability={"prediction_2": [pairs]})  # fmt: skip
        assert scope.stimuli_entry(there, "own")["ratings"] == ratings
    assert "ratings" not in scope.stimuli_entry(there, demo)


def test_reading_times_meet_surprisals_of_their_text():
    there = plan("laptop")
    own, *trained = scope.dataset_models(there, "provo_motr")
    assert own == "smollm2-135m"
    # Three sizes, after all steps, and after 5 and 10 of fine-tuning.
    assert len(trained) == 3 * 3
    assert all(name.startswith("trained-tiny-") for name in trained)
    assert set(scope.dataset_models(there, "natural_stories_maze")) > {own, *trained}


def test_imported_surprisals_have_two_origins():
    there = plan("laptop", models={"other": OWN_WORDS})
    jobs = scope.surprisal_imports(there)
    published = scope.imported_surprisals(there, "published-gpt2", "natural_stories")
    assert published["path"].startswith("resources/datasets/kuribayashi_ppp_ns/")
    assert published["unit"] == "nats"
    assert jobs["other"] == [("other", "provo")]
    assert len(jobs["kuribayashi_ppp_ns"]) == 12


def test_own_corpora_are_files_of_a_pattern(tmp_path):
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    for file in files:
        file.write_text("a")
    corpus = {"title": "C", "kind": "corpus", "parser": "text", "path": str(tmp_path / "*.txt")}
    there = costs(datasets={"mine": corpus})
    assert [there.bytes_of("mine", name) for name in (None, "b.txt")] == [2, 1]
    assert sources.corpus_file_names(there, "mine") == ["a.txt", "b.txt"]
    assert sources.corpus_files(there, "mine") == [*map(str, files)]
    source = sources.corpus_file_source(there, "nltk", "webtext.zip")
    assert source["file"]["mirror"] == "nltk_corpora/webtext.zip"


@pytest.fixture
def nothing_placed(tmp_path, monkeypatch):
    """An empty working directory without a mirror, a token or a decision taken before."""
    monkeypatch.chdir(tmp_path)
    for name in ("LINGPROB_MIRROR", "LINGPROB_LEFT_OUT", "HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    return tmp_path


def without_what_is_missing(**config: Any) -> tuple[Run, dict[str, LeftOut]]:
    settings, catalog = read_settings({"scale": "paper", **config})
    settings, left_out = leave_out(settings, catalog)
    return Run(settings, catalog), {item.name: item for item in left_out}


def test_missing_data_are_left_out_of_every_list(nothing_placed):
    there, left_out = without_what_is_missing()
    texts = ["brown_spr", "brown_spr_times", "dundee", "dundee_first_pass"]
    assert sorted(left_out) == [*texts, "hll", "llama-3-70b", "pile_test"]
    settings = there.settings
    assert settings["string_probability"]["prediction_2"] == ["li_large"]
    models = settings["string_probability"]["models"]
    assert models == ["gpt2", "gpt2-chinese", "llama-3-8b-chinese"]
    assert settings["overlap"]["texts"] == ["geco", "provo", "natural_stories"]
    assert "dundee_first_pass" not in settings["reading"]["datasets"]
    assert scope.frequency_models(there) == []
    assert left_out["hll"].named_in == ("string_probability.prediction_2",)
    assert "resources/datasets/hll/hll_judgments.csv" in left_out["hll"].remedy
    assert "HF_TOKEN" in left_out["llama-3-70b"].remedy
    assert read_settings({"scale": "paper"})[0]["morcela"]["frequency_models"] == ["pythia-*"]
    overlap = without_what_is_missing(overlap={"ngrams": "gigaword"})[0].settings["overlap"]
    why = "the data of overlap.ngrams are missing"
    assert (overlap["ngrams"], overlap["no_chance_level"]) == (None, why)


def test_what_is_placed_or_in_the_mirror_stays(nothing_placed, monkeypatch):
    datasets = "resources/datasets"
    for name in (f"{datasets}/hll/hll_judgments.csv", f"{datasets}/brown_spr_times/brown_spr.csv",
                 "resources/models/llama-3-70b/manifest.json",
                 "mirror/dundee/dundee.txt", "mirror/dundee_first_pass/tx01wrdp.dat"):  # fmt: skip
        file = nothing_placed / name
        file.parent.mkdir(parents=True)
        file.touch()  # there, if wrong: its download says so
    monkeypatch.setenv("LINGPROB_MIRROR", str(nothing_placed / "mirror"))
    _, left_out = without_what_is_missing()
    assert {"hll", "dundee", "llama-3-70b"}.isdisjoint(left_out)
    assert "and 219 more)" in left_out["dundee_first_pass"].remedy  # one of them is there
    # Reading times need their texts.
    assert "brown_words_mean_rt.derived.tsv" in left_out["brown_spr_times"].remedy


def test_some_lists_keep_missing_names(nothing_placed, monkeypatch):
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "token")
    for key, kept in (("prediction_3", ["hll"]), ("prediction_2", [])):  # the second may be empty
        there, left_out = without_what_is_missing(string_probability={key: ["hll"]})
        assert there.settings["string_probability"][key] == kept
        assert left_out["hll"].named_in == ("string_probability.prediction_2",)
        assert "llama-3-70b" not in left_out
    there, left_out = without_what_is_missing(missing="stop")
    assert left_out == {}
    assert there.settings == read_settings({"scale": "paper", "missing": "stop"})[0]


def test_jobs_inherit_what_was_left_out(nothing_placed, monkeypatch):
    monkeypatch.setattr("os.environ", {**os.environ, "PYTHONPATH": "other"})
    monkeypatch.setattr("lingprob.workflow.start.end_jobs_on_hangup", lambda: None)
    first = read_run({"scale": "paper", "mirror": "mine"})
    assert os.environ["PYTHONPATH"] == f"{ROOT / 'workflow_scripts'}:{ROOT}:other"
    assert os.environ["LINGPROB_MIRROR"] == "mine"
    placed = nothing_placed / "resources" / "datasets" / "hll" / "hll_judgments.csv"
    placed.parent.mkdir(parents=True)
    placed.touch()
    job = read_run({"scale": "paper"})
    assert job.left_out == first.left_out
    assert (first.said, len(job.said)) == (set(), 7)


def test_each_paper_says_what_it_leaves_out(nothing_placed, capsys):
    there, left_out = without_what_is_missing()
    run = StartedRun(there.settings, there.catalog, list(left_out.values()), set())
    strings = run.left_out_of("string_probability")
    assert strings == "Left out because it is not there: hll, llama-3-70b."
    assert run.said == {"hll", "llama-3-70b"}
    assert capsys.readouterr().err.count("Left out: ") == 2
    overlap = run.left_out_of("overlap")
    assert run.left_out_of("training") == overlap
    assert "dundee" in overlap
    assert "hll" not in overlap
    assert capsys.readouterr().err.count("Left out: dundee (") == 1
    assert "dundee_first_pass" in run.left_out_of("reading")
    assert run.left_out_of("context") == ""


def test_downloading_rules_are_limited_and_documented():
    blocks = "".join(map(Path.read_text, (ROOT / "rules").glob("*.smk")))
    limited = set(re.findall(r"^rule (\w+):(?:(?!^rule)[\s\S])*?^ +download=1,", blocks, re.M))
    scripts = (ROOT / "workflow_scripts").glob("*.py")
    calls = r"\bfetch_dataset|\bobtain_file|\b(obtain|passing)_chunk|\bprepare_(model|embedding)\b"
    downloading = {path.stem for path in scripts if re.search(calls, path.read_text())}
    # A scan is limited if it downloads its chunks, and downloads them if none is kept.
    assert limited | {"scan_corpus"} == downloading
    profiles = [ROOT / "profiles" / name / "profile.yaml" for name in ("default", "slurm")]
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    hint = page.split("--until")[1].split("snakemake")[0]
    assert set(re.findall(r"\w+", hint)) == limited - {"fetch_leakage_free_chunks"}
    assert all(re.search(r"^  - download=\d+", file.read_text(), re.M) for file in profiles)


def test_data_absent_from_a_scale_are_named():
    assert scope.absent_from_strings(plan("demo")) == ""
    absent = scope.absent_from_strings(plan("laptop"))
    assert all(name in absent for name in ("ZhoBLiMP", "SLING", "HLL"))
    assert "CoLA" not in absent
    # A model without panels also sees it.
    for models, seen in ((["trigram", "gutenberg-2gram"], True), (["trigram"], False)):
        absent = scope.absent_from_strings(plan("laptop", string_probability={"models": models}))
        assert ("CoLA" not in absent) == seen


MADE = ["trained-tiny-*", "!*-ft*", "gutenberg-[23]gram"]
WITH_MADE = {
    "training": {"keep_checkpoints": [16]},
    "morcela": {"models": ["smollm2-135m", *MADE]},
    "string_probability": {"models": ["smollm2-135m", *MADE]},
}


def test_models_made_here_are_plain_models():
    """They have panels if they are alone."""
    asked = plan("laptop", **WITH_MADE)
    step = "trained-tiny-small-step16"
    assert len(scope.fitted_models(asked)) == 1 + 3 * 2 + 2
    for model in ("smollm2-135m", step):
        assert scope.predicted_datasets(asked, model) == RATED
    # Exact counts of the very training text come first.
    assert len(scope.unigram_sources(asked, step)) > 1
    assert scope.default_convention(asked, step) == ["none", "training_16"]
    assert scope.frequency_models(asked) == scope.fitted_models(asked)
    assert scope.string_panels(asked) == ["smollm2-135m"]
    made = plan("laptop", string_probability={"models": ["gutenberg-[23]gram"]})
    assert scope.string_panels(made) == ["gutenberg-2gram", "gutenberg-3gram"]
    models = asked.settings["string_probability"]["models"]
    series = {name: series_of(name, asked.catalog.model(name)) for name in models}
    assert series["trained-tiny-small-step16"] == "trained-tiny-small"
    assert series["gutenberg-2gram"] == series["gutenberg-3gram"]
    trained = {f"trained-tiny-{size}" for size in ("small", "medium", "large")}
    assert {name for name, of in series.items() if of == name} == {"smollm2-135m", *trained}
