"""Test one model's linking functions on what was left out, with curves, and on single judgments."""

from lingprob.papers.morcela.beyond import (
    ordinal_of_model,
    rated_rows,
    shapes_of_model,
    validate_model,
)
from lingprob.papers.morcela.rated import read_datasets
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, given, output = snakemake.params, snakemake.input, snakemake.output
    model = snakemake.wildcards.model
    judgments = [read_table(path, "ratings") for path in given.ratings]
    named = read_datasets(params.datasets, given.stimuli, given.scores)
    rows = rated_rows(model, named, (params.bos, params.unigrams))
    provenance = {"model": model, "bos": params.bos, "unigrams": params.unigrams,
                  "scale": params.scale}  # fmt: skip
    shapes, curves = shapes_of_model(rows, **params.fitting, **provenance)
    validation = validate_model(rows, **params.fitting, **provenance)
    ordinal = ordinal_of_model(
        rows, dict(zip(params.datasets, judgments, strict=True)), **provenance
    )
    write_table(validation, "linking_validation", output.validation)
    write_table(shapes, "linking_shapes", output.shapes)
    write_table(curves, "linking_curves", output.curves)
    write_table(ordinal, "ordinal_fits", output.ordinal)
