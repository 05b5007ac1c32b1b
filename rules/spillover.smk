# How far surprisal spills over to the times of later words (beyond Oh, Zhu & Schuler 2025, Study 2,
# whose regressions have the previous word's; cf. Smith & Levy 2013).
# REQUIRES results/reading/{dataset}.parquet, and what a regression of reading times needs.
# PROVIDES results/reading/spillover/{dataset}.parquet: what surprisals of a word and of so many
# before it add; .../spillover_slopes/{dataset}.parquet: the predictors; and over the data sets
# results/reading/spillover.csv and spillover_slopes.csv.


rule fit_spillover:
    """Fit the regressions of one data set with more and more previous words."""
    input:
        **FIT_INPUT,
        deltas="results/reading/{dataset}.parquet",
    output:
        gains="results/reading/spillover/{dataset}.parquet",
        slopes="results/reading/spillover_slopes/{dataset}.parquet",
    log:
        "logs/fit_spillover/{dataset}.log",
    benchmark:
        "logs/fit_spillover/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=alternatives(WITH_SPILLOVER),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        # With 180 readers, intercepts of 10,000 words take minutes a model.
        runtime=720,
    params:
        **pick(FIT_PARAMS, "entry", "models"),
        code=code_digest("fit_spillover"),
        options={
            **pick(READING, "corrected", "partition", "held_out", "bootstrap", "word_intercepts"),
            "words": READING["spillover_words"],
            "smoothing": settings["unigrams"]["smoothing"],
            **pick(settings, "seed", "scale"),
        },
    script:
        "../workflow_scripts/fit_spillover.py"


rule tabulate_spillover:
    """Put what surprisals of previous words add, and their slopes, in two tables."""
    input:
        gains=collect("results/reading/spillover/{dataset}.parquet", dataset=WITH_SPILLOVER),
        slopes=collect("results/reading/spillover_slopes/{dataset}.parquet", dataset=WITH_SPILLOVER),
    output:
        gains=in_report("results/reading/spillover.csv", READING_ROOM, "ΔLogLik by previous words"),
        slopes=in_report(
            "results/reading/spillover_slopes.csv", READING_ROOM, "Slopes of previous words"
        ),
    log:
        "logs/tabulate_spillover.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_spillover"),
    script:
        "../workflow_scripts/tabulate_spillover.py"
