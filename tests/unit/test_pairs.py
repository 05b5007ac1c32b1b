"""Distances within pairs, the filter by edit distance, and the audit of pairs with its page."""

import re
import zipfile
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table, write_table
from lingprob.models.downloads import extract_folder
from lingprob.overlap.corpora import corpus_of, load_corpus, save_corpus
from lingprob.overlap.search import find_sentences, longest_overlaps
from lingprob.pairs import embeddings
from lingprob.pairs.audit import PROBLEMS, Evidence, audit, beyond, measure, mismatch
from lingprob.pairs.embeddings import SentenceEmbedder
from lingprob.site.audit import audit_page, marked
from lingprob.stimuli.distances import (
    EditFilter,
    edit_threshold,
    equal_bins,
    measure_pairs,
    near_pairs,
    pair_texts,
)
from models_for_tests import VOCABULARY_SIZE, save_tiny_tokenizer
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
    "leaked": ("it was kept here", "it were kept here", (-15, -25), (-10, -20), (-20, -21), (3, 3)),
}  # fmt: skip


def evidence(unigrams: bool = True, **more: object) -> Evidence:
    """The pairs with rows out of order, two unigram sources and a sentence without a pair."""
    stimuli, scores = [], []
    for pair, (good, bad, logprob, without_first, unigram, tokens) in PAIRS.items():
        for side, text in enumerate((good, bad)):
            item = f"{pair}.{side}"
            stimuli.append(
                {"item_id": item, "pair_id": pair, "text": text, "grammatical": side == 0,
                 "phenomenon": None, "paradigm": "one"}
            )  # fmt: skip
            for bos, values in (("bos_first_excluded", without_first), ("bos", logprob)):
                row = {"item_id": item, "bos": bos, "logprob": float(values[side]),
                       "n_tokens": tokens[side], "n_words": len(text.split())}  # fmt: skip
                right = float(unigram[side]) if unigrams else np.nan
                scores.append({**row, "unigrams": "another", "unigram_logprob": right - 7 * side})
                scores.append({**row, "unigrams": "u", "unigram_logprob": right})
    for source in ("u", "another"):
        scores.append({**row, "item_id": "alone", "unigrams": source, "unigram_logprob": right})
    stimuli.append({**stimuli[-1], "item_id": "alone", "pair_id": None, "grammatical": True})
    stimuli = [*stimuli[1::2], *stimuli[::-2]]  # ungrammatical first, grammatical in reverse
    scores = scores[::-1]
    distances = pd.DataFrame({"pair_id": list(PAIRS), "cosine_distance": 0.01})
    distances.loc[distances["pair_id"] == "moved", "cosine_distance"] = 0.5
    distances = distances[::-1].reset_index(drop=True)
    leakage = pd.DataFrame(
        [
            ("mine", "leaked.0", "books", 3, 3, 5),
            ("mine", "leaked.1", "news", 1, 4, 2),
            ("mine", "leaked.0", "news", 2, 3, 1),
            ("mine", "fine.0", "news", 19, 20, 9),
            ("mine", "swapped.1", "news", 3, 3, 1),
            ("other", "fine.0", "books", 4, 4, 9),
        ],
        columns=["dataset", "item_id", "corpus", "overlap_tokens", "n_tokens", "occurrences"],
    )
    given = {"distances": distances, "leakage": leakage, **more}
    return Evidence("mine", pd.DataFrame(stimuli), pd.DataFrame(scores), ("bos", "u"), **given)


@pytest.fixture(scope="module")
def audited() -> tuple[pd.DataFrame, pd.DataFrame]:
    return audit(evidence(), "m", 2, "demo")


def test_each_pair_has_its_constructed_problems(audited):
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
        "swapped": ["in the corpus", "never preferred"],
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
    assert pair["fine"]["leaked_good"] == 0.95
    assert pd.isna(pair["first"]["corpus"])
    assert pair["moved"][["cosine_distance", "paradigm"]].tolist() == [0.5, "one"]
    other, _ = measure(replace(evidence(), convention=("bos", "unscored")))
    assert other.loc["rare", "unigram_difference"] == 19  # of the first source


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


