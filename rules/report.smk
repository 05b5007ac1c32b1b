# What holds for all papers, and for targets that name nothing we know. REQUIRES the papers' result tables.
# PROVIDES results/scorecard.{parquet,csv,html}: our numbers against the published ones.


rule compare_with_published:
    """Compare our numbers with those in the papers, and say which we cannot compute here."""
    input:
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        linking_functions="results/morcela/linking_functions.parquet",
        intergroup_correlation="results/morcela/intergroup_correlation.parquet",
        overlaps="results/overlap/overlaps.parquet",
    output:
        parquet="results/scorecard.parquet",
        csv="results/scorecard.csv",
        html=report(
            "results/scorecard.html",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"what": "Ours against the published numbers"},
        ),
    log:
        "logs/compare_with_published.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("compare_with_published"),
        datasets=MORCELA["datasets"],
        published=read_yaml("published.yaml"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/compare_with_published.py"


rule name_unknown_model:
    """Answer a target with a mistyped model with the nearest names."""
    input:
        lambda wildcards: refuse(catalog.model, wildcards.unknown),
    output:
        "results/morcela/{unknown}.parquet",
    wildcard_constraints:
        unknown=other_than([*catalog.models, "linking_functions", "intergroup_correlation"]),


rule name_unknown_dataset:
    """Answer a target with a mistyped data set with the nearest names."""
    input:
        lambda wildcards: refuse(catalog.dataset, wildcards.unknown),
    output:
        "results/stimuli/{unknown}.parquet",
    wildcard_constraints:
        unknown=other_than(catalog.datasets),
