"""Random configurations, tables and corpora: a table or one error, no half-written file."""

import json
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.io.tables import read_table, write_table
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.texts import build_words
from lingprob.reading.times import build_reading_times
from lingprob.scoring.imported import import_sentence_scores, import_token_scores
from lingprob.stimuli.build import build_stimuli
from lingprob.workflow.configuration import read_settings, refuse_duplicate_keys
from lingprob.workflow.settings import keys

STIMULI = pd.DataFrame({"item_id": ["a", "1"], "text": ["A b.", "x"]})
WORDS = pd.DataFrame(
    [(passage, index, word, index // 2)
     for passage in ("1", "2") for index, word in enumerate(["A", "b.", "C", "d.", "E", "f."])],
    columns=["passage_id", "word_index", "word", "sentence_index"],
)  # fmt: skip
TIMES = {"kind": "reading_times", "parser": "reading_times_table", "method": "self_paced",
         "unit": "subject"}  # fmt: skip


def stimuli(path: Path) -> pd.DataFrame:
    entry = {"kind": "stimuli", "parser": "table", "path": str(path), "ratings": "every"}
    return build_stimuli("mine", entry, path.parent, 0)[0]


# The readers of files, and the columns that they look for.
READERS: dict[str, tuple[Callable[[Path], pd.DataFrame], list[str]]] = {
    "stimuli": (stimuli, ["sentence", "rating", "item", "pair", "grammatical"]),
    "sentence_scores": (
        lambda path: import_sentence_scores(path, STIMULI),
        ["item_id", "sentence", "logprob", "n_tokens", "unigram_logprob"],
    ),
    "scores": (
        lambda path: import_token_scores(path, STIMULI),
        ["item_id", "sentence", "token_index", "token_id", "logprob", "char_start"],
    ),
    "surprisal": (
        lambda path: import_word_surprisals(path, WORDS, "nats", "mine"),
        ["passage_id", "word_index", "surprisal", "word", "text"],
    ),
    "reading_times": (
        lambda path: build_reading_times("mine", TIMES, WORDS, [path]),
        ["subject_id", "passage_id", "word_index", "rt_ms", "word"],
    ),
}
# A correct file for each reader, which the drawn files change in one or two fields.
RIGHT = {
    "sentence": ["A b.", "x"], "rating": ["1", "2.5"], "item": ["a", "1"], "pair": ["p", "p"],
    "grammatical": ["true", "no"], "item_id": ["a", "1"], "logprob": ["-1.5", "0"],
    "n_tokens": ["2", "1"], "unigram_logprob": ["-3", "-4"], "token_index": ["0", "0"],
    "token_id": ["5", "6"], "char_start": ["0", "0"], "passage_id": ["1", "2"],
    "word_index": ["1", "2"], "surprisal": ["2", "3.5"], "word": ["b.", "C"],
    "text": ["mine", "mine"], "subject_id": ["s", "t"], "rt_ms": ["300", "400"],
}  # fmt: skip
EXAMPLES = [
    pytest.param(1, id="short"),
    pytest.param(10, id="2000", marks=pytest.mark.slow),  # of all tests here together
]

ODD = ["", " ", "NA", "nan", "inf", "-inf", "1e400", "-1", "0", "1", "2", "1.5", "3000000000", "a",
       "A b.", "true", "no", '"', '""', "\x00", "é", "\u2028", "ﬀ", "😀", "1,5", "a;b", "\t",
       "mine", "A", "b.", "C", "300", "-4.5", "0x10", "=1+1", "'", "\\", "\r"]  # fmt: skip
fields = st.one_of(st.sampled_from(ODD), st.text(max_size=4), st.floats().map(str))


def run(examples: int, strategy: st.SearchStrategy, test: Callable[..., None]) -> None:
    """Try a test on as many examples of a strategy."""
    settings(
        max_examples=examples, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(test))()  # fmt: skip


def read_and_write(read: Callable[[], pd.DataFrame], schema: str, folder: Path) -> None:
    """Read a table and write it: all of it, or a LingprobError that says something and no file."""
    out, said = folder / "out" / "table.parquet", ""
    try:
        write_table(read(), schema, out)
        read_table(out, schema)
    except LingprobError as error:
        said = str(error)
        assert len(said) > 10
    assert [*out.parent.glob("*")] == ([] if said else [out])


@st.composite
def text_files(draw: st.DrawFn, columns: list[str]) -> tuple[str, bytes]:
    """The name and bytes of a table as CSV or TSV, with whatever may be wrong with one."""
    separator = draw(st.sampled_from([",", ",", ",", "\t", ";"]))
    names = draw(st.one_of(st.just(columns), st.lists(st.sampled_from([*columns, "other", ""]))))
    width = len(names)
    row = st.one_of(st.lists(fields, min_size=width, max_size=width), st.lists(fields, max_size=6))
    rows = [names, *draw(st.lists(row, max_size=6))]
    if draw(st.booleans()):
        kept = draw(st.lists(st.sampled_from(columns), unique=True)) if draw(st.booleans()) else []
        columns = [name for name in columns if name not in kept]
        rows = [list(columns), *map(list, zip(*(RIGHT[name] for name in columns), strict=True))]
        if columns and draw(st.booleans()):
            rows[draw(st.integers(0, 2))][draw(st.integers(0, len(columns) - 1))] = draw(fields)
    quoted = draw(st.booleans())
    lines = [
        separator.join('"' + field.replace('"', '""') + '"' if quoted else field for field in row)
        for row in rows
    ]
    content = draw(st.sampled_from(["\n", "\r\n", "\r"])).join(lines)
    encoding = draw(st.sampled_from(["utf-8"] * 4 + ["utf-8-sig", "utf-16", "latin-1"]))
    name = draw(st.sampled_from(["t.csv", "t.csv", "t.csv", "t.tsv", "t.txt", "t{1}.csv"]))
    whole = content.encode(encoding, errors="replace")
    return name, whole + draw(st.sampled_from([b""] * 4 + [b"\n", b"\xed\xa0\x80", b"\x00", b'"']))


@st.composite
def parquet_files(draw: st.DrawFn, columns: list[str]) -> tuple[str, bytes]:
    """The name and bytes of a Parquet file of columns of any type, now and then damaged."""
    count = draw(st.integers(0, 4))
    integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 3)
    kinds: list[tuple[pa.DataType, st.SearchStrategy]] = [
        (pa.string(), fields),
        (pa.float64(), st.floats() | st.sampled_from([0.0, -1.5, 1.0, 300.0])),
        (pa.int64(), integers),
        (pa.bool_(), st.booleans()),
        (pa.list_(pa.int8()), st.lists(st.integers(0, 9), max_size=2)),
        (pa.binary(), st.binary(max_size=3)),
        (pa.timestamp("s"), st.integers(-(2**33), 2**33)),
        (pa.null(), st.none()),
        (pa.decimal128(5, 2), st.decimals(-99, 99, places=2)),
        (pa.dictionary(pa.int8(), pa.string()), fields),
        (pa.date32(), st.integers(-(10**6), 10**6)),
    ]
    names = draw(st.one_of(st.just(columns), st.lists(st.sampled_from([*columns, "other", ""]))))
    arrays = []
    for _ in names:
        kind, values = draw(st.sampled_from(kinds))
        some = draw(st.lists(values | st.none(), min_size=count, max_size=count))
        arrays.append(pa.array([None if v is None else v for v in some], type=kind))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(arrays, names=names), sink)
    content = bytearray(sink.getvalue().to_pybytes())
    if draw(st.integers(0, 4)) == 0:
        place = draw(st.integers(0, len(content) - 1))
        content[place : place + draw(st.integers(0, 50))] = draw(st.binary(max_size=50))
    return "t.parquet", bytes(content)


