"""Text corpora as streams of documents, from files of several formats."""

import io
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.demo import CONTROL_SENTENCES, MINIMAL_PAIRS
from lingprob.errors import LingprobError, no_such_file, unknown_name
from lingprob.io.parsers import TOKEN_ROWS
from lingprob.io.text_tables import refuse_other_kinds

logger = logging.getLogger(__name__)
Item = TypeVar("Item")

GUTENBERG_START = re.compile(
    r"^\*\*\*\s*START OF TH(?:E|IS) PROJECT GUTENBERG E(?:BOOK|TEXT).*?\*\*\*[^\n]*$", re.M | re.S
)
GUTENBERG_END = re.compile(r"^(?:\*\*\*\s*)?END OF (?:THE |THIS )?PROJECT GUTENBERG\b", re.M | re.I)
# Marks that NLTK separates from the word before or after them.
BROWN_CLOSING = re.compile(r" (''|[,.;:?!)])(?= |$)")
BROWN_OPENING = re.compile(r"(``|\() ")
JSON_SUFFIXES = {".jsonl", ".ndjson", ".json"}
# First bytes of compressed files.
COMPRESSIONS = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
}  # fmt: skip


def iter_documents(parser: str, files: Sequence[Path]) -> Iterator[str]:
    """Return an iterator over the non-empty documents of a text corpus, in the order of its files.

    The parser determines the unit of a document. `text`: a file. `lines`: a line, or the field
    `text` of a JSON object. `parquet`: the column `text` of a row. `gutenberg`: a book, without
    licence and line wraps. `nltk_zip`: a .txt member of a zip. `brown_zip`: a file of NLTK's tagged
    Brown corpus, without its tags. Two parsers read no file: `demo_sentences` (the acceptable
    sentences of the demo's minimal pairs) and `demo_control` (sentences unrelated to them). Text
    files and lines may be compressed (.gz, .bz2, .lz4 or .zst).

    Raises LingprobError at once for an unknown parser or a missing file, and during iteration for a
    file or line in another format, and for a file without text.
    """
    if parser == "demo_sentences":
        return iter(pd.read_csv(MINIMAL_PAIRS)["good"])
    if parser == "demo_control":
        return iter(CONTROL_SENTENCES.read_text(encoding="utf-8").splitlines())
    if parser == TOKEN_ROWS:
        raise LingprobError(
            f"{', '.join(map(str, files))}: token ids, but text is needed here. Name a corpus of "
            "text, or for a training also a tokenizer (training.tokenizer)."
        )
    if parser not in PARSERS:
        known = [*PARSERS, "demo_sentences", "demo_control"]
        raise unknown_name("parser", parser, known, "(datasets.NAME.parser)")
    if not files:
        raise LingprobError(f"parser {parser!r}: the corpus has no files. Name one in `path`.")
    for path in map(Path, files):
        if not path.is_file():
            raise no_such_file(path)
    return _filled_documents(parser, files)


def _filled_documents(parser: str, files: Sequence[Path]) -> Iterator[str]:
    """Yield the documents that are not empty. Raises LingprobError for a file without text."""
    documents = characters = 0
    for path in files:
        before = documents
        for document in PARSERS[parser](Path(path)):
            if document.strip():
                documents += 1
                characters += len(document)
                yield document
        if documents == before:
            raise LingprobError(
                f"{path}: no text in it. Fill the file, or leave it out of the corpus."
            )
    logger.info(
        "%s%s: %d files, %d documents, %d characters",
        files[0], " ..." if len(files) > 1 else "", len(files), documents, characters,
    )  # fmt: skip


def batches(
    items: Iterable[Item],
    size: int = 2**20,
    length: Callable[[Item], int] = len,  # type: ignore[assignment]
) -> Iterator[list[Item]]:
    """Yield lists of consecutive items. A list ends when its items' total length reaches `size`."""
    batch: list[Item] = []
    total = 0
    for item in items:
        batch.append(item)
        total += length(item)
        if total >= size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def parser_of(path: Path) -> str:
    """Return the parser of a user's corpus file: `parquet`, `lines` (for JSON lines) or `text`."""
    with open(path, "rb") as stream:
        if ".parquet" in _suffixes(path) or stream.read(4) == b"PAR1":
            return "parquet"
    return "lines" if _beginning(path)[1] else "text"


def _gutenberg(path: Path) -> Iterator[str]:
    """Yield the text of a book, one line per paragraph and an empty line between paragraphs."""
    text = _decode(path.read_bytes())
    start = GUTENBERG_START.search(text)
    end = GUTENBERG_END.search(text, start.end()) if start else None
    if start is None or end is None:
        raise LingprobError(
            f"{path}: no lines with START OF and END OF this Project Gutenberg EBook. Use the "
            "parser `text` for other files."
        )
    parts = re.split(r"\n[ \t]*\n", text[start.end() : end.start()])
    yield "\n\n".join(" ".join(part.split()) for part in parts if part.strip())


