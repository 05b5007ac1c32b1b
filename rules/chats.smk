# Beyond context, §5: models with a chat template, asked by probability and by prompt.
# REQUIRES results/context/composed/prefixes of the primary data set, models' manifests.
# PROVIDES results/context/chat/{model}/{dataset}.parquet, results/context/chats.{parquet,csv}.


rule judge_chats:
    """Judge pairs in chats: by turns' probability, labelled examples and a choice of two."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
        prefixes="results/context/composed/prefixes/{dataset}.parquet",
    output:
        "results/context/chat/{model}/{dataset}.parquet",
    log:
        "logs/judge_chats/{model}/{dataset}.log",
    benchmark:
        "logs/judge_chats/{model}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: lambda wildcards: 1 if costs.gpus(wildcards.model) else 8
    resources:
        **with_model(
            "judge_chats",
            mem_mb=lambda wildcards, attempt: costs.grown(
                4000 + costs.memory_mb(wildcards.model), attempt
            ),
        ),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("judge_chats"),
        entry=model_entry("context_window tokenizer", bulk=True),
        sentences=CONTEXT["chat_sentences"],
        start_token=lambda wildcards: catalog.start_tokens[
            catalog.start_token_of(catalog.model(wildcards.model)["bos_policies"][0])
        ],
    script:
        "../workflow_scripts/judge_chats.py"


rule summarise_chats:
    """All chat models' accuracies by method and context, beside those by plain text."""
    input:
        collect(
            "results/context/chat/{model}/{dataset}.parquet",
            model=CONTEXT["chat_models"],
            dataset=CONTEXT_PRIMARY,
        ),
    output:
        parquet="results/context/chats.parquet",
        csv=in_report(
            "results/context/chats.csv", CONTEXT_ROOM, "Every method and context of chats"
        ),
    log:
        "logs/summarise_chats.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("summarise_chats"),
        settings={**pick(CONTEXT, "bootstrap"), **pick(settings, "seed", "scale")},
    script:
        "../workflow_scripts/summarise_chats.py"
