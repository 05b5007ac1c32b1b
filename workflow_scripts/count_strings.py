"""Count each data set as published, as used, and what the filter by edit distance keeps."""

from lingprob.files import write_text
from lingprob.minimalness.distances import EditFilter
from lingprob.papers.string_probability.counts import count_datasets, count_filters
from lingprob.report import table_as_html
from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    whole, used = (
        dict(zip(params.datasets, [read_table(path, "stimuli") for path in paths], strict=True))
        for paths in (snakemake.input.whole, snakemake.input.used)
    )
    distances = [read_table(path, "minimalness") for path in snakemake.input.distances]
    filtered = dict(zip(params.filtered, distances, strict=True))
    reading = EditFilter(**params.filter)
    about = (filtered, reading, params.published, params.scale)
    tables = [count_datasets(whole, used, params.titles, *about), count_filters(used, *about)]
    titles = ["Counts of the data sets", "Pairs that the filter by edit distance keeps"]
    outputs = zip(tables, titles, snakemake.output.csv, snakemake.output.html, strict=True)
    for table, title, csv, html in outputs:
        write_csv(table, csv)
        write_text(table_as_html(table, title), html)
