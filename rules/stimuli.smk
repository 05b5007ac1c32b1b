# Data sets: REQUIRES nothing but the network, a mirror, the hub or the package itself.
# PROVIDES resources/datasets/{dataset}/manifest.tsv (with the checked files). A corpus has one
# manifest per file, resources/datasets/{corpus}/manifests/{file}.tsv, so that another file repeats
# nothing for the others.
# results/stimuli/{dataset}.{parquet,csv} and results/ratings/{dataset}.parquet, and a seeded sample of N
# pairs as results/stimuli/{dataset}_sampleN.parquet: a data set to whatever reads stimuli.

FROM_HUB = [name for name, entry in catalog.datasets.items() if "source" in entry]


rule download_dataset:
    """Fetch a data set's files: from disk, the mirror, the public URL (always checked) or the hub."""
    output:
        "resources/datasets/{dataset}/manifest.tsv",
    log:
        "logs/download_dataset/{dataset}.log",
    wildcard_constraints:
        dataset=DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards: 4000 if wildcards.dataset in FROM_HUB else 1000,
        # Rows of the hub come in parts, which are joined.
        disk_mb=lambda wildcards: (
            (2 if wildcards.dataset in FROM_HUB else 1) * costs.download_mb(wildcards.dataset)
        ),
        download=1,
        runtime=costs.at_most(720),
    params:
        code=code_digest("download_dataset"),
        entry=entry_of(
            "dataset",
            "source kind repository revision configuration split column columns rows files "
            "instructions",
        ),
    script:
        "../workflow_scripts/download_dataset.py"


rule download_corpus_file:
    """Fetch one file of a corpus: from disk, the mirror, the public URL or the hub's shards."""
    output:
        "resources/datasets/{corpus}/manifests/{file}.tsv",
    log:
        "logs/download_corpus_file/{corpus}/{file}.log",
    wildcard_constraints:
        corpus=CORPORA,
        file=r"(?!leakage_free\.tsv$)[^/]+",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
        disk_mb=lambda wildcards: costs.download_mb(wildcards.corpus, wildcards.file),
        download=1,
        runtime=costs.at_most(720),
    params:
        code=code_digest("download_corpus_file"),
        entry=lambda wildcards: sources.corpus_file_source(run, wildcards.corpus, wildcards.file),
    script:
        "../workflow_scripts/download_corpus_file.py"


rule build_stimuli:
    """Parse a data set to rated sentences and single judgments."""
    input:
        unpack(lambda wildcards: sources.raw_dataset(run, wildcards.dataset)),
    output:
        stimuli="results/stimuli/{dataset}.parquet",
        ratings="results/ratings/{dataset}.parquet",
        csv="results/stimuli/{dataset}.csv",  # with the other columns of a user's table
    log:
        "logs/build_stimuli/{dataset}.log",
    wildcard_constraints:
        dataset=DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        # Five a fold; no parameter, since it changes no result.
        sentences_needed=lambda wildcards: (
            5 * settings["morcela"]["folds"]
            if wildcards.dataset in settings["morcela"]["datasets"]
            else 1
        ),
    params:
        code=lambda wildcards: code_over("build_stimuli", wildcards.dataset, with_parsers=True),
        entry=lambda wildcards: scope.stimuli_entry(run, wildcards.dataset),
        seed=settings["seed"],
    script:
        "../workflow_scripts/build_stimuli.py"


rule sample_stimuli:
    """Draw pairs of a data set, over its paradigms alike, before anything is scored."""
    input:
        "results/stimuli/{whole}.parquet",
    output:
        "results/stimuli/{whole}_sample{pairs}.parquet",
    log:
        "logs/sample_stimuli/{whole}_{pairs}.log",
    wildcard_constraints:
        whole=DATASETS,
        pairs=r"\d+",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("sample_stimuli"),
        seed=settings["seed"],
    script:
        "../workflow_scripts/sample_stimuli.py"
