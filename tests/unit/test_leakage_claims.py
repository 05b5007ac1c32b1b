"""The claims of the paper on leakage, judged: its own numbers, no effect, the effect reversed.

A case of a claim simulates the input of its statistic. 1 is the paper's effect, 0 none, and -1 the
reverse. If the paper only draws its numbers, 1 is the effect whose power the catalog states. Each
simulated run is one population in one set of tables. Arithmetic on ten numbers is run 1,000 times
without the effect, and tables of passages or models 200 or 400 times.
"""

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog, read_published
from lingprob.papers.leakage import overlap_claims as overlap
from lingprob.papers.leakage import reading_claims as reading
from lingprob.papers.leakage import training
from lingprob.papers.leakage.overlaps import covered_passages, published_overlaps
from lingprob.papers.leakage.trends import size_trends
from lingprob.papers.run import Run, Tables
from lingprob.scorecard.comparison import judge_claims
from lingprob.stats.resampling import sum_interval

STATISTICS = {
    "overlap": overlap.STATISTICS, "training": training.STATISTICS, "reading": reading.STATISTICS,
}  # fmt: skip
CLAIMS = [(room, claim["id"]) for room in STATISTICS for claim in read_published(room)["claims"]]
SIZES = np.array([28_125_440, 70_426_624, 162_322_944])
PASSAGES = {"dundee": 67, "brown_spr": 13, "geco": 13, "provo": 55, "natural_stories": 10}
READERS = 10  # Dundee's, the fewest
GAINS = ["dataset", "convention", "model", "of", "subject", "item", "nats", "n"]

Random = np.random.Generator
Simulate = Callable[[Random, float, int], Tables]


class Case(NamedTuple):
    """A claim's simulated data, the number of draws, and the paper's data if it prints them."""

    simulate: Simulate
    runs: int = 200
    printed: Callable[[Path], Tables] | None = None


def judged(room: str, name: str, tables: Tables) -> pd.DataFrame:
    """Return the rows of one claim, without that of all corpora together."""
    published = {**read_published(room), "claims": [claim_of(room, name)]}
    if "overlap" in tables:
        overlaps = tables["overlap"]
        tables = {"overlap": overlaps.assign(covered=covered_passages(overlaps, 0.9))}
    rows = judge_claims(published, {name: STATISTICS[room][name]}, tables, Run("test"))
    table = pd.DataFrame(rows).set_index("row")
    return table[~table.index.str.startswith("all")]


def shares(room: str, name: str, effect: float, runs: int) -> Mapping[str, float]:
    """Return the share of each verdict over the populations of simulated runs."""
    tables = CASES[room, name].simulate(
        np.random.default_rng(zlib.crc32(name.encode())), effect, runs
    )
    verdicts = judged(room, name, tables)["verdict"]
    assert len(verdicts) >= runs
    return verdicts.value_counts(normalize=True).reindex(["supported", "contradicted"]).fillna(0)


# Overlaps: a run is a table of 158 passages, of 60 tokens in Provo and 1,000 elsewhere.


def passages(random: Random, runs: int) -> pd.DataFrame:
    """Every passage's longest overlap: 12 tokens that occur once, and are not improbable."""
    corpora = np.repeat(list(PASSAGES), list(PASSAGES.values()))
    count = len(corpora)
    table = pd.DataFrame(
        {"corpus": np.tile(corpora, runs), "article_num": np.tile(np.arange(count), runs)}
    )
    table["origin"] = np.repeat([f"run {n}" for n in range(runs)], count)
    table["article_len"] = np.where(table["corpus"] == "provo", 60, 1000)
    flags = {"below_threshold_compat": False, "below_threshold_corrected": None}
    return table.assign(searched="pile_pythia", overlap_len=12, overlap_freq=1, **flags)


def leaked(of_provo: bool) -> Simulate:
    """Passages of a kind that are found whole: one in twenty of them, or half; none for 1."""

    def simulate(random: Random, effect: float, runs: int) -> Tables:
        table = passages(random, runs)
        chance = {1: 0.0, 0: 0.05, -1: 0.5}[int(effect)]
        whole = (table["corpus"] != "provo") & (random.random(len(table)) < chance)
        if of_provo:
            # Two such passages. The opposite and no effect are both none.
            whole = table["article_num"].isin([100, 101]) & (effect > 0)
        table.loc[whole, "overlap_len"] = 0.95 * table["article_len"]
        return {"overlap": table}

    return simulate


