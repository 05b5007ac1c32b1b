"""Overlap by hand-derived values, files, and input that cannot be right."""

from __future__ import annotations

import gzip
import json
from itertools import permutations
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
import tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.progress import Progress
from lingprob.models.tokenizer import Tokenizer
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
from lingprob.overlap.streaming import ScanResult, load_result, merge, scan
from lingprob.overlap.texts import read_texts, scan_file
from lingprob.overlap.token_blocks import block_of, count_rows, normalise, read_rows
from lingprob.overlap.tokenizing import _printable_bytes, fast_tokenize, usual_tokenize
from lingprob.papers.leakage import overlaps as leakage
from models_for_tests import save_tiny_tokenizer
from overlap_reference import arrays, block

ARPA = """\\data\\
ngram 1=5
ngram 2=1

\\1-grams:
-2.0\t<unk>
-99\t<s>\t-0.5
-1.2\t</s>
-1.0\ta\t-0.25
-1.5\tb\t0

\\2-grams:
-0.3\ta b

\\end\\
"""
HELLOWORLD = [ord(letter) for letter in "helloworld"]
LLOYD = [ord(letter) for letter in "lloyd"]
EOT = 0


@pytest.fixture(scope="module")
def index() -> StimulusIndex:
    """Index the paper's query, an empty passage and a short one."""
    return build_index(arrays([LLOYD, [], [7, 8, 9]]), tokenizer_hash="t", vocabulary_size=300)


def scanned(index: StimulusIndex, documents: list[list[int]], file: str = "a", **options: int
            ) -> ScanResult:  # fmt: skip
    return scan(index, [block(documents)], file=file, tokenizer_hash="t", **options)


def test_the_papers_example(index: StimulusIndex) -> None:
    """Querying 'lloyd' against 'helloworld' (leakage, footnote 2)."""
    lengths, frequencies = longest_matches(index, scanned(index, [HELLOWORLD]))
    assert lengths.tolist() == [1, 2, 3, 0, 1, 0, 0, 0]
    assert frequencies.tolist() == [3, 1, 1, 0, 1, 0, 0, 0]
    graph = build_cdawg([block([HELLOWORLD])], tokenizer_hash="t", vocabulary_size=300)
    found = graph.longest_matches(np.array(LLOYD), np.array([0, 5]), tokenizer_hash="t")
    assert found[0].tolist() == [1, 2, 3, 0, 1]
    assert found[1].tolist() == [3, 1, 1, 0, 1]


@pytest.mark.parametrize("blocks", [[], [[]]])
def test_a_graph_of_no_text_has_nothing(blocks: list[list[list[int]]]) -> None:
    graph = build_cdawg(map(block, blocks), tokenizer_hash="t", vocabulary_size=300)
    found = graph.longest_matches(np.array(LLOYD), np.array([0, 5]), tokenizer_hash="t")
    assert [values.tolist() for values in found] == [[0] * 5, [0] * 5]


def test_overlapping_occurrences_and_all_documents_count() -> None:
    index = build_index(arrays([[1, 1, 2]]), tokenizer_hash="t", vocabulary_size=5)
    lengths, frequencies = longest_matches(index, scanned(index, [[1, 1, 1, 1], [3, 1, 1]]))
    assert lengths.tolist() == [1, 2, 0]
    assert frequencies.tolist() == [6, 4, 0]


def test_passages_without_overlap_and_below_the_threshold(index: StimulusIndex) -> None:
    result = scanned(index, [HELLOWORLD, [7, 8]], min_length=4)
    table = passage_overlaps(index, *longest_matches(index, result))
    assert table.passage_tokens.tolist() == [5, 0, 3]
    assert table.overlap_tokens.tolist() == [0, 0, 0]
    assert table.last_token.tolist() == [-1, -1, -1]


def test_texts_of_the_longest_overlaps(index: StimulusIndex) -> None:
    result = scanned(index, [HELLOWORLD, [8, 9]])
    overlaps = passage_overlaps(index, *longest_matches(index, result))
    texts = overlap_texts(index, overlaps, lambda ids: "".join(map(chr, ids)))
    assert texts == ["llo", "", "\x08\t"]


