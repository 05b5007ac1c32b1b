# The report as a site that opens from disk: a front page, a page a paper, the models, the methods.
# REQUIRES what the targets of `site.papers` make, and tables of their rooms.
# PROVIDES results/index.html and what it leads to in results/site/.

SITE_ROOMS = [PAPERS[name] for name in settings["site"]["papers"]]
# The target of each room, where it is not named after it.
SITE_TARGETS = {"training": "train"}
SITE_FILES = [
    str(file)
    for room in SITE_ROOMS
    for file in getattr(rules, SITE_TARGETS.get(room.paper, room.paper)).input
]


rule build_site:
    """Build the front page of the results, and the pages that it leads to."""
    input:
        cards=[f"results/{room.paper}/scorecard.parquet" for room in SITE_ROOMS],
        files=SITE_FILES,
    output:
        index="results/index.html",
        pages=collect(
            "results/site/{page}.html",
            page=[paper.name for paper in papers_of([room.paper for room in SITE_ROOMS])],
        ),
        shared=collect("results/site/{file}", file=["site.css"]),
    log:
        "logs/build_site.log",
    benchmark:
        "logs/build_site.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2000,  # tables of fits and scorecards are small
        runtime=30,
    params:
        code=code_digest("build_site", *template_files()),
        scale=settings["scale"],
        figures={room.paper: list(room.figures) for room in SITE_ROOMS},
        tables={room.paper: list(room.pages) for room in SITE_ROOMS},
        captions=read_captions(
            Path(workflow.basedir) / "report", [room.paper for room in SITE_ROOMS]
        ),
        made_by=rules_of(workflow.rules, SITE_FILES),
    script:
        "../workflow_scripts/build_site.py"