def short(random: Random, effect: float, runs: int) -> Tables:
    """Of the published 158 passages, 127 have a longest overlap of less than half."""
    table = passages(random, runs)
    is_short = random.random(len(table)) < 0.5 + effect * (127 / 158 - 0.5)
    table["overlap_len"] = np.where(is_short, 0.2, 0.9) * table["article_len"]
    return {"overlap": table}


def long(random: Random, effect: float, runs: int) -> Tables:
    """Fourteen overlaps above 100 tokens: at most two occurrences, or as many as any other."""
    table = passages(random, runs)
    some = (table["corpus"] == "geco") | (table["article_num"] == 157)
    table.loc[some, "overlap_len"] = 101
    common = random.geometric(0.1, len(table)) + (20 if effect < 0 else 0)
    table["overlap_freq"] = random.integers(1, 3, len(table)) if effect > 0 else common
    return {"overlap": table}


def rare(random: Random, effect: float, runs: int) -> Tables:
    """Thirty-one passages of Provo overlap by half or more: 27 of them under ten times."""
    table = passages(random, runs)
    half = (table["corpus"] == "provo") & (table["article_num"].between(93, 93 + 30))
    table.loc[half, "overlap_len"] = 30
    is_rare = random.random(len(table)) < 0.5 + effect * (27 / 31 - 0.5)
    table["overlap_freq"] = np.where(is_rare, 2, 10)
    return {"overlap": table}


def improbable(random: Random, effect: float, runs: int) -> Tables:
    """A third of overlaps of 6 to 60 tokens flagged: those above 11, any, or those up to 11."""
    table = passages(random, runs)
    table["overlap_len"] = random.integers(6, 60, len(table))
    wanted = {1: table["overlap_len"] > 11, 0: True, -1: table["overlap_len"] <= 11}[int(effect)]
    table["below_threshold_compat"] = wanted & (random.random(len(table)) < 1 / 3)
    return {"overlap": table}


def published_tables(mirror: Path) -> Tables:
    tables = [
        published_overlaps(mirror / f"rt_leakage/rt_overlap_{name}.tsv", name, "test")
        for name in ("the_pile", "owt")
    ]
    return {"overlap": pd.concat(tables, ignore_index=True)}


# Perplexity: a run is a corpus of 13 passages (GECO's or Brown's number), three sizes, two states.


def perplexities(*, size: float = 0.0, tuning: float = 0.0, change: float = 0.0) -> Simulate:
    """Passages whose effects vary by 0.1 nats around a given value, times the effect."""

    def simulate(random: Random, effect: float, runs: int) -> Tables:
        items = 13 * runs
        own = random.normal(effect * np.array([size, tuning, change])[:, None], 0.1, (3, items))
        tokens = random.integers(300, 1000, items)
        names = {"corpus": np.repeat([f"run {n}" for n in range(runs)], 13),
                 "passage": np.tile(np.arange(13), runs), "n_tokens": tokens}  # fmt: skip
        rows = []
        for x, parameters in zip(centred(SIZES), SIZES, strict=True):
            for steps in (0, 5):
                nats = 4 + own[0] * x + (own[1] + own[2] * x if steps else 0)
                part = pd.DataFrame({**names, "logprob": -tokens * nats})
                about = {"size": str(parameters), "parameters": parameters}
                rows.append(part.assign(**about, fine_tuning_steps=steps))
        return {"passage_logprobs": pd.concat(rows, ignore_index=True)}

    return simulate


# Reading times: a run is a data set of ten readers, or of as many passages.


def centred(sizes: np.ndarray) -> np.ndarray:
    return np.log10(sizes) - np.log10(sizes).mean()


def added(random: Random, effect: float, runs: int) -> Tables:
    """Each of ten readers gains 5 nats, varying by 4."""
    rows = []
    for run in range(runs):
        gains = random.normal(5 * effect, 4, READERS)
        low, high = sum_interval(gains[:, None], 1000, run)
        rows.append((f"run {run}", gains.sum(), low, high))
    columns = ["dataset", "delta", "delta_low", "delta_high"]
    more = {"model": "m", "regression": "mixed model", "rt_source": "human", "singular": False}
    return {"delta_log_likelihood": pd.DataFrame(rows, columns=columns).assign(**more)}


STATES = {
    f"m{size}-ft{steps}": {
        "family": "trained", "parameters": int(size), "fine_tuning_steps": steps,
    }
    for size in SIZES
    for steps in (0, 5)
}  # fmt: skip


