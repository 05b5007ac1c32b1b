# Judgements in context (Sinha et al. 2023, §4 and §5): accuracies after growing prefixes.
# REQUIRES what rules/prefixes.smk makes, results/stimuli of the primary data set, a tokenizer.
# PROVIDES results/context/: summaries/{model}/{dataset}/, and over the models of the scale accuracy,
# regression, matrix, overlap, correlations, unprefixed (parquet, csv), points, the figures, tables
# and scorecard.

# Stages beside the first, of the primary data set alone.
CONTEXT_STAGES = ["perturbed"]
if CONTEXT["compare_sharing"]:
    CONTEXT_STAGES += ["shared"]
CONTEXT_TABLES = ["accuracy", "regression", "matrix", "correlations", "unprefixed", "points"]
# What a summary of the primary data set takes beside its judgments.
CONTEXT_CHANGES = {
    "changed_judgments": collect(
        "results/context/{stage}/judgments/{{model}}/{{dataset}}.parquet", stage=CONTEXT_STAGES
    ),
    "perturbed_prefixes": "results/context/perturbed/prefixes/{dataset}.parquet",
    "overlap": "results/context/overlap.parquet",
    "prefix_overlap": "results/context/prefix_overlap.parquet",
}
# Beyond the paper, where models that know Chinese judge such pairs: in figures of their own.
CONTEXT_CHINESE = plan.chinese_in_contexts()
CONTEXT_ROOM = Room(
    "context",
    category="Context",
    figures=figures_of(CONTEXT["datasets"])
    + ["sharing"] * CONTEXT["compare_sharing"]
    + ["unprefixed", "perturbations"]
    + ["chinese", "chinese_unprefixed"] * bool(CONTEXT_CHINESE),
    files={
        name: f"results/context/{name}.parquet"
        for name in [
            *CONTEXT_TABLES,
            "overlap",
            "perturbations",
        ]
    },
    pages=["table_1", "table_2"],
    published_for=["tabulate"],
    models=CONTEXT["models"],
    # Without what stands in brackets.
    titles={name: catalog.dataset(name)["title"].split(" (")[0] for name in CONTEXT["datasets"]},
    options={
        "primary": CONTEXT_PRIMARY,
        "control": catalog.dataset(CONTEXT["control"])["title"].split(",")[0],
        **({"chinese": CONTEXT_CHINESE} if CONTEXT_CHINESE else {}),
        **({"chinese_control": plan.control_titles(CONTEXT_CHINESE)} if CONTEXT_CHINESE else {}),
    },
)


rule measure_context_overlap:
    """Say how alike suites are, and prefixes and their targets (context, §5 and Appendix D)."""
    input:
        stimuli=f"results/stimuli/{CONTEXT_PRIMARY}.parquet",
        prefixes=f"results/context/sampled/prefixes/{CONTEXT_PRIMARY}.parquet",
        tokenizer=CONTEXT_REFERENCE,
    output:
        parquet="results/context/overlap.parquet",
        csv=in_report("results/context/overlap.csv", CONTEXT_ROOM, "Every overlap"),
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
    """A model's accuracies with intervals, regressions, matrices, correlations (context, §4)."""
    input:
        unpack(lambda wildcards: CONTEXT_CHANGES if wildcards.dataset == CONTEXT_PRIMARY else {}),
        judgments="results/context/sampled/judgments/{model}/{dataset}.parquet",
        unprefixed="results/context/unprefixed/{model}/{dataset}.parquet",
    output:
        collect(
            "results/context/summaries/{{model}}/{{dataset}}/{table}.parquet",
            table=CONTEXT_TABLES,
        ),
    log:
        "logs/summarise_context/{model}/{dataset}.log",
    benchmark:
        "logs/summarise_context/{model}/{dataset}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(5000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("summarise_context"),
        settings={**pick(CONTEXT, "fewest_pairs", "bootstrap"), **pick(settings, "seed", "scale")},
    script:
        "../workflow_scripts/summarise_context.py"


rule combine_contexts:
    """Put the tables of all models and data sets together."""
    input:
        [
            f"results/context/summaries/{model}/{dataset}/{table}.parquet"
            for model in CONTEXT["models"]
            for dataset in plan.context_datasets(model)
            for table in CONTEXT_TABLES
        ],
    output:
        parquet=collect("results/context/{table}.parquet", table=CONTEXT_TABLES),
        csv=[
            in_report(f"results/context/{table}.csv", CONTEXT_ROOM, f"Every {table}")
            for table in CONTEXT_TABLES
            if table != "points"
        ],
    log:
        "logs/combine_contexts.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("combine_contexts"),
        models=CONTEXT["models"],
        seed=settings["seed"],
    script:
        "../workflow_scripts/combine_contexts.py"


rule context:
    """The paper's figures and tables, for the models and data of the scale."""
    input:
        rules.combine_contexts.output,
        rules.measure_context_overlap.output,
        CONTEXT_ROOM.output(),
