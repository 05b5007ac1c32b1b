"""Read tokenizers without their models, tokenise texts, and find letters that tokenizers lack."""

import importlib
import json
import logging
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up
from lingprob.io.files import sha256_of
from lingprob.io.text_units import refuse_halves
from lingprob.models.folders import ONLY_DATA, read_json, read_manifest, summary_of, unloadable

logger = logging.getLogger(__name__)

SPECIAL_TOKENS = [f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
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
# The module that registers each `model_type` of config.json. It is named, not imported, so that a
# change of the module repeats the scoring of no other models.
OWN = {"ngram": "lingprob.ngrams.model"}
# Soft hyphen, zero-width space, word joiner and byte-order mark, as copies of web pages have them.
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
SHOWN = 10  # letters that a message lists


@dataclass(frozen=True)
class Tokens:
    """A text's token ids, and their starts and ends (exclusive) in characters, int32 (n,) each."""

    ids: np.ndarray
    char_start: np.ndarray
    char_end: np.ndarray

    def beginning_before(self, end: int) -> "Tokens":
        """Return the tokens that begin before the character `end`."""
        n = int(np.searchsorted(self.char_start, end))
        return Tokens(self.ids[:n], self.char_start[:n], self.char_end[:n])


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A fast tokenizer of transformers, the number of its ids, and the sha256 of its file."""

    tokenizer: Any
    vocabulary_size: int
    sha256: str

    def id_of(self, token: str) -> int:
        """Return the id of a token, e.g. <|endoftext|>. Raises LingprobError if there is none."""
        found = self.tokenizer.get_vocab().get(token)
        if found is None:
            raise LingprobError(
                f"the tokenizer has no token {token!r}. Correct `separator` of the corpus's entry."
            )
        return int(found)

    def decode(self, ids: list[int]) -> str:
        """Return the text of token ids. Spaces at its start and before punctuation are kept."""
        return str(self.tokenizer.decode(ids, clean_up_tokenization_spaces=False))


def encode(tokenizer: Any, texts: Sequence[str], *, offsets: bool = False) -> Any:
    """Return `input_ids` and, if `offsets`, `offset_mapping` of the texts, as lists by text.

    An offset is a (start, end) in characters. Special tokens are neither added nor recognised.
    Raises LingprobError for a text that the tokenizer cannot read.
    """
    try:
        return tokenizer(
            list(texts),
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            return_offsets_mapping=offsets,
            verbose=False,
        )
    except Exception as error:  # the library's errors have no class of their own
        refuse_halves(texts, "text")
        raise LingprobError(
            f"the tokenizer cannot read a text ({error}). Correct it, or choose another model."
        ) from error


def tokens_of(encoded: Any) -> list[Tokens]:
    """Return the Tokens of each text from the result of `encode` with offsets."""
    tokens = []
    for ids, spans in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True):
        offsets = np.asarray(spans, dtype=np.int32).reshape(-1, 2)
        tokens.append(Tokens(np.asarray(ids, dtype=np.int32), offsets[:, 0], offsets[:, 1]))
    return tokens


def open_tokenizer(manifest: str | Path) -> Tokenizer:
    """Return the tokenizer of a model's manifest.json, or of the data set of a manifest.tsv.

    If a model's files state the number of logits, torch is not imported, which would take three
    times as long as all the rest.
    """
    if Path(manifest).suffix == ".json":
        content = read_manifest(manifest)
        directory = Path(content["directory"])
        register(directory)
        try:
            tokenizer, size = read_tokenizer(directory), _number_of_logits(directory)
        except LingprobError:
            raise
        except Exception as error:  # transformers raises many kinds of errors for damaged files
            raise unloadable(directory, error) from error
        return Tokenizer(tokenizer, size, content["tokenizer_sha256"])
    from transformers import PreTrainedTokenizerFast

    (name,) = pd.read_csv(manifest, sep="\t")["name"]
    path = Path(manifest).parent / name
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(path))
    return Tokenizer(tokenizer, len(tokenizer), sha256_of(path))


def read_tokenizer(directory: Path) -> Any:
    """Return the tokenizer of a folder as its tokenizer.json states it.

    transformers rebuilds a tokenizer from the name of its class, and can lose parts of that file.
    So AutoTokenizer is used only without it (for instance with vocab.json and merges.txt).

    Raises LingprobError if the tokenizer drops merges at random or needs code from the folder.
    """
    path = directory / "tokenizer.json"
    if not path.is_file():
        from transformers import AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
        except (ImportError, ValueError) as error:
            if "trust_remote_code" in str(error):
                raise
            raise LingprobError(
                f"{directory}: no tokenizer.json, and transformers cannot make it of other files "
                f"({summary_of(error)}). Make it with the packages that this names: "
                "AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER)."
            ) from error
    if _content(directory / "tokenizer_config.json").get("auto_map"):
        raise unloadable(directory, ValueError("trust_remote_code"))
    from tokenizers import Tokenizer as Backend
    from transformers import PreTrainedTokenizerFast

    try:
        backend = Backend.from_file(str(path))
    except Exception as error:  # of no class of its own
        raise ValueError(f"{path.name}: {error}") from error
    if getattr(backend.model, "dropout", None):
        raise LingprobError(
            f"{path}: the tokenizer leaves out merges at random. Set `dropout` to null there."
        )
    backend.no_truncation()
    backend.no_padding()
    return PreTrainedTokenizerFast(tokenizer_object=backend, **_settings(directory, backend))


def name_different_tokens(directory: Path) -> None:
    """Log the texts PROBES that AutoTokenizer and a folder's tokenizer.json split differently.

    Nothing is logged if the folder has no tokenizer.json, or if AutoTokenizer cannot load it.
    """
    other = _rebuilt(directory) if (directory / "tokenizer.json").is_file() else None
    if other is None:
        return
    stated = encode(read_tokenizer(directory), PROBES)["input_ids"]
    rebuilt = encode(other, PROBES)["input_ids"]
    ids = zip(PROBES, stated, rebuilt, strict=True)
    if texts := [probe for probe, one, two in ids if list(one) != list(two)]:
        logger.warning(
            "%s: tokens are those of its tokenizer.json. transformers' %s would split these "
            "differently: %s",
            directory, type(other).__name__, ", ".join(map(repr, texts)),
        )  # fmt: skip


def _settings(directory: Path, backend: Any) -> dict[str, Any]:
    """Return the special tokens of a folder that are in its vocabulary, and model_max_length."""
    config = _content(directory / "tokenizer_config.json")
    listed = _content(directory / "special_tokens_map.json")
    # As in transformers, the list of an older folder counts before its tokenizer_config.json.
    stated = listed | config if "added_tokens_decoder" in config else config | listed
    if not stated.keys() & {"bos_token", "eos_token", "cls_token", "mask_token"}:
        stated = {**getattr(_rebuilt(directory), "special_tokens_map", {}), **stated}
    tokens = {name: _text_of(stated.get(name)) for name in SPECIAL_TOKENS}
    # The model's own unknown token counts, because a folder may state another one or none.
    tokens["unk_token"] = _unknown_token(directory, backend) or tokens["unk_token"]
    found: dict[str, Any] = {
        name: token
        for name, token in tokens.items()
        if token is not None and backend.token_to_id(token) is not None
    }
    if (longest := config.get("model_max_length")) is not None:
        found["model_max_length"] = int(longest)
    return found


def _unknown_token(directory: Path, backend: Any) -> str | None:
    """Return the token of tokenizer.json for text that its vocabulary lacks, if it has one."""
    from tokenizers.models import Unigram

    if not isinstance(backend.model, Unigram):
        token = backend.model.unk_token
    else:
        place = _content(directory / "tokenizer.json")["model"].get("unk_id")
        token = None if place is None else backend.id_to_token(place)
    return token if token and backend.token_to_id(token) is not None else None


def _rebuilt(directory: Path) -> Any | None:
    """Return the tokenizer that transformers makes by the name of its class, None if it cannot."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(directory, **ONLY_DATA)
    except Exception:  # of many kinds; tokenizer.json is used anyway
        return None


def _text_of(token: Any) -> str | None:
    """Return the text of a special token, which files write as a string or as a mapping."""
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else None


def _number_of_logits(directory: Path) -> int:
    """Return the `vocab_size` of a folder's config.json."""
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
    """Return the content of a JSON file, {} if it is absent."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig")) if path.is_file() else {}
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error


def register(directory: Path) -> None:
    """Register the architecture of a model's folder with transformers, if it is one of OWN."""
    if module := OWN.get(str(read_json(directory / "config.json").get("model_type"))):
        importlib.import_module(module)


@dataclass(frozen=True)
class Letters:
    """Check whether a tokenizer has tokens for all letters of texts.

    `unknown_id` is that of the token for unknown text, if any. `composes` means that the tokenizer
    normalises text, so that an accent may be part of the letter before it. `choice` is `warn` (log
    texts with unknown letters) or `refuse` (raise LingprobError).
    """

    unknown_id: int | None = None
    composes: bool = False
    choice: str = "warn"

    @staticmethod
    def of(tokenizer: Any, choice: str = "warn") -> "Letters":
        """Return the check for one of transformers' fast tokenizers."""
        looked_up("choice of unknown letters", choice, {"warn": None, "refuse": None})
        composes = tokenizer.backend_tokenizer.normalizer is not None
        return Letters(tokenizer.unk_token_id, composes, choice)

    def check(self, texts: Sequence[str], tokens: Sequence[Tokens]) -> None:
        """Log, or refuse, texts that have letters without a token. Log invisible characters."""
        warn_of_invisible(texts)
        found: dict[str, None] = {}
        affected = []
        for text, spans in zip(texts, tokens, strict=True):
            if lost := self.lost(text, spans):
                affected.append(text)
                found.update(dict.fromkeys(lost))
        if not affected:
            return
        said = (
            f"the tokenizer has no token for {', '.join(map(repr, list(found)[:SHOWN]))}. Texts "
            "that differ only in such letters are the same to it. This affects "
            f"{len(affected)} texts, such as {affected[0]!r}."
        )
        if self.choice == "refuse":
            raise LingprobError(f"{said} Choose a model whose tokenizer covers the texts.")
        logger.warning("%s", said)

    def lost(self, text: str, tokens: Tokens) -> list[str]:
        """Return the letters of a text that its tokens lack or replace by the unknown token."""
        unknown = () if self.unknown_id is None else np.flatnonzero(tokens.ids == self.unknown_id)
        covered = np.zeros(len(text) + 1, dtype=np.int64)
        np.add.at(covered, tokens.char_start, 1)
        np.add.at(covered, tokens.char_end, -1)
        gaps = np.flatnonzero(np.cumsum(covered)[:-1] <= 0)
        categories = {place: unicodedata.category(text[place]) for place in gaps.tolist()}
        # White space, control marks, and accents that were composed with their letters.
        fine = ("Z", "Cc", "Cf", *("M" * self.composes))
        lost = [text[place] for place, kind in categories.items() if not kind.startswith(fine)]
        for token in unknown:
            lost += text[tokens.char_start[token] : tokens.char_end[token]].strip()
        return lost


def warn_of_invisible(texts: Sequence[str]) -> None:
    """Log a warning about characters that models see and readers do not."""
    hidden = [(text, found[0]) for text in texts
              if not text.isascii() and (found := INVISIBLE.search(text))]  # fmt: skip
    if hidden:
        text, letter = hidden[0]
        logger.warning(
            "the text %r has the invisible character U+%04X, which may change its tokens (%d such "
            "texts). Delete it unless it is meant.", text[:80], ord(letter), len(hidden),
        )  # fmt: skip