def deltas_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    same = {"rt_source": "human", "context": "passage", "corrected": True, "scale": "test"}
    columns = ["dataset", "model", "delta", "word_perplexity", *same]
    return pd.DataFrame(rows, columns=columns[:4]).assign(**same)[columns]


def slopes(of: str, *, slope: float, change: float, vary: float) -> Simulate:
    """Readers' gains, or passages' log perplexities, with slopes and changes of their own."""

    def simulate(random: Random, effect: float, runs: int) -> Tables:
        rows, gains = [], []
        n = 1 if of == "delta" else 100
        for run in range(runs):
            level = random.normal(5, 4, READERS)
            own = random.normal(effect * slope, vary, READERS)
            more = random.normal(effect * change, vary if change else 0, READERS)
            for x, (name, entry) in zip(np.repeat(centred(SIZES), 2), STATES.items(), strict=True):
                values = level + x * (own + (more if entry["fine_tuning_steps"] else 0))
                gains += [
                    (f"run {run}", "", name, of, *units, n * value, n)
                    for units, value in zip(units_of(of), values, strict=True)
                ]
                perplexity = np.exp(values.mean()) if of == "log_perplexity" else 50.0
                rows.append({"dataset": f"run {run}", "model": name, "delta": values.sum(),
                             "word_perplexity": perplexity})  # fmt: skip
        table = pd.DataFrame(gains, columns=GAINS)
        trends = size_trends(deltas_of(rows), table, None, STATES, draws=2000, seed=1)
        return {"reading_trends": trends}

    return simulate


def units_of(of: str) -> list[tuple[str, str]]:
    """Return subject and item of each value."""
    numbers = [f"{number}" for number in range(READERS)]
    return [(number, "0") if of == "delta" else ("mean", number) for number in numbers]


def no_gains() -> pd.DataFrame:
    return pd.DataFrame(columns=GAINS)


def published_models() -> dict[str, Any]:
    return {
        name: entry for name, entry in Catalog().models.items() if name.startswith("published-")
    }


def printed_fits() -> pd.DataFrame:
    """The printed ΔLogLik as a `published_delta` table."""
    item = next(item for item in read_published("reading")["items"] if "delta" in item["columns"])
    rows = [(name, delta, perplexity) for name, (delta, perplexity, _) in item["rows"].items()]
    table = pd.DataFrame(rows, columns=["model", "delta", "word_perplexity"])
    return table.assign(convention="compat", scale="test")


def published_trends(_: Path) -> Tables:
    trends = size_trends(
        deltas_of([]), no_gains(), printed_fits(), published_models(), draws=1, seed=0
    )
    return {"reading_trends": trends}


def pretrained(random: Random, effect: float, runs: int) -> Tables:
    """The published models with slopes and residuals of the size of those printed."""
    models = published_models()
    fits = printed_fits().set_index("model")["delta"]
    rows = []
    for run in range(runs):
        for family in ("gpt2", "opt"):
            names = [name for name in fits.index if models[name]["family"] == family]
            x = centred(np.array([models[name]["parameters"] for name in names], float))
            slope = (x * fits[names]).sum() / (x**2).sum()
            spread = (fits[names] - fits[names].mean() - slope * x).std()
            values = 100 + effect * slope * x + random.normal(0, spread, len(x))
            rows += [
                {"dataset": f"run {run}", "model": name, "delta": value, "word_perplexity": 50.0}
                for name, value in zip(names, values, strict=True)
            ]
    return {
        "reading_trends": size_trends(deltas_of(rows), no_gains(), None, models, draws=1, seed=0)
    }


def partitions(random: Random, effect: float, runs: int) -> Tables:
    """Half and a quarter of a few thousand times, three equal parts, or a quarter and half."""
    chances = {1: [0.5, 0.25, 0.25], 0: [1 / 3] * 3, -1: [0.25, 0.5, 0.25]}[int(effect)]
    drawn = random.multinomial(5000, chances, size=runs)
    rows = [
        (f"run {run}", fate, count)
        for run, counts in enumerate(drawn)
        for fate, count in zip(("fit", "exploratory", "held_out"), counts, strict=True)
    ]
    return {"reading_counts": pd.DataFrame(rows, columns=["dataset", "fate", "rows"])}


