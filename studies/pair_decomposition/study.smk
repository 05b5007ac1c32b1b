# The gain of MORCELA over SLOR between and within minimal pairs, paradigms and articles.
# REQUIRES results/stimuli and results/sentence_scores of the rated data sets of `morcela`.
# PROVIDES results/studies/pair_decomposition/: {model}.csv, decomposition.{pdf,png}, claims.csv.

DECOMPOSED = collect(
    "results/studies/pair_decomposition/{model}.csv", model=scope.fitted_models(run)
)
# Tables of the data sets whose ratings a model's linking functions are fitted to.
of_rated = lambda path: (
    lambda wildcards: collect(
        path, model=wildcards.model, dataset=scope.rated_datasets(run, wildcards.model)
    )
)


rule decompose_correlations:
    """Decompose the r of one model's linking functions between and within groups of sentences."""
    input:
        stimuli=of_rated("results/stimuli/{dataset}.parquet"),
        scores=of_rated("results/sentence_scores/{model}/{dataset}.parquet"),
    output:
        "results/studies/pair_decomposition/{model}.csv",
    log:
        "logs/pair_decomposition/{model}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **pick(settings, "seed", "scale"),
        code=code_digest("studies.pair_decomposition.decompose_correlations"),
        bootstrap=settings["bootstrap"],
        datasets=lambda wildcards: scope.rated_datasets(run, wildcards.model),
        convention=lambda wildcards: scope.default_convention(run, wildcards.model),
    script:
        "decompose_correlations.py"


rule compare_decompositions:
    """Draw all models' decompositions and judge the claim."""
    input:
        DECOMPOSED,
    output:
        pdf="results/studies/pair_decomposition/decomposition.pdf",
        png="results/studies/pair_decomposition/decomposition.png",
        claims="results/studies/pair_decomposition/claims.csv",
    log:
        "logs/pair_decomposition/compare_decompositions.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code_digest("studies.pair_decomposition.compare_decompositions"),
        models=describe_models(catalog.models, scope.fitted_models(run)),
        titles={name: catalog.dataset(name)["title"] for name in MORCELA["datasets"]},
        scale=settings["scale"],
    script:
        "compare_decompositions.py"


rule pair_decomposition:
    """Decompose the gain of MORCELA over SLOR between and within pairs."""
    input:
        DECOMPOSED,
        rules.compare_decompositions.output,
