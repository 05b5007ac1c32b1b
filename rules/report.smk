# What holds for all papers, and for targets that name nothing we know.
# REQUIRES results/TARGET/scorecard.parquet of every target in SCORECARDS.
# PROVIDES results/scorecard.{parquet,csv,html}: our numbers against the published ones.

SCORECARDS = ["morcela", "overlap", "training", "reading", "string_probability", "context"]


rule combine_scorecards:
    """Put our numbers against those in the papers, and say which we cannot compute here."""
    input:
        collect("results/{target}/scorecard.parquet", target=SCORECARDS),
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
        "logs/combine_scorecards.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("combine_scorecards"),
    script:
        "../workflow_scripts/combine_scorecards.py"


rule name_unknown_model:
    """Answer a target with a mistyped model with the nearest names."""
    input:
        lambda wildcards: refuse(catalog.model, wildcards.unknown),
    output:
        "results/morcela/{unknown}.parquet",
    wildcard_constraints:
        unknown=other_than(
            [*catalog.models, "linking_functions", "intergroup_correlation", "scorecard"]
        ),


rule name_unknown_dataset:
    """Answer a target with a mistyped data set with the nearest names."""
    input:
        lambda wildcards: refuse(catalog.dataset, wildcards.unknown),
    output:
        "results/stimuli/{unknown}.parquet",
    wildcard_constraints:
        unknown=rf"(?!({DATASETS})(_sample\d+)?\.parquet)[^/]+",
