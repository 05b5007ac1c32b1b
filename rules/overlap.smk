# Overlap of texts with corpora (Oh, Zhu & Schuler 2025, Study 1 and the choice of chunks).
# REQUIRES results/words of each reading-time corpus, a tokenizer, corpora to search.
# PROVIDES results/overlap/{corpus}.{parquet,csv}: each passage's longest overlaps with a corpus, and
# over all corpora of the scale results/overlap/: overlaps, summary, passage_lengths, chunks, figures
# 1a and 1b, scorecard; on the way index, passages, files/, counts/ and n_words/ there, and
# results/ngrams/{corpus}.kenlm.
# On request, results/overlap/words/{corpus}/{dataset}.parquet: the matches at every word, and
# results/cdawg_overlap/{corpus}/{dataset}.parquet: the same by a compacted DAWG of the
# corpus, which answers for any further text without a new pass.
# The passages are indexed, and each file of a corpus streams through the index in a job of its own,
# so that a killed run goes on at the next file.

OVERLAP = settings["overlap"]
OVERLAP_TOKENIZER = plan.tokenizer_files(OVERLAP["tokenizer"])
PUBLISHED_OVERLAPS = ["the_pile", "owt"]
OVERLAP_CHUNKS = [
    (corpus, file) for corpus in OVERLAP["chunk_corpora"] for file in plan.corpus_file_names(corpus)
]
# For the chance level: the n-gram model of a corpus, the user's own file, or nothing.
NGRAM_MODEL = OVERLAP["ngrams"]
if NGRAM_MODEL in catalog.datasets:
    NGRAM_MODEL = f"results/ngrams/{NGRAM_MODEL}.kenlm"
OVERLAP_ROOM = Room(
    "overlap",
    category="Leakage",
    figures=["figure_1a", "figure_1b"],
    files={
        "overlaps": "results/overlap/overlaps.parquet",
        "chunks": "results/overlap/chunks.parquet",
    },
    titles={
        **{name: catalog.dataset(name)["title"] for name in OVERLAP["texts"] + OVERLAP["corpora"]},
        "the_pile": "The Pile (published)",
        "owt": "OpenWebText (published)",
    },
)


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
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=30,
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
        corpus=lambda wildcards: plan.corpus_file(wildcards.corpus, wildcards.file),
    output:
        "results/overlap/files/{corpus}/{file}.npz",
    log:
        "logs/scan_corpus/{corpus}/{file}.log",
    benchmark:
        "logs/scan_corpus/{corpus}/{file}.benchmark.tsv"
    wildcard_constraints:
        corpus=DATASETS,
        file="[^/]+",
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=lambda wildcards: costs.at_most(
            costs.scanning_minutes(wildcards.corpus, wildcards.file)
        ),
    params:
        code=lambda wildcards: code_over("scan_corpus", wildcards.corpus),
        entry=lambda wildcards: pick(catalog.dataset(wildcards.corpus), "parser", "separator"),
        path=lambda wildcards: plan.corpus_file_path(wildcards.corpus, wildcards.file),
        min_length=OVERLAP["min_length"],
    script:
        "../workflow_scripts/scan_corpus.py"


rule merge_overlap:
    """Add up the counts of a corpus's files."""
    input:
        lambda wildcards: collect(
            "results/overlap/files/{corpus}/{file}.npz",
            corpus=wildcards.corpus,
            file=plan.corpus_file_names(wildcards.corpus),
        ),
    output:
        "results/overlap/counts/{corpus}.npz",
    log:
        "logs/merge_overlap/{corpus}.log",
    wildcard_constraints:
        corpus=DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=30,
    params:
        code=code_digest("merge_overlap"),
    script:
        "../workflow_scripts/merge_overlap.py"


rule build_kenlm:
    """Have KenLM's programs from the PATH, or build them."""
    output:
        collect("resources/tools/kenlm/{program}", program=["lmplz", "build_binary"]),
    log:
        "logs/build_kenlm.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=code_digest("build_kenlm"),
    script:
        "../workflow_scripts/build_kenlm.py"


rule estimate_ngrams:
    """Estimate a 5-gram model of white-space words over a corpus."""
    input:
        programs=rules.build_kenlm.output,
        corpus=lambda wildcards: plan.corpus_files(wildcards.corpus),
    output:
        "results/ngrams/{corpus}.kenlm",
    log:
        "logs/estimate_ngrams/{corpus}.log",
    wildcard_constraints:
        corpus=CORPORA,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("estimate_ngrams", wildcards.corpus),
        entry=lambda wildcards: pick(catalog.dataset(wildcards.corpus), "parser", "path", "files"),
        order=5,
    script:
        "../workflow_scripts/estimate_ngrams.py"


rule count_corpus_words:
    """Add up the white-space words of a searched corpus, for the chance level."""
    input:
        corpus=lambda wildcards: plan.corpus_files(wildcards.corpus),
    output:
        "results/overlap/n_words/{corpus}.txt",
    log:
        "logs/count_corpus_words/{corpus}.log",
    wildcard_constraints:
        corpus=CORPORA,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("count_corpus_words", wildcards.corpus),
        entry=lambda wildcards: pick(catalog.dataset(wildcards.corpus), "parser", "path", "files"),
    script:
        "../workflow_scripts/count_corpus_words.py"


