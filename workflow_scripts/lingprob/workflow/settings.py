"""The settings: a class for each section of config.yaml, with a described field for each key.

A field without a default gets its value from the chosen scale (`catalog/scales.yaml`).
`docs/generate.py` writes `config.yaml`, its JSON schema and `docs/settings.md` from this module.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
)
from pydantic.fields import FieldInfo

Item = TypeVar("Item")
Name = TypeVar("Name")


def key(
    default: Any = ...,
    *,
    names: str = "",
    patterns: bool = False,
    convention: bool = False,
    example: Any = None,
    **limits: Any,
) -> Any:
    """Return pydantic's field for a key of a section.

    Args:
        default: the paper's value. A key without a default has a value in each scale's preset.
        names: the kinds of things that the value names, separated by spaces (`names.KINDS`).
        patterns: whether a name may be a pattern (`pythia-*`), and `!` excludes names.
        convention: whether the value changes results. Methods sections and docs list such keys.
        example: the value that `config.yaml` shows for a key without a default.
        limits: pydantic's constraints, such as `ge` and `min_length`.
    """
    marks = {"x-names": names.split(), "x-patterns": patterns, "x-convention": convention}
    shown = None if example is None else [example]
    extra: dict[str, Any] = {name: value for name, value in marks.items() if value}
    return Field(default, examples=shown, json_schema_extra=extra, **limits)


def _each_once(values: list[Item]) -> list[Item]:
    """Return a list unchanged. Raise ValueError if it has an item twice."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"{value!r} is there twice")
    return values


def _without_null(entries: dict[Name, Item | None]) -> dict[Name, Item]:
    """Return entries without those that are null, which remove an entry of the scale's preset."""
    return {name: entry for name, entry in entries.items() if entry is not None}


Count = Annotated[int, Field(ge=1)]
Unique = Annotated[list[Item], AfterValidator(_each_once)]
Named = Annotated[dict[Name, Item | None], AfterValidator(_without_null)]
EntryName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
SizeName = Annotated[str, StringConstraints(pattern="^[A-Za-z][A-Za-z0-9_-]*$")]
TokenName = Annotated[str, StringConstraints(pattern="^[a-z0-9_]+$")]
Entries = dict[EntryName, dict[str, Any]]
Unit = Literal["sentence", "pair", "paradigm", "article"]
Folder = Literal["morcela", "string_probability", "overlap", "training", "reading", "context"]


class Section(BaseModel):
    """A section of the settings. Unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,  # the validator of all settings is built once, not for each section
        allow_inf_nan=False,
        json_schema_extra=lambda schema: schema.pop("required", None),
    )

    @field_validator("*", mode="before")
    @classmethod
    def _read_null(cls, value: Any) -> Any:
        """Return None for the text "null", which --config gives inside a mapping."""
        return None if value == "null" else value


class BosPolicy(Section):
    """The token before a sentence, and whether the sentence's first token counts."""

    start_token: str
    first_token: Literal["scored", "excluded"]


class Size(Section):
    """The shape of a model to train: layers, attention heads per layer and embedding size."""

    layers: Count
    heads: Count
    width: int = Field(ge=8)


class Machine(Section):
    """Limits of the machine or cluster, and the image in which jobs run."""

    gpu_memory_mb: int = key(80000, ge=1000)
    """memory of one GPU, in MB. Larger models are spread over several GPUs"""
    memory_mb: int | None = key(None, example=256000, ge=4000)
    """memory of your largest node, in MB. Repeated jobs request at most this much"""
    max_runtime: int = key(1440, ge=120)
    """longest time that a job requests, in minutes. If scoring or training takes longer, it
    continues in the next attempt (`retries` in profiles/slurm)"""
    container: str | None = key(None)
    """file or address of the image in which jobs run with --sdm apptainer (docs/cluster.md)"""


class Scoring(Section):
    """Settings of the scoring of sentences and texts."""

    device: Literal["auto", "cpu", "cuda", "mps"] = key("auto")
    """device of models: auto takes a GPU if there is one, and mps is an Apple GPU (not tested)"""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = key("auto", convention=True)
    """number format of the weights (auto: that of the model's catalog entry for the device)"""
    device_map: Literal["single", "auto"] = key("single")
    """single puts a model on one device, and auto spreads it over all visible GPUs"""
    tokens_per_batch: int = key(4096, ge=1)
    """number of tokens per forward pass, padding included. It is halved if memory runs out"""
    sentences_per_shard: int = key(500, ge=1)
    """number of sentences after which scores are saved, the most that a killed job loses"""


