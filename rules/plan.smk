# The cost of a run.
# PROVIDES on request (`snakemake plan`) results/plan.{csv,txt}.


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
