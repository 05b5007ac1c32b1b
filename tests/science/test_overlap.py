"""Real reading-time texts against the books they come from, and the published overlaps."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from transformers import PreTrainedTokenizerFast

import lingprob
from lingprob.api.corpora import dataset_texts
from lingprob.catalog import read_datasets
from lingprob.io.corpora import iter_documents
from lingprob.overlap.automaton import PassageIndex, build_index
from lingprob.overlap.chance import logprob_threshold
from lingprob.overlap.matches import Matches, passage_overlaps
from lingprob.overlap.soft import find_soft_overlaps, folded_words
from lingprob.overlap.streaming import scan
from lingprob.overlap.token_blocks import TokenBlock, read_texts, token_ids
from lingprob.papers.leakage.overlaps import (
    PUBLISHED_THRESHOLDS,
    covered_passages,
    one_per_passage,
    published_overlaps,
    read_published,
)
from lingprob.reading.texts import build_words, passage_texts
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run

VOCABULARY_SIZE = 50_277
LEVELS = {"the_pile": (75, 207), "owt": (32, 246)}  # flagged rows: compat, corrected


@pytest.fixture(scope="module")
def tokenizer(mirror: Path) -> Any:
    """Pythia's tokenizer."""
    path = mirror / "tokenizers" / "gpt-neox-20b" / "20B_tokenizer.json"
    return PreTrainedTokenizerFast(tokenizer_file=str(path))


def geco_chapters(mirror: Path) -> list[str]:
    entry = read_datasets()["geco"]
    words = build_words("geco", entry, [mirror / file["mirror"] for file in entry["files"]])
    return passage_texts(words).tolist()


def index_of(passages: list[str], tokenizer: Any) -> PassageIndex:
    ids = [np.asarray(passage) for passage in token_ids(tokenizer, passages)]
    return build_index(ids, tokenizer_hash="neox", vocabulary_size=VOCABULARY_SIZE)


def matches(index: PassageIndex, blocks: Iterable[TokenBlock], min_length: int = 1) -> Matches:
    return scan(index, blocks, file="all", tokenizer_hash="neox", min_length=min_length)


def covered(lengths: np.ndarray, min_length: int) -> float:
    """Return the share of tokens that are part of a match of `min_length` or more."""
    inside = np.zeros(len(lengths), dtype=bool)
    for end in np.flatnonzero(lengths >= min_length):
        inside[end - lengths[end] + 1 : end + 1] = True
    return float(inside.mean())


def test_the_novel_leaks_into_geco_as_published(mirror, tokenizer):
    """The novel as it is downloaded, searched for the chapters as they are read.

    The paper's longest overlaps with the Pile have 127 to 343 tokens, one per chapter. GECO's words
    without punctuation had at most 29 with their own novel.
    """
    index = index_of(geco_chapters(mirror), tokenizer)
    files = [mirror / "gutenberg" / name for name in ("863-0.txt", "1155-0.txt")]
    styles, adversary = (list(iter_documents("gutenberg", [file])) for file in files)
    found = matches(index, read_texts(styles, tokenizer))
    assert covered(found.lengths, 12) == pytest.approx(0.716, abs=0.001)
    longest = passage_overlaps(index, found).groupby("passage").first()
    assert (longest.overlap_tokens.min(), longest.overlap_tokens.max()) == (131, 225)
    # In an edition of ASCII quotation marks, chapter 4's longest is the published one.
    ascii_marks = dict(zip("\u2018\u2019\u201c\u201d", "''\"\"", strict=True)) | {"\u2014": "--"}
    edition = [text.translate(str.maketrans(ascii_marks)) for text in styles]
    found = passage_overlaps(index, matches(index, read_texts(edition, tokenizer)))
    table = read_published(mirror / "rt_leakage" / "rt_overlap_the_pile.tsv")
    published = table[table.corpus == "geco"].set_index("article_num").overlap_len
    assert found.groupby("passage").overlap_tokens.first()[3] == published[3] == 317
    # Another novel of the same author and years has nothing of the kind.
    assert covered(matches(index, read_texts(adversary, tokenizer)).lengths, 12) < 0.01


