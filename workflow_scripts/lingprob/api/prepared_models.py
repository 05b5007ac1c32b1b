"""Models that a catalog name, folder or hub repository gives: their entries, files and unigrams.

Prepared models are kept in the cache, a folder with the layout of a workflow's folder.
"""

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from filelock import FileLock

from lingprob.catalog import Catalog, Entry, complete_model, read_yaml
from lingprob.errors import LingprobError, looked_up, unknown_name
from lingprob.io.table_files import FORMATS, need_columns, numeric, read_frame, refuse, whole
from lingprob.io.tables import read_table
from lingprob.models.folders import is_masked, is_unchanged, read_manifest
from lingprob.models.prepare import origin_of, prepare_model
from lingprob.workflow.configuration import read_catalog, refuse_duplicate_keys
from lingprob.workflow.sources import Run

REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w.-]+")
# BOS policies of a model without a known family. The first is the workflow's default.
POLICIES = ["none", "bos", "bos_first_excluded"]
# Catalog `source` of models that the workflow itself makes, so that they cannot be fetched.
MADE = ("trained", "ngram")
GIVEN = "given"


def find_model(
    model: str | Path,
    revision: str | None = None,
    family: str | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
) -> tuple[str, Run]:
    """Return the name of a model, and a run whose catalog has an entry of this name.

    Arguments are those of `load`. A repository that is in the catalog needs no revision.

    Raises LingprobError, with similar names, for a model that does not exist, and for a revision or
    family of a model that cannot have one.
    """
    settings, catalog = read_catalog(read_config(config))
    catalog.check_references()
    text, revision = str(model), None if revision is None else str(revision)
    known = catalog.models.get(text)
    if known and revision in (None, known.get("revision")) and family in (None, known["family"]):
        return text, Run(settings, catalog)
    folder = Path(model).expanduser()
    if known:
        if known["source"] != "hub":
            raise LingprobError(
                f"model {text!r} is no repository of the hub, so its revision and family are those "
                "of its entry. Leave them out."
            )
        name, entry = revised_entry(known, revision, family, catalog)
    elif folder.is_dir():
        if revision is not None:
            raise LingprobError(f"{text}: a folder has no revision {revision!r}. Leave it out.")
        path = folder.resolve()
        conventions = {"family": "own"} if is_masked(path) else conventions_of(family, catalog)
        name = f"{slug(path.name)}-{short_digest(str(path))}"
        entry = {"title": path.name, "source": "local", "path": str(path), **conventions}
    elif "/" in text:
        name, entry = repository_entry(text, revision, family, catalog)
    else:
        also = "A folder (./NAME) or a repository of the hub (OWNER/NAME) is also a model."
        raise unknown_name("model", text, catalog.models, also)
    catalog.models[name] = complete_model(name, entry, read_yaml("models.yaml")["families"])
    return name, Run(settings, catalog)


