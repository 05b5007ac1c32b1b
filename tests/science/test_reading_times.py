"""Real reading times and surprisals of the mirror: counts, alignment, and the published fits."""

from pathlib import Path

import pandas as pd
import pytest

from lingprob.catalog import read_datasets, read_published
from lingprob.papers.leakage.inverse_scaling import published_deltas, read_annotated_means
from lingprob.papers.leakage.regressions import Study, compare_regressions
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.tables import Source
from lingprob.reading.texts import build_words
from lingprob.reading.times import build_reading_times, count_exclusions, load_parser
from lingprob.unigrams.counts import count_words

MODELS = ("gpt2", "opt-66b")


def files_of(mirror: Path, dataset: str) -> list[Path]:
    paths = [mirror / file["mirror"] for file in read_datasets()[dataset]["files"]]
    if not all(path.exists() for path in paths):
        pytest.skip(f"the mirror does not have all files of {dataset}")
    return paths


def words_of(mirror: Path, texts: str) -> pd.DataFrame:
    return build_words(texts, read_datasets()[texts], files_of(mirror, texts))


def times_of(mirror: Path, dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    entry = read_datasets()[dataset]
    words = words_of(mirror, entry["texts"])
    return words, build_reading_times(dataset, entry, words, files_of(mirror, dataset))


@pytest.mark.parametrize(
    ("dataset", "rows", "subjects", "fit", "exploratory"),
    [
        ("natural_stories_maze", 56_447, 63, 28_052, 13_791),
        ("natural_stories_means", 10_246, 1, 4_644, 2_378),
        ("brown_spr_means", 7_188, 1, 3_191, 1_526),
        ("provo_first_pass_means", 2_650, 1, 1_229, 614),
        ("provo_motr", 44_719, 51, 10_450, 5_027),
        ("ucl_first_pass", 81_109, 43, 20_423, 10_366),
        ("ucl_self_paced", 178_401, 117, 77_207, 37_935),
    ],
)
def test_counts(
    mirror: Path, dataset: str, rows: int, subjects: int, fit: int, exploratory: int
) -> None:
    _, times = times_of(mirror, dataset)
    counts = dict(count_exclusions(times).to_numpy().tolist())
    assert (len(times), times["subject_id"].nunique()) == (rows, subjects)
    assert (counts["fit"], counts["exploratory"]) == (fit, exploratory)
    kept = counts["fit"] + counts["exploratory"] + counts["held_out"]
    assert counts["fit"] / kept == pytest.approx(0.5, abs=0.02)
    assert counts["exploratory"] / kept == pytest.approx(0.25, abs=0.03)


@pytest.mark.slow
def test_geco_has_times_for_every_reader_and_word(mirror: Path) -> None:
    _, times = times_of(mirror, "geco_total")
    assert len(times) == 14 * 54_362
    counts = dict(count_exclusions(times).to_numpy().tolist())
    assert (counts["fit"], counts["exploratory"]) == (179_325, 88_903)


def test_provos_own_export_of_passage_1(mirror: Path) -> None:
    """The raw layout with all 84 readers: 57 words each, and the means that others published."""
    words = words_of(mirror, "provo")
    path = mirror / "provo/Provo_example.csv"
    times = load_parser("corpus", "provo_first_pass")(Source([path], words, {}, 0))
    assert times["subject_id"].nunique() == 84
    assert times.groupby("subject_id")["word_index"].nunique().eq(57).all()
    published = pd.read_csv(mirror / "provo/provo.csv").iloc[:15]
    assert published["word"].tolist() == words[words["passage_id"] == "1"]["word"].tolist()[1:16]
    # Those means take the first run of words that were passed over at first for a first pass too.
    raw = pd.read_csv(path, usecols=["IA_ID", "IA_FIRST_RUN_DWELL_TIME"])
    means = raw.fillna(0).groupby("IA_ID")["IA_FIRST_RUN_DWELL_TIME"].mean()
    assert means.iloc[1:16].to_numpy() == pytest.approx(published["first_pass_dur"].to_numpy())
    assert (times.groupby("word_index")["rt_ms"].count() > 0).all()


def test_realigned_means_agree_better_with_surprisal(mirror: Path) -> None:
    """The correlations that the notes of the mirror state: 0.256 for word z + 1, 0.246 for z."""
    words, times = times_of(mirror, "natural_stories_means")
    (file,) = files_of(mirror, "natural_stories_means")
    labelled = load_parser("corpus", "natural_stories_means")(
        Source([file], words, {"zone_shift": 0}, 0)
    )
    path = mirror / "published_scores/kuribayashi_ppp_NS/gpt2-xl/surprisal.json"
    surprisal = import_word_surprisals(path, words, "nats")
    right, wrong = (
        joined["surprisal"].corr(joined["rt_ms"])
        for joined in (
            surprisal.merge(t, on=["passage_id", "word_index"]) for t in (times, labelled)
        )
    )
    assert right == pytest.approx(0.256, abs=0.002)
    assert wrong == pytest.approx(0.246, abs=0.002)


def test_published_fits_to_natural_stories(mirror: Path) -> None:
    """All twelve ΔLogLik to 4 decimals, as `catalog/published/reading.yaml` has them."""
    folder = mirror / "published_scores/kuribayashi_ppp_NS"
    published = read_published("reading")["items"][0]["rows"]
    assert len(published) == 12
    files = {
        name: (folder / name[10:] / "surprisal.json", folder / name[10:] / "surprisal.json.result")
        for name in published
    }
    means = read_annotated_means(files_of(mirror, "kuribayashi_ppp_ns")[0])
    fits, _ = published_deltas(means, files, {}, bootstrap=20, seed=1, scale="test")
    compat = fits[fits["convention"] == "compat"].set_index("model")
    for name, (delta, perplexity, n) in published.items():
        assert round(compat.loc[name, "delta"], 4) == delta
        assert round(compat.loc[name, "word_perplexity"], 4) == perplexity
        assert compat.loc[name, "n"] == n
    numeric = fits[fits["convention"] == "numeric_order"].set_index("model")["delta"]
    assert round(numeric["published-gpt2"], 4) == 119.41
    assert round(numeric["published-opt-66b"], 4) == 56.739


def test_larger_models_fit_maze_times_worse(mirror: Path) -> None:
    """By-subject mixed models on real data: GPT-2 small above OPT 66B, and both above nothing."""
    words, times = times_of(mirror, "natural_stories_maze")
    folder = mirror / "published_scores/kuribayashi_ppp_NS"
    surprisals = {
        name: import_word_surprisals(folder / name / "surprisal.json", words, "nats")
        for name in MODELS
    }
    counts = count_words([(mirror / "gutenberg/1342-0.txt").read_text(encoding="utf-8")])
    tables = compare_regressions(
        Study(
            "natural_stories_maze", read_datasets()["natural_stories_maze"], times, words,
            [counts], surprisals,
        ),
        contexts=dict.fromkeys(MODELS, "imported"),
        corrections=dict.fromkeys(MODELS), bootstrap=200, seed=0, scale="test",
    )  # fmt: skip
    deltas = tables["delta_log_likelihood"].set_index("model")
    assert deltas["converged"].all()
    assert not deltas["singular"].any()
    assert deltas.loc["gpt2", "delta"] > deltas.loc["opt-66b", "delta"] > 100
    assert (deltas["delta_low"] > 50).all()
    assert deltas["n_subjects"].eq(63).all()
    assert deltas.loc["gpt2", "formula"] == (
        "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index + "
        "(1 + surprisal + previous_surprisal + length + index | subject_id)"
    )
