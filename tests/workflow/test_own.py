"""A researcher's own model, data and scores, by config entries alone; and their mistakes."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import checkout
from checkout import copy_of_the_checkout, planned_jobs, snakemake
from lingprob.api.cli import main
from lingprob.io.corpora import iter_documents
from loopback import HubServer, Repository
from models_for_tests import save_tiny_masked_model, save_tiny_model
from site_for_tests import elements_of

SENTENCES = [
    f"The {noun} {verb} {adverb}."
    for noun in ("cat", "dog", "old man", "queen of France")
    for verb in ("sleeps", "runs away", "sings")
    for adverb in ("now", "here", "very well")
]
NEW = ["The queen sleeps here.", "The man runs, and the dog of France sings."]
RECIPES = re.findall(
    r"```yaml\n(.*?)```", (checkout.ROOT / "docs/own_data.md").read_text(encoding="utf-8"), re.S
)
# Results of experiment software: the recipe, the output of its command, its table and report.
OF_EXPORTS = {
    "ratings": (RECIPES.pop(3), "my_judgments.csv", "stimuli/my-ratings", "report_morcela"),
    "reading_times": (RECIPES.pop(3), "my_times.csv", "reading_times/my-times", "report_reading"),
}
# Tiny models in the place of those that a recipe names.
STAND_INS = {
    "models": {
        "smollm2-135m": {
            "title": "S", "family": "smollm2", "source": "local", "path": "tiny",
            "bos_policies": ["bos", "none"], "unigrams": ["corpus_demo_sentences"],
        }
    },
    "embeddings": {
        "all-minilm-l6-v2": {
            "title": "S", "language": "en", "context_window": 64, "source": "local", "path": "bert",
        }
    },
    "bootstrap": 20,
    "unigrahams": {"samples": 16},
}  # fmt: skip
# The tables that are read from a user's files alone.
READ = [
    "sentence_scores/their-model/my-ratings", "stimuli/my-sentences", "stimuli/my-pairs",
    "reading_times/my-times", "surprisal/their-surprisals/my-texts", "word_counts/my-corpus",
]  # fmt: skip
WEB = [f"Page {number}." for number in range(100_007)]
# Texts that Snakemake's report could take for markup, or a script for its end.
MARKUP = '<img src=x onerror=alert(1)> </p> `b`_ {{7*7}} ]]> & " \\'
TITLE = 'Mine < 5 & "x" $\\frac{1$ `b`_ {{7*7}} ]]> \\u003c'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with tiny models of both kinds, a rated CSV file and imported scores."""
    folder = copy_of_the_checkout(tmp_path_factory.mktemp("own") / "lingprob")
    save_tiny_model("gpt_neox", folder / "tiny")
    save_tiny_masked_model("bert", folder / "bert")
    ratings = [((7 * row) % 11) / 5 - 1 for row in range(len(SENTENCES))]
    pd.DataFrame({"sentence": SENTENCES, "rating": ratings}).to_csv(
        folder / "ratings.csv", index=False
    )
    pd.DataFrame(
        {
            "sentence": SENTENCES,
            "logprob": [-3.0 * len(text.split()) - row % 5 for row, text in enumerate(SENTENCES)],
            "n_tokens": [len(text.split()) + 1 for text in SENTENCES],
        }
    ).to_csv(folder / "scores.csv", index=False)
    pd.DataFrame({"sentence": NEW}).to_csv(folder / "new.csv", index=False)
    config = {
        "models": {
            "tiny": {
                "title": f"Tiny {TITLE}", "note": MARKUP, "family": MARKUP, "source": "local",
                "path": "tiny", "bos_policies": ["bos", "none"],
            },
            "bert": {
                "title": "Tiny BERT", "family": "own", "source": "local", "path": "bert",
                "unigrams": ["corpus_demo_sentences"],
            },
            "theirs": {
                "title": "Theirs", "family": "theirs", "source": "scores", "level": "sentence",
                "path": "scores.csv", "datasets": ["mine"],
            },
        },
        "datasets": {
            "mine": {"title": TITLE, "kind": "stimuli", "parser": "table", "path": "ratings.csv"},
            "new": {"title": "New", "kind": "stimuli", "parser": "table", "path": "new.csv"},
        },
        "morcela": {
            "models": ["tiny", "theirs"], "datasets": ["mine"], "predicted": ["new"], "repeats": 3,
            "frequency_tokens": 200,
        },
        "bootstrap": 20,
        "unigrahams": {"samples": 16},
    }  # fmt: skip
    (folder / "own.yaml").write_text(yaml.safe_dump(config))
    return folder


