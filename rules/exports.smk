# Tables of one model as people open them: CSV, with the text of each sentence or word.
# REQUIRES the Parquet table of the same name, results/stimuli or results/words.
# PROVIDES results/sentence_scores/{model}/{dataset}.csv and results/surprisal/{model}/{texts}.csv.

MODELS = alternatives(catalog.models)
EXPORTED = [
    rf"sentence_scores/({MODELS})/({DATASETS})(_sample\d+)?",
    f"surprisal/({MODELS})/({READING_TEXTS})",
]
# Whose texts stand beside a table's numbers.
TEXTS_OF = {"sentence_scores": "stimuli", "surprisal": "words"}


localrules:
    export_table,


rule export_table:
    """Write a table of one model as CSV, each sentence's or word's text beside its numbers."""
    input:
        table="results/{table}.parquet",
        texts=lambda wildcards: [
            f"results/{texts}/{Path(wildcards.table).name}.parquet"
            for folder, texts in TEXTS_OF.items()
            if folder == Path(wildcards.table).parts[0]
        ],
    output:
        "results/{table}.csv",
    log:
        "logs/export_table/{table}.log",
    wildcard_constraints:
        table="|".join(EXPORTED),
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("export_table"),
    script:
        "../workflow_scripts/export_table.py"
