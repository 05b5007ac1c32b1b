# Passages that people read are put into training k times. README.md has the method.
# REQUIRES results/training/corpus.json, results/words of the texts, models of `training.sizes`, and
# the inputs of a regression of reading times.
# PROVIDES results/studies/doses/: deltas.csv, slopes.csv, and figure doses.

COPIES = [1, 4] if settings["scale"] == "demo" else [1, 4, 16, 64]
READ = [catalog.dataset(name)["texts"] for name in READING["datasets"]]
DOSED_TEXTS = ["provo"] if settings["scale"] == "laptop" else [*dict.fromkeys(READ)]
DOSED_SIZES = [*TRAINING["sizes"]][: 2 if settings["scale"] == "laptop" else None]
DOSED_IN = [one for one in READING["datasets"] if catalog.dataset(one)["texts"] in DOSED_TEXTS]


rule train_on_passages:
    """Train a model of one size on passages, too, and compute its surprisals of the texts."""
    input:
        corpus="results/training/corpus.json",
        words=collect("results/words/{texts}.parquet", texts=DOSED_TEXTS),
    output:
        manifest="resources/models/dosed-{size}-{copies}/manifest.json",
        surprisals=[
            f"results/studies/doses/surprisal/{{size}}-{{copies}}/{texts}.parquet"
            for texts in DOSED_TEXTS
        ],
    log:
        "logs/doses/train_on_passages/{size}-{copies}.log",
    wildcard_constraints:
        copies=r"\d+",
    conda:
        "../../envs/environment.yaml"
    threads: TRAINING["processes"] * (8 if costs.training_gpus() else 1)
    resources:
        mem_mb=lambda wildcards: costs.training_memory_mb(wildcards.size),
        gpu=costs.training_gpus(),
        runtime=lambda wildcards: costs.runtime(costs.training(wildcards.size)),
    params:
        code=code_digest("studies.doses.train_on_passages"),
        folder="resources/training/dosed-{size}-{copies}",
        training=lambda wildcards: {
            "plan": {"size": TRAINING["sizes"][wildcards.size], **TRAINING_PLAN},
            "validation_examples": TRAINING["validation_examples"],
        },
        device=TRAINING["device"],
        entry=lambda wildcards: sources.model_entry(
            run, f"trained-{wildcards.size}", "context_window", False
        ),
        surprisal=lambda wildcards: {
            **pick(READING, "context", "window_counts"),
            "start_token": sources.generation_start_token(run, f"trained-{wildcards.size}"),
        },
    script:
        "train_on_passages.py"


rule fit_doses:
    """Fit the regressions of one data set with models that saw copies of the passages."""
    input:
        **{key: files for key, files in FIT_INPUT.items() if key != "surprisals"},
        surprisals=lambda wildcards: [
            f"results/{folder}/{catalog.dataset(wildcards.dataset)['texts']}.parquet"
            for size in DOSED_SIZES
            for folder in [
                f"surprisal/trained-{size}",
                *(f"studies/doses/surprisal/{size}-{copies}" for copies in COPIES),
            ]
        ],
    output:
        deltas="results/studies/doses/{dataset}/deltas.csv",
        slopes="results/studies/doses/{dataset}/slopes.csv",
    log:
        "logs/doses/fit_doses/{dataset}.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **pick(FIT_PARAMS, "entry", "options"),
        code=code_digest("studies.doses.fit_doses"),
        sizes=DOSED_SIZES,
        copies=[0, *COPIES],
        context=READING["context"],
    script:
        "fit_doses.py"


rule doses:
    """Draw the effect of copies of the passages in training, and join the tables."""
    input:
        deltas=collect(rules.fit_doses.output.deltas, dataset=DOSED_IN),
        slopes=collect(rules.fit_doses.output.slopes, dataset=DOSED_IN),
    output:
        deltas="results/studies/doses/deltas.csv",
        slopes="results/studies/doses/slopes.csv",
        pdf="results/studies/doses/doses.pdf",
        png=report("results/studies/doses/doses.png", category="Studies"),
    log:
        "logs/doses/draw_doses.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code_digest("studies.doses.draw_doses"),
        models=catalog.models,
        sizes={size: f"trained-{size}" for size in DOSED_SIZES},
        titles={name: catalog.dataset(name)["title"] for name in DOSED_IN},
    script:
        "draw_doses.py"
