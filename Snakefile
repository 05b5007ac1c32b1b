# lingprob: how a language model's probabilities relate to human language.
# Targets: demo, morcela, overlap, reading, train, string_probability, context, audit, all
# (the default), plan (the cost of a run), and every file under results/; see README.md and docs/.

import gc
import sys
from inspect import currentframe
from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")
CHECKOUT = Path(currentframe().f_code.co_filename).parent  # the folder of this file
sys.path.insert(0, str(CHECKOUT / "workflow_scripts"))

from lingprob.workflow.start import read_run

gc.freeze()  # Libraries stay loaded. Scanning them for garbage took a sixth of the start.


configfile: CHECKOUT / "config.yaml"


report: "report/workflow.rst"


run = read_run(config)
settings, catalog = run.settings, run.catalog


include: "rules/common.smk"
include: "rules/stimuli.smk"
include: "rules/models.smk"
include: "rules/unigrams.smk"
include: "rules/scoring.smk"
include: "rules/morcela.smk"
include: "rules/reading_texts.smk"
include: "rules/word_surprisal.smk"
include: "rules/reading.smk"
include: "rules/overlap.smk"
include: "rules/cdawg.smk"
include: "rules/string_probability.smk"
include: "rules/pairs.smk"
include: "rules/training.smk"
include: "rules/prefixes.smk"
include: "rules/context.smk"
include: "rules/plan.smk"
include: "rules/site.smk"


for study in settings["studies"]:

    include: f"studies/{study}/study.smk"


rule all:
    """Everything, at the configured scale."""
    default_target: True
    input:
        rules.morcela.input,
        rules.overlap.input,
        rules.string_probability.input,
        rules.audit.input,
        rules.train.input,
        rules.reading.input,
        rules.context.input,
        rules.build_site.output,


rule demo:
    """Everything at scale demo: no downloads but Python packages."""
    input:
        rules.all.input if settings["scale"] == "demo" else other_scale,