def test_counts_beyond_32_bits(index: StimulusIndex) -> None:
    result = scanned(index, [HELLOWORLD])
    huge = ScanResult(
        result.index_digest, result.min_length, {"b": "other"}, 2**40, result.states,
        result.visits * 2**33, result.longest, result.at_longest * 2**33,
    )  # fmt: skip
    total = merge([result, huge])
    assert total.n_tokens == 2**40 + 10
    _, frequencies = longest_matches(index, total)
    assert frequencies[:5].tolist() == [3 * (2**33 + 1), 2**33 + 1, 2**33 + 1, 0, 2**33 + 1]


def test_only_the_visits_of_the_longest_match_are_merged() -> None:
    """'1 2' ends in a match of 2 of one file twice, and of 3 of another once; whatever the order.

    Behind 1 or 0, 2 and 3 are followed by the same: one state of the automaton has both.
    """
    index = build_index(arrays([[1, 2, 3]]), tokenizer_hash="t", vocabulary_size=9)
    files = [[[2, 3], [2, 3]], [[1, 2, 3]], [[3]], [[2, 3]]]
    parts = [scanned(index, documents, str(i)) for i, documents in enumerate(files)]
    whole = scanned(index, [document for documents in files for document in documents])
    state = whole.states[whole.longest == 3].item()
    at = [int(part.at_longest[part.states == state].item()) for part in parts]
    assert at == [2, 1, 1, 1]
    for order in permutations(parts):
        merged = merge(order)
        here = merged.states == state
        assert (merged.visits[here].item(), merged.longest[here].item()) == (5, 3)
        assert merged.at_longest[here].item() == 1
    assert merge([parts[0], parts[3]]).at_longest.tolist()[-1] == 3


def test_merging_refuses_what_would_be_wrong(index: StimulusIndex) -> None:
    result = scanned(index, [HELLOWORLD])
    with pytest.raises(LingprobError, match="'a' would be counted twice"):
        merge([result, scanned(index, [[1]])])
    with pytest.raises(LingprobError, match="'a' and 'b' hold the same tokens"):
        merge([result, scanned(index, [HELLOWORLD], "b")])
    both = merge([result, scanned(index, [[1]], "b")])
    with pytest.raises(LingprobError, match="'b' would be counted twice"):
        merge([both, scanned(index, [[2]], "b")])
    with pytest.raises(LingprobError, match="minimal lengths"):
        merge([result, scanned(index, [[1]], "b", min_length=5)])
    other = build_index(arrays([[1]]), tokenizer_hash="t", vocabulary_size=300)
    with pytest.raises(LingprobError, match="different passages"):
        merge([result, scanned(other, [[1]], "b")])
    with pytest.raises(LingprobError, match="no scans to merge"):
        merge([])
    with pytest.raises(LingprobError, match="other passages"):
        longest_matches(other, result)
    # Ids that no passage has tell files apart all the same.
    wide = build_index(arrays([[1]]), tokenizer_hash="t", vocabulary_size=100_000)
    parts = [
        scan(wide, [block([[70_000 + i, 2]], "uint32")], file=str(i), tokenizer_hash="t")
        for i in range(2)
    ]
    assert merge(parts).n_tokens == 4
    # Empty files are all alike, and add nothing.
    empty = merge([scanned(index, [], "x"), scanned(index, [], "y")])
    assert longest_matches(index, empty)[0].sum() == 0


def test_scanning_refuses_what_would_be_wrong(index: StimulusIndex) -> None:
    with pytest.raises(LingprobError, match="same tokenizer"):
        scan(index, [], file="a", tokenizer_hash="other")
    with pytest.raises(LingprobError, match=r"ids from 5 to 300.*wrong dtype"):
        scanned(index, [[5, 300]])
    with pytest.raises(LingprobError, match="min_length is 0"):
        scanned(index, [], min_length=0)
    with pytest.raises(LingprobError, match="token 7 separates"):
        scanned(index, [], separator=7)
    graph = build_cdawg([block([[1]])], tokenizer_hash="t", vocabulary_size=300)
    with pytest.raises(LingprobError, match="same tokenizer"):
        graph.longest_matches(np.array([1]), np.array([0, 1]), tokenizer_hash="other")
    with pytest.raises(LingprobError, match="ids from 300"):
        graph.longest_matches(np.array([300]), np.array([0, 1]), tokenizer_hash="t")
    with pytest.raises(LingprobError, match="ids from 400"):
        build_cdawg([block([[400]])], tokenizer_hash="t", vocabulary_size=300)


