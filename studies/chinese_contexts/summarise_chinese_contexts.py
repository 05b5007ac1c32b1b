"""Summarise and draw all models' judgments of Chinese pairs, and judge the claims."""

from lingprob.figures.style import save_figures
from lingprob.io.tables import read_table, write_csv
from lingprob.papers.context.analysis import Settings
from lingprob.papers.run import Run
from lingprob.workflow import job
from studies.chinese_contexts.analysis import judge, summarise_models
from studies.chinese_contexts.figures import draw

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    tables = summarise_models(
        [read_table(path, "context_judgments") for path in snakemake.input],
        Settings(**params.settings),
    )
    for name, table in tables.items():
        write_csv(table, output[name])
    run = Run(**params.run)
    write_csv(judge(tables, run), output.claims)
    save_figures(draw(tables, run), output.figures)
