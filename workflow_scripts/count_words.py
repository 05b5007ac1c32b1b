"""Count the words of a corpus, for unigram surprisal."""

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.unigrams.counts import count_words
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.corpus, snakemake.params.entry
    documents = iter_documents(entry["parser"], dataset_paths(corpus, entry))
    with Progress(None, f"counting {corpus}", "words") as progress:
        counts = count_words(documents, progress)
    write_table(counts, "word_counts", snakemake.output[0], {"corpus": corpus})
