# How often n-gram models expect the overlaps of a corpus (Oh, Zhu & Schuler 2025, §2.1).
# REQUIRES the documents of a corpus; KenLM's programs, or what builds them.
# PROVIDES resources/tools/kenlm/{lmplz,build_binary}, results/ngrams/{corpus}.kenlm and
# results/overlap/n_words/{corpus}.txt, for `tabulate_overlap`.

# The n-gram model of a corpus, the user's own file, or nothing.
NGRAM_MODEL = settings["overlap"]["ngrams"]
if NGRAM_MODEL in catalog.datasets:
    NGRAM_MODEL = f"results/ngrams/{NGRAM_MODEL}.kenlm"


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
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        "results/ngrams/{corpus}.kenlm",
    log:
        "logs/estimate_ngrams/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=8000,
        runtime=costs.at_most(1440),
    params:
        code=lambda wildcards: code_over("estimate_ngrams", wildcards.corpus),
        entry=entry_of("corpus", "parser path files"),
        order=5,
    script:
        "../workflow_scripts/estimate_ngrams.py"


rule count_corpus_words:
    """Add up the white-space words of a searched corpus, for the chance level."""
    input:
        corpus=lambda wildcards: sources.corpus_files(run, wildcards.corpus),
    output:
        "results/overlap/n_words/{corpus}.txt",
    log:
        "logs/count_corpus_words/{corpus}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        runtime=costs.at_most(720),
    params:
        code=lambda wildcards: code_over("count_corpus_words", wildcards.corpus),
        entry=entry_of("corpus", "parser path files"),
    script:
        "../workflow_scripts/count_corpus_words.py"
