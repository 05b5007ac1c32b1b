# What MORCELA's linking functions say beyond the paper: of single sentences and other data sets.
# REQUIRES results/stimuli and results/sentence_scores of rated data sets and of those to predict.
# PROVIDES results/morcela/predictions/{model}/{dataset}.{parquet,csv}, and, of a model,
# results/morcela/{transfer,validation,shapes,curves,ordinal}/{model}.parquet.

BEYOND = ["transfer", "validation", "shapes", "curves", "ordinal"]
PREDICTIONS = [
    f"results/morcela/predictions/{model}/{dataset}.{suffix}"
    for model in plan.fitted_models()
    for dataset in plan.predicted_datasets(model)
    for suffix in ("parquet", "csv")
]
RATED_PREDICTIONS = [
    f"results/morcela/predictions/{model}/{dataset}.parquet"
    for model in plan.fitted_models()
    for dataset in plan.rated_datasets(model)
]


# Tables of the data sets whose ratings a model's linking functions are fitted to, or predict.
of_rated = lambda path: (
    lambda wildcards: collect(
        path, model=wildcards.model, dataset=plan.rated_datasets(wildcards.model)
    )
)
of_predicted = lambda path: (
    lambda wildcards: collect(
        path, model=wildcards.model, dataset=plan.predicted_datasets(wildcards.model)
    )
)
# What all of these rules depend on: the model's default convention and the scale.
AT_DEFAULT = {
    "bos": lambda wildcards: plan.default_bos(wildcards.model),
    "unigrams": lambda wildcards: plan.unigram_sources(wildcards.model)[0],
    "scale": settings["scale"],
}


rule predict_ratings:
    """Predict the ratings of any data set by linking functions fitted to the rated ones."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        scores="results/sentence_scores/{model}/{dataset}.parquet",
        rated_stimuli=of_rated("results/stimuli/{dataset}.parquet"),
        rated_scores=of_rated("results/sentence_scores/{model}/{dataset}.parquet"),
    output:
        parquet="results/morcela/predictions/{model}/{dataset}.parquet",
        csv="results/morcela/predictions/{model}/{dataset}.csv",
    log:
        "logs/predict_ratings/{model}/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **AT_DEFAULT,
        **pick(settings["morcela"], "cluster"),
        code=code_digest("predict_ratings"),
        fitted_to=lambda wildcards: plan.rated_datasets(wildcards.model),
    script:
        "../workflow_scripts/predict_ratings.py"


rule transfer_linking_functions:
    """Fit linking functions to each data set of ratings or labels, and predict each."""
    input:
        stimuli=of_predicted("results/stimuli/{dataset}.parquet"),
        scores=of_predicted("results/sentence_scores/{model}/{dataset}.parquet"),
    output:
        "results/morcela/transfer/{model}.parquet",
    log:
        "logs/transfer_linking_functions/{model}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **AT_DEFAULT,
        **pick(settings["morcela"], "cluster", "bootstrap"),
        **pick(settings, "seed"),
        code=code_digest("transfer_linking_functions"),
        datasets=lambda wildcards: plan.predicted_datasets(wildcards.model),
    script:
        "../workflow_scripts/transfer_linking_functions.py"


rule extend_linking_functions:
    """Leave phenomena out, bend the lines, and fit single judgments, for one model."""
    input:
        stimuli=of_rated("results/stimuli/{dataset}.parquet"),
        ratings=of_rated("results/ratings/{dataset}.parquet"),
        scores=of_rated("results/sentence_scores/{model}/{dataset}.parquet"),
    output:
        validation="results/morcela/validation/{model}.parquet",
        shapes="results/morcela/shapes/{model}.parquet",
        curves="results/morcela/curves/{model}.parquet",
        ordinal="results/morcela/ordinal/{model}.parquet",
    log:
        "logs/extend_linking_functions/{model}.log",
    benchmark:
        "logs/extend_linking_functions/{model}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **AT_DEFAULT,
        code=code_digest("extend_linking_functions"),
        datasets=lambda wildcards: plan.rated_datasets(wildcards.model),
        fitting=pick(settings["morcela"], "cluster", "folds", "repeats", "bootstrap")
        | pick(settings, "seed"),
    script:
        "../workflow_scripts/extend_linking_functions.py"
