# Pages for a browser that open from disk: the site, and one of each model.
# REQUIRES the results of `site.papers`, and for one model the tables of the papers that name it.
# PROVIDES results/index.html and its pages in results/site/, with one page per model. On request,
# results/models/{model}.{html,csv} needs the jobs of that model alone. results/scorecard.csv has all
# verdicts, and results/left_out.csv the data sets and models that were missing.

SITE_ROOMS = settings["site"]["papers"]
# A run on the user's own data alone has one page for all its results.
SITE_PAPERS = (
    []
    if {*SITE_ROOMS} <= {*own_rooms(settings)}
    else [paper.name for paper in papers_of(SITE_ROOMS)]
)
# The target of each room that is not named after it.
SITE_TARGETS = {"training": "train"}
SITE_REPORTS = {room: getattr(rules, f"report_{room}") for room in SITE_ROOMS}
SHOWN_MODELS = scope.shown_models(run)
SITE_FILES = [
    str(file) for room in SITE_ROOMS for file in getattr(rules, SITE_TARGETS.get(room, room)).input
]
MODEL_PAGES = [f"results/site/models/{model}.html" for model in SHOWN_MODELS]
# Pages of audits that the site leads to.
SITE_AUDITS = [
    f"results/audit/{name}.html" for name in AUDIT["datasets"] if name in settings["datasets"]
]
# The tables of every model's rows, by the names of `site.models.TABLES`.
SITE_TABLES = {
    name: [str(file) for file in SITE_REPORTS[room].input[name]]
    for room, names in {
        "morcela": ["linking_functions"],
        "string_probability": ["string_separation", "string_correlations"],
        "reading": ["delta_log_likelihood"],
        "context": ["context_accuracy"],
    }.items()
    if room in SITE_ROOMS
    for name in names
}


DATASET_TITLES = {
    called: catalog.dataset(name)["title"]
    for name in used(settings, catalog)
    for called in (name, scope.scored_as(run, name))
}


rule show_model:
    """One model's numbers of all papers that name it, as a page and as CSV."""
    input:
        unpack(lambda wildcards: scope.model_tables(run, wildcards.model)),
    output:
        html="results/models/{model}.html",
        csv="results/models/{model}.csv",
    log:
        "logs/show_model/{model}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=code_digest("show_model", *template_files()),
        title=lambda wildcards: catalog.model(wildcards.model)["title"],
        facts=lambda wildcards: facts_of_model(catalog.model(wildcards.model)),
        titles=DATASET_TITLES,
    script:
        "../workflow_scripts/show_model.py"


rule build_site:
    """The front page of the results and the pages that it leads to, and the CSV of all verdicts."""
    input:
        **SITE_TABLES,
        cards=[f"results/{room}/scorecard.parquet" for room in SITE_ROOMS],
        files=SITE_FILES,
        pages=SITE_AUDITS,
    output:
        index="results/index.html",
        pages=collect(
            "results/site/{page}.html",
            page=[*SITE_PAPERS, "models", "methods"],
        ),
        models=collect("results/site/models/{model}.html", model=SHOWN_MODELS),
        rows="results/site/models.csv",
        scorecard="results/scorecard.csv",
        left_out=report(
            "results/left_out.csv",
            caption="../report/left_out.rst",
            category="Scorecard",
            labels={"what": "What was left out"},
        ),
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
        figures={room: pages_of(rule.output.figures) for room, rule in SITE_REPORTS.items()},
        tables={
            room: pages_of(getattr(rule.output, "tables", []))
            for room, rule in SITE_REPORTS.items()
        },
        captions=read_captions(CHECKOUT / "report", SITE_ROOMS),
        files=[file.removeprefix("results/") for file in SITE_FILES],
        linked=[page.removeprefix("results/") for page in MODEL_PAGES + SITE_AUDITS],
        shown={
            name: (catalog.model(name)["title"], facts_of_model(catalog.model(name)))
            for name in SHOWN_MODELS
        },
        row_tables=list(SITE_TABLES),
        facts=run_facts(settings, catalog),
        models={
            name: pick(look, "title", "group", "parameters")
            for name, look in describe_models(catalog.models).items()
        },
        titles=DATASET_TITLES,
        left_out=[(item.name, ", ".join(item.named_in), item.remedy) for item in run.left_out],
    script:
        "../workflow_scripts/build_site.py"


onsuccess:
    if Path("results/index.html").exists():
        print("Open results/index.html in a browser; report/results.md says what each file is.")
