"""A tokenizer alone: a prepared model's, or a downloaded tokenizer.json."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.files import sha256_of
from lingprob.models.architectures import register
from lingprob.models.manifest import read_manifest
from lingprob.models.safe_files import ONLY_DATA, unloadable

logger = logging.getLogger(__name__)

SPECIAL_TOKENS = (
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
)  # fmt: skip
# Texts that tokenizers treat differently: digits, ligatures, decomposed accents, no-break spaces,
# Chinese characters, emoji, leading and repeated spaces, line ends, contractions and capitals.
PROBES = (
    "The keys are old.",
    "In 1984 there were 650841823 of them.",
    "Add ½ cup, or ² and Ⅳ.",
    "The ﬁlms… are ﬂat.",
    "cafe\u0301 na\u00efve",
    "10\u00a0km\u202fand",
    "狗看见我。",
    "I am 🙂 here.",
    " leading",
    "two  spaces",
    "line\nend\t.",
    "He's COMING, isn't he?",
)


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A fast tokenizer of transformers, the number of its ids, and the sha256 of its file."""

    tokenizer: Any
    vocabulary_size: int
    sha256: str

    def id_of(self, token: str) -> int:
        """Return the id of a token of the vocabulary, e.g. <|endoftext|>."""
        return int(self.tokenizer.convert_tokens_to_ids(token))

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids, blanks at its start included."""
        return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))


def encode(tokenizer: Any, texts: Sequence[str], *, offsets: bool = False) -> Any:
    """Tokenise texts in one batch; special tokens are neither added nor recognised.

    Texts are tokenised in parallel, on as many threads as RAYON_NUM_THREADS says. Returns each
    text's `input_ids` and, where wanted, `offset_mapping`: (start, end) in characters.
    """
    return tokenizer(
        list(texts),
        add_special_tokens=False,
        split_special_tokens=True,
        return_attention_mask=False,
        return_token_type_ids=False,
        return_offsets_mapping=offsets,
        verbose=False,
    )


def open_tokenizer(manifest: str | Path) -> Tokenizer:
    """Open the tokenizer of a model's manifest.json, or of the data set of a manifest.tsv."""
    if Path(manifest).suffix == ".json":
        tokenizer, size = load_tokenizer(manifest)
        return Tokenizer(tokenizer, size, read_manifest(manifest)["tokenizer_sha256"])
    from transformers import PreTrainedTokenizerFast

    (name,) = pd.read_csv(manifest, sep="\t")["name"]
    path = Path(manifest).parent / name
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
    return Tokenizer(tokenizer, len(tokenizer), sha256_of(path))


def load_tokenizer(manifest: str | Path) -> tuple[Any, int]:
    """Load a prepared model's tokenizer without its weights.

    Returns the tokenizer and the number of logits. If the folder's files state both, transformers'
    models and torch are not imported, which takes three times as long as all the rest.
    """
    directory = Path(read_manifest(manifest)["directory"])
    register(directory)
    try:
        return read_tokenizer(directory), _number_of_logits(directory)
    except LingprobError:
        raise
    except Exception as error:  # transformers raises many kinds of errors for damaged files
        raise unloadable(directory, error) from error


def read_tokenizer(directory: Path) -> Any:
    """Read the tokenizer of a folder as its tokenizer.json states it.

    transformers rebuilds a tokenizer from its class's name and can lose normalisers,
    pre-tokenizers and merges that tokenizer.json has. Only if that file is absent (for instance
    vocab.json with merges.txt) does transformers choose the tokenizer.

    Raises LingprobError if the tokenizer is random (dropout of merges) or wants code of its own.
    """
    path = directory / "tokenizer.json"
    if not path.is_file():
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
    if _content(directory / "tokenizer_config.json").get("auto_map"):
        raise unloadable(directory, ValueError("trust_remote_code"))
    from tokenizers import Tokenizer as Backend
    from transformers import PreTrainedTokenizerFast

    backend = Backend.from_file(str(path))
    if getattr(backend.model, "dropout", None):
        raise LingprobError(
            f"{path}: the tokenizer leaves out merges at random (`dropout`), so that a sentence "
            "has no fixed tokens. Set `dropout` to null in that file."
        )
    backend.no_truncation()
    backend.no_padding()
    return PreTrainedTokenizerFast(tokenizer_object=backend, **_settings(directory, backend))


def name_different_tokens(directory: Path) -> None:
    """Log the probe strings that transformers' own tokenizer of a folder splits differently.

    tokenizer.json is what counts. Nothing is logged if the folder lacks it, or if transformers
    cannot load its tokenizer.
    """
    if not (directory / "tokenizer.json").is_file():
        return
    from transformers import AutoTokenizer

    try:
        other = AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
    except Exception:  # tokenizer.json is read all the same
        return
    stated = encode(read_tokenizer(directory), PROBES)["input_ids"]
    rebuilt = encode(other, PROBES)["input_ids"]
    texts = [
        probe
        for probe, one, two in zip(PROBES, stated, rebuilt, strict=True)
        if list(one) != list(two)
    ]
    if texts:
        logger.warning(
            "%s: tokens are those of its tokenizer.json. transformers' %s would split these "
            "differently: %s",
            directory, type(other).__name__, ", ".join(map(repr, texts)),
        )  # fmt: skip


def _settings(directory: Path, backend: Any) -> dict[str, Any]:
    """Return the special tokens of a folder that its vocabulary has, and the longest input."""
    config = _content(directory / "tokenizer_config.json")
    stated = {**_content(directory / "special_tokens_map.json"), **config}
    if not stated.keys() & {"bos_token", "eos_token", "cls_token", "mask_token"}:
        stated = {**_class_defaults(directory), **stated}
    tokens = {name: _text_of(stated.get(name)) for name in SPECIAL_TOKENS}
    found = {
        name: token
        for name, token in tokens.items()
        if token is not None and backend.token_to_id(token) is not None
    }
    longest = config.get("model_max_length")
    return {**found, **({} if longest is None else {"model_max_length": int(longest)})}


def _class_defaults(directory: Path) -> dict[str, Any]:
    """Return the special tokens that transformers assumes for a folder that states none."""
    from transformers import AutoTokenizer

    try:
        return dict(AutoTokenizer.from_pretrained(directory, **ONLY_DATA).special_tokens_map)
    except Exception:  # the folder has no more than its tokenizer.json
        return {}


def _text_of(token: Any) -> str | None:
    """Return the text of a special token, which files write as a string or as a mapping."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _number_of_logits(directory: Path) -> int:
    content = _content(directory / "config.json")
    size = content.get("vocab_size")
    parts = [part for part in content.values() if isinstance(part, dict)]
    # It may be a part's number that counts, or its architecture's usual one.
    if size is None or any("vocab_size" in part for part in parts):
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(directory, **ONLY_DATA)
        size = config.get_text_config().vocab_size
    return int(size)


def _content(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