def printed_counts(_: Path) -> Tables:
    (item,) = (item for item in read_published("reading")["items"] if item["item"] == "Table 2")
    rows = [
        (dataset, fate, count)
        for dataset, counts in item["rows"].items()
        for fate, count in zip(item["columns"], counts, strict=True)
    ]
    return {"reading_counts": pd.DataFrame(rows, columns=["dataset", "fate", "rows"])}


CASES = {
    ("overlap", "nothing_whole_outside_provo"): Case(leaked(False), printed=published_tables),
    ("overlap", "some_of_provo_whole"): Case(leaked(True), printed=published_tables),
    ("overlap", "overlaps_are_short"): Case(short, printed=published_tables),
    ("overlap", "long_overlaps_occur_at_most_twice"): Case(long, printed=published_tables),
    ("overlap", "overlaps_of_provo_are_rare"): Case(rare, printed=published_tables),
    ("overlap", "improbable_overlaps_exceed_eleven_tokens"): Case(
        improbable, printed=published_tables
    ),
    ("training", "larger_models_have_lower_perplexity"): Case(perplexities(size=-0.5)),
    ("training", "fine_tuning_lowers_perplexity"): Case(perplexities(tuning=-0.3)),
    ("training", "fine_tuning_lowers_perplexity_of_larger_models_more"): Case(
        perplexities(tuning=-0.3, change=-0.3)
    ),
    ("reading", "surprisal_predicts_reading_times"): Case(added, 1000),
    ("reading", "fit_falls_with_size"): Case(slopes("delta", slope=-2, change=0, vary=1.4), 400),
    ("reading", "fit_falls_with_size_of_pretrained_models"): Case(
        pretrained, printed=published_trends
    ),
    ("reading", "leakage_steepens_the_fall"): Case(
        slopes("delta", slope=-2, change=-2, vary=1.4), 400
    ),
    ("reading", "fine_tuning_lowers_perplexity_of_larger_models_more"): Case(
        slopes("log_perplexity", slope=-0.3, change=-0.3, vary=0.14), 400
    ),
    ("reading", "exploratory_partition_is_half_the_fit_partition"): Case(
        partitions, 1000, printed_counts
    ),
}
PRINTED = [claim for claim in CLAIMS if claim in CASES and CASES[claim].printed]


def claim_of(room: str, name: str) -> dict[str, Any]:
    return next(claim for claim in read_published(room)["claims"] if claim["id"] == name)


def test_every_claim_has_a_case_with_its_input():
    assert set(CASES) == set(CLAIMS)
    for room, name in CLAIMS:
        not_printed = claim_of(room, name)["inputs"].startswith(("drawn only", "our own"))
        assert not_printed == (CASES[room, name].printed is None)


@pytest.mark.parametrize(("room", "name"), PRINTED)
def test_the_papers_own_numbers_support_it(room, name, request):
    """Flags as the paper sets them. With both sides in nats, its claim is false."""
    mirror = request.getfixturevalue("mirror") if room == "overlap" else Path()
    case = CASES[room, name]
    assert case.printed is not None
    verdicts = judged(room, name, case.printed(mirror))["verdict"]
    expected = {
        row: "contradicted" if row.endswith("both in nats") else "supported"
        for row in verdicts.index
    }
    assert verdicts.to_dict() == expected
    assert "(none)" not in verdicts.index


@pytest.mark.parametrize(("room", "name"), CLAIMS)
def test_without_the_effect_claims_are_rarely_supported(room, name):
    assert shares(room, name, 0, CASES[room, name].runs)["supported"] <= 0.05


@pytest.mark.parametrize(("room", "name"), CLAIMS)
def test_reversed_it_is_contradicted(room, name):
    found = shares(room, name, -1, 30)
    assert found["contradicted"] >= 0.8
    assert found["supported"] == 0


@pytest.mark.parametrize(("room", "name"), CLAIMS)
def test_with_the_effect_support_matches_the_power(room, name):
    supported = shares(room, name, 1, 80)["supported"]
    assert supported >= 0.8
    if power := claim_of(room, name).get("power"):
        assert supported == pytest.approx(float(power.split()[0]), abs=0.05)


def test_shares_have_clopper_and_pearson_s_interval():
    from scipy.stats import binomtest

    for hits, n in ((0, 5), (27, 31), (15, 15)):
        theirs = binomtest(hits, n).proportion_ci(0.95, method="exact")
        ours = overlap.share(pd.Series([True] * hits + [False] * (n - hits)))
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
