"""A folder with tiny models, made-up data and the configuration of a run with them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import yaml
from transformers.utils import logging

from lingprob.catalog import parse_yaml, read_yaml
from lingprob.errors import LingprobError
from lingprob.io.files import write_text
from lingprob.rehearsal.datasets import make_datasets
from lingprob.rehearsal.entries import dataset_entry, lowered, model_entry, model_shape
from lingprob.rehearsal.models import make_model
from lingprob.rehearsal.tokenizers import tokenizer_of
from lingprob.workflow.configuration import merged, read_settings

HERE = Path(__file__).parent
HEAD = (
    "# Written by `lingprob rehearse`. The models are random and most data are made up: nothing\n"
    "# that a run with this configuration computes is a result.\n"
)


def run(options: argparse.Namespace) -> None:
    """Do what the command `lingprob rehearse` asks for."""
    folder = options.folder
    write_rehearsal(folder, options.scale, options.short)
    print(f"snakemake all --directory {folder} --configfile {folder / 'config.yaml'} --cores 2")


def write_rehearsal(folder: Path, scale: str, short: bool = False) -> None:
    """Write what a rehearsal of a scale needs to a folder; `config.yaml` comes last.

    Jobs and their names are the scale's, but steps, samples and draws are few. Texts whose reading
    times are made up, and tokenizers, come from the mirror or their public addresses.

    Args:
        folder: where Snakemake then runs (`--directory`); it holds no configuration yet.
        scale: demo, laptop or paper.
        short: whether to configure one or two jobs of each rule of scale paper.

    Raises LingprobError for an unknown scale, a folder with a configuration, or a text that cannot
    be had.
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


def write_models(
    folder: Path,
    complete: dict[str, dict[str, Any]],
    shipped: dict[str, dict[str, Any]],
    less: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """Write a tiny model for each that has weights to fetch; return their entries.

    Args:
        folder: of the rehearsal; a model's folder is `models/NAME` in it.
        complete: the entries with what their families say.
        shipped: the entries as the catalog has them.
        less: the content of less.yaml.
    """
    logging.disable_progress_bar()
    entries, tokenizers = {}, {}
    for name, entry in complete.items():
        if entry["source"] not in ("hub", "package"):
            continue
        shape = model_shape(name, entry, less)
        key = entry.get("tokenizer", shape["tokenizer"]["kind"])
        if key not in tokenizers:
            files = folder / "resources/tokenizers" / key
            tokenizers[key] = tokenizer_of(shape["tokenizer"], files)
        make_model(name, shape, tokenizers[key], folder / "models" / name)
        entries[name] = model_entry(name, shipped[name])
    return entries
