# What holds for all papers, and for targets that name nothing we know.
# REQUIRES results/{paper}/scorecard.parquet of every paper.
# PROVIDES results/scorecard.{parquet,csv,html}: our numbers against the published ones;
# results/left_out.csv: data sets and models that no number is about, for they were not there; on
# request (`snakemake plan`) results/plan.{csv,txt} and plan_jobs.csv: what a run would cost,
# and plan_usage.csv: what a finished one used.


# What `snakemake plan` tells of, the whole last.
PLANNED_TARGETS = [
    "morcela",
    "string_probability",
    "overlap",
    "train",
    "reading",
    "context",
    "all",
]

MORCELA_TABLES = "linking_functions|intergroup_correlation|scorecard"


rule combine_scorecards:
    """Join the scorecards of all papers."""
    input:
        collect("results/{paper}/scorecard.parquet", paper=PAPERS),
    output:
        parquet="results/scorecard.parquet",
        csv="results/scorecard.csv",
        html=report(
            "results/scorecard.html",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"what": "Ours against the published numbers"},
        ),
    log:
        "logs/combine_scorecards.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("combine_scorecards"),
    script:
        "../workflow_scripts/combine_scorecards.py"


rule list_left_out:
    """List the data sets and models that are not there and were left out, and how to get them."""
    output:
        report(
            "results/left_out.csv",
            caption="../report/left_out.rst",
            category="Scorecard",
            labels={"what": "What was left out"},
        ),
    log:
        "logs/list_left_out.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_digest("list_left_out"),
        left_out=[(item.name, ", ".join(item.named_in), item.remedy) for item in left_out],
    script:
        "../workflow_scripts/list_left_out.py"


rule estimate_run:
    """Say what is still to be run and what it costs, and what finished jobs used of what they asked."""
    output:
        csv="results/plan.csv",
        txt="results/plan.txt",
        jobs="results/plan_jobs.csv",
        usage="results/plan_usage.csv",
    log:
        "logs/estimate_run.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("estimate_run"),
        asked_at=BEGAN,  # a plan is made anew whenever one is asked for
        snakefile=str(Path(workflow.basedir) / "Snakefile"),
        config=config,
        targets=PLANNED_TARGETS,
        left_out=[f"{item.name}: {item.remedy}" for item in left_out],
        scale=settings["scale"],
    script:
        "../workflow_scripts/estimate_run.py"


rule plan:
    """What a run would cost, printed and in results/plan.csv, without running any of it."""
    input:
        rules.estimate_run.output,


rule name_unknown_model:
    """Answer a target with a mistyped model with the nearest names."""
    input:
        lambda wildcards: asked(catalog.model, wildcards.unknown),
    output:
        "results/morcela/{unknown}.parquet",
    wildcard_constraints:
        unknown=rf"(?!({alternatives(catalog.models)}|{MORCELA_TABLES})\.parquet)[^/]+",


rule name_unknown_dataset:
    """Answer a target with a mistyped data set with the nearest names."""
    input:
        lambda wildcards: asked(catalog.dataset, wildcards.unknown),
    output:
        "results/stimuli/{unknown}.parquet",
    wildcard_constraints:
        unknown=rf"(?!({DATASETS})(_sample\d+)?\.parquet)[^/]+",
