"""Rows of data sets on the hub: local files of the same builders, and a stand-in hub."""

import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkout import ROOT
from lingprob.errors import LingprobError
from lingprob.io import download, hub_rows
from lingprob.io.corpora import iter_documents
from lingprob.io.hub_rows import fetch_rows, identity_of_rows, keep_rows
from lingprob.stimuli.build import build_stimuli
from lingprob.workflow.configuration import read_settings
from loopback import Fault, HubServer, Repository

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CORPUS = {
    "title": "Web", "kind": "corpus", "source": "hub", "repository": "lab/web",
    "configuration": "sample-10BT", "revision": "v1", "split": "train", "column": "content",
}  # fmt: skip
STIMULI = {
    "title": "Rated", "kind": "stimuli", "source": "hub", "repository": "lab/rated",
    "revision": COMMIT, "split": "test", "columns": {"sentence": "text", "rating": "mean"},
}  # fmt: skip
TEXTS = [f"document {number}" for number in range(90)]


def parquet(texts: list[str]) -> bytes:
    """A Parquet file of several row groups, so that parts end inside files and groups."""
    file = io.BytesIO()
    table = pa.table({"content": texts, "url": ["http://x"] * len(texts)})
    pq.write_table(table, file, row_group_size=8)
    return file.getvalue()


def local_stream(folder: Path, builder: str = "parquet", suffix: str = "parquet"):
    """Return the stream of local files by the builder that files on the hub get."""
    import datasets

    return datasets.load_dataset(
        builder, data_files=f"{folder}/*.{suffix}", split="train", streaming=True
    )


