"""Load a causal language model and its tokenizer from a local directory.

An adapter such as LoRA changes the weights of a base model in another folder. A prepared model is
one whose folder a manifest (`models.folders`) names.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.models.devices import choose_device
from lingprob.models.folders import (
    KEPT,
    ONLY_DATA,
    TOKENIZER_FILES,
    architectures_of,
    check_folder,
    is_masked,
    quantisation_of,
    read_json,
    read_unchanged,
    refuse_other_kinds,
    stated_base,
    summary_of,
    unloadable,
)
from lingprob.models.tokenizer import (
    Letters,
    Tokens,
    encode,
    name_different_tokens,
    read_tokenizer,
    register,
    tokens_of,
)

logger = logging.getLogger(__name__)

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
UNSTATED_CONTEXT_WINDOW = 2048
# Names of tables of learnt positions in transformers' models.
POSITION_TABLES = ("wpe", "embed_positions", "position_embeddings", "positions_embed")
BYTES = ("I8", "U8", "F8_E4M3", "F8_E5M2")  # kinds of numbers of 8 bits in safetensors
COMPILED = "_orig_mod."  # torch.compile's prefix of a weight's name


@dataclass(eq=False)
class LoadedModel:
    """A language model in evaluation mode, with its tokenizer.

    `context_window` is the largest number of tokens in one pass. `letters` checks texts for letters
    that the tokenizer lacks.
    """

    model: Any
    tokenizer: Any
    device: torch.device
    dtype: torch.dtype
    context_window: int
    directory: Path
    letters: Letters

    def encode(self, texts: Sequence[str]) -> tuple[Any, list[Tokens]]:
        """Return the result of `encode` and its Tokens, after checks of letters and ids."""
        encoded = encode(self.tokenizer, texts, offsets=True)
        tokens = tokens_of(encoded)
        self.letters.check(texts, tokens)
        self.check_id(max((int(one.ids.max()) for one in tokens if len(one.ids)), default=0))
        return encoded, tokens

    def check_id(self, token_id: int) -> None:
        """Raise LingprobError if a token's id is beyond the model's input embeddings."""
        embedded = getattr(self.model.get_input_embeddings(), "weight", None)
        # Perceiver returns its latent array, which has no row per token.
        rows = int(self.model.config.vocab_size if embedded is None else embedded.shape[0])
        if token_id >= rows:
            token = self.tokenizer.convert_ids_to_tokens(token_id)
            raise LingprobError(
                f"{self.directory}: the token {token!r} has the id {token_id}, and the model knows "
                f"the ids 0 to {rows - 1}. Choose another token, or the model's own tokenizer."
            )

    def check_finite(self, values: np.ndarray) -> None:
        """Raise LingprobError unless all log-probabilities are finite."""
        if not np.isfinite(values).all():
            raise LingprobError(
                f"{self.directory}: a log-probability is not finite in {self.dtype}. Set "
                "`scoring.dtype: float32`. If it is, the weights are damaged: fetch them again."
            )


@dataclass(eq=False)
class LanguageModel(LoadedModel):
    """A causal language model, with the number of logits in its softmax."""

    vocabulary_size: int

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Return the tokens of each text. Special tokens are neither added nor recognised."""
        return self.encode(texts)[1] if texts else []

    def start_id(self, start_token: str) -> int | None:
        """Return the id of the token that precedes every sentence, or None for 'none'.

        `start_token` is 'none', 'bos', 'eos', or a token of the vocabulary such as
        '<|endoftext|>'. Raises LingprobError if the tokenizer has no such single token.
        """
        if start_token == "none":
            return None
        if start_token in ("bos", "eos"):
            token_id = getattr(self.tokenizer, f"{start_token}_token_id")
        else:
            token_id = self.tokenizer.convert_tokens_to_ids(start_token)
            if start_token != self.tokenizer.unk_token and token_id == self.tokenizer.unk_token_id:
                token_id = None
        if token_id is None:
            known = ", ".join(map(repr, sorted(self.tokenizer.all_special_tokens))) or "none"
            raise LingprobError(
                f"{self.directory}: the tokenizer has no single token for {start_token!r}. Its "
                f"special tokens: {known}. Name one of them, or 'none'."
            )
        self.check_id(int(token_id))
        return int(token_id)


