"""Certificates of real texts and corpora, by their names in the catalog."""

from __future__ import annotations

import pytest

import lingprob
from lingprob.api.corpora import dataset_texts
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.sources import Run

FIRST_OF_BROWN = (
    "The Fulton County Grand Jury said Friday an investigation of Atlanta's recent primary election"
)


def test_the_first_words_of_the_brown_corpus_are_its_first_tokens(mirror, tmp_path):
    (row,) = lingprob.certify(
        FIRST_OF_BROWN, "brown_corpus", tokenizer="gpt-neox-20b", ngrams="none",
        config={"mirror": str(mirror)}, cache=tmp_path,
    ).to_dict("records")  # fmt: skip
    assert row["overlap_text"] == FIRST_OF_BROWN
    assert (row["overlap_tokens"], row["occurrences"]) == (row["n_tokens"], 1)
    assert (row["file"], row["document"], row["first_token"]) == ("brown.zip", 1, 0)
    assert (row["before"], row["after"].split()[:3]) == ("", ["produced", '"no', 'evidence"'])


@pytest.mark.parametrize(
    ("name", "n_texts", "first"),
    [("linguistic_inquiry", 1450, None), ("provo", 55, "There are now rumblings that Apple"),
     ("syntaxgym", 3304, "The painting that the artist painted deteriorated")],
)  # fmt: skip
def test_texts_are_data_sets_of_the_catalog(mirror, tmp_path, name, n_texts, first):
    texts = dataset_texts(name, Run(*read_settings({"mirror": str(mirror)})), tmp_path)
    assert len(texts) == texts.index.nunique() == n_texts
    assert first is None or texts.iloc[0].startswith(first)
