"""Text corpora, read as streams of documents."""

from __future__ import annotations

import io
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lingprob.demo import CONTROL_SENTENCES, MINIMAL_PAIRS
from lingprob.errors import LingprobError, unknown_name
from lingprob.io.text_units import split_lines

logger = logging.getLogger(__name__)
Item = TypeVar("Item")

GUTENBERG_START = re.compile(
    r"^\*\*\*\s*START OF TH(?:E|IS) PROJECT GUTENBERG E(?:BOOK|TEXT).*?\*\*\*[^\n]*$", re.M | re.S
)
GUTENBERG_END = re.compile(r"^(?:\*\*\*\s*)?END OF (?:THE |THIS )?PROJECT GUTENBERG\b", re.M | re.I)
BROWN_FILE = re.compile(r"brown/c[a-r]\d\d")
# Marks that NLTK sets apart from the word before or after them.
BROWN_CLOSING = re.compile(r" (''|[,.;:?!)])(?= |$)")
BROWN_OPENING = re.compile(r"(``|\() ")
JSON_SUFFIXES = {".jsonl", ".ndjson", ".json"}
# First bytes of compressed files.
COMPRESSIONS = {
    b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4",
}  # fmt: skip
WIKITEXT_TITLE = re.compile(r" = [^=\s](?:.*[^=\s])? = ?")


def iter_documents(parser: str, files: Sequence[Path]) -> Iterator[str]:
    """Stream the documents of a text corpus, in the order of its files.

    Args:
        parser: `gutenberg` (a book a document, without licence and line wraps), `nltk_zip`
            (a .txt member of a zip a document), `wikitext` (an article a document), `text` (a
            file a document), `lines` (a line a document; of JSON the field `text`), `parquet`
            (a row a document, its column `text`), `brown_zip` (a file of NLTK's tagged Brown
            corpus a document, without its tags), or, of the package itself and without files,
            `demo_sentences` (the acceptable sentences of the demo's minimal pairs) and
            `demo_control` (sentences unrelated to them). Text files and lines may be
            compressed: .gz, .bz2, .lz4 or .zst.
        files: the corpus's files.

    Returns:
        An iterator over non-empty texts; one document is in memory at a time.

    Raises LingprobError at once for an unknown parser or a missing file, and while reading for
    a file, zip member or line that is not what the parser expects, and for a file without text.
    """
    if parser == "demo_sentences":
        return iter(pd.read_csv(MINIMAL_PAIRS)["good"])
    if parser == "demo_control":
        return iter(CONTROL_SENTENCES.read_text(encoding="utf-8").splitlines())
    if parser not in PARSERS:
        known = [*PARSERS, "demo_sentences", "demo_control"]
        raise unknown_name("parser", parser, known, "(datasets.NAME.parser)")
    if not files:
        raise LingprobError(f"parser {parser!r}: the corpus has no files. Name one in `path`.")
    for path in files:
        if not Path(path).is_file():
            raise LingprobError(f"{path}: no such corpus file. Check the data set's `path`.")
    return _counted(parser, files)


def _counted(parser: str, files: Sequence[Path]) -> Iterator[str]:
    """Stream the documents of files; the log tells how many there were."""
    documents = characters = 0
    for path in files:
        for document in _filled(PARSERS[parser], Path(path)):
            documents += 1
            characters += len(document)
            yield document
    logger.info(
        "%s%s: %d files, %d documents, %d characters",
        files[0], " ..." if len(files) > 1 else "", len(files), documents, characters,
    )  # fmt: skip


def _filled(parser: Callable[[Path], Iterator[str]], path: Path) -> Iterator[str]:
    """Stream a file's documents but the empty ones; some must be left.

    A corpus without a token would say of every text that it is not in there.
    """
    found = False
    for document in parser(path):
        if document.strip():
            found = True
            yield document
    if not found:
        raise LingprobError(f"{path}: no text in it. Fill the file, or leave it out of the corpus.")


def batches(
    items: Iterable[Item],
    size: int,
    length: Callable[[Item], int] = len,  # type: ignore[assignment]
) -> Iterator[list[Item]]:
    """Group items, in order, into lists whose lengths just reach `size`; the last may not."""
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


