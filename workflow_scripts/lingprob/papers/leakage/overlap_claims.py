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


def short_overlaps(passages: pd.DataFrame) -> Estimate:
    """Return the share of passages whose longest overlap is less than half of them."""
    return share(2 * passages["overlap_len"] < passages["article_len"])


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
    for name, table in _searched(tables):
        if name.split("/")[0] not in ("the_pile", "pile_pythia"):
            continue
        for column, convention in (
            ("below_threshold_compat", "limit in nats, probabilities in log10"),
            ("below_threshold_corrected", "both in nats"),
        ):
            flagged = table[table[column] == True]  # noqa: E712 (null is neither)
            if len(flagged):
                note = f"{len(flagged)} of {len(table)} overlaps flagged"
                shortest = Estimate.exact(float(flagged["overlap_len"].min()), note)
                yield f"{name}, {convention}", shortest


STATISTICS: dict[str, Statistic] = {
    "nothing_whole_outside_provo": of_passages(partial(whole, of_provo=False)),
    "some_of_provo_whole": of_passages(partial(whole, of_provo=True)),
    "overlaps_are_short": of_passages(short_overlaps),
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

    Args:
        tables: `overlap`, with the published overlaps if the scale has them, and `overlap_chunks`.
        run: the paper's run.
        coverage: argument of `covered_passages` that defines whole passages.
    """
    overlaps = tables["overlap"]
    tables = {**tables, "overlap": overlaps.assign(covered=covered_passages(overlaps, coverage))}
    ours = overlap_quantities(tables["overlap"]) | chunk_quantities(tables["overlap_chunks"])
    return score(STATISTICS, tables, ours, run)


def chunk_quantities(chunks: pd.DataFrame) -> Quantities:
    """Return the numbers of all, leakage-free and sampled chunks, by corpus (leakage, §3.1)."""
    found: Quantities = {}
    for corpus, part in chunks.groupby("searched"):
        numbers = {
            "chunks": len(part),
            "all_billion_tokens": part["n_tokens"].sum() / 1e9,
            "leakage_free": part["leakage_free"].sum(),
            "selected": part["selected"].sum(),
            "billion_tokens": part.loc[part["selected"], "n_tokens"].sum() / 1e9,
        }
        found |= {(str(corpus), key): Estimate.exact(float(n)) for key, n in numbers.items()}
    return found


def overlap_quantities(overlaps: pd.DataFrame) -> Quantities:
    """Return a run's numbers, all exact, by row and column of `published/overlap.yaml`."""
    keys = ["corpus", "article_num"]
    lengths = {
        origin: part.drop_duplicates(keys).set_index(keys)["article_len"]
        for origin, part in overlaps.groupby("origin")
    }
    found = {}
    for corpus, passages in lengths["ours"].groupby("corpus"):
        found[(str(corpus), "passages")] = float(len(passages))
        found[(str(corpus), "tokens")] = float(passages.sum())
    found |= _longest(overlaps)
    if "published" in lengths:
        theirs = lengths["published"]
        same = (lengths["ours"] == theirs.reindex(lengths["ours"].index)).groupby("corpus").sum()
        found |= {(str(corpus), "same_length"): float(count) for corpus, count in same.items()}
        total = float(theirs.sum() + len(theirs) - 1)
        found[("published/fine_tuning_sequence", "tokens")] = total
        found[("published/fine_tuning_sequence", "examples")] = total // WINDOW
    exact = {place: Estimate.exact(value) for place, value in found.items()}
    return exact | _flags(overlaps[overlaps["origin"] == "published"])


def _longest(overlaps: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return lengths and frequencies of longest overlaps with corpora of PUBLISHED_NAMES."""
    ours = overlaps[overlaps["origin"] == "ours"]
    found = {}
    for searched, name in PUBLISHED_NAMES.items():
        passages = one_per_passage(ours[ours["searched"] == searched])
        for corpus, part in passages.groupby("corpus"):
            row = f"{name}/{corpus}"
            found[(row, "median_overlap")] = float(part["overlap_len"].median())
            found[(row, "longest_overlap")] = float(part["overlap_len"].max())
            found[(row, "highest_frequency")] = float(part["overlap_freq"].max())
    return found


def _flags(published: pd.DataFrame) -> Quantities:
    """Return how many published overlaps are flagged as improbable, and how many flags agree."""
    found: Quantities = {}
    for searched, part in published.groupby("searched"):
        agreeing = (part["below_threshold"] == part["below_threshold_compat"]).sum()
        flagged = float(part["below_threshold_compat"].sum())
        note = f"{part['below_threshold_corrected'].sum()} with natural logarithms on both sides"
        found[(str(searched), "same_flag")] = Estimate.exact(float(agreeing))
        found[(str(searched), "flagged")] = Estimate.exact(flagged, note)
    return found
