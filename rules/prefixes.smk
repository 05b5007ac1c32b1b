# Judgements of minimal pairs after growing prefixes (Sinha et al. 2023, §3).
# REQUIRES results/stimuli of each data set, a corpus of unrelated sentences, models' manifests.
# PROVIDES results/context/prefixes/{sampled,perturbed}/{dataset} and
# results/context/judgments/{drawn,perturbed}/{model}.

CONTEXT = settings["context"]
# The data set that stands for the paper's BLiMP.
CONTEXT_PRIMARY = primary_dataset(CONTEXT["datasets"])
# Params of the jobs that judge.
JUDGING = {
    "device": settings["scoring"]["device"],
    "dtype": settings["scoring"]["dtype"],
    "code": code_digest("judge_contexts"),
    "entry": model_entry("context_window tokenizer", bulk=True),
    "start_token": lambda wildcards: catalog.start_tokens[
        catalog.start_token_of(catalog.model(wildcards.model)["bos_policies"][0])
    ],
}


rule sample_prefixes:
    """Draw targets of a data set and the prefixes before them (context, §3, Appendix D).

    By the tokens of one model, whichever are to score them: one more repeats nothing.
    """
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        control=sources.corpus_files(run, CONTEXT["control"]),
        tokenizer=sources.model_manifest(CONTEXT["tokenizer"]),
    output:
        "results/context/prefixes/sampled/{dataset}.parquet",
    log:
        "logs/sample_prefixes/{dataset}.log",
    # The longest chain of jobs on few cores starts here.
    priority: 1
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_over("sample_prefixes", CONTEXT["control"]),
        control=CONTEXT["control"],
        control_entry=pick(catalog.dataset(CONTEXT["control"]), "parser", "path", "files"),
        entry=entry_of("dataset", "suites"),
        pairs_per_suite=lambda wildcards: pairs_per_suite(
            CONTEXT, wildcards.dataset, catalog.dataset(wildcards.dataset)
        ),
        settings=pick(
            CONTEXT,
            "lengths",
            "pairs_per_prefix",
            "matrix_sentences",
            "matrix_prefixes",
            "matrix_targets",
        ),
        seed=settings["seed"],
    script:
        "../workflow_scripts/sample_prefixes.py"


rule perturb_prefixes:
    """Perturb the matched prefixes of the suites that respond most to them (context, §5)."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        prefixes="results/context/prefixes/sampled/{dataset}.parquet",
        # A model's of each tokenizer.
        tokenizers=list(
            {
                catalog.model(name)["tokenizer"]: sources.model_manifest(name)
                for name in reversed(CONTEXT["models"])
            }.values()
        ),
        judgments=collect(
            "results/context/judgments/drawn/{model}.parquet", model=CONTEXT["models"]
        ),
    output:
        "results/context/prefixes/perturbed/{dataset}.parquet",
    log:
        "logs/perturb_prefixes/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=60,
    params:
        code=code_digest("perturb_prefixes"),
        suites=CONTEXT["perturbed_suites"],
        tokens=CONTEXT["perturbed_tokens"],
        seed=settings["seed"],
    script:
        "../workflow_scripts/perturb_prefixes.py"


rule judge_contexts:
    """A model's judgments after all prefixes and without one (context, Eq. 1)."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli=collect("results/stimuli/{name}.parquet", name=CONTEXT["datasets"]),
        suites=[
            sources.dataset_manifest(name)  # regions and formulas of suites
            for name in CONTEXT["datasets"]
            if catalog.dataset(name)["parser"] == "syntaxgym"
        ],
        prefixes=collect(
            "results/context/prefixes/sampled/{name}.parquet", name=CONTEXT["datasets"]
        ),
    output:
        "results/context/judgments/drawn/{model}.parquet",
    log:
        "logs/judge_contexts/{model}.log",
    benchmark:
        "logs/judge_contexts/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    priority: 1
    conda:
        "../envs/environment.yaml"
    # On a CPU each thread has a prefix of its own.
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(lambda job: costs.judging(job.model))
        | dict(
            mem_mb=lambda wildcards, threads, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model) * (16 + threads) // 16, attempt
            ),
        ),
    params:
        **JUDGING,
        tasks=[scope.context_task(run, "sampled", name) for name in CONTEXT["datasets"]],
    script:
        "../workflow_scripts/judge_contexts.py"


rule judge_perturbed_contexts:
    """A model's judgments after perturbed prefixes (context, §5)."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli=[f"results/stimuli/{CONTEXT_PRIMARY}.parquet"],
        prefixes=[f"results/context/prefixes/perturbed/{CONTEXT_PRIMARY}.parquet"],
    output:
        "results/context/judgments/perturbed/{model}.parquet",
    log:
        "logs/judge_perturbed_contexts/{model}.log",
    benchmark:
        "logs/judge_perturbed_contexts/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(lambda job: costs.judging_perturbed(job.model))
        | dict(
            mem_mb=lambda wildcards, threads, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model) * (16 + threads) // 16, attempt
            ),
        ),
    params:
        **JUDGING,
        tasks=[scope.context_task(run, "perturbed", CONTEXT_PRIMARY)],
    script:
        "../workflow_scripts/judge_contexts.py"
