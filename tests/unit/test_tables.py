"""Tables: refused content, and no half-written files."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import (
    iterate_table,
    read_metadata,
    read_table,
    table_writer,
    with_texts,
    write_table,
)
from small_disk import SCRIPTS, on_small_disk


def a_table() -> pd.DataFrame:
    return pd.DataFrame(
        {"token_id": [0, 1], "count": [3.0, None], "std_error": [0.5, 0.1], "logprob": [-1.0, -2.0]}
    )


def test_round_trip_keeps_values_nulls_and_provenance(tmp_path):
    path = tmp_path / "unigrams.parquet"
    write_table(a_table(), "unigrams", path, {"model": "m", "scale": "demo"})
    back = read_table(path, "unigrams")
    assert back["logprob"].tolist() == [-1.0, -2.0]
    assert back["count"].isna().tolist() == [False, True]
    assert read_metadata(path)["scale"] == "demo"
    assert read_metadata(path)["table"] == "unigrams"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"logprob": [-1.0, np.nan]}, ["'logprob'", "row 1"]),
        ({"logprob": [-np.inf, -1.0]}, ["'logprob'", "row 0"]),
        ({"std_error": [0.1, np.inf]}, ["'std_error'", "row 1"]),
        ({"token_id": ["a", "b"]}, ["'token_id'", "int32"]),
        ({"extra": 1}, ["unknown columns ['extra']"]),
    ],
)
def test_a_bad_value_is_named_before_writing(tmp_path, change, named):
    path = tmp_path / "unigrams.parquet"
    with pytest.raises(LingprobError) as error:
        write_table(a_table().assign(**change), "unigrams", path)
    assert all(text in str(error.value) for text in [*named, str(path)])
    assert list(tmp_path.iterdir()) == []


def test_missing_columns_and_unknown_tables_are_named(tmp_path):
    with pytest.raises(LingprobError, match=r"missing columns \['logprob'\]"):
        write_table(a_table().drop(columns="logprob"), "unigrams", tmp_path / "x.parquet")
    with pytest.raises(LingprobError, match="'unigrams'"):
        read_table("x", "unigram")


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "note.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["note.txt"]


def test_attempts_delete_files_of_killed_ones_only(tmp_path):
    path = tmp_path / "scores.parquet"
    script = """
