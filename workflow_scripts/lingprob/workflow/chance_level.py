"""Which corpus the chance level of overlaps is computed with.

Cheap to import: Snakemake asks at every start.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.overlap.kenlm_programs import missing_for_kenlm

PAPERS_CORPUS = "gigaword"  # leakage, §2.1
NO_TEXT = "token_rows"


def chance_level(overlap: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Return `ngrams`, the corpus or file of the n-gram model, and `no_chance_level`, why none.

    `auto` is the paper's corpus where its file is placed, else the first searched corpus of text,
    and none where KenLM is not at hand. What the user names is taken as it is.

    Raises LingprobError for `auto` where no searched corpus is text.
    """
    if overlap["ngrams"] != "auto":
        asked = overlap["ngrams"] is not None
        return {"no_chance_level": "" if asked else "overlap.ngrams is null"}
    if missing := missing_for_kenlm():
        return {"ngrams": None, "no_chance_level": missing}
    texts = [n for n in overlap["corpora"] if catalog.dataset(n)["parser"] != NO_TEXT]
    if is_placed(PAPERS_CORPUS, catalog):
        texts = [PAPERS_CORPUS, *texts]
    if not texts:
        raise LingprobError(
            "overlap.ngrams: none of overlap.corpora is text for a 5-gram model. "
            f"Name a corpus, place {PAPERS_CORPUS}, or set null."
        )
    return {"ngrams": texts[0], "no_chance_level": ""}


def is_placed(corpus: str, catalog: Catalog) -> bool:
    """Tell whether all files of a data set lie in resources/ or in a mirror that is a folder."""
    mirror = os.environ.get("LINGPROB_MIRROR")
    folders = [Path("resources/datasets"), *([Path(mirror).expanduser()] if mirror else [])]
    files = [Path(corpus, file["name"]) for file in catalog.dataset(corpus)["files"]]
    return all(any((folder / file).is_file() for folder in folders) for file in files)
