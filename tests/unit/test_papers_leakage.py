"""Study 1 and trained models: tables, figures and scorecards by hand-derived values."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.catalog import read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import BLACK, PURPLE, describe_models
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.corpora import (
    CorpusFile,
    corpus_of,
    index_texts,
    load_corpus,
    save_corpus,
    search,
)
from lingprob.overlap.matches import merge
from lingprob.papers.leakage import overlaps as leakage
from lingprob.papers.leakage.overlap_claims import compare
from lingprob.papers.leakage.overlap_figures import chance_levels, draw
from lingprob.papers.leakage.training import compare as compare_training
from lingprob.papers.leakage.training import draw as draw_training
from lingprob.papers.leakage.training import log_perplexity_contrast
from lingprob.papers.run import Run
from lingprob.reading.texts import passage_texts

VOCABULARY = ["[UNK]", *"abcdefgh", "<|endoftext|>"]
PASSAGES = {"one": ["a b c d", "e f"], "two": ["a b a b", "h"]}
PUBLISHED = (
    "corpus\tarticle_num\tarticle_len\toverlap_len\toverlap_last_token\toverlap_freq\t"
    "5gram_logprob\tbelow_threshold\n"
    "brown\t0\t900\t14\t20\t1\t-30.5\t1\nbrown\t0\t900\t14\t50\t3\t-20.0\t0\n"
    "provo\t0\t40\t6\t7\t9\t-9.0\t0\n"
)
NO_CHUNKS = pd.DataFrame(columns=SCHEMAS["overlap_chunks"].names)


@pytest.fixture
def tokenizer() -> Tokenizer:
    """A tokenizer of single words."""
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    backend = Backend(WordLevel({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    backend.pre_tokenizer = WhitespaceSplit()
    fast: Any = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
    return Tokenizer(fast, len(VOCABULARY), "sha")


def words(passages: list[str]) -> pd.DataFrame:
    rows = [(str(i), n, w, None) for i, p in enumerate(passages) for n, w in enumerate(p.split())]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


def scanned(tokenizer: Tokenizer, path: Path, parser: str, **entry: str) -> tuple[Any, ...]:
    index, passages = index_texts(
        {corpus: passage_texts(words(texts)) for corpus, texts in PASSAGES.items()}, tokenizer
    )
    file = CorpusFile(path.name, {"parser": parser, **entry}, [path])
    with Progress(None, "scanning", "tokens") as progress:
        return index, passages, file.find_matches(index, tokenizer, 1, progress)


def overlaps(tokenizer: Tokenizer, path: Path, parser: str, **entry: str) -> pd.DataFrame:
    index, passages, matches = scanned(tokenizer, path, parser, **entry)
    return leakage.overlap_table(index, passages, matches, tokenizer.decode, "corpus", "demo")


COLUMNS = [
    "corpus", "article_num", "article_len", "overlap_len", "overlap_last_token", "overlap_freq",
    "overlap_text",
]  # fmt: skip
EXPECTED = [
    ["one", 0, 4, 3, 3, 1, "b c d"],
    ["one", 1, 2, 1, 0, 2, "e"],
    ["two", 0, 4, 2, 1, 2, "a b"],
    ["two", 0, 4, 2, 3, 2, "a b"],
    ["two", 1, 1, 0, -1, 0, ""],
]


DOCUMENTS = ("g b c d", "a b", "a b e", "e g")


def as_lines(path: Path) -> tuple[Path, dict[str, str]]:
    path.write_text("\n".join(DOCUMENTS))
    return path, {"parser": "lines"}


def as_token_rows(path: Path) -> tuple[Path, dict[str, str]]:
    """The same documents, each before a separator."""
    end = VOCABULARY.index("<|endoftext|>")
    row = [at for text in DOCUMENTS for at in (*map(VOCABULARY.index, text.split()), end)]
    tokens = np.array([row + [end] * (2049 - len(row))], dtype=np.uint16)
    np.save(path.with_suffix(".npy"), tokens)
    return path.with_suffix(".npy"), {"parser": "token_rows", "separator": "<|endoftext|>"}


@pytest.mark.parametrize("write", [as_lines, as_token_rows])
def test_longest_overlaps_are_within_documents(tokenizer, tmp_path, write):
    path, entry = write(tmp_path / "corpus")
    table = overlaps(tokenizer, path, **entry)
    assert table[COLUMNS].to_numpy().tolist() == EXPECTED
    assert table["5gram_logprob"].isna().all()
    write_table(table, "overlap", tmp_path / "overlap.parquet")
    assert len(read_table(tmp_path / "overlap.parquet", "overlap")) == 5


def test_saved_corpora_must_agree_with_scans(tokenizer, tmp_path):
    path, _ = as_lines(tmp_path / "corpus.txt")
    index, passages, by_file = scanned(tokenizer, path, "lines")
    save_corpus(corpus_of("c", {"parser": "lines"}, [path]), tokenizer, "tiny", tmp_path / "saved")
    saved = merge(search(load_corpus(tmp_path / "saved"), index, tokenizer, 1))
    assert by_file.n_words == saved.n_words == 11
    by_graph, by_scan = (
        leakage.overlap_table(index, passages, matches, tokenizer.decode, "corpus", "demo")
        for matches in (saved, by_file)
    )
    chance = {"5gram_logprob": -1.0, "below_threshold": True}
    leakage.require_same_overlaps(by_graph, by_scan.assign(**chance), "scan.parquet")
    for column, value in (("overlap_freq", 9), ("overlap_text", "e g")):
        other = by_scan.assign(**{column: by_scan[column].where(by_scan.index != 1, value)})
        with pytest.raises(LingprobError, match=r"scan\.parquet: .*passage '1' of 'one'"):
            leakage.require_same_overlaps(by_graph, other, "scan.parquet")
    with pytest.raises(LingprobError, match="passage '1' of 'two'"):
        leakage.require_same_overlaps(by_graph, by_scan[:-1], "scan.parquet")


def test_chunks_have_their_longest_and_most_frequent_overlap(tokenizer, tmp_path):
    """'a b' and 'b c' of `two` are as long. The first has the place, the second the frequency."""
    texts = {"long": "g b c d", "short": "g a b g", "none": "g g", "two": "a b g b c g b c"}
    results = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        index, passages, results["mine", name] = scanned(tokenizer, tmp_path / name, "text")
    overlapping = leakage.chunk_overlaps(index, passages, results, tokenizer.decode, "demo")
    options = {"min_length": 1, "max_overlap": 2, "chunks_selected": 1, "seed": 1}
    chunks = leakage.select_chunks(overlapping, **options)
    columns = ["chunk", "n_tokens", "overlap_tokens", "last_token", "frequency", "overlap_text",
               "corpus", "passage_id", "leakage_free"]  # fmt: skip
    assert chunks[columns].astype(object).fillna("?").to_numpy().tolist() == [
        ["mine/long", 4, 3, 3, 1, "b c d", "one", "0", False],
        ["mine/short", 4, 2, 1, 1, "a b", "one", "0", True],
        ["mine/none", 2, 0, -1, 0, "", "?", "?", True],
        ["mine/two", 8, 2, 1, 2, "a b", "one", "0", True],
    ]
    assert chunks["selected"].sum() == 1
    write_table(chunks, "overlap_chunks", tmp_path / "chunks.parquet")


LENGTHS = [11, 12, 0, 3, 11, 40, 5]
CHUNKS = pd.DataFrame(
    {"chunk": [f"c{n}" for n in (4, 2, 6, 1, 3, 5, 0)], "overlap_tokens": LENGTHS}
).reindex(columns=[*SCHEMAS["overlap_chunks"].names])
CHOICE: Any = {"min_length": 12, "max_overlap": 11, "chunks_selected": 3}


def test_chunks_are_sampled_by_seed_and_name():
    """Eleven tokens are free of leakage. The order of the chunks does not matter."""
    chosen = leakage.select_chunks(CHUNKS, **CHOICE, seed=1)
    assert chosen["leakage_free"].tolist() == [length <= 11 for length in LENGTHS]
    assert chosen.loc[chosen["selected"], "leakage_free"].tolist() == [True] * 3
    for seed in range(5):
        again = leakage.select_chunks(CHUNKS[::-1], **CHOICE, seed=seed)
        expected = leakage.select_chunks(CHUNKS, **CHOICE, seed=seed)
        pd.testing.assert_frame_equal(again[::-1], expected)
    samples = {
        tuple(leakage.select_chunks(CHUNKS, **CHOICE, seed=seed)["selected"]) for seed in range(20)
    }
    assert len(samples) > 5
    with pytest.raises(LingprobError, match="Scan with min_length 12 or less"):
        leakage.select_chunks(CHUNKS, **{**CHOICE, "min_length": 13}, seed=1)
    with pytest.raises(LingprobError, match="5 of 7 chunks"):
        leakage.select_chunks(CHUNKS, **{**CHOICE, "chunks_selected": 6}, seed=1)


@pytest.fixture
def published(tmp_path: Path) -> pd.DataFrame:
    """Three rows in the published layout, as an overlap table."""
    path = tmp_path / "rt_overlap_the_pile.tsv"
    path.write_text(PUBLISHED)
    return leakage.published_overlaps(path, "the_pile", "laptop")


def test_published_rows_get_both_flags(published):
    """The limit is -28.87 nats, -12.54 in log10."""
    assert published["below_threshold_compat"].tolist() == [True, False, False]
    assert published["below_threshold_corrected"].tolist() == [True, True, False]
    assert published["corpus"].tolist() == ["brown_spr", "brown_spr", "provo"]
    about = published[["searched", "origin", "scale"]].drop_duplicates()
    assert about.to_numpy().tolist() == [["the_pile", "published", "laptop"]]
    assert chance_levels(published).tolist() == [
        "below_threshold_compat", "below_threshold_corrected", ""
    ]  # fmt: skip


def test_overlaps_are_drawn_by_length_and_frequency(published):
    """Brown's passage has two places, and a second one of Provo's has no overlap."""
    nothing = published[2:].assign(article_num=1, overlap_len=0, overlap_freq=0)
    figures = draw({"overlap": pd.concat([published, nothing])}, Run("demo"))
    titles = [ax.get_title() for ax in figures["figure_1b"].axes]
    assert titles == ["Brown spr\nin The pile", "Provo\nin The pile"]
    points = {
        name: [(line.get_color(), line.get_xydata().tolist()) for ax in figure.axes
               for line in ax.lines if line.get_marker() == "+" and len(line.get_xdata())]
        for name, figure in figures.items()
    }  # fmt: skip
    assert points == {
        "figure_1a": [(PURPLE, [[900, 14]]), (BLACK, [[40, 6], [40, 0.4]])],
        "figure_1b": [(PURPLE, [[14, 3]]), (BLACK, [[6, 9]])],
    }
    six = pd.concat(published.assign(corpus=f"a_long_name_{n}", overlap_freq=7e4) for n in range(6))
    run = Run("demo", {}, {"the_pile": "The Pile (published)"})
    assert layout_faults(draw({"overlap": six}, run)["figure_1b"]) == []


def test_flags_compare_nats_with_nats():
    """Joint log10 p are -1.3, -2.25 and -2. ln p are 2.303 times that, and the limit is -4.8."""

    class Model:
        def score(self, text: str, bos: bool, eos: bool) -> float:
            assert not bos
            assert not eos
            return {"a b": -1.3, "a a": -2.25, "c": -2.0}[text]

    table = pd.DataFrame({"overlap_text": ["a b", "a a", "c"]})
    n_words = np.log(0.95) / np.log1p(-np.exp(-4.8))
    found = leakage.with_chance_level(table, Model(), n_words)
    assert found["5gram_logprob"].tolist() == [-1.3, -2.25, -2.0]
    assert found["below_threshold"].tolist() == [False, True, False]
    assert found["below_threshold_corrected"].tolist() == [False, True, False]
    assert found["below_threshold_compat"].tolist() == [False, False, False]


@pytest.mark.parametrize(("searched", "limit"), [("the_pile", -28.87), ("owt", -25.33)])
def test_published_flags_are_at_the_published_limit(tmp_path, searched, limit):
    """The limits of Figure 1's caption. `compat` compares log10 p with them unchanged."""
    rows = [f"brown\t0\t9\t4\t5\t1\t{limit + shift:.3f}\t1" for shift in (-0.005, 0.0, 0.005)]
    path = tmp_path / "overlaps.tsv"
    path.write_text("\n".join(["\t".join(leakage.PUBLISHED_COLUMNS), *rows]))
    found = leakage.published_overlaps(path, searched, "laptop")
    assert found["below_threshold_compat"].tolist() == [True, False, False]


