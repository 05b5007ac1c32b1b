# Word surprisals of the texts that people read (Oh, Zhu & Schuler 2025, §3.1).
# REQUIRES results/words/{texts}.parquet, a model's manifest or its word surprisals from elsewhere.
# PROVIDES results/surprisal/{model}/{texts}.parquet.

IMPORTED_WORDS = plan.models_with("scores", level="word")


rule compute_word_surprisal:
    """Word surprisals of a text under one model (leakage, §3.1)."""
    input:
        model="resources/models/{model}/manifest.json",
        words="results/words/{texts}.parquet",
    output:
        "results/surprisal/{model}/{texts}.parquet",
    log:
        "logs/compute_word_surprisal/{model}/{texts}.log",
    benchmark:
        "logs/compute_word_surprisal/{model}/{texts}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
        texts=READING_TEXTS,
    conda:
        "../envs/environment.yaml"
    # On a CPU two jobs of one thread beat one job of two.
    threads: 1
    resources:
        **with_model("compute_word_surprisal"),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        **pick(settings["scoring"], "device", "dtype"),
        **pick(READING, "context", "window", "window_stride", "window_counts", "blanks"),
        code=code_digest("compute_word_surprisal"),
        start_token=lambda wildcards: plan.generation_start_token(wildcards.model),
        entry=model_entry("context_window"),
    script:
        "../workflow_scripts/compute_word_surprisal.py"


rule import_word_surprisal:
    """Word surprisals from elsewhere, into the same table."""
    input:
        scores=lambda wildcards: plan.imported_surprisals(wildcards.model, wildcards.texts)[0],
        words="results/words/{texts}.parquet",
    output:
        "results/surprisal/{model}/{texts}.parquet",
    log:
        "logs/import_word_surprisal/{model}/{texts}.log",
    wildcard_constraints:
        model=alternatives(IMPORTED_WORDS),
        texts=READING_TEXTS,
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("import_word_surprisal"),
        path=lambda wildcards: plan.imported_surprisals(wildcards.model, wildcards.texts)[1],
        unit=lambda wildcards: catalog.model(wildcards.model).get("unit", "bits"),
        texts=lambda wildcards: texts_in_file(catalog.model(wildcards.model), wildcards.texts),
    script:
        "../workflow_scripts/import_word_surprisal.py"
