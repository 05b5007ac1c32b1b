# The overlaps of any text with a corpus without a new pass over the corpus, on request.
# REQUIRES results/words/{dataset}.parquet, a tokenizer, the documents of a corpus.
# PROVIDES results/cdawg/{corpus}: the corpus's compacted DAWG, and by it
# results/cdawg_overlap/{corpus}/{dataset}.parquet: the same table as results/overlap/{corpus}.parquet.


rule build_cdawg:
    """Build the compacted DAWG of a corpus, for the overlaps of any text without a new pass."""
    input:
        tokenizer=OVERLAP_TOKENIZER,
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        directory("results/cdawg/{corpus}"),
    log:
        "logs/build_cdawg/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=16000,
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("build_cdawg", wildcards.corpus),
        entry=entry_of("corpus", "parser separator path files"),
    script:
        "../workflow_scripts/build_cdawg.py"


rule query_cdawg:
    """Write a text's longest overlaps with a corpus by the corpus's compacted DAWG."""
    input:
        graph="results/cdawg/{corpus}",
        words="results/words/{dataset}.parquet",
        tokenizer=OVERLAP_TOKENIZER,
    output:
        "results/cdawg_overlap/{corpus}/{dataset}.parquet",
    log:
        "logs/query_cdawg/{corpus}/{dataset}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=code_digest("query_cdawg"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/query_cdawg.py"
