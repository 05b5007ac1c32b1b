"""Certificates by hand: planted texts, verdicts by chance level, names and files."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers
from transformers import PreTrainedTokenizerFast

import lingprob
from lingprob.api import corpora
from lingprob.api.cli import main
from lingprob.api.corpora import choose_tokenizer
from lingprob.errors import LingprobError
from lingprob.io import hub_rows
from lingprob.io.tables import write_csv
from lingprob.models.tokenizer import Tokenizer
from lingprob.ngrams.lmplz import load_kenlm
from lingprob.overlap import chance
from lingprob.overlap.chance import logprob_threshold
from lingprob.overlap.corpora import Corpus, CorpusFile
from lingprob.overlap.search import longest_overlaps, whole_words
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run
from models_for_tests import save_tiny_model

PLANTED = "Who did Mary say that John saw?"
BIGRAMS = """\\data\\
ngram 1=5
ngram 2=1

\\1-grams:
-2.0\t<unk>
-99\t<s>\t-0.5
-1.2\t</s>
-1.0\tMary\t-0.25
-1.5\tsay\t0

\\2-grams:
-0.3\tMary say

\\end\\
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    save_tiny_model("gpt_neox", folder / "tiny")
    return folder


@pytest.fixture
def place(folder, tmp_path, monkeypatch) -> Path:
    """A folder with two corpora and the cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINGPROB_CACHE", str(tmp_path / "cache"))
    lines = ["A cat.", f"Nobody knows. {PLANTED} She would not tell. {PLANTED}", PLANTED[:12]]
    write_lines(tmp_path / "one.jsonl", lines)
    write_lines(tmp_path / "two.jsonl", ["Who did Mary", ", say that John saw? Zürich!"])
    return tmp_path


def write_lines(path: Path, texts: list[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def certified(folder: Path, texts: Any, searched: Any, **options: Any) -> pd.DataFrame:
    return lingprob.certify(
        texts, searched, tokenizer=folder / "tiny", **{"ngrams": "none", **options}
    )


def test_texts_keep_their_ids(folder, place):
    table = certified(folder, ["Zürich", " \n", "Who   did\nMary"], ["two.jsonl", "one.jsonl"])
    assert table["text_id"].tolist() == [1, 3, 1, 3]
    assert table["corpus"].tolist() == ["two.jsonl"] * 2 + ["one.jsonl"] * 2
    assert table["text"].tolist()[:2] == ["Zürich", "Who did Mary"]
    assert table["overlap_text"].tolist()[:2] == ["Zürich", "Who did Mary"]
    series = pd.Series(["", "Mary"], ["b.0", "b.1"])
    assert certified(folder, series, "one.jsonl")["text_id"].tolist() == ["b.1"]
    with pytest.raises(LingprobError, match="the id 'b' twice"):
        certified(folder, pd.Series(["A cat.", "Mary"], ["b", "b"]), "one.jsonl")
    with pytest.raises(LingprobError, match="no word in the texts"):
        certified(folder, [" "], "one.jsonl")


def test_overlaps_below_the_minimum_are_absent(folder, place):
    """By a pass over files and by a saved corpus, in both calls."""
    texts = ["A q A", "", "Zürich cat", "John saw", PLANTED]
    found = certified(folder, texts, "two.jsonl", min_length=1, save="kept")
    lengths = found["overlap_tokens"]
    assert lengths[3] > 4 > lengths.min() > 0
    for min_length, corpus in product((1, 2, 3, 4, 60), ("two.jsonl", "kept/two.jsonl")):
        expected = lengths.where(lengths >= min_length, 0).tolist()
        corpus = Path(corpus)
        table = certified(folder, texts, corpus, min_length=min_length)
        assert table["overlap_tokens"].tolist() == expected
        given = {"tokenizer": folder / "tiny", "min_length": min_length}
        plain = lingprob.find_overlap(texts, corpus, **given).groupby("text_id").first()
        assert plain.index.tolist() == found["text_id"].tolist() == [1, 3, 4, 5]
        # A text is only searched for as the first of a document here.
        assert (plain["overlap_tokens"] <= expected).all()
        assert ((plain["overlap_tokens"] >= min_length) | (plain["overlap_tokens"] == 0)).all()
    row = table.iloc[0]
    assert row["verdict"] == chance.ABSENT
    assert (row["overlap_tokens"], row["occurrences"], row["last_token"]) == (0, 0, -1)


def test_patterns_are_corpora_and_copies_are_refused(folder, place):
    (row,) = certified(folder, PLANTED, "*.jsonl").to_dict("records")
    assert (row["corpus"], row["occurrences"]) == ("*.jsonl", 2)
    assert row["ngrams"] == "none: no n-gram model was wanted"
    assert row["overlap_text"].strip() == PLANTED
    write_lines(place / "three.jsonl", ["Who did Mary", ", say that John saw? Zürich!"])
    with pytest.raises(LingprobError, match=r"'three.jsonl' and 'two.jsonl' have the same"):
        certified(folder, PLANTED, "*.jsonl")
    with pytest.raises(LingprobError, match=r"'one\.jsonl' is also the name of a file"):
        lingprob.find_overlap(PLANTED, ["two", "one.jsonl"], tokenizer=folder / "tiny")
    Path("two").mkdir()  # several texts may have the name of a folder
    assert len(lingprob.find_overlap("A", ["two", "A"], tokenizer=folder / "tiny")) == 1
    with pytest.raises(LingprobError, match="corpus texts are a DataFrame"):
        lingprob.find_overlap(PLANTED, pd.DataFrame({"text": ["A cat."]}))


@pytest.mark.parametrize(
    ("searched", "options", "said"),
    [
        ("gutenburg", {}, "unknown corpus 'gutenburg'. Did you mean 'gutenberg'.*path of the file"),
        ("no.txt", {}, "unknown corpus 'no.txt'"),
        (["one.jsonl", "one.jsonl"], {}, "each one once"),
        ([], {}, "Name at least one"),
        ("one.jsonl", {"ngrams": "gutenburg"}, "unknown n-gram model 'gutenburg'"),
        ("one.jsonl", {"min_length": 0}, "min_length is 0"),
        ("one.jsonl", {"ngrams": "rows"}, "r.npy: token ids, but text is needed"),
        ("rows", {}, "token ids of another tokenizer"),
    ],
)
def test_unknown_corpora_and_models_are_named(folder, place, searched, options, said):
    rows = {"title": "R", "kind": "corpus", "parser": "token_rows", "path": "r.npy",
            "tokenizer_sha256": "0" * 64}  # fmt: skip
    with pytest.raises(LingprobError, match=f"(?s){said}"):
        certified(folder, PLANTED, searched, config={"datasets": {"rows": rows}}, **options)


def test_token_rows_end_at_their_separators(folder, place):
    _, tokenizer = choose_tokenizer(
        folder / "tiny", [], None, Run(*read_settings({})), place / "cache"
    )
    ids = tokenizer.tokenizer.encode(PLANTED)
    separator = tokenizer.id_of("</s>")
    content = [*ids[:3], separator, *ids, separator, *ids[3:]]
    np.save("rows.npy", np.array([[*content, *[separator] * (2049 - len(content))]], "uint16"))
    entry = {"title": "R", "kind": "corpus", "parser": "token_rows", "path": "rows.npy",
             "separator": "</s>"}  # fmt: skip
    config = {"datasets": {"rows": entry}}
    (row,) = certified(folder, PLANTED, "rows", config=config).to_dict("records")
    assert (row["overlap_tokens"], row["occurrences"]) == (len(ids), 1)
    fresh = certified(folder, PLANTED, "rows", config=config, save="kept")
    pd.testing.assert_frame_equal(certified(folder, PLANTED, "kept/rows"), fresh)
    wrong = {"datasets": {"rows": {**entry, "separator": "<end>"}}}
    with pytest.raises(LingprobError, match=r"no token '<end>'\. Correct `separator`"):
        certified(folder, PLANTED, "rows", config=wrong)
    Path("two.arpa").write_text(BIGRAMS)
    pytest.importorskip("kenlm")
    (row,) = certified(folder, PLANTED, "rows", config=config, ngrams="two.arpa").to_dict("records")
    assert row["verdict"] == chance.OPEN
    assert "no count of the words" in row["ngrams"]


def test_chance_levels_by_hand():
    """1 - (1 - p)^n by hand for p = 0.01 and n = 10, with the limits of the thresholds."""
    assert chance.chance_level(np.array([-2.0]), 10)[0] == pytest.approx(1 - 0.99**10)
    assert chance.chance_level(np.array([0.0, 1e-9, -400.0]), 1e9).tolist() == [1.0, 1.0, 0.0]
    log10_prob = np.linspace(-14, 0, 400)
    for n_words in (1e3, 3.7e6, 1.77e11):
        below = log10_prob * np.log(10) < logprob_threshold(n_words)
        assert ((chance.chance_level(log10_prob, n_words) < 0.05) == below).all()
    # 1 - (1 - p)^3 is 0.875 if p is a half.
    assert logprob_threshold(3, level=0.875) == pytest.approx(np.log(0.5))
    # p far below the spacing of numbers around 1: 1 - (1 - p)^n is n p there.
    assert logprob_threshold(1e10, level=1e-10) == pytest.approx(np.log(1e-20))
    for n_words in (0, np.nan):
        with pytest.raises(LingprobError, match="must be positive"):
            logprob_threshold(n_words)


def test_files_of_kenlm_are_read_or_refused(tmp_path: Path) -> None:
    """By hand: a listed bigram's log10 p, else backoff weight and unigram."""
    pytest.importorskip("kenlm")
    path = tmp_path / "model.arpa"
    path.write_text(BIGRAMS)
    bigrams = load_kenlm(path)
    found = chance.joint_log10_prob(bigrams, ["Mary say", "Mary Mary", "say", "c"])
    np.testing.assert_allclose(found, [-1.3, -2.25, -1.5, -2.0], atol=1e-6)
    # With both marks: Mary after <s> is -1 - 0.5, and </s> after "say" is -1.2.
    assert bigrams.score("Mary say") == pytest.approx(-1.5 - 0.3 - 1.2, abs=1e-6)
    with pytest.raises(LingprobError, match="No such file"):
        load_kenlm(tmp_path / "absent.arpa")
    path.write_text("nonsense")
    with pytest.raises(LingprobError, match="kenlm cannot read it"):
        load_kenlm(path)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("I saw", " the cat", " sleep"), "the cat"),
        (("I saw th", "e cat s", "leep"), "cat"),
        (("", "the cat", ""), "the cat"),
        (("I saw ", "the cat ", "sleep"), "the cat"),
        (("I saw ", "the", "m"), ""),
        (("o", "n", "e"), ""),
        (("", "", ""), ""),
    ],
)
def test_words_that_continue_are_left_out(parts, expected):
    assert whole_words(*parts) == expected


