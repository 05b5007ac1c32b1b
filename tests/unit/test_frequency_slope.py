"""The token-frequency regression against one that keeps all tokens, and its running sums."""

import tempfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import linregress
from statsmodels.regression.linear_model import OLS

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.models.loading import load_language_model
from lingprob.scoring import frequency_moments as module
from lingprob.scoring.engine import sliding_windows
from lingprob.scoring.frequency_moments import frequency_moments
from lingprob.stats.least_squares import frequency_slopes, merge_sums, sum_tokens
from models_for_tests import SENTENCES, VOCABULARY_SIZE, save_tiny_model

WINDOW, STRIDE = 16, 6
DOCUMENTS = [" ".join(SENTENCES) * 3, "A", "", *SENTENCES[:4], " ".join(SENTENCES[::-1])]


@pytest.fixture(scope="module")
def lm(tmp_path_factory):
    return load_language_model(
        save_tiny_model("gpt_neox", tmp_path_factory.mktemp("models") / "tiny"), device="cpu"
    )


@pytest.fixture(scope="module")
def unigram_logprob():
    logits = np.random.default_rng(0).normal(size=VOCABULARY_SIZE) * 2
    return logits - np.log(np.exp(logits).sum())


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    """Windows that are shorter than the model's, and overlap by more than half."""
    monkeypatch.setattr(module, "WINDOW", WINDOW)
    monkeypatch.setattr(module, "STRIDE", STRIDE)


def moments(lm, documents, unigram_logprob, shard=0, shards=1, **changes):
    """Write documents to a file and sum up their tokens after one start token or several."""
    table = pd.DataFrame({"token_id": range(len(unigram_logprob)), "logprob": unigram_logprob})
    unigrams = table.sample(frac=1, random_state=0)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(documents))
        file.flush()
        chosen = {
            "corpus": "c", "parser": "lines", "paths": [file.name], "start_tokens": {"t": "none"},
            "tokens": 10_000, "document_tokens": None, **changes,
        }  # fmt: skip
        return frequency_moments(lm, unigrams, chosen, shard, shards)


def regressed(*arguments, **changes):
    """Return the regression and the bins of all tokens, after one start token."""
    return slope_of_parts([moments(*arguments, **changes)])


def slope_of_parts(parts):
    slopes, bins = frequency_slopes(*zip(*parts, strict=True))
    (fit,) = slopes.drop(columns="start_token").to_dict("records")
    return fit, bins.drop(columns="start_token")


def obvious_logprobs(lm, ids, start_id):
    """Score each token by itself, from the start of the window that sees it first."""
    prefix = [] if start_id is None else [start_id]
    full, values = prefix + list(ids), np.full(len(prefix) + len(ids), np.nan)
    for start, end, score_from in sliding_windows(len(full), WINDOW, STRIDE):
        for position in range(max(score_from, 1), end):
            with torch.no_grad():
                logits = lm.model(torch.tensor([full[start:position]])).logits[0, -1].double()
            values[position] = logits[full[position]] - logits.logsumexp(dim=0)
    return values[len(prefix) :]


def obvious_pairs(lm, unigram_logprob, start_token, longest=None):
    """Both log-probabilities of every token, and its document."""
    x, y, number = [], [], []
    for place, document in enumerate(DOCUMENTS):
        ids = lm.tokenizer(document, add_special_tokens=False)["input_ids"][:longest]
        x += [unigram_logprob[token] for token in ids[1:]]
        y += list(obvious_logprobs(lm, ids, lm.start_id(start_token))[1:])
        number += [place] * len(ids[1:])
    return np.array(x), np.array(y), np.array(number)


@pytest.mark.parametrize("start_token", ["none", "bos"])
def test_sums_give_the_regression_of_all_tokens(lm, unigram_logprob, start_token, monkeypatch):
    monkeypatch.setattr(module, "CHARACTERS_PER_BATCH", 100)
    monkeypatch.setattr(module, "BATCHES_PER_CHUNK", 0.1)
    x, y, number = obvious_pairs(lm, unigram_logprob, start_token)
    expected = linregress(x, y)
    monkeypatch.setattr(module, "BINS", 7)
    fit, bins = regressed(lm, DOCUMENTS, unigram_logprob, start_tokens={"t": start_token})
    assert fit["n_tokens"] == len(x) > 200
    assert fit["slope"] == pytest.approx(expected.slope, abs=1e-6)
    assert fit["intercept"] == pytest.approx(expected.intercept, abs=1e-5)
    assert fit["slope_std_error_tokens"] == pytest.approx(expected.stderr, rel=1e-5)
    clustered = OLS(y, np.column_stack([np.ones(len(x)), x])).fit(
        cov_type="cluster", cov_kwds={"groups": number}
    )
    # Statsmodels also corrects for the two parameters that are fitted.
    correction = np.sqrt((len(x) - 2) / (len(x) - 1))
    assert fit["slope_std_error"] == pytest.approx(clustered.bse[1] * correction, rel=1e-4)
    assert fit["n_documents"] == len(set(number)) == 6
    assert fit["r"] == pytest.approx(expected.rvalue, abs=1e-6)

    edges = np.linspace(unigram_logprob.min(), unigram_logprob.max(), 8)
    np.testing.assert_allclose(bins["bin_low"], edges[np.isin(edges, bins["bin_low"])])
    assert bins["n_tokens"].sum() == len(x)
    for row in bins.itertuples():
        top = row.bin_high == edges[-1]
        inside = (x >= row.bin_low) & ((x <= row.bin_high) if top else (x < row.bin_high))
        assert row.n_tokens == inside.sum()
        assert row.mean_unigram_logprob == pytest.approx(x[inside].mean())
        assert row.mean_logprob == pytest.approx(y[inside].mean(), abs=1e-5)
        assert row.sd_logprob == pytest.approx(y[inside].std(), abs=1e-5)


