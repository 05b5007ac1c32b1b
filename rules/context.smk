# Judgements in context (Sinha et al. 2023): minimal pairs after growing prefixes.
# REQUIRES results/stimuli of each data set, a corpus of unrelated sentences, models' manifests.
# PROVIDES results/context/{stage}/: prefixes, prefix_tokens, scores and judgments, where stage is
# sampled, perturbed or shared; unprefixed/, judgments without a prefix; summaries/{model}/{dataset}/;
# and over the models of the scale results/context/: accuracy, regression, matrix, overlap,
# correlations, unprefixed (parquet, csv) and points, the figures, tables and scorecard.

CONTEXT = settings["context"]
# What the paper does on BLiMP alone.
CONTEXT_PRIMARY = primary_dataset(CONTEXT["datasets"])
# Stages beside the first, of the primary data set alone.
CONTEXT_STAGES = ["perturbed"]
if CONTEXT["compare_sharing"]:
    CONTEXT_STAGES += ["shared"]
CONTEXT_TABLES = ["accuracy", "regression", "matrix", "correlations", "unprefixed", "points"]
# What prefixes are drawn by, whichever models are to score them: one more repeats nothing.
CONTEXT_REFERENCE = plan.model_manifest(CONTEXT["tokenizer"])
# Manifests that bring the tokenizers of the models, by tokenizer.
CONTEXT_TOKENIZERS = {
    catalog.model(model)["tokenizer"]: plan.model_manifest(model)
    for model in reversed(CONTEXT["models"])
}
CONTEXT_ROOM = Room(
    "context",
    category="Context",
    figures=figures_of(CONTEXT["datasets"])
    + ["sharing"] * CONTEXT["compare_sharing"]
    + ["unprefixed"],
    files={name: f"results/context/{name}.parquet" for name in [*CONTEXT_TABLES, "overlap"]},
    pages=["table_1", "table_2"],
    published_for=["tabulate"],
    models=CONTEXT["models"],
    # Without what stands in brackets.
    titles={name: catalog.dataset(name)["title"].split(" (")[0] for name in CONTEXT["datasets"]},
    options={
        "primary": CONTEXT_PRIMARY,
        "control": catalog.dataset(CONTEXT["control"])["title"].split(",")[0],
    },
)


rule sample_prefixes:
    """Draw targets of a data set and the prefixes before them (context, §3, Appendix D)."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        control=plan.corpus_files(CONTEXT["control"]),
        tokenizer=CONTEXT_REFERENCE,
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
        code=code_over("sample_prefixes", CONTEXT["control"]),
        control=CONTEXT["control"],
        control_entry=pick(catalog.dataset(CONTEXT["control"]), "parser", "path", "files"),
        entry=entry_of("dataset", "suites"),
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
            tokenizer=CONTEXT_TOKENIZERS,
        ),
        judgments=collect(
            "results/context/sampled/judgments/{model}/{{dataset}}.parquet",
            model=CONTEXT["models"],
        ),
    output:
        "results/context/perturbed/prefixes/{dataset}.parquet",
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


rule count_prefix_tokens:
    """Count the tokens of each prefix up to each sentence's end, under one tokenizer."""
    input:
        prefixes="results/context/{stage}/prefixes/{dataset}.parquet",
        tokenizer=lambda wildcards: CONTEXT_TOKENIZERS[wildcards.tokenizer],
    output:
        "results/context/{stage}/prefix_tokens/{tokenizer}/{dataset}.parquet",
    log:
        "logs/count_prefix_tokens/{stage}/{tokenizer}/{dataset}.log",
    benchmark:
        "logs/count_prefix_tokens/{stage}/{tokenizer}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        tokenizer=alternatives(CONTEXT_TOKENIZERS),
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
        model=alternatives(WITH_WEIGHTS),
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
        entry=entry_of("model", "dtype context_window tokenizer"),
        dataset_entry=entry_of("dataset", "parser files"),
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
        model=alternatives(WITH_WEIGHTS),
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
        entry=entry_of("model", "dtype context_window tokenizer"),
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


def context_changes(wildcards):
    """What the paper looks at on its primary data set alone."""
    if wildcards.dataset != CONTEXT_PRIMARY:
        return {}
    return {
        "changed_judgments": collect(
            "results/context/{stage}/judgments/{{model}}/{{dataset}}.parquet", stage=CONTEXT_STAGES
        ),
        "perturbed_prefixes": "results/context/perturbed/prefixes/{dataset}.parquet",
        "overlap": "results/context/overlap.parquet",
        "prefix_overlap": "results/context/prefix_overlap.parquet",
    }


rule summarise_context:
    """A model's accuracies with intervals, regressions, matrices, correlations (context, §4)."""
    input:
        unpack(context_changes),
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
        mem_mb=lambda wildcards, attempt: costs.grown(4000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("summarise_context"),
        settings={**pick(CONTEXT, "fewest_pairs", "bootstrap"), **pick(settings, "seed", "scale")},
    script:
        "../workflow_scripts/summarise_context.py"


rule combine_contexts:
    """Put the tables of all models and data sets together."""
    input:
        collect(
            "results/context/summaries/{model}/{dataset}/{table}.parquet",
            model=CONTEXT["models"],
            dataset=CONTEXT["datasets"],
            table=CONTEXT_TABLES,
        ),
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
