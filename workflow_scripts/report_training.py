"""Draw perplexities of trained models, and judge the paper's sentences about them."""

from lingprob.figures import style
from lingprob.io.tables import read_tables, write_table
from lingprob.papers.leakage.training import compare, draw
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import write_scorecard_pages
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    tables, run = read_tables(dict(files.items())), Run(**params.run)
    figures = draw(tables, run)
    card = with_failures(compare(tables, run), style.failures(figures))
    write_table(card, "scorecard", output.scorecard)
    write_scorecard_pages(card, output.pages, params.left_out)
    style.save_figures(figures, output.figures, params.left_out)