def read_config(config: str | Path | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the content of a configuration file, a copy of a given mapping, or {} for None.

    Raises LingprobError if the file is absent, is not YAML or has a key twice.
    """
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    try:
        refuse_duplicate_keys([config])
        return yaml.safe_load(Path(config).read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise LingprobError(f"{config}: cannot be read as a configuration ({said}).") from error


def repository_entry(
    repository: str, revision: str | None, family: str | None, catalog: Catalog
) -> tuple[str, Entry]:
    """Return a name and a catalog entry for a repository of the hub, the catalog's if it has one.

    The revision of a catalog entry is the default.
    """
    repository, _, stated = repository.partition("@")
    if not REPOSITORY.fullmatch(repository):
        raise LingprobError(
            f"{repository!r} is neither a folder that exists nor a repository of the hub "
            "(OWNER/NAME). Name the folder of a model and not a file in it, or correct the name."
        )
    if revision and stated and revision != stated:
        raise LingprobError(f"{repository}: two revisions, {stated!r} and {revision!r}. State one.")
    revision = revision or stated or None
    for known in catalog.models.values():
        if known.get("repository") == repository:
            return revised_entry(known, revision, family, catalog)
    if revision is None:
        raise LingprobError(
            f"{repository}: which revision? Name a commit, tag or branch: {repository}@main."
        )
    entry = {"title": repository, "source": "hub", "repository": repository, "revision": revision}
    return slug(f"{repository}@{revision}"), {**entry, **conventions_of(family, catalog)}


def revised_entry(
    known: Entry, revision: str | None, family: str | None, catalog: Catalog
) -> tuple[str, Entry]:
    """Return a name and an entry for a catalog entry of the hub with another revision or family."""
    entry = {**known, "revision": revision or known["revision"]}
    if family not in (None, known["family"]):
        conventions = conventions_of(family, catalog)
        kept = ("title", "source", "repository", "revision", "language", "parameters", "kind")
        entry = {**{key: entry[key] for key in kept if key in entry}, **conventions}
    stated_keys = {key: value for key, value in entry.items() if value is not None}
    return slug(f"{entry['repository']}@{entry['revision']}"), stated_keys


def conventions_of(family: str | None, catalog: Catalog) -> Entry:
    """Return an entry's keys for a model's family, or for default policies without one."""
    if family is None:
        return {"family": "own", "bos_policies": POLICIES}
    looked_up("family", family, {entry["family"]: entry for entry in catalog.models.values()})
    return {"family": family}


def slug(name: str) -> str:
    """Return a name in which '--' replaces all but letters, digits, '.', '_' and '-'."""
    return re.sub(r"[^A-Za-z0-9._-]+", "--", name).lstrip("._-") or "model"


def unique_slug(name: str) -> str:
    """Return the `slug` of a name, with a digest of the name if it lacks some of its characters."""
    made = slug(name)
    return made if made == name else f"{made}-{short_digest(name)}"


def short_digest(text: str) -> str:
    """Return the first 8 hexadecimal digits of a text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def cache_folder(given: str | Path | None = None) -> Path:
    """Return the folder of prepared models: the given one, LINGPROB_CACHE or ~/.cache/lingprob."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "lingprob")
    return Path(given or os.environ.get("LINGPROB_CACHE") or usual).expanduser()


def prepared_model(name: str, entry: Entry, manifest: Path) -> Path:
    """Return the path of a model's manifest. Prepare the model if none fits its entry.

    Raises LingprobError as `prepare_model` does, for a model without weights, and for a model that
    a workflow has to make first.
    """
    if entry["source"] == "scores":
        raise LingprobError(
            f"model {name!r} is a file of log-probabilities ({entry.get('path')}) without weights. "
            "Choose another."
        )
    if is_current(manifest, entry):
        return manifest
    if entry["source"] in MADE:
        raise LingprobError(
            f"model {name!r} is made by the workflow and is not in {manifest.parent}. Make it with "
            f"`snakemake resources/models/{name}/manifest.json`, and give that folder as `cache`."
        )
    try:
        manifest.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(manifest.parent / ".lock"):
            if not is_current(manifest, entry):  # another process may have prepared it meanwhile
                if entry["source"] != "local":
                    print(f"Preparing {name}, once, in {manifest.parent}.", file=sys.stderr)
                prepare_model(name, entry, manifest, any_kind=True)
    except OSError as error:
        raise LingprobError(
            f"{manifest.parent}: models cannot be kept there ({error}). Choose another folder with "
            "`cache` or the environment variable LINGPROB_CACHE."
        ) from error
    return manifest


def is_current(manifest: Path, entry: Entry) -> bool:
    """Return whether a manifest describes the model of an entry, whose folder may have changed."""
    try:
        content = read_manifest(manifest)
    except (OSError, LingprobError):
        return False
    if entry["source"] == "local":
        same = Path(content["directory"]).resolve() == Path(entry["path"]).resolve()
        return same and is_unchanged(manifest, content)
    return entry["source"] in MADE or content.get("origin") == origin_of(entry)


def find_unigrams(
    wanted: str | Path | pd.DataFrame | pd.Series | None, model: str, run: Run, cache: Path
) -> dict[str, pd.Series]:
    """Return {source: unigram log-probabilities (nats) by token id} of one source, or {}.

    `wanted` is a source, a file, a table (`token_id`, `logprob`) or an array by token id. None
    selects the first source of the model's entry that the cache has, if any.

    Raises LingprobError for a source that the cache lacks, with the command that makes it, and for
    tables that do not give each token id at most one log-probability.
    """
    if isinstance(wanted, str | Path) and Path(wanted).suffix in FORMATS:
        return {GIVEN: _by_token(read_frame(Path(wanted)), wanted)}
    if wanted is not None and not isinstance(wanted, str | Path):
        if not isinstance(wanted, pd.DataFrame):
            wanted = pd.Series(wanted, name="logprob").rename_axis("token_id").reset_index()
        return {GIVEN: _by_token(wanted, "the table of unigrams")}
    entry = run.catalog.model(model)
    named = entry["unigrams"] if wanted is None else [str(wanted)]
    for source in named:
        run.catalog.unigram_source(source)
        table = f"results/unigrams/{entry['tokenizer']}/{source}.parquet"
        if (cache / table).is_file():
            return {source: read_table(cache / table, "unigrams").set_index("token_id")["logprob"]}
        if wanted is not None:
            raise LingprobError(
                f"unigram source {source!r}: {cache / table} is not there. Make it, in the "
                f"folder of the workflow: `snakemake --directory {cache} --cores 2 {table}`."
            )
    return {}


def _by_token(frame: pd.DataFrame, path: str | Path) -> pd.Series:
    need_columns(path, frame, ["token_id", "logprob"], "A row is one token of the vocabulary.")
    ids = whole(path, "token_id", frame["token_id"])
    refuse(path, "token_id", ids.duplicated(), "an id that an earlier row has", ids)
    logprobs = numeric(path, "logprob", frame["logprob"])
    refuse(path, "logprob", logprobs > 0, "above 0, so no log-probability", logprobs)
    return pd.Series(logprobs.to_numpy(), index=ids.to_numpy())
