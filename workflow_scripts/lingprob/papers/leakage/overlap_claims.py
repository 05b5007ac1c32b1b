"""Judge numbers and claims about overlaps of texts with corpora (leakage, §2.2, §3.1).

The paper's claims are about the Pile and OpenWebText. They are judged on the published tables of
longest overlaps with these corpora, and on those of a run that searched them. Counts of passages
are exact. Shares have intervals, because passages are a sample of such passages.
"""

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
from scipy import stats

from lingprob.papers.leakage.overlaps import covered_passages, one_per_passage
from lingprob.papers.run import Found, Run, Tables, statistic
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.estimates import CONFIDENCE
from lingprob.scorecard.verdicts import NOTHING, Estimate

# Names in the published tables of the corpora that a run searches.
PUBLISHED_NAMES = {"pile_pythia": "the_pile", "openwebtext": "owt"}
LONG = 100  # tokens
WINDOW = 2048  # tokens of an example
RARE = 10  # times
COMPLETE = "provo"  # the text some of whose passages occur whole in a corpus


def share(hits: pd.Series) -> Estimate:
    """Return the share of true values with Clopper & Pearson's exact interval."""
    if not len(hits):
        return NOTHING
    k, n, tail = int(hits.sum()), len(hits), (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, k, n - k + 1)) if k else 0.0
    high = float(stats.beta.ppf(1 - tail, k + 1, n - k)) if k < n else 1.0
    return Estimate(k / n, low, high, n, f"{k} of {n} passages")


@statistic
def of_passages(
    tables: Tables, run: Run, measure: Callable[[pd.DataFrame], Estimate | None]
) -> Found:
    """Yield a measure of passages' longest overlaps for each corpus in which it is not None."""
    for name, table in _searched(tables):
        if (found := measure(one_per_passage(table))) is not None:
            yield name, found


def whole(passages: pd.DataFrame, of_provo: bool) -> Estimate | None:
    """Return the number of whole passages in a corpus, of Provo or else of other texts."""
    chosen = passages[(passages["corpus"] == COMPLETE) == of_provo]
    complete = covered_passages(chosen, 1).sum()
    note = f"of {len(chosen)} passages, {complete} of them complete"
    return Estimate.exact(float(chosen["covered"].sum()), note) if len(chosen) else None


def frequency_of_long_overlaps(passages: pd.DataFrame) -> Estimate | None:
    """Return the highest frequency of a longest overlap of over 100 tokens, None without any."""
    long = passages[passages["overlap_len"] > LONG]
    note = f"{len(long)} overlaps of more than {LONG} tokens"
    return Estimate.exact(float(long["overlap_freq"].max()), note) if len(long) else None


def rare_overlaps_of_provo(passages: pd.DataFrame) -> Estimate:
    """Return the share of overlaps of half a Provo passage or more that occur under ten times."""
    provo = passages[passages["corpus"] == COMPLETE]
    half = provo[2 * provo["overlap_len"] >= provo["article_len"]]
    return share(half["overlap_freq"] < RARE)


def shortest_improbable(tables: Tables, run: Run) -> Found:
    """Yield the length of the shortest overlap with the Pile that is improbable by chance.

    There is one value per table and convention of the chance level.
    """
    conventions = {
        "below_threshold_compat": "limit in nats, probabilities in log10",
        "below_threshold_corrected": "both in nats",
    }
    of_pile = [item for item in _searched(tables) if item[0].startswith(("the_pile", "pile_"))]
    for name, table in of_pile:
        for column, convention in conventions.items():
            flagged = table[table[column] == True]  # noqa: E712 (null is neither)
            if len(flagged):
                note = f"{len(flagged)} of {len(table)} overlaps flagged"
                shortest = Estimate.exact(float(flagged["overlap_len"].min()), note)
                yield f"{name}, {convention}", shortest