def test_a_metric_that_is_unknown_flips_no_verdict():
    whole = evidence()
    unknown = whole.scores["item_id"].str.startswith("fine.")
    scores = whole.scores.assign(unigram_logprob=whole.scores["unigram_logprob"].mask(unknown))
    given = Evidence("mine", whole.stimuli, scores, ("bos", "u"))
    table, preferred = audit(given, "m", 2, "demo")
    assert preferred.loc["fine", "SLOR"] is None
    assert table.set_index("pair_id")["flips"]["fine"] == ""
    assert table.set_index("pair_id")["flips"]["first"] == "log p (bos_first_excluded)"


def test_without_embeddings_and_corpora_nothing_is_claimed(tmp_path):
    table, _ = audit(evidence(distances=None, leakage=None), "m", 5, "demo")
    write_table(table, "audit", tmp_path / "audit.parquet")
    again = read_table(tmp_path / "audit.parquet", "audit")
    assert again[["cosine_distance", "leaked_good", "corpus"]].isna().all(axis=None)
    assert not again["problems"].str.contains("meaning|corpus").any()
    assert "words" in again.set_index("pair_id")["problems"]["moved"]
    given = evidence()
    other = given.leakage[given.leakage["dataset"] == "other"]
    fewer, _ = audit(evidence(leakage=other), "m", 6, "demo")
    assert "words" not in fewer.set_index("pair_id")["problems"]["moved"]
    assert fewer[["leaked_good", "leaked_bad", "corpus"]].isna().all(axis=None)


def test_a_pair_far_from_the_line_is_found():
    rng = np.random.default_rng(0)
    good = -40 + 10 * rng.standard_normal(200)
    tokens, of_bad = rng.integers(5, 15, (2, 200))
    bad = 0.9 * good - 5 - 0.5 * tokens - 2 * of_bad + rng.standard_normal(200)
    bad[7] -= 15
    table = pd.DataFrame({"logprob_good": good, "logprob_bad": bad,
                          "n_tokens_good": tokens, "n_tokens_bad": of_bad})  # fmt: skip
    found = mismatch(table)
    assert int(np.abs(found).argmax()) == 7
    assert found[7] == pytest.approx(-15, abs=2.5)
    assert np.std(np.delete(found, 7)) == pytest.approx(1, abs=0.15)
    table.loc[::8, "logprob_bad"] -= 15  # skewed: the typical pair still is at 0
    assert np.median(mismatch(table)) == pytest.approx(0, abs=1e-9)
    assert np.isnan(mismatch(table.head(19))).all()
    assert np.isfinite(mismatch(table.head(20))).all()
    assert np.isnan(mismatch(table.assign(logprob_bad=good))).all()  # nothing is left over


def test_weight_orders_pairs_before_mismatch_does():
    rng = np.random.default_rng(0)
    stimuli, scores = [], []
    for pair in range(30):
        for side in (0, 1):
            text = f"word{pair} {'is' if side == 0 or pair == 3 else 'are'} here"
            stimuli.append(
                {"item_id": f"{pair}.{side}", "pair_id": f"p{pair}", "text": text,
                 "grammatical": side == 0, "phenomenon": None, "paradigm": None}
            )  # fmt: skip
            logprob = -20 - 5 * side + rng.standard_normal() - (40 * side if pair == 9 else 0)
            scores.append({"item_id": f"{pair}.{side}", "bos": "bos", "unigrams": "u",
                           "logprob": logprob, "unigram_logprob": None,
                           "n_tokens": 1 if pair == 4 else 3, "n_words": 3})  # fmt: skip
    given = Evidence("mine", pd.DataFrame(stimuli), pd.DataFrame(scores), ("bos", "u"))
    table, _ = audit(given, "m", 2, "demo")
    assert table[["model", "scale"]].drop_duplicates().to_numpy().tolist() == [["m", "demo"]]
    assert table["pair_id"].tolist()[:2] == ["p3", "p9"]
    assert table["problems"].tolist()[:2] == ["identical", "message"]
    assert table[table["problems"].str.contains("implausible")]["pair_id"].tolist() == ["p4"]
    clean = table[table["problems"] == ""]["mismatch"].abs()
    assert len(clean) > 20
    assert clean.is_monotonic_decreasing


