# lingprob: how a language model's probabilities relate to human language.
# Targets: demo, morcela, overlap, reading, train, string_probability, context, all (the default), and
# every file under results/; see README.md.

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow_scripts"))

from lingprob.catalog import read_published
from lingprob.config import (
    export_mirror,
    read_settings,
    refuse_duplicate_keys,
    surprisal_models,
    unigram_sources,
)
from lingprob.context.names import figures_of, primary_dataset
from lingprob.errors import LingprobError
from lingprob.files import dataset_paths
from lingprob.papers.description import Room
from lingprob.training.sizes import ModelSize
from lingprob.workflow import code_digest


configfile: Path(workflow.basedir) / "config.yaml"


report: "report/workflow.rst"


try:
    refuse_duplicate_keys(workflow.configfiles)
    settings, catalog = read_settings(config)
    for name, entry in catalog.datasets.items():
        dataset_paths(name, entry)  # refuses a folder without files
except LingprobError as error:
    raise WorkflowError(str(error))
export_mirror(settings)


include: "rules/common.smk"
include: "rules/stimuli.smk"
include: "rules/models.smk"
include: "rules/unigrams.smk"
include: "rules/scoring.smk"
include: "rules/morcela.smk"
include: "rules/reading.smk"
include: "rules/overlap.smk"
include: "rules/minimalness.smk"
include: "rules/string_probability.smk"
include: "rules/training.smk"
include: "rules/context.smk"
include: "rules/papers.smk"
include: "rules/report.smk"


rule all:
    """Everything, at the configured scale."""
    default_target: True
    input:
        rules.morcela.input,
        rules.overlap.input,
        rules.string_probability.input,
        rules.train.input,
        rules.reading.input,
        rules.context.input,
        rules.combine_scorecards.output,


rule demo:
    """Everything at scale demo: no downloads but Python packages."""
    input:
        only_at_scale_demo(rules.all.input),


localrules:
    all,
    demo,
    morcela,
    overlap,
    string_probability,
    train,
    reading,
    context,
