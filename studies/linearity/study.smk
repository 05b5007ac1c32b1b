# Is reading time linear in surprisal? README.md has the method.
# REQUIRES results/reading/{dataset}.parquet, and the inputs of a regression of reading times.
# PROVIDES results/studies/linearity/: gains.csv, and figure curves. {dataset}/ has the parts.


rule fit_curves:
    """Fit the regressions of one data set with curves of surprisal in the place of lines."""
    input:
        **FIT_INPUT,
        deltas="results/reading/{dataset}.parquet",
    output:
        gains="results/studies/linearity/{dataset}/gains.csv",
        curves="results/studies/linearity/{dataset}/curves.csv",
    log:
        "logs/linearity/fit_curves/{dataset}.log",
    benchmark:
        "logs/linearity/fit_curves/{dataset}.benchmark.tsv"
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **pick(FIT_PARAMS, "entry", "models"),
        code=code_digest("studies.linearity.fit_curves"),
        options={
            name: value
            for name, value in FIT_PARAMS["options"].items()
            if name != "random_effects"
        },
    script:
        "fit_curves.py"


rule linearity:
    """Draw the curves of all data sets, and write their gains to one table."""
    input:
        gains=collect(rules.fit_curves.output.gains, dataset=READING["datasets"]),
        curves=collect(rules.fit_curves.output.curves, dataset=READING["datasets"]),
    output:
        gains="results/studies/linearity/gains.csv",
        pdf="results/studies/linearity/curves.pdf",
        png=report("results/studies/linearity/curves.png", category="Studies"),
    log:
        "logs/linearity/draw_curves.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code_digest("studies.linearity.draw_curves"),
        models=catalog.models,
        titles={name: catalog.dataset(name)["title"] for name in READING["datasets"]},
    script:
        "draw_curves.py"