def test_decoders_that_drop_spaces_lose_no_words(tmp_path):
    vocabulary = {word: place for place, word in enumerate(["?", "▁a", "▁cat", "▁ran", "▁off"])}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="?"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    words.decoder = tokenizers.decoders.Metaspace()
    fast = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=words), len(vocabulary), "t")
    write_lines(tmp_path / "one", ["off a cat ran"])
    corpus = Corpus("c", [CorpusFile("one", {"parser": "lines"}, [tmp_path / "one"])])
    table = longest_overlaps(pd.Series(["a cat ran off"]), [corpus], fast, 1)
    assert (table["overlap_text"][0].strip(), table["whole_words"][0]) == ("a cat ran",) * 2


@pytest.mark.parametrize(("text", "document"), [("©cat sat", "écat sat"), ("cat ©", "cat ¡")])
def test_parts_of_letters_are_no_overlap(tiny_tokenizer, tmp_path, text, document):
    """The letters have one byte in common: © (C2 A9), é (C3 A9) and ¡ (C2 A1)."""
    write_lines(tmp_path / "one", [document])
    corpus = Corpus("c", [CorpusFile("one", {"parser": "lines"}, [tmp_path / "one"])])
    (row,) = longest_overlaps(pd.Series([text]), [corpus], tiny_tokenizer, 1).itertuples()
    assert row.overlap_tokens == row.n_tokens - 1  # one byte of the letter is in the overlap
    assert row.overlap_text.strip() == text.replace("©", "").strip()