@pytest.mark.parametrize(("coverage", "whole"), [(1, [0]), (0.9, [0, 1]), (0.5, [0, 1, 2])])
def test_whole_passages_are_covered_to_a_share(coverage, whole):
    """44 of 44 tokens, 40 of 44, 22 of 44, 21 of 44, and a passage without a token."""
    passages = pd.DataFrame({"overlap_len": [44, 40, 22, 21, 0], "article_len": [44] * 4 + [0]})
    found = leakage.covered_passages(passages, coverage)
    assert np.flatnonzero(found).tolist() == whole


def test_summaries_count_passages_not_places(published):
    other = published.assign(searched="owt", corpus="brown_spr", article_num=[0, 1, 2])
    tables = pd.concat([other.assign(overlap_len=[2, 3, 10]), published])
    rows = leakage.summarise_overlaps(tables, 0.9)
    found = rows[["searched", "corpus", "passages", "median_overlap"]].to_numpy().tolist()
    assert found == [["owt", "brown_spr", 3, 3], ["the_pile", "brown_spr", 1, 14],
                     ["the_pile", "provo", 1, 6]]  # fmt: skip
    _, brown, provo = rows.to_dict("records")
    assert (brown["passages"], brown["tokens"], brown["highest_frequency"]) == (1, 900, 3)
    assert (brown["flagged"], brown["flagged_corrected"], brown["whole"]) == (1, 1, 0)
    assert (provo["flagged"], provo["longest_overlap"]) == (0, 6)
    nearly = leakage.summarise_overlaps(published.assign(overlap_len=[900, 810, 37]), 0.9)
    assert nearly[["whole", "covered"]].to_numpy().tolist() == [[0, 1], [0, 1]]
    unflagged = published.assign(below_threshold_compat=None, below_threshold_corrected=None)
    summary = leakage.summarise_overlaps(unflagged, 0.9)
    assert summary[["flagged", "flagged_corrected"]].isna().all(axis=None)


