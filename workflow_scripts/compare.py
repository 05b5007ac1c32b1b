"""Compare our numbers with those in a paper, and say which we cannot compute here."""

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv, write_table
from lingprob.papers.contract import Run, read_tables
from lingprob.papers.rooms import module_of
from lingprob.site.cards import scorecard_page
from lingprob.site.page import heading_of
from lingprob.workflow import job

with job(snakemake):
    params, paper = snakemake.params, snakemake.wildcards.paper
    tables = read_tables(paper, dict(snakemake.input.items()), params.parts)
    scorecard = module_of(paper, "compare").compare(tables, params.published, Run(**params.run))
    write_csv(scorecard, snakemake.output.csv)
    page = scorecard_page(scorecard, f"Scorecard: {heading_of(paper)}", "../", params.left_out)
    write_text(page, snakemake.output.html)
    write_table(scorecard, "scorecard", snakemake.output.parquet)