class Improbable:
    """An n-gram model of which every word has one in a thousand, all but z known."""

    def full_scores(self, text: str, bos: bool, eos: bool) -> list[tuple[float, int, bool]]:
        return [(-3.0, 1, word == "z") for word in text.split()]


def overlaps(n_texts: int) -> pd.DataFrame:
    """Of four tokens each: all, a part, one word, nothing; in a corpus of a million words."""
    words = ["a b z c d", "a b c", "a z z z z", ""]
    tokens = [4, 3, 1, 0]
    table = pd.DataFrame({"whole_words": words, "overlap_tokens": tokens, "n_tokens": 4})
    more = pd.DataFrame({"whole_words": [""] * (n_texts - 4), "overlap_tokens": 0, "n_tokens": 4})
    return pd.concat([table, more], ignore_index=True).assign(text="a b z c d")


def test_verdicts_use_corrected_chance_levels(caplog):
    """p n is 1e-6, 1e-3 and 1000; Holm multiplies the first by n, the second by n - 1."""
    table = chance.with_chance_level(overlaps(4), Improbable(), 1e6)
    np.testing.assert_allclose(table["chance_level"], [1e-6, 1e-3, 1, 1], rtol=1e-3)
    np.testing.assert_allclose(table["chance_level_holm"], [4e-6, 3e-3, 1, 1], rtol=1e-3)
    np.testing.assert_allclose(table["ngram_logprob"][:3], [-27.63, -20.72, -6.91], atol=0.01)
    assert np.isnan(table["ngram_logprob"][3])
    expected = [chance.WHOLE, chance.PART, chance.CHANCE, chance.ABSENT]
    assert chance.verdicts(table).tolist() == expected
    unspaced = overlaps(4).assign(text="z", whole_words=["z", "", "", ""])
    of_unspaced = chance.verdicts(chance.with_chance_level(unspaced, Improbable(), 1e6))
    assert of_unspaced.tolist() == [chance.OPEN] * 3 + [chance.ABSENT]
    assert "no word of 3 texts" in caplog.text
    many = chance.with_chance_level(overlaps(100), Improbable(), 1e6)
    assert many["chance_level"][1] < 0.05 < many["chance_level_holm"][1]
    assert chance.verdicts(many).tolist()[:3] == [chance.WHOLE, chance.CHANCE, chance.CHANCE]
    at_limit = overlaps(4).assign(chance_level_holm=[np.nextafter(0.05, 0), 0.05, 1, 1])
    assert chance.verdicts(at_limit).tolist()[:2] == [chance.WHOLE, chance.CHANCE]
    assert set(chance.verdicts(overlaps(5).assign(chance_level_holm=None))) == {
        chance.OPEN, chance.ABSENT,
    }  # fmt: skip