def carded(overlaps: pd.DataFrame, scale: str, chunks: pd.DataFrame = NO_CHUNKS) -> pd.DataFrame:
    """Return the scorecard of Study 1 by row and column."""
    tables = {"overlap": overlaps, "overlap_chunks": chunks}
    card = compare(tables, Run(scale, published=read_published("overlap")), 0.9)
    return card.set_index(["row", "column"]).sort_index()


def test_published_overlaps_are_compared(published):
    ours = published.assign(origin="ours", searched="books")
    rows = carded(pd.concat([ours, published], ignore_index=True), "laptop")
    assert rows.loc[("brown_spr", "same_length"), "ours"] == 1
    assert rows.loc[("the_pile", "same_flag"), "ours"] == 3
    assert rows.loc[("published/fine_tuning_sequence", "tokens"), "ours"] == 941
    assert rows.loc[("owt", "same_flag"), "verdict"] == "not run"
    # Brown's passage has two places, and counts once.
    short = rows.loc[("the_pile/published", "overlaps_are_short"), "note"]
    assert short.startswith("2 of 2 passages")
    verdicts = rows.xs("improbable_overlaps_exceed_eleven_tokens", level="column")["verdict"]
    assert verdicts.to_dict() == {
        "the_pile/published, limit in nats, probabilities in log10": "supported",
        "the_pile/published, both in nats": "supported",
    }
    # With the default coverage of 0.9. Provo's passage has 6 of its 40 tokens in the Pile.
    longer = published.assign(overlap_len=[14, 14, 36])
    whole = carded(longer.assign(origin="ours", searched="pile_pythia"), "paper")
    assert whole.loc[("pile_pythia/ours", "some_of_provo_whole"), "ours"] == 1


