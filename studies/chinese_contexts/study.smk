# Judgments of Chinese pairs after Chinese sentences; README.md has the question and the method.
# REQUIRES results/stimuli of ZhoBLiMP and SLING, models' manifests.
# PROVIDES results/studies/chinese_contexts/: prefixes/{dataset}, judgments/{model}, and the tables,
# the figure and the verdicts of all models.

CHINESE_RESULTS = "results/studies/chinese_contexts"
# Each with the data set whose acceptable sentences are unrelated to it.
CHINESE_PAIRS = {"zhoblimp": "sling", "sling": "zhoblimp"}
if settings["scale"] == "paper":
    CHINESE_MODELS = ["llama-3-8b-chinese", "gpt2-chinese"]
    CHINESE_DRAWN = pick(CONTEXT, "pairs_per_suite", "pairs_per_prefix", "lengths")
else:
    CHINESE_MODELS = ["smollm2-135m"]
    CHINESE_DRAWN = {"pairs_per_suite": 4, "pairs_per_prefix": 4, "lengths": [32, 64, 125]}


rule sample_chinese_prefixes:
    """Draw the prefixes before the pairs of a Chinese data set."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        other=lambda wildcards: f"results/stimuli/{CHINESE_PAIRS[wildcards.dataset]}.parquet",
        # Of the first model, which has the fewest tokens per sentence.
        tokenizer=sources.model_manifest(CHINESE_MODELS[0]),
    output:
        f"{CHINESE_RESULTS}/prefixes/{{dataset}}.parquet",
    log:
        "logs/chinese_contexts/sample_chinese_prefixes/{dataset}.log",
    wildcard_constraints:
        dataset=alternatives(CHINESE_PAIRS),
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("studies.chinese_contexts.sample_chinese_prefixes"),
        drawn=CHINESE_DRAWN,
        seed=settings["seed"],
    script:
        "sample_chinese_prefixes.py"


rule judge_chinese_contexts:
    """A model's judgments of Chinese pairs after prefixes, and without one."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=CHINESE_PAIRS),
        prefixes=collect(rules.sample_chinese_prefixes.output, dataset=CHINESE_PAIRS),
    output:
        f"{CHINESE_RESULTS}/judgments/{{model}}.parquet",
    log:
        "logs/chinese_contexts/judge_chinese_contexts/{model}.log",
    benchmark:
        "logs/chinese_contexts/judge_chinese_contexts/{model}.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(lambda job: costs.judging(job.model)),
    params:
        **JUDGING | {"code": code_digest("studies.chinese_contexts.judge_chinese_contexts")},
        tasks=[
            scope.context_task(run, "sampled", name) | {"lengths": CHINESE_DRAWN["lengths"]}
            for name in CHINESE_PAIRS
        ],
    script:
        "judge_chinese_contexts.py"


rule summarise_chinese_contexts:
    """Summarise and draw all models' judgments, and judge the claims."""
    input:
        collect(rules.judge_chinese_contexts.output, model=CHINESE_MODELS),
    output:
        context_accuracy=f"{CHINESE_RESULTS}/accuracy.csv",
        context_regression=f"{CHINESE_RESULTS}/regression.csv",
        claims=f"{CHINESE_RESULTS}/claims.csv",
        figures=collect(f"{CHINESE_RESULTS}/accuracy.{{suffix}}", suffix=["pdf", "png"]),
    log:
        "logs/chinese_contexts/summarise_chinese_contexts.log",
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(5000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("studies.chinese_contexts.summarise_chinese_contexts"),
        settings={"fewest_pairs": 1, **pick(settings, "bootstrap", "seed", "scale")},
        run={
            "scale": settings["scale"],
            "models": describe_models(catalog.models, CHINESE_MODELS),
            "titles": {name: catalog.dataset(name)["title"] for name in CHINESE_PAIRS}
            | {UNRELATED: " / ".join(catalog.dataset(n)["title"] for n in CHINESE_PAIRS.values())},
        },
    script:
        "summarise_chinese_contexts.py"


rule chinese_contexts:
    """Judgments of Chinese pairs after Chinese sentences."""
    input:
        rules.summarise_chinese_contexts.output,
