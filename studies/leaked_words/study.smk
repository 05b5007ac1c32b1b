# ΔLogLik without leaked words. README.md has the method.
# REQUIRES results/overlap/: index, passages and counts/ of each corpus, and the inputs of a
# regression of reading times.
# PROVIDES results/studies/leaked_words/: deltas.csv, and figure leakage; datasets/DATASET.csv has the parts.

# Data sets of reading times whose words are searched for in the corpora of `overlap`.
WITH_LEAKAGE = [
    name for name in READING["datasets"] if catalog.dataset(name)["texts"] in OVERLAP["texts"]
]
if not WITH_LEAKAGE:
    raise WorkflowError(
        "studies: leaked_words needs a text of reading.datasets among overlap.texts. Name one there."
    )


rule fit_without_leaked_words:
    """Fit the regressions of one data set without the words that corpora have."""
    input:
        **FIT_INPUT,
        index="results/overlap/index.npz",
        passages="results/overlap/passages.parquet",
        scans=collect("results/overlap/counts/{corpus}.npz", corpus=OVERLAP["corpora"]),
        tokenizer=OVERLAP_TOKENIZER,
    output:
        "results/studies/leaked_words/datasets/{dataset}.csv",
    log:
        "logs/leaked_words/{dataset}.log",
    benchmark:
        "logs/leaked_words/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=alternatives(WITH_LEAKAGE),
    conda:
        "../../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=240,
    params:
        **FIT_PARAMS,
        code=code_digest("studies.leaked_words.fit_without_leaked_words"),
    script:
        "fit_without_leaked_words.py"


rule leaked_words:
    """Draw ΔLogLik without leaked words, and put all data sets in one table."""
    input:
        collect("results/studies/leaked_words/datasets/{dataset}.csv", dataset=WITH_LEAKAGE),
    output:
        deltas="results/studies/leaked_words/deltas.csv",
        pdf="results/studies/leaked_words/leakage.pdf",
        png=report("results/studies/leaked_words/leakage.png", category="Studies"),
    log:
        "logs/leaked_words/draw_leakage.log",
    conda:
        "../../envs/environment.yaml"
    params:
        code=code_digest("studies.leaked_words.draw_leakage"),
        models=catalog.models,
        titles={name: catalog.dataset(name)["title"] for name in READING["datasets"]},
    script:
        "draw_leakage.py"