def test_only_the_papers_corpora_are_compared(published):
    """The published rows as if a run had found them, in the Pile and in another corpus."""
    for searched, verdict in (("pile_pythia", "differs"), ("books", "not run")):
        rows = carded(published.assign(origin="ours", searched=searched), "paper")
        assert rows.loc[("the_pile/brown_spr", "longest_overlap"), "verdict"] == verdict
        assert rows.loc[("provo", "tokens"), "ours"] == 40
        claims = rows.xs("nothing_whole_outside_provo", level="column")
        assert claims.index.tolist() == ["pile_pythia/ours" if verdict == "differs" else "(none)"]
    computed = rows[rows["verdict"] != "not run"].index.get_level_values("column")
    assert set(computed) == {"passages", "tokens"}


def test_only_chunks_of_the_pile_are_counted(published):
    chunks = [("pile_pythia", f"chunk-{n:03d}", 2_098_176_000, n < 18, n < 10) for n in range(143)]
    columns = ["searched", "chunk", "n_tokens", "leakage_free", "selected"]
    table = pd.DataFrame([*chunks, ("books", "a.txt", 5, True, True)], columns=columns)
    ours = published.assign(origin="ours", searched="books")
    found = carded(ours, "paper", table).loc["pile_pythia"]
    assert found["ours"].to_dict() == {
        "all_billion_tokens": 300.039168,
        "chunks": 143, "leakage_free": 18, "selected": 10, "billion_tokens": 20.98176,
    }  # fmt: skip
    assert set(found["verdict"]) == {"reproduced"}
    assert set(carded(ours, "laptop", table[-1:]).loc["pile_pythia", "verdict"]) == {"not run"}


