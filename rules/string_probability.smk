# String probability and grammaticality (Hu et al. 2026): three predictions on minimal pairs.
# REQUIRES results/stimuli, sentence_scores and minimalness of the data sets of each prediction.
# PROVIDES results/string_probability/{model}/{scores,correlations,confounds,separation,roc}.parquet.
# Over the models of the scale: figures 1b to 8, the counts of the data sets and the scorecard.

STRINGS = settings["string_probability"]
# Models with their own panels. Models that a run trains or counts are points of trends.
STRING_PANELS = scope.string_panels(run)
PREDICTIONS = scope.predictions(run)
STRING_CSV = ["correlations", "confounds", "separation"]
STRING_PAGES = {
    "confounds": "How correlations change over bins",
    "datasets": "Counts of the data sets",
    "filters": "Pairs that the filter by edit distance keeps",
}
# Models of Figure 1b, which score English strings.
TOY_MODELS = [
    name for name in STRING_PANELS if name in CAUSAL and catalog.model(name)["language"] == "en"
]


rule analyse_strings:
    """Test the three predictions on one model's scores (string_probability, §4 to §6)."""
    input:
        stimuli=lambda wildcards: [
            f"results/stimuli/{scope.scored_as(run, name)}.parquet"
            for name in scope.string_datasets(run, wildcards.model)
        ],
        whole=lambda wildcards: [
            f"results/stimuli/{name}.parquet"
            for name in scope.string_datasets(run, wildcards.model)
        ],
        scores=lambda wildcards: [
            f"results/sentence_scores/{wildcards.model}/{scope.scored_as(run, name)}.parquet"
            for name in scope.string_datasets(run, wildcards.model)
        ],
        distances=lambda wildcards: [
            scope.minimalness(run, name)[0] for name in scope.paired_datasets(run, wildcards.model)
        ],
        unigrams=lambda wildcards: scope.unigram_tables(run, wildcards.model)[:1],
    output:
        **{
            f"string_{name}": f"results/string_probability/{{model}}/{name}.parquet"
            for name in (
                "scores",
                "correlations",
                "confounds",
                "separation",
                "roc",
            )
        },
    log:
        "logs/analyse_strings/{model}.log",
    benchmark:
        "logs/analyse_strings/{model}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        code=code_digest("analyse_strings"),
        predictions=lambda wildcards: {
            name: PREDICTIONS[name] for name in scope.string_datasets(run, wildcards.model)
        },
        pooled=STRINGS["pooled"],
        paired=lambda wildcards: scope.paired_datasets(run, wildcards.model),
        convention=lambda wildcards: scope.string_convention(run, wildcards.model),
        options={
            **pick(STRINGS, "resample"),
            **pick(settings, "bootstrap", "seed", "scale"),
        },
    script:
        "../workflow_scripts/analyse_strings.py"


rule report_string_probability:
    """Draw the figures, count the data sets, write the tables of all models, and compare (§4 to §6)."""
    input:
        **{
            f"string_{name}": collect(
                f"results/string_probability/{{model}}/{name}.parquet",
                model=(
                    STRINGS["models"]
                    if name in ("scores", "correlations", "separation")
                    else STRING_PANELS
                ),
            )
            for name in ("scores", "roc", *STRING_CSV)
        },
        stimuli=[f"results/stimuli/{scope.scored_as(run, name)}.parquet" for name in PREDICTIONS],
        whole=[f"results/stimuli/{name}.parquet" for name in PREDICTIONS],
        distances=[scope.minimalness(run, name)[0] for name in STRINGS["prediction_2"]],
        toy="results/stimuli/toy_strings.parquet",
        sentence_scores=collect(
            "results/sentence_scores/{model}/toy_strings.parquet", model=TOY_MODELS
        ),
    output:
        csv=collect(
            "results/string_probability/{table}.csv",
            table=[*STRING_CSV, "datasets", "filters"],
        ),
        html=[
            in_report(f"results/string_probability/{table}.html", title)
            for table, title in STRING_PAGES.items()
        ],
        figures=figure_files(
            "string_probability",
            [
                *("figure_1a", "figure_1b", "figure_2a", "figure_2b", "figure_3a", "figure_3b"),
                "figure_4a",
                *("figure_4b", "figure_5", "figure_6", "figure_8", "deconfounded"),
                *(["quality"] if len(STRINGS["models"]) > 1 else []),
            ],
        ),
        scorecard="results/string_probability/scorecard.parquet",
        pages=scorecard_pages("string_probability"),
    log:
        "logs/report_string_probability.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
    params:
        **report_params(
            "string_probability",
            STRINGS["models"],
            {
                **{name: catalog.dataset(name)["title"] for name in PREDICTIONS},
                "all data sets": "All, each weighted by its size",
            },
            note=scope.absent_from_strings(run),
        ),
        page_titles=STRING_PAGES,
        filtered=STRINGS["prediction_2"],
        pooled=STRINGS["pooled"],
        bos={model: scope.string_bos(run, model) for model in TOY_MODELS},
    script:
        "../workflow_scripts/report_string_probability.py"


rule string_probability:
    """The paper's figures, counts and scorecard, for the models and data of the scale."""
    input:
        rules.report_string_probability.output,
