"""Put the variance components and the numbers of prefixes of all models together."""

from lingprob.tables import read_as_one, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    files, output, origin = snakemake.input, snakemake.output, {"models": snakemake.params.models}
    variances = read_as_one(files.variances, "prefix_variances")
    needed = read_as_one(files.needed, "prefixes_needed")
    write_csv(variances, output.csv[0])
    write_csv(needed, output.csv[1])
    write_table(variances, "prefix_variances", output.parquet[0], origin)
    write_table(needed, "prefixes_needed", output.parquet[1], origin)
