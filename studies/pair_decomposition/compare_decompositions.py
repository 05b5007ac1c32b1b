"""Draw all models' decompositions and judge the claim."""

import pandas as pd

from lingprob.figures.style import save_figures
from lingprob.io.tables import write_csv
from lingprob.papers.run import Run
from lingprob.workflow import job
from studies.pair_decomposition.analysis import judge_gains
from studies.pair_decomposition.figures import draw_decomposition

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    table = pd.concat(map(pd.read_csv, snakemake.input), ignore_index=True)
    run = Run(params.scale, params.models, params.titles)
    save_figures({"decomposition": draw_decomposition(table, run)}, [output.pdf, output.png])
    write_csv(judge_gains(table, run), output.claims)
