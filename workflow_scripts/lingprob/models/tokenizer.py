"""A tokenizer alone: a prepared model's, or a downloaded tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.files import sha256_of
from lingprob.models.architectures import register
from lingprob.models.manifest import read_manifest
from lingprob.models.safe_files import ONLY_DATA, unloadable


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
    """Load a prepared model's tokenizer without its weights; return it and the number of logits.

    Where both stand in the folder's files, transformers' models and torch are not imported for
    them: that takes three times as long as all the rest.
    """
    directory = Path(read_manifest(manifest)["directory"])
    register(directory)
    try:
        return _tokenizer(directory), _number_of_logits(directory)
    except Exception as error:  # whatever transformers makes of a stranger's files
        raise unloadable(directory, error) from error


def _tokenizer(directory: Path) -> Any:
    settings = _content(directory / "tokenizer_config.json")
    # The class whose tokenizers are their file and nothing else.
    if settings.get("tokenizer_class") == "TokenizersBackend":
        from transformers import TokenizersBackend

        return TokenizersBackend.from_pretrained(directory, **ONLY_DATA)
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(directory, **ONLY_DATA)


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