def test_own_models_give_the_chance_level(folder, place):
    """log10 p of Mary is -1, of "say" -1.5, and others are unknown. The corpus has 9 words."""
    pytest.importorskip("kenlm")
    Path("two.arpa").write_text(BIGRAMS)
    table = certified(folder, ["Mary", PLANTED], "two.jsonl", ngrams="two.arpa")
    assert table["ngrams"].tolist() == ["two.arpa"] * 2
    assert table["overlap_text"].tolist() == ["Mary", " say that John saw?"]
    np.testing.assert_allclose(table["ngram_logprob"], np.log(10) * np.r_[-1.0, -1.5], atol=1e-5)
    expected = [1 - 0.9**9, 1 - (1 - 10**-1.5) ** 9]
    np.testing.assert_allclose(table["chance_level"], expected, rtol=1e-5)
    assert table["verdict"].tolist() == [chance.CHANCE] * 2


def test_corpora_are_judged_by_other_ngrams(place, monkeypatch):
    searched = [
        Corpus(name, [CorpusFile(name, {"parser": parser}, [])])
        for name, parser in (("ids", "token_rows"), ("a", "text"), ("b", "text"))
    ]
    plan = Run(*read_settings({}))
    models = corpora.NgramModels("auto", searched, plan, place)
    assert [models.source_for(corpus)[0] for corpus in searched] == ["a", "b", "a"]
    alone = corpora.NgramModels("auto", searched[1:2], plan, place)
    assert alone.source_for(searched[1])[1] == "there is no other corpus (name one as `ngrams`)"
    named = corpora.NgramModels("b", searched, plan, place)
    assert [named.source_for(corpus)[0] for corpus in searched] == ["b"] * 3
    monkeypatch.setattr(corpora, "load_word_model", str)
    assert [named.load(path) for path in ("one.arpa", "two.arpa")] == ["one.arpa", "two.arpa"]


def test_saved_corpora_answer_without_the_corpus(folder, place):
    pytest.importorskip("kenlm")
    Path("two.arpa").write_text(BIGRAMS)
    texts, other = [PLANTED, "Zürich"], ["A cat said: Nobody knows.", "Mary say that"]
    options = {"ngrams": "two.arpa", "min_length": 2}
    fresh = certified(folder, texts, ["one.jsonl", "two.jsonl"], save="kept", **options)
    expected = certified(folder, other, ["one.jsonl", "two.jsonl"], **options)
    for name in ("one.jsonl", "two.jsonl"):
        Path(name).unlink()
    kept = ["kept/one.jsonl", "kept/two.jsonl"]
    pd.testing.assert_frame_equal(certified(folder, texts, kept, **options), fresh)
    certified(folder, texts, kept, save="again", ngrams="none")
    again = [path.replace("kept", "again") for path in kept]
    pd.testing.assert_frame_equal(certified(folder, other, again, **options), expected)
    assert certified(folder, texts, kept, ngrams="auto")["verdict"].unique() == [chance.OPEN]
    save_tiny_model("gpt2", place / "other")
    path = place / "other/tokenizer.json"
    path.write_text(path.read_text().replace('"<pad>"', '"<gap>"'))
    with pytest.raises(LingprobError, match="Tokenise both with the same tokenizer"):
        lingprob.certify(texts, kept, tokenizer=place / "other", save="others", ngrams="none")
    assert not Path("others").exists()
    Path("kept/one.jsonl/one.jsonl/text.npy").unlink()
    with pytest.raises(LingprobError, match=r"one\.jsonl: not a whole CDAWG"):
        certified(folder, texts, kept)
    Path("kept/one.jsonl/corpus.json").write_text("{}")
    with pytest.raises(LingprobError, match=r"corpus\.json: not the contents of a saved corpus"):
        certified(folder, texts, kept)


