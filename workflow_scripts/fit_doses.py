"""What copies of the passages in training do to the regressions of one data set."""

from lingprob.papers.leakage.reading.analysis import compare_regressions, read_study
from lingprob.papers.leakage.reading.doses import Dosed, dose_effects, dose_slopes
from lingprob.tables import write_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    files = dict(snakemake.input.items())
    study = read_study(snakemake.wildcards.dataset, params.entry, params.models, files)
    deltas, gains = compare_regressions(
        study, contexts=params.contexts, corrections=params.corrections, **params.options
    )
    dosed = Dosed(params.sizes, [0, *params.copies])
    draws = {"draws": params.options["bootstrap"], "seed": params.options["seed"]}
    effects = dose_effects(deltas, gains, dosed, **draws)
    write_table(effects, "dose_effects", output.effects, params.options)
    write_table(dose_slopes(deltas, gains, dosed), "dose_slopes", output.slopes, params.options)