def test_indexing_refuses_what_would_be_wrong() -> None:
    def build(passages: list[np.ndarray]) -> StimulusIndex:
        return build_index(passages, tokenizer_hash="t", vocabulary_size=10)

    with pytest.raises(LingprobError, match="no passages"):
        build([])
    with pytest.raises(LingprobError, match="passage 1: token ids from -1 to 3"):
        build([np.array([1]), np.array([3, -1])])
    with pytest.raises(LingprobError, match="passage 0: token ids from 10"):
        build([np.array([10])])
    with pytest.raises(LingprobError, match="float64; integers"):
        build([np.array([1.0])])
    with pytest.raises(LingprobError, match="one row"):
        build([np.array([[1]])])
    assert build([np.array([])]).offsets.tolist() == [0, 0]


def test_saved_files_come_back_and_broken_ones_are_named(
    index: StimulusIndex, tmp_path: Path
) -> None:
    index.save(tmp_path / "index.npz")
    loaded = load_index(tmp_path / "index.npz")
    assert loaded.digest == index.digest
    result = scanned(loaded, [HELLOWORLD])
    result.save(tmp_path / "scan.npz")
    again = load_result(tmp_path / "scan.npz")
    assert (again.files, again.n_tokens, again.min_length) == (result.files, 10, 1)
    np.testing.assert_array_equal(longest_matches(index, again), longest_matches(index, result))
    graph = build_cdawg([block([HELLOWORLD])], tokenizer_hash="t", vocabulary_size=300)
    for _ in range(2):  # a second time over the first
        graph.save(tmp_path / "cdawg")
    mapped = load_cdawg(tmp_path / "cdawg")
    assert isinstance(mapped.edges, np.memmap)
    found = mapped.longest_matches(np.array(LLOYD), np.array([0, 5]), tokenizer_hash="t")
    assert found[0].tolist() == [1, 2, 3, 0, 1]
    for name, load in (("index.npz", load_index), ("scan.npz", load_result)):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(LingprobError, match="not a whole"):
            load(tmp_path / name)
        with pytest.raises(LingprobError, match="not a whole"):
            load(tmp_path / "absent.npz")
    edges = tmp_path / "cdawg" / "edges.npy"
    edges.write_bytes(edges.read_bytes()[:-4])
    with pytest.raises(LingprobError, match="not a whole CDAWG"):
        load_cdawg(tmp_path / "cdawg")


@pytest.mark.parametrize(
    ("suffix", "dtype"), [(".npy", "uint16"), (".npy", "uint32"), (".bin", "uint16")]
)
def test_rows_of_a_pretokenised_file(
    tmp_path: Path, suffix: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lingprob.overlap.token_blocks.TOKENS_PER_BLOCK", 8)
    rows = np.arange(28, dtype=dtype).reshape(7, 4)
    path = tmp_path / f"corpus{suffix}"
    if suffix == ".npy":
        np.save(path, rows)
    else:
        rows.tofile(path)
    assert count_rows(path, row_length=4) == 7

    def read(**options: int) -> list[int]:
        blocks = read_rows(path, row_length=4, **options)
        return [token for one in blocks for token in one.tokens.tolist()]

    assert read() == list(range(28))
    assert read(n_rows=3) == list(range(12))
    index = build_index(arrays([[3, 4, 5]]), tokenizer_hash="t", vocabulary_size=30)
    result = scan(index, read_rows(path, row_length=4), file="a", tokenizer_hash="t")
    assert longest_matches(index, result)[0].tolist() == [1, 1, 2]  # 3 and 4 are in two rows
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LingprobError, match="cut short"):
        count_rows(path, row_length=4)
    with pytest.raises(LingprobError, match="cannot be read"):
        count_rows(tmp_path / f"absent{suffix}")