def test_geco_without_punctuation_is_found_in_its_novel(mirror):
    """The words as they are published: no mark of punctuation, one word in thirty left out.

    They share at most 29 exact tokens with the novel, but hundreds of folded words, and more with
    more gaps. Other novels share no such sequence.
    """
    material = pd.read_csv(mirror / "geco" / "EnglishMaterial_corrected.csv", keep_default_na=False)
    parts = material["WORD"].groupby(material["WORD_ID"].str.partition("-")[0])
    passages = [folded_words(" ".join(words)) for _, words in parts]
    novel, *others = (
        text
        for name in ("863-0.txt", "1155-0.txt", "1661.txt")
        for text in iter_documents("gutenberg", [mirror / "gutenberg" / name])
    )
    longest = []
    for gaps in (0, 1, 2):
        found = find_soft_overlaps(passages, [novel], min_words=12, gaps=gaps)
        longest.append(found["overlap_words"].tolist())
        assert find_soft_overlaps(passages, others, min_words=12, gaps=gaps).empty
        for row in found.itertuples():
            stretch = passages[row.passage][row.first : row.last + 1]
            assert len(stretch) - row.overlap_words <= row.gaps
            if gaps == 0:
                assert folded_words(row.overlap_text) == stretch
    assert longest == [[254, 186, 210, 212], [294, 320, 248, 255], [300, 321, 288, 294]]


def test_published_flags_and_whole_passages_are_reproduced(mirror):
    """One passage of Provo is complete in each corpus, and 15 and 6 are covered to 90% or more."""
    n_reproduced, covered = 0, {}
    for name in PUBLISHED_THRESHOLDS:
        table = published_overlaps(mirror / f"rt_leakage/rt_overlap_{name}.tsv", name, "test")
        compat, corrected = table["below_threshold_compat"], table["below_threshold_corrected"]
        n_reproduced += int((compat == table["below_threshold"]).sum())
        assert (compat.sum(), corrected.sum()) == LEVELS[name]
        if name == "the_pile":  # overlaps of six tokens are improbable already
            assert table["overlap_len"][corrected].min() == 6
        passages = one_per_passage(table)
        for coverage in (1, 0.9):
            whole = passages["corpus"][covered_passages(passages, coverage)]
            covered[name, coverage] = whole.value_counts().to_dict()
    assert n_reproduced == 533
    assert covered == {
        ("the_pile", 1): {"provo": 1}, ("owt", 1): {"provo": 1},
        ("the_pile", 0.9): {"provo": 15}, ("owt", 0.9): {"provo": 6},
    }  # fmt: skip


def test_thresholds_in_words() -> None:
    """p = 2.9e-13 for n = 1.77e11 words, so the limits in log10 are -12.54 and -11.00."""
    pile, owt = PUBLISHED_THRESHOLDS["the_pile"], PUBLISHED_THRESHOLDS["owt"]
    assert np.exp(pile) == pytest.approx(2.9e-13, rel=0.01)
    assert logprob_threshold(1.77e11) == pytest.approx(pile, abs=0.01)
    assert (pile / np.log(10), owt / np.log(10)) == (
        pytest.approx(-12.54, abs=0.005), pytest.approx(-11.00, abs=0.005)
    )  # fmt: skip


FIRST_OF_BROWN = (
    "The Fulton County Grand Jury said Friday an investigation of Atlanta's recent primary election"
)


def test_first_words_of_brown_are_its_first_tokens(mirror, tmp_path):
    (row,) = lingprob.certify(
        FIRST_OF_BROWN, "brown_corpus", tokenizer="gpt-neox-20b", ngrams="none",
        config={"mirror": str(mirror)}, cache=tmp_path,
    ).to_dict("records")  # fmt: skip
    assert row["overlap_text"] == FIRST_OF_BROWN
    assert (row["overlap_tokens"], row["occurrences"]) == (row["n_tokens"], 1)


@pytest.mark.parametrize(
    ("name", "n_texts", "first"),
    [("linguistic_inquiry", 1450, None), ("provo", 55, "There are now rumblings that Apple"),
     ("syntaxgym", 3304, "The painting that the artist painted deteriorated")],
)  # fmt: skip
def test_texts_are_data_sets_of_the_catalog(mirror, tmp_path, name, n_texts, first):
    texts = dataset_texts(name, Run(*read_settings({"mirror": str(mirror)})), tmp_path)
    assert len(texts) == texts.index.nunique() == n_texts
    assert first is None or texts.iloc[0].startswith(first)