rule tabulate_overlap:
    """Write each passage's longest overlaps with a corpus, and how often they occur there."""
    input:
        ngrams=NGRAM_MODEL or [],
        # Where the chance level is wanted and the catalog has no count of the corpus's words.
        n_words=lambda wildcards: (
            f"results/overlap/n_words/{wildcards.corpus}.txt"
            if NGRAM_MODEL and "words" not in catalog.dataset(wildcards.corpus)
            else []
        ),
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        counts="results/overlap/counts/{corpus}.npz",
        tokenizer=OVERLAP_TOKENIZER,
    output:
        parquet="results/overlap/{corpus}.parquet",
        csv="results/overlap/{corpus}.csv",
    log:
        "logs/tabulate_overlap/{corpus}.log",
    wildcard_constraints:
        corpus=DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=30,
    params:
        code=code_digest("tabulate_overlap"),
        n_words=lambda wildcards: catalog.dataset(wildcards.corpus).get("words"),
        no_chance_level=OVERLAP["no_chance_level"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/tabulate_overlap.py"


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
        corpus=CORPORA,
        dataset=alternatives(OVERLAP["texts"]),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=30,
    params:
        code=code_digest("measure_word_leakage"),
    script:
        "../workflow_scripts/measure_word_leakage.py"


rule build_cdawg:
    """Build the compacted DAWG of a corpus, for the overlaps of any text without a new pass."""
    input:
        tokenizer=OVERLAP_TOKENIZER,
        corpus=lambda wildcards: plan.corpus_files(wildcards.corpus),
    output:
        directory("results/cdawg/{corpus}"),
    log:
        "logs/build_cdawg/{corpus}.log",
    wildcard_constraints:
        corpus=CORPORA,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=16000,
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("build_cdawg", wildcards.corpus),
        entry=lambda wildcards: pick(
            catalog.dataset(wildcards.corpus), "parser", "separator", "path", "files"
        ),
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
    wildcard_constraints:
        corpus=CORPORA,
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


rule import_published_overlap:
    """Import the paper's own longest overlaps, with the flags of both conventions."""
    input:
        "resources/datasets/rt_leakage/manifest.tsv",
    output:
        "results/overlap/{published}.parquet",
    log:
        "logs/import_published_overlap/{published}.log",
    wildcard_constraints:
        published=alternatives(PUBLISHED_OVERLAPS),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("import_published_overlap"),
        path="resources/datasets/rt_leakage/rt_overlap_{published}.tsv",
        scale=settings["scale"],
    script:
        "../workflow_scripts/import_published_overlap.py"


rule summarise_overlap:
    """Put the overlaps with all corpora in one table, the published ones last, and sum them up."""
    input:
        collect(
            "results/overlap/{corpus}.parquet", corpus=OVERLAP["corpora"] + OVERLAP["published"]
        ),
    output:
        parquet="results/overlap/overlaps.parquet",
        csv="results/overlap/summary.csv",
        lengths="results/overlap/passage_lengths.csv",
        html=report(
            "results/overlap/summary.html",
            caption="../report/overlap_summary.rst",
            category="Leakage",
            subcategory="Tables",
            labels={"what": "Longest overlaps by corpus"},
        ),
    log:
        "logs/summarise_overlap.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("summarise_overlap"),
        no_chance_level=OVERLAP["no_chance_level"],
    script:
        "../workflow_scripts/summarise_overlap.py"


rule select_chunks:
    """List the chunks that overlap minimally with the passages, and sample some (leakage, §3.1)."""
    input:
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        tokenizer=OVERLAP_TOKENIZER,
        files=[f"results/overlap/files/{corpus}/{file}.npz" for corpus, file in OVERLAP_CHUNKS],
    output:
        parquet="results/overlap/chunks.parquet",
        csv=report(
            "results/overlap/chunks.csv",
            caption="../report/overlap_chunks.rst",
            category="Leakage",
            subcategory="Tables",
            labels={"what": "Chunks and their longest overlaps"},
        ),
    log:
        "logs/select_chunks.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=BASE_MEMORY_MB,
        runtime=30,
    params:
        code=code_digest("select_chunks"),
        chunks=OVERLAP_CHUNKS,
        min_length=OVERLAP["min_length"],
        max_overlap=OVERLAP["max_overlap"],
        chunks_selected=OVERLAP["chunks_selected"],
        seed=settings["seed"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/select_chunks.py"


rule overlap:
    """Longest overlaps, figures and leakage-free chunks, for the texts and corpora of the scale."""
    input:
        collect("results/overlap/{corpus}.csv", corpus=OVERLAP["corpora"]),
        rules.summarise_overlap.output,
        rules.select_chunks.output,
        collect(
            "results/overlap/{figure}.{suffix}",
            figure=OVERLAP_ROOM.figures,
            suffix=["pdf", "png"],
        ),
        multiext("results/overlap/scorecard", ".parquet", ".csv", ".html"),
