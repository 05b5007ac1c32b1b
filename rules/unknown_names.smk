# Answers to targets that name nothing we know.


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
