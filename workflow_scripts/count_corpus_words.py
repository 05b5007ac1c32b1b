"""Count the white-space words of a corpus, for the chance level of overlaps."""

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths, write_text
from lingprob.overlap.chance import total_words
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.corpus, snakemake.params.entry
    count = total_words(iter_documents(entry["parser"], dataset_paths(corpus, entry)))
    write_text(f"{count}\n", snakemake.output[0])
