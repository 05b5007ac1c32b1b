"""From a corpus to the folder of an n-gram model."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from transformers import PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.ngrams.counted import count_ngrams
from lingprob.ngrams.lmplz import estimate_arpa
from lingprob.ngrams.model import as_language_model
from lingprob.ngrams.tables import NgramTables, as_numerals, read_arpa
from lingprob.ngrams.tokens import sentences, with_mark, word_tokenizer

logger = logging.getLogger(__name__)


def estimate_model(
    documents: Callable[[], Iterable[str]],
    order: int,
    directory: Path,
    *,
    tokenizer: PreTrainedTokenizerBase | None = None,
    vocabulary_size: int | None = None,
    least_count: int = 2,
    programs: Path | None = None,
    memory_mb: int = 1000,
) -> None:
    """Estimate an n-gram model with modified Kneser-Ney smoothing and save it.

    Every line of a document is a sentence: its first token follows the mark, which follows its
    last one.

    Args:
        documents: streams the corpus's texts; called once or twice.
        order: tokens of the longest n-grams.
        directory: of the files, which transformers loads.
        tokenizer: whose tokens are counted; None: words of the corpus itself.
        vocabulary_size: logits of the tokenizer's model, where it has more than tokens.
        least_count: of words of the corpus itself that are not `<unk>`.
        programs: the directory of `obtain_programs`, for KenLM to estimate; None: counted here.
        memory_mb: that KenLM may take.

    Raises LingprobError if the corpus has no text, or KenLM fails.
    """
    if tokenizer is None:
        tokenizer = word_tokenizer(documents(), least_count)
    mark = with_mark(tokenizer, str(tokenizer.name_or_path))
    vocabulary_size = max(vocabulary_size or 0, len(tokenizer))
    text = sentences(documents(), tokenizer)
    if programs is None:
        tables = count_ngrams(list(text), order, vocabulary_size, mark)
    else:
        directory.mkdir(parents=True, exist_ok=True)
        arpa = directory / ".model.arpa"
        try:
            estimate_arpa(
                programs, as_numerals(text), order, memory_mb, arpa, vocabulary=vocabulary_size
            )
            tables = read_arpa(arpa, vocabulary_size, mark)
        finally:
            arpa.unlink(missing_ok=True)
    _save(tables, mark, tokenizer, directory)


def _save(
    tables: NgramTables, mark: int, tokenizer: PreTrainedTokenizerBase, directory: Path
) -> None:
    transformers_logging.disable_progress_bar()
    sizes = [tables.vocabulary_size, *map(len, tables.keys[1:])]
    logger.info("n-grams by order: %s", ", ".join(f"{size:,}" for size in sizes))
    try:
        as_language_model(tables, mark).save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    except OSError as error:
        raise LingprobError(
            f"{directory}: the model could not be saved ({error}). Free some space and run again."
        ) from error
