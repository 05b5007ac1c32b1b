# Texts that people read. REQUIRES the data sets of kind `reading_texts`.
# PROVIDES results/words/{dataset}.parquet: a word a row; joined by single blanks, the passages.


rule build_words:
    """Parse the text of a reading-time corpus to a table of words."""
    input:
        unpack(raw_dataset),
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
        code=code_digest("build_words"),
        entry=lambda wildcards: pick(
            catalog.dataset(wildcards.dataset), "parser", "path", "files", "passages", "words"
        ),
    script:
        "../workflow_scripts/build_words.py"
