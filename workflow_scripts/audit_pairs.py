"""Audit the pairs of one data set."""

from lingprob.io.files import write_text
from lingprob.io.tables import read_as_one, read_table, write_csv, write_table
from lingprob.pairs.audit import Evidence, audit
from lingprob.site.audit import audit_page
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    distances = [read_table(path, "minimalness") for path in inputs.distances]
    evidence = Evidence(
        params.dataset,
        read_table(inputs.stimuli, "stimuli"),
        read_table(inputs.scores, "sentence_scores"),
        tuple(params.convention),
        distances[0] if distances else None,
        read_as_one(inputs.leakage, "audit_leakage") if inputs.leakage else None,
    )
    table, preferred = audit(evidence, params.model, params.words_edited, params.scale)
    write_table(table, "audit", snakemake.output.parquet)
    write_csv(table, snakemake.output.csv)
    page = audit_page(table, preferred, params.title, params.model_title)
    write_text(page, snakemake.output.html)
