# What every paper's room does alike: figures, tables, and our numbers against the published ones.
# REQUIRES a description of its room from each paper's rules file.
# PROVIDES results/{paper}/: the figures, the tables and scorecard.{parquet,csv,html}.

ROOMS = [MORCELA_ROOM, OVERLAP_ROOM, TRAINING_ROOM, READING_ROOM, STRINGS_ROOM, CONTEXT_ROOM]
PAPERS = {room.paper: room for room in ROOMS}

for paper, room in PAPERS.items():

    rule:
        name:
            f"plot_{paper}"
        input:
            **room.input("plot"),
        output:
            pdf=collect("results/{paper}/{figure}.pdf", paper=paper, figure=room.figures),
            png=[
                in_report(f"results/{paper}/{figure}.png", room, subcategory="Figures")
                for figure in room.figures
            ],
        log:
            f"logs/plot/{paper}.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=4000,
        params:
            code=code_digest("plot", *room.code("plot")),
            paper=paper,
            parts=room.parts("plot"),
            run=room.run("plot", catalog.models, read_published(paper), settings["scale"]),
            left_out=note_on(run.left_out, paper),
        script:
            "../workflow_scripts/plot.py"


for paper, room in PAPERS.items():
    if room.pages:

        rule:
            name:
                f"tabulate_{paper}"
            input:
                **room.input("tabulate"),
            output:
                csv=collect("results/{paper}/{page}.csv", paper=paper, page=room.pages),
                html=[in_report(f"results/{paper}/{page}.html", room) for page in room.pages],
            log:
                f"logs/tabulate/{paper}.log",
            conda:
                "../envs/environment.yaml"
            params:
                code=code_digest("tabulate_paper", *room.code("tabulate")),
                paper=paper,
                parts=room.parts("tabulate"),
                run=room.run("tabulate", catalog.models, read_published(paper), settings["scale"]),
                left_out=note_on(run.left_out, paper),
                titles={
                    page: f"{room.category}, {page.replace('_', ' ').capitalize()}"
                    for page in room.pages
                },
            script:
                "../workflow_scripts/tabulate_paper.py"


rule compare:
    """Compare our numbers with those in a paper, and say which we cannot compute here."""
    input:
        unpack(lambda wildcards: PAPERS[wildcards.paper].input("compare")),
    output:
        parquet="results/{paper}/scorecard.parquet",
        csv="results/{paper}/scorecard.csv",
        html=report(
            "results/{paper}/scorecard.html",
            caption="../report/scorecard.rst",
            category="Scorecard",
            labels={"what": "{paper}"},
        ),
    log:
        "logs/compare/{paper}.log",
    wildcard_constraints:
        paper=alternatives(PAPERS),
    conda:
        "../envs/environment.yaml"
    params:
        code=lambda wildcards: code_digest("compare", *PAPERS[wildcards.paper].code("compare")),
        parts=lambda wildcards: PAPERS[wildcards.paper].parts("compare"),
        published=lambda wildcards: read_published(wildcards.paper),
        run=lambda wildcards: PAPERS[wildcards.paper].run(
            "compare", catalog.models, {}, settings["scale"]
        ),
        left_out=lambda wildcards: note_on(run.left_out, wildcards.paper),
    script:
        "../workflow_scripts/compare.py"
