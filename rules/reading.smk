# Regressions of reading times on surprisal (Oh, Zhu & Schuler 2025, Study 2).
# REQUIRES results/words, reading_times, word_counts and surprisal of each data set's texts.
# PROVIDES results/reading/{dataset}.parquet: the gain from each model's surprisal, with gains/,
# effects/ and counts/{dataset}. Over the data sets of the scale, results/reading/:
# delta_log_likelihood, effects, counts, trends, model_differences, figure_2, published fits,
# scorecard.

# Data sets with several models' surprisals.
COMPARED_IN = [name for name in READING["datasets"] if len(scope.dataset_models(run, name)) > 1]
PUBLISHED_SURPRISALS = "kuribayashi_ppp_ns"
PUBLISHED_MODELS = [
    name for name, entry in catalog.models.items() if entry.get("dataset") == PUBLISHED_SURPRISALS
]
PUBLISHED_FITS = scope.published_fits(run)
OWN_ON_PUBLISHED = [
    name
    for name in surprisal_models(catalog, READING["models"], "natural_stories")
    if name not in PUBLISHED_MODELS
]

READING_PAGES = {
    "table_2": "Table 2: reading times in each partition",
    "table_3": "Table 3: formulas",
    "trends": "ΔLogLik over model size and perplexity",
}


# The input and the parameters of a regression of a data set's reading times.
FIT_INPUT = dict(
    times="results/reading_times/{dataset}.parquet",
    words=lambda wildcards: f"results/words/{catalog.dataset(wildcards.dataset)['texts']}.parquet",
    counts=collect("results/word_counts/{corpus}.parquet", corpus=READING["unigram_corpora"]),
    surprisals=lambda wildcards: collect(
        "results/surprisal/{model}/{texts}.parquet",
        model=scope.dataset_models(run, wildcards.dataset),
        texts=catalog.dataset(wildcards.dataset)["texts"],
    ),
)
FIT_PARAMS = dict(
    entry=entry_of("dataset", "texts method unit measure rt_source factors"),
    models=lambda wildcards: scope.dataset_models(run, wildcards.dataset),
    contexts=lambda wildcards: scope.made_with(
        run, "context", scope.dataset_models(run, wildcards.dataset), "imported"
    ),
    corrections=lambda wildcards: scope.made_with(
        run, "corrected", scope.dataset_models(run, wildcards.dataset)
    ),
    options={
        **pick(READING, "corrected", "partition", "random_effects"),
        **pick(READING, "previous_words"),
        **pick(settings, "bootstrap", "seed", "scale"),
    },
)


rule fit_reading_times:
    """Fit the regressions of one data set on each model's surprisal (leakage, §3.1)."""
    input:
        **FIT_INPUT,
    output:
        delta_log_likelihood="results/reading/{dataset}.parquet",
        reading_gains="results/reading/gains/{dataset}.parquet",
        reading_effects="results/reading/effects/{dataset}.parquet",
        reading_counts="results/reading/counts/{dataset}.parquet",
    log:
        "logs/fit_reading_times/{dataset}.log",
    benchmark:
        "logs/fit_reading_times/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=READING_DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        **FIT_PARAMS,
        code=code_digest("fit_reading_times"),
    script:
        "../workflow_scripts/fit_reading_times.py"


rule reproduce_published_fits:
    """Repeat the published fits of twelve models to Natural Stories, and correct them."""
    input:
        published=f"resources/datasets/{PUBLISHED_SURPRISALS}/manifest.tsv",
        surprisals=collect(
            "results/surprisal/{model}/natural_stories.parquet", model=OWN_ON_PUBLISHED
        ),
    output:
        fits="results/reading/published_fits.parquet",
        gains="results/reading/gains/published_fits.parquet",
    log:
        "logs/reproduce_published_fits.log",
    conda:
        "../envs/environment.yaml"
    params:
        **pick(settings, "seed", "scale"),
        code=code_digest("reproduce_published_fits"),
        published={name: catalog.model(name)["path"] for name in PUBLISHED_MODELS},
        models=OWN_ON_PUBLISHED,
        bootstrap=settings["bootstrap"],
    script:
        "../workflow_scripts/reproduce_published_fits.py"


rule report_reading:
    """Put the fits of all data sets in tables, draw them, and compare the paper's claims with them."""
    input:
        delta_log_likelihood=collect(
            "results/reading/{dataset}.parquet", dataset=READING["datasets"]
        ),
        reading_gains=collect(
            "results/reading/gains/{dataset}.parquet",
            dataset=[*READING["datasets"], *["published_fits"] * PUBLISHED_FITS],
        ),
        reading_effects=collect(
            "results/reading/effects/{dataset}.parquet", dataset=READING["datasets"]
        ),
        reading_counts=collect(
            "results/reading/counts/{dataset}.parquet", dataset=READING["datasets"]
        ),
        published_delta=["results/reading/published_fits.parquet"] * PUBLISHED_FITS,
    output:
        delta_log_likelihood="results/reading/delta_log_likelihood.parquet",
        reading_counts="results/reading/counts.parquet",
        reading_trends="results/reading/trends.parquet",
        model_differences=["results/reading/model_differences.parquet"] * bool(COMPARED_IN),
        csv=[
            in_report(
                "results/reading/delta_log_likelihood.csv", "ΔLogLik of every model and data set"
            ),
            in_report("results/reading/effects.csv", "Fixed effects of every model and data set"),
            "results/reading/trends.csv",
            "results/reading/counts.csv",
        ]
        + [in_report("results/reading/model_differences.csv", "Differences between models")]
        * bool(COMPARED_IN),
        html=[
            in_report(f"results/reading/{table}.html", title)
            for table, title in READING_PAGES.items()
        ],
        figures=figure_files(
            "reading",
            ["figure_2"]
            + ["inverse_scaling"] * PUBLISHED_FITS
            + ["model_differences"] * bool(COMPARED_IN),
        ),
        scorecard="results/reading/scorecard.parquet",
        pages=scorecard_pages("reading"),
    log:
        "logs/report_reading.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **report_params(
            "reading",
            [*READING["models"], *PUBLISHED_MODELS],
            {name: catalog.dataset(name)["title"] for name in READING["datasets"]},
        ),
        page_titles=READING_PAGES,
        entries={
            name: pick(entry, "family", "parameters", "fine_tuning_steps", "training_step")
            for name, entry in catalog.models.items()
        },
        draws=settings["bootstrap"],
        seed=settings["seed"],
    script:
        "../workflow_scripts/report_reading.py"


rule reading:
    """ΔLogLik, figures and tables for the models and reading times of the scale."""
    input:
        rules.report_reading.output,
        # Of imported ones their user has the file.
        [
            f"results/surprisal/{model}/{catalog.dataset(name)['texts']}.csv"
            for name in READING["datasets"]
            for model in scope.dataset_models(run, name)
            if model in CAUSAL
        ],
