# What every rules file uses. A rule's params hold all that its numbers depend on: a digest of the
# package modules that its script imports (`code`), catalog entries and settings. What changes
# only how the work is done (batch sizes, a device map) goes to a script as a resource, for a
# change there must not repeat the work.

# Weights in memory: 4 bytes a parameter, half as much again while loading, and Python with torch.
BASE_MEMORY_MB = 2000
GPU_MEMORY_MB = 80_000
NOTHING = "(?!)"


def alternatives(names):
    """A wildcard constraint that admits exactly these names."""
    return "|".join(re.escape(name) for name in names) or NOTHING


def other_than(names):
    """A wildcard constraint that admits every file name but these."""
    return rf"(?!({alternatives(names)})\.parquet)[^/]+"


def refuse(lookup, name):
    """The error with which the catalog answers an unknown name."""
    try:
        lookup(name)
    except LingprobError as error:
        raise WorkflowError(str(error)) from None


def models_with(*sources, level=None):
    """Names of the models of one of these sources."""
    return [
        name
        for name, entry in catalog.models.items()
        if entry["source"] in sources and level in (None, entry.get("level"))
    ]


def pick(entry, *keys):
    """The part of a catalog entry that a rule depends on."""
    return {key: entry[key] for key in keys if key in entry}


def model_memory_mb(model):
    """Memory of a job that holds a model."""
    return BASE_MEMORY_MB + int(6 * catalog.model(model)["parameters"] / 1e6)


