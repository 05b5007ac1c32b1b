"""The folder of a rehearsal, with tiny models, made-up data and a configuration."""

import argparse
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from transformers.utils import logging as progress

from lingprob.catalog import Entry, parse_yaml, read_yaml
from lingprob.errors import LingprobError
from lingprob.io.download import fetch_files
from lingprob.io.files import write_text
from lingprob.rehearsal.datasets import dataset_entry, make_datasets
from lingprob.rehearsal.models import make_model, make_tokenizer
from lingprob.workflow.configuration import merged, read_settings

HERE = Path(__file__).parent
HEAD = (
    "# Written by `lingprob rehearse`. The models are random and most data are made up: nothing\n"
    "# that a run with this configuration computes is a result.\n"
)
# Keys of a model's entry about files that are fetched.
FETCHED = {
    "repository", "revision", "gated", "package", "version", "sha256", "member", "member_sha256",
    "folder", "wheels", "note",
}  # fmt: skip
logger = logging.getLogger(__name__)


def run(options: argparse.Namespace) -> None:
    """Run the command `lingprob rehearse`, and print the command that starts the rehearsal."""
    folder = options.folder
    write_rehearsal(folder, options.scale, options.short)
    print(f"snakemake all --directory {folder} --configfile {folder / 'config.yaml'} --cores 2")


def write_rehearsal(folder: Path, scale: str, short: bool = False) -> None:
    """Write the files of a rehearsal of a scale to a folder, with `config.yaml` as the last one.

    The rehearsal has the jobs of the scale, with fewer steps, samples and draws. Texts whose
    reading times are made up come from the mirror or their public addresses.

    Args:
        folder: a folder without a configuration, for Snakemake's option `--directory`.
        scale: demo, laptop or paper.
        short: whether to configure one or two jobs of each rule of scale paper.

    Raises LingprobError for an unknown scale, a folder with a configuration, or a text that cannot
    be fetched.
    """
    if (folder / "config.yaml").exists():
        raise LingprobError(f"{folder}: a config.yaml is there. Name another folder.")
    less = parse_yaml(HERE / "less.yaml")
    settings, _ = read_settings({"scale": scale})
    config: dict[str, Any] = {"scale": scale, **lowered(settings, less["settings"])}
    named = enumerate(settings["training"]["sizes"], 1)
    sizes = {name: {"layers": layers, **less["trained_size"]} for layers, name in named}
    config = merged(config, {"training": {"sizes": sizes}})
    if short:
        config = merged(config, parse_yaml(HERE / "short.yaml"))
    settings, catalog = read_settings(config)
    config["models"] = write_models(
        folder, catalog.models, read_yaml("models.yaml")["models"], less
    )
    shipped = read_yaml("embeddings.yaml")
    config["embeddings"] = write_models(folder, shipped, shipped, less)
    read = settings["reading"]["datasets"]
    entries = {
        name: dataset_entry(name, catalog.dataset(name), less["made_up"][name])
        for name in less["made_up"]
        if catalog.dataset(name)["kind"] != "reading_times" or name in read
    }
    make_datasets(folder / "resources/datasets", catalog, entries, less["made_up"])
    config["datasets"] = entries
    text = yaml.safe_dump(config, sort_keys=False, default_flow_style=None, allow_unicode=True)
    write_text(HEAD + text, folder / "config.yaml")


def lowered(settings: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits, with the value of the settings for each number that is lower there."""
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


def write_models(
    folder: Path, complete: dict[str, Entry], shipped: dict[str, Entry], less: dict[str, Any]
) -> dict[str, Entry]:
    """Write a tiny model in place of each model whose weights are fetched, and return new entries.

    Args:
        folder: folder of the rehearsal, which gets the folders `models/NAME`.
        complete: the entries, completed by the defaults of their families.
        shipped: the entries as they are in the catalog's files.
        less: the content of less.yaml.
    """
    progress.disable_progress_bar()
    entries, tokenizers = {}, {}
    for name, entry in complete.items():
        if entry["source"] not in ("hub", "package"):
            continue
        kind = entry.get("kind", "causal") if "family" in entry else "embedding"
        key = str(entry.get("tokenizer", kind))
        if key not in tokenizers:
            pieces = kind != "causal" or key in less["word_pieces"]
            files = _fetched(less["tokenizers"].get(key, []), folder / "resources/tokenizers" / key)
            tokenizers[key] = make_tokenizer("word_pieces" if pieces else "byte_pairs", files)
        place = folder / "models" / name
        make_model(name, kind, entry.get("context_window"), tokenizers[key], place)
        entries[name] = model_entry(name, shipped[name])
    return entries


def model_entry(name: str, shipped: Entry) -> Entry:
    """Return the entry of a (sentence-embedding) model for the tiny model in `models/NAME`."""
    entry = {key: value for key, value in shipped.items() if key not in FETCHED}
    entry |= {"title": f"{entry['title']} (random)", "source": "local", "path": f"models/{name}"}
    return entry | ({"kind": entry.get("kind", "causal")} if "family" in entry else {})


def _fetched(files: list[Entry], folder: Path) -> list[Path]:
    """Return the fetched files of a tokenizer, or [] with a warning if they cannot be fetched."""
    try:
        fetch_files(files, folder, dataset="tokenizers")
    except LingprobError as error:
        logger.warning("a tokenizer of the same kind is made: %s", " ".join(str(error).split()))
        return []
    return [folder / file["name"] for file in files]
