"""Perturb the matched prefixes of the suites that respond most to them."""

import pandas as pd

from lingprob.context.perturbations import perturbed_prefixes
from lingprob.context.prefixes import count_tokens, sentences_within, tokenizer_of
from lingprob.context.responses import responsive_suites
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    judgments = [read_table(path, "context_judgments") for path in files.judgments]
    n_tokens = read_table(files.n_tokens, "context_prefix_tokens")
    perturbed = perturbed_prefixes(
        read_table(files.prefixes, "context_prefixes"),
        read_table(files.stimuli, "stimuli"),
        responsive_suites(pd.concat(judgments), params.suites),
        sentences_within(n_tokens, params.tokens),
        params.seed,
    )
    tokenizers = {
        name: tokenizer_of(manifest)
        for name, manifest in zip(params.tokenizers, files.tokenizers, strict=True)
    }
    write_table(perturbed, "context_prefixes", snakemake.output.prefixes, {"seed": params.seed})
    counts = count_tokens(perturbed, tokenizers)
    write_table(counts, "context_prefix_tokens", snakemake.output.n_tokens)
