# How many prefixes a claim needs (beyond context, Appendix D): variance components and power.
# REQUIRES what rules/prefixes.smk makes, of stages sampled and shared, of the primary data set.
# PROVIDES results/context/{prefix_variances,prefixes_needed}.{parquet,csv}, of each model in
# results/context/prefix_power/{model}/{dataset}/.

# Stages that put targets after several prefixes of one kind; the first has a matrix of suites, too.
CONTEXT_REPEATED = ["sampled"] + ["shared"] * CONTEXT["compare_sharing"]


rule count_prefixes_needed:
    """A model's variance components by suite, target and prefix, and the prefixes a claim needs."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        judgments=collect(
            "results/context/{stage}/judgments/{{model}}/{{dataset}}.parquet",
            stage=CONTEXT_REPEATED,
        ),
        scores=collect(
            "results/context/{stage}/scores/{{model}}/{{dataset}}.parquet",
            stage=CONTEXT_REPEATED,
        ),
    output:
        variances="results/context/prefix_power/{model}/{dataset}/prefix_variances.parquet",
        needed="results/context/prefix_power/{model}/{dataset}/prefixes_needed.parquet",
    log:
        "logs/count_prefixes_needed/{model}/{dataset}.log",
    benchmark:
        "logs/count_prefixes_needed/{model}/{dataset}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        # Of 20 pairs a suite, and all scores while they are sifted.
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        # A fit of seconds for each draw, measure and kind of prefixes.
        runtime=costs.at_most(240),
    params:
        code=code_digest("count_prefixes_needed"),
        longest=plan.context_lengths("shared")[-1],
        drawn=pick(CONTEXT, "pairs_per_prefix", "matrix_prefixes"),
        settings={"draws": CONTEXT["variance_draws"], "seed": settings["seed"]},
        scale=settings["scale"],
    script:
        "../workflow_scripts/count_prefixes_needed.py"


rule combine_prefixes_needed:
    """Put the variance components and the numbers of prefixes of all models together."""
    input:
        **{
            name: collect(
                "results/context/prefix_power/{model}/{dataset}/{table}.parquet",
                model=CONTEXT_MODELS,
                dataset=CONTEXT_PRIMARY,
                table=table,
            )
            for name, table in zip(("variances", "needed"), CONTEXT_POWER)
        },
    output:
        parquet=collect("results/context/{table}.parquet", table=CONTEXT_POWER),
        csv=[
            in_report(f"results/context/{table}.csv", CONTEXT_ROOM, what)
            for table, what in zip(
                CONTEXT_POWER, ("Every variance component", "Every number of prefixes needed")
            )
        ],
    log:
        "logs/combine_prefixes_needed.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("combine_prefixes_needed"),
        models=CONTEXT_MODELS,
    script:
        "../workflow_scripts/combine_prefixes_needed.py"
