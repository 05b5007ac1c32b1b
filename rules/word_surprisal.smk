# Word surprisals of the texts that people read (Oh, Zhu & Schuler 2025, §3.1).
# REQUIRES results/words/{texts}.parquet, a model's manifest or its word surprisals from elsewhere.
# PROVIDES results/surprisal/{model}/{texts}.{parquet,csv}; one job scores all texts with a model.

IMPORTED_WORDS = sources.models_with(run, "scores", level="word")
READ_TEXTS = scope.read_texts(run)


rule compute_word_surprisal:
    """Word surprisals of all texts under one model (leakage, §3.1)."""
    input:
        model="resources/models/{model}/manifest.json",
        words=collect("results/words/{texts}.parquet", texts=READ_TEXTS),
    output:
        tables=collect("results/surprisal/{{model}}/{texts}.parquet", texts=READ_TEXTS),
        csv=collect("results/surprisal/{{model}}/{texts}.csv", texts=READ_TEXTS),
    log:
        "logs/compute_word_surprisal/{model}.log",
    benchmark:
        "logs/compute_word_surprisal/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: costs.threads(wildcards.model)
    resources:
        **with_model("compute_word_surprisal", texts=READ_TEXTS),
    params:
        **pick(settings["scoring"], "device", "dtype"),
        **pick(READING, "context", "window_counts"),
        code=code_digest("compute_word_surprisal"),
        engine=modules_digest("lingprob.reading.surprisal", "lingprob.models.prepared"),
        start_token=lambda wildcards: sources.generation_start_token(run, wildcards.model),
        entry=model_entry("context_window"),
    script:
        "../workflow_scripts/compute_word_surprisal.py"


rule import_word_surprisal:
    """Word surprisals from elsewhere, into the same table."""
    input:
        scores=lambda wildcards: scope.imported_surprisals(run, wildcards.model, wildcards.texts)[0],
        words="results/words/{texts}.parquet",
    output:
        table="results/surprisal/{model}/{texts}.parquet",
        csv="results/surprisal/{model}/{texts}.csv",
    log:
        "logs/import_word_surprisal/{model}/{texts}.log",
    wildcard_constraints:
        model=alternatives(IMPORTED_WORDS),
        texts=READING_TEXTS,
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("import_word_surprisal"),
        path=lambda wildcards: scope.imported_surprisals(run, wildcards.model, wildcards.texts)[1],
        unit=lambda wildcards: catalog.model(wildcards.model).get("unit", "bits"),
        texts=lambda wildcards: texts_in_file(catalog.model(wildcards.model), wildcards.texts),
    script:
        "../workflow_scripts/import_word_surprisal.py"
