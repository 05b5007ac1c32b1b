"""Draw a sample of a data set's pairs."""

from lingprob.io.tables import read_table, write_table
from lingprob.stimuli.build import sample_pairs
from lingprob.workflow import job

with job(snakemake):
    pairs, seed = int(snakemake.wildcards.pairs), snakemake.params.seed
    sample = sample_pairs(read_table(snakemake.input[0], "stimuli"), pairs, seed)
    metadata = {"dataset": snakemake.wildcards.whole, "pairs": pairs, "seed": seed}
    write_table(sample, "stimuli", snakemake.output[0], metadata)
