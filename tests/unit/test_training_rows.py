"""Examples: text to rows, rows in files, chunks and tokenizers that fit or do not, their order."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.io.files import sha256_of
from lingprob.io.progress import Progress
from lingprob.io.tables import read_metadata, read_table
from lingprob.training.corpus import (
    Chunk,
    TrainingData,
    choose_chunks,
    count_seen_tokens,
    prepare_corpus,
    tokenizer_file,
    write_description,
)
from lingprob.training.rows import TokenRows, examples_of_step, write_rows
from lingprob.workflow.digests import SCRIPTS
from training_for_tests import (
    CONTEXT_WINDOW,
    N_EXAMPLES,
    VOCABULARY,
    job,
    losses,
    rows_with_structure,
    save_corpus,
    save_word_tokenizer,
)

QUIET = Progress(None, "tokens", "tokens")


def as_ids(texts: list[str]) -> list[list[int]]:
    """A word's id is its number: `w7` is 7."""
    return [[int(word[1:]) for word in text.split()] for text in texts]


def write(documents, folder: Path, **changes) -> list[Path]:
    options = {"separator": 0, "row_length": 4, "vocabulary": 96, "identity": "i"}
    return write_rows(documents, as_ids, folder, **{**options, "progress": QUIET, **changes})


def test_rows_of_text_by_hand(tmp_path):
    """1 2 0 3 4 5 0 6 0: rows of 4 overlap by one token, and 6 0 fills none."""
    (path,) = write(["w1 w2", "w3 w4 w5", "w6"], tmp_path)
    rows = np.load(path)
    assert rows.tolist() == [[1, 2, 0, 3], [3, 4, 5, 0]]
    assert rows.dtype == np.uint16


def test_a_file_is_written_once_its_rows_are_there(tmp_path, monkeypatch):
    """Two rows of 4 are 7 tokens: of 4 + 2 + 2 tokens 2 are left, and of 2 + 5 the last one."""
    monkeypatch.setattr("lingprob.training.rows.CHARACTERS_PER_BATCH", 1)
    texts = ["w1 w2 w3", "w4", "w5", "w6 w7 w8 w9", "w10 w11"]
    progress = Progress(None, "tokens", "tokens")
    paths = write(texts, tmp_path, rows_per_shard=2, progress=progress)
    assert [np.load(path).tolist() for path in paths] == [
        [[1, 2, 3, 0], [0, 4, 0, 5]], [[5, 0, 6, 7], [7, 8, 9, 0]], [[0, 10, 11, 0]]
    ]  # fmt: skip
    assert progress.done == 16

    def gone():
        raise AssertionError("what is finished needs no text")
        yield

    assert write(gone(), tmp_path, rows_per_shard=2) == paths
    paths[1].unlink()
    assert write(texts[:2], tmp_path, rows_per_shard=2) == paths[:1]
    assert np.load(paths[0]).tolist() == [[1, 2, 3, 0]]


def test_no_text_makes_no_rows(tmp_path):
    assert write([], tmp_path, row_length=2) == []


def test_a_vocabulary_of_16_bits_has_files_of_16(tmp_path):
    (path,) = write(["w65535 w2 w3"], tmp_path, vocabulary=2**16)
    assert np.load(path).dtype == np.uint16


def test_a_vocabulary_beyond_16_bits_gets_32(tmp_path):
    (path,) = write(["w70000 w2 w3"], tmp_path, vocabulary=80_000)
    assert np.load(path).tolist() == [[70_000, 2, 3, 0]]
    assert np.load(path).dtype == np.uint32


def test_a_killed_tokenising_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    """A document's failure stands for the kill: what was written before it stays."""
    monkeypatch.setattr("lingprob.training.rows.CHARACTERS_PER_BATCH", 40)
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in random.integers(1, 96, 12)) for _ in range(30)]
    whole = write(texts, tmp_path / "whole", rows_per_shard=20)

    def breaking():
        yield from texts[:20]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(breaking(), tmp_path / "broken", rows_per_shard=20)
    first = tmp_path / "broken" / "00000.npy"
    kept = first.stat().st_mtime_ns
    resumed = write(texts, tmp_path / "broken", rows_per_shard=20)
    assert first.stat().st_mtime_ns == kept
    assert len(resumed) == len(whole) > 2
    for ours, theirs in zip(resumed, whole, strict=True):
        assert (np.load(ours) == np.load(theirs)).all()
    joined = np.concatenate([np.load(path)[:, :-1].ravel() for path in whole])
    expected = np.concatenate([[*ids, 0] for ids in as_ids(texts)])
    assert (joined == expected[: len(joined)]).all()
    assert len(expected) - len(joined) <= 4


