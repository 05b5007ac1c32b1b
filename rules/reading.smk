# Texts that people read, and how long they took (Oh, Zhu & Schuler 2025, Study 2).
# REQUIRES the data sets of kind `reading_texts` and `reading_times`, models or their word surprisals,
# corpora for unigram surprisal.
# PROVIDES results/words/{dataset}.parquet: a word a row; joined by single blanks, the passages (of a
# text that is printed elsewhere, {dataset}_differences.csv);
# results/reading_times/{dataset}.parquet: a reader and word a row; results/surprisal/{model}/{texts}.parquet;
# results/reading/{dataset}.parquet: what each model's surprisal adds; and over the data sets of the
# scale results/reading/: delta_log_likelihood, counts, trends, leakage, figure_2, published fits,
# scorecard; by data set gains/ and leakage/, and results/word_counts/{corpus}.parquet.

READING = settings["reading"]
READING_TEXTS = alternatives(plan.datasets_of("reading_texts"))
READING_DATASETS = alternatives(plan.datasets_of("reading_times"))
# Texts whose words get their punctuation from the book that they come from.
PRINTED_TEXTS = [name for name, entry in catalog.datasets.items() if entry["parser"] == "geco"]
READ_IN_PRINT = {catalog.dataset(name)["texts"] for name in READING["datasets"]} & {*PRINTED_TEXTS}
# Data sets of reading times whose words are searched for in the corpora of `overlap`.
WITH_LEAKAGE = [
    name
    for name in READING["datasets"]
    if catalog.dataset(name)["texts"] in settings["overlap"]["texts"]
    and READING["leakage_thresholds"]
]
IMPORTED_WORDS = plan.models_with("scores", level="word")
PUBLISHED_SURPRISALS = "kuribayashi_ppp_ns"
PUBLISHED_MODELS = [
    name for name, entry in catalog.models.items() if entry.get("dataset") == PUBLISHED_SURPRISALS
]
OWN_ON_PUBLISHED = [
    name
    for name in surprisal_models(catalog, READING["models"], "natural_stories")
    if name not in PUBLISHED_MODELS
]
READING_ROOM = Room(
    "reading",
    category="Reading times",
    figures=["figure_2"]
    + ["inverse_scaling"] * READING["published"]
    + ["leakage"] * bool(WITH_LEAKAGE),
    files={
        "deltas": "results/reading/delta_log_likelihood.parquet",
        "trends": "results/reading/trends.parquet",
        "counts": "results/reading/counts.parquet",
        "published": ["results/reading/published_fits.parquet"] * READING["published"],
        "leakage": [f"results/reading/leakage/{name}.parquet" for name in WITH_LEAKAGE],
    },
    models=[*READING["models"], *PUBLISHED_MODELS],
    titles={name: catalog.dataset(name)["title"] for name in READING["datasets"]},
)


# What a regression of a data set's reading times needs, and depends on.
FIT_INPUT = dict(
    times="results/reading_times/{dataset}.parquet",
    words=lambda wildcards: f"results/words/{catalog.dataset(wildcards.dataset)['texts']}.parquet",
    counts=collect("results/word_counts/{corpus}.parquet", corpus=READING["unigram_corpora"]),
    surprisals=lambda wildcards: collect(
        "results/surprisal/{model}/{texts}.parquet",
        model=plan.dataset_models(wildcards.dataset),
        texts=catalog.dataset(wildcards.dataset)["texts"],
    ),
)
FIT_PARAMS = dict(
    entry=lambda wildcards: pick(
        catalog.dataset(wildcards.dataset), "texts", "method", "unit", "measure", "rt_source"
    ),
    models=lambda wildcards: plan.dataset_models(wildcards.dataset),
    contexts=lambda wildcards: {
        name: (
            catalog.model(name).get("context", "imported")
            if name in IMPORTED_WORDS
            else READING["context"]
        )
        for name in plan.dataset_models(wildcards.dataset)
    },
    corrections=lambda wildcards: {
        name: (
            catalog.model(name).get("corrected") if name in IMPORTED_WORDS else READING["corrected"]
        )
        for name in plan.dataset_models(wildcards.dataset)
    },
    options={
        "corrected": READING["corrected"],
        "partition": READING["partition"],
        "random_effects": READING["random_effects"],
        "held_out": READING["held_out"],
        "bootstrap": READING["bootstrap"],
        "smoothing": settings["unigrams"]["smoothing"],
        "seed": settings["seed"],
        "scale": settings["scale"],
    },
)


rule build_words:
    """Parse the text of a reading-time corpus to a table of words."""
    input:
        unpack(lambda wildcards: plan.raw_dataset(wildcards.dataset)),
    output:
        "results/words/{dataset}.parquet",
    log:
        "logs/build_words/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=lambda wildcards: code_over("build_words", wildcards.dataset),
        entry=lambda wildcards: pick(
            catalog.dataset(wildcards.dataset), "parser", "path", "files", "passages", "words"
        ),
    script:
        "../workflow_scripts/build_words.py"