def load_language_model(
    directory: str | Path,
    *,
    device: str = "auto",
    dtype: str = "auto",
    device_map: str = "single",
    context_window: int | None = None,
    unknown_letters: str = "warn",
) -> LanguageModel:
    """Load the causal language model, or the adapter, in `directory` without the network.

    `dtype` is a name in DTYPES, or auto: the checkpoint's on an NVIDIA GPU, float32 elsewhere.
    `device_map` auto spreads the model over all GPUs. `context_window` (tokens) limits the model's
    own. `unknown_letters` is `warn` or `refuse`.

    Raises LingprobError if the directory has no model with a fast tokenizer, needs code of its
    own, has weights that are a pickle or do not fit config.json, or if the device is absent.
    """
    directory, place = Path(directory), choose_device(device)
    spread = "auto" if device_map == "auto" else None
    model, tokenizer = _load(directory, dtype=choose_dtype(dtype, place), device_map=spread)
    if spread is None:
        model = model.to(place)
    model.eval().requires_grad_(False)
    return LanguageModel(
        model=model,
        tokenizer=tokenizer,
        device=model.get_input_embeddings().weight.device,
        dtype=model.dtype,
        context_window=choose_context_window(model, context_window),
        directory=directory,
        vocabulary_size=int(model.get_output_embeddings().weight.shape[0]),
        letters=Letters.of(tokenizer, unknown_letters),
    )


def check_language_model(directory: str | Path, *, masked: bool = False) -> None:
    """Raise LingprobError if loading a model would, reading only the shapes of weights.

    It logs texts that transformers' own tokenizer splits differently.
    """
    read = read_masked if masked else _load
    read(Path(directory), device_map="meta")
    name_different_tokens(Path(directory))


def read_masked(directory: Path, **options: Any) -> tuple[Any, Any]:
    """Return the masked language model and the tokenizer in a folder (`read_model`)."""
    model, tokenizer = read_model(AutoModelForMaskedLM, directory, directory, **options)
    if tokenizer.mask_token_id is None:
        raise LingprobError(f"{directory}: its tokenizer has no mask token. Choose another model.")
    return model, tokenizer


def _load(directory: Path, **options: Any) -> tuple[Any, Any]:
    """Return the causal model and the tokenizer in a folder, an adapter merged into its base."""
    folder = base_of(directory) or directory
    if is_masked(folder):
        raise LingprobError(f"{folder}: a masked model. Write `kind: masked` in its entry.")
    own = any((directory / name).is_file() for name in TOKENIZER_FILES)
    tokens_from = directory if own else folder
    model, tokenizer = read_model(AutoModelForCausalLM, folder, tokens_from, **options)
    if folder != directory and options.get("device_map") != "meta":
        from peft import PeftModel

        try:
            adapted = PeftModel.from_pretrained(model, str(directory), local_files_only=True)
            model = adapted.merge_and_unload()
        except Exception as error:  # peft's own, of many kinds
            raise LingprobError(
                f"{directory}: its adapter cannot be merged into {folder} ({summary_of(error)}). "
                "Choose an adapter such as LoRA, with the base model that it was made for."
            ) from error
    return model, tokenizer


