"""Draw the figures, count the data sets, write the tables, and judge the paper's claims."""

from lingprob.figures import style
from lingprob.io.tables import read_table, read_tables, write_table
from lingprob.papers.run import Run, failures
from lingprob.papers.string_probability.claims import compare
from lingprob.papers.string_probability.data import toy_surprisals
from lingprob.papers.string_probability.figures import draw
from lingprob.papers.string_probability.tables import page, tabulate
from lingprob.scorecard.comparison import with_failures
from lingprob.site.cards import write_scorecard_pages
from lingprob.site.page import write_pages
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    tables, run = read_tables(dict(files.items())), Run(**params.run)
    tables["toy_surprisals"] = toy_surprisals(
        read_table(files.toy, "stimuli"), tables.get("sentence_scores"), params.bos
    )
    tables["whole"] = read_tables({"stimuli": files.whole})["stimuli"]
    paths = zip(params.filtered, files.distances, strict=True)
    distances = {name: read_table(path, "minimalness") for name, path in paths}
    made = tabulate(tables, run, distances)
    failed = failures(made)
    tables |= {name: table for name, table in made.items() if name not in failed}
    figures = draw(tables, run, params.pooled)
    pages = {name.removeprefix("string_"): table for name, table in (tables | made).items()}
    write_pages(pages, {}, output.csv)
    shown = {name: page(name, pages[name]) for name in params.page_titles}
    write_pages(shown, params.page_titles, output.html)
    card = with_failures(compare(tables, run), style.failures(figures) | failed)
    write_table(card, "scorecard", output.scorecard)
    write_scorecard_pages(card, output.pages, params.left_out)
    style.save_figures(figures, output.figures, params.left_out)