rule list_word_differences:
    """List the words that the material of a text leaves out, or its book prints otherwise."""
    input:
        unpack(lambda wildcards: plan.raw_dataset(wildcards.dataset)),
    output:
        "results/words/{dataset}_differences.csv",
    log:
        "logs/list_word_differences/{dataset}.log",
    wildcard_constraints:
        dataset=alternatives(PRINTED_TEXTS),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("list_word_differences"),
        entry=lambda wildcards: pick(catalog.dataset(wildcards.dataset), "path", "files"),
    script:
        "../workflow_scripts/list_word_differences.py"


rule build_reading_times:
    """Parse reading times, exclude what the paper excludes, and part the rest (Appendix B)."""
    input:
        unpack(lambda wildcards: plan.raw_dataset(wildcards.dataset)),
        words=lambda wildcards: f"results/words/{catalog.dataset(wildcards.dataset)['texts']}.parquet",
    output:
        "results/reading_times/{dataset}.parquet",
    log:
        "logs/build_reading_times/{dataset}.log",
    wildcard_constraints:
        dataset=READING_DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=lambda wildcards: code_of_parser(
            "build_reading_times", wildcards.dataset, parser_function
        ),
        entry=lambda wildcards: pick(
            catalog.dataset(wildcards.dataset),
            "parser",
            "path",
            "files",
            "texts",
            "method",
            "unit",
            "subjects",
            "zone_shift",
        ),
        limits={key: READING[key] for key in ("min_ms", "max_ms", "max_saccade", "min_correct")},
        seed=settings["seed"],
    script:
        "../workflow_scripts/build_reading_times.py"


rule compute_word_surprisal:
    """Word surprisals of a text under one model (leakage, §3.1)."""
    input:
        model="resources/models/{model}/manifest.json",
        words="results/words/{texts}.parquet",
    output:
        "results/surprisal/{model}/{texts}.parquet",
    log:
        "logs/compute_word_surprisal/{model}/{texts}.log",
    benchmark:
        "logs/compute_word_surprisal/{model}/{texts}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(WITH_WEIGHTS),
        texts=READING_TEXTS,
    conda:
        "../envs/environment.yaml"
    # On a CPU two jobs of one thread beat one job of two.
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(costs.memory_mb(wildcards.model), attempt),
        gpu=lambda wildcards: costs.gpus(wildcards.model),
        # The longest text has 75,000 tokens, and windows overlap by half.
        runtime=lambda wildcards: costs.at_most(costs.minutes(wildcards.model, 200_000)),
        device_map=lambda wildcards: costs.device_map(wildcards.model),
        tokens_per_batch=settings["scoring"]["tokens_per_batch"],
    params:
        code=code_digest("compute_word_surprisal"),
        start_token=lambda wildcards: plan.generation_start_token(wildcards.model),
        entry=lambda wildcards: pick(catalog.model(wildcards.model), "dtype", "context_window"),
        device=settings["scoring"]["device"],
        dtype=settings["scoring"]["dtype"],
        context=READING["context"],
        window=READING["window"],
        window_stride=READING["window_stride"],
        window_counts=READING["window_counts"],
        blanks=READING["blanks"],
    script:
        "../workflow_scripts/compute_word_surprisal.py"


rule import_word_surprisal:
    """Word surprisals from elsewhere, into the same table."""
    input:
        scores=lambda wildcards: plan.imported_surprisals(wildcards.model, wildcards.texts)[0],
        words="results/words/{texts}.parquet",
    output:
        "results/surprisal/{model}/{texts}.parquet",
    log:
        "logs/import_word_surprisal/{model}/{texts}.log",
    wildcard_constraints:
        model=alternatives(IMPORTED_WORDS),
        texts=READING_TEXTS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("import_word_surprisal"),
        path=lambda wildcards: plan.imported_surprisals(wildcards.model, wildcards.texts)[1],
        unit=lambda wildcards: catalog.model(wildcards.model).get("unit", "bits"),
        texts=lambda wildcards: texts_in_file(catalog.model(wildcards.model), wildcards.texts),
    script:
        "../workflow_scripts/import_word_surprisal.py"


rule count_words:
    """Count the words of a corpus, for unigram surprisal."""
    input:
        lambda wildcards: plan.corpus_files(wildcards.corpus),
    output:
        "results/word_counts/{corpus}.parquet",
    log:
        "logs/count_words/{corpus}.log",
    wildcard_constraints:
        corpus=CORPORA,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("count_words", wildcards.corpus),
        entry=lambda wildcards: pick(catalog.dataset(wildcards.corpus), "parser", "path", "files"),
    script:
        "../workflow_scripts/count_words.py"