STATISTICS: dict[str, Statistic] = {
    "nothing_whole_outside_provo": of_passages(partial(whole, of_provo=False)),
    "some_of_provo_whole": of_passages(partial(whole, of_provo=True)),
    "overlaps_are_short": of_passages(
        lambda passages: share(2 * passages["overlap_len"] < passages["article_len"])
    ),
    "long_overlaps_occur_at_most_twice": of_passages(frequency_of_long_overlaps),
    "overlaps_of_provo_are_rare": of_passages(rare_overlaps_of_provo),
    "improbable_overlaps_exceed_eleven_tokens": shortest_improbable,
}


def _searched(tables: Tables) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the published and the run's overlaps with the paper's corpora, by "CORPUS/ORIGIN"."""
    overlaps = tables["overlap"]
    ours = overlaps["searched"].isin(list(PUBLISHED_NAMES))
    about = overlaps[(overlaps["origin"] == "published") | ours]
    for (searched, origin), part in about.groupby(["searched", "origin"], sort=False):
        yield f"{searched}/{origin}", part


def compare(tables: Tables, run: Run, coverage: float) -> pd.DataFrame:
    """Return the `scorecard` table of the overlaps (leakage, §2, §3.1).

    Tables are `overlap`, with the published overlaps if the scale has them, and `overlap_chunks`.
    `coverage` defines whole passages (`covered_passages`).
    """
    overlaps = tables["overlap"]
    tables = {**tables, "overlap": overlaps.assign(covered=covered_passages(overlaps, coverage))}
    ours = overlap_quantities(tables["overlap"]) | chunk_quantities(tables["overlap_chunks"])
    return score(STATISTICS, tables, ours, run)


def exact_values(table: pd.DataFrame) -> Quantities:
    """Return the cells of a table of exact numbers by row (index) and column."""
    return {
        (str(row), str(column)): Estimate.exact(float(value))
        for row, values in table.iterrows()
        for column, value in values.items()
    }


def chunk_quantities(chunks: pd.DataFrame) -> Quantities:
    """Return the numbers of all, leakage-free and sampled chunks, by corpus (leakage, §3.1)."""
    used = chunks["n_tokens"].where(chunks["selected"].astype(bool), 0)
    counts = chunks.assign(used=used).groupby("searched").agg(
        chunks=("n_tokens", "size"),
        all_billion_tokens=("n_tokens", "sum"),
        leakage_free=("leakage_free", "sum"),
        selected=("selected", "sum"),
        billion_tokens=("used", "sum"),
    )  # fmt: skip
    return exact_values(counts.assign(**counts.filter(like="billion") / 1e9))


def overlap_quantities(overlaps: pd.DataFrame) -> Quantities:
    """Return a run's numbers, all exact, by row and column of `published/overlap.yaml`."""
    keys = ["corpus", "article_num"]
    ours, theirs = (overlaps[overlaps["origin"] == name] for name in ("ours", "published"))
    lengths, printed = (
        part.drop_duplicates(keys).set_index(keys)["article_len"] for part in (ours, theirs)
    )
    found = exact_values(lengths.groupby("corpus").agg(passages="size", tokens="sum"))
    longest = one_per_passage(ours[ours["searched"].isin(list(PUBLISHED_NAMES))])
    by_text = longest.groupby(longest["searched"].map(PUBLISHED_NAMES) + "/" + longest["corpus"])
    found |= exact_values(
        by_text.agg(
            median_overlap=("overlap_len", "median"),
            longest_overlap=("overlap_len", "max"),
            highest_frequency=("overlap_freq", "max"),
        )
    )
    if len(theirs):
        same = (lengths == printed.reindex(lengths.index)).groupby("corpus").sum()
        found |= exact_values(same.to_frame("same_length"))
        total = printed.sum() + len(printed) - 1
        sequence = pd.DataFrame({"tokens": [total], "examples": [total // WINDOW]})
        found |= exact_values(sequence.set_axis(["published/fine_tuning_sequence"]))
    for searched, part in theirs.groupby("searched"):
        agreeing = (part["below_threshold"] == part["below_threshold_compat"]).sum()
        flagged = float(part["below_threshold_compat"].sum())
        note = f"{part['below_threshold_corrected'].sum()} with natural logarithms on both sides"
        found[(str(searched), "same_flag")] = Estimate.exact(float(agreeing))
        found[(str(searched), "flagged")] = Estimate.exact(flagged, note)
    return found