def model_gpus(model):
    """GPUs that a model asks for: none on a CPU, more when its weights are too large for one.

    Without a word on the device, small models do without one, except on a cluster."""
    parameters = catalog.model(model)["parameters"]
    device = settings["scoring"]["device"]
    small = parameters < 250e6 and settings["scale"] != "paper"
    if device == "cpu" or (device == "auto" and small):
        return 0
    return 1 + int(2.5 * parameters / 1e6 // GPU_MEMORY_MB)


def runtime_minutes(model, tokens):
    """Run time of a model over so many tokens: an hour to load and start, and three times the
    2 FLOP a parameter and token at 100 TFLOP/s on a GPU or 20 GFLOP/s on one CPU core."""
    speed = 100e12 if model_gpus(model) else 20e9
    return 60 + int(3 * 2 * catalog.model(model)["parameters"] * tokens / speed / 60)


def only_at_scale_demo(files):
    if settings["scale"] != "demo":
        return lambda wildcards: [
            f"the target demo is for scale demo, not {settings['scale']}; ask for morcela or all"
        ]
    return files


def figure_models(wildcards):
    """Name, title, family and size of every model that a figure or table may show."""
    return {
        name: pick(entry, "title", "family", "family_title", "parameters")
        for name, entry in catalog.models.items()
    }


def raw_dataset(wildcards):
    """What a parser reads: downloaded files, the user's own file, or nothing (package data)."""
    entry = catalog.dataset(wildcards.dataset)
    if entry.get("files"):
        return {"manifest": f"resources/datasets/{wildcards.dataset}/manifest.tsv"}
    return {"own": entry["path"]} if "path" in entry else {}


def tokenizer_manifest(wildcards):
    """The model whose tokenizer is meant."""
    provider = catalog.tokenizer_provider(wildcards.tokenizer)
    return f"resources/models/{provider}/manifest.json"


def corpus_files(name):
    """What a corpus is read from: manifests, the user's own files, or nothing (package data)."""
    return [corpus_file(name, path.name) for path in dataset_paths(name, catalog.dataset(name))]


def tokenizer_files(name):
    """The manifest of a model, or of a data set that is a tokenizer."""
    if name in catalog.datasets:
        return f"resources/datasets/{name}/manifest.tsv"
    return f"resources/models/{name}/manifest.json"


def corpus_file(corpus, file):
    """What one file of a corpus is read from: its manifest, the user's own, or nothing."""
    if catalog.dataset(corpus).get("files"):
        return f"resources/datasets/{corpus}/manifests/{file}.tsv"
    return corpus_file_path(corpus, file) or []


def corpus_file_entry(corpus, file):
    """What the catalog says of one file of a corpus."""
    return next(entry for entry in catalog.dataset(corpus)["files"] if entry["name"] == file)


def corpus_file_path(corpus, file):
    """Where one file of a corpus lies, or None where the package has the corpus."""
    paths = {path.name: str(path) for path in dataset_paths(corpus, catalog.dataset(corpus))}
    return paths.get(file)


def corpus_file_names(corpus):
    """The files of a corpus, each of which a job reads; `package` where it has none."""
    return [path.name for path in dataset_paths(corpus, catalog.dataset(corpus))] or ["package"]


def ngram_model(name):
    """The n-gram model of a corpus, the user's own file, or nothing."""
    if name is None:
        return []
    return f"results/ngrams/{name}.kenlm" if name in catalog.datasets else name


def corpus_words_file(corpus):
    """The count of a corpus's words where the chance level is wanted and the catalog has none."""
    if settings["overlap"]["ngrams"] is None or "words" in catalog.dataset(corpus):
        return []
    return f"results/overlap/n_words/{corpus}.txt"


def generation_start_token(model):
    """The token that a model generates from: the first that its BOS policies name."""
    for bos in catalog.model(model)["bos_policies"]:
        start_token = catalog.start_tokens[catalog.start_token_of(bos)]
        if start_token != "none":
            return start_token
    return "bos"


def unigram_shards(wildcards):
    kind, _ = catalog.unigram_source(wildcards.source)
    shards = settings["unigrahams" if kind == "unigrahams" else "unigrams"]["shards"]
    folder = f"results/unigram_sums/{wildcards.tokenizer}/{wildcards.source}"
    return [f"{folder}/{shard}-of-{shards}.parquet" for shard in range(shards)]


def model_start_tokens(model):
    """Start tokens that a model's BOS policies need, each scored once."""
    return list(
        dict.fromkeys(catalog.start_token_of(bos) for bos in catalog.model(model)["bos_policies"])
    )


def model_unigrams(model):
    return [
        source
        for source in unigram_sources(catalog, model, settings["morcela"]["unigrams"])
        if source != "imported"
    ]


def context_tokenizers():
    """Manifests that bring the tokenizers of the context models, by tokenizer."""
    return {
        catalog.model(model)["tokenizer"]: f"resources/models/{model}/manifest.json"
        for model in reversed(settings["context"]["models"])
    }


def suite_files(wildcards):
    """What suites are read from beside their stimulus table: regions and formulas."""
    if catalog.dataset(wildcards.dataset)["parser"] != "syntaxgym":
        return []
    return f"resources/datasets/{wildcards.dataset}/manifest.tsv"


def context_lengths(stage):
    """Lengths that prefixes are cut at: perturbed ones as far as asked for."""
    context = settings["context"]
    longest = context["perturbed_tokens"] if stage == "perturbed" else max(context["lengths"])
    return [length for length in context["lengths"] if length <= longest]


def prefix_positions(dataset):
    """About how many tokens a data set's prefixes and targets have: five kinds before every pair,
    two or four targets of 15 tokens at each length, as much again for matrices."""
    context, entry = settings["context"], catalog.dataset(dataset)
    suites = len(entry.get("suites", entry.get("files", [])))
    pairs = max(suites, 70) * context["pairs_per_suite"] * entry.get("pairs_factor", 1)
    return 2 * 5 * pairs * (max(context["lengths"]) + 60 * len(context["lengths"]))


DATASETS = alternatives(catalog.datasets)
CORPORA = alternatives(
    name for name, entry in catalog.datasets.items() if entry["kind"] == "corpus"
)
WITH_WEIGHTS = models_with("hub", "package", "local")


wildcard_constraints:
    dataset=DATASETS,
    model=alternatives(catalog.models),
    tokenizer=alternatives({entry["tokenizer"] for entry in catalog.models.values()}),
    start_token=alternatives(catalog.start_tokens),
    shard=r"\d+",
    stage="sampled|perturbed",
