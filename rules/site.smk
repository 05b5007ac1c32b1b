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


# What every model's rows are made of: by the names of `profiles.rows`, tables of the rooms shown.
SITE_TABLES = {
    name: files
    for name, (room, table) in {
        "fits": (MORCELA_ROOM, "linking_functions"),
        "separation": (STRINGS_ROOM, "separation"),
        "correlations": (STRINGS_ROOM, "correlations"),
        "deltas": (READING_ROOM, "deltas"),
        "unprefixed": (CONTEXT_ROOM, "unprefixed"),
        "accuracy": (CONTEXT_ROOM, "accuracy"),
    }.items()
    if room in SITE_ROOMS and (files := room.files.get(table))
}

# What is drawn sentence by sentence, pair by pair, and model by model beside published ones.
SITE_POINTS = {
    name: room.files[table]
    for name, (room, table) in {
        "sentences": (MORCELA_ROOM, "predictions"),
        "pairs": (STRINGS_ROOM, "scores"),
        "published_fits": (READING_ROOM, "published"),
    }.items()
    if room in SITE_ROOMS
}
if "pairs" in SITE_POINTS:  # of models without panels no point is worth its bytes
    SITE_POINTS["pairs"] = collect(
        "results/string_probability/{model}/scores.parquet", model=STRING_PANELS
    )
SITE_PAIRS = list(
    dict.fromkeys(
        name
        for model in STRING_PANELS * (STRINGS_ROOM in SITE_ROOMS)
        for name in plan.paired_datasets(model)
    )
)


rule build_site:
    """Build the front page of the results, and the pages that it leads to."""
    input:
        **SITE_TABLES,
        **SITE_POINTS,
        stimuli=[f"results/stimuli/{name}.parquet" for name in SITE_PAIRS],
        cards=[f"results/{room.paper}/scorecard.parquet" for room in SITE_ROOMS],
        files=SITE_FILES,
    output:
        index="results/index.html",
        pages=collect(
            "results/site/{page}.html",
            page=[paper.name for paper in papers_of([room.paper for room in SITE_ROOMS])]
            + ["models", "methods"],
        ),
        shared=collect("results/site/{file}", file=["site.css", "site.js", *LIBRARY]),
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
        captions=read_captions(CHECKOUT / "report", [room.paper for room in SITE_ROOMS]),
        made_by=rules_of(workflow.rules, SITE_FILES),
        row_tables=list(SITE_TABLES),
        pairs=SITE_PAIRS,
        facts=run_facts(settings, catalog),
        models={
            name: pick(look, "title", "group", "parameters", "group_colour")
            for name, look in describe_models(catalog.models).items()
        },
        titles={
            called: catalog.dataset(name)["title"]
            for name in named(settings, catalog)
            for called in (name, plan.scored_as(name))
        },
        published=read_published("morcela"),
    script:
        "../workflow_scripts/build_site.py"
