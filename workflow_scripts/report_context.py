"""Draw the context paper's figures, write its tables, and judge its numbers and claims."""

from lingprob.figures import style
from lingprob.io.tables import read_tables, write_table
from lingprob.papers.context.claims import compare, tabulate
from lingprob.papers.context.figures import draw
from lingprob.papers.run import Run, failures
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import write_scorecard_pages
from lingprob.site.page import heading_of, write_pages
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    tables, run = read_tables(dict(files.items())), Run(**params.run)
    figures, pages = draw(tables, run), tabulate(tables["context_accuracy"], run)
    card = with_failures(compare(tables, run), style.failures(figures) | failures(pages))
    write_table(card, "scorecard", output.scorecard)
    write_scorecard_pages(card, output.pages, params.left_out)
    style.save_figures(figures, output.figures, params.left_out)
    titles = {name: f"Context, {heading_of(name)}" for name in pages}
    write_pages(pages, titles, output.tables, params.left_out)
