# Beyond context, §5: perturbed prefixes beside the original at equal numbers of sentences.
# REQUIRES what rules/prefixes.smk makes, of stages sampled and perturbed, of the primary data set.
# PROVIDES results/context/perturbations.{parquet,csv}.


rule compare_perturbations:
    """All models' accuracies after perturbed and original prefixes, by tokens and sentences."""
    input:
        sampled=collect(
            "results/context/sampled/judgments/{model}/{dataset}.parquet",
            model=CONTEXT_MODELS,
            dataset=CONTEXT_PRIMARY,
        ),
        perturbed=collect(
            "results/context/perturbed/judgments/{model}/{dataset}.parquet",
            model=CONTEXT_MODELS,
            dataset=CONTEXT_PRIMARY,
        ),
        prefixes=f"results/context/perturbed/prefixes/{CONTEXT_PRIMARY}.parquet",
    output:
        parquet="results/context/perturbations.parquet",
        csv=in_report("results/context/perturbations.csv", CONTEXT_ROOM, "Every perturbation"),
    log:
        "logs/compare_perturbations.log",
    benchmark:
        "logs/compare_perturbations.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        # One model's judgments at a time: at scale paper some three million after perturbed ones.
        mem_mb=lambda wildcards, attempt: costs.grown(5000, attempt),
        runtime=60,
    params:
        code=code_digest("compare_perturbations"),
        settings={**pick(CONTEXT, "bootstrap"), **pick(settings, "seed", "scale")},
    script:
        "../workflow_scripts/compare_perturbations.py"
