# Overlap of texts with corpora (Oh, Zhu & Schuler 2025, Study 1 and the choice of chunks).
# REQUIRES results/words of each reading-time corpus, a tokenizer, corpora to search, and for
# the chance level the n-gram model of rules/models.smk.
# PROVIDES results/overlap/{corpus}.{parquet,csv}: each passage's longest overlaps with a corpus, and
# over all corpora of the scale results/overlap/: overlaps, summary, chunks, figures
# 1a and 1b, scorecard; soft_overlaps and soft_summary, but for case, punctuation, white space and
# gaps; on the way index, passages, files/, soft/ and counts/ there.
# The passages are indexed, and each file of a corpus streams through the index in a job of its own,
# so that a killed run continues with the next file.

OVERLAP = settings["overlap"]
OVERLAP_TOKENIZER = sources.tokenizer_files(run, OVERLAP["tokenizer"])
PUBLISHED_OVERLAPS = {
    name: f"resources/datasets/rt_leakage/rt_overlap_{name}.tsv" for name in OVERLAP["published"]
}
OVERLAP_CHUNKS = [
    (corpus, file)
    for corpus in OVERLAP["chunk_corpora"]
    for file in sources.corpus_file_names(run, corpus)
]
# Corpora that are also searched for soft overlaps.
SOFT_CORPORA = [
    name
    for name in OVERLAP["corpora"]
    if OVERLAP["soft_min_words"] and catalog.dataset(name)["parser"] != TOKEN_ROWS
]
SOFT_OPTIONS = dict(min_words=OVERLAP["soft_min_words"], gaps=2, scale=settings["scale"])


rule index_passages:
    """Index the passages of all reading-time corpora as token sequences."""
    input:
        words=collect("results/words/{dataset}.parquet", dataset=OVERLAP["texts"]),
        tokenizer=OVERLAP_TOKENIZER,
    output:
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
    log:
        "logs/index_passages.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("index_passages"),
        texts=OVERLAP["texts"],
    script:
        "../workflow_scripts/index_passages.py"


rule scan_corpus:
    """Stream one file of a corpus through the index; count longest matches by state of the index."""
    input:
        index="results/overlap/index.npz",
        tokenizer=OVERLAP_TOKENIZER,
        corpus=lambda wildcards: (
            []
            if sources.is_transient(run, wildcards.corpus)
            else sources.corpus_file(run, wildcards.corpus, wildcards.file)
        ),
    output:
        "results/overlap/files/{corpus}/{file}.npz",
    log:
        "logs/scan_corpus/{corpus}/{file}.log",
    benchmark:
        "logs/scan_corpus/{corpus}/{file}.benchmark.tsv"
    wildcard_constraints:
        corpus=alternatives(
            name for name in catalog.datasets_of("corpus") if name not in SOFT_CORPORA
        ),
        file="[^/]+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        disk_mb=lambda wildcards: (
            costs.download_mb(wildcards.corpus, wildcards.file)
            if sources.is_transient(run, wildcards.corpus)
            else 1000
        ),
        download=lambda wildcards: int(sources.is_transient(run, wildcards.corpus)),
        runtime=lambda wildcards: costs.runtime(
            costs.scanning(wildcards.corpus, wildcards.file), start=30
        ),
    params:
        code=lambda wildcards: code_over("scan_corpus", wildcards.corpus),
        chunk=lambda wildcards: (
            sources.corpus_file_source(run, wildcards.corpus, wildcards.file)
            if sources.is_transient(run, wildcards.corpus)
            else None
        ),
        entry=entry_of("corpus", "parser separator"),
        path=lambda wildcards: sources.corpus_file_path(run, wildcards.corpus, wildcards.file),
        min_length=OVERLAP["min_length"],
    script:
        "../workflow_scripts/scan_corpus.py"


rule scan_text:
    """Stream one file of a corpus of text through the index, and find each passage's longest soft overlap."""
    input:
        index="results/overlap/index.npz",
        tokenizer=OVERLAP_TOKENIZER,
        words=collect("results/words/{dataset}.parquet", dataset=OVERLAP["texts"]),
        corpus=lambda wildcards: sources.corpus_file(run, wildcards.corpus, wildcards.file),
    output:
        counts="results/overlap/files/{corpus}/{file}.npz",
        soft="results/overlap/soft/{corpus}/{file}.parquet",
    log:
        "logs/scan_text/{corpus}/{file}.log",
    benchmark:
        "logs/scan_text/{corpus}/{file}.benchmark.tsv"
    wildcard_constraints:
        corpus=alternatives(SOFT_CORPORA),
        file="[^/]+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        # The soft search of a gigabyte of text takes a minute and a half.
        runtime=lambda wildcards: costs.runtime(
            1.5 * costs.scanning(wildcards.corpus, wildcards.file), start=30
        ),
    params:
        code=lambda wildcards: code_over("scan_text", wildcards.corpus),
        entry=entry_of("corpus", "parser separator"),
        path=lambda wildcards: sources.corpus_file_path(run, wildcards.corpus, wildcards.file),
        min_length=OVERLAP["min_length"],
        texts=OVERLAP["texts"],
        options=SOFT_OPTIONS,
    script:
        "../workflow_scripts/scan_text.py"


