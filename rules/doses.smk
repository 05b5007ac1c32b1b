# Doses of leakage: models whose training has had passages that people read, so many times each, and
# what that does to ΔLogLik (beyond Oh, Zhu & Schuler 2025, Study 2, who fine-tune on them).
# REQUIRES results/training/corpus.json, results/words of the texts of `doses`, and what a regression
# of reading times needs.
# PROVIDES results/training/doses/{copies}.json, a corpus for one training;
# resources/models/dosed-{size}-{copies}/manifest.json (models of source `trained`, as any other) with
# results/training/doses/logs/; results/reading/doses/{dataset}.parquet and dose_slopes/, and over the
# data sets results/reading/{doses,dose_slopes}.csv.

DOSE_COPIES = alternatives(map(str, DOSES["copies"]))


rule dose_training_corpus:
    """Write what one training sees, with each passage in it so many times."""
    input:
        corpus="results/training/corpus.json",
        words=collect("results/words/{dataset}.parquet", dataset=DOSES["texts"]),
    output:
        "results/training/doses/{copies}.json",
    log:
        "logs/dose_training_corpus/{copies}.log",
    benchmark:
        "logs/dose_training_corpus/{copies}.benchmark.tsv"
    wildcard_constraints:
        copies=DOSE_COPIES,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2 * BASE_MEMORY_MB,
        disk_mb=costs.dosed_disk_mb(),
        runtime=lambda wildcards: costs.runtime("dose_training_corpus", wildcards),
    params:
        code=code_digest("dose_training_corpus"),
        options={
            **pick(TRAINING, "validation_examples", "steps", "batch_size"),
            **pick(DOSES, "period"),
            "seed": settings["seed"],
            "most": DOSES["rows"],
        },
    script:
        "../workflow_scripts/dose_training_corpus.py"


rule train_dosed_model:
    """Train a model of one size on passages, too; all else is as in its training without them."""
    input:
        "results/training/doses/{copies}.json",
    output:
        manifest="resources/models/dosed-{size}-{copies}/manifest.json",
        log="results/training/doses/logs/{size}-{copies}.jsonl",
    log:
        "logs/train_dosed_model/{size}-{copies}.log",
    benchmark:
        "logs/train_dosed_model/{size}-{copies}.benchmark.tsv"
    wildcard_constraints:
        size=alternatives(plan.dosed_sizes()),
        copies=DOSE_COPIES,
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: TRAINING["processes"] * (8 if costs.training_gpus() else 1)
    resources:
        mem_mb=lambda wildcards: costs.training_memory_mb(wildcards.size),
        gpu=costs.training_gpus(),
        runtime=lambda wildcards: costs.runtime("train_dosed_model", wildcards),
    params:
        **pick(TRAINING, "device", "validation_examples"),
        code=code_digest("train_dosed_model"),
        folder="resources/training/dosed-{size}-{copies}",
        plan=lambda wildcards: {"size": TRAINING["sizes"][wildcards.size], **TRAINING_PLAN},
    script:
        "../workflow_scripts/train_dosed_model.py"


rule fit_doses:
    """What copies of the passages in training do to what surprisal adds, for one data set."""
    input:
        **{key: files for key, files in FIT_INPUT.items() if key != "surprisals"},
        surprisals=lambda wildcards: collect(
            "results/surprisal/{model}/{texts}.parquet",
            model=DOSED_MODELS,
            texts=catalog.dataset(wildcards.dataset)["texts"],
        ),
    output:
        effects="results/reading/doses/{dataset}.parquet",
        slopes="results/reading/dose_slopes/{dataset}.parquet",
    log:
        "logs/fit_doses/{dataset}.log",
    benchmark:
        "logs/fit_doses/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=alternatives(DOSED_IN),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **pick(FIT_PARAMS, "entry", "options"),
        code=code_digest("fit_doses"),
        models=DOSED_MODELS,
        contexts=plan.reading_contexts(DOSED_MODELS),
        corrections=plan.reading_corrections(DOSED_MODELS),
        sizes=plan.dosed_sizes(),
        copies=DOSES["copies"],
    script:
        "../workflow_scripts/fit_doses.py"


rule tabulate_doses:
    """Put what copies of the passages in training do, on all data sets, in two tables."""
    input:
        effects=collect("results/reading/doses/{dataset}.parquet", dataset=DOSED_IN),
        slopes=collect("results/reading/dose_slopes/{dataset}.parquet", dataset=DOSED_IN),
    output:
        effects=in_report("results/reading/doses.csv", READING_ROOM, "ΔLogLik by dose"),
        slopes=in_report("results/reading/dose_slopes.csv", READING_ROOM, "Slopes over doses"),
    log:
        "logs/tabulate_doses.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_doses"),
    script:
        "../workflow_scripts/tabulate_doses.py"
