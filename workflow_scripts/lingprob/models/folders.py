"""Check and describe a model's folder: the kind of its model, its weights, and its manifest.

A manifest is a JSON file with the path, the origin and a digest of a prepared model's files. Code
in a folder is never run, and pickles, which can contain code, are not read. The exceptions are
pinned files of the hub that come in no other form, of which PyTorch's restricted reader takes
tensors alone.
"""

import json
import os
import pickle
import zipfile
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.files import atomic_path, identity_of, sha256_of, write_text

# Endings of `architectures` in config.json for models trained to fill in masks. BERT's first
# checkpoints have the second.
MASKED = ("ForMaskedLM", "ForPreTraining")
# Endings for models whose output is no distribution over tokens, and a name of each kind.
OTHER_KINDS = {
    "ElectraForPreTraining": "a discriminator of replaced tokens",
    "ForSequenceClassification": "a classifier or reward model",
    "ForTokenClassification": "a classifier of tokens",
    "ForMultipleChoice": "a model of multiple choice",
    "ForQuestionAnswering": "a model that answers questions by spans",
    "ForNextSentencePrediction": "a classifier of sentence pairs",
    "RewardModel": "a reward model",
    "Model": "a model without an output layer over tokens, such as an embedding model",
}
# Packages that read weights of fewer bits, by `quant_method`, if their names differ from it.
QUANTISERS = {"gptq": "gptqmodel", "awq": "gptqmodel"}
TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
# For `from_pretrained`: nothing from the network, no code of the folder's own.
ONLY_DATA: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
SAID = 300  # characters of another library's message that an error repeats
NO_MANIFEST = (
    "no manifest of a model, or a damaged or older one. Delete this file and run again. The "
    "model's files are kept."
)
KEPT = ("model", "origin", "tokenizer_sha256", "files_digest")  # of a manifest, in provenance
STAMPS = ".manifest-stamps.json"  # a file with the stamps of a model's files (`file_stamps`)
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5")


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file, {} if it is absent or is not a JSON object."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def is_masked(directory: str | Path) -> bool:
    """Tell whether a folder's config.json describes a masked language model."""
    names = architectures_of(Path(directory))
    if any(name in ("XLMWithLMHeadModel", "FlaubertWithLMHeadModel") for name in names):
        return read_json(Path(directory) / "config.json").get("causal") is not True
    return any(name.endswith(MASKED) and name not in OTHER_KINDS for name in names)


def architectures_of(directory: Path) -> list[str]:
    """Return the names under `architectures` in a folder's config.json."""
    named = read_json(directory / "config.json").get("architectures")
    return [str(name) for name in named] if isinstance(named, list) else []


def refuse_other_kinds(directory: Path) -> None:
    """Raise LingprobError if a folder's config.json describes no causal or masked model."""
    config, names = read_json(directory / "config.json"), architectures_of(directory)
    told = ""
    for name in names:
        kind = next((kind for end, kind in OTHER_KINDS.items() if name.endswith(end)), None)
        if kind is not None and not name.endswith(("HeadModel", "HeadsModel")):
            told = f"{kind} (`architectures` in config.json is {name}), which predicts no tokens"
    if config.get("is_encoder_decoder") is True:
        listed = ", ".join(names) or config.get("model_type")
        told = f"an encoder-decoder ({listed}), which predicts an output given an input"
    if "ReformerModelWithLMHead" in names:
        told = "Reformer's attention sorts tokens into buckets, so later tokens change earlier ones"
    if told:
        raise LingprobError(f"{directory}: {told}. Choose a causal or masked language model.")


def quantisation_of(directory: Path) -> tuple[str, str] | None:
    """Return the method that quantised a folder's weights and the package it needs, or None."""
    method = read_json(directory / "config.json").get("quantization_config")
    if not isinstance(method, dict):
        return None
    name = str(method.get("quant_method", "unknown"))
    return name, QUANTISERS.get(name, name)


def stated_base(directory: Path) -> Path | None:
    """Return the folder that an adapter's adapter_config.json names as its base model, if any."""
    named = read_json(directory / "adapter_config.json").get("base_model_name_or_path")
    return Path(str(named)).expanduser() if named else None


