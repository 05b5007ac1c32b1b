# Pythia-like models trained on leakage-free text, and fine-tuned on texts (leakage, §3.1).
# REQUIRES results/overlap/chunks.parquet and the corpora of `overlap`, results/words of its texts,
# a tokenizer.
# PROVIDES resources/models/trained-{size}/manifest.json and, after N steps of fine-tuning,
# trained-{size}-ftN, after N steps of training, trained-{size}-stepN (models of source `trained`, as
# any other), results/training/: corpus.json (the chunks), each size's log, perplexity.{parquet,csv},
# passage_logprobs, figure_2_perplexity, scorecard.
# A training in progress lives in resources/training/, and a killed one continues from there.

TRAINING = settings["training"]
FINE_TUNING = TRAINING["fine_tuning"]
TRAINED = [
    name
    for name in sources.models_with(run, "trained")
    if "training_step" not in catalog.model(name)
]
TRAINED_ON = {"selected": "trained on leakage-free text", "all": "TRAINED ON LEAKED TEXT TOO"}
# Inputs in addition to the corpora: a tokenizer and a choice of chunks, if any.
TRAINING_INPUT = {}
if TRAINING["tokenizer"] != "own":
    TRAINING_INPUT["tokenizer"] = sources.tokenizer_files(run, TRAINING["tokenizer"])
if TRAINING["chunks"] != "all":
    TRAINING_INPUT["selected"] = "results/overlap/chunks.parquet"
# All that a trained model's weights depend on besides its data and size.
TRAINING_KEYS = ("vocabulary context_window batch_size steps precision learning_rate").split()
TRAINING_PLAN = {"seed": settings["seed"], **pick(TRAINING, *TRAINING_KEYS)}


rule fetch_leakage_free_chunks:
    """Fetch the chunks that models are trained and validated on, and that scans let go of."""
    input:
        **pick(TRAINING_INPUT, *TRAINING_INPUT.keys() & {"selected"}),
    output:
        "resources/datasets/{corpus}/manifests/leakage_free.tsv",
    log:
        "logs/fetch_leakage_free_chunks/{corpus}.log",
    wildcard_constraints:
        corpus=alternatives([n for n, e in catalog.datasets.items() if "shards" in e]),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
        disk_mb=lambda wildcards: 100 + int(costs.leakage_free_bytes(wildcards.corpus) / 1e6),
        download=1,
        runtime=lambda wildcards: costs.runtime(
            costs.downloading(costs.leakage_free_bytes(wildcards.corpus))
        ),
    params:
        code=code_digest("fetch_leakage_free_chunks"),
        chunks=lambda wildcards: [
            sources.corpus_file_source(run, wildcards.corpus, file)
            for file in sources.corpus_file_names(run, wildcards.corpus)
        ],
    script:
        "../workflow_scripts/fetch_leakage_free_chunks.py"


rule prepare_training_corpus:
    """Prepare the selected chunks for training: check rows, and tokenise those that are text."""
    input:
        **TRAINING_INPUT,
        corpora=[
            (
                f"resources/datasets/{corpus}/manifests/leakage_free.tsv"
                if sources.is_transient(run, corpus)
                else sources.corpus_files(run, corpus)
            )
            for corpus in OVERLAP["chunk_corpora"]
        ],
    output:
        "results/training/corpus.json",
    log:
        "logs/prepare_training_corpus.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2 * BASE_MEMORY_MB,
        runtime=costs.at_most(720),
    params:
        **pick(TRAINING, "vocabulary", "context_window"),
        code=code_over("prepare_training_corpus", *OVERLAP["corpora"]),
        chunks=[
            (
                corpus,
                file,
                pick(catalog.dataset(corpus), "parser", "tokenizer_sha256"),
                sources.corpus_file_path(run, corpus, file),
            )
            for corpus, file in OVERLAP_CHUNKS
        ],
    script:
        "../workflow_scripts/prepare_training_corpus.py"