@pytest.fixture
def web(tmp_path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.parquet").write_bytes(parquet(TEXTS[30 * number :][:30]))
    return folder


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(hub_rows, "ROWS_PER_PART", 7)


def entry_of(given: dict, **changes) -> dict:
    """An entry as the catalog completes it."""
    _, catalog = read_settings({"datasets": {"mine": {**given, **changes}}})
    return catalog.dataset("mine")


def keep(stream, target: Path, code: str = "c", entry: dict = CORPUS, **changes) -> None:
    """Write the rows of a stream that an entry asks for."""
    keep_rows(lambda: stream, "mine", entry_of(entry, **changes), target, code=code)


@pytest.mark.parametrize(("rows", "kept"), [(None, 90), (1, 1), (7, 7), (40, 40), (90, 90)])
def test_a_corpus_has_the_first_rows_in_order(web, tmp_path, rows, kept):
    limit = {} if rows is None else {"rows": rows}
    keep(local_stream(web), tmp_path / "rows.parquet", **limit)
    assert list(iter_documents("parquet", [tmp_path / "rows.parquet"])) == TEXTS[:kept]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["web"]


class Stopped(Exception):
    """The error with which a test interrupts a stream."""


class Stopping:
    """A stream that fails after a number of batches, and notes its first row."""

    def __init__(self, stream, batches: int, began: list[int]) -> None:
        self.stream, self.batches, self.began = stream, batches, began

    def __getattr__(self, name: str):
        return getattr(self.stream, name)

    def with_format(self, kind: str) -> "Stopping":
        return Stopping(self.stream.with_format(kind), self.batches, self.began)

    def iter(self, size: int):
        for number, table in enumerate(self.stream.iter(size)):
            if number == 0:
                self.began.append(TEXTS.index(table.column("content")[0].as_py()))
            if number == self.batches:
                raise Stopped
            yield table


@pytest.mark.parametrize("batches", [1, 2, 3, 5])
def test_repeatedly_broken_streams_give_each_row_once(web, tmp_path, batches):
    target, began = tmp_path / "rows.parquet", []
    while not target.exists():
        with suppress(Stopped):
            keep(Stopping(local_stream(web), batches, began), target, rows=80)
    assert list(iter_documents("parquet", [target])) == TEXTS[:80]
    assert began == list(range(0, 80, 7 * batches))  # and none was read twice


@pytest.mark.parametrize("key", ["code", "repository", "revision", "split", "configuration"])
def test_kept_rows_are_of_one_entry_and_code(web, tmp_path, key):
    began: list[int] = []
    for given in ({"rows": 20}, {"rows": 80}, {"rows": 80, key: "lab/other"}):
        with pytest.raises(Stopped):
            keep(Stopping(local_stream(web), 2, began), tmp_path / "rows.parquet", **given)
    assert began == [0, 14, 0]
    assert len(list(tmp_path.glob("parts-*"))) == 1


def test_rows_are_known_by_their_entry():
    """Of all keys but those that only describe the data set."""
    others = [
        identity_of_rows({**CORPUS, key: "other"})
        for key in ("repository", "revision", "configuration", "split", "kind", "column", "columns",
                    "rows")
    ]  # fmt: skip
    own = identity_of_rows({**CORPUS, "title": "Other", "licence": "CC0"})
    assert own == identity_of_rows(CORPUS)
    assert len({own, *others}) == 9


def test_a_damaged_part_is_read_again_with_followers(web, tmp_path):
    target, began = tmp_path / "rows.parquet", []
    with pytest.raises(Stopped):
        keep(Stopping(local_stream(web), 4, began), target)
    part = next(tmp_path.glob("parts-*")) / "000002.parquet"
    part.write_bytes(part.read_bytes()[:-40])
    keep(Stopping(local_stream(web), 99, began), target)
    assert began == [0, 14]
    assert list(iter_documents("parquet", [target])) == TEXTS


def test_a_hub_table_of_ratings_becomes_stimuli(tmp_path):
    """Types that only later rows show, as in JSON, and columns that are not used."""
    folder = tmp_path / "json"
    folder.mkdir()
    rows = [
        {"text": f"Sentence {n}.", "mean": n / 4, "pair": f"p{n // 2}", "label": {"deep": n}}
        for n in range(20)
    ]
    for row in rows[:8]:
        row["pair"] = None
    (folder / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    target, entry = tmp_path / "rows.parquet", entry_of(STIMULI, rows=18)
    keep(local_stream(folder, "json", "jsonl"), target, entry=STIMULI, rows=18)
    assert set(pq.read_schema(target).names) == {"text", "mean", "pair"}
    stimuli, _ = build_stimuli("mine", {**entry, "ratings": "every"}, tmp_path, 0)
    assert stimuli["text"].tolist() == [row["text"] for row in rows[:18]]
    assert stimuli["rating"].tolist() == [row["mean"] for row in rows[:18]]
    assert stimuli["pair_id"].isna().sum() == 8
    assert stimuli["pair_id"].iloc[-1] == "p8"


@pytest.mark.parametrize(
    ("row", "columns"),
    [
        ({name: "x" for name in ("sentence", "rating", "participant", "condition", "item")}, {}),
        ({name: "x" for name in ("ok", "bad", "pair", "phenomenon", "paradigm")}, {"good": "ok"}),
    ],
)
def test_a_hub_table_may_have_judgments_or_pairs(row, columns, tmp_path):
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 3)
    entry = {**STIMULI, "columns": columns}
    keep(local_stream(tmp_path, "json", "jsonl"), tmp_path / "rows.parquet", entry=entry)
    assert set(pq.read_schema(tmp_path / "rows.parquet").names) == {*row}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**CORPUS, "column": "contents"}, r"no columns \['contents'\].*mine\.column"),
        ({**CORPUS, "column": "url", "rows": 91}, r"has 90 rows, 91 are wanted.*mine\.rows"),
        ({**STIMULI, "columns": {"sentence": "url", "rating": "score"}},
         r"no columns \['score'\]\. It has \['content', 'url'\].*mine\.columns"),
        (STIMULI, r"no columns \['text', 'mean'\].*mine\.columns"),
    ],
)  # fmt: skip
def test_missing_columns_are_named_with_the_key(web, tmp_path, entry, said):
    with pytest.raises(LingprobError, match=said):
        keep(local_stream(web), tmp_path / "rows.parquet", entry=entry)
    assert not (tmp_path / "rows.parquet").exists()


def test_a_column_of_numbers_is_no_text(tmp_path):
    pq.write_table(pa.table({"content": [1, 2]}), tmp_path / "0.parquet")
    with pytest.raises(LingprobError, match=r"'content' is of type int64, not text"):
        keep(local_stream(tmp_path), tmp_path / "rows.parquet")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parser": "lines"}, r"datasets\.mine\.parser"),
        ({"path": "x.txt"}, r"datasets\.mine\.path"),
        ({"kind": "tokenizer"}, r"datasets\.mine\.kind"),
        ({"source": "hubb"}, r"datasets\.mine\.source: 'hubb'"),
        ({"repository": "web"}, r"datasets\.mine\.repository"),
        ({"rows": 0}, r"datasets\.mine\.rows"),
        ({"source": None}, r"datasets\.mine\.source"),
    ],
)
def test_impossible_entries_are_refused_at_once(changes, said):
    with pytest.raises(LingprobError, match=said):
        entry_of(CORPUS, **changes)
    for needed in ("repository", "revision", "split"):
        with pytest.raises(LingprobError, match=needed):
            read_settings({"datasets": {"mine": {k: v for k, v in CORPUS.items() if k != needed}}})