def test_own_models_ratings_and_scores_run_through(folder):
    of_bert = "results/morcela/bert.parquet"
    report = ["--report", "report.html", "--report-after-run"]
    done = snakemake(folder, "--configfile", "own.yaml", *report, "--", "morcela", of_bert)
    assert done.returncode == 0, done.stdout[-4000:]
    check_report((folder / "report.html").read_text(encoding="utf-8"))
    tiny, theirs = (
        pd.read_csv(folder / f"results/morcela/{name}.csv") for name in ("tiny", "theirs")
    )
    assert set(tiny["bos"]) == {"bos", "none"}
    assert set(tiny["unigrams"]) == {"unigrahams_tiny"}
    assert set(tiny["n"]) == {len(SENTENCES)}
    assert set(theirs["linking_function"]) == {"logprob", "mean_logprob"}
    assert set(tiny["rating_source"]) == {"human"}
    # A masked model's corrections take the place of start tokens.
    bert = pd.read_parquet(folder / of_bert)
    assert set(bert["bos"]) == {"within_word_l2r", "whole_word", "uncorrected"}
    assert set(bert["unigrams"]) == {"corpus_demo_sentences"}
    assert {"morcela", "slor"} <= set(bert["linking_function"])
    ours, theirs = (
        pd.read_csv(folder / f"results/morcela/predictions/{name}.csv")
        for name in ("tiny", "theirs")
    )
    assert set(theirs["dataset"]) == {"mine"}
    tables = [
        pd.read_csv(folder / f"results/morcela/by_sentence/{name}.csv")
        for name in ("tiny", "theirs")
    ]
    assert tables[0]["text"].tolist() == [*SENTENCES, *NEW]
    assert tables[0][["slor", "predicted"]].notna().all(axis=None)
    assert tables[1]["text"].tolist() == SENTENCES
    assert tables[1]["slor"].isna().all()
    new = ours[ours["dataset"] == "new"]
    assert set(new["text"]) == set(NEW)
    assert set(new["fitted_to"]) == {"mine"}
    assert set(new["bos"]) == {"bos"}
    assert new["rating"].isna().all()
    assert (new["rating_low"] < new["predicted_low"]).all()


def check_report(page: str) -> None:
    """Check that no text of the configuration is markup or code of Snakemake's report."""
    elements = {"body", "div", "head", "html", "meta", "p", "script", "style", "title"}
    assert set(elements_of(page)) == elements
    results = re.search(r'<script id="results">\s*var results = (.*?);\s*</script>', page, re.S)[1]
    shown = json.loads(results)
    assert MARKUP.replace('"', r"\"")[:28] in str(shown["results/morcela/figure_2.png"])
    assert "<img" not in "".join(one["caption"] for one in shown.values())


BAD = {
    "unrated": ("The cat sleeps.,1\nThe dog runs.,\n", "data row 2, column 'rating'"),
    "equal": ("The cat sleeps.,1\nThe dog runs.,1\n", "every rating is 1"),
    "few": ("The cat sleeps.,1\nThe dog runs.,2\n", "which need 25. Give more"),
}


def test_bad_data_stop_before_any_scoring(folder):
    """And a sentence without a scored token stops its scoring. One run goes on after each."""
    for name, (rows, _) in BAD.items():
        (folder / f"{name}.csv").write_text(f"sentence,rating\n{rows}")
    (folder / "short.csv").write_text("item,sentence,rating\nlong,The cat sleeps.,1\nshort,a,2\n")
    table = {"title": "Bad", "kind": "stimuli", "parser": "table"}
    entries = {name: {**table, "path": f"{name}.csv"} for name in [*BAD, "short"]}
    config = [f"datasets={json.dumps(entries)}", f"morcela={json.dumps({'datasets': [*BAD]})}"]
    targets = [f"results/scores/tiny/bos/{name}.parquet" for name in BAD]
    targets.append("results/scores/tiny/none/short.parquet")
    given = ["--configfile", "own.yaml", "--keep-going", "--config", *config]
    refused = snakemake(folder, *given, "--", *targets)
    assert refused.returncode != 0
    for name, (_, said) in BAD.items():
        log = (folder / f"logs/build_stimuli/{name}.log").read_text()
        _, message = log.split(" ERROR lingprob: ")
        assert f"{name}.csv" in message
        assert message.count(said) == 1
        assert refused.stdout.count(f" ERROR lingprob: {message}") == 1
    assert "item_id 'short'" in refused.stdout
    assert not [target for target in targets if (folder / target).exists()]
    assert not list(folder.glob("results/**/.*"))


