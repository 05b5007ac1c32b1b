"""Tables: refused content, and no half-written files."""

import subprocess
import sys
from itertools import pairwise

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


def test_missing_columns_are_named(tmp_path):
    with pytest.raises(LingprobError, match=r"missing columns \['logprob'\]"):
        write_table(a_table().drop(columns="logprob"), "unigrams", tmp_path / "x.parquet")


def test_an_unknown_table_lists_near_names():
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


def test_a_full_disk_is_one_message(tmp_path):
    """On a real file system of 64 KB."""
    script = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np, pandas as pd
from lingprob.errors import LingprobError
from lingprob.io.tables import write_table
n = 200_000
frame = pd.DataFrame({"token_id": range(n), "count": 1.0, "std_error": 1.0,
                      "logprob": np.random.default_rng(0).normal(size=n)})
disk = Path(sys.argv[1])
try:
    write_table(frame, "unigrams", disk / "unigrams.parquet")
except LingprobError as error:
    print(error)
print(list(disk.iterdir()))
"""
    said, left = on_small_disk(tmp_path, "size=64k", script).splitlines()
    assert "unigrams.parquet: no space left on the disk" in said
    assert left == "[]"


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("scores", "logprob", [0.1]),  # a double that float32 would round
        ("scores", "token_index", [1.5]),
        ("scores", "token_index", pd.Series([1.5], dtype=object)),  # Arrow alone makes it 1
        ("scores", "token_index", ["1"]),
        ("scores", "scored", [2]),
        ("scores", "item_id", [7]),
    ],
)
def test_values_that_the_type_would_change_are_refused(tmp_path, table, column, values):
    frame = one_score()
    write_table(frame, table, tmp_path / "whole.parquet")
    with pytest.raises(LingprobError, match=rf"column '{column}': not \w+: "):
        write_table(frame.assign(**{column: values}), table, tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()


def test_a_type_that_keeps_the_value_is_accepted(tmp_path):
    path = tmp_path / "x.parquet"
    given = one_score().assign(logprob=[-0.5], token_index=[1.0], item_id=pd.Categorical(["a"]))
    write_table(given, "scores", path)
    back = read_table(path, "scores")
    assert back[["token_index", "logprob"]].to_numpy().tolist() == [[1, -0.5]]
    assert back.dtypes[["token_index", "logprob"]].tolist() == [np.int32, np.float32]


def test_a_table_of_other_types_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    one_score().assign(logprob=[0.1]).to_parquet(path)
    with pytest.raises(LingprobError, match=r"would change as float.*delete it and run again"):
        read_table(path, "scores")


def one_score() -> pd.DataFrame:
    values = ["a", 0, 5, 0, 1, np.float32(-0.1), True]
    row = pd.DataFrame([values], columns=SCHEMAS["scores"].names)
    return row.astype({"logprob": "float32"})


FRAME = pd.DataFrame({"token_id": range(20_000), "count": 1.0, "std_error": 1.0, "logprob": -1.0})


def test_a_limit_of_file_size_is_one_message(tmp_path):
    """Under a limit on the size of files, as clusters set, by every writer."""
    script = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np, pandas as pd, torch
from safetensors.torch import save_file
from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path
from lingprob.io.tables import write_csv, write_table
values = np.random.default_rng(0).normal(size=20_000)
frame = pd.DataFrame({"token_id": range(20_000), "count": 1.0, "std_error": 1.0, "logprob": values})
writers = {
    "parquet": lambda path: write_table(frame, "unigrams", path),
    "csv": lambda path: write_csv(frame, path),
    "npz": lambda path: np.savez(path, x=values),
    "safetensors": lambda path: save_file({"x": torch.zeros(20_000)}, path),
}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for name, write in writers.items():
    try:
        if name in ("npz", "safetensors"):
            with atomic_path(Path(sys.argv[1], f"t.{name}")) as temporary:
                write(temporary)
        else:
            write(Path(sys.argv[1], f"t.{name}"))
    except LingprobError as error:
        print(error)
"""
    folder = tmp_path / "out"
    folder.mkdir()
    command = [sys.executable, "-c", script, str(folder), str(SCRIPTS)]
    done = subprocess.run(command, capture_output=True, text=True)
    said = done.stdout.splitlines()
    for name, line in zip(["parquet", "csv", "npz", "safetensors"], said, strict=True):
        assert f"t.{name}: a file may not be so large here. Raise the limit" in line, done.stderr
    assert not list(folder.iterdir())


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
    assert printed.count("a.txt: the disk is read-only. Run with --directory on one") == 2


