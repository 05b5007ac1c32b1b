# Whether reading time is linear in surprisal (beyond Oh, Zhu & Schuler 2025, Study 2, whose
# regressions are; cf. Wilcox et al. 2023 and Shain et al. 2024).
# REQUIRES results/reading/{dataset}.parquet, and what a regression of reading times needs.
# PROVIDES results/reading/linearity/{dataset}.parquet: what curves add to lines; .../curves/
# {dataset}.parquet: their points; and over the data sets results/reading/linearity.csv.


rule fit_reading_curves:
    """Fit the regressions of one data set with curves of surprisal in the place of lines."""
    input:
        **FIT_INPUT,
        deltas="results/reading/{dataset}.parquet",
    output:
        gains="results/reading/linearity/{dataset}.parquet",
        curves="results/reading/curves/{dataset}.parquet",
    log:
        "logs/fit_reading_curves/{dataset}.log",
    benchmark:
        "logs/fit_reading_curves/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=alternatives(WITH_CURVES),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **pick(FIT_PARAMS, "entry", "models"),
        code=code_digest("fit_reading_curves"),
        options={
            **pick(READING, "corrected", "partition", "held_out", "bootstrap"),
            "knots": READING["curve_knots"],
            "smoothing": settings["unigrams"]["smoothing"],
            **pick(settings, "seed", "scale"),
        },
    script:
        "../workflow_scripts/fit_reading_curves.py"


rule tabulate_linearity:
    """Put what curves of surprisal add to lines in one table."""
    input:
        collect("results/reading/linearity/{dataset}.parquet", dataset=WITH_CURVES),
    output:
        in_report("results/reading/linearity.csv", READING_ROOM, "What curves add to lines"),
    log:
        "logs/tabulate_linearity.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_linearity"),
    script:
        "../workflow_scripts/tabulate_linearity.py"
