# What surprisal adds without the words that the searched corpora have (Oh, Zhu & Schuler 2025).
# REQUIRES results/overlap/: index, passages and counts/ of each corpus, and what a regression of
# reading times needs.
# PROVIDES results/overlap/words/{corpus}/{dataset}.parquet: the matches at every word;
# results/reading/leakage/{dataset}.parquet, and over the data sets results/reading/leakage.csv.


rule measure_word_leakage:
    """Write how long and how frequent a text's matches with a corpus are, word by word."""
    input:
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        counts="results/overlap/counts/{corpus}.npz",
        words="results/words/{dataset}.parquet",
        tokenizer=OVERLAP_TOKENIZER,
    output:
        "results/overlap/words/{corpus}/{dataset}.parquet",
    log:
        "logs/measure_word_leakage/{corpus}/{dataset}.log",
    wildcard_constraints:
        dataset=alternatives(OVERLAP["texts"]),
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("measure_word_leakage"),
    script:
        "../workflow_scripts/measure_word_leakage.py"


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
        in_report("results/reading/leakage.csv", READING_ROOM, "ΔLogLik adjusted for leakage"),
    log:
        "logs/tabulate_leakage.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_leakage"),
    script:
        "../workflow_scripts/tabulate_leakage.py"
