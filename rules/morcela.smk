# MORCELA (Tjuatja et al. 2025): linking functions between log-probabilities and acceptability.
# REQUIRES results/stimuli and results/sentence_scores of each rated data set and of those to
# predict, a corpus for §5.
# PROVIDES for one model, results/morcela/{model}.{parquet,csv}, predictions/{model}.{parquet,csv} and
# by_sentence/{model}.csv. Over the models of the scale, results/morcela/ has intergroup_correlation
# (parquet, csv), figures 2 to 6, conventions, trends, differences, tables 2 to 4 and scorecard; for
# Figure 5 frequency_{slopes,bins}/ (and {moments,documents}/ of all shards but the first).

MORCELA = settings["morcela"]
FREQUENCY_MODELS = scope.frequency_models(run)
FITTED_MODELS = scope.fitted_models(run)
MORCELA_TABLES = ["table_2", "table_3", "table_4", "differences"]


# Tables of the data sets whose ratings a model's linking functions predict, those fitted to included.
of_predicted = lambda path: (
    lambda wildcards: collect(
        path, model=wildcards.model, dataset=scope.predicted_datasets(run, wildcards.model)
    )
)


rule fit_linking_functions:
    """Fit linking functions per BOS policy and unigram source; predict ratings (morcela, §3.4)."""
    input:
        stimuli=of_predicted("results/stimuli/{dataset}.parquet"),
        scores=of_predicted("results/sentence_scores/{model}/{dataset}.parquet"),
        described=lambda wildcards: [
            f"results/stimuli/{scope.whole(name)}.csv"
            for name in scope.predicted_datasets(run, wildcards.model)
        ],
    output:
        fits="results/morcela/{model}.parquet",
        csv="results/morcela/{model}.csv",
        draws="results/morcela/draws/{model}.parquet",
        predictions="results/morcela/predictions/{model}.parquet",
        predictions_csv="results/morcela/predictions/{model}.csv",
        by_sentence="results/morcela/by_sentence/{model}.csv",
    log:
        "logs/fit_linking_functions/{model}.log",
    benchmark:
        "logs/fit_linking_functions/{model}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **pick(MORCELA, "folds", "repeats", "cluster", "keep_together"),
        **pick(settings, "bootstrap", "seed", "scale"),
        code=code_digest("fit_linking_functions"),
        fitted=lambda wildcards: scope.rated_datasets(run, wildcards.model),
        predicted=lambda wildcards: scope.predicted_datasets(run, wildcards.model),
        convention=lambda wildcards: scope.default_convention(run, wildcards.model),
    script:
        "../workflow_scripts/fit_linking_functions.py"


rule correlate_participant_groups:
    """Correlate two halves of the judgments: how well people predict people (morcela, §3.4)."""
    input:
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        ratings=collect("results/ratings/{dataset}.parquet", dataset=MORCELA["datasets"]),
    output:
        parquet="results/morcela/intergroup_correlation.parquet",
        csv=in_report(
            "results/morcela/intergroup_correlation.csv",
            "Agreement between participants",
        ),
    log:
        "logs/correlate_participant_groups.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **pick(settings, "seed", "scale"),
        code=code_digest("correlate_participant_groups"),
        datasets=MORCELA["datasets"],
    script:
        "../workflow_scripts/correlate_participant_groups.py"


# Inputs of a job that scores a shard of the corpus for §5.
FREQUENCY_INPUT = dict(
    model="resources/models/{model}/manifest.json",
    corpus=sources.corpus_files(run, MORCELA["frequency_corpus"]),
    unigrams=lambda wildcards: scope.unigram_tables(run, wildcards.model)[0],
)
FREQUENCY_PARAMS = dict(
    **pick(settings["scoring"], "device", "dtype"),
    entry=model_entry("", bulk=True),
    regressed=lambda wildcards: scope.frequency_regression(run, wildcards.model),
)