def test_files_of_another_layout(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(LingprobError, match="holds float32"):
        count_rows(tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.zeros((2, 3), dtype=np.uint16))
    with pytest.raises(LingprobError, match="rows of 3 tokens, not of 4"):
        count_rows(tmp_path / "b.npy", row_length=4)
    with pytest.raises(LingprobError, match="row_length is 0"):
        count_rows(tmp_path / "b.npy", row_length=0)
    np.save(tmp_path / "e.npy", np.zeros(6, dtype=np.uint16))
    with pytest.raises(LingprobError, match="no whole number of rows of 4"):
        count_rows(tmp_path / "e.npy", row_length=4)
    np.save(tmp_path / "c.npy", np.asfortranarray(np.zeros((2, 3), dtype=np.uint16)))
    with pytest.raises(LingprobError, match="stored by columns"):
        count_rows(tmp_path / "c.npy", row_length=3)
    # What has one dimension is by rows, whatever its header says, of the second version here.
    with open(tmp_path / "d.npy", "wb") as stream:
        described = {"descr": "<u2", "fortran_order": True, "shape": (6,)}
        np.lib.format.write_array_header_2_0(stream, described)
        np.arange(6, dtype="<u2").tofile(stream)
    assert [b.tokens.tolist() for b in read_rows(tmp_path / "d.npy", row_length=3)] == [[*range(6)]]


def test_bytes_are_spelled_as_gpt_2_spells_them() -> None:
    assert _printable_bytes() == bytes_to_unicode()


PLAIN = "a dog  barks, the\u0301\ncats' tail\u2019s 12 1s!"


@pytest.mark.parametrize(
    ("changes", "is_fast"),
    [
        ({}, True),
        ({"normalizer": {"type": "NFC"}}, True),
        ({"normalizer": {"type": "Lowercase"}}, False),
        ({"model": {"byte_fallback": True}}, False),
        ({"pre_tokenizer": {"add_prefix_space": True}}, False),
        ({"pre_tokenizer": {"type": "Whitespace"}}, False),
        ({"added": "bark"}, False),
        ({"added": "  "}, True),
    ],
)
def test_tiktoken_is_taken_where_it_does_the_same(
    tmp_path: Path, changes: dict[str, Any], is_fast: bool
) -> None:
    pytest.importorskip("tiktoken")
    save_tiny_tokenizer(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    for part, change in changes.items():
        if part == "added":
            token = {"id": 320, "content": change, "single_word": False, "lstrip": False,
                     "rstrip": False, "normalized": False, "special": False}  # fmt: skip
            content["added_tokens"].append(token)
        else:
            content[part] = {**(content[part] or {}), **change}
    backend = tokenizers.Tokenizer.from_str(json.dumps(content))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    usual = usual_tokenize(tokenizer)
    found = fast_tokenize(tokenizer, ["", "a dog barks"])
    assert (found.__qualname__ != usual.__qualname__) == is_fast
    text = normalise(PLAIN)
    assert [list(ids) for ids in found([text, "", "a"])] == usual([text, "", "a"])
    with pytest.raises(LingprobError, match="it is empty"):
        fast_tokenize(tokenizer, [""])


def test_tiktoken_is_left_where_its_ids_differ_on_the_sample() -> None:
    """Here merges cross blanks, at which tiktoken parts words."""
    pytest.importorskip("tiktoken")
    level = tokenizers.pre_tokenizers.ByteLevel
    backend = tokenizers.Tokenizer(tokenizers.models.BPE())
    backend.pre_tokenizer = level(add_prefix_space=False, use_regex=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=level.alphabet(), show_progress=False
    )
    backend.train_from_iterator(["a b"] * 9, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    usual = usual_tokenize(tokenizer)
    assert len(usual(["a b"])[0]) == 1
    assert fast_tokenize(tokenizer, ["c", "a b"]).__qualname__ == usual.__qualname__
    assert fast_tokenize(tokenizer, ["c"]).__qualname__ != usual.__qualname__


def test_texts_are_normalised_and_tokenised(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "l l\\n\\n o  y"}\n{"text": "d"}\n'))

    def tokenize(texts: list[str]) -> list[list[int]]:
        return [[ord(letter) for letter in text if letter != " "] for text in texts]

    blocks = list(read_texts(iter_documents("lines", [path]), tokenize))
    assert [one.tokens.tolist() for one in blocks] == [LLOYD]
    assert blocks[0].offsets.tolist() == [0, 4, 5]
    assert blocks[0].n_words == 5
    assert normalise(" a\r\n\tb\u00a0c ") == "a b c"


def test_chunks(index: StimulusIndex) -> None:
    results = {
        f"chunk{i}": scanned(index, [[*document, 200 + i]], f"s{i}")
        for i, document in enumerate(([7, 8], [1], [7, 8, 9], [9, 8], LLOYD))
    }
    table = summarise_chunks(index, results, lambda ids: "-".join(map(str, ids)))
    assert table.overlap_tokens.tolist() == [2, 0, 3, 1, 5]
    assert table.passage.tolist() == [2, -1, 2, 2, 0]
    assert table.last_token.tolist() == [1, -1, 2, 1, 4]
    assert table.overlap_text.tolist()[:3] == ["7-8", "", "7-8-9"]
    chosen = select_chunks(table, min_length=1, seed=1, max_overlap=2, chunks_selected=2)
    assert chosen.leakage_free.tolist() == [True, True, False, True, False]
    assert chosen.selected.sum() == 2
    assert (chosen.leakage_free | ~chosen.selected).all()
    again = select_chunks(table.iloc[::-1], min_length=3, seed=1, max_overlap=2, chunks_selected=2)
    pd.testing.assert_frame_equal(again.iloc[::-1], chosen)
    seeds = [
        tuple(
            select_chunks(table, min_length=1, seed=seed, max_overlap=2, chunks_selected=2).selected
        )
        for seed in range(20)
    ]
    assert len(set(seeds)) == 3
    with pytest.raises(LingprobError, match="would go unseen"):
        select_chunks(table, min_length=4, seed=1, max_overlap=2, chunks_selected=2)
    every = select_chunks(table, min_length=1, seed=1, max_overlap=2, chunks_selected=3)
    assert every.selected.tolist() == every.leakage_free.tolist()
    with pytest.raises(LingprobError, match="3 of 5 chunks"):
        select_chunks(table, min_length=1, seed=1, max_overlap=2, chunks_selected=4)


def test_chance_of_at_least_one_occurrence() -> None:
    # 1 - (1 - p)^3 is 0.875 where p is a half.
    assert chance.logprob_threshold(3, level=0.875) == pytest.approx(np.log(0.5))
    for n_words in (10.0, 1.77e11):
        missed = n_words * np.log1p(-np.exp(chance.logprob_threshold(n_words)))
        assert -np.expm1(missed) == pytest.approx(0.05)
    # p far below the spacing of numbers around 1: 1 - (1 - p)^n is n p there.
    assert chance.logprob_threshold(1e10, level=1e-10) == pytest.approx(np.log(1e-20))
    with pytest.raises(LingprobError, match="positive"):
        chance.logprob_threshold(0)
    with pytest.raises(LingprobError, match="between 0 and 1"):
        chance.logprob_threshold(5, level=1.0)


@pytest.mark.parametrize(("searched", "limit"), [("the_pile", -28.87), ("owt", -25.33)])
def test_published_flags_are_at_the_published_limit(tmp_path, searched, limit) -> None:
    """The limits of Figure 1's caption; `compat` compares log10 p with them as it stands."""
    row = "brown\t0\t9\t4\t5\t1\t{:.3f}\t1\n"
    rows = "".join(row.format(limit + shift) for shift in (-0.005, 0.005))
    path = tmp_path / "overlaps.tsv"
    path.write_text("\t".join(chance.PUBLISHED_COLUMNS) + "\n" + rows)
    found = leakage.published_overlaps(path, searched, "laptop")
    assert found["below_threshold_compat"].tolist() == [True, False]


def test_units_of_the_threshold() -> None:
    log10_prob = np.array([-30.0, -20.0, -10.0])
    assert chance.below_threshold(log10_prob, -28.87).tolist() == [True, False, False]
    corrected = chance.below_threshold(log10_prob, -28.87, "corrected")
    assert corrected.tolist() == [True, True, False]
    with pytest.raises(LingprobError, match="Did you mean 'compat'"):
        chance.below_threshold(log10_prob, -28.87, "compatt")


def test_an_empty_block_is_no_document() -> None:
    one = block_of([])
    assert (len(one.tokens), one.offsets.tolist()) == (0, [0])


class Bigrams:
    """The bigrams of ARPA, by the definition, with KenLM's method and its defaults."""

    unigrams: ClassVar = {"<unk>": (-2.0, 0.0), "<s>": (-99.0, -0.5), "</s>": (-1.2, 0.0),
                          "a": (-1.0, -0.25), "b": (-1.5, 0.0)}  # fmt: skip
    bigrams: ClassVar = {("a", "b"): -0.3}

    def score(self, text: str, bos: bool = True, eos: bool = True) -> float:
        """Return log10 p: a bigram's where it is listed, else backoff weight and unigram."""
        total, before = 0.0, "<s>" if bos else None
        for word in [*text.split(), *(["</s>"] if eos else [])]:
            word = word if word in self.unigrams else "<unk>"
            backed_off = self.unigrams[word][0] + self.unigrams.get(before, (0.0, 0.0))[1]
            total += self.bigrams.get((before, word), backed_off)
            before = word
        return total


@pytest.fixture(params=["reference", "kenlm"])
def bigrams(request, tmp_path: Path) -> Any:
    """ARPA, read by the definition and by KenLM itself."""
    if request.param == "reference":
        return Bigrams()
    pytest.importorskip("kenlm")
    (tmp_path / "model.arpa").write_text(ARPA)
    return chance.load_kenlm(tmp_path / "model.arpa")


def test_joint_probability_is_without_sentence_marks(bigrams: Any) -> None:
    found = chance.joint_log10_prob(bigrams, ["a b", "a a", "b", "c"])
    np.testing.assert_allclose(found, [-1.3, -2.25, -1.5, -2.0], atol=1e-6)
    # By hand with both marks: a after <s> is -1 - 0.5, and </s> after b is -1.2.
    assert bigrams.score("a b") == pytest.approx(-1.5 - 0.3 - 1.2, abs=1e-6)


def test_the_flag_compares_nats_with_nats(bigrams: Any) -> None:
    """Joint log10 p are -1.3, -2.25 and -2; ln p are 2.303 times that, and the limit -4.8."""
    table = pd.DataFrame({"overlap_text": ["a b", "a a", "c"]})
    n_words = np.log(0.95) / np.log1p(-np.exp(-4.8))
    found = leakage.with_chance_level(table, bigrams, n_words)
    np.testing.assert_allclose(found["5gram_logprob"], [-1.3, -2.25, -2.0], atol=1e-6)
    assert found["below_threshold"].tolist() == [False, True, False]
    assert found["below_threshold_corrected"].tolist() == [False, True, False]
    assert found["below_threshold_compat"].tolist() == [False, False, False]


def test_files_that_kenlm_cannot_read_are_named(tmp_path: Path) -> None:
    pytest.importorskip("kenlm")
    path = tmp_path / "model.arpa"
    with pytest.raises(LingprobError, match="no such n-gram model"):
        chance.load_kenlm(tmp_path / "absent.arpa")
    path.write_text("nonsense")
    with pytest.raises(LingprobError, match="kenlm cannot read it"):
        chance.load_kenlm(path)


def test_a_file_without_a_token_is_named(tmp_path):
    """It would make every text seem to be free of its corpus."""
    index = build_index([np.array([1, 2, 3])], tokenizer_hash="h", vocabulary_size=10)
    path = tmp_path / "empty.npy"
    np.save(path, np.zeros((0, 2049), dtype=np.uint16))
    tokenizer = Tokenizer(None, 10, "h")
    with (
        pytest.raises(LingprobError, match=r"empty\.npy: no token in it"),
        Progress(None, "scanning", "tokens") as progress,
    ):
        scan_file(index, tokenizer, {"parser": "token_rows"}, [path], "c/empty.npy", 1, progress)