@st.composite
def json_line_files(draw: st.DrawFn, columns: list[str]) -> tuple[str, bytes]:
    """The name and bytes of a file of JSON lines, some of which are none."""
    values = fields | st.floats() | st.integers() | st.booleans() | st.none() | st.lists(fields)
    row = st.dictionaries(st.sampled_from([*columns, "other", ""]), values)
    lines = draw(st.lists(row.map(json.dumps) | fields | values.map(json.dumps), max_size=6))
    content = "\n".join(lines).encode("utf-8", errors="replace")
    return "t.jsonl", content + draw(st.sampled_from([b""] * 4 + [b"\xed\xa0\x80", b"\x00"]))


@st.composite
def workbook_files(draw: st.DrawFn, columns: list[str]) -> tuple[str, bytes]:
    """The name and bytes of a workbook with cells of any type, now and then damaged."""
    texts = fields.filter(lambda text: not ILLEGAL_CHARACTERS_RE.search(text))
    cells = texts | st.floats() | st.integers() | st.booleans() | st.none() | st.datetimes()
    book = Workbook()
    for sheet in [book.active, *(book.create_sheet() for _ in range(draw(st.integers(0, 1))))]:
        rows = draw(st.lists(st.lists(cells, max_size=6), max_size=4))
        for row in [columns, *rows] if draw(st.integers(0, 3)) else rows:
            sheet.append(list(row))
    stream = BytesIO()
    book.save(stream)
    content = bytearray(stream.getvalue())
    if draw(st.integers(0, 4)) == 0:
        # A workbook contains the time at which it was written, so its length varies.
        place = draw(st.integers(0, 10**6)) % len(content)
        content[place : place + draw(st.integers(0, 50))] = draw(st.binary(max_size=50))
    return "t.xlsx", bytes(content)