def test_far_out_is_beyond_the_upper_fence():
    values = pd.Series([1.0, 2, 3, 4, 5, 8.1])  # quartiles 2.25 and 4.75
    assert beyond(values.replace(8.1, 8.5)).tolist() == [False] * 6
    assert beyond(values.replace(8.1, 9.0)).tolist() == [False] * 5 + [True]
    assert not beyond(values * np.nan).any()


def test_missing_pairs_and_scores_are_named():
    whole = evidence()
    alone = whole.stimuli.assign(pair_id=None)
    with pytest.raises(LingprobError, match=r"'mine': no pairs to audit.*`good`"):
        measure(evidence(distances=None).__class__("mine", alone, whole.scores, ("bos", "u")))
    fewer = whole.scores[whole.scores["item_id"] != "rare.1"]
    with pytest.raises(LingprobError, match=r"'mine', item 'rare\.1': no score"):
        measure(Evidence("mine", whole.stimuli, fewer, ("bos", "u")))


def test_sentences_are_found_at_starts_and_within(tiny_tokenizer, tmp_path):
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
    found = find_sentences(given, [corpus], tiny_tokenizer)
    write_table(found, "audit_leakage", tmp_path / "leakage.parquet")
    mine = found[found["dataset"] == "mine"].set_index("item_id")
    whole = mine["overlap_tokens"] == mine["n_tokens"]
    assert whole.to_dict() == {"start": True, "within": True, "never": False}
    assert mine["occurrences"]["start"] == 2
    assert mine["occurrences"]["within"] == 1
    assert 0 < mine["overlap_tokens"]["never"] < 4
    assert found[found["dataset"] == "twice"]["item_id"].tolist() == ["start"]
    stated = corpus_of("c", {"parser": "lines", "words": 7}, files)
    save_corpus(stated, tiny_tokenizer, "tiny", tmp_path / "saved")
    saved = load_corpus(tmp_path / "saved")
    table = longest_overlaps(texts, [stated, saved], tiny_tokenizer, 1)
    assert (table["corpus_words"].tolist(), saved.tokenizer) == ([7] * 6, "tiny")


def test_differing_words_are_marked_and_all_is_escaped():
    good, bad = marked("the <b>cat</b> sleeps here", "the <b>cat</b> sleep here now")
    assert good == "the &lt;b&gt;cat&lt;/b&gt; <mark>sleeps</mark> here"
    assert bad == "the &lt;b&gt;cat&lt;/b&gt; <mark>sleep</mark> here <mark>now</mark>"
    assert marked("a b", "a b") == ("a b", "a b")


def test_the_page_needs_no_files_worst_pairs_first(audited):
    table, preferred = audited[0], audited[1].astype(object)
    preferred.loc["fine", "SLOR"] = None  # unknown, which is no flip
    page = audit_page(table, preferred, "My <pairs>", "Model & co")
    assert links_of(page) == ["mine.csv"]
    assert "Audit: My &lt;pairs&gt;" in page
    assert "Model &amp; co scored 10 pairs (scale demo), of which\n0 have no problem" in page
    pairs = re.findall(r'<article class="item">(.*?)</article>', page, re.S)
    assert len(pairs) == 10
    assert "again" in pairs[0]
    assert re.search(r"\*the cat <mark>sleep</mark> now</p>.*repeats fine", pairs[0], re.S)
    many = audit_page(pd.concat([table] * 12), preferred, "", "")
    assert many.count('<article class="item">') == 100
    named = table.assign(paradigm=np.nan, phenomenon="agreement")
    assert "agreement, again" in audit_page(named, preferred, "", "")
    rows = dict(re.findall(r"<tr><td>([^<]*)</td><td class=\"number\">([\d.]+%)</td>", page))
    assert rows["log p (bos)"] == f"{7 / 10:.1%}"
    assert rows["mean log p"] == f"{8 / 10:.1%}"
    found = re.findall(r'<td class="interval">(.*)% to (.*)%</td><td class="number">(\d*)<', page)
    flips = [float(low) < float(high) and count for low, high, count in found]
    assert flips == ["", "1", "1", "2", "2"]
    counts = re.findall(r'"verdict (\w+)">([^<]*)</span></td><td>[^<]*</td>\n<td[^>]*>(\d+)', page)
    assert {("open", "frequency", "2"), ("no", "repeated", "1")} <= {*counts}
    assert "flips mean log p" in page