def check_folder(directory: Path) -> None:
    """Raise LingprobError unless a folder has config.json, safetensors and a tokenizer."""
    if not (directory / "config.json").is_file():
        raise LingprobError(
            f"{directory}: no model there (config.json is missing). A model's folder has "
            "config.json, weights (.safetensors) and tokenizer files. Check its path."
        )
    if not any(directory.glob("*.safetensors")):
        pickles = sorted(path.name for path in directory.iterdir() if path.suffix in PICKLES)
        raise LingprobError(
            f"{directory}: its weights are in {pickles[0]}, and reading such a file can run code. "
            "If you trust its maker, convert it to safetensors: "
            "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(FOLDER) of transformers."
            if pickles
            else f"{directory}: no weights there (.safetensors). Add them, or correct the path."
        )
    if not any((directory / name).is_file() for name in TOKENIZER_FILES):
        raise LingprobError(
            f"{directory}: no tokenizer there ({', '.join(TOKENIZER_FILES)}). Save the model's own "
            "there: AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)."
        )


def summary_of(error: Exception) -> str:
    """Return the class and, on one line, the beginning of the message of a library's error."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:SAID]}"


def unloadable(directory: Path, error: Exception, what: str = "causal language") -> LingprobError:
    """Return the LingprobError for an error of transformers in loading a model of a kind."""
    said = summary_of(error)
    if is_out_of_memory(error):
        told = (
            f"this machine ran out of memory while the weights were read ({said}). Give the job "
            "more memory, or choose a smaller model."
        )
    elif "trust_remote_code" in str(error):
        told = (
            "wants code of its own (`auto_map` in its files), which is never run. Take a model "
            "whose architecture transformers knows, or bring its scores (`source: scores`)."
        )
    elif (quantised := quantisation_of(directory)) is not None:
        method, package = quantised
        told = (
            f"its weights are quantised by {method}, and could not be read ({said}). Install "
            f"{package} and use a device that it supports, or take the model in full precision."
        )
    elif "Unrecognized configuration class" in str(error):
        kind = read_json(directory / "config.json").get("model_type", "unknown")
        told = (
            f"not a {what} model that transformers can load (its `model_type` is {kind!r}). Choose "
            "another model."
        )
    elif isinstance(error, ImportError):
        told = f"it needs a package that is missing here ({said}). Install it."
    else:
        told = (
            f"not a {what} model that transformers can load ({said}). Check config.json, and that "
            "all files are complete and of one model."
        )
    return LingprobError(f"{directory}: {told}")


def convert_pickles(directory: Path, names: Sequence[str]) -> list[str]:
    """Replace a folder's pickled weights by safetensors, and return the names of the new files.

    `names` are one pickle, or an index and its parts. Raises LingprobError for a pickle with
    anything but tensors.
    """
    from safetensors.torch import save_file

    places: dict[str, str] = {}
    parts = [name for name in names if name.endswith(".bin")]
    for part in parts:
        weights = _read_tensors(directory / part)
        new = part.replace("pytorch_model", "model").removesuffix(".bin") + ".safetensors"
        with atomic_path(directory / new) as temporary:
            # Copies, because the format does not allow weights that share memory.
            copies = {name: tensor.clone().contiguous() for name, tensor in weights.items()}
            save_file(copies, temporary, metadata={"format": "pt"})
        places |= dict.fromkeys(weights, new)
    made = list(dict.fromkeys(places.values()))
    if len(names) > len(parts):
        index = {"metadata": {}, "weight_map": places}
        write_text(json.dumps(index, indent=1), directory / "model.safetensors.index.json")
        made.append("model.safetensors.index.json")
    for name in names:
        (directory / name).unlink()
    return made


def _read_tensors(path: Path) -> dict[str, Any]:
    """Return the tensors of a pickle by name. Raise LingprobError if it has anything else."""
    import torch

    told = f"{path}: damaged, or more than weights by name. Take a revision that has safetensors."
    try:
        content = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise LingprobError(told) from error
    if not isinstance(content, dict) or not all(map(torch.is_tensor, content.values())):
        raise LingprobError(told)
    return content


def write_manifest(name: str, source: str, origin: str, directory: Path, manifest: Path) -> None:
    """Write the manifest of the model `name` in `directory`, and STAMPS next to the manifest."""
    stamps = file_stamps(directory)  # before the digest, so that changes meanwhile are noticed
    content = {
        "model": name,
        "source": source,
        "origin": origin,
        "directory": seen_from(manifest, directory),
        "tokenizer_sha256": tokenizer_digest(directory),
        "files_digest": files_digest(directory),
    }
    write_text(json.dumps(content, indent=2) + "\n", manifest)
    stamped = {"files_digest": content["files_digest"], "files": stamps}
    write_text(json.dumps(stamped), manifest.with_name(STAMPS))


def read_manifest(path: str | Path) -> dict[str, str]:
    """Return the content of a manifest, with `directory` relative to the working folder."""
    content: dict[str, str] = read_json(Path(path))
    if "directory" not in content:
        raise LingprobError(f"{path}: {NO_MANIFEST}")
    directory = os.path.normpath(Path(path).parent / content["directory"])
    if not Path(directory).is_dir():
        raise LingprobError(
            f"{path}: the model's files are not in {directory}. Put them back, or delete this file."
        )
    return {**content, "directory": directory}


def read_unchanged(manifest: str | Path) -> dict[str, str]:
    """Return `read_manifest`. Raise LingprobError if the model's files have changed since."""
    content = read_manifest(manifest)
    if missing := [key for key in KEPT if key not in content]:
        raise LingprobError(f"{manifest}, without {', '.join(missing)}: {NO_MANIFEST}")
    if not is_unchanged(Path(manifest), content):
        raise LingprobError(
            f"{content['directory']}: the model's files have changed since {manifest} was written, "
            "or are damaged. Restore them, or delete the manifest to have the model prepared again."
        )
    return content