def test_rows_of_another_tokenizer_are_made_anew(tmp_path):
    write(["w1 w2 w3"], tmp_path / "rows")
    (path,) = write(["w5 w6 w7"], tmp_path / "rows")
    assert np.load(path).tolist() == [[1, 2, 3, 0]]  # the same identity: kept
    (path,) = write(["w5 w6 w7"], tmp_path / "rows", identity="another")
    assert np.load(path).tolist() == [[5, 6, 7, 0]]


def test_several_files_are_one_sequence_of_rows(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6, dtype=np.uint16).reshape(2, 3))
    np.save(tmp_path / "b.npy", np.arange(6, 12, dtype=np.uint32))
    np.arange(12, 15, dtype=np.uint16).tofile(tmp_path / "c.bin")
    rows = TokenRows([tmp_path / name for name in ("a.npy", "b.npy", "c.bin")], 3)
    assert len(rows) == 5
    assert rows.take(np.array([4])).tolist() == [[12, 13, 14]]
    assert rows.take(np.array([3, 0, 2])).tolist() == [[9, 10, 11], [0, 1, 2], [6, 7, 8]]
    assert rows.place(1) == f"{tmp_path / 'a.npy'}, row 1"
    assert rows.place(2) == f"{tmp_path / 'b.npy'}, row 0"


def test_a_file_that_is_cut_short_or_absent_is_named(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((8, 5), dtype=np.uint16))
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(LingprobError, match=r"a\.npy.*cut short"):
        TokenRows([path], 5)
    with pytest.raises(LingprobError, match=r"b\.npy: cannot be read"):
        TokenRows([tmp_path / "b.npy"], 5)
    np.save(path, np.zeros((8, 6), dtype=np.uint16))
    with pytest.raises(LingprobError, match="rows of 6 tokens, not of 5"):
        TokenRows([path], 5)


def chunk(name: str, path: Path | None = None, **entry: str) -> Chunk:
    return Chunk("mine", name, {"parser": "lines", **entry}, str(path) if path else None)


def test_selected_chunks_train_and_the_other_leakage_free_ones_validate():
    chunks = [chunk(name) for name in "abcd"]
    table = pd.DataFrame(
        {
            "chunk": ["mine/a", "mine/b", "mine/c", "mine/d"],
            "leakage_free": [True, False, True, True],
            "selected": [True, False, False, True],
        }
    )
    chosen, held_out = choose_chunks(chunks, table)
    assert [c.file for c in chosen] == ["a", "d"]
    assert [c.file for c in held_out] == ["c"]
    assert choose_chunks(chunks, None) == (chunks, [])
    with pytest.raises(LingprobError, match=r"overlap\.chunks_selected"):
        choose_chunks(chunks, table.assign(selected=False))


def prepare(chunks, folder: Path, tokenizer: Path | None, **changes):
    options = {"vocabulary": VOCABULARY, "context_window": 4, "folder": folder, "code": "c"}
    options |= changes
    return prepare_corpus(chunks, [], tokenizer_file=tokenizer, progress=QUIET, **options)


def test_text_and_rows_go_through_one_description(tmp_path):
    """The word tokenizer splits at blanks; a document a line."""
    (tmp_path / "text.txt").write_text("w1 w2 w3\nw4 w5\n")
    np.save(tmp_path / "rows.npy", np.full((2, 5), 9, dtype=np.uint16))
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"
    described = prepare(
        [
            chunk("text.txt", tmp_path / "text.txt"),
            chunk("rows.npy", tmp_path / "rows.npy", parser="token_rows"),
        ],
        tmp_path / "work",
        file,
    )
    assert described["tokenizer_sha256"] == sha256_of(file)
    assert described["separator"] == 0
    assert described["tokenizer"] == str(tmp_path / "work" / "tokenizer")
    made = tmp_path / "work" / "rows" / "mine" / "text.txt" / "00000.npy"
    assert described["training"] == [str(made), str(tmp_path / "rows.npy")]
    data = TrainingData(described, validation_examples=0)
    assert data.take(np.array([0])).tolist() == [[1, 2, 3, 0, 4]]
    assert data.n_examples == 3
    assert json.loads(json.dumps(described)) == described