import os, signal, sys
from lingprob.io.files import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    other = tmp_path / ".scores-of-mine-abcdefgh.parquet"
    other.write_text("another file's")
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script, path], env={"PYTHONPATH": SCRIPTS})
        left = {*tmp_path.iterdir()} - {other}
        assert len(left) == 1
    with atomic_path(path) as living:
        assert living.exists()
        assert not {*tmp_path.iterdir()} & left
        with atomic_path(path) as beside:
            beside.write_text("whole")
        assert living.exists()
    assert {*tmp_path.iterdir()} == {other, path}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("logprob", [0.1]),  # a double that float32 would round
        ("token_index", [1.5]),
        ("token_index", pd.Series([1.5], dtype=object)),  # Arrow alone makes it 1
        ("token_index", ["1"]),
        ("scored", [2]),
        ("item_id", [7]),
    ],
)
def test_values_that_the_type_would_change_are_refused(tmp_path, column, values):
    write_table(one_score(), "scores", tmp_path / "whole.parquet")
    with pytest.raises(LingprobError, match=rf"column '{column}': not \w+: "):
        write_table(one_score().assign(**{column: values}), "scores", tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_a_type_that_keeps_the_value_is_accepted(tmp_path):
    path = tmp_path / "x.parquet"
    given = one_score().assign(logprob=[-0.5], token_index=[1.0], item_id=pd.Categorical(["a"]))
    write_table(given, "scores", path)
    back = read_table(path, "scores")
    assert back[["token_index", "logprob"]].to_numpy().tolist() == [[1, -0.5]]
    assert back.dtypes[["token_index", "logprob"]].tolist() == [np.int32, np.float32]


def one_score() -> pd.DataFrame:
    values = ["a", 0, 5, 0, 1, np.float32(-0.1), True]
    row = pd.DataFrame([values], columns=SCHEMAS["scores"].names)
    return row.astype({"logprob": "float32"})


WRITERS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np, pandas as pd, torch
from safetensors.torch import save_file
from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.io.tables import write_csv, write_table
folder = Path(sys.argv[1])
values = np.random.default_rng(0).normal(size=20_000)
frame = pd.DataFrame({"token_id": range(20_000), "count": 1.0, "std_error": 1.0, "logprob": values})
writers = {
    "parquet": lambda path: write_table(frame, "unigrams", path),
    "csv": lambda path: write_csv(frame, path),
    "npz": lambda path: np.savez(path, x=values),
    "safetensors": lambda path: save_file({"x": torch.zeros(20_000)}, path),
}
for name, write in writers.items():
    try:
        if name in ("npz", "safetensors"):
            with atomic_path(folder / f"t.{name}") as temporary:
                write(temporary)
        else:
            write(folder / f"t.{name}")
    except LingprobError as error:
        print(error)
assert not list(folder.iterdir())
"""
LIMIT = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
"""


@pytest.mark.parametrize("limited", [True, False])
def test_too_large_files_are_one_message(tmp_path, limited):
    """By every writer: under a limit on the size of files, as clusters set, or on a full disk."""
    script = (LIMIT if limited else "") + WRITERS
    lines = on_small_disk(tmp_path, "size=1m" if limited else "size=64k", script).splitlines()
    said = "a file may not be so large here" if limited else "no space left on the disk"
    for name, line in zip(["parquet", "csv", "npz", "safetensors"], lines, strict=True):
        assert f"t.{name}: {said}" in line


def test_a_read_only_disk_is_one_message(tmp_path):
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from lingprob.errors import LingprobError
from lingprob.io.files import write_text
for path in (Path(sys.argv[1]) / "a.txt", Path(sys.argv[1]) / "new/folder/a.txt"):
    try:
        write_text("a", path)
    except LingprobError as error:
        print(error)
"""
    printed = on_small_disk(tmp_path, "size=64k,ro", script)
    assert printed.count("a.txt: the disk is read-only. Make it writable") == 2


def test_another_file_s_permissions_are_not_blamed(tmp_path):
    with pytest.raises(PermissionError), atomic_path(tmp_path / "out" / "t.txt"):
        raise PermissionError(13, "Permission denied", "/elsewhere/source.txt")


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "other"])
def test_a_damaged_table_is_named_with_the_remedy(tmp_path, damage):
    path, values = tmp_path / "t.parquet", np.random.default_rng(0).normal(size=20_000)
    frame = pd.DataFrame({"token_id": range(20_000), "count": 1.0, "std_error": 1.0})
    write_table(frame.assign(logprob=values), "unigrams", path)
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:500], "flipped": flipped}.get(damage, b""))
    if damage == "other":
        pd.DataFrame({name: ["x"] for name in SCHEMAS["unigrams"].names}).to_parquet(path)
    found = r" \(table unigrams\): .*other types" if damage == "other" else ": not a whole Parquet"
    with pytest.raises(LingprobError, match=rf"t\.parquet{found}.* [Dd]elete it and run again"):
        read_table(path, "unigrams")
    with pytest.raises(LingprobError, match=r"[Dd]elete it and run again"):
        list(iterate_table(path, "unigrams", 250_000))
    if damage in ("cut", "emptied"):
        with pytest.raises(LingprobError, match=r"t\.parquet: not a whole Parquet file"):
            read_metadata(path)


def frame_of(measures: str) -> pd.DataFrame:
    """Mean overlaps of prefixes and pairs, one row per letter of `measures`."""
    rows = [(name, f"p{n}", name, [n / 2, n + 1.0]) for n, name in enumerate(measures)]
    return pd.DataFrame(rows, columns=["measure", "prefix_id", "pair_id", "f1"])


def test_pieces_cover_the_table(tmp_path):
    whole = frame_of("aaabbbbbbbbbcddaaaa")
    path = tmp_path / "pieces.parquet"
    with table_writer("context_prefix_overlap", path, {"seed": 1}) as write:
        for first in range(0, len(whole), 4):
            write(whole.iloc[first : first + 4])
    pd.testing.assert_frame_equal(read_table(path, "context_prefix_overlap"), whole)
    assert read_metadata(path)["seed"] == "1"
    for rows in (1, 3, 100):
        pieces = list(iterate_table(path, "context_prefix_overlap", rows))
        pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), whole)
        assert max(map(len, pieces)) <= rows
    write_table(whole[:0], "context_prefix_overlap", path)
    assert not list(iterate_table(path, "context_prefix_overlap", 3))


def test_wanted_columns_and_rows_alone_are_read(tmp_path):
    path = tmp_path / "some.parquet"
    write_table(frame_of("aabb"), "context_prefix_overlap", path)
    read = read_table(
        path, "context_prefix_overlap", ["prefix_id"],
        {"measure": ["b", "c"], "prefix_id": ["p1", "p2"]},
    )  # fmt: skip
    assert read.to_dict("list") == {"prefix_id": ["p2"]}


def test_a_piece_that_is_refused_leaves_no_file(tmp_path):
    path = tmp_path / "half.parquet"

    def written() -> None:
        with table_writer("context_prefix_overlap", path) as write:
            write(frame_of("aa"))
            write(frame_of("bb").assign(prefix_id=None))

    with pytest.raises(LingprobError, match=r"half\.parquet.*prefix_id"):
        written()
    assert list(tmp_path.iterdir()) == []


def test_sentences_are_next_to_their_log_probabilities():
    texts = pd.DataFrame({"item_id": ["a", "b"], "text": ["It rains.", "Rains, it\ndoes."]})
    scores = pd.DataFrame(
        [("m", "d", "b", "bos", "u", -3.25, -4.0, 3, 3),
         ("m", "d", "a", "bos", "u", -1.5, None, 2, 2),
         ("m", "d", "a", "none", "u", -1.0, None, 1, 2),
         ("m", "d", "c", "bos", "u", -9.0, None, 1, 1)],
        columns=SCHEMAS["sentence_scores"].names,
    )  # fmt: skip
    found = with_texts(scores, "sentence_scores", texts)
    told = found["text"].fillna("none").tolist()
    assert told == ["Rains, it\ndoes.", "It rains.", "It rains.", "none"]
    assert found.columns[:2].tolist() == ["item_id", "text"]
    pd.testing.assert_frame_equal(found[scores.columns], scores, check_dtype=False)
