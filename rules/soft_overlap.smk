# Overlap of texts with corpora but for case, punctuation, white space and gaps (beyond Oh, Zhu &
# Schuler 2025, Study 1, whose overlaps are exact tokens').
# REQUIRES results/words of each reading-time corpus; the corpora of `overlap` that are text.
# PROVIDES results/overlap/: soft_overlaps.{parquet,csv}, each passage's longest soft overlap with a
# corpus, and soft_summary.{csv,html}; on the way soft/{corpus}/{file}.parquet.

SOFT_OPTIONS = dict(min_words=OVERLAP["soft_min_words"], gaps=2, scale=settings["scale"])


rule find_soft_overlaps:
    """Find each passage's longest soft overlap with one file of a corpus."""
    input:
        words=collect("results/words/{dataset}.parquet", dataset=OVERLAP["texts"]),
        corpus=lambda wildcards: sources.corpus_file(run, wildcards.corpus, wildcards.file),
    output:
        "results/overlap/soft/{corpus}/{file}.parquet",
    log:
        "logs/find_soft_overlaps/{corpus}/{file}.log",
    benchmark:
        "logs/find_soft_overlaps/{corpus}/{file}.benchmark.tsv"
    wildcard_constraints:
        corpus=alternatives(SOFT_CORPORA),
        file="[^/]+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        # A gigabyte of text takes a minute and a half.
        runtime=costs.at_most(240),
    params:
        code=lambda wildcards: code_over("find_soft_overlaps", wildcards.corpus),
        entry=entry_of("corpus", "parser"),
        path=lambda wildcards: sources.corpus_file_path(run, wildcards.corpus, wildcards.file),
        texts=OVERLAP["texts"],
        options=SOFT_OPTIONS,
    script:
        "../workflow_scripts/find_soft_overlaps.py"


rule tabulate_soft_overlaps:
    """Put each passage's longest soft overlaps with all corpora in one table, and sum them up."""
    input:
        [
            f"results/overlap/soft/{corpus}/{file}.parquet"
            for corpus in SOFT_CORPORA
            for file in sources.corpus_file_names(run, corpus)
        ],
    output:
        parquet="results/overlap/soft_overlaps.parquet",
        csv="results/overlap/soft_overlaps.csv",
        summary="results/overlap/soft_summary.csv",
        html=in_report("results/overlap/soft_summary.html", OVERLAP_ROOM, "Soft overlaps by corpus"),
    log:
        "logs/tabulate_soft_overlaps.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_soft_overlaps"),
        options=SOFT_OPTIONS,
    script:
        "../workflow_scripts/tabulate_soft_overlaps.py"
