# Language models: REQUIRES the network (hub, package), a directory (local) or a corpus (ngram).
# PROVIDES resources/models/{model}/manifest.json, which names the directory with config, weights
# and tokenizer, and identifies them, and results/ngrams/{corpus}.ngrams for the chance level of overlaps (Oh, Zhu & Schuler 2025, §2.1).

# The n-gram model of a corpus, the user's own file, or nothing.
NGRAM_MODEL = settings["overlap"]["ngrams"]
if NGRAM_MODEL in catalog.datasets:
    NGRAM_MODEL = f"results/ngrams/{NGRAM_MODEL}.ngrams"


rule prepare_model:
    """Bring a model's weights and tokenizer to a local directory, once for all jobs."""
    input:
        lambda wildcards: sources.local_files(catalog.model(wildcards.model)),
    output:
        "resources/models/{model}/manifest.json",
    log:
        "logs/prepare_model/{model}.log",
    benchmark:
        "logs/prepare_model/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(sources.models_with(run, "hub", "package", "local")),
    conda:
        "../envs/environment.yaml"
    resources:
        # Only a model from a package is loaded, to dequantise it.
        mem_mb=lambda wildcards: (
            costs.memory_mb(wildcards.model)
            if catalog.model(wildcards.model)["source"] == "package"
            else BASE_MEMORY_MB
        ),
        disk_mb=lambda wildcards: costs.model_download_mb(wildcards.model),
        download=1,
        runtime=costs.at_most(720),
    params:
        code=code_digest("prepare_model"),
        entry=entry_of(
            "model",
            "source kind repository revision package version sha256 member member_sha256 path",
        ),
    script:
        "../workflow_scripts/prepare_model.py"


rule estimate_ngram_model:
    """Estimate an n-gram model over a corpus."""
    input:
        unpack(lambda wildcards: sources.ngram_inputs(run, wildcards.model)),
    output:
        "resources/models/{model}/manifest.json",
    log:
        "logs/estimate_ngram_model/{model}.log",
    benchmark:
        "logs/estimate_ngram_model/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(sources.models_with(run, "ngram")),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards: costs.memory_mb(wildcards.model),
        runtime=lambda wildcards: costs.runtime(costs.counting(wildcards.model)),
    params:
        code=lambda wildcards: code_over(
            "estimate_ngram_model", catalog.model(wildcards.model)["corpus"]
        ),
        entry=entry_of("model", "corpus order least_count"),
        corpus=lambda wildcards: pick(
            catalog.dataset(catalog.model(wildcards.model)["corpus"]), "parser", "path", "files"
        ),
    script:
        "../workflow_scripts/estimate_ngram_model.py"


rule estimate_ngrams:
    """Estimate a 5-gram model of white-space words, by KenLM if it is there, else by counting."""
    input:
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        "results/ngrams/{corpus}.ngrams",
    log:
        "logs/estimate_ngrams/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("estimate_ngrams", wildcards.corpus),
        entry=entry_of("corpus", "parser path files"),
        order=5,
    script:
        "../workflow_scripts/estimate_ngrams.py"