class Unigrams(Section):
    """Settings of the counts behind unigram probabilities."""

    shards: int = key(ge=1)
    """number of jobs that share a corpus's documents"""
    normalise_published: bool = key(False, convention=True)
    """make published unigram probabilities sum to one (the Pile's sum to 1.050)"""


class Unigrahams(Section):
    """Unigram probabilities estimated from a model's own samples (morcela, §4 and Appendix B)."""

    samples: int = key(ge=2)
    """number of generated samples (morcela, §3.2, but 1,000,000 in Appendix B)"""
    shards: int = key(ge=1)
    """number of jobs that share the samples"""


class Morcela(Section):
    """Linking functions between log-probabilities and ratings (MORCELA)."""

    models: list[str] = key(
        names="model", patterns=True, example=["pythia-70m", "trained-*", "!trained-*-ft*"],
        min_length=1,
    )  # fmt: skip
    """names and patterns of models in figures and tables; ! excludes models"""
    datasets: list[str] = key(names="stimuli", min_length=1)
    """rated data sets (if all of them are your own, the only model is the demo's, and predicted,
    unigrams and frequency_models are empty, unless you fill them)"""
    predicted: list[str] = key(names="stimuli", example=["cola", "my-pairs"])
    """other data sets, rated or not, for which the fitted linking functions predict ratings"""
    unigrams: list[str] = key(names="unigram_source", patterns=True, min_length=1)
    """patterns of unigram sources that are used in addition to each model's default"""
    folds: int = key(5, convention=True, ge=2)
    """folds of the cross-validation (morcela, §3.4)"""
    repeats: int = key(100, convention=True, ge=1)
    """number of repetitions of the cross-validation, each with another shuffle"""
    keep_together: Unit = key("sentence", convention=True)
    """unit that no fold splits (article: the source of an example, or the phenomenon)"""
    cluster: Unit = key("article", convention=True)
    """unit that intervals resample, because sentences of one pair, paradigm or article are not
    independent (the next finer unit if there are fewer than 20)"""
    frequency_models: list[str] = key(names="model", patterns=True)
    """names and patterns of the models of the token-frequency regression (morcela, §5)"""
    frequency_corpus: str = key(names="corpus")
    """corpus of the token-frequency regression (morcela, §5)"""
    frequency_tokens: int = key(ge=100)
    """largest number of tokens of this corpus"""
    frequency_document_tokens: int | None = key(None, ge=10)
    """largest number of tokens of each document, for few long documents (null: all)"""
    frequency_start_tokens: Unique[Literal["none", "own"]] = key(
        ["none"], convention=True, min_length=1
    )
    """start tokens of documents: none (morcela, §5) and own, the model's start token. Figure 5
    shows the slopes of the first in the list"""
    frequency_shards: int = key(ge=1)
    """number of jobs that share these tokens"""


class Overlap(Section):
    """Overlaps between read texts and corpora (leakage, §2 and §3.1)."""

    tokenizer: str = key(names="model tokenizer")
    """model or data set of kind tokenizer that tokenises texts and corpora"""
    texts: Unique[str] = key(names="reading_texts", example=["provo", "my-texts"], min_length=1)
    """data sets of kind reading_texts whose passages are searched for"""
    corpora: Unique[str] = key(names="corpus", example=["gutenberg", "my-corpus"], min_length=1)
    """corpora that are searched"""
    indexed: Unique[str] = key(names="corpus", example=["gutenberg", "my-corpus"])
    """corpora that are saved as compacted directed acyclic word graphs (CDAWGs, `results/cdawg/`,
    25 bytes per token), in which `find_overlap` and `certify` can search any text"""
    chunk_corpora: Unique[str] | None = key(names="corpus", example=["my-corpus"], min_length=1)
    """corpora whose files are the chunks of training data (leakage, §3.1: the Pile). null: all"""
    keep_chunks: bool = key(False)
    """whether scanned chunks of Pythia's training data stay on disk (600 GB), which nodes without
    a network need. Otherwise the chunks for training are downloaded again (4.2 GB each)"""
    published: Unique[Literal["the_pile", "owt"]] = key()
    """the paper's tables of overlaps that figures show next to the run's results"""
    whole_coverage: float = key(0.9, gt=0, le=1)
    """smallest share of a passage's tokens at which an overlap counts as the whole passage
    (estimated from Figure 1a: leakage, §2.2). The summary also counts complete passages"""
    min_length: int = key(1, ge=1)
    """shortest overlap that counts, in tokens, at most max_overlap + 1. Above 3, it is faster"""
    soft_min_words: int | None = key(12, ge=1)
    """length of the shortest soft overlap that counts, in words without case, punctuation and
    white space. null: no soft overlaps"""
    ngrams: str | None = key(names="corpus auto file", example="auto", pattern="^[^{}]+$")
    """source of the chance level of an overlap (leakage, §2.1): a corpus for a 5-gram model, or an
    ARPA or KenLM file. auto: the paper's gigaword if it is present, otherwise the first corpus of
    text (up to 200 MB without KenLM)"""
    max_overlap: int = key(11, ge=0)
    """longest overlap that a leakage-free chunk may have, in tokens (leakage, §3.1)"""
    chunks_selected: int = key(ge=0)
    """number of leakage-free chunks in the sample for training (leakage, §3.1)"""