def test_saved_corpora_have_folders_of_their_own(folder, place):
    for name, text in (("книги.txt", "A cat."), ("тексты.txt", PLANTED)):
        Path(name).write_text(text)
        certified(folder, PLANTED, name, save="kept")
    found = lingprob.certify(PLANTED, sorted(Path("kept").iterdir()), ngrams="none", min_length=2)
    assert sorted(found["overlap_text"].str.strip()) == ["", PLANTED]


def test_ngrams_are_of_the_corpus_as_is(place, monkeypatch):
    """Another word is the likelier one in each of two corpora of one name."""
    plan, path = Run(*read_settings({})), place / "text.txt"
    corpus = Corpus("gutenberg", [CorpusFile("a", {"parser": "text"}, [path])])
    likelier = []
    for word in ("cat", "dog", "cat"):
        path.write_text(f"{word} " * 9 + "dog cat")
        model = corpora.NgramModels("auto", [corpus], plan, place).load("gutenberg")
        likelier.append(max(("cat", "dog"), key=lambda one: model.score(one, bos=False, eos=False)))
    assert likelier == ["cat", "dog", "cat"]
    assert len([*place.glob("results/ngrams/gutenberg-*.ngrams")]) == 2
    contents = {corpora.content_of(corpus)}
    contents.add(corpora.content_of(Corpus("b", [CorpusFile("a", {"parser": "lines"}, [path])])))
    monkeypatch.setattr(corpora, "ORDER", 3)
    assert len(contents | {corpora.content_of(corpus)}) == 3


@pytest.mark.parametrize("change", [{"revision": "v2"}, {"rows": 3}, {"column": "content"}])
def test_rows_of_another_entry_are_refused(place, monkeypatch, change):
    entry = {"title": "W", "kind": "corpus", "source": "hub", "repository": "lab/web",
             "revision": "v1", "split": "train"}  # fmt: skip
    plan, other = (
        Run(*read_settings({"datasets": {"web": one}})) for one in (entry, {**entry, **change})
    )
    target = place / "resources/datasets/web/rows.parquet"
    target.parent.mkdir(parents=True)
    monkeypatch.setattr(hub_rows, "fetch_rows", lambda *_, code: target.write_text("rows"))
    manifest = hub_rows.fetch_dataset("web", plan.catalog.dataset("web"), target.parent, code="c")
    write_csv(manifest, target.parent / "manifest.tsv")
    assert corpora.fetch_dataset_files("web", plan, place) == [target]
    with pytest.raises(LingprobError, match=r"rows of 'web'.*another entry. First run"):
        corpora.fetch_dataset_files("web", other, place)


def test_only_pinned_corpora_are_kept():
    entry = {"title": "M", "kind": "corpus", "parser": "lines", "path": "m.txt"}
    plan = Run(*read_settings({"datasets": {"mine": entry}}))
    names = ("gutenberg", "mine", "elsewhere.txt")
    assert [corpora.is_pinned(name, plan) for name in names] == [True, False, False]


def test_command_writes_a_table(folder, place):
    """Of texts in a file, and of a data set of the catalog that the package has."""
    Path("texts.csv").write_text(f'text\n"{PLANTED}"\n<b>Zürich</b>\n')
    options = ["--corpus", "one.jsonl", "--corpus", "demo_control", "--model",
               str(folder / "tiny"), "--ngrams", "none"]  # fmt: skip
    for texts, output in (("texts.csv", "c.parquet"), ("demo_minimal_pairs", "d.csv")):
        with pytest.raises(SystemExit) as ended:
            main(["certify", texts, *options, "--output", output])
        assert ended.value.code == 0
        table = pd.read_csv(output) if output == "d.csv" else pd.read_parquet(output)
        assert table["corpus"].unique().tolist() == ["one.jsonl", "demo_control"]
        assert len(table) == 4 or texts == "demo_minimal_pairs"
    assert table["text_id"][0] != 1
    with pytest.raises(SystemExit, match=r"'gutenberg' is of kind corpus.*a file of texts"):
        main(["certify", "gutenberg", *options])
