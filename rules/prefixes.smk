# Judgements of minimal pairs after growing prefixes (Sinha et al. 2023, §3).
# REQUIRES results/stimuli of each data set, a corpus of unrelated sentences, models' manifests.
# PROVIDES results/context/{stage}/: prefixes, prefix_tokens, scores and judgments, where stage is
# sampled, perturbed or shared; results/context/unprefixed/, judgments without a prefix.

CONTEXT = settings["context"]
# What the paper does on BLiMP alone.
CONTEXT_PRIMARY = primary_dataset(CONTEXT["datasets"])
# The models that judge it, and the data sets that English adverbs and clauses can perturb.
CONTEXT_MODELS = plan.context_models(CONTEXT_PRIMARY)
IN_ENGLISH = alternatives(
    [name for name in plan.datasets_of("stimuli") if name not in plan.chinese_pairs()]
)
CONTEXT_REFERENCE = plan.model_manifest(plan.context_tokenizer(CONTEXT_PRIMARY))
# Manifests that bring the tokenizers of the models, by tokenizer.
CONTEXT_TOKENIZERS = {
    catalog.model(model)["tokenizer"]: plan.model_manifest(model)
    for model in reversed(CONTEXT["models"])
}


rule sample_prefixes:
    """Draw targets of a data set and the prefixes before them (context, §3, Appendix D).

    By the tokens of one model, whichever are to score them: one more repeats nothing.
    """
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        control=lambda wildcards: plan.control_files(plan.context_control(wildcards.dataset)),
        tokenizer=lambda wildcards: plan.model_manifest(plan.context_tokenizer(wildcards.dataset)),
    output:
        "results/context/{stage}/prefixes/{dataset}.parquet",
    log:
        "logs/sample_prefixes/{stage}/{dataset}.log",
    wildcard_constraints:
        stage="sampled|shared",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=lambda wildcards: code_over("sample_prefixes", plan.context_control(wildcards.dataset)),
        control=lambda wildcards: plan.context_control(wildcards.dataset),
        control_entry=lambda wildcards: pick(
            catalog.dataset(plan.context_control(wildcards.dataset)),
            *("kind", "parser", "path", "files"),
        ),
        entry=entry_of("dataset", "suites"),
        language=lambda wildcards: plan.language(wildcards.dataset),
        pairs_per_suite=lambda wildcards: pairs_per_suite(
            CONTEXT, wildcards.dataset, catalog.dataset(wildcards.dataset)
        ),
        settings=lambda wildcards: plan.sampling_settings(wildcards.stage),
        seed=settings["seed"],
    script:
        "../workflow_scripts/sample_prefixes.py"


rule perturb_prefixes:
    """Perturb the matched prefixes of the suites that respond most to them (context, §5)."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        prefixes="results/context/sampled/prefixes/{dataset}.parquet",
        n_tokens=collect(
            "results/context/sampled/prefix_tokens/{tokenizer}/{{dataset}}.parquet",
            tokenizer={
                catalog.model(model)["tokenizer"]: None for model in reversed(CONTEXT_MODELS)
            },
        ),
        judgments=collect(
            "results/context/sampled/judgments/{model}/{{dataset}}.parquet",
            model=CONTEXT_MODELS,
        ),
    output:
        "results/context/perturbed/prefixes/{dataset}.parquet",
    log:
        "logs/perturb_prefixes/{dataset}.log",
    wildcard_constraints:
        dataset=IN_ENGLISH,
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


rule count_prefix_tokens:
    """Count the tokens of each prefix up to each sentence's end, under one tokenizer."""
    input:
        prefixes="results/context/{stage}/prefixes/{dataset}.parquet",
        tokenizer=lambda wildcards: (
            CONTEXT_TOKENIZERS.get(wildcards.tokenizer)
            or plan.tokenizer_manifest(wildcards.tokenizer)
        ),
    output:
        "results/context/{stage}/prefix_tokens/{tokenizer}/{dataset}.parquet",
    log:
        "logs/count_prefix_tokens/{stage}/{tokenizer}/{dataset}.log",
    benchmark:
        "logs/count_prefix_tokens/{stage}/{tokenizer}/{dataset}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("count_prefix_tokens"),
    script:
        "../workflow_scripts/count_prefix_tokens.py"


rule score_prefixes:
    """Log-probabilities of targets after their prefixes, each prefix run once."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
        suites=lambda wildcards: plan.suite_files(wildcards.dataset),
        prefixes="results/context/{stage}/prefixes/{dataset}.parquet",
        n_tokens=lambda wildcards: (
            f"results/context/{wildcards.stage}/prefix_tokens/"
            f"{catalog.model(wildcards.model)['tokenizer']}/{wildcards.dataset}.parquet"
        ),
    output:
        "results/context/{stage}/scores/{model}/{dataset}.parquet",
    log:
        "logs/score_prefixes/{stage}/{model}/{dataset}.log",
    benchmark:
        "logs/score_prefixes/{stage}/{model}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    # On a CPU each thread has a prefix of its own.
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(
            "score_prefixes",
            mem_mb=lambda wildcards, threads, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model) * (16 + threads) // 16, attempt
            ),
        ),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("score_prefixes"),
        entry=model_entry("context_window tokenizer", bulk=True),
        dataset_entry=entry_of("dataset", "parser files"),
        language=lambda wildcards: plan.language(wildcards.dataset),
        lengths=lambda wildcards: plan.context_lengths(wildcards.stage),
        start_token=lambda wildcards: catalog.start_tokens[
            catalog.start_token_of(catalog.model(wildcards.model)["bos_policies"][0])
        ],
    script:
        "../workflow_scripts/score_prefixes.py"


rule judge_pairs:
    """Say which pairs and items a model judges rightly after which prefixes (context, Eq. 1)."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        suites=lambda wildcards: plan.suite_files(wildcards.dataset),
        prefixes="results/context/{stage}/prefixes/{dataset}.parquet",
        scores="results/context/{stage}/scores/{model}/{dataset}.parquet",
    output:
        "results/context/{stage}/judgments/{model}/{dataset}.parquet",
    log:
        "logs/judge_pairs/{stage}/{model}/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=60,
    params:
        code=code_digest("judge_pairs"),
        dataset_entry=entry_of("dataset", "parser files"),
    script:
        "../workflow_scripts/judge_pairs.py"


rule judge_unprefixed:
    """Judge the same pairs and items without a prefix, under every BOS policy."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
        suites=lambda wildcards: plan.suite_files(wildcards.dataset),
        prefixes="results/context/sampled/prefixes/{dataset}.parquet",
    output:
        "results/context/unprefixed/{model}/{dataset}.parquet",
    log:
        "logs/judge_unprefixed/{model}/{dataset}.log",
    benchmark:
        "logs/judge_unprefixed/{model}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(
            "judge_unprefixed",
            mem_mb=lambda wildcards, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model), attempt
            ),
        ),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("judge_unprefixed"),
        entry=model_entry("context_window tokenizer", bulk=True),
        dataset_entry=entry_of("dataset", "parser files"),
        policies=lambda wildcards: {
            name: {
                "start_token": catalog.start_tokens[catalog.start_token_of(name)],
                "first_token": catalog.bos_policies[name]["first_token"],
            }
            for name in catalog.model(wildcards.model)["bos_policies"]
        },
    script:
        "../workflow_scripts/judge_unprefixed.py"
