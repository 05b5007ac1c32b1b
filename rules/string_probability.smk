# String probability and grammaticality (Hu et al. 2026): three predictions on minimal pairs.
# REQUIRES results/stimuli, sentence_scores and minimalness of the data sets of each prediction.
# PROVIDES results/string_probability/{model}/{scores,correlations,confounds,separation,pools,roc,
# conventions}.parquet, and over the models of the scale figures 1b to 8, the counts of the data sets
# and the scorecard.

STRINGS = settings["string_probability"]
# Models with panels of their own; what a run trains or counts itself is points of trends.
STRING_PANELS = scope.string_panels(run)
PREDICTIONS = scope.predictions(run)
STRING_CSV = ["correlations", "confounds", "separation", "pools", "conventions"]
STRING_PAGES = {
    "confounds": "How correlations change over bins",
    "pools": "What pairing gains",
    "conventions": "What another BOS policy would change",
    "paradigms": "Accuracy by paradigm",
}
STRING_TABLES = {"datasets": "Counts of the data sets", "filters": "The filter by edit distance"}
# Figure 1b wants models that can score strings of their language.
TOY_MODELS = [
    name for name in STRING_PANELS if name in CAUSAL and catalog.model(name)["language"] == "en"
]
STRINGS_ROOM = Room(
    "string_probability",
    category="String probability",
    figures=[
        *("figure_1b", "figure_2a", "figure_2b", "figure_3a", "figure_3b", "figure_4a"),
        *("figure_4b", "figure_5", "figure_6", "figure_8", "phenomena", "paradigms"),
        *("paradigm_correlations", "distances", "deconfounded", "pools"),
        *(["quality", "sizes"] if len(STRINGS["models"]) > 1 else []),
    ],
    files={
        **{
            name: collect(f"results/string_probability/{{model}}/{name}.parquet", model=models)
            for names, models in (
                (("scores", "correlations", "separation"), STRINGS["models"]),
                (("confounds", "pools", "roc"), STRING_PANELS),
            )
            for name in names
        },
        "paradigms": "results/string_probability/paradigms.csv",
        **{name: f"results/string_probability/{name}.csv" for name in STRING_TABLES},
        "stimuli": {
            name: f"results/stimuli/{scope.scored_as(run, name)}.parquet" for name in PREDICTIONS
        },
        "toy_stimuli": "results/stimuli/toy_strings.parquet",
        "toy_scores": {
            model: f"results/sentence_scores/{model}/toy_strings.parquet" for model in TOY_MODELS
        },
    },
    models=STRINGS["models"],
    titles={
        **{name: catalog.dataset(name)["title"] for name in PREDICTIONS},
        "all data sets": "All, each weighted by its size",
    },
    options={
        "absent": scope.absent_from_strings(run),
        "bos": {model: scope.string_bos(run, model) for model in TOY_MODELS},
        "panels": STRING_PANELS,
        "series": sources.series(run, STRINGS["models"]),
        "causal": [name for name in STRINGS["models"] if name in CAUSAL],
        **pick(STRINGS, "pooled"),
    },
)


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
            scope.minimalness(run, name) for name in scope.paired_datasets(run, wildcards.model)
        ],
        unigrams=lambda wildcards: scope.unigram_tables(run, wildcards.model)[:1],
    output:
        **{
            name: f"results/string_probability/{{model}}/{name}.parquet"
            for name in (
                "scores",
                "correlations",
                "confounds",
                "separation",
                "pools",
                "roc",
                "conventions",
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
            **pick(
                STRINGS,
                "cluster_by_paradigm",
            ),
            **pick(settings, "bootstrap", "seed", "scale"),
        },
    script:
        "../workflow_scripts/analyse_strings.py"


rule count_strings:
    """Count each data set as published, as used, and what the filter by edit distance keeps."""
    input:
        whole=[f"results/stimuli/{name}.parquet" for name in PREDICTIONS],
        used=[f"results/stimuli/{scope.scored_as(run, name)}.parquet" for name in PREDICTIONS],
        distances=[scope.minimalness(run, name) for name in STRINGS["prediction_2"]],
    output:
        csv=collect("results/string_probability/{table}.csv", table=STRING_TABLES),
        html=[
            in_report(f"results/string_probability/{table}.html", STRINGS_ROOM, title)
            for table, title in STRING_TABLES.items()
        ],
    log:
        "logs/count_strings.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        code=code_digest("count_strings"),
        datasets=list(PREDICTIONS),
        filtered=STRINGS["prediction_2"],
        titles={name: catalog.dataset(name)["title"] for name in PREDICTIONS},
        published=read_published("string_probability"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/count_strings.py"


rule tabulate_strings:
    """Write what the analyses found for all models as CSV, and the short tables as pages."""
    input:
        **{
            name: collect(
                f"results/string_probability/{{model}}/{name}.parquet",
                model=(
                    STRINGS["models"] if name in ("correlations", "separation") else STRING_PANELS
                ),
            )
            for name in ("scores", *STRING_CSV)
        },
        published=[f"resources/datasets/{name}/manifest.tsv" for name in STRINGS["published"]],
    output:
        csv=collect("results/string_probability/{table}.csv", table=[*STRING_CSV, "paradigms"]),
        html=[
            in_report(f"results/string_probability/{table}.html", STRINGS_ROOM, title)
            for table, title in STRING_PAGES.items()
        ],
    log:
        "logs/tabulate_strings.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        code=code_digest("tabulate_strings"),
        tables=["scores", *STRING_CSV],
        pages=STRING_PAGES,
        models={
            name: pick(entry, "title", "family", "family_title", "parameters")
            for name, entry in catalog.models.items()
        },
        parsers=[catalog.dataset(name)["parser"] for name in STRINGS["published"]],
    script:
        "../workflow_scripts/tabulate_strings.py"


rule string_probability:
    """The paper's figures, counts and scorecard, for the models and data of the scale."""
    input:
        rules.count_strings.output,
        rules.tabulate_strings.output,
        STRINGS_ROOM.output(),
