"""Which model is meant by a name, a folder or a repository of the hub."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lingprob.catalog import Catalog, Entry
from lingprob.errors import LingprobError, looked_up, unknown_name
from lingprob.models.kinds import is_masked
from lingprob.workflow.configuration import read_catalog, refuse_duplicate_keys
from lingprob.workflow.sources import Run

REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+")
# Of a folder or repository whose family nobody names: the default of the workflow, and the others.
POLICIES = ["none", "bos", "bos_first_excluded"]


def find_model(
    model: str | Path,
    revision: str | None = None,
    family: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
) -> tuple[str, Run]:
    """Return the name of a model, and the run in whose catalog it stands.

    Args:
        model: a name of the catalog (with the entries of `config`), a folder as transformers saves
            models, or a repository of the hub, `owner/name` or `owner/name@revision`.
        revision: of a repository: a commit, tag or branch. One that the catalog has needs none.
        family: of a folder or repository; a known one (pythia, opt, gpt2) brings its conventions.
        config: a file laid out as config.yaml, or its content.

    Raises LingprobError for a model that is none of these, with the nearest names.
    """
    given = read_config(config)
    settings, catalog = read_catalog(given)
    catalog.check_references()
    text = str(model)
    if text in catalog.models:
        return text, Run(settings, catalog)
    folder = Path(model).expanduser()
    if folder.is_dir():
        name, entry = folder_entry(folder, family, catalog)
    elif "/" in text and not folder.is_absolute() and not text.startswith((".", "~")):
        name, entry = repository_entry(text, revision, family, catalog)
    elif "/" in text:
        raise LingprobError(f"{text}: no such folder. Mend the path of the model.")
    else:
        also = "A folder (./NAME) or a repository of the hub (OWNER/NAME) is a model, too."
        raise unknown_name("model", text, catalog.models, also)
    models = {**given.get("models", {}), name: entry}
    return name, Run(*read_catalog({**given, "models": models}))


def read_config(config: str | Path | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the content of a file laid out as config.yaml, or a mapping as it is given.

    Raises LingprobError if the file is not there, is not YAML or has a key twice.
    """
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    try:
        refuse_duplicate_keys([config])
        return yaml.safe_load(Path(config).read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise LingprobError(f"{config}: cannot be read as a configuration ({said}).") from error


def folder_entry(folder: Path, family: str | None, catalog: Catalog) -> tuple[str, Entry]:
    """Return the name and the catalog entry of a model in a folder of the user's."""
    path = folder.resolve()
    where = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    entry = {"title": path.name, "source": "local", "path": str(path)}
    conventions = {"family": "own"} if is_masked(path) else conventions_of(family, catalog)
    return f"{slug(path.name)}-{where}", {**entry, **conventions}


def repository_entry(
    repository: str, revision: str | None, family: str | None, catalog: Catalog
) -> tuple[str, Entry]:
    """Return the name and the catalog entry of a repository of the hub at a revision.

    What the catalog says of the same repository counts, its revision where no other is given.
    """
    repository, _, stated = repository.partition("@")
    revision = revision or stated or None
    if not REPOSITORY.fullmatch(repository):
        raise LingprobError(
            f"{repository!r} is neither a folder that exists nor a repository of the hub "
            "(OWNER/NAME). Mend the name of the model."
        )
    known = (entry for entry in catalog.models.values() if entry.get("repository") == repository)
    same = next(known, None)
    if revision is None and same is None:
        raise LingprobError(
            f"model repository {repository!r}: which revision? Name a commit, tag or branch, so "
            f"that the numbers can be repeated: revision='main', or {repository}@main."
        )
    entry = dict(same) if same else {"title": repository, "source": "hub"}
    entry |= {"repository": repository, "revision": revision or entry["revision"]}
    if family or not same:
        entry |= conventions_of(family, catalog)
    # A complete entry has None where a config may have nothing.
    stated_parts = {key: value for key, value in entry.items() if value is not None}
    return slug(f"{repository}@{entry['revision']}"), stated_parts


def conventions_of(family: str | None, catalog: Catalog) -> Entry:
    """Return the part of an entry that says its family, or that of a model of no known one."""
    if family is None:
        return {"family": "own", "bos_policies": POLICIES}
    looked_up("family", family, {entry["family"]: entry for entry in catalog.models.values()})
    return {"family": family}


def slug(name: str) -> str:
    """Return a name that an entry and a folder may have."""
    return re.sub(r"[^A-Za-z0-9._-]+", "--", name).lstrip("._-") or "model"