# Training.

NOTE = "trained on leakage-free text"
SIZES = {"large": 4_000_000, "small": 1_000_000}
RUN = Run(
    "laptop",
    describe_models(
        {
            f"trained-{size}" + (f"-ft{steps}" if steps else ""): {
                "title": size, "family": "trained", "family_title": "Trained here",
                "parameters": parameters, "fine_tuning_steps": steps,
            }
            for size, parameters in SIZES.items()
            for steps in (0, 5, 10)
        }
    ),
    titles={"provo": "Provo"},
    note=NOTE,
)  # fmt: skip


@pytest.fixture
def perplexities():
    """Perplexities of two texts."""
    rows = [
        (model, entry["parameters"], steps, corpus, 300 / (1 + steps) + entry["parameters"] / 1e6)
        for model, entry in RUN.models.items()
        for steps in [int(model.partition("-ft")[2] or 0)]
        for corpus in ("provo", "all")
    ]
    columns = ["model", "parameters", "fine_tuning_steps", "corpus", "perplexity"]
    return {"perplexity": pd.DataFrame(rows, columns=columns)}


def test_perplexity_panels_have_a_line_per_state(perplexities):
    perplexities["perplexity"]["parameters"] += 1234  # too few to show
    figure = draw_training(perplexities, RUN)["figure_2_perplexity"]
    assert [ax.get_title() for ax in figure.axes] == ["Provo", "All texts"]
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    assert [line.get_xdata().tolist() for line in lines] == [[1.0, 4.0]] * 3
    assert lines[2].get_ydata().tolist() == [300 / 11 + 1, 300 / 11 + 4]
    assert lines[2].get_color() == RUN.models["trained-large-ft10"]["group_colour"]
    assert figure.axes[0].get_yscale() == "log"
    assert figure.get_supxlabel().endswith(NOTE)
    labels = ["before fine-tuning", *(f"after {steps} fine-tuning steps" for steps in (5, 10))]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == labels


def logprobs(falls: dict[str, float], sizes: dict[str, int] | None = None) -> pd.DataFrame:
    """Log-probabilities of shuffled passages: 4 nats per token minus the model's fall, and noise.

    Three passages of Provo and two of GECO. Larger models have lower perplexity, 0.5 per tenfold.
    """
    parameters = sizes or {size: 10 ** (7 + n) for n, size in enumerate(falls)}
    rows = [
        (size, parameters[size], steps, corpus, passage, n,
         -n * (4 - (fall if steps else 0) - 0.5 * np.log10(parameters[size] / 1e7)
               + 0.01 * passage))
        for size, fall in falls.items()
        for steps in (0, 5)
        for corpus, passage, n in (("provo", 0, 40), ("provo", 1, 60), ("provo", 3, 50),
                                   ("geco", 0, 900), ("geco", 2, 700))
    ]  # fmt: skip
    columns = ["size", "parameters", "fine_tuning_steps", "corpus", "passage", "n_tokens"]
    table = pd.DataFrame(rows, columns=[*columns, "logprob"]).assign(scale="paper")
    return table.sample(frac=1, random_state=2)


def trained_card(parts: pd.DataFrame, sizes: pd.DataFrame | None = None) -> pd.DataFrame:
    nothing = pd.DataFrame({"size": [], "parameters": []})
    tables = {"perplexity": nothing if sizes is None else sizes, "passage_logprobs": parts}
    card = compare_training(tables, Run("paper", published=read_published("training")))
    return card.set_index(["column", "row"]).sort_index()


MORE = "fine_tuning_lowers_perplexity_of_larger_models_more"
FALLS = {"small": 0.1, "medium": 0.2, "large": 0.3}


