"""Draw targets of a data set and the prefixes before them."""

from lingprob.context.names import SHARED
from lingprob.context.prefixes import count_tokens, tokenizer_of
from lingprob.context.sampling import sample_contexts
from lingprob.context.sentences import unrelated_sentences
from lingprob.corpora import iter_documents
from lingprob.files import dataset_paths
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    files = dataset_paths(params.control, params.control_entry)
    tokenizers = {
        name: tokenizer_of(manifest)
        for name, manifest in zip(params.tokenizers, snakemake.input.tokenizers, strict=True)
    }
    prefixes = sample_contexts(
        snakemake.wildcards.dataset,
        read_table(snakemake.input.stimuli, "stimuli"),
        unrelated_sentences(iter_documents(params.control_entry["parser"], files)),
        tokenizers,
        suites=params.entry.get("suites", []),
        pairs_per_suite=params.pairs_per_suite,
        settings=params.settings,
        seed=params.seed,
        perturbation=SHARED if snakemake.wildcards.stage == SHARED else None,
    )
    write_table(prefixes, "context_prefixes", snakemake.output.prefixes, {"seed": params.seed})
    counts = count_tokens(prefixes, tokenizers)
    write_table(counts, "context_prefix_tokens", snakemake.output.n_tokens)