rule sum_frequency_moments:
    """Score one shard of a corpus; sum up log-probabilities by unigram frequency (morcela, §5)."""
    input:
        **FREQUENCY_INPUT,
    output:
        moments="results/morcela/frequency_moments/{model}/{shard}-of-{shards}.parquet",
        documents="results/morcela/frequency_documents/{model}/{shard}-of-{shards}.parquet",
    log:
        "logs/sum_frequency_moments/{model}/{shard}-of-{shards}.log",
    benchmark:
        "logs/sum_frequency_moments/{model}/{shard}-of-{shards}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        **with_model(lambda job: costs.regressing(job.model) / int(job.shards)),
    params:
        **FREQUENCY_PARAMS,
        code=code_over("sum_frequency_moments", MORCELA["frequency_corpus"]),
    script:
        "../workflow_scripts/sum_frequency_moments.py"


rule regress_on_frequency:
    """Score the first shard; regress log-probabilities on unigram log-probabilities (morcela, §5)."""
    input:
        **FREQUENCY_INPUT,
        **{
            name: collect(
                "results/morcela/frequency_%s/{{model}}/{shard}-of-{shards}.parquet" % name,
                shard=range(1, MORCELA["frequency_shards"]),
                shards=MORCELA["frequency_shards"],
            )
            for name in ("moments", "documents")
        },
    output:
        slopes="results/morcela/frequency_slopes/{model}.parquet",
        bins="results/morcela/frequency_bins/{model}.parquet",
    log:
        "logs/regress_on_frequency/{model}.log",
    benchmark:
        "logs/regress_on_frequency/{model}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(CAUSAL),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        **with_model(lambda job: costs.regressing(job.model) / MORCELA["frequency_shards"]),
    params:
        **FREQUENCY_PARAMS,
        code=code_over("regress_on_frequency", MORCELA["frequency_corpus"]),
        shards=MORCELA["frequency_shards"],
        unigrams=lambda wildcards: scope.default_unigrams(run, wildcards.model),
        scale=settings["scale"],
    script:
        "../workflow_scripts/regress_on_frequency.py"


rule report_morcela:
    """Draw the paper's figures, write its tables, and judge its numbers and claims."""
    input:
        linking_functions=collect("results/morcela/{model}.parquet", model=FITTED_MODELS),
        linking_draws=collect("results/morcela/draws/{model}.parquet", model=FITTED_MODELS),
        intergroup_correlation="results/morcela/intergroup_correlation.parquet",
        frequency_slopes=collect(rules.regress_on_frequency.output.slopes, model=FREQUENCY_MODELS),
        frequency_bins=collect(rules.regress_on_frequency.output.bins, model=FREQUENCY_MODELS),
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        # Their bits per byte measure the quality of models.
        sentence_scores=[
            f"results/sentence_scores/{model}/{name}.parquet"
            for model in FITTED_MODELS
            if model in CAUSAL
            for name in scope.rated_datasets(run, model)
        ],
    output:
        figures=figure_files(
            "morcela",
            ["figure_2", "figure_3", "figure_4", "figure_6", "conventions"]
            + ["differences", "trends"] * (len(FITTED_MODELS) > 1)
            + ["figure_5"] * bool(FREQUENCY_MODELS),
        ),
        tables=collect("results/morcela/{table}.csv", table=MORCELA_TABLES)
        + [in_report(f"results/morcela/{table}.html") for table in MORCELA_TABLES],
        scorecard="results/morcela/scorecard.parquet",
        pages=scorecard_pages("morcela"),
    log:
        "logs/report_morcela.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **report_params(
            "morcela",
            FITTED_MODELS + models_in_print("morcela"),
            {
                scope.scored_as(run, name): catalog.dataset(name)["title"]
                for name in [*MORCELA["datasets"], *MORCELA["predicted"]]
            },
        ),
        scored_first=[
            name
            for name, policy in catalog.bos_policies.items()
            if policy["first_token"] == "scored"
        ],
    script:
        "../workflow_scripts/report_morcela.py"


rule morcela:
    """The paper's figures and tables, for the models and data of the scale."""
    input:
        rules.correlate_participant_groups.output,
        collect("results/morcela/{model}.csv", model=scope.fitted_models(run)),
        collect("results/morcela/predictions/{model}.csv", model=scope.fitted_models(run)),
        collect("results/morcela/by_sentence/{model}.csv", model=scope.fitted_models(run)),
        rules.report_morcela.output,
