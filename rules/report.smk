# What holds for all papers.
# REQUIRES results/{paper}/scorecard.parquet of every paper.
# PROVIDES results/scorecard.{parquet,csv,html}: our numbers against the published ones;
# results/left_out.csv: data sets and models that are left out because they were not there; on
# request (`snakemake plan`) results/plan.{csv,txt}: what a run would cost.


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
        left_out=[(item.name, ", ".join(item.named_in), item.remedy) for item in run.left_out],
    script:
        "../workflow_scripts/list_left_out.py"


localrules:
    plan,


rule plan:
    """Estimate GPU hours, memory and downloads of each model and paper, without running anything."""
    output:
        csv="results/plan.csv",
        txt="results/plan.txt",
    log:
        "logs/plan.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("plan"),
        config=config,
        left_out=[f"{item.name}: {item.remedy}" for item in run.left_out],
    script:
        "../workflow_scripts/plan.py"
