"""lingprob: how a language model's probabilities relate to human language.

    import lingprob
    lm = lingprob.load("smollm2-135m")  # or a folder, or a repository of the hub
    lm.score(["The cat sat.", "The cat sit."])  # surprisal, compare and audit are alike

One word for one thing, in code, tables, settings and messages:

    logprob         natural logarithm of a probability (nats), of a token or summed over tokens
    surprisal       -log2 p of a word, a region or a toy string (bits); in files from elsewhere
                    also in nats
    start token     what precedes a text that is scored; 'none' for nothing
    BOS policy      a start token, and whether a sentence's first token counts
    context         all that precedes a token or word; context window: tokens that a model sees
    prefix          sentences before a target, cut at a length; its keys and values: `KeyValues`
    window, stride  tokens that are run at once in a longer text, and the step to the next ones
    data set        an entry of the catalog under `datasets`, of one kind: stimuli, corpus,
                    reading_texts, reading_times, unigrams, tokenizer, surprisals, overlaps or
                    accuracies
    item, pair      a sentence of a data set of stimuli; two that differ in grammaticality; an
                    item of a suite is all sentences that differ in condition alone
    target          a sentence (or region) whose probability after a prefix is wanted; of
                    Snakemake, what a user asks for
    paradigm        pairs made to one pattern; several are a phenomenon; suite: in context, either
                    a paradigm or a suite of SyntaxGym
    text, passage   what people read: a text is passages, a passage is words
    corpus, file    documents that are searched, counted or trained on, in files
    document        what is tokenised by itself, and no match or window leaves
    folded word     letters and digits without case; soft overlap: longest match of folded words,
                    with a few gaps: words that one of both texts lacks or replaces
    chunk           what training data are chosen in: 1,000 batches of Pythia's, or else a file
    shard           a part of unfinished work, kept until the whole is there (of the hub's files
                    and in `training.parallel`, what they call so)
    unigram source  where a model's unigram log-probabilities are from: published, a corpus, or
                    unigrahams (samples of its own)
    n-gram, mark    a sequence of n tokens; what stands for both ends of a sentence in n-gram models
    linking function  what makes a rating of a sentence's logprob, length and unigram logprob
    masked model    predicts a token from both sides; the sum over tokens: pseudo-log-likelihood;
                    its correction says what else of a word is masked with a token
    convention      a setting that changes results; the paper's is the default
    random effects  those of a mixed model, by subject (in `context` by suite); their structure is
                    `paper` or `reduced`
    draw            one resampling of a bootstrap; an interval holds 95% of them
    judgment        a participant's of a sentence (ratings), or a model's of a pair
    room            the package of a paper, or of one of its studies
    scale           the size of a run: demo, laptop or paper
    scorecard       published numbers and claims beside ours, each with a verdict
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lingprob.api.model import Model, load
    from lingprob.api.overlap import certify, find_overlap
    from lingprob.api.tables import read_table
    from lingprob.errors import LingprobError
    from lingprob.stats.linking import fit_linking_functions


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
__all__ = [
    "LingprobError",
    "Model",
    "certify",
    "find_overlap",
    "fit_linking_functions",
    "load",
    "read_table",
]

# Where each name is; it is imported when it is first used, for a rule's job pays for no other.
_PLACES = {
    "LingprobError": "lingprob.errors",
    "Model": "lingprob.api.model",
    "certify": "lingprob.api.overlap",
    "find_overlap": "lingprob.api.overlap",
    "fit_linking_functions": "lingprob.stats.linking",
    "load": "lingprob.api.model",
    "read_table": "lingprob.api.tables",
}


def __getattr__(name: str) -> Any:
    """Return one of the names above, and keep it."""
    if name not in _PLACES:
        raise AttributeError(f"module 'lingprob' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_PLACES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
