"""Fit the regressions of one data set with models that saw copies of the passages."""

from lingprob.io.tables import write_csv
from lingprob.papers.leakage.regressions import compare_regressions, read_study
from lingprob.workflow import job
from studies.doses.analysis import dose_slopes, dosed_models

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    rows, files = dosed_models(params.sizes, params.copies), dict(snakemake.input.items())
    models = rows["model"].tolist()
    study = read_study(snakemake.wildcards.dataset, params.entry, models, files)
    tables = compare_regressions(
        study,
        contexts=dict.fromkeys(models, params.context),
        corrections=dict.fromkeys(models, params.options["corrected"]),
        **params.options,
    )
    deltas, gains = tables["delta_log_likelihood"], tables["reading_gains"]
    slopes = dose_slopes(gains, rows).assign(dataset=study.dataset, scale=params.options["scale"])
    write_csv(deltas.merge(rows, on="model"), output.deltas)
    write_csv(slopes, output.slopes)
