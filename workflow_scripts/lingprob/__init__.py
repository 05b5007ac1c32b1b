"""lingprob: how a language model's probabilities relate to human language.

    import lingprob
    lm = lingprob.load("smollm2-135m")  # or a folder, or a repository of the hub
    lm.score(["The cat sat.", "The cat sit."])

Code, tables, settings and messages use these words in one meaning:

    logprob         natural logarithm of a probability (nats), of a token or summed over tokens
    surprisal       -log2 p of a word or region (bits)
    start token     token before a text that is scored, or 'none'
    BOS policy      a start token, and whether a sentence's first token counts
    context         everything before a token or word; context window: tokens that a model sees
    prefix, target  sentences that precede a target, and the sentence scored after them
    window, stride  tokens of a longer text that are run at once, and the step to the next ones
    data set        an entry under `datasets` in the catalog, of one kind
    item, pair      a sentence of a data set, and two that differ in grammaticality
    paradigm        pairs of one pattern, of which a phenomenon has several
    text, passage   a text consists of passages, and a passage of words
    corpus, file    documents to search, count or train on, which lie in files
    document        a unit that is tokenised by itself and contains its matches and windows
    folded word     letters and digits without case; soft overlap: match of folded words with gaps
    chunk           unit that training data are selected in: 1,000 batches of Pythia's, or a file
    shard           a part of unfinished work, kept until all of it is there
    unigram source  published unigrams, a corpus, or unigrahams (samples of a model)
    mark            a token for both ends of a sentence in n-gram models
    linking function  a rating as a function of a sentence's logprob, length and unigram logprob
    masked model    predicts a token from both sides; correction: tokens masked together with it
    direction       how a model reads a text: from left to right, or (masked) from both sides
    scorer          a causal model, the fastest exact way to run it, and its budget of tokens
    convention      a setting that changes results, with the paper's value as default
    draw            one resample of a bootstrap, whose interval contains 95% of them
    judgment        a participant's rating of a sentence, or a model's choice in a pair
    room            a package of lingprob
    scale           the size of a run: demo, laptop or paper
    scorecard       published numbers and claims next to computed ones, each with a verdict
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lingprob.api.inputs import read_table as read_table
    from lingprob.api.model import Model as Model
    from lingprob.api.model import load as load
    from lingprob.api.overlap import certify as certify
    from lingprob.api.overlap import find_overlap as find_overlap
    from lingprob.errors import LingprobError as LingprobError
    from lingprob.stats.linking import fit_linking_functions as fit_linking_functions


def _give_numba_a_cache() -> None:
    """Let numba keep compiled functions in a temporary folder if it can write nowhere else.

    Without a folder that it can write to, it refuses to compile.
    """
    if "NUMBA_CACHE_DIR" in os.environ or os.access(__path__[0], os.W_OK):
        return
    try:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        os.makedirs(os.path.join(home, "numba"), exist_ok=True)
    except OSError:
        folder = tempfile.mkdtemp(prefix="lingprob-numba-")  # of this user and process alone
        os.environ["NUMBA_CACHE_DIR"] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


_give_numba_a_cache()
__version__ = "0.1.0"
# The module of each name, which is imported when the name is first used.
_PLACES = {
    "LingprobError": "lingprob.errors",
    "Model": "lingprob.api.model",
    "certify": "lingprob.api.overlap",
    "find_overlap": "lingprob.api.overlap",
    "fit_linking_functions": "lingprob.stats.linking",
    "load": "lingprob.api.model",
    "read_table": "lingprob.api.inputs",
}
__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    """Return one of the names above, and keep it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lingprob' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