def test_an_own_tokenizer_is_made_of_the_chosen_text(tmp_path):
    (tmp_path / "text.txt").write_text("the cat and the hat\n" * 20)
    described = prepare(
        [chunk("text.txt", tmp_path / "text.txt")], tmp_path / "work", None, vocabulary=280
    )
    tokenizer = AutoTokenizer.from_pretrained(described["tokenizer"])
    ids = tokenizer("the cat and the hat").input_ids
    assert tokenizer.decode(ids) == "the cat and the hat"
    assert len(ids) == 5  # of 19 bytes: the pairs that the text repeats are merged
    rows = TrainingData(described, validation_examples=0).take(np.array([0]))[0]
    assert rows.tolist() == [*ids, 0][:5]
    assert tokenizer.eos_token == "<|endoftext|>"


def test_rows_are_made_again_by_other_code_or_of_other_text(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("w1 w2 w3\nw4 w5\n")
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"

    def rows(**changes):
        made = prepare([chunk("text.txt", text)], tmp_path / "work", file, **changes)
        (path,) = made["training"]
        return Path(path), np.load(path).tolist()

    path, right = rows()
    np.save(path, np.zeros((1, 5), dtype=np.uint16))
    assert rows()[1] == [[0] * 5]  # the same in everything: kept
    assert rows(code="edited")[1] == right
    text.write_text("w5 w2 w3\nw4 w1\n")
    assert rows(code="edited")[1] == [[5, 2, 3, 0, 4]]


def test_rows_made_by_another_tokenizer_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((2, 5), dtype=np.uint16))
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"
    other = chunk("r", tmp_path / "rows.npy", parser="token_rows", tokenizer_sha256="f" * 64)
    with pytest.raises(LingprobError, match=rf"rows\.npy.*sha256 {'f' * 64}.*{sha256_of(file)}"):
        prepare([other], tmp_path / "work", file)


def test_a_vocabulary_too_small_for_the_tokenizer_is_refused(tmp_path):
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"
    with pytest.raises(LingprobError, match=r"has 96 tokens.*training\.vocabulary \(95\)"):
        prepare([], tmp_path / "work", file, vocabulary=95)


def test_a_tokenizer_without_the_separator_is_refused(tmp_path):
    words = Tokenizer(models.WordLevel({"w0": 0, "w1": 1}, unk_token="w0"))
    words.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(LingprobError, match=r"2 tokens; <\|endoftext\|> is not one of them"):
        prepare([], tmp_path / "work", tmp_path / "tokenizer.json")


def test_texts_of_the_package_need_no_file():
    first = next(Chunk("demo", "sentences", {"parser": "demo_sentences"}, None).documents())
    assert first == pd.read_csv(MINIMAL_PAIRS)["good"][0]


def test_a_tokenizer_lies_where_its_manifest_says(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "of_model.json").write_text('{"directory": "files"}')
    (tmp_path / "of_data.tsv").write_text("name\tsha256\n20B.json\tf\n")
    assert tokenizer_file(None) is None
    found = tokenizer_file(str(tmp_path / "of_model.json"))
    assert found == tmp_path / "files" / "tokenizer.json"
    assert tokenizer_file(str(tmp_path / "of_data.tsv")) == tmp_path / "20B.json"


def test_an_id_outside_the_vocabulary_is_found_in_its_row(tmp_path):
    described = save_corpus(tmp_path)
    rows = np.load(tmp_path / "b.npy")
    rows[7, 3] = VOCABULARY
    np.save(tmp_path / "b.npy", rows)
    data = TrainingData(described, 10)
    assert data.take(np.array([56, 58])).shape == (2, CONTEXT_WINDOW + 1)
    with pytest.raises(LingprobError, match=r"b\.npy, row 7: token id 96"):
        data.take(np.array([56, 57, 58]))


def test_examples_that_are_gone_are_named_with_the_remedy(tmp_path):
    described = save_corpus(tmp_path)
    (tmp_path / "b.npy").unlink()
    with pytest.raises(LingprobError, match=r"b\.npy: these examples are gone.*corpus\.json"):
        TrainingData(described, 10)