def _decode(data: bytes) -> str:
    """Decode bytes as UTF-8, or else as Latin-1. Line ends of the text are line feeds."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _nltk_zip(path: Path) -> Iterator[str]:
    for document in _zip_members(path, r".*\.txt"):
        yield document.strip()


def _brown_zip(path: Path) -> Iterator[str]:
    """Yield the files of the Brown corpus as printed text, without NLTK's tags (`word/tag`)."""
    for document in _zip_members(path, r"brown/c[a-r]\d\d"):
        text = " ".join(token.rpartition("/")[0] for token in document.split())
        text = BROWN_OPENING.sub(r"\1", BROWN_CLOSING.sub(r"\1", text))
        yield text.replace("``", '"').replace("''", '"')


def _zip_members(path: Path, wanted: str) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if re.fullmatch(wanted, name):
                    yield _decode(archive.read(name))
    except zipfile.BadZipFile as error:
        raise LingprobError(f"{path}: not a whole zip file ({error}). Fetch it again.") from error


def _text(path: Path) -> Iterator[str]:
    with _opened(path) as stream:
        yield stream.read()


def _documents_on_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, or the field `text` of each JSON object in it."""
    first, is_json = _beginning(path)
    if first.startswith("["):
        with _opened(path) as stream:
            content = stream.read()
        try:
            records = _parsed(str(path), content)
        except LingprobError:
            if is_json:
                raise
        else:
            for number, record in enumerate(records, start=1):
                yield _text_field(f"{path}, object {number}", record)
            return
    with _opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not is_json:
                yield line.removesuffix("\n")
            elif line.strip():
                where = f"{path}, line {number}"
                yield _text_field(where, _parsed(where, line))


def _beginning(path: Path) -> tuple[str, bool]:
    """Return the first line with text, and whether the name or this line is that of JSON."""
    with _opened(path) as stream:
        first = next((line for line in stream if line.strip()), "").strip()
    try:
        is_object = isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        is_object = False
    return first, is_object or bool(JSON_SUFFIXES & _suffixes(path))


def _suffixes(path: Path) -> set[str]:
    return {suffix.lower() for suffix in path.suffixes}


def _parsed(where: str, content: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise LingprobError(
            f"{where}: not JSON ({error}). Write an object on each line, or one array."
        ) from error


def _text_field(where: str, record: Any) -> str:
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise LingprobError(
            f'{where}: no string field "text". Each object must be {{"text": "..."}}.'
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LingprobError(
            f"{where}: half of a character (a lone surrogate), which UTF-8 cannot encode "
            f"({error}). Correct it."
        ) from error
    return text


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """Yield the stream of a text file, decompressed. Raises LingprobError if it is not text."""
    if {".csv", ".tsv"} & _suffixes(path):
        raise LingprobError(
            f"{path}: a table, whose commas and marks are no text. Write it as JSON lines or "
            "Parquet with a column `text`."
        )
    with open(path, "rb") as file:
        magic = file.read(4)
    kind = next((name for begin, name in COMPRESSIONS.items() if magic.startswith(begin)), None)
    try:
        with io.BufferedReader(pa.input_stream(str(path), compression=kind)) as raw:
            refuse_other_kinds(path, begin := raw.peek())
            if b"\0" in begin:
                raise LingprobError(
                    f"{path}: null characters, so it is no text. Leave it out of the corpus, or "
                    "convert it to text in UTF-8, JSON lines or Parquet."
                )
            yield io.TextIOWrapper(raw, "utf-8-sig")
    except (UnicodeDecodeError, OSError) as error:
        raise LingprobError(
            f"{path}: cannot be read as UTF-8 text ({error}). Convert it to UTF-8, or, if it is "
            "compressed, check that it is whole."
        ) from error


def _parquet(path: Path) -> Iterator[str]:
    try:
        with pq.ParquetFile(path) as table:
            for batch in table.iter_batches(batch_size=1024, columns=["text"]):
                yield from batch.column("text").cast(pa.string()).drop_null().to_pylist()
    except (pa.ArrowException, OSError, KeyError) as error:
        raise LingprobError(
            f"{path}: not a Parquet file with a column `text` of strings ({error}). Check the "
            "path, or write the column."
        ) from error


PARSERS: dict[str, Callable[[Path], Iterator[str]]] = {
    "gutenberg": _gutenberg,
    "nltk_zip": _nltk_zip,
    "brown_zip": _brown_zip,
    "parquet": _parquet,
    "text": _text,
    "lines": _documents_on_lines,
}