@pytest.fixture
def hub(monkeypatch):
    """A stand-in hub with the corpus in two configurations."""
    card = "configs:\n" + "".join(
        f"- config_name: {name}\n  data_files:\n  - split: train\n    path: {folder}/*\n"
        for name, folder in (("default", "data"), ("sample-10BT", "sample/10BT"))
    )
    files = {
        "README.md": f"---\n{card}---\n# Web\n".encode(),
        "data/000.parquet": parquet(["of another configuration"]),
        **{f"sample/10BT/{n:03d}.parquet": parquet(TEXTS[30 * n :][:30]) for n in range(3)},
    }
    repository = Repository(COMMIT, files, tags={"main", "v1", "403", "503"})
    monkeypatch.setattr(download, "RETRY_SECONDS", ())
    with HubServer({"lab/web": repository}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def test_hidden_repositories_and_no_network_are_reported_once(hub, tmp_path):
    target = tmp_path / "rows.parquet"
    hub.always |= {f"api/datasets/lab/web/revision/{n}": Fault(status=n) for n in (403, 503)}
    unreachable = r"could not be fetched(.|\n)*HTTP 503(.|\n)*HF_ENDPOINT(.|\n)*config.yaml `path:`"
    for changes, said in (
        ({"revision": "403"}, rf"needs an accepted licence.* {hub.url}/datasets/lab/web, "),
        ({"revision": "503"}, unreachable),
        ({"revision": "v2"}, r"'lab/web' at .* has no revision 'v2'.*`revision` of the data set's"),
        ({"repository": "lab/wed"}, r"data set repository 'lab/wed': .*`repository` of the data"),
    ):
        with pytest.raises(LingprobError, match=said):
            fetch_rows("mine", entry_of(CORPUS, **changes), target, code="c")
    os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"  # an address without a server
    with pytest.raises(LingprobError, match=r"could not be fetched from http://127\.0\.0\.1:9"):
        fetch_rows("mine", entry_of(CORPUS), target, code="c")
    assert not list(tmp_path.iterdir())


FETCH = """
    import os, signal, sys
    from pathlib import Path
    from lingprob.io import download, hub_rows
    from lingprob.errors import LingprobError
    from lingprob.io.hub_rows import fetch_rows

    hub_rows.ROWS_PER_PART, download.RETRY_SECONDS = 7, ()
    target, killed_after, *asked = sys.argv[1:]
    write = hub_rows.write_shard

    def write_and_die(path, table):
        write(path, table)
        print(path.stem, flush=True)
        if path.stem == killed_after:
            os.kill(os.getpid(), signal.SIGKILL)

    hub_rows.write_shard = write_and_die
    entry = {"kind": "corpus", "repository": "lab/web", "revision": "v1", "column": "content"}
    for configuration, split in zip(asked[::2], asked[1::2]):
        entry |= {"split": split, "configuration": configuration, "rows": 80}
        try:
            print(fetch_rows("web", entry, Path(target), code="c"))
        except LingprobError as error:
            print("LingprobError:", error)
"""


def fetch(hub, target: Path, *asked: str, killed_after: str = "none"):
    """Fetch in a process of its own: the hub's client reads its address when it is imported."""
    folder = target.parent.parent
    environment = {
        **os.environ, "HF_ENDPOINT": hub.url, "HF_HOME": str(folder / "home"),
        "PYTHONPATH": str(ROOT / "workflow_scripts"),
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FETCH), target, killed_after, *asked],
        env=environment, capture_output=True, text=True, timeout=120, cwd=folder,
    )  # fmt: skip


def test_a_killed_hub_stream_continues(hub, tmp_path):
    """Errors of the library about a configuration or split also become one message."""
    target = tmp_path / "data" / "rows.parquet"
    decoy = tmp_path / "lab" / "web"  # the library would look here first for that name
    decoy.mkdir(parents=True)
    (decoy / "0.parquet").write_bytes(parquet(["a folder here"] * 99))
    killed = fetch(hub, target, "sample-10BT", "train", killed_after="000009")
    assert killed.returncode == -signal.SIGKILL, killed.stderr[-2000:]
    assert not target.exists()
    done = fetch(hub, target, *("sample-10BT", "train", "sample-10B", "train"), "default", "valid")
    lines = done.stdout.split("\n")
    # 70 of 80 rows were there.
    assert lines[:3] == ["000010", "000011", f"hub: lab/web@{COMMIT}"], done.stderr[-2000:]
    assert list(iter_documents("parquet", [target])) == TEXTS[:80]
    assert [path.name for path in target.parent.iterdir()] == ["rows.parquet"]
    read = [request.path for request in hub.requests if "/resolve/" in request.path]
    assert all(f"/resolve/{COMMIT}/" in path for path in read)  # a tag may move on meanwhile
    for line, known in zip(lines[3:5], ("'sample-10BT'", "'train'"), strict=True):
        assert line.startswith("LingprobError: data set 'web' (split ")
        assert known in line
        assert line.endswith("Check `configuration` and `split` of datasets.web.")