class Reading(Section):
    """Surprisals and regressions of reading times (leakage)."""

    datasets: Unique[str] = key(
        names="reading_times", example=["geco_total", "my-times"], min_length=1
    )
    """data sets of kind reading_times"""
    models: list[str] = key(names="model", patterns=True, example=["trained-*"], min_length=1)
    """names and patterns of models whose surprisals are tested; ! excludes models"""
    unigram_corpora: Unique[str] = key(names="corpus", convention=True, min_length=1)
    """corpora whose summed word counts give unigram surprisals"""
    published: bool = key()
    """whether to reproduce the published fits of twelve models (for data on Natural Stories)"""
    context: Literal["passage", "sentence"] = key("passage", convention=True)
    """context of a word (leakage, §3.1: its passage)"""
    corrected: bool = key(True, convention=True)
    """whether surprisal includes the space after a word, not before it (leakage, §3.1)"""
    window_counts: Literal["predicted", "fed"] = key("predicted", convention=True)
    """tokens that belong to a window. predicted: those that it predicts, so that the next token
    has half a window of context (leakage, §3.1). fed: those that the model reads, so that the next
    token is predicted from the whole window (as in the authors' code)"""
    partition: Literal["exploratory", "held_out", "fit", "subjects"] = key(
        "exploratory", convention=True
    )
    """partition whose log-likelihood is compared (leakage, §3.1). subjects: all rows, in five
    folds of subjects (or of sentences if times are means over readers)"""
    previous_words: int = key(1, convention=True, ge=1, le=10)
    """number of preceding words whose surprisals are also predictors (leakage, §3.1)"""
    random_effects: Literal["paper", "reduced"] = key("paper", convention=True)
    """paper: the random effects of Table 3 (leakage). reduced: maximal random effects, reduced by
    the paper's rule"""


class StringProbability(Section):
    """Predictions about minimal pairs (string_probability)."""

    models: list[str] = key(names="model", patterns=True, example=["trained-*"], min_length=1)
    """names and patterns of models; ! excludes models. Each is scored on data sets of its language.
    Models that a run trains and n-gram models appear in Figures 2b, 3b, 4b and 8, but have no
    panels and test no claims, unless there are no others"""
    prediction_1: Unique[str] = key(names="stimuli", example=["blimp", "my-pairs"])
    """data sets of minimal pairs for Prediction 1 (string_probability, Table 1a)"""
    prediction_2: Unique[str] = key(names="stimuli")
    """data sets of rated pairs for Prediction 2, filtered by edit distance"""
    prediction_3: Unique[str] = key(names="stimuli", example=["blimp", "cola"], min_length=1)
    """data sets for Prediction 3"""
    pooled: Unique[str] = key(names="stimuli", example=["blimp", "cola"])
    """data sets of prediction_3 that also form one joint set"""
    sampled: Unique[str] = key(names="stimuli", example=["blimp"])
    """data sets of which only a sample of pairs_per_dataset pairs is scored"""
    pairs_per_dataset: int | None = key(example=2010, ge=1)
    """size of this sample, spread evenly over paradigms (null: all pairs)"""
    bos: str = key("scored", convention=True)
    """BOS policy: the name of a policy that all models have, or `scored` or `excluded` for each
    model's first policy in which the first token counts or does not (string_probability, §6.1:
    all tokens count)"""
    unigrams: str | None = key(
        names="unigram_source", convention=True, example="corpus_fineweb_10bt"
    )
    """unigram source of Prediction 3 (string_probability, §6.1: a million items of FineWeb). null,
    and models whose entry does not list it, use the model's default source"""
    embeddings: Named[str, str] = key(names="embedding")
    """sentence-embedding model by language (string_probability, §4.2)"""
    resample: Literal["clusters", "pairs"] = key("clusters", convention=True)
    """units that intervals resample: `clusters` (articles, suites or paradigms) or `pairs`"""