def read_model(
    kind: type[AutoModelForCausalLM | AutoModelForMaskedLM],
    folder: Path,
    tokens_from: Path,
    **options: Any,
) -> tuple[Any, Any]:
    """Return the model in `folder` and the tokenizer in `tokens_from`, often the same.

    `options` are those of `from_pretrained`. Raises LingprobError that names the fault.
    """
    check_folder(folder)
    refuse_other_kinds(folder)
    if all((folder / f"model.safetensors{end}").is_file() for end in ("", ".index.json")):
        logger.warning("%s: has weights in one file and in parts. The one file, model.safetensors, "
                       "is read. Delete the wrong ones.", folder)  # fmt: skip
    register(folder)
    # Its bars and reports would fill the screen between this package's progress and messages.
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    try:
        tokenizer = read_tokenizer(tokens_from)
        model, report = kind.from_pretrained(
            folder, use_safetensors=True, output_loading_info=True,
            ignore_mismatched_sizes=True, **ONLY_DATA, **options,
        )  # fmt: skip
    except (torch.OutOfMemoryError, LingprobError):
        raise
    except Exception as error:  # transformers raises many kinds of errors for damaged files
        what = "masked" if kind is AutoModelForMaskedLM else "causal"
        raise unloadable(folder, error, f"{what} language") from error
    _check_fit(folder, model, report)
    _name_other_architecture(folder, model)
    for config in (model.config, model.config.get_text_config()):
        config.return_dict = True
    if not tokenizer.is_fast:
        raise LingprobError(f"{folder}: needs a fast tokenizer (tokenizer.json), for offsets.")
    return model, tokenizer


def _name_other_architecture(folder: Path, model: Any) -> None:
    """Log the architecture of config.json if transformers does not know it."""
    unknown = [name for name in architectures_of(folder) if not hasattr(transformers, name)]
    if unknown and type(model).__module__.startswith("transformers."):
        logger.warning(
            "%s: transformers does not know the architecture %s and takes %s. Check that the two "
            "are the same.", folder, unknown[0], type(model).__name__,
        )  # fmt: skip


def _check_fit(directory: Path, model: Any, report: dict[str, Any]) -> None:
    """Raise LingprobError if weights are missing or do not fit config.json.

    `report` is from `from_pretrained` with `output_loading_info`.
    """
    unexpected = report["unexpected_keys"]
    kinds = {_kind(name) for name in model.state_dict()}
    other_shapes = [
        f"{name} of shape {tuple(found)} where {tuple(wanted)} is needed"
        for name, found, wanted in report["mismatched_keys"]
    ]
    of_bytes = [] if quantisation_of(directory) else _in_bytes(directory, model)
    faults = {
        f"were saved from a compiled model, as the prefix {COMPILED} shows": [
            name for name in unexpected if name.startswith(COMPILED)
        ],
        "are missing": report["missing_keys"],
        "do not fit config.json": other_shapes,
        "have 8 bits, without a method of quantisation in config.json": of_bytes,
        "are of layers beyond those of config.json": [
            name for name in unexpected if _kind(name) in kinds
        ],
        "are of parts that the layers of config.json lack, such as biases, norms or adapters": [
            name for name in unexpected if _is_of_a_layer(name, model)
        ],
    }
    for fault, names in faults.items():
        if names:
            raise LingprobError(
                f"{directory}: {len(names)} weights {fault}, for instance {min(names)}. Is "
                "config.json of another model? Correct it, or take the weights that belong to it."
            )


def _in_bytes(directory: Path, model: Any) -> list[str]:
    """Return the names of stored weights of 8 bits that are numbers of more bits in the model."""
    wide = {name for name, weight in model.named_parameters() if weight.element_size() > 1}
    named = wide | {name.removeprefix(f"{model.base_model_prefix}.") for name in wide}
    found = []
    for path in directory.glob("*.safetensors"):
        with safe_open(path, "pt") as stored:
            of_model = sorted(named & {*stored.keys()})
            found += [name for name in of_model if stored.get_slice(name).get_dtype() in BYTES]
    return found


def _is_of_a_layer(name: str, model: Any) -> bool:
    """Tell whether an unexpected weight would change the output of a layer that the model has.

    Buffers of masks and frequencies, and other heads and towers, would not.
    """
    modules = dict(model.named_modules())
    parts = [*([model.base_model_prefix] if name.split(".")[0] not in modules else []),
             *name.split(".")]  # fmt: skip
    known = next(n for n in range(len(parts), -1, -1) if ".".join(parts[:n]) in modules)
    if len(parts) - known == 1 and not parts[-1].startswith("_"):
        return any(True for _ in modules[".".join(parts[:known])].parameters(recurse=False))
    return parts[-1] in ("weight", "bias") and any(part.isdigit() for part in parts[:known])


