"""R between and within groups, against direct computation and on simulated truth."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from lingprob.errors import LingprobError
from lingprob.papers.morcela.analysis import DataSet
from lingprob.papers.run import Run
from lingprob.stats.linking import drawn_units
from studies.pair_decomposition.analysis import decompose_model, find_groupings, judge_gains
from studies.pair_decomposition.decomposition import decompose


def pairs(n: int = 120, *, between: float = 1.0, within: float = 1.0, seed: int = 0) -> dict:
    """Sentences in pairs and clusters of ten; MORCELA's terms tell of pairs and within them."""
    rng = np.random.default_rng(seed)
    pair = np.arange(n) // 2
    length = rng.integers(5, 20, n // 2)[pair] + rng.integers(0, 2, n)
    unigram = -8.0 * length + (4 * rng.normal(size=n // 2))[pair] + rng.normal(size=n)
    content, grammar = rng.normal(size=n // 2)[pair], np.tile([1.0, -1.0], n // 2)
    logprob = 0.7 * unigram - 10 + length * (between * content + within * grammar)
    logprob += length * 0.7 * rng.normal(size=n)
    rating = content + grammar + 0.5 * rng.normal(size=n)
    return {
        "logprob": logprob, "unigram_logprob": unigram, "n_tokens": length, "rating": rating,
        "pair": pair, "cluster": np.arange(n) // 10,
    }  # fmt: skip


def decomposed(data: dict[str, Any], **options: Any) -> pd.DataFrame:
    given = {name: data[name] for name in ("logprob", "unigram_logprob", "n_tokens", "rating")}
    groupings = options.pop("groupings", {"pair": data["pair"]})
    options = {"clusters": data["cluster"], "bootstrap": 40, **options}
    return decompose(**given, groupings=groupings, **options).set_index("linking_function")


def scores(data: dict[str, Any], rows: np.ndarray) -> dict[str, np.ndarray]:
    """In-sample scores of SLOR and MORCELA on some rows."""
    p, u, length, y = (data[name][rows] for name in
                       ("logprob", "unigram_logprob", "n_tokens", "rating"))  # fmt: skip
    terms = np.column_stack([np.ones(len(p)), p / length, u / length, 1 / length])
    return {"slor": (p - u) / length, "morcela": OLS(y, terms).fit().fittedvalues}


def direct(f: np.ndarray, y: np.ndarray, group: np.ndarray) -> dict[str, float]:
    """Both parts of r, and r of means and deviations, with groups' means in every row."""
    table = pd.DataFrame({"f": f, "y": y})
    means = table.groupby(group).transform("mean")
    left = table - means
    spread = table["f"].std() * table["y"].std()
    found = {"r": table.corr().loc["f", "y"]}
    found["between"] = means.cov().loc["f", "y"] / spread
    found["within"] = left.cov().loc["f", "y"] / spread
    found["r_between"], found["r_within"] = (part.corr().loc["f", "y"] for part in (means, left))
    worse, better = np.sort(np.arange(len(f)).reshape(-1, 2)[:, ::1], axis=1).T
    flip = y[worse] > y[better]
    found["ordered"] = np.mean((f[better] > f[worse]) != flip)
    return found


def test_every_quantity_equals_the_direct_computation():
    data = pairs()
    table, every = decomposed(data), np.arange(120)
    expected = {
        name: direct(f, data["rating"], data["pair"]) for name, f in scores(data, every).items()
    }
    for name, values in expected.items():
        assert table.loc[name, list(values)].to_numpy(float) == pytest.approx(list(values.values()))
        assert values["between"] + values["within"] == pytest.approx(values["r"])
        for quantity, value in values.items():
            gain = table.loc[name, f"gain_{quantity}"]
            assert (
                np.isnan(gain)
                if name == "slor"
                else gain == pytest.approx(value - expected["slor"][quantity])
            )
    both = table.loc["morcela"]
    assert both["gain_difference"] == pytest.approx(both["gain_r_between"] - both["gain_r_within"])


def test_intervals_are_of_refits_to_whole_clusters():
    """Loops over resampled rows; a copy of a cluster brings copies of its pairs."""
    data = pairs()
    table = decomposed(data, bootstrap=25, seed=3)
    drawn = []
    for counts in drawn_units(data["cluster"], 120, 25, 3):
        rows = np.array([row for copy in range(counts.max())
                         for row in range(120) if counts[row] > copy])  # fmt: skip
        group = data["pair"][rows]
        found = {name: direct(f, data["rating"][rows], group)
                 for name, f in scores(data, rows).items()}  # fmt: skip
        gains = {key: found["morcela"][key] - found["slor"][key] for key in found["slor"]}
        gains["difference"] = gains["r_between"] - gains["r_within"]
        drawn.append(gains)
    row, refits = table.loc["morcela"], pd.DataFrame(drawn)
    for quantity, values in refits.items():
        low, high = np.quantile(values, (0.025, 0.975)) - values.mean()
        gain = row[f"gain_{quantity}"]
        assert row[f"gain_{quantity}_low"] == pytest.approx(gain + low)
        assert row[f"gain_{quantity}_high"] == pytest.approx(gain + high)


def test_a_tied_pair_is_half_in_order():
    data = pairs()
    for name in ("logprob", "unigram_logprob", "n_tokens"):
        data[name][1:40:2] = data[name][:40:2]
    score = (data["logprob"] - data["unigram_logprob"]) / data["n_tokens"]
    first, second = (np.sign(values[::2] - values[1::2]) for values in (score, data["rating"]))
    assert (first[:20] == 0).all()
    expected = np.mean(np.where(first == 0, 0.5, first == second))
    assert decomposed(data, bootstrap=2).loc["slor", "ordered"] == pytest.approx(expected)


def test_pairs_that_are_rated_alike_have_no_order():
    data = pairs()
    data["rating"][1:40:2] = data["rating"][:40:2]
    score = (data["logprob"] - data["unigram_logprob"]) / data["n_tokens"]
    first, second = (values[40::2] > values[41::2] for values in (score, data["rating"]))
    expected = np.mean(first == second)
    assert decomposed(data, bootstrap=2).loc["slor", "ordered"] == pytest.approx(expected)


def test_groups_that_are_no_pairs_have_no_order():
    data = pairs()
    table = decomposed(data, groupings={"triple": np.arange(120) // 10})
    assert table[["ordered", "ordered_low", "gain_ordered"]].isna().all(axis=None)
    assert table["between"].notna().all()


def test_groups_may_be_of_different_sizes():
    data = pairs()
    group = np.repeat(np.arange(36), np.tile([2, 3, 5], 12))
    table = decomposed(data, groupings={"uneven": group}, bootstrap=2)
    for name, f in scores(data, np.arange(120)).items():
        expected = direct(f, data["rating"], group)
        del expected["ordered"]
        found = table.loc[name, list(expected)].to_numpy(float)
        assert found == pytest.approx(list(expected.values()))


def test_a_group_in_two_clusters_is_refused():
    data = pairs()
    with pytest.raises(LingprobError, match="pair 0 is in several of the clusters"):
        decomposed(data, clusters=np.arange(120))


def test_without_unigrams_there_are_no_gains():
    table = decomposed(pairs() | {"unigram_logprob": None})
    assert list(table.index) == ["logprob", "mean_logprob"]
    assert table.filter(like="gain").isna().all(axis=None)


def test_decompositions_use_the_columns_of_their_data_set():
    data = pairs(400)
    items = [f"s{row}" for row in range(400)]
    stimuli = pd.DataFrame({
        "item_id": items, "pair_id": [f"p{n}" for n in data["pair"]], "paradigm": "one",
        "phenomenon": [f"a{n}" for n in data["cluster"]], "rating": data["rating"],
        "rating_source": "human",
    })  # fmt: skip
    scored = pd.DataFrame({"item_id": items, "bos": "none", "unigrams": "u", "n_words": 1})
    scored = scored.assign(**{name: data[name] for name in
                              ("logprob", "unigram_logprob", "n_tokens")})  # fmt: skip
    options = {"convention": ("none", "u"), "bootstrap": 10, "seed": 1}
    table = decompose_model("m", {"d": DataSet(stimuli, scored)}, **options)
    assert list(dict.fromkeys(table["grouping"])) == ["pair", "article"]
    assert set(table["cluster"]) == {"article"}
    about = table[["model", "dataset", "rating_source", "bos", "unigrams"]].drop_duplicates()
    assert about.to_numpy().tolist() == [["m", "d", "human", "none", "u"]]
    few = stimuli.assign(phenomenon="one")
    table = decompose_model("m", {"d": DataSet(few, scored)}, **options)
    assert set(table["grouping"]) == set(table["cluster"]) == {"pair"}
    none = few.assign(pair_id=None)
    assert decompose_model("m", {"d": DataSet(none, scored)}, **options).empty
    # A pair over two articles cannot be resampled by article.
    crossed = stimuli.assign(phenomenon=np.roll(stimuli["phenomenon"], 1))
    assert list(find_groupings(crossed)) == ["article"]
    # Nor do pairs count that one sentence lacks, that are sentences, or that no column names.
    one = stimuli.assign(pair_id=stimuli["pair_id"].where(stimuli["item_id"] != "s7"))
    each = stimuli.assign(pair_id=stimuli["item_id"])
    for given in (one, each, stimuli.drop(columns=["pair_id", "paradigm"])):
        assert list(find_groupings(given)) == ["article"]


def judged_pairs(lengths: str, runs: int) -> list[str]:
    """Verdicts on 200 pairs whose sentences differ in length within pairs or between them alone."""
    found = []
    for run in range(runs):
        rng = np.random.default_rng([7, run])
        pair = np.arange(400) // 2
        length = rng.integers(5, 25, 400)
        length = length if lengths == "within" else length[2 * pair]
        quality = np.tile([1.0, -1.0], 200) + rng.normal(size=200)[pair]
        unigram = -8.0 * length + 2 * rng.normal(size=400) * np.sqrt(length)
        logprob = unigram - 11 + length * (quality + 0.6 * rng.normal(size=400))
        rating = quality + rng.normal(0, 0.7, 400)
        table = decompose(logprob, unigram, length, rating, groupings={"pair": pair},
                          clusters=pair // 5, bootstrap=200, seed=run)  # fmt: skip
        table = table.assign(model="m", dataset="d", rating_source="human")
        found += judge_gains(table, Run("demo"))["verdict"].tolist()
    return found


def test_gains_between_and_within_pairs_are_separated():
    """The length correction is too strong, so pairs of different lengths differ in their error."""
    assert judged_pairs("between", 20).count("supported") >= 16
    assert judged_pairs("within", 20).count("supported") <= 1


def test_the_claim_is_about_morcela_and_pairs_alone():
    rows = [
        {"grouping": grouping, "linking_function": name, "gain_difference": value}
        for name, grouping, value in (("slor", "pair", 0.7), ("morcela", "article", 0.5),
                                      ("morcela", "pair", 0.3), ("slor", "article", 0.6))
    ]  # fmt: skip
    table = pd.DataFrame(rows).assign(model="m", dataset="d", rating_source="simulated", n=9)
    table = table.assign(gain_difference_low=0.2, gain_difference_high=0.5)
    (row,) = judge_gains(table, Run("demo")).to_dict("records")
    assert (row["row"], row["ours"], row["low"], row["high"]) == ("m/d", 0.3, 0.2, 0.5)
    assert row["note"].startswith("simulated ratings")