def _decode(data: bytes) -> str:
    """Decode UTF-8, with or without a byte-order mark, or else Latin-1; newlines become `\\n`."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _gutenberg(path: Path) -> Iterator[str]:
    text = _decode(path.read_bytes())
    start = GUTENBERG_START.search(text)
    end = GUTENBERG_END.search(text, start.end()) if start else None
    if start is None or end is None:
        raise LingprobError(
            f"{path}: no Project Gutenberg {'footer' if start else 'header'} line "
            f"(*** {'END' if start else 'START'} OF ...). Use parser `text` for other files."
        )
    yield _unwrap(text[start.end() : end.start()])


def _unwrap(text: str) -> str:
    """Put each paragraph on one line, with an empty line between paragraphs."""
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n[ \t]*\n", text))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _nltk_zip(path: Path) -> Iterator[str]:
    for document in _zip_members(path, re.compile(r".*\.txt")):
        yield document.strip()


def _zip_members(path: Path, wanted: re.Pattern[str]) -> Iterator[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [name for name in archive.namelist() if wanted.fullmatch(name)]
            if not members:
                raise LingprobError(
                    f"{path}: has no member called {wanted.pattern}, so it is another corpus than "
                    "its parser reads. Known to work are abc, inaugural, state_union and webtext "
                    "with nltk_zip, and brown with brown_zip."
                )
            for name in members:
                yield _decode(archive.read(name))
    except zipfile.BadZipFile as error:
        raise LingprobError(
            f"{path}: not a whole zip file ({error}). Delete it and run again."
        ) from error


def _wikitext(path: Path) -> Iterator[str]:
    """Split at titles, lines ` = Title = ` between two empty lines; drop empty lines."""
    article: list[str] = []
    previous, title = "", ""
    for line in _lines(path):
        if title and line.strip():  # not a title after all: prose that looks like one
            article.append(title.strip())
        elif title:
            yield "\n".join(article)
            article = [title.strip()]
        title = ""
        if not previous.strip() and WIKITEXT_TITLE.fullmatch(line):
            title = line
        elif line.strip():
            article.append(line.strip())
        previous = line
    yield "\n".join([*article, title.strip()] if title else article)


def _text(path: Path) -> Iterator[str]:
    with _open(path) as stream:
        yield _read_all(path, stream)


def _read_all(path: Path, stream: TextIO) -> str:
    try:
        return stream.read()
    except (UnicodeDecodeError, OSError) as error:
        raise _unreadable(path, error) from error


def _documents_on_lines(path: Path) -> Iterator[str]:
    """Stream the lines of a file, or the field `text` of each JSON object in it.

    JSON is known by the file's name (.jsonl, .ndjson, .json) or by a first line that is an object.
    """
    is_json = bool(JSON_SUFFIXES & {suffix.lower() for suffix in path.suffixes})
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        if number == 1 and line.lstrip().startswith("["):
            yield from _json_array(path)
            return
        is_json = is_json or (number == 1 and _is_object(line))
        yield _text_field(path, number, line) if is_json else line


def _is_object(line: str) -> bool:
    """Say whether a line is a JSON object with a text, whatever the file's name."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and isinstance(record.get("text"), str)


def _json_array(path: Path) -> Iterator[str]:
    """Stream the field `text` of each object in a file that is one JSON array."""
    with _open(path) as stream:
        content = _read_all(path, stream)
    try:
        records = json.loads(content)
    except (ValueError, RecursionError):
        yield from filter(str.strip, split_lines(content))  # text that begins with a bracket
        return
    for number, record in enumerate(records, start=1):
        yield _text_of(f"{path}, object {number}", record)


def parser_of(path: Path) -> str:
    """Return the parser that reads a corpus file: `parquet`, `lines` for JSON, or `text`.

    The file's name decides, in capitals or not, and else its content.
    """
    suffixes = {suffix.lower() for suffix in path.suffixes}
    if ".parquet" in suffixes or path.read_bytes()[:4] == b"PAR1":
        return "parquet"
    if JSON_SUFFIXES & suffixes:
        return "lines"
    with _open(path) as stream:
        try:
            return "lines" if _is_object(stream.readline()) else "text"
        except (UnicodeDecodeError, OSError) as error:
            raise _unreadable(path, error) from error


def _text_field(path: Path, number: int, line: str) -> str:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise LingprobError(
            f"{path}, line {number}: not JSON ({error}). Correct the line."
        ) from error
    return _text_of(f"{path}, line {number}", record)


def _text_of(where: str, record: Any) -> str:
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise LingprobError(
            f'{where}: no string field "text". Each object must be {{"text": "..."}}.'
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LingprobError(
            f"{where}: half of a character (a lone surrogate), which UTF-8 cannot "
            f"hold ({error}). Correct it."
        ) from error
    return text


def _lines(path: Path) -> Iterator[str]:
    """Stream the lines of a file, without their line ends."""
    with _open(path) as stream:
        try:
            for line in stream:
                yield line.removesuffix("\n")
        except (UnicodeDecodeError, OSError) as error:
            raise _unreadable(path, error) from error


def _open(path: Path) -> TextIO:
    """Open a text file; its first bytes tell how it is compressed.

    Raises LingprobError if it is not text.
    """
    with open(path, "rb") as raw:
        head = raw.read(4096)
    kind = next((name for magic, name in COMPRESSIONS.items() if head.startswith(magic)), None)
    if kind is None and b"\0" in head:
        raise LingprobError(
            f"{path}: not a text file, but of another kind. Leave it out of the corpus, or convert "
            "it to text in UTF-8, JSON lines or Parquet."
        )
    stream = pa.input_stream(str(path), compression=kind)
    return io.TextIOWrapper(stream, "utf-8-sig")


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


def _brown_zip(path: Path) -> Iterator[str]:
    """The Brown corpus as NLTK tags it (`word/tag` between blanks), as the text was printed."""
    for document in _zip_members(path, BROWN_FILE):
        text = " ".join(token.rpartition("/")[0] for token in document.split())
        text = BROWN_OPENING.sub(r"\1", BROWN_CLOSING.sub(r"\1", text))
        yield text.replace("``", '"').replace("''", '"')


def _unreadable(path: Path, error: Exception) -> LingprobError:
    return LingprobError(
        f"{path}: cannot be read as UTF-8 text ({error}). Convert it to UTF-8, or, if it is "
        "compressed, check that it is whole."
    )


PARSERS: dict[str, Callable[[Path], Iterator[str]]] = {
    "gutenberg": _gutenberg,
    "nltk_zip": _nltk_zip,
    "brown_zip": _brown_zip,
    "parquet": _parquet,
    "wikitext": _wikitext,
    "text": _text,
    "lines": _documents_on_lines,
}