def test_scorecards_have_effects_of_fine_tuning():
    """Falls of 0.1, 0.2 and 0.3 nats per token in all passages: -0.1 per tenfold, without noise."""
    sizes = pd.DataFrame({"size": ["small", "large"], "parameters": [28_125_440, 162_322_945]})
    card = trained_card(logprobs(FALLS), sizes)
    verdicts = card["verdict"]
    wanted = {"small": "reproduced", "large": "differs", "medium": "not run"}
    assert verdicts["parameters"].to_dict() == wanted
    more = card.loc[MORE, "all, 5 steps"]
    assert (more["ours"], more["verdict"]) == (pytest.approx(-0.1), "supported")
    fall = card.loc["fine_tuning_lowers_perplexity", "provo, 5 steps"]
    assert (fall["ours"], fall["verdict"]) == (pytest.approx(-0.2), "supported")
    # Two passages leave one degree of freedom.
    assert verdicts["fine_tuning_lowers_perplexity", "geco, 5 steps"] == "not run"
    assert card.loc[("larger_models_have_lower_perplexity", "all"), "ours"] == pytest.approx(-0.5)
    reversed_falls = trained_card(logprobs(dict(zip(FALLS, (0.3, 0.2, 0.1), strict=True))))
    assert reversed_falls.loc[(MORE, "all, 5 steps"), "verdict"] == "contradicted"


@pytest.mark.parametrize(
    ("sizes", "slope"),
    [
        ({"a": 10**7, "b": 10**8}, None),
        ({"a": 10**7, "b": 10**7, "c": 10**7}, None),
        ({"a": 10**7, "b": 10**7, "c": 10**8}, -0.5),
    ],
)
def test_slopes_need_three_sizes_that_vary(sizes, slope):
    """Two sizes with equal parameters are two models."""
    card = trained_card(logprobs(dict.fromkeys(sizes, 0.1), sizes))
    row = card.loc["larger_models_have_lower_perplexity", "all"]
    assert row["verdict"] == ("not run" if slope is None else "supported")
    assert slope is None or row["ours"] == pytest.approx(slope)
    fall = card.loc["fine_tuning_lowers_perplexity", "all, 5 steps"]
    assert (fall["ours"], fall["verdict"]) == (pytest.approx(-0.1), "supported")


def test_models_below_the_range_say_so():
    small = dict(zip(FALLS, (10**5, 10**6, 10**7), strict=True))
    notes = [trained_card(logprobs(FALLS, sizes)).loc[(MORE, "all, 5 steps"), "note"]
             for sizes in (small, None)]  # fmt: skip
    assert "smaller than the paper's: at most 10,000,000 parameters" in notes[0]
    assert "outside" not in notes[1]


def test_contrast_errors_are_those_of_resampled_passages():
    """Against 4,000 draws of 40 passages of different lengths."""
    random = np.random.default_rng(0)
    tokens = random.integers(50, 400, 40)
    falls = random.normal(0.2, 0.1, 40)
    table = pd.DataFrame(
        [(size, 0, "c", place, tokens[place], -tokens[place] * (4 - fall * (size == "b")))
         for size in "ab" for place, fall in enumerate(falls)],
        columns=["size", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )  # fmt: skip
    weights = pd.Series({(0, "b"): 1.0, (0, "a"): -1.0})
    found = log_perplexity_contrast(table, weights)
    assert found.value == pytest.approx(-(tokens * falls).sum() / tokens.sum())
    drawn = random.integers(40, size=(4000, 40))
    ratios = -(tokens * falls)[drawn].sum(1) / tokens[drawn].sum(1)
    assert found.half_width == pytest.approx(2.02 * ratios.std(), rel=0.1)


def test_contrasts_over_equal_passages_have_errors_of_means():
    """Log perplexities of 4, 3 and 2: their mean, and Student's t of two freedoms."""
    table = pd.DataFrame(
        [("a", 0, "c", place, 100, -100.0 * nats) for place, nats in enumerate((4, 3, 2))],
        columns=["size", "fine_tuning_steps", "corpus", "passage", "n_tokens", "logprob"],
    )
    found = log_perplexity_contrast(table, pd.Series({(0, "a"): 1.0}))
    assert found.value == pytest.approx(3)
    assert found.half_width == pytest.approx(4.3027 / np.sqrt(3), rel=1e-4)