def test_an_unloadable_model_stops_its_first_job(folder):
    """A local folder without tokenizer, and one with code of its own that someone says yes to."""
    for name in ("silent", "hostile"):
        shutil.copytree(folder / "tiny", folder / name)
    (folder / "silent/tokenizer.json").unlink()
    (folder / "hostile/own.py").write_text(f"open({str(folder / 'run')!r}, 'w')\n")
    config = json.loads((folder / "hostile/config.json").read_text())
    config |= {"model_type": "hostile", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "hostile/config.json").write_text(json.dumps(config))
    entry = {"title": "T", "family": "own", "source": "local"}
    entries = {name: {**entry, "path": name} for name in ("silent", "hostile")}
    targets = [f"resources/models/{name}/manifest.json" for name in entries]
    config = ["--keep-going", "--config", f"models={json.dumps(entries)}"]
    refused = subprocess.run(
        checkout.command(*config, "--", *targets), cwd=folder, env=checkout.environment(),
        input="y\n" * 99, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert refused.returncode != 0
    for said in ("no tokenizer there", "is never run"):
        assert said in refused.stdout
    assert not [target for target in targets if (folder / target).exists()]
    assert not (folder / "run").exists()


@pytest.fixture(scope="module")
def recipes(folder) -> list[str]:
    """The recipes of docs/own_data.md as files of the checkout, with the files that they name."""
    for number, recipe in enumerate(RECIPES):
        (folder / f"recipe_{number}.yaml").write_text(recipe)
    (folder / "stand_ins.yaml").write_text(yaml.safe_dump(STAND_INS))
    save_tiny_model("gpt_neox", folder / "path/to/model")
    ratings = pd.read_csv(folder / "ratings.csv").sample(frac=1, random_state=1)
    ratings.rename(columns={"rating": "mean_z"}).to_csv(folder / "my_ratings.csv", index=False)
    scores = pd.read_csv(folder / "scores.csv")
    unrated = scores[: len(NEW)].assign(sentence=NEW)
    pd.concat([unrated, scores]).to_csv(folder / "their_scores.csv", index=False)
    shutil.copy(folder / "new.csv", folder / "sentences.csv")
    bad = [text.replace("The", "An").replace("s ", " ") for text in SENTENCES]
    paradigm = [text.split()[1] for text in SENTENCES]
    pairs = pd.DataFrame({"good": SENTENCES, "bad": bad, "paradigm": paradigm})
    pairs.to_csv(folder / "pairs.csv", index=False)
    passages = [" ".join(SENTENCES), " ".join(SENTENCES[::-1])]
    (folder / "texts.txt").write_text("\n".join(passages) + "\n")
    rows = [json.dumps({"text": f"Once. {text} And so on."}) for text in SENTENCES[3:9]]
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress("\n".join(rows).encode()))
    random = np.random.default_rng(3)
    words = pd.DataFrame(
        [(n, place, word) for n in (1, 2) for place, word in enumerate(passages[n - 1].split())],
        columns=["passage_id", "word_index", "word"],
    )
    bits = random.exponential(5, len(words))
    surprisals = words[["passage_id", "word_index"]].assign(surprisal=bits)
    surprisals.to_csv(folder / "surprisals.csv", index=False)
    times = [
        words.assign(subject_id=f"s{one}", rt_ms=300 + 9 * bits + random.normal(0, 30, len(words)))
        for one in range(6)
    ]
    read = pd.concat(times).sample(frac=1, random_state=1)
    read.to_csv(folder / "times.csv", index=False)
    lab = {"passage_id": "itemno", "word_index": "position", "word": "region", "rt_ms": "RT",
           "subject_id": "participant"}  # fmt: skip
    lab_rows = read.rename(columns=lab).assign(cond=np.where(read["passage_id"] == 1, "a", "b"))
    lab_rows.assign(position=lab_rows["position"] + 1).to_csv(folder / "lab.csv", index=False)
    return [f"recipe_{number}.yaml" for number in range(len(RECIPES))]