rule train_model:
    """Train a model of one size, from the last checkpoint of a killed training."""
    input:
        "results/training/corpus.json",
    output:
        manifest="resources/models/trained-{size}/manifest.json",
        kept=[
            f"resources/models/trained-{{size}}-step{step}/manifest.json"
            for step in TRAINING["keep_checkpoints"]
        ],
        log="results/training/logs/{size}.jsonl",
    log:
        "logs/train_model/{size}.log",
    benchmark:
        "logs/train_model/{size}.benchmark.tsv"
    wildcard_constraints:
        size=alternatives(TRAINING["sizes"]),
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: TRAINING["processes"] * (8 if costs.training_gpus() else 1)
    resources:
        mem_mb=lambda wildcards: costs.training_memory_mb(wildcards.size),
        gpu=costs.training_gpus(),
        runtime=lambda wildcards: costs.runtime(costs.training(wildcards.size)),
    params:
        **pick(TRAINING, "device", "validation_examples"),
        code=code_digest("train_model"),
        model="trained-{size}",
        folder="resources/training/{size}",
        plan=lambda wildcards: {"size": TRAINING["sizes"][wildcards.size], **TRAINING_PLAN},
    script:
        "../workflow_scripts/train_model.py"


rule fine_tune_model:
    """Fine-tune a trained model on the reading-time texts: leakage made on purpose."""
    input:
        model="resources/models/trained-{size}/manifest.json",
        words=collect("results/words/{dataset}.parquet", dataset=OVERLAP["texts"]),
    output:
        [
            f"resources/models/trained-{{size}}-ft{steps}/manifest.json"
            for steps in FINE_TUNING["steps"]
        ],
    log:
        "logs/fine_tune_model/{size}.log",
    benchmark:
        "logs/fine_tune_model/{size}.benchmark.tsv"
    wildcard_constraints:
        size=alternatives(TRAINING["sizes"]),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards: costs.training_memory_mb(wildcards.size),
        gpu=min(1, costs.training_gpus()),
        runtime=costs.at_most(240),
    params:
        **pick(FINE_TUNING, "steps", "learning_rate", "rows"),
        **pick(TRAINING, "device", "precision"),
        code=code_digest("fine_tune_model"),
        seed=settings["seed"],
    script:
        "../workflow_scripts/fine_tune_model.py"


rule measure_perplexity:
    """Measure the perplexity of the reading-time texts under every trained model."""
    input:
        models=collect("resources/models/{model}/manifest.json", model=TRAINED),
        words=collect("results/words/{dataset}.parquet", dataset=OVERLAP["texts"]),
    output:
        parquet="results/training/perplexity.parquet",
        passages="results/training/passage_logprobs.parquet",
        csv=in_report(
            "results/training/perplexity.csv",
            "Perplexity of the texts by model and fine-tuning",
        ),
    log:
        "logs/measure_perplexity.log",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2 * BASE_MEMORY_MB,
        gpu=min(1, costs.training_gpus()),
        runtime=costs.at_most(240),
    params:
        code=code_digest("measure_perplexity"),
        texts=OVERLAP["texts"],
        models={
            name: pick(
                catalog.model(name),
                *("size", "fine_tuning_steps", "parameters", "dtype", "context_window"),
            )
            for name in TRAINED
        },
        device=TRAINING["device"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/measure_perplexity.py"


rule report_training:
    """Draw perplexities, and compare the paper's numbers and claims with those of this run."""
    input:
        perplexity="results/training/perplexity.parquet",
        passage_logprobs="results/training/passage_logprobs.parquet",
    output:
        figures=figure_files("training", ["figure_2_perplexity"]),
        scorecard="results/training/scorecard.parquet",
        pages=scorecard_pages("training"),
    log:
        "logs/report_training.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **report_params(
            "training",
            TRAINED,
            {name: catalog.dataset(name)["title"] for name in OVERLAP["texts"]},
            note=TRAINED_ON[TRAINING["chunks"]],
        ),
    script:
        "../workflow_scripts/report_training.py"


rule train:
    """Train models of all sizes, fine-tune them, and show their perplexity."""
    input:
        rules.measure_perplexity.output,
        rules.report_training.output,
