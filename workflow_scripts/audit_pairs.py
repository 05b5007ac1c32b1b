"""Audit the pairs of one data set."""

from pathlib import Path

from lingprob.io.files import write_text
from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.corpora import corpus_of
from lingprob.overlap.search import find_sentences
from lingprob.pairs.audit import Evidence, audit
from lingprob.site.audit import audit_page
from lingprob.workflow import job

with job(snakemake):
    inputs, params, output = snakemake.input, snakemake.params, snakemake.output
    stimuli, leakage = read_table(inputs.stimuli, "stimuli"), None
    distances = [read_table(path, "minimalness") for path in inputs.distances]
    if params.corpora:
        texts = stimuli[stimuli["pair_id"].notna()].set_index("item_id")["text"]
        corpora = [
            corpus_of(name, entry, [Path(path) for path in entry["files"] if path])
            for name, entry in params.corpora.items()
        ]
        leakage = find_sentences({params.dataset: texts}, corpora, open_tokenizer(inputs.tokenizer))
        write_table(leakage, "audit_leakage", output.leakage[0])
    evidence = Evidence(
        params.dataset,
        stimuli,
        read_table(inputs.scores, "sentence_scores"),
        tuple(params.convention),
        distances[0] if distances else None,
        leakage,
    )
    table, preferred = audit(evidence, params.model, params.words_edited, params.scale)
    write_table(table, "audit", output.parquet)
    write_csv(table, output.csv)
    write_text(audit_page(table, preferred, params.title, params.model_title), output.html)
