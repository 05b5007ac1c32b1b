# Minimal pairs: the distance of their two sentences, and an audit of differences other than grammar.
# REQUIRES results/stimuli, sentence_scores and, if the language has an embedding model, minimalness
# of each data set of `audit.datasets`; the corpora of `audit.corpora`; an embedding model's files.
# PROVIDES resources/embeddings/{embedding}/manifest.json, results/minimalness/{embedding}/{dataset}
# .parquet; results/audit/{dataset}.{parquet,csv,html}: one row per pair, the worst first, and a page;
# results/audit/leakage/{dataset}.parquet: each sentence's longest overlap with each corpus.

AUDIT = settings["audit"]


rule prepare_embedding:
    """Bring a sentence-embedding model's files to a local directory, once for all jobs."""
    input:
        lambda wildcards: sources.local_files(catalog.embedding(wildcards.embedding)),
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


rule audit_pairs:
    """Measure the pairs of a data set, look for them in corpora, put the worst on top of a page."""
    input:
        stimuli=lambda wildcards: f"results/stimuli/{scope.scored_as(run, wildcards.audited)}.parquet",
        scores=lambda wildcards: (
            f"results/sentence_scores/{AUDIT['model']}/{scope.scored_as(run, wildcards.audited)}.parquet"
        ),
        distances=lambda wildcards: scope.minimalness(run, wildcards.audited),
        corpora=[sources.corpus_files(run, corpus) for corpus in AUDIT["corpora"]],
        tokenizer=sources.tokenizer_files(run, AUDIT["model"]),
    output:
        parquet="results/audit/{audited}.parquet",
        csv="results/audit/{audited}.csv",
        html=report(
            "results/audit/{audited}.html",
            caption="../report/audit.rst",
            category="Audit of pairs",
            labels={"what": "{audited}"},
        ),
        leakage=["results/audit/leakage/{audited}.parquet"] * bool(AUDIT["corpora"]),
    log:
        "logs/audit_pairs/{audited}.log",
    benchmark:
        "logs/audit_pairs/{audited}.benchmark.tsv"
    wildcard_constraints:
        audited=alternatives(AUDIT["datasets"]),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=costs.at_most(720),
    params:
        code=code_over("audit_pairs", *AUDIT["corpora"]),
        corpora={
            name: {
                **pick(catalog.dataset(name), "parser", "separator"),
                "files": [
                    sources.corpus_file_path(run, name, file)
                    for file in sources.corpus_file_names(run, name)
                ],
            }
            for name in AUDIT["corpora"]
        },
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
    params:
        left_out=lambda wildcards: run.left_out_of("audit"),
