# lingprob: how a language model's probabilities relate to human language.
# Targets: demo, morcela, overlap, reading, train, string_probability, context, audit, profiles, all
# (the default), plan (what they would cost), and every file under results/; see README.md and docs/.

import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(workflow.basedir) / "workflow_scripts"))

from lingprob.catalog import read_published, surprisal_file, texts_in_file
from lingprob.chance_level import NO_TEXT
from lingprob.workflow.configuration import (
    export_mirror,
    export_package,
    read_settings,
    refuse_duplicate_keys,
)
from lingprob.workflow.names import surprisal_models
from lingprob.console import take_over
from lingprob.context.names import figures_of, primary_dataset
from lingprob.context.suites import pairs_per_suite
from lingprob.demo import demo_files
from lingprob.digests import code_digest
from lingprob.ending import list_contents, what_to_open
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.files import dataset_paths
from lingprob.papers.description import Room
from lingprob.plan import BASE_MEMORY_MB, Costs, Plan, announce, leave_out, ngram_inputs, note_on
from lingprob.plan import Work, pick, profile_facts, profile_files, profile_notes, profiles_beside
from lingprob.plan.factors import read_factors
from lingprob.plan.pace import ExpectedJob
from lingprob.reading.parsers.names import parser_function
from lingprob.rehearsal.folder import enter_rehearsal_folder, leave_rehearsal_folder
from lingprob.rehearsal.stand_ins import rehearse
from lingprob.scheduling import reevaluate_one_at_a_time
from lingprob.site.facts import named, run_facts
from lingprob.site.library import LIBRARY
from lingprob.site.papers import papers_of
from lingprob.site.sources import read_captions, rules_of, template_files
from lingprob.stimuli.names import parser_module
from lingprob.targets import answering, naming_options
from lingprob.warm_starts import start_jobs_warm
from snakemake import dag
from snakemake.logging import logger

BEGAN = time.time()
# Of the run itself: jobs of other processes speak to their logs.
console = take_over(logger, workflow.output_settings) if workflow.is_main_process else None


configfile: Path(workflow.basedir) / "config.yaml"


report: "report/workflow.rst"


leave_rehearsal_folder()
try:
    refuse_duplicate_keys(workflow.configfiles)
    settings, catalog = read_settings(config)
    for name, entry in catalog.datasets.items():
        dataset_paths(name, entry)  # refuses a folder without files
except LingprobError as error:
    raise WorkflowError(str(error))
export_mirror(settings)
export_package()
left_out = []
if settings["rehearse"] is not True:
    settings, left_out = leave_out(settings, catalog)
    announce(left_out, logger.warning)
asked_for = settings, catalog
if settings["rehearse"]:
    settings, catalog = rehearse(settings, catalog)
    enter_rehearsal_folder()


if settings["machine"]["container"]:

    container: settings["machine"]["container"]


include: "rules/common.smk"
include: "rules/stimuli.smk"
include: "rules/models.smk"
include: "rules/unigrams.smk"
include: "rules/scoring.smk"
include: "rules/morcela.smk"
include: "rules/reading_texts.smk"
include: "rules/word_surprisal.smk"
include: "rules/reading.smk"
include: "rules/linearity.smk"
include: "rules/spillover.smk"
include: "rules/trajectories.smk"
include: "rules/chance_level.smk"
include: "rules/overlap.smk"
include: "rules/soft_overlap.smk"
include: "rules/leaked_words.smk"
include: "rules/cdawg.smk"
include: "rules/minimalness.smk"
include: "rules/string_probability.smk"
include: "rules/audit.smk"
include: "rules/training.smk"
include: "rules/doses.smk"
include: "rules/prefixes.smk"
include: "rules/context.smk"
include: "rules/perturbations.smk"
include: "rules/papers.smk"
include: "rules/profiles.smk"
include: "rules/exports.smk"
include: "rules/report.smk"
include: "rules/site.smk"


for study in settings["studies"]:

    include: f"studies/{study}/study.smk"


# In plain words, and with the nearest files that are made.
dag.MissingRuleException = answering(
    workflow,
    [*catalog.models, *catalog.datasets, *catalog.start_tokens, *catalog.embeddings],
)
dag.MissingInputException = naming_options(config)


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
        rules.combine_scorecards.output,
        rules.list_left_out.output,
        rules.build_site.output,


rule demo:
    """Everything at scale demo: no downloads but Python packages."""
    input:
        (
            rules.all.input
            if settings["scale"].startswith("demo")
            else f"the target demo is for scale demo, not {settings['scale']}; ask for morcela or all"
        ),


localrules:
    all,
    export_table,
    plan,
    estimate_run,
    demo,
    morcela,
    overlap,
    string_probability,
    train,
    reading,
    context,
    audit,
    profiles,


onstart:
    reevaluate_one_at_a_time(workflow.scheduler)
    if workflow.local_exec and settings["machine"]["warm_starts"]:
        start_jobs_warm(job.threads for job in workflow.dag.needrun_jobs())
    if settings["rehearse"] and workflow.local_exec:
        # Tiny models wait for no GPU, nor for several: as many jobs run here as there are cores.
        workflow.scheduler.global_resources["gpu"] = workflow.scheduler.resources["gpu"] = 1000
    if console:
        work, factors = Work(settings, catalog), read_factors()
        console.expect(
            {
                job.jobid: ExpectedJob(
                    factors.get(job.rule.name, 1.0)
                    * work.seconds(job.rule.name, job.wildcards, job.threads),
                    job.rule.name,
                    job.threads,
                )
                for job in workflow.dag.needrun_jobs()
                if job.log and job.rule.name not in workflow._localrules
            }
        )
        console.closing = lambda: what_to_open(BEGAN)


onsuccess:
    list_contents(workflow.basedir)
    for line in [] if console else what_to_open(BEGAN):
        print(line)


onerror:
    list_contents(workflow.basedir)
