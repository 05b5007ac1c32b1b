# Beyond context, whose stated limit is English: Chinese pairs after Chinese sentences.
# REQUIRES results/stimuli of Chinese data sets and of their controls, models' manifests.
# PROVIDES results/context/sampled/{prefixes,scores} of these data sets, which rules/prefixes.smk has
# counted and judged, and rules/context.smk summarised, as all others.

CHINESE_PAIRS = alternatives(plan.chinese_pairs())


rule sample_chinese_prefixes:
    """Draw Chinese targets and the prefixes before them, joined without blanks."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        control=lambda wildcards: plan.control_files(plan.context_control(wildcards.dataset)),
        tokenizer=lambda wildcards: plan.model_manifest(plan.context_tokenizer(wildcards.dataset)),
    output:
        "results/context/{stage}/prefixes/{dataset}.parquet",
    log:
        "logs/sample_chinese_prefixes/{stage}/{dataset}.log",
    wildcard_constraints:
        stage="sampled",
        dataset=CHINESE_PAIRS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("sample_chinese_prefixes"),
        control=lambda wildcards: plan.context_control(wildcards.dataset),
        control_entry=lambda wildcards: pick(
            catalog.dataset(plan.context_control(wildcards.dataset)),
            *("kind", "parser", "path", "files"),
        ),
        pairs_per_suite=lambda wildcards: pairs_per_suite(
            CONTEXT, wildcards.dataset, catalog.dataset(wildcards.dataset)
        ),
        settings=lambda wildcards: plan.sampling_settings(wildcards.stage),
        seed=settings["seed"],
    script:
        "../workflow_scripts/sample_chinese_prefixes.py"


rule score_chinese_prefixes:
    """Log-probabilities of Chinese targets right after their prefixes, each prefix run once."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
        prefixes="results/context/{stage}/prefixes/{dataset}.parquet",
        n_tokens=lambda wildcards: (
            f"results/context/{wildcards.stage}/prefix_tokens/"
            f"{catalog.model(wildcards.model)['tokenizer']}/{wildcards.dataset}.parquet"
        ),
    output:
        "results/context/{stage}/scores/{model}/{dataset}.parquet",
    log:
        "logs/score_chinese_prefixes/{stage}/{model}/{dataset}.log",
    benchmark:
        "logs/score_chinese_prefixes/{stage}/{model}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(WITH_WEIGHTS),
        stage="sampled",
        dataset=CHINESE_PAIRS,
    conda:
        "../envs/environment.yaml"
    # On a CPU each thread has a prefix of its own.
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(
            "score_chinese_prefixes",
            mem_mb=lambda wildcards, threads, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model) * (16 + threads) // 16, attempt
            ),
        ),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("score_chinese_prefixes"),
        entry=model_entry("context_window tokenizer", bulk=True),
        lengths=lambda wildcards: plan.context_lengths(wildcards.stage),
        start_token=lambda wildcards: catalog.start_tokens[
            catalog.start_token_of(catalog.model(wildcards.model)["bos_policies"][0])
        ],
    script:
        "../workflow_scripts/score_chinese_prefixes.py"