def test_another_file_s_permissions_are_not_blamed(tmp_path):
    with pytest.raises(PermissionError), atomic_path(tmp_path / "out" / "t.txt"):
        raise PermissionError(13, "Permission denied", "/elsewhere/source.txt")


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "other"])
def test_a_damaged_table_is_named_with_the_remedy(tmp_path, damage):
    path = tmp_path / "t.parquet"
    write_table(
        FRAME.assign(logprob=np.random.default_rng(0).normal(size=20_000)), "unigrams", path
    )
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:500], "flipped": flipped}.get(damage, b""))
    if damage == "other":
        pd.DataFrame({name: ["x"] for name in FRAME.columns}).to_parquet(path)
    found = r" \(table unigrams\): .*other types" if damage == "other" else ": not a whole Parquet"
    with pytest.raises(LingprobError, match=rf"t\.parquet{found}.* [Dd]elete it and run again"):
        read_table(path, "unigrams")
    with pytest.raises(LingprobError, match=r"[Dd]elete it and run again"):
        list(iterate_table(path, "unigrams", "count"))
    if damage in ("cut", "emptied"):
        with pytest.raises(LingprobError, match=r"t\.parquet: not a whole Parquet file"):
            read_metadata(path)


def frame_of(runs: list[tuple[str, int]]) -> pd.DataFrame:
    """Mean overlaps of prefixes and pairs by measure, in runs."""
    names = [name for name, count in runs for _ in range(count)]
    return pd.DataFrame(
        {
            "measure": names, "prefix_id": [f"p{number}" for number in range(len(names))],
            "pair_id": names, "f1": [[number / 2, number + 1.0] for number in range(len(names))],
        }
    )  # fmt: skip


def test_pieces_cover_the_table_without_cutting_runs(tmp_path):
    whole = frame_of([("a", 3), ("b", 9), ("c", 1), ("d", 2), ("a", 4)])
    path = tmp_path / "pieces.parquet"
    with table_writer("context_prefix_overlap", path, {"seed": 1}) as write:
        for first in range(0, len(whole), 4):
            write(whole.iloc[first : first + 4])
    pd.testing.assert_frame_equal(read_table(path, "context_prefix_overlap"), whole)
    assert read_metadata(path)["seed"] == "1"
    for rows in (1, 2, 5, 100):
        pieces = list(iterate_table(path, "context_prefix_overlap", "measure", rows))
        pd.testing.assert_frame_equal(pd.concat(pieces, ignore_index=True), whole)
        assert all(a["measure"].iat[-1] != b["measure"].iat[0] for a, b in pairwise(pieces))
        assert len(pieces) == 1 if rows == 100 else len(pieces) > 1
    write_table(whole[:0], "context_prefix_overlap", path)
    assert not list(iterate_table(path, "context_prefix_overlap", "measure"))


def test_wanted_columns_and_rows_alone_are_read(tmp_path):
    path = tmp_path / "some.parquet"
    write_table(frame_of([("a", 2), ("b", 2)]), "context_prefix_overlap", path)
    read = read_table(
        path, "context_prefix_overlap", ["prefix_id"],
        {"measure": ["b", "c"], "prefix_id": ["p1", "p2"]},
    )  # fmt: skip
    assert read.to_dict("list") == {"prefix_id": ["p2"]}


def test_a_piece_that_is_refused_leaves_no_file(tmp_path):
    path = tmp_path / "half.parquet"

    def written() -> None:
        with table_writer("context_prefix_overlap", path) as write:
            write(frame_of([("a", 2)]))
            write(frame_of([("b", 2)]).assign(prefix_id=None))

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