rule tabulate_overlap:
    """Write each passage's longest overlaps with a corpus, and how often they occur there."""
    input:
        ngrams=NGRAM_MODEL or [],
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        scans=lambda wildcards: collect(
            "results/overlap/files/{corpus}/{file}.npz",
            corpus=wildcards.corpus,
            file=sources.corpus_file_names(run, wildcards.corpus),
        ),
        tokenizer=OVERLAP_TOKENIZER,
    output:
        counts="results/overlap/counts/{corpus}.npz",
        parquet="results/overlap/{corpus}.parquet",
        csv="results/overlap/{corpus}.csv",
    log:
        "logs/tabulate_overlap/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_overlap"),
        n_words=lambda wildcards: catalog.dataset(wildcards.corpus).get("words"),
        no_chance_level=OVERLAP["no_chance_level"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/tabulate_overlap.py"


rule select_chunks:
    """List the chunks that overlap minimally with the passages, and sample some (leakage, §3.1)."""
    input:
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        tokenizer=OVERLAP_TOKENIZER,
        files=[f"results/overlap/files/{corpus}/{file}.npz" for corpus, file in OVERLAP_CHUNKS],
    output:
        parquet="results/overlap/chunks.parquet",
        csv=in_report("results/overlap/chunks.csv", "Chunks and their longest overlaps"),
    log:
        "logs/select_chunks.log",
    conda:
        "../envs/environment.yaml"
    params:
        **pick(OVERLAP, "min_length", "max_overlap", "chunks_selected"),
        **pick(settings, "seed", "scale"),
        code=code_digest("select_chunks"),
        chunks=OVERLAP_CHUNKS,
    script:
        "../workflow_scripts/select_chunks.py"


rule report_overlap:
    """Put all overlaps in one table, the published ones last, and draw, sum up and compare them."""
    input:
        overlap=collect("results/overlap/{corpus}.parquet", corpus=OVERLAP["corpora"]),
        overlap_chunks="results/overlap/chunks.parquet",
        published=["resources/datasets/rt_leakage/manifest.tsv"] * bool(PUBLISHED_OVERLAPS),
        soft_overlap=[
            f"results/overlap/soft/{corpus}/{file}.parquet"
            for corpus in SOFT_CORPORA
            for file in sources.corpus_file_names(run, corpus)
        ],
    output:
        overlap="results/overlap/overlaps.parquet",
        csv="results/overlap/summary.csv",
        html=in_report("results/overlap/summary.html", "Longest overlaps by corpus"),
        soft=["results/overlap/soft_overlaps.parquet"] * bool(SOFT_CORPORA),
        soft_pages=[
            "results/overlap/soft_overlaps.csv",
            "results/overlap/soft_summary.csv",
            in_report("results/overlap/soft_summary.html", "Soft overlaps by corpus"),
        ]
        * bool(SOFT_CORPORA),
        figures=figure_files("overlap", ["figure_1a", "figure_1b"]),
        scorecard="results/overlap/scorecard.parquet",
        pages=scorecard_pages("overlap"),
    log:
        "logs/report_overlap.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
    params:
        **report_params(
            "overlap",
            [],
            {
                **{
                    name: catalog.dataset(name)["title"]
                    for name in OVERLAP["texts"] + OVERLAP["corpora"]
                },
                "the_pile": "The Pile (published)",
                "owt": "OpenWebText (published)",
            },
        ),
        title="Longest overlaps by corpus"
        + (
            f" (ours without a chance level: {OVERLAP['no_chance_level']})"
            if OVERLAP["no_chance_level"]
            else ""
        ),
        published=PUBLISHED_OVERLAPS,
        coverage=OVERLAP["whole_coverage"],
        soft=SOFT_OPTIONS,
        soft_title=f"Soft overlaps by corpus: {OVERLAP['soft_min_words']} words or more, up to 2 gaps",
    script:
        "../workflow_scripts/report_overlap.py"


rule overlap:
    """Longest overlaps, figures and leakage-free chunks, for the texts and corpora of the scale."""
    input:
        collect("results/overlap/{corpus}.csv", corpus=OVERLAP["corpora"]),
        collect("results/cdawg/{corpus}.parquet", corpus=OVERLAP["indexed"]),
        rules.select_chunks.output,
        rules.report_overlap.output,
