"""Tabulate and draw the fits of all data sets, and judge the paper's claims about them."""

from lingprob.figures import style
from lingprob.io.tables import read_tables, write_table
from lingprob.papers.leakage.reading_claims import compare
from lingprob.papers.leakage.reading_figures import draw
from lingprob.papers.leakage.regressions import table_2, table_3
from lingprob.papers.leakage.trends import model_differences, size_trends
from lingprob.papers.run import Run
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import write_scorecard_pages
from lingprob.site.page import write_pages
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    tables, run = read_tables(dict(files.items())), Run(**params.run)
    draws = {"draws": params.draws, "seed": params.seed}
    gains, deltas = tables["reading_gains"], tables["delta_log_likelihood"]
    published, counts = tables.get("published_delta"), tables["reading_counts"]
    trends = size_trends(deltas, gains, published, params.entries, **draws)
    tables["reading_trends"] = trends
    for path in output.model_differences:
        tables["model_differences"] = model_differences(gains, deltas, **draws)
        write_table(tables["model_differences"], "model_differences", path)
    write_table(deltas, "delta_log_likelihood", output.delta_log_likelihood)
    write_table(counts, "reading_counts", output.reading_counts)
    write_table(trends, "reading_trends", output.reading_trends)
    pages = {"trends": trends, "effects": tables["reading_effects"], **tables}
    pages |= {"counts": counts, "table_2": table_2(counts), "table_3": table_3(deltas)}
    write_pages(pages, params.page_titles, [*output.csv, *output.html])
    figures = draw(tables, run)
    card = with_failures(compare(tables, run), style.failures(figures))
    write_table(card, "scorecard", output.scorecard)
    write_scorecard_pages(card, output.pages, params.left_out)
    style.save_figures(figures, output.figures, params.left_out)