def run_recipes(folder: Path, recipes: list[str], *arguments: str, hub: str = "") -> None:
    """Run recipes in one run of Snakemake, after those that a test ran before."""
    files = ["--configfile", *recipes, "stand_ins.yaml", "--config", "scale=demo"]
    environment = checkout.environment() | ({"HF_ENDPOINT": hub} if hub else {})
    done = subprocess.run(
        checkout.command(*files, *arguments), cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]


def test_every_recipe_of_the_page_reads_its_files(folder, recipes):
    web = yaml.safe_load(RECIPES[2])["datasets"]["my-web"]
    table = folder / "web.parquet"
    pd.DataFrame({"text": WEB}).to_parquet(table)
    name = web["configuration"]
    card = f"configs:\n- {{config_name: {name}, data_files: [{{split: train, path: s/*}}]}}\n"
    files = {"README.md": f"---\n{card}---\n".encode(), "s/0.parquet": table.read_bytes()}
    made = [f"resources/{one}" for one in ("models/my-model/manifest.json",
                                           "datasets/my-web/manifest.tsv")]  # fmt: skip
    read = [f"results/{one}.parquet" for one in READ]
    with HubServer({web["repository"]: Repository(web["revision"], files)}) as hub:
        run_recipes(folder, recipes[:8], "--", *made, *read, hub=hub.url)
    rows = (folder / made[1]).parent.glob("*.parquet")
    assert list(iter_documents("parquet", [*rows])) == WEB[: web["rows"]]
    scores, sentences, pairs, times, surprisals, _ = (pd.read_parquet(folder / one) for one in read)
    n, words = len(SENTENCES), sum(len(text.split()) for text in SENTENCES)
    assert [len(scores), len(sentences), len(pairs)] == [n, len(NEW), 2 * n]
    assert [len(times), len(surprisals)] == [6 * 2 * words, 2 * words]
    run_recipes(folder, recipes[7:], "--", read[3])
    lab = pd.read_parquet(folder / read[3])
    assert set(lab["passage_id"]) == {"1/a", "2/b"}
    assert sorted(lab["rt_ms"]) == sorted(times["rt_ms"])


@pytest.mark.parametrize("kind", OF_EXPORTS)
def test_recipes_of_exports_plan_one_study(folder, kind, monkeypatch):
    recipe, output, made, report = OF_EXPORTS[kind]
    assert len(recipe.splitlines()) <= 5
    (folder / "export.yaml").write_text(recipe)
    rows = [
        (reader, item, text, 1 + (7 * item + reader) % 5, place, word, 300 + 7 * len(word) + reader)
        for reader in range(5)
        for item, text in enumerate(SENTENCES)
        for place, word in enumerate(text.split(), start=1)
    ]
    columns = ["participant", "item", "sentence", "rating", "word_number", "word", "rt"]
    export = pd.DataFrame(rows, columns=columns)
    if kind == "ratings":
        export = export.drop_duplicates(["participant", "item"])[columns[:4]]
    export.sample(frac=1, random_state=2).to_csv(folder / "export.csv", index=False)
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as end:
        main(["import", "export.csv", "--as", kind, "--output", output])
    assert end.value.code == 0
    options = ["--configfile", "export.yaml", "--"]
    done = snakemake(folder, *options, f"results/{made}.parquet")
    assert done.returncode == 0, done.stdout[-4000:]
    plan = snakemake(folder, "-n", *options, "results/index.html")
    jobs = planned_jobs(plan.stdout)
    assert [name for name in jobs if name.startswith("report_")] == [report]
    assert jobs["build_site"] == 1


@pytest.mark.slow
def test_every_recipe_of_the_page_runs_through(folder, recipes):
    run_recipes(folder, recipes[:8], "--", "morcela", "audit", "context", "overlap", "reading")
    deltas = pd.read_csv(folder / "results/reading/delta_log_likelihood.csv")
    assert set(deltas["model"]) == {"smollm2-135m", "their-surprisals"}
