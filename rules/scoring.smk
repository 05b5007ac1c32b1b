# Scores of stimuli, shared by all papers.
# REQUIRES results/stimuli/{dataset}.parquet, a model's manifest or a file of imported scores.
# PROVIDES results/scores/{model}/{start_token}/{dataset}.parquet (tokens) and
# results/sentence_scores/{model}/{dataset}.parquet (sentences, under each convention).

IMPORTED_SENTENCES = plan.models_with("scores", level="sentence")
IMPORTED_TOKENS = plan.models_with("scores", level="token")


rule score_stimuli:
    """Token log-probabilities of a data set under one model after one start token."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/scores/{model}/{start_token}/{dataset}.parquet",
    log:
        "logs/score_stimuli/{model}/{start_token}/{dataset}.log",
    benchmark:
        "logs/score_stimuli/{model}/{start_token}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    # On a CPU two jobs of one thread beat one job of two.
    threads: 1
    resources:
        **with_model("score_stimuli"),
        **pick(settings["scoring"], "tokens_per_batch", "sentences_per_shard"),
    params:
        **pick(settings["scoring"], "device", "dtype", "window_stride"),
        code=code_digest("score_stimuli"),
        start_token=lambda wildcards: catalog.start_tokens[wildcards.start_token],
        entry=model_entry("context_window"),
    script:
        "../workflow_scripts/score_stimuli.py"


rule score_masked_stimuli:
    """Token log-probabilities of a data set under a masked model, each token given both sides."""
    input:
        model="resources/models/{model}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/scores/{model}/{start_token}/{dataset}.parquet",
    log:
        "logs/score_masked_stimuli/{model}/{start_token}/{dataset}.log",
    benchmark:
        "logs/score_masked_stimuli/{model}/{start_token}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(MASKED),
        start_token=alternatives(catalog.corrections),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        **with_model("score_masked_stimuli"),
        **pick(settings["scoring"], "tokens_per_batch", "sentences_per_shard"),
    params:
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("score_masked_stimuli"),
        correction=lambda wildcards: catalog.corrections[wildcards.start_token],
    script:
        "../workflow_scripts/score_masked_stimuli.py"


rule import_token_scores:
    """Token log-probabilities from elsewhere, into the same table."""
    input:
        scores=lambda wildcards: catalog.model(wildcards.model)["path"],
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/scores/{model}/imported/{dataset}.parquet",
    log:
        "logs/import_token_scores/{model}/{dataset}.log",
    wildcard_constraints:
        model=alternatives(IMPORTED_TOKENS),
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("import_token_scores"),
    script:
        "../workflow_scripts/import_token_scores.py"


rule import_sentence_scores:
    """Sentence log-probabilities from elsewhere, into the same table."""
    input:
        scores=lambda wildcards: catalog.model(wildcards.model)["path"],
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/sentence_scores/{model}/{dataset}.parquet",
    log:
        "logs/import_sentence_scores/{model}/{dataset}.log",
    wildcard_constraints:
        model=alternatives(IMPORTED_SENTENCES),
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("import_sentence_scores"),
    script:
        "../workflow_scripts/import_sentence_scores.py"


rule summarise_sentences:
    """Sum tokens to sentences under each BOS policy and unigram source of a model."""
    input:
        stimuli="results/stimuli/{dataset}.parquet",
        scores=lambda wildcards: [
            f"results/scores/{wildcards.model}/{start_token}/{wildcards.dataset}.parquet"
            for start_token in plan.start_tokens(wildcards.model, wildcards.dataset)
        ],
        unigrams=lambda wildcards: plan.unigram_tables(wildcards.model, wildcards.dataset),
    output:
        "results/sentence_scores/{model}/{dataset}.parquet",
    log:
        "logs/summarise_sentences/{model}/{dataset}.log",
    wildcard_constraints:
        model=alternatives(CAUSAL + MASKED + IMPORTED_TOKENS),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        code=code_digest("summarise_sentences"),
        start_tokens=lambda wildcards: plan.start_tokens(wildcards.model, wildcards.dataset),
        unigrams=lambda wildcards: plan.model_unigrams(wildcards.model, wildcards.dataset),
        bos_policies=lambda wildcards: {
            bos: catalog.bos_policies[bos]
            for bos in plan.bos_policies(wildcards.model, wildcards.dataset)
        },
    script:
        "../workflow_scripts/summarise_sentences.py"