def test_without_other_chunks_some_training_examples_are_held_out(tmp_path):
    described = {**save_corpus(tmp_path), "validation": []}
    data = TrainingData(described, 10)
    assert (len(data.validation()), data.n_examples) == (10, 80)
    # Every tenth, from the first to the last: 89 / 9 apart, rounded down.
    every = [0, 9, 19, 29, 39, 49, 59, 69, 79, 89]
    assert (data.validation() == rows_with_structure(N_EXAMPLES)[every]).all()
    trained = {tuple(row) for row in data.take(np.arange(80)).tolist()}
    assert not trained & {tuple(row) for row in data.validation().tolist()}


def test_a_corpus_is_described_in_a_file_that_says_all_of_it(tmp_path):
    described = {"files": ["a.npy"], "vocabulary": 8, "chosen": None}
    write_description(described, tmp_path / "corpus.json")
    text = (tmp_path / "corpus.json").read_text()
    assert json.loads(text) == described
    assert text.startswith('{\n "files": [\n')
    assert text.endswith("}\n")


def test_the_order_of_examples_is_the_epochs_shuffles_one_after_another():
    """Ten examples, four a step: step 3 has the last two of the first epoch, two of the next."""
    shuffles = [[2, 3, 0, 9, 1, 4, 5, 8, 7, 6], [3, 0, 7, 8, 2, 1, 9, 4, 6, 5]]
    for epoch, shuffle in enumerate(shuffles):
        assert np.random.default_rng([2025, epoch]).permutation(10).tolist() == shuffle
    steps = [examples_of_step(step, 4, 10, seed=2025).tolist() for step in (1, 2, 3, 4)]
    assert steps == [[2, 3, 0, 9], [1, 4, 5, 8], [7, 6, 3, 0], [7, 8, 2, 1]]


def test_every_epoch_has_each_example_once_in_another_order():
    batches = [examples_of_step(step, 6, 15, seed=1) for step in range(1, 11)]
    epochs = np.concatenate(batches).reshape(4, 15)
    assert all(sorted(epoch) == list(range(15)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 4


def test_an_order_does_not_depend_on_what_was_asked_before():
    later = examples_of_step(7, 6, 15, seed=1)
    for step in range(1, 7):
        examples_of_step(step, 6, 15, seed=2)
    assert (examples_of_step(7, 6, 15, seed=1) == later).all()
    assert (examples_of_step(7, 6, 15, seed=2) != later).any()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


def test_counts_are_of_the_rows_that_a_training_reads(corpus, tmp_path, monkeypatch):
    read: list[np.ndarray] = []
    take = TrainingData.take

    def recorded(self, numbers):
        rows = take(self, numbers)
        read.append(rows)
        return rows

    monkeypatch.setattr(TrainingData, "take", recorded)
    losses(job(corpus, tmp_path, plan={"steps": 5}))
    monkeypatch.undo()
    expected = np.bincount(np.concatenate(read)[:, 1:].ravel(), minlength=corpus["vocabulary"])
    counts = count_seen_tokens(TrainingData(corpus, 10), 5, 8, seed=3)
    assert counts.tolist() == expected.tolist()


def test_an_epoch_counts_every_example_and_two_count_them_twice(corpus):
    data = TrainingData(corpus, 10)
    once = np.bincount(
        rows_with_structure(N_EXAMPLES)[:, 1:].ravel(), minlength=corpus["vocabulary"]
    )
    assert count_seen_tokens(data, 10, 9, seed=3).tolist() == once.tolist()
    assert count_seen_tokens(data, 20, 9, seed=4).tolist() == (2 * once).tolist()


def test_the_rule_s_counts_are_those_of_its_step(corpus, tmp_path):
    (tmp_path / "corpus.json").write_text(json.dumps(corpus))
    output = tmp_path / "training_4.parquet"
    params = SimpleNamespace(batch_size=8, validation_examples=10, seed=3, smoothing=1.0)
    snakemake = SimpleNamespace(
        input=[str(tmp_path / "corpus.json")], output=[str(output)], params=params,
        log=[str(tmp_path / "log.txt")], rule="count",
    )  # fmt: skip
    runpy.run_path(str(SCRIPTS / "count_training_tokens.py"), init_globals={"snakemake": snakemake})
    expected = count_seen_tokens(TrainingData(corpus, 10), 4, 8, seed=3)
    assert read_table(output, "unigrams")["count"].tolist() == expected.tolist()
    assert read_metadata(output)["total"] == str(4 * 8 * corpus["context_window"])
