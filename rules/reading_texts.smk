# Texts that people read, and how long they took (Oh, Zhu & Schuler 2025, §3.1, Appendix B).
# REQUIRES the data sets of kind `reading_texts` and `reading_times`, corpora for unigram surprisal.
# PROVIDES results/words/{dataset}.parquet: one row per word (joined by single spaces, the passages);
# results/reading_times/{dataset}.parquet: one row per reader and word;
# results/word_counts/{corpus}.parquet.

READING = settings["reading"]
READING_TEXTS = alternatives(catalog.datasets_of("reading_texts"))
READING_DATASETS = alternatives(catalog.datasets_of("reading_times"))


rule build_words:
    """Parse the text of a reading-time corpus to a table of words."""
    input:
        unpack(lambda wildcards: sources.raw_dataset(run, wildcards.dataset)),
    output:
        "results/words/{dataset}.parquet",
    log:
        "logs/build_words/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=lambda wildcards: code_over("build_words", wildcards.dataset),
        entry=entry_of("dataset", "parser path files passages words columns first_index"),
    script:
        "../workflow_scripts/build_words.py"


rule build_reading_times:
    """Parse reading times, mark the exclusions, and divide the rest into partitions (Appendix B)."""
    input:
        unpack(lambda wildcards: sources.raw_dataset(run, wildcards.dataset)),
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
        mem_mb=5000,  # 51 million cells of GECO are 3,700
        runtime=60,
    params:
        code=lambda wildcards: code_over(
            "build_reading_times", wildcards.dataset, with_parsers=True
        ),
        entry=entry_of(
            "dataset",
            "parser path files texts method unit subjects zone_shift columns first_index",
        ),
        seed=settings["seed"],
    script:
        "../workflow_scripts/build_reading_times.py"


rule count_words:
    """Count the words of a corpus, for unigram surprisal."""
    input:
        lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        "results/word_counts/{corpus}.parquet",
    log:
        "logs/count_words/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("count_words", wildcards.corpus),
        entry=entry_of("corpus", "parser path files"),
    script:
        "../workflow_scripts/count_words.py"
