"""The audit of minimal pairs: each measure and problem on pairs made for it, and the page."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.corpora import corpus_of
from lingprob.overlap.search import find_sentences
from lingprob.pairs.audit import PROBLEMS, Evidence, audit, beyond, measure, mismatch
from lingprob.site.audit import audit_page, marked
from lingprob.stimuli.build import build_stimuli
from models_for_tests import save_tiny_tokenizer
from site_for_tests import links_of

# Of each pair: its sentences; log p of both with a start token and without the first token;
# unigram log p and tokens of both. All but the first have a problem of their own.
FINE = ("the cat sleeps now", "the cat sleep now", (-20, -30), (-15, -25), (-28, -29), (4, 4))
PAIRS = {
    "fine": FINE,
    "same": ("a dog runs", "a dog runs", (-20, -20), (-15, -15), (-25, -25), (3, 3)),
    "again": FINE,
    "turned": ("the cat sleep now", "the cat slept now", (-30, -31), (-25, -26), (-29, -29),
               (4, 4)),
    "first": ("no one ever ran", "some one ever ran", (-25, -30), (-20, -19), (-30, -29), (4, 4)),
    "long": ("we like it a lot", "we like it", (-22, -21), (-19, -18), (-30, -20), (5, 3)),
    "rare": ("it was kept here", "it was keeped here", (-20, -28), (-15, -23), (-28, -40), (4, 4)),
    "moved": ("he ate the big red one", "one red big the ate he", (-30, -60), (-25, -50),
              (-40, -40.5), (6, 6)),
    "swapped": ("they was here", "they were here", (-21, -18), (-16, -13), (-28, -28), (3, 3)),
    "leaked": ("you see me", "you sees me", (-15, -25), (-10, -20), (-20, -21), (3, 3)),
}  # fmt: skip


def evidence(unigrams: bool = True, **more: object) -> Evidence:
    stimuli, scores = [], []
    for pair, (good, bad, logprob, without_first, unigram, tokens) in PAIRS.items():
        for side, text in enumerate((good, bad)):
            item = f"{pair}.{side}"
            stimuli.append(
                {"item_id": item, "pair_id": pair, "text": text, "grammatical": side == 0,
                 "phenomenon": None, "paradigm": "one"}
            )  # fmt: skip
            for bos, values in (("bos_first_excluded", without_first), ("bos", logprob)):
                scores.append(
                    {"item_id": item, "bos": bos, "unigrams": "u", "logprob": float(values[side]),
                     "unigram_logprob": float(unigram[side]) if unigrams else np.nan,
                     "n_tokens": tokens[side], "n_words": len(text.split())}
                )  # fmt: skip
    distances = pd.DataFrame({"pair_id": list(PAIRS), "cosine_distance": 0.01})
    distances.loc[distances["pair_id"] == "moved", "cosine_distance"] = 0.5
    leakage = pd.DataFrame(
        [
            ("mine", "leaked.0", "books", 3, 3, 5),
            ("mine", "leaked.1", "books", 1, 4, 2),
            ("mine", "leaked.0", "news", 2, 3, 1),
            ("mine", "fine.0", "news", 2, 4, 9),
            ("other", "fine.0", "books", 4, 4, 9),
        ],
        columns=["dataset", "item_id", "corpus", "overlap_tokens", "n_tokens", "occurrences"],
    )
    given = {"distances": distances, "leakage": leakage, **more}
    return Evidence("mine", pd.DataFrame(stimuli), pd.DataFrame(scores), ("bos", "u"), **given)


@pytest.fixture(scope="module")
def audited() -> tuple[pd.DataFrame, pd.DataFrame]:
    return audit(evidence(), "m", 2, "demo")


def test_each_pair_has_the_problems_that_it_was_made_for(audited):
    table, _ = audited
    found = table.set_index("pair_id")["problems"].str.split("; ").to_dict()
    assert found == {
        "fine": ["called both"],  # its second sentence is called grammatical by `turned`
        "same": ["identical"],
        "again": ["called both", "repeated"],
        "turned": ["called both"],
        "first": ["verdict flips", "first word"],
        "long": ["verdict flips", "frequency", "length"],
        "rare": ["verdict flips", "frequency"],
        "moved": ["words", "meaning", "first word"],
        "swapped": ["never preferred"],
        "leaked": ["in the corpus"],
    }
    weights = table.set_index("pair_id")["weight"]
    assert weights["again"] == PROBLEMS["called both"].weight + PROBLEMS["repeated"].weight
    assert table["weight"].is_monotonic_decreasing
    assert table["pair_id"].iloc[0] == "again"


def test_measures_by_hand(audited):
    pair = audited[0].set_index("pair_id").loc
    assert pair["moved"]["levenshtein_words"] == 6
    assert pair["rare"]["levenshtein_characters"] == 3
    assert pair["rare"]["unigram_difference"] == 12
    assert pair["long"]["logprob_difference"] == -1
    assert not pair["long"]["preferred"]
    assert not pair["same"]["preferred"]  # a tie prefers none
    assert pair["again"]["repeats"] == "fine"
    assert pair["turned"]["both_ways"] == "the cat sleep now"
    assert (pair["leaked"]["leaked_good"], pair["leaked"]["leaked_bad"]) == (1, 0.25)
    assert pair["leaked"]["corpus"] == "books"
    assert pair["fine"]["leaked_good"] == 0.5
    assert pd.isna(pair["first"]["corpus"])
    assert pair["moved"]["cosine_distance"] == 0.5


def test_verdicts_under_each_convention(audited):
    table, preferred = audited
    assert list(preferred) == ["log p (bos)", "log p (bos_first_excluded)", "mean log p",
                               "log p less unigrams", "SLOR"]  # fmt: skip
    long = preferred.loc["long"].tolist()
    # -22 / 5 and -21 / 3; -22 + 30 and -21 + 20; 8 / 5 and -1 / 3
    assert long == [False, False, True, True, True]
    # (-20 + 28) / 4 and (-28 + 40) / 4
    assert preferred.loc["rare"].tolist() == [True, True, True, False, False]
    flips = table.set_index("pair_id")["flips"]
    assert flips["long"] == "mean log p, log p less unigrams, SLOR"
    assert flips["first"] == "log p (bos_first_excluded)"
    assert flips["fine"] == ""
    without, known = audit(evidence(unigrams=False), "m", 2, "demo")
    assert list(known) == list(preferred)[:3]
    assert without["unigram_difference"].isna().all()
    assert not without["problems"].str.contains("frequency").any()


def test_without_embeddings_and_corpora_nothing_is_said_of_them(tmp_path):
    table, _ = audit(evidence(distances=None, leakage=None), "m", 5, "demo")
    write_table(table, "audit", tmp_path / "audit.parquet")
    again = read_table(tmp_path / "audit.parquet", "audit")
    assert again[["cosine_distance", "leaked_good", "corpus"]].isna().all(axis=None)
    assert not again["problems"].str.contains("meaning|corpus").any()
    assert "words" in again.set_index("pair_id")["problems"]["moved"]
    fewer, _ = audit(evidence(), "m", 6, "demo")
    assert "words" not in fewer.set_index("pair_id")["problems"]["moved"]


def test_a_pair_far_from_the_line_of_the_others_is_found():
    rng = np.random.default_rng(0)
    good = -40 + 10 * rng.standard_normal(200)
    tokens = rng.integers(5, 15, 200)
    bad = 0.9 * good - 5 - 0.5 * tokens + rng.standard_normal(200)
    bad[7] -= 15
    table = pd.DataFrame({"logprob_good": good, "logprob_bad": bad,
                          "n_tokens_good": tokens, "n_tokens_bad": tokens})  # fmt: skip
    found = mismatch(table)
    assert int(np.abs(found).argmax()) == 7
    assert found[7] == pytest.approx(-15, abs=2.5)
    assert np.std(np.delete(found, 7)) == pytest.approx(1, abs=0.15)
    table.loc[::8, "logprob_bad"] -= 15  # skewed: the typical pair still is at 0
    assert np.median(mismatch(table)) == pytest.approx(0, abs=1e-9)
    assert np.isnan(mismatch(table.head(10))).all()
    assert np.isnan(mismatch(table.assign(logprob_bad=good))).all()  # nothing is left over


def test_weight_orders_pairs_before_mismatch_does():
    rng = np.random.default_rng(0)
    stimuli, scores = [], []
    for pair in range(30):
        for side in (0, 1):
            text = f"word{pair} {'is' if side == 0 or pair == 3 else 'are'} here"
            stimuli.append(
                {
                    "item_id": f"{pair}.{side}",
                    "pair_id": f"p{pair}",
                    "text": text,
                    "grammatical": side == 0,
                    "phenomenon": None,
                    "paradigm": None,
                }
            )
            logprob = -20 - 5 * side + rng.standard_normal() - (40 * side if pair == 9 else 0)
            scores.append({"item_id": f"{pair}.{side}", "bos": "bos", "unigrams": "u",
                           "logprob": logprob, "unigram_logprob": None, "n_tokens": 3,
                           "n_words": 3})  # fmt: skip
    given = Evidence("mine", pd.DataFrame(stimuli), pd.DataFrame(scores), ("bos", "u"))
    table, _ = audit(given, "m", 2, "demo")
    assert table["pair_id"].tolist()[:2] == ["p3", "p9"]
    assert table["problems"].tolist()[:2] == ["identical", "message"]
    clean = table[table["problems"] == ""]["mismatch"].abs()
    assert len(clean) > 20
    assert clean.is_monotonic_decreasing


def test_far_out_is_beyond_the_upper_fence():
    values = pd.Series([1.0, 2, 3, 4, 5, 8.1])  # quartiles 2.25 and 4.75
    assert beyond(values.replace(8.1, 8.4)).tolist() == [False] * 6
    assert beyond(values.replace(8.1, 9.0)).tolist() == [False] * 5 + [True]
    assert not beyond(values * np.nan).any()


def test_data_without_pairs_and_scores_that_are_missing_are_named():
    whole = evidence()
    alone = whole.stimuli.assign(pair_id=None)
    with pytest.raises(LingprobError, match=r"'mine': no pairs to audit.*`good`"):
        measure(evidence(distances=None).__class__("mine", alone, whole.scores, ("bos", "u")))
    fewer = whole.scores[whole.scores["item_id"] != "rare.1"]
    with pytest.raises(LingprobError, match=r"'mine', item 'rare\.1': no score"):
        measure(Evidence("mine", whole.stimuli, fewer, ("bos", "u")))
    with pytest.raises(LingprobError, match=r"BOS policy 'none', but under"):
        measure(Evidence("mine", whole.stimuli, whole.scores, ("none", "u")))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tiny_tokenizer(folder)
    return Tokenizer(AutoTokenizer.from_pretrained(folder), 320, "tiny")


def test_sentences_are_found_whole_at_the_start_and_within_a_document(tokenizer, tmp_path):
    lines = ["The cat sat on the mat. It seems to him.", "What does the teacher say?",
             "The cat sat on the mat."]  # fmt: skip
    texts = pd.Series({"start": "The cat sat on the mat.", "within": "the teacher say?",
                       "never": "Zebras vex quick whales!"})  # fmt: skip
    files = []
    for number, part in enumerate((lines[:2], lines[2:])):
        files.append(tmp_path / f"{number}.txt")
        files[-1].write_text("\n".join(part) + "\n")
    given = {"mine": texts, "twice": texts[:1]}
    corpus = corpus_of("c", {"parser": "lines"}, files)
    found = find_sentences(given, [corpus], tokenizer)
    write_table(found, "audit_leakage", tmp_path / "leakage.parquet")
    mine = found[found["dataset"] == "mine"].set_index("item_id")
    whole = mine["overlap_tokens"] == mine["n_tokens"]
    assert whole.to_dict() == {"start": True, "within": True, "never": False}
    assert mine["occurrences"]["start"] == 2
    assert mine["occurrences"]["within"] == 1
    assert mine["overlap_tokens"]["never"] < 4
    assert found[found["dataset"] == "twice"]["item_id"].tolist() == ["start"]


def test_words_that_differ_are_marked_and_everything_is_escaped():
    good, bad = marked("the <b>cat</b> sleeps here", "the <b>cat</b> sleep here now")
    assert good == "the &lt;b&gt;cat&lt;/b&gt; <mark>sleeps</mark> here"
    assert bad == "the &lt;b&gt;cat&lt;/b&gt; <mark>sleep</mark> here <mark>now</mark>"
    assert marked("a b", "a b") == ("a b", "a b")


def test_the_page_stands_alone_and_has_the_worst_pairs_on_top(audited):
    page = audit_page(*audited, "My <pairs>", "Model & co")
    assert links_of(page) == ["mine.csv"]
    assert "Audit: My &lt;pairs&gt;" in page
    assert "Model &amp; co" in page
    assert "10 pairs" in page
    pairs = re.findall(r'<article class="item">(.*?)</article>', page, re.S)
    assert len(pairs) == 10
    assert "again" in pairs[0]
    assert "as pair fine" in pairs[0]
    rows = dict(re.findall(r"<tr><td>([^<]*)</td><td class=\"number\">([\d.]+%)</td>", page))
    assert rows["log p (bos)"] == f"{7 / 10:.1%}"
    assert rows["mean log p"] == f"{8 / 10:.1%}"
    counts = re.findall(r"([^>]*)</span></td><td>[^<]*</td>\n<td[^>]*>(\d+)", page)
    assert dict(counts)["frequency"] == "2"
    assert "not so by mean log p" in page


def own(path: Path, **entry: object) -> pd.DataFrame:
    named = {"title": "Mine", "kind": "stimuli", "parser": "table", "path": str(path), **entry}
    return build_stimuli("mine", named, Path("."), 0)[0]


def test_a_table_with_a_row_a_pair_is_read(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("good,bad,paradigm\nA b.,B a.,x\nA b.,B a.,y\n")
    stimuli = own(path)
    assert stimuli["text"].tolist() == ["A b.", "B a."] * 2
    assert stimuli["pair_id"].tolist() == ["1", "1", "2", "2"]
    assert stimuli["item_id"].tolist() == ["1.good", "1.bad", "2.good", "2.bad"]
    assert stimuli["grammatical"].tolist() == [True, False] * 2
    assert stimuli["paradigm"].tolist() == ["x", "x", "y", "y"]
    path.write_text("ok,ko,name\nA b.,B a.,p\nC d.,D c.,q\n")
    named = own(path, columns={"good": "ok", "bad": "ko", "pair": "name"})
    assert named["item_id"].tolist() == ["p.good", "p.bad", "q.good", "q.bad"]


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("good,bad\nA b.,\n", {}, "data row 1, column 'bad': an empty sentence"),
        ("good,bad,pair\nA.,B.,1\nC.,D.,1\n", {}, "an id that an earlier row has: '1'"),
        ("good,bad,pair\nA.,B.,\n", {}, "column 'pair': no id"),
        ("good,worse\nA.,B.\n", {"good": "good"}, r"no columns \['bad'\]"),
        ("fine,bad\nA.,B.\n", {}, "no column 'sentence'"),
    ],
)
def test_a_bad_table_of_pairs_is_one_clear_message(tmp_path, text, columns, said):
    path = tmp_path / "pairs.csv"
    path.write_text(text)
    with pytest.raises(LingprobError, match=said):
        own(path, columns=columns)
