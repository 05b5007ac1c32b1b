"""Examples: text to rows, chunks from shards, tokenizers that fit or do not, their order."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.io import download
from lingprob.io.corpora import batches
from lingprob.io.files import sha256_of
from lingprob.io.progress import Progress
from lingprob.io.tables import read_metadata, read_table
from lingprob.training import preshuffled
from lingprob.training.corpus import (
    Chunk,
    TokenRows,
    TrainingData,
    count_seen_tokens,
    examples_of_step,
    prepare_corpus,
    split_chunks,
    tokenizer_file,
    write_rows,
)
from lingprob.training.preshuffled import fetch_chunk, leakage_free, obtain_file, passing_chunk
from loopback import Fault, FileServer
from scripts_for_tests import run_script
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


def write(documents, path: Path, **changes) -> np.ndarray:
    options = {"separator": 0, "row_length": 4, "vocabulary": 96}
    write_rows(documents, as_ids, path, **{**options, "progress": QUIET, **changes})
    return np.load(path)


def test_rows_of_text_by_hand(tmp_path):
    """1 2 0 3 4 5 0 6 0: rows of 4 overlap by one token, and 6 0 fills none."""
    rows = write(["w1 w2", "w3 w4 w5", "w6"], tmp_path / "a.npy")
    assert rows.tolist() == [[1, 2, 0, 3], [3, 4, 5, 0]]
    assert rows.dtype == np.uint16
    assert len(TokenRows([tmp_path / "a.npy"], 4)) == 2
    assert write([], tmp_path / "none.npy").shape == (0, 4)
    assert len(TokenRows([tmp_path / "none.npy"], 4)) == 0
    assert write(["w65535 w2 w3"], tmp_path / "a.npy", vocabulary=2**16).dtype == np.uint16
    rows = write(["w70000 w2 w3"], tmp_path / "b.npy", vocabulary=80_000)
    assert rows.tolist() == [[70_000, 2, 3, 0]]
    assert rows.dtype == np.uint32


def test_rows_do_not_depend_on_batches(tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    lengths = random.integers(1, 12, 50)
    texts = [" ".join(f"w{n}" for n in random.integers(1, 96, length)) for length in lengths]
    progress = Progress(None, "tokens", "tokens")
    whole = write(texts, tmp_path / "a.npy", progress=progress)
    assert progress.done == lengths.sum() + 50
    monkeypatch.setattr("lingprob.training.corpus.batches", partial(batches, size=10))
    assert (write(texts, tmp_path / "b.npy") == whole).all()
    joined = np.concatenate([whole[:, :-1].ravel(), whole[-1, -1:]])
    expected = np.concatenate([[*ids, 0] for ids in as_ids(texts)])
    assert (joined == expected[: len(joined)]).all()
    assert len(expected) - len(joined) < 3


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


def chunk(name: str, path: Path | None = None, **entry: str) -> Chunk:
    return Chunk("mine", name, {"parser": "lines", **entry}, str(path) if path else None)


def test_selected_chunks_train_and_others_validate():
    chunks = [chunk(name) for name in "abcd"]
    table = pd.DataFrame(
        {
            "chunk": ["mine/a", "mine/b", "mine/c", "mine/d"],
            "leakage_free": [True, False, True, True],
            "selected": [True, False, False, True],
        }
    )
    parts = split_chunks(chunks, table)
    found = {name: [chunk.file for chunk in some] for name, some in parts.items()}
    assert found == {"training": ["a", "d"], "validation": ["c"]}
    assert split_chunks(chunks, None) == {"training": chunks, "validation": []}
    with pytest.raises(LingprobError, match=r"overlap\.chunks_selected"):
        split_chunks(chunks, table.assign(selected=False))


def prepare(chunks, folder: Path, tokenizer: Path | None, held_out=(), **changes):
    options = {"vocabulary": VOCABULARY, "context_window": 4, "folder": folder, "code": "c"}
    options |= changes
    parts = {"training": chunks, "validation": held_out}
    return prepare_corpus(parts, tokenizer_file=tokenizer, progress=QUIET, **options)


def test_text_and_rows_go_through_one_description(tmp_path):
    """The word tokenizer splits at spaces, with one document per line."""
    (tmp_path / "text.txt").write_text("w1 w2 w3\nw4 w5\n")
    np.save(tmp_path / "rows.npy", np.full((2, 5), 9, dtype=np.uint16))
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"
    chunks = [chunk("text.txt", tmp_path / "text.txt"),
              chunk("rows.npy", tmp_path / "rows.npy", parser="token_rows")]  # fmt: skip
    described = prepare(chunks, tmp_path / "work", file)
    assert described["tokenizer_sha256"] == sha256_of(file)
    assert described["separator"] == 0
    assert described["tokenizer"] == str(tmp_path / "work" / "tokenizer")
    made, given = map(Path, described["training"])
    assert made.parent == tmp_path / "work" / "rows" / "mine" / "text.txt"
    assert given == tmp_path / "rows.npy"
    data = TrainingData(described, validation_examples=0)
    assert data.take(np.array([0])).tolist() == [[1, 2, 3, 0, 4]]
    assert data.n_examples == 3
    assert json.loads(json.dumps(described)) == described


def test_an_own_tokenizer_is_made_of_the_text(tmp_path):
    (tmp_path / "text.txt").write_text("the cat and the hat\n" * 20)
    (tmp_path / "held_out.txt").write_text("zqzq\n" * 20)
    chunks = [chunk(name, tmp_path / name) for name in ("text.txt", "held_out.txt")]
    described = prepare(chunks[:1], tmp_path / "work", None, chunks[1:], vocabulary=280)
    assert described["chunks"] == {one.name: one.identity for one in chunks}
    tokenizer = AutoTokenizer.from_pretrained(described["tokenizer"])
    ids = tokenizer("the cat and the hat").input_ids
    assert tokenizer.decode(ids) == "the cat and the hat"
    assert len(ids) == 5  # of 19 bytes: the pairs that the text repeats are merged
    assert len(tokenizer("zqzq").input_ids) == 4
    rows = TrainingData(described, validation_examples=0).take(np.array([0]))[0]
    assert rows.tolist() == [*ids, 0][:5]
    assert tokenizer.eos_token == "<|endoftext|>"


def test_rows_belong_to_one_text_tokenizer_and_code(tmp_path, monkeypatch):
    text, copied = tmp_path / "a.txt", tmp_path / "b.txt"
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"

    def write_text(path, more="", time=1):
        path.write_text("w1 w2 w3 w4 w5\n" + more)
        os.utime(path, ns=(time, time))

    def name(path=text, parser="lines", **changes):
        one = chunk("c", path, parser=parser)
        made = Path(prepare([one], tmp_path / "work", file, **changes)["training"][0])
        assert np.load(made)[0, :3].tolist() == [1, 2, 3]
        assert len([*made.parent.iterdir()]) == 1  # rows that are no longer used are deleted
        return made.name

    write_text(text)
    write_text(copied)
    names = [name(), name(copied), name(parser="text"), name(code="e"), name(context_window=3)]
    for change in ({"time": 2}, {"more": "w6\n"}):
        write_text(text, **change)
        names.append(name())
    write_text(text)
    assert name() == names[0]
    with monkeypatch.context() as patched:
        patched.setattr("lingprob.training.corpus.write_rows", None)
        assert name() == names[0]  # they are kept
    file.write_text(file.read_text() + " ")
    assert len({*names, name()}) == len(names) + 1


def test_a_killed_tokenising_leaves_no_rows(tmp_path):
    def breaking():
        yield "w1 w2 w3 w4 w5 w6"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(breaking(), tmp_path / "a.npy")
    assert [*tmp_path.iterdir()] == []


def test_unfit_tokenizers_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((2, 5), dtype=np.uint16))
    file = save_word_tokenizer(tmp_path / "words") / "tokenizer.json"
    other = chunk("r", tmp_path / "rows.npy", parser="token_rows", tokenizer_sha256="f" * 64)
    with pytest.raises(LingprobError, match=rf"rows\.npy.*sha256 {'f' * 64}.*{sha256_of(file)}"):
        prepare([other], tmp_path / "work", file)
    with pytest.raises(LingprobError, match=r"has 96 tokens.*training\.vocabulary \(95\)"):
        prepare([], tmp_path / "work", file, vocabulary=95)
    words = Tokenizer(models.WordLevel({"w0": 0, "w1": 1}, unk_token="w0"))
    words.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(LingprobError, match=r"2 tokens. One of them must be <\|endoftext\|>"):
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


@pytest.mark.parametrize(("held_out", "place"), [(True, "b.npy, row 7"), (False, "b.npy, row 14")])
def test_an_id_outside_the_vocabulary_is_located(held_out, place, tmp_path):
    """Example 57 is row 57 of 50 + 40, or row 64 if 0, 9, 19, ..., 59 validate."""
    described = save_corpus(tmp_path)
    if not held_out:
        described["validation"] = []
    rows = np.load(tmp_path / "b.npy")
    rows[int(place.split()[-1]), 3] = VOCABULARY
    np.save(tmp_path / "b.npy", rows)
    data = TrainingData(described, 10)
    assert data.take(np.array([56, 58])).shape == (2, CONTEXT_WINDOW + 1)
    with pytest.raises(LingprobError, match=rf"{place}: token id 96 is not in .* of 96"):
        data.take(np.array([56, 57, 58]))


def test_missing_examples_are_named_with_the_remedy(tmp_path):
    described = save_corpus(tmp_path)
    for name in ("held_out.npy", "b.npy"):
        (tmp_path / name).unlink()
        with pytest.raises(LingprobError, match=rf"{name}: these examples are gone.*corpus\.json"):
            TrainingData(described, 10)


def test_without_other_chunks_some_examples_are_held_out(tmp_path):
    described = save_corpus(tmp_path)
    assert len(TrainingData(described, 30).validation) == 20  # each of them once
    data = TrainingData({**described, "validation": []}, 10)
    assert (len(data.validation), data.n_examples) == (10, 80)
    # Every tenth, from the first to the last: 89 / 9 apart, rounded down.
    every = [0, 9, 19, 29, 39, 49, 59, 69, 79, 89]
    assert (data.validation == rows_with_structure(N_EXAMPLES)[every]).all()
    trained = {tuple(row) for row in data.take(np.arange(80)).tolist()}
    assert not trained & {tuple(row) for row in data.validation.tolist()}


def test_examples_follow_the_shuffles_of_epochs():
    """Ten examples, four a step: step 3 has the last two of the first epoch, two of the next."""
    shuffles = [[2, 3, 0, 9, 1, 4, 5, 8, 7, 6], [3, 0, 7, 8, 2, 1, 9, 4, 6, 5]]
    for epoch, shuffle in enumerate(shuffles):
        assert np.random.default_rng([2025, epoch]).permutation(10).tolist() == shuffle
    steps = [examples_of_step(step, 4, 10, seed=2025).tolist() for step in (1, 2, 3, 4)]
    assert steps == [[2, 3, 0, 9], [1, 4, 5, 8], [7, 6, 3, 0], [7, 8, 2, 1]]


def test_an_order_is_independent_of_earlier_requests():
    later = examples_of_step(7, 6, 15, seed=1)
    for step in range(1, 7):
        examples_of_step(step, 6, 15, seed=2)
    assert (examples_of_step(7, 6, 15, seed=1) == later).all()
    assert (examples_of_step(7, 6, 15, seed=2) != later).any()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


def test_counts_are_of_the_rows_trained_on(corpus, tmp_path, monkeypatch):
    read: list[np.ndarray] = []
    take = TrainingData.take

    def recorded(*of):
        read.append(take(*of))
        return read[-1]

    monkeypatch.setattr(TrainingData, "take", recorded)
    losses(job(corpus, tmp_path, plan={"steps": 5}))
    monkeypatch.undo()
    expected = np.bincount(np.concatenate(read)[:, 1:].ravel(), minlength=corpus["vocabulary"])
    counts = count_seen_tokens(TrainingData(corpus, 10), 5, 8, 3, QUIET)
    assert counts.tolist() == expected.tolist()


def test_a_rule_s_counts_are_of_its_step(corpus, tmp_path):
    (tmp_path / "corpus.json").write_text(json.dumps(corpus))
    output = tmp_path / "training_4.parquet"
    run_script(
        "count_training_tokens", log=tmp_path / "log.txt",
        input={"corpus": tmp_path / "corpus.json"}, output={"counts": output},
        params={"batch_size": 8, "validation_examples": 10, "seed": 3, "smoothing": 1.0},
    )  # fmt: skip
    expected = count_seen_tokens(TrainingData(corpus, 10), 4, 8, 3, QUIET)
    assert read_table(output, "unigrams")["count"].tolist() == expected.tolist()
    assert read_metadata(output)["total"] == str(4 * 8 * corpus["context_window"])


# Chunks cut from the shards of a hub.

ROWS, ROW_LENGTH, SHARD_BYTES = 6, 5, 70  # a chunk has 60 bytes; rows cross the shards' ends
TOKENS = np.arange(4 * ROWS * ROW_LENGTH, dtype=np.uint16)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(preshuffled, "ROWS_PER_CHUNK", ROWS)
    monkeypatch.setattr(preshuffled, "ROW_LENGTH", ROW_LENGTH)
    data = TOKENS.tobytes()
    shards = {f"{n}.bin": data[n * SHARD_BYTES : (n + 1) * SHARD_BYTES] for n in range(4)}
    with FileServer(shards) as running:
        yield running


def fetch(server: FileServer, number: int, folder) -> np.ndarray:
    path = folder / f"chunk-{number}.npy"
    fetch_chunk(number, path, f"{server.url}/{{shard}}.bin", SHARD_BYTES)
    assert len(TokenRows([path], ROW_LENGTH)) == ROWS
    return np.load(path)


def test_only_the_chunks_bytes_are_fetched(server, tmp_path):
    for number in range(4):
        expected = TOKENS[number * 30 : (number + 1) * 30].reshape(ROWS, ROW_LENGTH)
        assert (fetch(server, number, tmp_path) == expected).all()
    assert server.ranges("1.bin") == ["bytes=0-49", "bytes=50-69"]
    assert server.ranges("2.bin") == ["bytes=0-39", "bytes=40-69"]
    before = len(server.requests)
    fetch(server, 2, tmp_path)
    assert len(server.requests) == before


def test_a_broken_download_goes_on_where_it_stopped(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "RETRY_SECONDS", (0.0,) * 4)
    monkeypatch.setattr(preshuffled, "CHUNK", 5)
    busy = [Fault(status=status) for status in (500, 429)]
    server.faults["1.bin"] = [Fault(break_after=20), *busy, Fault(break_after=7)]
    assert (fetch(server, 1, tmp_path / "new") == TOKENS[30:60].reshape(ROWS, ROW_LENGTH)).all()
    starts = [0, 20, 20, 20, 25]
    assert server.ranges("1.bin")[:5] == [f"bytes={start}-49" for start in starts]


@pytest.mark.parametrize("rows", [0, 2])
def test_what_has_arrived_is_not_fetched_again(server, tmp_path, monkeypatch, rows):
    """Two rows, or half a header. The bytes and their count continue from there."""
    counted: list[int] = []
    monkeypatch.setattr(Progress, "resume_at", lambda _, done: counted.append(done))
    header = preshuffled.npy_header(ROWS, ROW_LENGTH, np.dtype("<u2"))
    there = TOKENS[: 5 * rows].tobytes()
    (tmp_path / "chunk-0.npy.part").write_bytes(header + there if rows else header[:50])
    assert (fetch(server, 0, tmp_path) == TOKENS[:30].reshape(ROWS, ROW_LENGTH)).all()
    assert counted == [10 * rows]
    assert server.ranges("0.bin") == [f"bytes={10 * rows}-59"]


@pytest.mark.parametrize(
    ("fault", "said"),
    [(Fault(status=404), "HTTP 404"), (Fault(ignore_range=True), "HTTP 200 to a request for byte")],
)
def test_an_unavailable_shard_is_one_clear_message(server, tmp_path, fault, said):
    server.always["2.bin"] = fault
    with pytest.raises(LingprobError, match=rf"chunk-2\.npy could not be fetched.*{said}"):
        fetch(server, 2, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["chunk-2.npy.part"]
    server.always.clear()
    assert (fetch(server, 2, tmp_path) == TOKENS[60:90].reshape(ROWS, ROW_LENGTH)).all()
    with pytest.raises(LingprobError, match="from batch 3 on"):  # after 512 chunks of six rows
        fetch(server, 512, tmp_path)


CHUNK_1 = {
    "file": {"name": "chunk-001.npy"},
    "shards": {"path": "{shard}.bin", "bytes": SHARD_BYTES},
}


@pytest.fixture
def hub(server, monkeypatch):
    """The server of shards as the hub."""
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)
    return server


def test_a_chunk_with_failed_scan_is_fetched_once(hub, tmp_path):
    where = ("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing")
    with pytest.raises(ZeroDivisionError), passing_chunk(*where):
        raise ZeroDivisionError
    asked = len(hub.requests)
    with passing_chunk(*where) as path:
        assert (np.load(path) == TOKENS[30:60].reshape(ROWS, ROW_LENGTH)).all()
    assert len(hub.requests) == asked
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


@pytest.mark.parametrize("folder", ["kept", "mirror/pile"])
def test_a_user_s_chunk_is_read_and_kept(hub, tmp_path, monkeypatch, folder):
    there = tmp_path / folder / "chunk-001.npy"
    there.parent.mkdir(parents=True)
    np.save(there, np.ones((ROWS, ROW_LENGTH), np.uint16))
    monkeypatch.setenv("LINGPROB_MIRROR", str(tmp_path / "mirror"))
    with passing_chunk("pile", CHUNK_1, tmp_path / "kept", tmp_path / "passing") as path:
        assert (np.load(path) == 1).all()
        assert (path == there) == (folder == "kept")
    assert hub.requests == []
    assert there.is_file()
    absent = {"file": {"name": "b.txt"}, "instructions": "Ask its authors."}
    with pytest.raises(LingprobError, match="Ask its authors"):
        obtain_file("pile", absent, tmp_path)


def test_only_leakage_free_chunks_are_fetched_again():
    chunks = [{"file": {"name": f"chunk-00{number}.npy"}, "shards": {}} for number in range(3)]
    names = ["pile/chunk-000.npy", "pile/chunk-001.npy", "pile/chunk-002.npy", "web/chunk-001.npy"]
    free = [True, False, True, True]
    table = pd.DataFrame({"chunk": names, "leakage_free": free})
    assert leakage_free("pile", chunks, table) == [chunks[0], chunks[2]]
    assert leakage_free("web", chunks, table) == [chunks[1]]
