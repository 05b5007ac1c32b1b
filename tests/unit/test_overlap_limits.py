"""Overlap where a limit is met exactly, an option is left out or a file is of another layout."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from lingprob.errors import LingprobError
from lingprob.overlap import chance
from lingprob.overlap.automaton import StimulusIndex, build_index, load_index
from lingprob.overlap.cdawg import build_cdawg, load_cdawg
from lingprob.overlap.passages import (
    longest_matches,
    overlap_texts,
    passage_overlaps,
    select_chunks,
    summarise_chunks,
)
from lingprob.overlap.streaming import ScanResult, load_result, scan
from lingprob.overlap.token_blocks import count_rows, read_rows
from lingprob.overlap.tokenizing import _tiktoken_of, fast_tokenize, usual_tokenize
from models_for_tests import save_tiny_tokenizer
from overlap_reference import Sequences, arrays, block


def index_of(passages: Sequences) -> StimulusIndex:
    return build_index(arrays(passages), tokenizer_hash="t", vocabulary_size=300)


def scanned(index: StimulusIndex, documents: Sequences, file: str = "a") -> ScanResult:
    return scan(index, [block(documents)], file=file, tokenizer_hash="t")


def test_eleven_tokens_are_free_of_leakage_and_ten_chunks_are_chosen() -> None:
    lengths = [11] * 6 + [12, 0, 3, 11, 11, 40, 5]
    chunks = pd.DataFrame({"chunk": [f"c{n}" for n in range(13)], "overlap_tokens": lengths})
    chosen = select_chunks(chunks, min_length=12, seed=1)
    assert chosen["leakage_free"].tolist() == [length <= 11 for length in lengths]
    assert chosen["selected"].sum() == 10
    with pytest.raises(LingprobError, match="Scan with min_length 12 or less"):
        select_chunks(chunks, min_length=13, seed=1)


def test_a_chunk_has_its_size_and_the_most_frequent_place_of_its_overlap() -> None:
    """'1 2' and '2 3' are as long; the second occurs twice."""
    index = index_of([[9], [1, 2, 3]])
    results = {"one": scanned(index, [[1, 2, 8, 2, 3, 8, 2, 3]]), "none": scanned(index, [[8]])}
    table = summarise_chunks(index, results)
    assert table.to_numpy().tolist() == [
        ["one", 8, 2, 1, 1, 2, ""], ["none", 1, 0, -1, -1, 0, ""]
    ]  # fmt: skip


def test_a_passage_without_overlap_has_no_text_whatever_a_decoder_makes_of_nothing() -> None:
    index = index_of([[1, 2], [5]])
    overlaps = passage_overlaps(index, *longest_matches(index, scanned(index, [[2]])))
    assert overlap_texts(index, overlaps, lambda ids: f"{ids}.") == ["[2].", ""]
    assert overlaps["frequency"].tolist() == [1, 0]


def test_chance_of_a_single_word_and_of_none() -> None:
    assert chance.logprob_threshold(1, level=0.5) == pytest.approx(np.log(0.5))
    with pytest.raises(LingprobError, match="between 0 and 1"):
        chance.logprob_threshold(5, level=0.0)
    # What is at the limit is not below it.
    assert chance.below_threshold(np.array([-2.0, -2.5]), -2.0).tolist() == [False, True]


def test_files_of_objects_are_not_read(tmp_path: Path) -> None:
    nothing: Any = np.array({}, dtype=object)
    names = [field.name for field in fields(StimulusIndex)]
    names += [field.name for field in fields(ScanResult)] + ["digests"]
    np.savez(tmp_path / "file.npz", **dict.fromkeys(names, nothing))
    for load in (load_index, load_result):
        with pytest.raises(LingprobError, match="not a whole"):
            load(tmp_path / "file.npz")


def test_a_graph_is_saved_where_no_folder_was_and_for_everybody_to_read(tmp_path: Path) -> None:
    graph = build_cdawg([block([[1, 2]])], tokenizer_hash="t", vocabulary_size=300)
    folder = tmp_path / "a" / "b" / "cdawg"
    graph.save(folder)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in folder.parent.iterdir()] == ["cdawg"]
    assert load_cdawg(folder).counts.tolist() == graph.counts.tolist()


@pytest.mark.parametrize(("row_length", "sizes"), [(4, [8, 8, 8, 4]), (14, [14, 14]), (1, [8] * 3)])
def test_rows_are_read_in_blocks_of_whole_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row_length: int, sizes: list[int]
) -> None:
    monkeypatch.setattr("lingprob.overlap.token_blocks.TOKENS_PER_BLOCK", 8)
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(28 if row_length > 1 else 24, dtype=np.uint16))
    starts = []
    for one, size in zip(read_rows(path, row_length=row_length), sizes, strict=True):
        assert one.offsets.tolist() == list(range(0, size + 1, row_length))
        assert len(one.tokens) == size
        starts.append(one.tokens[0])
    assert starts == np.cumsum([0, *sizes[:-1]]).tolist()


def test_a_file_that_lacks_whole_rows_of_what_its_header_says_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, np.zeros((3, 4), dtype=np.uint16))
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(LingprobError, match="it is cut short"):
        count_rows(path, row_length=4)


@pytest.fixture
def tiny(tmp_path: Path) -> Any:
    save_tiny_tokenizer(tmp_path)
    return AutoTokenizer.from_pretrained(tmp_path)


def described(content: dict[str, Any]) -> Any:
    """A tokenizer of which only the description is known."""
    backend = SimpleNamespace(to_str=lambda: json.dumps(content))
    return SimpleNamespace(backend_tokenizer=backend)


def test_merges_may_be_texts_and_a_byte_without_an_id_is_no_token(tiny: Any) -> None:
    pytest.importorskip("tiktoken")
    content = json.loads(tiny.backend_tokenizer.to_str())
    del content["model"]["vocab"]["z"]
    merges = content["model"]["merges"]
    text = "the cats sat on"
    for form in (list, " ".join):
        content["model"]["merges"] = [form(merge) for merge in merges]
        found = _tiktoken_of(described(content), 1)([text, "z"])
        assert [list(ids) for ids in found] == [*usual_tokenize(tiny)([text]), [-1]]


def test_a_tokenizer_of_another_kind_is_the_usual_one_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("tiktoken")
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"?": 0, "a": 1}, unk_token="?"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="?")
    with caplog.at_level(logging.INFO):
        found = fast_tokenize(tokenizer, ["a"])
    assert found.__qualname__ == usual_tokenize(tokenizer).__qualname__
    assert "without tiktoken: not a byte-level BPE" in caplog.text


def test_another_way_to_part_words_is_left_to_the_tokenizer_itself(tiny: Any) -> None:
    """Where a sample of one word does not show the difference, too."""
    pytest.importorskip("tiktoken")
    content = json.loads(tiny.backend_tokenizer.to_str())
    assert fast_tokenize(tiny, ["a"]).__qualname__ != usual_tokenize(tiny).__qualname__
    content["pre_tokenizer"] = {"type": "WhitespaceSplit"}
    backend = tokenizers.Tokenizer.from_str(json.dumps(content))
    other = PreTrainedTokenizerFast(tokenizer_object=backend)
    assert fast_tokenize(other, ["a"]).__qualname__ == usual_tokenize(tiny).__qualname__
