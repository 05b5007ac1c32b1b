"""Put ΔLogLik by what models had seen of their training in a table, and where it is highest."""

from lingprob.papers.leakage.reading.trajectories import trajectories
from lingprob.tables import read_as_one, read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    inputs, output, params = snakemake.input, snakemake.output, snakemake.params
    steps, peaks = trajectories(
        read_table(inputs.deltas, "delta_log_likelihood"),
        read_as_one(inputs.gains, "reading_gains"),
        params.models,
        draws=params.bootstrap,
        seed=params.seed,
    )
    write_csv(steps, output.csv)
    write_csv(peaks, output.peaks_csv)
    write_table(steps, "trajectories", output.parquet)
    write_table(peaks, "trajectory_peaks", output.peaks)
