# What every paper's room does alike: figures, and our numbers against the published ones.
# REQUIRES of each paper's rules a description of its room: the files of the tables that
# `lingprob.papers` declares by name (by model, data set or size where their rows do not say which),
# its figures, and which models and data sets they show.
# PROVIDES results/{paper}/: the figures, scorecard.parquet; and results/scorecard.{parquet,csv,html}.

PAPERS = {
    "morcela": MORCELA_ROOM,
    "overlap": OVERLAP_ROOM,
    "training": TRAINING_ROOM,
    "reading": READING_ROOM,
    "string_probability": STRINGS_ROOM,
    "context": CONTEXT_ROOM,
}


def room_tables(paper, use):
    """Files of the tables that a paper's figures (`drawn`) or scorecard (`compared`) take."""
    given = PAPERS[paper]["tables"]
    return {
        name: given[name]
        for name, table in tables_of(paper).items()
        if name in given and getattr(table, use)
    }


def room_input(paper, use):
    """The same as a rule's input."""
    tables = room_tables(paper, use)
    return {
        name: list(files.values()) if isinstance(files, dict) else files
        for name, files in tables.items()
    }


def room_parts(paper, use):
    """Which model, data set or size each file is of, where its rows do not say."""
    tables = room_tables(paper, use)
    return {name: list(files) for name, files in tables.items() if isinstance(files, dict)}


def room_run(paper):
    """What figures and scorecards say of the run; `lingprob.papers.contract.Run` describes it."""
    room = PAPERS[paper]
    published = read_published(paper) if room.get("published") else {}
    rows = [row for item in published.get("items", []) for row in item["rows"]]
    patterns = [*room.get("models", []), *{row.split("/")[0] for row in rows}]
    names = [name for name in catalog.models if any(fnmatch(name, p) for p in patterns)]
    return {
        "scale": settings["scale"],
        "models": describe_models(catalog.models, names),
        "titles": {name: catalog.dataset(name)["title"] for name in room.get("datasets", [])}
        | room.get("titles", {}),
        "published": published,
        "options": room.get("options", {}),
    }


for paper, room in PAPERS.items():

    rule:
        name:
            f"plot_{paper}"
        input:
            **room_input(paper, "drawn"),
        output:
            pdf=collect("results/{paper}/{figure}.pdf", paper=paper, figure=room["figures"]),
            png=[
                report(
                    f"results/{paper}/{figure}.png",
                    caption=f"../report/{paper}_{figure}.rst",
                    category=room["category"],
                    subcategory="Figures",
                    labels={"what": figure.replace("_", " ").capitalize()},
                )
                for figure in room["figures"]
            ],
        log:
            f"logs/plot/{paper}.log",
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=4000,
            runtime=30,
        params:
            code=code_digest("plot", ROOMS[paper], module_name(paper, "figures")),
            paper=paper,
            parts=room_parts(paper, "drawn"),
            run=room_run(paper),
        script:
            "../workflow_scripts/plot.py"


rule compare:
    """Compare our numbers with those in a paper, and say which we cannot compute here."""
    input:
        unpack(lambda wildcards: room_input(wildcards.paper, "compared")),
    output:
        "results/{paper}/scorecard.parquet",
    log:
        "logs/compare/{paper}.log",
    wildcard_constraints:
        paper=alternatives(PAPERS),
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=lambda wildcards: code_digest(
            "compare", ROOMS[wildcards.paper], module_name(wildcards.paper, "scorecard")
        ),
        parts=lambda wildcards: room_parts(wildcards.paper, "compared"),
        published=lambda wildcards: read_published(wildcards.paper),
        run=lambda wildcards: room_run(wildcards.paper),
    script:
        "../workflow_scripts/compare.py"


rule combine_scorecards:
    """Put our numbers against those in the papers, and say which we cannot compute here."""
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
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("combine_scorecards"),
    script:
        "../workflow_scripts/combine_scorecards.py"