class Audit(Section):
    """Audits of minimal pairs."""

    datasets: Unique[str] = key(names="stimuli", example=["my-pairs"], min_length=1)
    """data sets whose minimal pairs are audited"""
    model: str = key(names="model")
    """model whose log-probabilities the audits use"""
    corpora: Unique[str] = key(names="corpus", example=["my-corpus"])
    """corpora that are searched for their sentences"""
    words_edited: int = key(2, ge=1)
    """number of words in which a minimal pair may differ. A moved word counts as two"""


class FineTuning(Section):
    """Fine-tuning of trained models on the texts themselves (leakage, §3.1)."""

    steps: Unique[Count] = key([5, 10], min_length=1)
    """numbers of steps. Each gives one fine-tuned model (leakage, §3.1)"""
    rows: int | None = key(None, example=8, ge=1)
    """largest number of rows of the texts in one step (null: all, leakage, §3.1)"""
    learning_rate: float = key(0.0001, gt=0)
    """constant learning rate (leakage, §3.1)"""


class Training(Section):
    """Models trained on leakage-free chunks (leakage, §3.1)."""

    sizes: Named[SizeName, Size] = key(
        example={"small": {"layers": 3, "heads": 4, "width": 256}}, min_length=1
    )
    """shapes of the models to train, by name (leakage, Table 1). null removes one of the scale's"""
    chunks: Literal["selected", "all"] = key()
    """training data: the leakage-free chunks that overlap selects, or all chunks"""
    tokenizer: str = key(names="model tokenizer own")
    """a model, a data set of kind tokenizer, or own, a tokenizer that is trained on the chunks"""
    vocabulary: int = key(ge=257)
    """number of token ids of the models, at least that of the tokenizer. own gets this size"""
    context_window: int = key(ge=8)
    """number of tokens in an example (leakage, §2.1)"""
    batch_size: int = key(ge=1)
    """number of examples per step (leakage, §3.1)"""
    steps: int = key(ge=1)
    """number of training steps (leakage, Appendix A)"""
    repeat_examples: bool = key()
    """whether training may use an example more than once (leakage, §3.1: no)"""
    validation_examples: int = key(ge=0)
    """number of held-out examples, from leakage-free chunks that are not selected if possible"""
    validation_steps: int = key(ge=1)
    """number of steps between two validations"""
    checkpoint_steps: int = key(ge=1)
    """number of steps between checkpoints, the most that a killed training loses"""
    keep_checkpoints: Unique[Count] = key([])
    """steps after which the model is also kept, as trained-SIZE-stepN"""
    micro_batch_size: int = key(ge=1)
    """number of examples in one forward pass of a process"""
    processes: int = key(ge=1)
    """number of processes that share a batch, each on its own GPU"""
    device: Literal["auto", "cpu", "cuda"] = key("auto")
    """device of trainings: auto takes a GPU if there is one"""
    precision: Literal["auto", "float32", "bfloat16", "float16"] = key("auto")
    """number format of matrix products (auto: half precision if the device is fast in it). Weights
    are float32"""
    learning_rate: float = key(0.001, gt=0)
    """highest learning rate (leakage, Appendix A)"""
    fine_tuning: FineTuning


class Site(Section):
    """The site of the results."""

    papers: Unique[Folder] | None = key(None, min_length=1)
    """folders of results whose papers and studies the site (results/index.html) shows. null: those
    with no data but the user's own (on one page) or, without any, all"""


class Context(Section):
    """Minimal pairs after prefixes (context)."""

    models: Unique[str] = key(names="weights", example=["gpt2", "my-model"], min_length=1)
    """English models that judge pairs after contexts"""
    datasets: Unique[str] = key(
        names="stimuli", example=["blimp", "syntaxgym", "crows_pairs"], min_length=1
    )
    """English data sets of targets and their prefixes. The first that is neither syntaxgym nor
    crows_pairs takes the place of BLiMP"""
    tokenizer: str = key(names="model")
    """model whose tokens determine how long the sampled prefixes are. Each model then cuts them
    by its own tokens"""
    control: str = key(names="corpus")
    """corpus of unrelated sentences (context, §3: the test set of WikiText-103)"""
    pairs_per_suite: int = key(ge=1)
    """number of sampled pairs per paradigm, or items per suite (all of your own data set)"""
    pairs_per_suite_of: Named[str, Count] = key({})
    """the same number for single data sets, such as {syntaxgym: 1000}"""
    lengths: Unique[Count] = key(example=[32, 64, 125, 250, 500, 1000], min_length=1)
    """lengths of prefixes, in tokens (context, §3: up to 1000)"""
    pairs_per_prefix: int = key(1, ge=1)
    """largest number of pairs of a suite that share a prefix (1 in the paper, more is faster)"""
    fewest_pairs: int = key(10, ge=1)
    """number of pairs or items that a suite needs to appear in Tables 1 and 2, Figures 10, 11, 13
    and 14 and their correlations"""
    matrix_sentences: int = key(10, ge=1)
    """number of sentences of one suite before targets of other suites (context, Appendix D)"""
    matrix_prefixes: int = key(10, ge=1)
    """number of prefixes of each suite before targets of other suites"""
    matrix_targets: int | None = key(None, ge=1)
    """number of pairs of each suite that are judged after other suites (null: all)"""
    perturbed_suites: int = key(ge=1)
    """number of suites, the most responsive ones, whose prefixes are perturbed (context, §5)"""
    perturbed_tokens: int = key(ge=1)
    """longest perturbed prefixes, in tokens"""
    overlap_sentences: int = key(ge=2)
    """number of sentences of a suite for its overlaps (context, Appendix D)"""


