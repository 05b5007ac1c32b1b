# Minimal pairs: how near their two sentences are, and an audit of what tells them apart but grammar.
# REQUIRES results/stimuli, sentence_scores and, if the language has an embedding model, minimalness
# of each data set of `audit.datasets`; the corpora of `audit.corpora`; an embedding model's files.
# PROVIDES resources/embeddings/{embedding}/manifest.json, results/minimalness/{embedding}/{dataset}
# .parquet; results/audit/{dataset}.{parquet,csv,html}: a row a pair, the worst first, and a page;
# results/audit/leakage/{corpus}.parquet: each sentence's longest overlap with a corpus.

AUDIT = settings["audit"]


rule prepare_embedding:
    """Bring a sentence-embedding model's files to a local directory, once for all jobs."""
    input:
        lambda wildcards: sources.embedding_files(run, wildcards.embedding),
    output:
        "resources/embeddings/{embedding}/manifest.json",
    log:
        "logs/prepare_embedding/{embedding}.log",
    wildcard_constraints:
        embedding=alternatives(catalog.embeddings),
    conda:
        "../envs/environment.yaml"
    resources:
        disk_mb=2000,
        download=1,
        runtime=costs.at_most(240),
    params:
        code=code_digest("prepare_embedding"),
        entry=entry_of("embedding", "source repository revision folder wheels path"),
    script:
        "../workflow_scripts/prepare_embedding.py"


rule measure_minimalness:
    """Measure edit distances and cosine distance within pairs (string_probability, §4.2)."""
    input:
        embedding="resources/embeddings/{embedding}/manifest.json",
        stimuli="results/stimuli/{dataset}.parquet",
    output:
        "results/minimalness/{embedding}/{dataset}.parquet",
    log:
        "logs/measure_minimalness/{embedding}/{dataset}.log",
    benchmark:
        "logs/measure_minimalness/{embedding}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        embedding=alternatives(catalog.embeddings),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        gpu=int(costs.takes_gpu(settings["scoring"]["device"])),
        runtime=costs.at_most(240),
    params:
        code=code_digest("measure_minimalness"),
        device=settings["scoring"]["device"],
        context_window=lambda wildcards: catalog.embedding(wildcards.embedding)["context_window"],
    script:
        "../workflow_scripts/measure_minimalness.py"


rule find_pairs_in_corpus:
    """Look for the sentences of all audited pairs in a corpus."""
    input:
        stimuli=[
            f"results/stimuli/{scope.scored_as(run, name)}.parquet" for name in AUDIT["datasets"]
        ],
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
        tokenizer=sources.tokenizer_files(run, AUDIT["model"]),
    output:
        "results/audit/leakage/{corpus}.parquet",
    log:
        "logs/find_pairs_in_corpus/{corpus}.log",
    benchmark:
        "logs/find_pairs_in_corpus/{corpus}.benchmark.tsv"
    wildcard_constraints:
        corpus=CORPORA,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("find_pairs_in_corpus", wildcards.corpus),
        datasets=AUDIT["datasets"],
        entry=entry_of("corpus", "parser separator"),
        files=lambda wildcards: [
            sources.corpus_file_path(run, wildcards.corpus, file)
            for file in sources.corpus_file_names(run, wildcards.corpus)
        ],
    script:
        "../workflow_scripts/find_pairs_in_corpus.py"


rule audit_pairs:
    """Measure the pairs of a data set, and put the worst on top of a page."""
    input:
        stimuli=lambda wildcards: f"results/stimuli/{scope.scored_as(run, wildcards.audited)}.parquet",
        scores=lambda wildcards: (
            f"results/sentence_scores/{AUDIT['model']}/{scope.scored_as(run, wildcards.audited)}.parquet"
        ),
        distances=lambda wildcards: scope.distances_if_any(run, wildcards.audited),
        leakage=collect("results/audit/leakage/{corpus}.parquet", corpus=AUDIT["corpora"]),
    output:
        parquet="results/audit/{audited}.parquet",
        csv="results/audit/{audited}.csv",
        html=report(
            "results/audit/{audited}.html",
            caption="../report/audit.rst",
            category="Audit of pairs",
            labels={"what": "{audited}"},
        ),
    log:
        "logs/audit_pairs/{audited}.log",
    wildcard_constraints:
        audited=alternatives(AUDIT["datasets"]),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        code=code_digest("audit_pairs"),
        dataset=lambda wildcards: wildcards.audited,
        title=lambda wildcards: catalog.dataset(wildcards.audited)["title"],
        model=AUDIT["model"],
        model_title=catalog.model(AUDIT["model"])["title"],
        convention=scope.string_convention(run, AUDIT["model"]),
        words_edited=AUDIT["words_edited"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/audit_pairs.py"


rule audit:
    """A page and a CSV of each audited data set."""
    input:
        collect(
            "results/audit/{dataset}.{suffix}",
            dataset=AUDIT["datasets"],
            suffix=["csv", "html", "parquet"],
        ),
