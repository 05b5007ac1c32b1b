"""What may be read of a model's folder: numbers and text, never code.

Reading a pickle can run what its maker wrote. PyTorch's restricted reader takes tensors alone, and
it is used in one place, for a hub's pinned and checksummed files that come in no other form.
"""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError, is_out_of_memory
from lingprob.io.files import atomic_path, write_text
from lingprob.models.kinds import quantisation_of, read_json

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model")
# For `from_pretrained`: nothing from the network, no code of the folder's own.
ONLY_DATA: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
SAID = 300  # characters of another library's message that an error repeats
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5")


def check_folder(directory: Path, *, what: str = "model") -> None:
    """Raise LingprobError unless a folder has config.json, safetensors and a tokenizer."""
    if not (directory / "config.json").is_file():
        raise LingprobError(
            f"{directory}: no {what} there (config.json is missing). The folder must be one that "
            "transformers can load: config.json, weights (.safetensors) and tokenizer files. Check "
            "its path."
        )
    if not any(directory.glob("*.safetensors")):
        pickles = sorted(path.name for path in directory.iterdir() if path.suffix in PICKLES)
        raise LingprobError(
            f"{directory}: its weights are in {pickles[0]}, and reading such a file can run code "
            "that its maker put there. If you trust them, convert them to safetensors: "
            "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(FOLDER) of transformers."
            if pickles
            else f"{directory}: no weights there (.safetensors). Add them, or correct the path."
        )
    if not any((directory / name).is_file() for name in TOKENIZER_FILES):
        raise LingprobError(
            f"{directory}: no tokenizer there ({', '.join(TOKENIZER_FILES)}). Save the model's own "
            "next to its weights: AutoTokenizer.from_pretrained(NAME).save_pretrained(FOLDER)."
        )


def unloadable(directory: Path, error: Exception, what: str = "causal language") -> LingprobError:
    """Build the error for a folder that transformers does not load."""
    said = " ".join(str(error).split())
    if is_out_of_memory(error):
        return LingprobError(
            f"{directory}: this machine ran out of memory while the weights were read ({said}). "
            "Give the job more memory, or choose a smaller model."
        )
    if "trust_remote_code" in said:
        return LingprobError(
            f"{directory}: wants code of its own (`auto_map` in its files), and code from a "
            "model's folder is never run. Take a model whose architecture transformers knows, or "
            "bring its log-probabilities as scores (`source: scores`)."
        )
    if (quantised := quantisation_of(directory)) is not None:
        method, package = quantised
        return LingprobError(
            f"{directory}: its weights are quantised by {method}, and could not be read "
            f"({said[:SAID]}). Install {package} and use a device that it supports, or take the "
            "model in full precision."
        )
    if "Unrecognized configuration class" in said:
        kind = read_json(directory / "config.json").get("model_type", "unknown")
        return LingprobError(
            f"{directory}: not a {what} model that transformers can load (its `model_type` is "
            f"{kind!r}, for which transformers has no such model). Choose another model."
        )
    return LingprobError(
        f"{directory}: not a {what} model that transformers can load ({type(error).__name__}: "
        f"{said[:SAID]}). Check that its files belong to one model and are complete."
    )


def convert_pickles(directory: Path, names: Sequence[str]) -> list[str]:
    """Write the weights in pickles (one, or an index and its parts) as safetensors; delete those.

    A file at a time is in memory, and an interruption leaves the pickles. Returns the new names.
    Raises LingprobError for a pickle that holds anything but tensors.
    """
    from safetensors.torch import save_file

    places: dict[str, str] = {}
    parts = [name for name in names if name.endswith(".bin")]
    for part in parts:
        weights = _read_tensors(directory / part)
        new = part.replace("pytorch_model", "model").removesuffix(".bin") + ".safetensors"
        with atomic_path(directory / new) as temporary:
            # A copy each: weights that share memory have no place in the format.
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
    import torch

    try:
        content = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise LingprobError(
            f"{path}: a pickle that is damaged or holds more than weights, and reading it could "
            "run code. Take a revision of the model that has safetensors."
        ) from error
    if not isinstance(content, dict) or not all(map(torch.is_tensor, content.values())):
        raise LingprobError(f"{path}: holds more than weights by name. Take a revision with those.")
    return content
