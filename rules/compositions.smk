# Beyond context, §5: prefixes composed by how much is unacceptable, where and how far away, and
# controls that keep the syntax or the words alone.
# REQUIRES what rules/prefixes.smk makes, of stages sampled and composed, of the primary data set.
# PROVIDES results/context/composed/prefixes, which rules/prefixes.smk has scored and judged, and
# results/context/{composition,contrasts}.{parquet,csv}.


rule compose_prefixes:
    """Compose prefixes by dose and place of unacceptable sentences, and their controls."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        control=plan.corpus_files(CONTEXT["control"]),
        tokenizer=CONTEXT_REFERENCE,
    output:
        "results/context/composed/prefixes/{dataset}.parquet",
    log:
        "logs/compose_prefixes/{dataset}.log",
    benchmark:
        "logs/compose_prefixes/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=IN_ENGLISH,
    conda:
        "../envs/environment.yaml"
    resources:
        # Of all sentences, and the texts of one suite's prefixes.
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_over("compose_prefixes", CONTEXT["control"]),
        control=CONTEXT["control"],
        control_entry=pick(catalog.dataset(CONTEXT["control"]), "parser", "path", "files"),
        entry=entry_of("dataset", "suites language"),
        drawn=lambda wildcards: plan.composed_sample(wildcards.dataset),
        sizes=plan.composed_sizes(),
        seed=settings["seed"],
    script:
        "../workflow_scripts/compose_prefixes.py"


rule summarise_compositions:
    """All models' accuracies by dose, place, distance and control, and their contrasts."""
    input:
        composed=collect(
            "results/context/composed/judgments/{model}/{dataset}.parquet",
            model=CONTEXT_MODELS,
            dataset=CONTEXT_PRIMARY,
        ),
        sampled=collect(
            "results/context/sampled/judgments/{model}/{dataset}.parquet",
            model=CONTEXT_MODELS,
            dataset=CONTEXT_PRIMARY,
        ),
        prefixes=f"results/context/composed/prefixes/{CONTEXT_PRIMARY}.parquet",
    output:
        parquet=collect("results/context/{table}.parquet", table=CONTEXT_COMPOSED),
        csv=[
            in_report(f"results/context/{table}.csv", CONTEXT_ROOM, f"Every {table}")
            for table in CONTEXT_COMPOSED
        ],
    log:
        "logs/summarise_compositions.log",
    benchmark:
        "logs/summarise_compositions.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=60,
    params:
        code=code_digest("summarise_compositions"),
        settings={
            "varied_tokens": CONTEXT["composed_tokens"],
            **pick(CONTEXT, "bootstrap"),
            **pick(settings, "seed", "scale"),
        },
    script:
        "../workflow_scripts/summarise_compositions.py"
