"""A SyntaxGym suite worked out by hand, and prefixes of the real data sets."""

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.catalog import Catalog
from lingprob.context.judgments import judge
from lingprob.context.perturbations import Perturber
from lingprob.context.prefixes import unrelated_sentences
from lingprob.context.sampling import PrefixSampler, Source
from lingprob.context.scores import Targets, formula_regions, score_prefixes
from lingprob.io.corpora import iter_documents
from lingprob.models.loading import load_language_model
from lingprob.papers.context.overlaps import dependency_labels
from lingprob.scoring.engine import Scorer
from lingprob.stimuli.build import build_stimuli
from lingprob.stimuli.syntaxgym import read_suite


@pytest.fixture(scope="module")
def syntaxgym(mirror):
    folder = mirror / "syntaxgym" / "json"
    return build_stimuli("syntaxgym", Catalog().dataset("syntaxgym"), folder, 0)[0]


@pytest.fixture(scope="module")
def language_model(smollm2):
    return load_language_model(smollm2)


def by_words(texts):
    """Offsets of a tokenizer whose tokens are words."""
    return [np.zeros((len(text.split()), 2), dtype=int) for text in texts]


def surprisal(lm, before, word):
    """Bits of a word after a text, by one plain forward pass over words that are tokens."""
    start, context, target = lm.start_id("<|endoftext|>"), *lm.tokenize([before, f" {word}"])
    ids = [start, *context.ids.tolist(), *target.ids.tolist()]
    with torch.no_grad():
        logits = lm.model(torch.tensor([ids])).logits[0].double()
    rows = torch.log_softmax(logits, -1)
    first = len(ids) - len(target.ids)
    return -sum(
        float(rows[first + k - 1, ids[first + k]]) for k in range(len(target.ids))
    ) / np.log(2)


def test_number_prep_by_hand(mirror, syntaxgym, language_model):
    """[(6;%match_sing%) < (6;%mismatch_sing%)] & [(6;%match_plural%) < (6;%mismatch_plural%)]

    Region 6 is the verb: after "The author next to the senators" `is` must be less surprising
    than `are`, and after "The authors next to the senator" `are` than `is`.
    """
    suite = read_suite(mirror / "syntaxgym" / "json" / "number_prep.json")
    items = [f"number_prep/{number}" for number in range(1, 7)]
    stimuli = syntaxgym[syntaxgym["pair_id"].isin(items)]
    prefixes = pd.DataFrame(
        {
            "prefix_id": ["x"], "kind": ["matched_acceptable"], "source_suite": [None],
            "perturbation": [None], "pair_ids": [items], "text": ["The cat sat."],
            "char_ends": [[12]],
        }
    )  # fmt: skip
    pieces = score_prefixes(
        Scorer(language_model), Targets("syntaxgym", stimuli, formula_regions([suite])),
        [prefixes.assign(n_tokens=[[4]])], [10], alone=True, start_token="<|endoftext|>",
    )  # fmt: skip
    judged = judge("m", "syntaxgym", stimuli, prefixes, pd.concat(pieces), [suite])
    judged = judged[judged["kind"] == "none"]
    judged = judged.set_index("pair_id")["correct"]
    assert len(judged) == 6
    raw = {item.number: item.sentences for item in suite.items}
    for number in range(1, 7):
        bits = {}
        for condition, sentence in raw[number].items():
            words = sentence.text.split()
            verb = sentence.text[sentence.regions[5].start : sentence.regions[5].end].strip()
            place = words.index(verb)
            bits[condition] = surprisal(language_model, " ".join(words[:place]), verb)
        by_hand = (
            bits["match_sing"] < bits["mismatch_sing"]
            and bits["match_plural"] < bits["mismatch_plural"]
        )
        assert judged[f"number_prep/{number}"] == by_hand
    assert raw[1]["match_sing"].text == "The author next to the senators is good"


def test_no_mismatched_prefix_has_its_targets_suite(syntaxgym):
    """23 suites, each seed; a third of SyntaxGym's suites share sentences."""
    suites = Catalog().dataset("syntaxgym")["suites"]
    texts = syntaxgym.groupby("paradigm")["text"].agg(set)
    for seed in (0, 1, 2):
        source = Source("syntaxgym", syntaxgym, ["A control."], by_words, suites)
        sampler = PrefixSampler(source, [1, 1000], seed)
        for suite in suites:
            pairs = syntaxgym.loc[syntaxgym["paradigm"] == suite, "pair_id"].unique()[:2]
            for kind in ("mismatched_acceptable", "mismatched_unacceptable"):
                row = sampler.grow(suite, list(pairs), kind)
                ends = row["char_ends"]
                sentences = [row["text"][begin:end].strip()
                             for begin, end in zip([0, *ends], ends, strict=False)]  # fmt: skip
                assert len(sentences) > 50
                assert not texts[suite] & set(sentences)
                assert len(set(sentences)) == len(sentences)


def test_unrelated_wikitext_sentences_are_many_and_whole(mirror):
    path = mirror / "wikitext" / "wikitext103_test.txt"
    sentences = unrelated_sentences(iter_documents("lines", [path]))
    assert len(sentences) > 7000
    assert not any("@" in sentence or "<" in sentence for sentence in sentences)
    assert "Robert Boulter is an English film, television and theatre actor." in sentences


def test_perturbed_blimp_keeps_only_capitals_of_names(mirror):
    entry = Catalog().dataset("blimp")
    entry = {
        **{key: entry[key] for key in entry if key not in ("items", "pairs")},
        "files": entry["files"][:3],
    }
    stimuli, _ = build_stimuli("blimp", entry, mirror / "blimp", 0)
    perturber = Perturber(stimuli["text"])
    rng = np.random.default_rng(0)
    assert "who should Derek hug" in perturber.perturb(
        "Who should Derek hug after shocking Richard?", "long_prefix_adverb", rng
    )
    assert "Katherine can't help herself" in perturber.perturb(
        "Katherine can't help herself.", "suffix_clause", rng
    )


def test_dependency_labels_are_those_of_spacy():
    labels = dependency_labels(["The author next to the senators is good.", "Who barks?"])
    assert labels[0] == [
        "det", "nsubj", "advmod", "prep", "det", "pobj", "ROOT", "acomp", "punct"
    ]  # fmt: skip
    assert labels[1] == ["nsubj", "ROOT", "punct"]
