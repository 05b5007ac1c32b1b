"""Perturb the matched prefixes of the suites that respond most to them."""

import pandas as pd

from lingprob.context.judgments import RESPONSE, responsive_suites
from lingprob.context.names import MATCHED, NO_PREFIX
from lingprob.context.perturbations import perturbed_prefixes
from lingprob.context.prefixes import sentences_within, tokenizer_of
from lingprob.io.tables import read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    wanted = {"kind": [MATCHED[0], NO_PREFIX], "dataset": [snakemake.wildcards.dataset]}
    judgments = [
        read_table(path, "context_judgments", RESPONSE, wanted) for path in files.judgments
    ]
    suites = responsive_suites(pd.concat(judgments), params.suites)
    wanted = {"suite": suites, "kind": MATCHED}
    prefixes = read_table(files.prefixes, "context_prefixes", where=wanted)
    pieces = perturbed_prefixes(
        prefixes,
        read_table(files.stimuli, "stimuli"),
        suites,
        sentences_within(prefixes, map(tokenizer_of, files.tokenizers), params.tokens),
        params.seed,
    )
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for perturbed in pieces:
            write(perturbed)