rule fit_reading_times:
    """What each model's surprisal adds to the regression of one data set (leakage, §3.1)."""
    input:
        **FIT_INPUT,
    output:
        deltas="results/reading/{dataset}.parquet",
        gains="results/reading/gains/{dataset}.parquet",
        counts="results/reading/counts/{dataset}.parquet",
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


rule adjust_for_leakage:
    """What surprisal adds without the words that the searched corpora have, or given their length."""
    input:
        **FIT_INPUT,
        leakage=lambda wildcards: collect(
            "results/overlap/words/{corpus}/{texts}.parquet",
            corpus=settings["overlap"]["corpora"],
            texts=catalog.dataset(wildcards.dataset)["texts"],
        ),
    output:
        "results/reading/leakage/{dataset}.parquet",
    log:
        "logs/adjust_for_leakage/{dataset}.log",
    benchmark:
        "logs/adjust_for_leakage/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=alternatives(WITH_LEAKAGE),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **FIT_PARAMS,
        code=code_digest("adjust_for_leakage"),
        thresholds=READING["leakage_thresholds"],
    script:
        "../workflow_scripts/adjust_for_leakage.py"


rule tabulate_leakage:
    """Put what surprisal adds without leaked words, and given leakage, in one table."""
    input:
        collect("results/reading/leakage/{dataset}.parquet", dataset=WITH_LEAKAGE),
    output:
        report(
            "results/reading/leakage.csv",
            caption="../report/reading_leakage.rst",
            category="Reading times",
            subcategory="Tables",
            labels={"what": "ΔLogLik adjusted for leakage"},
        ),
    log:
        "logs/tabulate_leakage.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("tabulate_leakage"),
    script:
        "../workflow_scripts/tabulate_leakage.py"


rule reproduce_published_fits:
    """Repeat the published fits of twelve models to Natural Stories, and mend them."""
    input:
        published=f"resources/datasets/{PUBLISHED_SURPRISALS}/manifest.tsv",
        surprisals=collect(
            "results/surprisal/{model}/natural_stories.parquet", model=OWN_ON_PUBLISHED
        ),
    output:
        "results/reading/published_fits.parquet",
    log:
        "logs/reproduce_published_fits.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("reproduce_published_fits"),
        published={name: catalog.model(name)["path"] for name in PUBLISHED_MODELS},
        models=OWN_ON_PUBLISHED,
        bootstrap=READING["bootstrap"],
        seed=settings["seed"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/reproduce_published_fits.py"


rule tabulate_reading:
    """Put the fits of all data sets in tables: ΔLogLik, Table 2's counts, and the trends."""
    input:
        deltas=collect("results/reading/{dataset}.parquet", dataset=READING["datasets"]),
        gains=collect("results/reading/gains/{dataset}.parquet", dataset=READING["datasets"]),
        counts=collect("results/reading/counts/{dataset}.parquet", dataset=READING["datasets"]),
        published="results/reading/published_fits.parquet" if READING["published"] else [],
    output:
        parquet="results/reading/delta_log_likelihood.parquet",
        csv=report(
            "results/reading/delta_log_likelihood.csv",
            caption="../report/reading_deltas.rst",
            category="Reading times",
            subcategory="Tables",
            labels={"what": "ΔLogLik of every model and data set"},
        ),
        counts_parquet="results/reading/counts.parquet",
        counts=report(
            "results/reading/table_2.html",
            caption="../report/reading_counts.rst",
            category="Reading times",
            subcategory="Tables",
            labels={"what": "Table 2: reading times in each partition"},
        ),
        formulas=report(
            "results/reading/table_3.html",
            caption="../report/reading_formulas.rst",
            category="Reading times",
            subcategory="Tables",
            labels={"what": "Table 3: formulas"},
        ),
        trends=report(
            "results/reading/trends.html",
            caption="../report/reading_trends.rst",
            category="Reading times",
            subcategory="Tables",
            labels={"what": "ΔLogLik over model size and perplexity"},
        ),
        trends_csv="results/reading/trends.csv",
        trends_parquet="results/reading/trends.parquet",
    log:
        "logs/tabulate_reading.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("tabulate_reading"),
        models={
            name: pick(entry, "family", "parameters", "fine_tuning_steps", "training_step")
            for name, entry in catalog.models.items()
        },
        bootstrap=READING["bootstrap"],
        seed=settings["seed"],
    script:
        "../workflow_scripts/tabulate_reading.py"


rule reading:
    """ΔLogLik, figures and tables for the models and reading times of the scale."""
    input:
        rules.tabulate_reading.output,
        collect(
            "results/reading/{figure}.{suffix}",
            figure=READING_ROOM.figures,
            suffix=["pdf", "png"],
        ),
        multiext("results/reading/scorecard", ".parquet", ".csv", ".html"),
        collect("results/words/{dataset}_differences.csv", dataset=sorted(READ_IN_PRINT)),
        rules.tabulate_leakage.output if WITH_LEAKAGE else [],