@pytest.mark.parametrize("times", EXAMPLES)
@pytest.mark.parametrize("kind", [text_files, parquet_files, json_line_files, workbook_files])
@pytest.mark.parametrize("reader", READERS)
def test_own_tables_are_read_or_refused(reader, kind, times):
    read, columns = READERS[reader]

    def attempt(file: tuple[str, bytes]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, file[0])
            path.write_bytes(file[1])
            read_and_write(lambda: read(path), reader, Path(folder))

    run(12 * times, kind(columns), attempt)


@pytest.mark.parametrize("times", EXAMPLES)
def test_surprisals_as_json_are_read_or_refused(times):
    numbers = st.floats() | st.none() | st.integers() | st.sampled_from([1.0, 2.5, "x", True])
    passage = st.lists(numbers, max_size=7) | st.lists(st.lists(numbers, max_size=4), max_size=3)
    passages = st.dictionaries(st.sampled_from(["1", "2", "x"]), passage) | passage | numbers

    def attempt(content: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "s.json")
            path.write_text(json.dumps(content))
            read_and_write(lambda: import_word_surprisals(path, WORDS), "surprisal", Path(folder))

    run(20 * times, passages, attempt)


@st.composite
def corpus_files(draw: st.DrawFn) -> tuple[str, str, bytes]:
    """A parser, and the name and bytes of a file for it."""
    parsers = ["text", "lines", "gutenberg", "nltk_zip", "brown_zip", "parquet"]
    lines = draw(st.lists(fields | st.just('{"text": "A b."}') | st.just('{"text": "\\ud800"}')))
    content = "\n".join(lines).encode("utf-8", errors="replace") + draw(st.binary(max_size=3))
    suffix = draw(st.sampled_from([".txt", ".jsonl", ".txt.gz", ".zip", ".parquet", ".zst"]))
    return draw(st.sampled_from(parsers)), f"c{suffix}", content


