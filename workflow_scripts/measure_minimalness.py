"""Measure how near the two sentences of each pair are."""

from lingprob.io.tables import read_table, write_table
from lingprob.models.folders import read_manifest
from lingprob.pairs.embeddings import SentenceEmbedder
from lingprob.stimuli.distances import measure_pairs
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    manifest = read_manifest(snakemake.input.embedding)
    embed = SentenceEmbedder(manifest["directory"], params.context_window, params.device)
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    distances = measure_pairs(stimuli, snakemake.wildcards.dataset, embed)
    metadata = {"embedding": manifest["model"], "origin": manifest["origin"]}
    write_table(distances, "minimalness", snakemake.output[0], metadata)
