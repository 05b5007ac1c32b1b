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
    """The part of a catalog entry, or of the settings, that a rule depends on."""
    return {key: entry[key] for key in keys if key in entry}


def model_size(model):
    """Parameters of a model, for its resources; a billion where its entry does not say."""
    return catalog.model(model)["parameters"] or 1_000_000_000


def model_memory_mb(model):
    """Memory of a job that holds a model."""
    return BASE_MEMORY_MB + int(6 * model_size(model) / 1e6)


def model_gpus(model):
    """GPUs that a model asks for: none on a CPU, more when its weights are too large for one.

    Without a word on the device, small models do without one, except on a cluster."""
    parameters = model_size(model)
    device = settings["scoring"]["device"]
    small = parameters < 250e6 and settings["scale"] != "paper"
    if device == "cpu" or (device == "auto" and small):
        return 0
    return 1 + int(2.5 * parameters / 1e6 // GPU_MEMORY_MB)


def runtime_minutes(model, tokens):
    """Run time of a model over so many tokens: an hour to load and start, and three times the
    2 FLOP a parameter and token at 100 TFLOP/s on a GPU or 20 GFLOP/s on one CPU core."""
    speed = 100e12 if model_gpus(model) else 20e9
    return 60 + int(3 * 2 * model_size(model) * tokens / speed / 60)


def only_at_scale_demo(files):
    if settings["scale"] != "demo":
        return lambda wildcards: [
            f"the target demo is for scale demo, not {settings['scale']}; ask for morcela or all"
        ]
    return files


def figure_models(wildcards):
    """Name, title, family and size of every model that a figure or table may show."""
    return {
        name: pick(
            entry,
            "title",
            "family",
            "family_title",
            "parameters",
            "fine_tuning_steps",
            "training_step",
        )
        for name, entry in catalog.models.items()
    }


def raw_dataset(wildcards):
    """What a parser reads: downloaded files, the user's own file, or nothing (package data)."""
    entry = catalog.dataset(wildcards.dataset)
    if entry.get("files"):
        folder = entry.get("files_of", wildcards.dataset)
        return {"manifest": f"resources/datasets/{folder}/manifest.tsv"}
    return {"own": entry["path"]} if "path" in entry else {}


def stimuli_entry(dataset):
    """A data set's entry and, of one's own, what the analyses need of its `ratings`."""
    entry = catalog.dataset(dataset)
    if entry["parser"] != "table":
        return entry
    some = "some" if dataset in settings["string_probability"]["prediction_2"] else "none"
    return {**entry, "ratings": "every" if dataset in settings["morcela"]["datasets"] else some}


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


def compares_conventions(dataset):
    """Whether a data set is scored under every convention of a model: MORCELA's are."""
    return dataset in settings["morcela"]["datasets"]


def bos_policies(model, dataset):
    """BOS policies under which a model scores a data set; the default one comes first."""
    policies = catalog.model(model)["bos_policies"]
    return policies if compares_conventions(dataset) else policies[:1]


def start_tokens(model, dataset):
    """Start tokens that these BOS policies need, each scored once."""
    policies = bos_policies(model, dataset)
    return list(dict.fromkeys(catalog.start_token_of(bos) for bos in policies))


def model_unigrams(model, dataset=None):
    """A model's unigram sources, the default one first and, for most data sets, alone."""
    patterns = settings["morcela"]["unigrams"]
    if dataset is not None and not compares_conventions(dataset):
        patterns = []
    return [source for source in unigram_sources(catalog, model, patterns) if source != "imported"]


def unigram_tables(model, dataset=None):
    """The tables of a model's unigram sources, in their order; none for imported scores."""
    tokenizer = catalog.model(model)["tokenizer"]
    return [
        f"results/unigrams/{tokenizer}/{source}.parquet"
        for source in model_unigrams(model, dataset)
    ]


def scored_as(dataset):
    """The name under which string_probability scores a data set: its own, or its sample's."""
    strings = settings["string_probability"]
    pairs = strings["pairs_per_dataset"]
    return f"{dataset}_sample{pairs}" if pairs and dataset in strings["sampled"] else dataset


def string_datasets(model):
    """Data sets that string_probability uses for a model: of its language and, where published
    scores stand for it, those that they cover."""
    entry = catalog.model(model)
    covered = entry.get("datasets", catalog.datasets)
    return [
        name
        for name in PREDICTIONS
        if name in covered and catalog.dataset(name).get("language", "en") == entry["language"]
    ]


def paired_datasets(model):
    """Those of them whose pairs' distances are wanted."""
    return [name for name in string_datasets(model) if set(PREDICTIONS[name]) & {1, 2}]


def minimalness(dataset):
    """The distances within a data set's pairs, under the embedding model of its language."""
    language = catalog.dataset(dataset).get("language", "en")
    embedding = settings["string_probability"]["embeddings"][language]
    return f"results/minimalness/{embedding}/{scored_as(dataset)}.parquet"


def embedding_gpus():
    """GPUs that a sentence-embedding model asks for: one on a cluster or where cuda is asked for."""
    device = settings["scoring"]["device"]
    return int(device == "cuda" or (device == "auto" and settings["scale"] == "paper"))


def training_tokenizer():
    """The manifest of the tokenizer that training uses, if it is not one of its own."""
    tokenizer = settings["training"]["tokenizer"]
    return {} if tokenizer == "own" else {"tokenizer": tokenizer_files(tokenizer)}


def training_chunks():
    """The table that says which chunks are leakage-free, unless all are trained on."""
    if settings["training"]["chunks"] == "all":
        return {}
    return {"selected": "results/overlap/chunks.parquet"}


def training_plan(size):
    """All that a trained model's weights depend on besides its data."""
    keys = (
        "vocabulary",
        "context_window",
        "batch_size",
        "steps",
        "precision",
        "learning_rate",
        "lowest_learning_rate",
        "warmup",
        "betas",
        "weight_decay",
        "clip",
    )
    training = settings["training"]
    return {"size": training["sizes"][size], "seed": settings["seed"], **pick(training, *keys)}


def training_gpus():
    """GPUs that a training asks for: one a process on a cluster or where cuda is asked for."""
    training = settings["training"]
    on_gpu = training["device"] == "cuda" or (
        training["device"] == "auto" and settings["scale"] == "paper"
    )
    return training["processes"] if on_gpu else 0


def training_memory_mb(size):
    """Memory of a training: a process holds weights, gradients and Adam's two moments (16 bytes a
    parameter), and the first one a copy of them for the checkpoint."""
    parameters = catalog.model(f"trained-{size}")["parameters"]
    return settings["training"]["processes"] * (2 * BASE_MEMORY_MB + int(32 * parameters / 1e6))


def training_minutes(size):
    """Run time of a training: an hour, and twice what 60 TFLOP/s a GPU (in half precision) or 20
    GFLOP/s a CPU core need."""
    training = settings["training"]
    model = ModelSize(**training["sizes"][size])
    tokens = training["steps"] * training["batch_size"] * training["context_window"]
    flops = tokens * model.flops_per_token(training["vocabulary"], training["context_window"])
    speed = training["processes"] * (60e12 if training_gpus() else 20e9)
    return 60 + int(2 * flops / speed / 60)


def dataset_models(dataset):
    """The models whose surprisals a data set of reading times is regressed on."""
    texts = catalog.dataset(dataset)["texts"]
    return surprisal_models(catalog, settings["reading"]["models"], texts)


def imported_surprisal_source(model):
    """The manifest that brings a model's imported word surprisals, or the user's own file."""
    entry = catalog.model(model)
    if "dataset" in entry:
        return f"resources/datasets/{entry['dataset']}/manifest.tsv"
    return entry["path"]


def imported_surprisal_path(model):
    """The file of a model's imported word surprisals."""
    entry = catalog.model(model)
    if "dataset" in entry:
        return f"resources/datasets/{entry['dataset']}/{entry['path']}"
    return entry["path"]


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
    """Lengths that prefixes are cut at: those of later stages as far as perturbed ones go."""
    context = settings["context"]
    longest = max(context["lengths"]) if stage == "sampled" else context["perturbed_tokens"]
    return [length for length in context["lengths"] if length <= longest]


def sampling_settings(stage):
    """What prefixes are drawn by: where pairs share one, all targets of a suite do."""
    drawn_by = ["pairs_per_suite", "pairs_per_prefix", "matrix_sentences", "matrix_prefixes"]
    drawn = {**pick(settings["context"], *drawn_by), "lengths": context_lengths(stage)}
    if stage == "sampled":
        return drawn
    return {**drawn, "pairs_per_prefix": 1_000_000, "matrix_prefixes": 0}


def prefix_positions(dataset):
    """About how many tokens a data set's prefixes and targets have: five kinds before every pair,
    two or four targets of 15 tokens at each length, as much again for matrices."""
    context, entry = settings["context"], catalog.dataset(dataset)
    suites = len(entry.get("suites", entry.get("files", [])))
    pairs = max(suites, 70) * context["pairs_per_suite"] * entry.get("pairs_factor", 1)
    return 2 * 5 * pairs * (max(context["lengths"]) + 60 * len(context["lengths"]))


DATASETS = alternatives(catalog.datasets)
IN_SHARDS = [name for name, entry in catalog.datasets.items() if "shards" in entry]
CORPORA = alternatives(
    name for name, entry in catalog.datasets.items() if entry["kind"] == "corpus"
)
FETCHED = models_with("hub", "package", "local")
WITH_WEIGHTS = FETCHED + models_with("trained")


wildcard_constraints:
    # A sample of a data set stands wherever a data set may, but is built from the whole.
    dataset=rf"({DATASETS})(_sample\d+)?",
    model=alternatives(catalog.models),
    tokenizer=alternatives({entry["tokenizer"] for entry in catalog.models.values()}),
    start_token=alternatives(catalog.start_tokens),
    shard=r"\d+",
    stage="sampled|perturbed|shared",
