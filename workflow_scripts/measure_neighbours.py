"""Find the most probable neighbours of the ungrammatical sentences of a data set's pairs."""

from lingprob.minimalness.neighbours import measure_neighbours
from lingprob.models.prepared import load_prepared
from lingprob.scoring.neighbours import Neighbourhood
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    wildcards, params = snakemake.wildcards, snakemake.params
    lm, provenance = load_prepared(
        snakemake.input.model,
        params.entry,
        params.device,
        params.dtype,
        snakemake.resources.device_map,
    )
    neighbourhood = Neighbourhood(
        lm,
        lm.start_id(params.bos["start_token"]),
        tokens=params.tokens,
        first=0 if params.bos["first_token"] == "scored" else 1,
    )
    table = measure_neighbours(
        wildcards.model,
        params.dataset,
        read_table(snakemake.input.stimuli, "stimuli"),
        read_table(snakemake.input.distances, "minimalness"),
        neighbourhood,
        params.scale,
    )
    write_table(table, "neighbours", snakemake.output[0], provenance)