class Settings(Section):
    """All settings."""

    scale: Literal["demo", "laptop", "paper"] = key("demo")
    """size of the run. demo: minutes, with simulated data. laptop: real data without a GPU.
    paper: a cluster"""
    mirror: str | None = key(None)
    """folder or base URL with copies of the data sets (default: the environment variable
    LINGPROB_MIRROR, else the public addresses)"""
    missing: Literal["skip", "stop"] = key("skip")
    """what to do about missing data sets and models that need your action: leave them out and
    report them (skip), or let the jobs that need them fail (stop)"""
    bootstrap: int = key(1000, ge=2)
    """number of resamples for each interval"""
    seed: int = key(2025, ge=0)
    """seed of every random choice (folds, bootstrap, generated text, simulated ratings)"""
    studies: Unique[str] = key([])
    """names of folders in studies/ whose analyses also run"""
    models: Entries = key({})
    """your own models, by name (letters, digits, '.', '-' and '_'), with entries as in the
    catalog (docs/own_data.md, docs/own_models.md)"""
    datasets: Entries = key({})
    """your own data sets, by name, with entries as in the catalog"""
    embeddings: Entries = key({})
    """your own sentence-embedding models, by name"""
    start_tokens: dict[TokenName, str] = key({})
    """tokens that may precede a sentence, by name"""
    bos_policies: dict[TokenName, BosPolicy] = key({})
    """start tokens, and whether the first token of a sentence counts, by name: {start_token: NAME,
    first_token: scored or excluded}"""
    machine: Machine
    scoring: Scoring
    unigrams: Unigrams
    unigrahams: Unigrahams
    morcela: Morcela
    overlap: Overlap
    reading: Reading
    string_probability: StringProbability
    audit: Audit
    training: Training
    site: Site
    context: Context


@dataclass(frozen=True)
class Key:
    """A key of the settings: its `path` (`section.key`), its field, and arguments of `key`."""

    path: str
    section: type[Section]
    field: FieldInfo
    names: list[str]
    patterns: bool
    convention: bool

    @property
    def description(self) -> str:
        """The text below the field, in one line."""
        return descriptions()[self.section.__name__, self.path.rpartition(".")[2]]


@cache
def descriptions() -> dict[tuple[str, str], str]:
    """Return the text below each field, in one line, by the names of its class and the field.

    Pydantic can read these texts too, but would do so at each start, in a tenth of a second.
    """
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    return {
        (section.name, ast.unparse(field.target)): " ".join(ast.literal_eval(text.value).split())
        for section in tree.body
        if isinstance(section, ast.ClassDef)
        for field, text in pairwise(section.body)
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def section_of(field: FieldInfo) -> type[Section] | None:
    """Return the class of a field that is a section, and None for a field that is a key."""
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def keys(section: type[Section] | None = None, above: str = "") -> Iterator[Key]:
    """Yield each key in order, of all settings or of a section whose path begins with `above`."""
    for name, field in (section or Settings).model_fields.items():
        if inner := section_of(field):
            yield from keys(inner, f"{above}{name}.")
        else:
            marks: Any = field.json_schema_extra
            yield Key(
                f"{above}{name}",
                section or Settings,
                field,
                marks.get("x-names", []),
                "x-patterns" in marks,
                "x-convention" in marks,
            )


def value_of(settings: dict[str, Any], key: Key) -> Any:
    """Return the value of a key in complete settings."""
    value: Any = settings
    for part in key.path.split("."):
        value = value[part]
    return value
