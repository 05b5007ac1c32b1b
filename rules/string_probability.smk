# String probability and grammaticality (Hu et al. 2026): three predictions on minimal pairs.
# REQUIRES results/stimuli, sentence_scores and minimalness of the data sets of each prediction.
# PROVIDES results/string_probability/{model}/{scores,correlations,separation,roc}.parquet, and over
# the models of the scale figures 1b to 8, the counts of the data sets and the scorecard.

STRINGS = settings["string_probability"]
PREDICTIONS = {
    name: [number for number in (1, 2, 3) if name in STRINGS[f"prediction_{number}"]]
    for number in (1, 2, 3)
    for name in STRINGS[f"prediction_{number}"]
}
STRING_FIGURES = {
    "figure_1b": "Figure 1b",
    "figure_2a": "Figure 2a",
    "figure_2b": "Figure 2b",
    "figure_3a": "Figure 3a",
    "figure_3b": "Figure 3b",
    "figure_4a": "Figure 4a",
    "figure_4b": "Figure 4b",
    "figure_5": "Figure 5",
    "figure_6": "Figure 6",
    "figure_8": "Figure 8",
    "phenomena": "Accuracy and separation by phenomenon",
}
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
    name
    for name in STRINGS["models"]
    if name in WITH_WEIGHTS and catalog.model(name)["language"] == "en"
]


rule extract_published_scores:
    """Put one model's published scores into the layout of imported ones."""
    input:
        "resources/datasets/li_adger/manifest.tsv",
    output:
        "resources/published_scores/{model}.csv",
    log:
        "logs/extract_published_scores/{model}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_digest("extract_published_scores"),
        file=catalog.dataset("li_adger")["files"][0]["name"],
    script:
        "../workflow_scripts/extract_published_scores.py"


rule analyse_strings:
    """Test the three predictions on one model's scores (string_probability, §4 to §6)."""
    input:
        stimuli=lambda wildcards: [
            f"results/stimuli/{scored_as(name)}.parquet"
            for name in string_datasets(wildcards.model)
        ],
        whole=lambda wildcards: [
            f"results/stimuli/{name}.parquet" for name in string_datasets(wildcards.model)
        ],
        scores=lambda wildcards: [
            f"results/sentence_scores/{wildcards.model}/{scored_as(name)}.parquet"
            for name in string_datasets(wildcards.model)
        ],
        distances=lambda wildcards: [minimalness(name) for name in paired_datasets(wildcards.model)],
        unigrams=lambda wildcards: unigram_tables(wildcards.model)[:1],
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
            name: PREDICTIONS[name] for name in string_datasets(wildcards.model)
        },
        pooled=STRINGS["pooled"],
        paired=lambda wildcards: paired_datasets(wildcards.model),
        convention=lambda wildcards: [
            string_bos(wildcards.model),
            catalog.model(wildcards.model)["unigrams"][0],
        ],
        options={
            **pick(
                STRINGS,
                "bins",
                "levenshtein_unit",
                "levenshtein_quantile",
                "levenshtein_comparison",
                "levenshtein_population",
                "bootstrap",
                "cluster_by_paradigm",
                "folds",
            ),
            "seed": settings["seed"],
            "scale": settings["scale"],
        },
    script:
        "../workflow_scripts/analyse_strings.py"


rule count_strings:
    """Count each data set as published, as used, and what the filter by edit distance keeps."""
    input:
        whole=[f"results/stimuli/{name}.parquet" for name in PREDICTIONS],
        used=[f"results/stimuli/{scored_as(name)}.parquet" for name in PREDICTIONS],
        distances=[minimalness(name) for name in STRINGS["prediction_2"]],
    output:
        csv=collect("results/string_probability/{table}.csv", table=STRING_TABLES),
        html=[
            report(
                f"results/string_probability/{table}.html",
                caption=f"../report/string_{table}.rst",
                category="String probability",
                subcategory="Tables",
                labels={"what": title},
            )
            for table, title in STRING_TABLES.items()
        ],
    log:
        "logs/count_strings.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=code_digest("count_strings"),
        datasets=list(PREDICTIONS),
        filtered=STRINGS["prediction_2"],
        titles={name: catalog.dataset(name)["title"] for name in PREDICTIONS},
        filter={
            key: STRINGS[f"levenshtein_{key}"]
            for key in ("unit", "quantile", "comparison", "population")
        },
        published=read_published("string_probability"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/count_strings.py"


rule tabulate_strings:
    """Write what the analyses found for all models as CSV, and the short tables as pages."""
    input:
        **{
            name: collect(
                f"results/string_probability/{{model}}/{name}.parquet", model=STRINGS["models"]
            )
            for name in ("scores", *STRING_CSV)
        },
        published=[f"resources/datasets/{name}/manifest.tsv" for name in STRINGS["published"]],
    output:
        csv=collect("results/string_probability/{table}.csv", table=[*STRING_CSV, "paradigms"]),
        html=[
            report(
                f"results/string_probability/{table}.html",
                caption=f"../report/string_{table}.rst",
                category="String probability",
                subcategory="Tables",
                labels={"what": title},
            )
            for table, title in STRING_PAGES.items()
        ],
    log:
        "logs/tabulate_strings.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=code_digest("tabulate_strings"),
        tables=["scores", *STRING_CSV],
        pages=STRING_PAGES,
        models=figure_models,
        parsers=[catalog.dataset(name)["parser"] for name in STRINGS["published"]],
    script:
        "../workflow_scripts/tabulate_strings.py"


rule plot_string_probability:
    """Draw the paper's figures, for all models of the scale."""
    input:
        **{
            name: collect(
                f"results/string_probability/{{model}}/{name}.parquet", model=STRINGS["models"]
            )
            for name in ("scores", "correlations", "separation", "roc")
        },
        toy=collect("results/sentence_scores/{model}/toy_strings.parquet", model=TOY_MODELS),
        toy_stimuli="results/stimuli/toy_strings.parquet",
    output:
        pdf=collect("results/string_probability/{figure}.pdf", figure=STRING_FIGURES),
        png=[
            report(
                f"results/string_probability/{figure}.png",
                caption=f"../report/string_{figure}.rst",
                category="String probability",
                subcategory="Figures",
                labels={"what": title},
            )
            for figure, title in STRING_FIGURES.items()
        ],
    log:
        "logs/plot_string_probability.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=code_digest("plot_string_probability"),
        models=figure_models,
        toy_models=TOY_MODELS,
        titles={name: catalog.dataset(name)["title"] for name in PREDICTIONS},
        pooled=STRINGS["pooled"],
        figures=list(STRING_FIGURES),
        scale=settings["scale"],
    script:
        "../workflow_scripts/plot_string_probability.py"


rule compare_string_probability:
    """Compare our numbers and the paper's claims, and say which we cannot compute here."""
    input:
        correlations=collect(
            "results/string_probability/{model}/correlations.parquet", model=STRINGS["models"]
        ),
        separation=collect(
            "results/string_probability/{model}/separation.parquet", model=STRINGS["models"]
        ),
        counts="results/string_probability/datasets.csv",
        filters="results/string_probability/filters.csv",
    output:
        "results/string_probability/scorecard.parquet",
    log:
        "logs/compare_string_probability.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("compare_string_probability"),
        published=read_published("string_probability"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/compare_string_probability.py"


rule string_probability:
    """The paper's figures, counts and scorecard, for the models and data of the scale."""
    input:
        rules.count_strings.output,
        rules.tabulate_strings.output,
        rules.plot_string_probability.output,
        rules.compare_string_probability.output,
