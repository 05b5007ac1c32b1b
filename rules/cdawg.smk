# Saved corpora, which answer for any text without a pass over the corpus.
# REQUIRES the documents of the corpora `overlap.indexed`, a tokenizer; their overlaps by a scan.
# PROVIDES results/cdawg/{corpus}: compacted DAWGs for `find_overlap` and `certify`, and
# results/cdawg/{corpus}.parquet: the overlaps by them, the same as results/overlap/{corpus}.parquet.


rule build_cdawg:
    """Save a corpus as compacted DAWGs, for the overlaps of any text without a new pass."""
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
        # A graph takes about 50 bytes per token. A byte of a compressed file can be a token.
        mem_mb=lambda wildcards, attempt: costs.grown(
            min(16000, 2000 + int(costs.bytes_of(wildcards.corpus) / 12500)), attempt
        ),
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("build_cdawg", wildcards.corpus),
        entry=entry_of("corpus", "parser separator path files words"),
        tokenizer=OVERLAP["tokenizer"],
    script:
        "../workflow_scripts/build_cdawg.py"


rule query_cdawg:
    """Write the overlaps with a corpus by its compacted DAWGs, and check that those of the scan are equal."""
    input:
        graphs="results/cdawg/{corpus}",
        scanned="results/overlap/{corpus}.parquet",
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        tokenizer=OVERLAP_TOKENIZER,
    output:
        "results/cdawg/{corpus}.parquet",
    log:
        "logs/query_cdawg/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **pick(OVERLAP, "min_length"),
        code=code_digest("query_cdawg"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/query_cdawg.py"
