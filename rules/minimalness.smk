# How near the two sentences of a pair are.
# REQUIRES results/stimuli/{dataset}.parquet, the network or a directory for an embedding model.
# PROVIDES resources/embeddings/{embedding}/manifest.json and
# results/minimalness/{embedding}/{dataset}.parquet.


rule prepare_embedding:
    """Bring a sentence-embedding model's files to a local directory, once for all jobs."""
    input:
        lambda wildcards: sources.embedding_files(run, wildcards.embedding),
    output:
        "resources/embeddings/{embedding}/manifest.json",
    log:
        "logs/prepare_embedding/{embedding}.log",
    wildcard_constraints:
        embedding=alternatives(catalog.embeddings),
    conda:
        "../envs/environment.yaml"
    resources:
        disk_mb=2000,
        download=1,
        runtime=costs.at_most(240),
    params:
        code=code_digest("prepare_embedding"),
        entry=entry_of("embedding", "source repository revision folder wheels path stand_in"),
    script:
        "../workflow_scripts/prepare_embedding.py"


rule measure_minimalness:
    """Measure edit distances and cosine distance within pairs (string_probability, §4.2)."""
    input:
        embedding="resources/embeddings/{embedding}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/minimalness/{embedding}/{dataset}.parquet",
    log:
        "logs/measure_minimalness/{embedding}/{dataset}.log",
    benchmark:
        "logs/measure_minimalness/{embedding}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        embedding=alternatives(catalog.embeddings),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=costs.embedding_gpus(),
        runtime=costs.at_most(240),
    params:
        code=code_digest("measure_minimalness"),
        device=settings["scoring"]["device"],
        context_window=lambda wildcards: catalog.embedding(wildcards.embedding)["context_window"],
    script:
        "../workflow_scripts/measure_minimalness.py"
