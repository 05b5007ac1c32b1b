# Judgements in context (Sinha et al. 2023, §4 and §5): accuracies after growing prefixes.
# REQUIRES the outputs of rules/prefixes.smk, results/stimuli of the primary data set, a tokenizer.
# PROVIDES results/context/{accuracy,regression,matrix,correlations}/{model}.{parquet,csv}; overlap of
# suites; the figures, tables and scorecard.

CONTEXT_TABLES = ["accuracy", "regression", "matrix", "correlations"]
CONTEXT_FILES = {
    f"context_{name}": collect(
        "results/context/{table}/{model}.parquet", table=name, model=CONTEXT["models"]
    )
    for name in CONTEXT_TABLES
}


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
    """A model's accuracies, regressions, matrices and correlations (context, §4 and §5)."""
    input:
        judgments="results/context/judgments/drawn/{model}.parquet",
        overlap="results/context/overlap.parquet",
        prefix_overlap="results/context/prefix_overlap.parquet",
        perturbed="results/context/judgments/perturbed/{model}.parquet",
        prefixes=f"results/context/prefixes/perturbed/{CONTEXT_PRIMARY}.parquet",
    output:
        parquet=collect("results/context/{table}/{{model}}.parquet", table=CONTEXT_TABLES),
        csv=collect("results/context/{table}/{{model}}.csv", table=CONTEXT_TABLES),
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
    script:
        "../workflow_scripts/summarise_context.py"


rule report_context:
    """Draw the paper's figures, write its tables, and judge its numbers and claims."""
    input:
        **CONTEXT_FILES,
        context_overlap="results/context/overlap.parquet",
    output:
        figures=figure_files("context", figures_of(CONTEXT["datasets"])),
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
            # Titles without their brackets.
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
        [*CONTEXT_FILES.values()],
        rules.measure_context_overlap.output,
        rules.report_context.output,