def stimuli_of(*pairs: tuple[str, str]) -> pd.DataFrame:
    rows = [
        {"pair_id": str(number), "grammatical": side == 0, "text": pair[side]}
        for number, pair in enumerate(pairs)
        for side in (0, 1)
    ]
    return pd.DataFrame(rows)


def test_edits_and_cosine_by_hand():
    vectors = {"a b": [1, 0], "a c": [0.6, 0.8], "we": [0, 1 + 1e-7]}

    def embed(texts):
        assert sorted(texts) == sorted(vectors)
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    table = measure_pairs(stimuli_of(("a b", "a c"), ("we", "a b"), ("we", "we")), "mine", embed)
    assert list(table["levenshtein_characters"]) == [1, 3, 0]
    assert list(table["levenshtein_words"]) == [1, 2, 0]
    np.testing.assert_allclose(table["cosine_distance"], [0.4, 1.0, 0.0], atol=1e-7)


def test_a_pair_is_one_of_each():
    table = stimuli_of(("a", "b"), ("c", "d"))
    with pytest.raises(LingprobError, match="'mine', pair '1': 0 ungrammatical sentences"):
        pair_texts(table.iloc[:3], "mine")
    with pytest.raises(LingprobError, match="pair '0': 2 grammatical"):
        pair_texts(table.assign(grammatical=[True, True, True, False]), "mine")
    single = pd.DataFrame({"pair_id": [None], "grammatical": [True], "text": ["alone"]})
    assert pair_texts(pd.concat([table, single]), "mine").index.tolist() == ["0", "1"]


def test_sentences_without_pairs_have_no_distances():
    alone = stimuli_of(("a", "b")).assign(pair_id=None)
    with pytest.raises(LingprobError, match=r"'mine': no pairs.*string_probability\.prediction_1"):
        measure_pairs(alone, "mine", lambda texts: np.ones((len(texts), 1)))


def test_bins_keep_the_order_of_ties():
    found = equal_bins(pd.Series([0.0, 3, 0, 0], index=[7, 5, 6, 9]), 2)
    assert found.to_dict() == {7: 1, 5: 2, 6: 1, 9: 2}
    assert equal_bins(pd.Series([0, 1] * 50), 3)[::2].tolist() == [1] * 34 + [2] * 16


