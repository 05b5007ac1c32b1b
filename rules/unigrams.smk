# Unigram log-probabilities of a tokenizer's vocabulary (morcela, §3.2).
# REQUIRES a model that brings the tokenizer; a corpus, a published table or the model itself.
# PROVIDES results/unigrams/{tokenizer}/{source}.parquet. A source is unigrahams_MODEL,
# unigrahams-released_MODEL (sampled as the released code does), corpus_DATASET, training_STEPS (text
# that models trained here had met by then) or a data set of kind `unigrams`.


rule count_tokens:
    """Count a corpus's tokens in one of several shards of its documents."""
    input:
        tokenizer=lambda wildcards: sources.tokenizer_manifest(run, wildcards.tokenizer),
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        "results/unigram_sums/{tokenizer}/corpus_{corpus}/{shard}-of-{shards}.parquet",
    log:
        "logs/count_tokens/{tokenizer}/{corpus}/{shard}-of-{shards}.log",
    benchmark:
        "logs/count_tokens/{tokenizer}/{corpus}/{shard}-of-{shards}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("count_tokens", wildcards.corpus),
        entry=entry_of("corpus", "parser path files"),
    script:
        "../workflow_scripts/count_tokens.py"


MET_IN_TRAINING = sorted(
    {
        source
        for entry in catalog.models.values()
        for source in entry["unigrams"]
        if source.startswith("training_")
    }
)


rule count_training_tokens:
    """Log-probabilities of the tokens that models trained here have seen after a number of steps."""
    input:
        "results/training/corpus.json",
    output:
        collect("results/unigrams/{{tokenizer}}/{source}.parquet", source=MET_IN_TRAINING),
    log:
        "logs/count_training_tokens/{tokenizer}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        runtime=costs.at_most(720),
    params:
        **pick(settings["training"], "batch_size", "validation_examples"),
        code=code_digest("count_training_tokens"),
        smoothing=1.0,
        seed=settings["seed"],
    script:
        "../workflow_scripts/count_training_tokens.py"


rule sample_unigrahams:
    """Let a model generate text and add up its next-token distributions (morcela, Algorithm 1)."""
    input:
        model="resources/models/{model}/manifest.json",
    output:
        "results/unigram_sums/{tokenizer}/{sampling}_{model}/{shard}-of-{shards}.parquet",
    log:
        "logs/sample_unigrahams/{tokenizer}/{sampling}_{model}/{shard}-of-{shards}.log",
    benchmark:
        "logs/sample_unigrahams/{tokenizer}/{sampling}_{model}/{shard}-of-{shards}.benchmark.tsv"
    wildcard_constraints:
        sampling="unigrahams|unigrahams-released",
    conda:
        "../envs/environment.yaml"
    resources:
        **with_model(lambda job: costs.sampling(job.model) / int(job.shards)),
    params:
        **pick(settings["unigrahams"], "samples"),
        **pick(settings["scoring"], "device", "dtype"),
        code=code_digest("sample_unigrahams"),
        sampling=lambda wildcards: catalog.samplings[wildcards.sampling],
        seed=settings["seed"],
        entry=model_entry(""),
        start_token=lambda wildcards: sources.generation_start_token(run, wildcards.model),
    script:
        "../workflow_scripts/sample_unigrahams.py"


rule estimate_unigrams:
    """Merge the shards of a corpus or of generated text to log-probabilities."""
    input:
        lambda wildcards: sources.unigram_shards(run, wildcards.tokenizer, wildcards.source),
    output:
        "results/unigrams/{tokenizer}/{source}.parquet",
    log:
        "logs/estimate_unigrams/{tokenizer}/{source}.log",
    wildcard_constraints:
        source=rf"({alternatives(catalog.samplings)}|corpus)_.+",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("estimate_unigrams"),
        smoothing=lambda wildcards: 1.0 if wildcards.source.startswith("corpus_") else 0.0,
    script:
        "../workflow_scripts/estimate_unigrams.py"


rule import_published_unigrams:
    """Map a published table of the Pile's unigrams to a tokenizer's vocabulary."""
    input:
        tokenizer=lambda wildcards: sources.tokenizer_manifest(run, wildcards.tokenizer),
        manifest="resources/datasets/{source}/manifest.tsv",
    output:
        "results/unigrams/{tokenizer}/{source}.parquet",
    log:
        "logs/import_published_unigrams/{tokenizer}/{source}.log",
    wildcard_constraints:
        source=alternatives(catalog.datasets_of("unigrams")),
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("import_published_unigrams"),
        entry=entry_of("source", "parser path files"),
        normalise=settings["unigrams"]["normalise_published"],
        smoothing=1.0,
    script:
        "../workflow_scripts/import_published_unigrams.py"
