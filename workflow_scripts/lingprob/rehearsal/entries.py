"""Settings and entries of a rehearsal, which take the place of the catalog's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lingprob.catalog import Entry

# Keys of an entry about files that are fetched, or about their content.
FETCHED = {
    "repository", "revision", "gated", "package", "version", "sha256", "member", "member_sha256",
    "folder", "wheels", "note",
}  # fmt: skip
STREAMED = {"source", "repository", "revision", "configuration", "split", "column", "rows"}
COUNTS = {"items", "pairs", "subjects"}
# Parsers of made-up files that have a user's format in the place of their authors'.
PARSERS = {"times": "reading_times_table", "ratings": "table", "passages": "passages"}
SUFFIXES = {"passages": ".txt"}


def lowered(settings: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return limits, or the settings where these are lower numbers."""
    result: dict[str, Any] = {}
    for key, limit in limits.items():
        value = settings.get(key)
        if isinstance(limit, dict):
            result[key] = lowered(value or {}, limit)
        elif isinstance(value, int) and isinstance(limit, int):
            result[key] = min(value, limit)
        else:
            result[key] = limit
    return result


def model_entry(name: str, shipped: Entry) -> Entry:
    """Return a model's or an embedding model's own entry for a folder `models/NAME`."""
    entry = {key: value for key, value in shipped.items() if key not in FETCHED}
    local = {"title": f"{entry['title']} (random)", "source": "local", "path": f"models/{name}"}
    return {
        **entry,
        **local,
        **({"kind": entry.get("kind", "causal")} if "family" in entry else {}),
    }


def model_shape(name: str, entry: Entry, less: Mapping[str, Any]) -> dict[str, Any]:
    """Return `architecture`, `context_window`, `tokenizer` and what a tiny model `predicts`.

    Args:
        name: of a model or an embedding model.
        entry: its complete entry.
        less: the content of less.yaml.
    """
    if "family" not in entry:
        shape = {"architecture": less["embeddings"].get(name, "bert"), "predicts": "nothing"}
        return shape | {
            "context_window": entry["context_window"], "tokenizer": {"kind": "word_pieces"}
        }  # fmt: skip
    masked = entry.get("kind") == "masked"
    kind, architecture, window = (
        ("word_pieces", "bert", 512) if masked else ("byte_pairs", "llama", 2048)
    )
    return {
        "architecture": less["architectures"].get(entry["family"], architecture),
        "context_window": entry["context_window"] or window,
        "tokenizer": less["tokenizers"].get(entry["tokenizer"], {"kind": kind}),
        "predicts": "masked" if masked else "next",
    }


def dataset_entry(name: str, entry: Entry, writer: str) -> Entry:
    """Return a data set's own entry, whose files are made up.

    Expected counts are those of the real files and are left out. A corpus keeps its number of
    words, from which Figure 1's limit follows (leakage, §2.1).
    """
    gone = COUNTS | ({"words"} if entry["kind"] != "corpus" else set()) | STREAMED
    kept = {key: value for key, value in entry.items() if key not in gone}
    files = [{"name": file["name"]} for file in entry["files"]]
    if writer in PARSERS:
        kept["parser"] = PARSERS[writer]
        files = [{"name": f"{name}{SUFFIXES.get(writer, '.csv')}"}]
    return kept | {"title": f"{entry['title']} (made up)", "files": files}
