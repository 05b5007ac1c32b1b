"""A model's tables as CSV, with texts."""

from __future__ import annotations

import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.exports import FOLDERS, with_texts
from lingprob.schemas import SCHEMAS
from lingprob.tables import write_table


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Scores of three sentences, the last of which is no stimulus."""
    monkeypatch.chdir(tmp_path)
    stimuli = pd.DataFrame(index=range(2), columns=SCHEMAS["stimuli"].names)
    stimuli = stimuli.assign(item_id=["a", "b"], text=["It rains.", "Rains, it\ndoes."])
    required = {field.name: "x" for field in SCHEMAS["stimuli"] if not field.nullable}
    stimuli = stimuli.fillna({name: value for name, value in required.items()})
    write_table(stimuli, "stimuli", "results/stimuli/mine.parquet")
    scores = pd.DataFrame(
        [("b", "bos", "u", -3.25, -4.0, 3, 3), ("a", "bos", "u", -1.5, None, 2, 2),
         ("a", "none", "u", -1.0, None, 1, 2), ("c", "bos", "u", -9.0, None, 1, 1)],
        columns=SCHEMAS["sentence_scores"].names,
    )  # fmt: skip
    write_table(scores, "sentence_scores", "results/sentence_scores/gpt2/mine.parquet")
    return scores


def test_each_sentence_stands_beside_its_log_probabilities_in_the_table_s_order(results):
    found = with_texts("results/sentence_scores/gpt2/mine.parquet", "results/stimuli/mine.parquet")
    texts = found["text"].fillna("none").tolist()
    assert texts == ["Rains, it\ndoes.", "It rains.", "It rains.", "none"]
    assert found.columns[:2].tolist() == ["item_id", "text"]
    pd.testing.assert_frame_equal(found.drop(columns="text"), results, check_dtype=False)


def test_a_table_about_no_texts_is_as_it_is(results):
    path = "results/sentence_scores/gpt2/mine.parquet"
    pd.testing.assert_frame_equal(with_texts(path, None), results, check_dtype=False)
    with pytest.raises(LingprobError, match="table stimuli"):
        with_texts(path, path)


def test_every_folder_s_keys_and_texts_are_columns():
    for schema, texts, keys, text in FOLDERS.values():
        assert set(keys) <= set(SCHEMAS[schema].names)
        assert {*keys, text} <= set(SCHEMAS[texts].names) if texts else not keys
        assert text not in SCHEMAS[schema].names