def test_shards_merge_to_the_whole(lm, unigram_logprob, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WINDOWS_PER_PIECE", 1)
    cut = {"tokens": 200, "document_tokens": 110}
    whole = moments(lm, DOCUMENTS, unigram_logprob, **cut)
    kept = []
    for name, table in zip(("frequency_moments", "frequency_documents"), whole, strict=True):
        write_table(table, name, tmp_path / f"{name}.parquet")
        kept.append(read_table(tmp_path / f"{name}.parquet", name))
    fit, bins = slope_of_parts([kept])
    parts = [moments(lm, DOCUMENTS, unigram_logprob, shard, 3, **cut) for shard in range(3)]
    assert all(20 < part["n_tokens"].sum() < 150 for part, _ in parts)
    assert len(whole[0]) == 20
    # Texts of a token and of none have no number.
    assert whole[1]["document"].tolist() == list(range(len(whole[1])))
    # Documents lie in several shards.
    assert sum(len(documents) for _, documents in parts) > len(whole[1])
    merged, merged_bins = slope_of_parts(parts)
    assert merged == pytest.approx(fit)
    assert merged["n_tokens"] == 200
    pd.testing.assert_frame_equal(merged_bins, bins)
    assert set(fit) < set(SCHEMAS["frequency_slopes"].names)
    bins = bins.assign(model="tiny", corpus="sentences", start_token="none")
    write_table(bins, "frequency_bins", tmp_path / "bins.parquet")


def test_bins_end_at_the_lowest_and_highest(lm, monkeypatch):
    """Four bins from -9 to -1. A value between two is in the upper one."""
    unigrams = np.full(VOCABULARY_SIZE, -5.0)
    ids = lm.tokenizer(SENTENCES[0])["input_ids"]
    unigrams[ids[1]], unigrams[ids[2]], unigrams[ids[3]] = -9, -1, -6.9
    monkeypatch.setattr(module, "BINS", 4)
    binned, documents = moments(lm, SENTENCES[:1], unigrams)
    x = unigrams[ids[1:]]
    assert binned["bin_low"].tolist() == [-9, -7, -5, -3]
    assert binned["bin_high"].tolist() == [-7, -5, -3, -1]
    expected = [(x == value).sum() for value in (-9, -6.9, -5, -1)]
    assert binned["n_tokens"].tolist() == expected
    assert min(expected) > 0
    assert documents[["n_tokens", "x"]].to_numpy().tolist() == [[len(x), pytest.approx(x.sum())]]


def test_no_document_is_read_after_the_last_token(lm, unigram_logprob, monkeypatch):
    """Letters that are no part of a longer token: one is not regressed, of two the second is."""
    monkeypatch.setattr(module, "CHARACTERS_PER_BATCH", 1)
    documents = iter(["Q", "Qz", "", "Qzx", "Qz", "Qz"])
    monkeypatch.setattr(module, "iter_documents", lambda *_: documents)
    _, by_document = moments(lm, [], unigram_logprob, tokens=4)
    assert by_document["n_tokens"].tolist() == [1, 2, 1]
    assert list(documents) == ["Qz"]


@pytest.mark.parametrize("cut", [{"tokens": 3}, {"tokens": 171}, {"document_tokens": 12}])
def test_texts_are_cut_within_a_document(lm, unigram_logprob, cut):
    x, y, number = obvious_pairs(lm, unigram_logprob, "none", cut.get("document_tokens"))
    x, y, number = (values[: cut.get("tokens")] for values in (x, y, number))
    fit, _ = regressed(lm, DOCUMENTS, unigram_logprob, **cut)
    assert (fit["n_tokens"], fit["n_documents"]) == (len(x), len(set(number)))
    assert fit["slope"] == pytest.approx(linregress(x, y).slope, abs=1e-5)
    # One document tells no error between documents.
    assert np.isnan(fit["slope_std_error"]) == (len(set(number)) == 1)
    assert fit["slope_std_error_tokens"] > 0


@pytest.mark.parametrize(("context_window", "stride"), [(64, 32), (7, 6), (6, 3), (2, 1)])
def test_a_smaller_context_window_counts(lm, unigram_logprob, monkeypatch, context_window, stride):
    """It goes on by the usual stride, or by half of itself."""
    monkeypatch.setattr(module, "WINDOW", 2048)
    monkeypatch.setattr(module, "STRIDE", 6 if context_window < 64 else 1024)
    default = regressed(replace(lm, context_window=context_window), DOCUMENTS, unigram_logprob)[0]
    monkeypatch.setattr(module, "WINDOW", context_window)
    monkeypatch.setattr(module, "STRIDE", stride)
    assert default == regressed(lm, DOCUMENTS, unigram_logprob)[0]


@pytest.mark.parametrize(
    ("documents", "unigrams", "message"),
    [
        (SENTENCES, np.zeros(VOCABULARY_SIZE - 1), "needs 320 finite ones"),
        (SENTENCES, np.append(np.zeros(VOCABULARY_SIZE - 1), -np.inf), "needs 320 finite ones"),
        (SENTENCES, np.full(VOCABULARY_SIZE, -2.0), "three with different unigram"),
        (["The"], np.linspace(-9, -1, VOCABULARY_SIZE), "three with different unigram"),
    ],
)
def test_regressions_that_cannot_be_are_explained(lm, documents, unigrams, message):
    with pytest.raises(LingprobError, match=message):
        regressed(lm, documents, unigrams)


def slope_of(x, y, document):
    """The regression of few tokens, with bins of none, one and all others."""
    x, y, document = np.array(x), np.array(y), np.array(document)
    bins = sum_tokens("bin_low", np.append(-2.0, np.full(len(x) - 1, -1.0)), x, y)
    empty = 0 * bins.iloc[:1].assign(bin_low=0.0) + [-3.0, 0, 0, 0, 0, 0, 0]
    bins = pd.concat([empty, bins]).assign(bin_high=lambda table: table["bin_low"] + 1)
    tables = (bins, sum_tokens("document", document, x, y))
    return slope_of_parts([[table.assign(start_token="t") for table in tables]])


def test_few_tokens_that_hardly_differ_have_a_slope():
    x, y, document = [-1.0, -1.1, -0.9, -1.3, -1.0], [-0.4, -0.5, -0.2, -0.4, -0.3], [0, 0, 1, 1, 1]
    fit, bins = slope_of(x, y, document)
    expected = linregress(x, y)
    assert [fit[name] for name in ("slope", "intercept", "r", "slope_std_error_tokens")] == (
        pytest.approx([expected.slope, expected.intercept, expected.rvalue, expected.stderr])
    )
    # Two documents: scores are sums over their tokens, and count twice.
    dx, residual = np.array(x) + 1.06, np.array(y) - fit["intercept"] - fit["slope"] * np.array(x)
    scores = np.bincount(document, dx * residual)
    error = np.sqrt(2 * (scores**2).sum()) / (dx**2).sum()
    assert fit["slope_std_error"] == pytest.approx(error)
    assert list(bins) == ["bin_low", "bin_high", "n_tokens", "mean_unigram_logprob",
                          "mean_logprob", "sd_logprob"]  # fmt: skip
    assert bins["n_tokens"].tolist() == [1, 4]
    assert bins["sd_logprob"].tolist() == pytest.approx([0, np.std(y[1:])])
    level, _ = slope_of(x, [-0.5] * 5, document)
    assert (level["slope"], level["r"], level["slope_std_error_tokens"]) == (0, 0, 0)


def test_parts_of_documents_are_added_up():
    x, y = np.random.default_rng(0).normal(size=(2, 9))
    document = np.array([4, 7, 7, 9, 4, 7, 4, 9, 9])
    some = (slice(5), slice(5, 9))
    parts = [sum_tokens("document", document[rows], x[rows], y[rows]) for rows in some]
    whole = sum_tokens("document", document, x, y)
    pd.testing.assert_frame_equal(merge_sums(parts, "document"), whole)
    in_nine = document == 9
    expected = [9, 3, *(values[in_nine].sum() for values in (x, y, x * x, x * y, y * y))]
    assert whole.iloc[-1].tolist() == pytest.approx(expected)


def test_start_tokens_are_regressed_apart(lm, unigram_logprob):
    tokens = {"own": "<s>", "none": "none"}
    slopes, bins = frequency_slopes(
        *([table] for table in moments(lm, DOCUMENTS, unigram_logprob, start_tokens=tokens))
    )
    assert slopes["start_token"].tolist() == ["own", "none"]
    for name, token in tokens.items():
        fit, binned = regressed(lm, DOCUMENTS, unigram_logprob, start_tokens={"t": token})
        assert slopes.set_index("start_token").loc[name].to_dict() == pytest.approx(fit)
        found = bins[bins["start_token"] == name].drop(columns="start_token")
        pd.testing.assert_frame_equal(found.reset_index(drop=True), binned)