@pytest.mark.parametrize("times", EXAMPLES)
def test_corpora_and_texts_are_read_or_refused(times):
    def attempt(file: tuple[str, str, bytes]) -> None:
        parser, name, content = file
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            try:
                documents, said = list(iter_documents(parser, [path])), name
            except LingprobError as error:
                documents, said = ["refused"], str(error)
            assert name in said
            assert documents
            assert all(document.strip() for document in documents)
            read_and_write(
                lambda: build_words("mine", {"parser": "passages"}, [path]), "words", Path(folder)
            )

    run(20 * times, corpus_files(), attempt)


names = st.sampled_from(
    ["gutenberg", "provo", "blimp", "smollm2-135m", "geco_total", "gpt2", "mine", "", "*", "a{b}",
     "own", "paper", "demo", "trained-small", "laptop", "demo_passages"]
)  # fmt: skip
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(), names, st.text(max_size=3),
    st.sampled_from(["[", "2020-01-01", "1", "-3", "{", "&a", "0.5"]),
)  # fmt: skip
models = st.fixed_dictionaries(
    {"title": names, "family": names, "source": st.sampled_from(["scores", "local", "trained"])},
    optional={"path": names, "level": st.sampled_from(["word", "token"]), "texts": st.lists(names),
              "paths": st.dictionaries(names, names), "unigrams": st.lists(names),
              "bos_policies": st.lists(names), "parameters": st.integers(0, 2)},
)  # fmt: skip
datasets = st.fixed_dictionaries(
    {"title": names, "kind": st.sampled_from(["stimuli", "corpus", "reading_times"]),
     "parser": st.sampled_from(["table", "lines", "reading_times_table", "passages"])},
    optional={"path": names, "texts": names, "files_of": names},
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(names | st.integers(0, 1), inner, max_size=3)
    ),
    max_leaves=4,
)
PATHS = {tuple(key.path.split(".")) for key in keys()}
PLACES = sorted(PATHS | {path[:end] for path in PATHS for end in range(1, len(path))})
CHANGES = st.tuples(st.sampled_from(PLACES), values | st.lists(names))
OWN = st.tuples(
    st.just(("models",)), st.dictionaries(names, models, max_size=2)
) | st.tuples(st.just(("datasets",)), st.dictionaries(names, datasets, max_size=2))  # fmt: skip


@pytest.mark.parametrize("times", EXAMPLES)
def test_configurations_are_settled_or_refused(times):
    def attempt(changes: list[tuple[tuple[str, ...], Any]]) -> None:
        config: Any = {}
        for path, value in changes:
            section = config
            for key in path[:-1]:
                section = section.setdefault(key, {}) if isinstance(section, dict) else {}
            if isinstance(section, dict):
                section[path[-1]] = value
        scale, said = "demo", "nothing was said"
        try:
            settled, catalog = read_settings(config)
            scale = settled["scale"]
            for name, entry in catalog.datasets.items():
                dataset_paths(name, entry)
        except LingprobError as error:
            said = str(error)
        assert scale in ("demo", "laptop", "paper")
        assert len(said) > 10

    run(40 * times, st.lists(CHANGES | OWN, min_size=1, max_size=3), attempt)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (["morcela"], "it is a list, but"),
        (None, "it is a NoneType, but"),
        ({"models": {1: {}}}, "the key 1 at models is not text"),
        ({"datasets": {"mine": {"title": "\ud800"}}}, "title has half of a character"),
        ({"seed": "["}, r"seed: '\[' is not a valid integer"),
    ],
)
def test_a_configuration_of_another_form_is_one_message(config, said):
    with pytest.raises(LingprobError, match=said):
        read_settings(config)


def test_a_configuration_that_holds_itself_is_refused(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("models: &here\n  mine: *here\n")
    refuse_duplicate_keys([path])
    models: dict[str, Any] = {}
    models["mine"] = models
    with pytest.raises(LingprobError, match="nested more than 20 deep"):
        read_settings({"models": models})