def rated_pairs(edits: list[int], ratings: list[float | None]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stimuli and distances of pairs p0, p1 ..., of which the last has identical sentences."""
    ids = [f"p{number}" for number in range(len(edits))]
    stimuli = pd.DataFrame(
        {
            "pair_id": np.repeat(ids, 2),
            "grammatical": [True, False] * len(ids),
            "text": [f"text {n}" for n in range(2 * len(ids) - 2)] + ["same", "same"],
            "rating": [one for rating in ratings for one in (0.5, rating)],
        }
    )
    return stimuli, pd.DataFrame({"pair_id": ids, "levenshtein_characters": edits})


def test_the_filter_keeps_what_its_reading_says():
    """The 75th percentile is 6.25 for six pairs and 4 for the five rated ones. p5 is no pair."""
    stimuli, distances = rated_pairs([1, 2, 4, 9, 7, 0], [0.0, 0.0, 0.0, None, 0.0, 0.0])
    kept = {}
    for population in ("rated", "all"):
        for comparison in ("below", "at_most"):
            reading = EditFilter("characters", 0.75, comparison, population)
            found = near_pairs(stimuli, "mine", distances, reading)
            threshold = edit_threshold(stimuli, distances, reading)
            kept[population, comparison] = (threshold, "".join(found))
    assert kept == {
        ("rated", "below"): (4.0, "p0p1"), ("rated", "at_most"): (4.0, "p0p1p2"),
        ("all", "below"): (6.25, "p0p1p2"), ("all", "at_most"): (6.25, "p0p1p2"),
    }  # fmt: skip
    distances["levenshtein_words"] = [0, 7, 9, 4, 2, 1]  # with a median of 3
    words = EditFilter("words", 0.5, "at_most", "all")
    assert "".join(near_pairs(stimuli, "mine", distances, words)) == "p0p4"


def test_rated_pairs_are_those_of_the_stimuli():
    """A pair that they lack has no rating, but counts among all that have distances."""
    stimuli, distances = rated_pairs([1, 2, 4, 0], [0.0, 0.0, 0.0, 0.0])
    distances.loc[len(distances)] = ["elsewhere", 100]
    for population, median in (("rated", 1.5), ("all", 2.0)):
        reading = EditFilter("characters", 0.5, "below", population)
        assert edit_threshold(stimuli, distances, reading) == median


def test_a_filter_of_rated_pairs_needs_some():
    stimuli, distances = rated_pairs([1, 2], [None, None])
    reading = EditFilter("characters", 0.75, "at_most", "rated")
    with pytest.raises(LingprobError, match="prediction_2"):
        edit_threshold(stimuli, distances, reading)


def test_an_embedding_is_the_mean_over_its_tokens(tmp_path, monkeypatch):
    save_tiny_tokenizer(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY_SIZE, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = BertModel(config).eval()
    model.save_pretrained(tmp_path)
    texts = ["The cat sat on the mat.", "Who?", "No student has ever seen any of these films."]
    for window, batch in ((64, 128), (64, 2), (5, 2)):  # the last cuts a text
        monkeypatch.setattr(embeddings, "BATCH", batch)
        embedded = SentenceEmbedder(tmp_path, context_window=window)(texts)
        for text, vector in zip(texts, embedded, strict=True):
            ids = torch.tensor([tokenizer(text)["input_ids"][:window]])
            with torch.no_grad():
                mean = model(input_ids=ids).last_hidden_state[0].mean(dim=0)
            np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


@pytest.mark.parametrize(
    ("asked", "has_gpu", "device"),
    [("auto", True, "cuda"), ("auto", False, "cpu"), ("cpu", True, "cpu")],
)
def test_sentences_are_embedded_on_an_available_gpu(monkeypatch, asked, has_gpu, device):
    model = SimpleNamespace(eval=lambda: None)
    model.to = lambda device: model
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(embeddings, "check_folder", lambda folder: None)
    for name in ("AutoTokenizer", "AutoModel"):
        stand_in = SimpleNamespace(from_pretrained=lambda *_, **__: model)
        monkeypatch.setattr(embeddings, name, stand_in)
    assert SentenceEmbedder("folder", 64, asked).device.type == device


def test_a_directory_without_a_model_is_named(tmp_path):
    with pytest.raises(LingprobError, match="no model there"):
        SentenceEmbedder(tmp_path, 64)


def test_only_the_model_s_own_folder_is_extracted(tmp_path):
    archive, target = tmp_path / "model.zip", tmp_path / "model"
    target.mkdir()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in ("m/config.json", "m/vocab.txt", "m/run.py", "m/deep/config.json", "x.json"):
            opened.writestr(name, name)
    extract_folder(archive, "m", target)
    found = {path.name: path.read_text() for path in target.iterdir()}
    assert found == {"config.json": "m/config.json", "vocab.txt": "m/vocab.txt"}
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(LingprobError, match=r"model\.zip: not a whole zip file"):
        extract_folder(archive, "m", target)