def is_unchanged(manifest: Path, content: dict[str, str]) -> bool:
    """Tell whether a model's files are those that the content of its manifest describes.

    If a file's stamp has changed, as after copying, the digest decides. It takes a second per GB.
    """
    directory, digest = Path(content["directory"]), content.get("files_digest")
    stamped = {"files_digest": digest, "files": file_stamps(directory)}
    return read_json(manifest.with_name(STAMPS)) == stamped or files_digest(directory) == digest


def seen_from(manifest: Path, directory: Path) -> str:
    """Return a directory's path relative to the manifest's folder, if it lies there."""
    if directory.is_absolute() and not directory.is_relative_to(manifest.parent):
        return str(directory)
    return os.path.relpath(directory, manifest.parent)


def model_files(directory: Path) -> list[Path]:
    """Return the files in a directory (if any), sorted, except hidden ones and the manifest."""
    found = sorted(path for path in directory.glob("[!.]*") if path.is_file())
    return [path for path in found if path.name != "manifest.json"]


def files_by_name(directory: Path) -> dict[str, Path]:
    """Return a model's files by name, with those of an adapter's base model as base/NAME."""
    files = {path.name: path for path in model_files(directory)}
    if (base := stated_base(directory)) is not None:
        files |= {f"base/{path.name}": path for path in model_files(base)}
    return files


def file_stamps(directory: Path) -> dict[str, list[int]]:
    """Return the inode, size and times (ns) of a model's files (`files_by_name`)."""
    stamps = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    return {name: [*stamps(path.stat())] for name, path in files_by_name(directory).items()}


def files_digest(directory: Path) -> str:
    """Return a digest of the names and contents of a model's files (`files_by_name`)."""
    return identity_of({name: sha256_of(path) for name, path in files_by_name(directory).items()})


def tokenizer_digest(directory: Path) -> str:
    """Return the sha256 of the tokenizer's main file, or '' if no file has a known name."""
    found = (directory / name for name in TOKENIZER_FILES)
    return next((sha256_of(path) for path in found if path.is_file()), "")