def _kind(name: str) -> str:
    """Return a weight's name with N for the number of its layer, the same for all layers."""
    return re.sub(r"\.\d+\.", ".N.", name)


def choose_dtype(name: str, device: torch.device) -> torch.dtype | str:
    """Return the `dtype` of `from_pretrained` for an argument of `load_language_model`."""
    if name == "auto":
        return "auto" if device.type == "cuda" else torch.float32
    if name not in DTYPES:
        raise LingprobError(f"scoring.dtype: {name!r} is not 'auto' or one of {list(DTYPES)}.")
    if device.type == "cpu" and name != "float32":
        logger.warning(
            "%s on a CPU is a preview only: it moves a sentence by up to several nats. "
            "Use float32 for results.", name,
        )  # fmt: skip
    return DTYPES[name]


def choose_context_window(model: Any, wanted: int | None = None) -> int:
    """Return the number of tokens in one pass: the model's own, or the smaller number `wanted`.

    The model's own is that of config.json, or of a table of positions that is shorter.
    """
    config = model.config.get_text_config()
    named = (getattr(config, name, None) for name in ("max_position_embeddings", "max_seq_len"))
    stated = next((length for length in named if length), None)
    own = min((n for n in (stated, _positions_of(model)) if n), default=None)
    if wanted is None:
        return int(own or UNSTATED_CONTEXT_WINDOW)
    return min(wanted, own or wanted)


def _positions_of(model: Any) -> int | None:
    """Return the number of learnt positions for tokens, or None if the model has no table of them.

    OPT's and BART's tables begin with two unused rows. RoBERTa's positions begin after its padding.
    """
    for name, module in model.named_modules():
        last = name.rsplit(".", 1)[-1]
        if isinstance(module, torch.nn.Embedding) and last in POSITION_TABLES:
            padding = getattr(module, "padding_idx", None)
            skipped = getattr(module, "offset", 0 if padding is None else padding + 1)
            return int(module.num_embeddings - skipped)
    return None


def base_of(directory: Path) -> Path | None:
    """Return the folder of the base model if `directory` has an adapter, and None otherwise.

    Raises LingprobError unless its base model is a folder here and the package peft is installed.
    """
    if not (directory / "adapter_config.json").is_file():
        return None
    config = read_json(directory / "adapter_config.json")
    base = stated_base(directory) or Path("unknown")
    mixed = (directory / "config.json").is_file() or not (base / "config.json").is_file()
    if mixed or find_spec("peft") is None:
        first = "" if mixed else "`pip install peft`, or "
        raise LingprobError(
            f"{directory}: a {config.get('peft_type', 'PEFT')} adapter of {str(base)!r}, whose "
            f"weights alone are not it. First {first}merge the two and save the result: "
            "PeftModel.from_pretrained(BASE, FOLDER).merge_and_unload().save_pretrained(NEW)."
        )
    return base


def load_prepared(
    manifest: str | Path,
    entry: dict[str, Any],
    device: str = "auto",
    dtype: str = "auto",
    device_map: str = "single",
    **options: str,
) -> tuple[LanguageModel, dict[str, str]]:
    """Return a prepared model and the provenance (`provenance_of`) of its results.

    Later arguments are those of `load_language_model`. `dtype` auto is that of the model's catalog
    entry for the device, and the context window is the entry's, if any.
    """
    content = read_unchanged(manifest)
    if dtype == "auto":
        on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
        dtype = entry.get("dtype", {}).get("cuda" if on_gpu else "cpu", "auto")
    options |= {"device": device, "dtype": dtype, "device_map": device_map}
    window = entry.get("context_window")
    lm = load_language_model(content["directory"], context_window=window, **options)
    return lm, provenance_of(content, lm)


def provenance_of(content: dict[str, str], lm: Any) -> dict[str, str]:
    """Return the keys KEPT of a manifest, and the dtype and device of a model, as metadata."""
    kept = {key: content[key] for key in KEPT}
    return {**kept, "dtype": str(lm.dtype), "device": lm.device.type}
