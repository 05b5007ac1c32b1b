# Judgements in context (Sinha et al. 2023, §4 and §5): accuracies after growing prefixes.
# REQUIRES what rules/prefixes.smk makes, results/stimuli of the primary data set, a tokenizer.
# PROVIDES results/context/: of each model accuracy, regression, matrix, correlations, unprefixed and
# points/{model} (parquet, csv), and under changed/ what perturbed and shared prefixes change; overlap
# of suites; the figures, tables and scorecard.

CONTEXT_TABLES = ["accuracy", "regression", "matrix", "correlations", "unprefixed", "points"]


rule measure_context_overlap:
    """Say how alike suites are, and prefixes and their targets (context, §5 and Appendix D)."""
    input:
        stimuli=f"results/stimuli/{CONTEXT_PRIMARY}.parquet",
        prefixes=f"results/context/prefixes/sampled/{CONTEXT_PRIMARY}.parquet",
        tokenizer=sources.model_manifest(CONTEXT["tokenizer"]),
    output:
        parquet="results/context/overlap.parquet",
        csv=in_report("results/context/overlap.csv", "Every overlap"),
        prefixes="results/context/prefix_overlap.parquet",
    log:
        "logs/measure_context_overlap.log",
    benchmark:
        "logs/measure_context_overlap.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        **pick(CONTEXT, "overlap_sentences"),
        **pick(settings, "seed", "scale"),
        code=code_digest("measure_context_overlap"),
        dataset=CONTEXT_PRIMARY,
    script:
        "../workflow_scripts/measure_context_overlap.py"


rule summarise_context:
    """A model's accuracies, regressions, matrices, correlations; what changed prefixes change (§4, §5)."""
    input:
        judgments="results/context/judgments/drawn/{model}.parquet",
        unprefixed="results/context/judgments/unprefixed/{model}.parquet",
        overlap="results/context/overlap.parquet",
        prefix_overlap="results/context/prefix_overlap.parquet",
        perturbed="results/context/judgments/perturbed/{model}.parquet",
        prefixes=f"results/context/prefixes/perturbed/{CONTEXT_PRIMARY}.parquet",
    output:
        parquet=collect("results/context/{table}/{{model}}.parquet", table=CONTEXT_TABLES),
        csv=collect("results/context/{table}/{{model}}.csv", table=CONTEXT_TABLES),
        changed=collect("results/context/changed/{table}/{{model}}.parquet", table=CONTEXT_CHANGED),
        changed_csv=collect("results/context/changed/{table}/{{model}}.csv", table=CONTEXT_CHANGED),
    log:
        "logs/summarise_context/{model}.log",
    benchmark:
        "logs/summarise_context/{model}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(5000, attempt),
        runtime=costs.at_most(240),
    params:
        **pick(CONTEXT, "fewest_pairs"),
        **pick(settings, "bootstrap", "seed", "scale"),
        code=code_digest("summarise_context"),
        datasets=CONTEXT["datasets"],
        primary=CONTEXT_PRIMARY,
    script:
        "../workflow_scripts/summarise_context.py"


rule report_context:
    """Draw the paper's figures, write its tables, and compare its numbers and claims with ours."""
    input:
        **{f"context_{name}": context_tables(name) for name in CONTEXT_TABLES},
        context_overlap="results/context/overlap.parquet",
    output:
        figures=figure_files(
            "context",
            figures_of(CONTEXT["datasets"])
            + ["sharing"] * CONTEXT["compare_sharing"]
            + ["unprefixed"],
        ),
        tables=["results/context/table_1.csv", "results/context/table_2.csv"]
        + [in_report(f"results/context/table_{number}.html") for number in (1, 2)],
        scorecard="results/context/scorecard.parquet",
        pages=scorecard_pages("context"),
    log:
        "logs/report_context.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **report_params(
            "context",
            CONTEXT["models"] + models_in_print("context"),
            # Without what stands in brackets.
            {
                **{
                    name: catalog.dataset(name)["title"].split(" (")[0]
                    for name in CONTEXT["datasets"]
                },
                UNRELATED: catalog.dataset(CONTEXT["control"])["title"].split(",")[0],
            },
        ),
    script:
        "../workflow_scripts/report_context.py"


rule context:
    """The paper's figures and tables, for the models and data of the scale."""
    input:
        [context_tables(name) for name in CONTEXT_TABLES],
        rules.measure_context_overlap.output,
        rules.report_context.output,
