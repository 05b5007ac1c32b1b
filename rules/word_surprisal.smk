# Word surprisals of the texts that people read (Oh, Zhu & Schuler 2025, §3.1).
# REQUIRES results/words/{texts}.parquet, a model's manifest or its word surprisals from elsewhere.
# PROVIDES results/surprisal/{model}/{texts}.{parquet,csv}; one job scores all texts with a model, and
# one imports the surprisals of all models of a data set.

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
        **with_model(lambda job: costs.reading(job.model, READ_TEXTS)),
    params:
        **pick(settings["scoring"], "device", "dtype"),
        **pick(READING, "context", "window_counts"),
        code=code_digest("compute_word_surprisal"),
        engine=modules_digest("lingprob.reading.surprisal", "lingprob.models.loading"),
        start_token=lambda wildcards: sources.generation_start_token(run, wildcards.model),
        entry=model_entry("context_window"),
    script:
        "../workflow_scripts/compute_word_surprisal.py"


for name, imported in scope.surprisal_imports(run).items():

    rule:
        name:
            f"import_surprisals_of_{name}"
        input:
            words=[f"results/words/{texts}.parquet" for _, texts in imported],
            scores=(
                sources.dataset_manifest(name)
                if name in catalog.datasets
                else [scope.imported_surprisals(run, *one)["path"] for one in imported]
            ),
        output:
            tables=[f"results/surprisal/{model}/{texts}.parquet" for model, texts in imported],
            csv=[f"results/surprisal/{model}/{texts}.csv" for model, texts in imported],
        log:
            f"logs/import_word_surprisal/{name}.log",
        conda:
            "../envs/environment.yaml"
        params:
            code=code_digest("import_word_surprisal"),
            imported=[scope.imported_surprisals(run, *one) for one in imported],
        script:
            "../workflow_scripts/import_word_surprisal.py"
