"""Count each data set as published, as used, and what the filter by edit distance keeps."""

from lingprob.io.tables import read_table
from lingprob.papers.string_probability.tables import count_datasets, count_filters
from lingprob.site.page import write_pages
from lingprob.stimuli.distances import EditFilter
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    whole, used = (
        dict(zip(params.datasets, [read_table(path, "stimuli") for path in paths], strict=True))
        for paths in (snakemake.input.whole, snakemake.input.used)
    )
    distances = [read_table(path, "minimalness") for path in snakemake.input.distances]
    filtered = dict(zip(params.filtered, distances, strict=True))
    reading = EditFilter()
    about = (filtered, reading, params.published, params.scale)
    tables = {
        "datasets": count_datasets(whole, used, params.titles, *about),
        "filters": count_filters(used, *about),
    }
    titles = {
        "datasets": "Counts of the data sets",
        "filters": "Pairs that the filter by edit distance keeps",
    }
    write_pages(tables, titles, snakemake.output)
