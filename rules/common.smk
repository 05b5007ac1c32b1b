# Shared helpers of all rules. `scope` (lingprob/workflow/) pairs models with data sets, `sources` has
# their files, and `costs` the resources of jobs. A rule's params contain everything that its numbers
# depend on: a digest of the package modules that its script imports (`code`), catalog entries and
# settings.

import re

from lingprob.catalog import read_published
from lingprob.workflow.names import matches, own_rooms, surprisal_models
from lingprob.context.names import UNRELATED, figures_of, pairs_per_suite, primary_dataset
from lingprob.demo import demo_files
from lingprob.workflow.digests import code_digest, modules_digest
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.parsers import TOKEN_ROWS, parser_function
from lingprob.site.facts import facts_of_model, run_facts, template_files, used
from lingprob.site.papers import papers_of, read_captions
from lingprob.workflow import scope, sources
from lingprob.workflow.costs import BASE_MEMORY_MB, Costs
from lingprob.workflow.scope import SECTIONS
from lingprob.workflow.sources import pick

costs = Costs(settings, catalog)
# Settings that change only the way of working (batch sizes, a device map) must not rerun a job. So they
# are not params: scripts read them from `snakemake.config`, which triggers nothing.
config.update(pick(settings, "scoring", "training"))


if settings["machine"]["container"]:

    container: settings["machine"]["container"]


def alternatives(names):
    """A wildcard constraint that admits exactly these names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def other_scale(wildcards):
    """Refuse the target demo at another scale."""
    raise LingprobError(f"demo is for scale demo, not {settings['scale']}: ask for morcela or all.")


def code_over(rule, *datasets, with_parsers=False):
    """The digest of a rule that reads data sets, with its parsers of them and the demo data."""
    parsers = {name: catalog.dataset(name)["parser"] for name in datasets}
    found = [parser_function(*named) for named in parsers.items()] if with_parsers else []
    data = [file for parser in parsers.values() for file in demo_files(parser)]
    return code_digest(rule, *found, *data)


def entry_of(wildcard, keys):
    """The param that is these parts of the catalog's entry which a wildcard names."""
    lookup = catalog.dataset if wildcard in ("corpus", "source") else getattr(catalog, wildcard)
    return lambda wildcards: pick(lookup(wildcards[wildcard]), *keys.split())


def model_entry(keys, bulk=False):
    """The param that is these parts of a model's entry, with its number formats by device."""
    return lambda wildcards: sources.model_entry(run, wildcards.model, keys, bulk)


def with_model(seconds):
    """Resources of jobs that feed the model of a wildcard and run for these seconds."""
    return {
        "mem_mb": lambda wildcards, attempt: costs.grown(costs.memory_mb(wildcards.model), attempt),
        "gpu": lambda wildcards: costs.gpus(wildcards.model),
        "runtime": lambda wildcards: costs.runtime(seconds(wildcards)),
    }


# Titles in the report of the papers, and parts of papers, that have figures and a scorecard.
REPORTED = {
    "morcela": "MORCELA",
    "overlap": "Leakage",
    "training": "Leakage",
    "reading": "Reading times",
    "string_probability": "String probability",
    "context": "Context",
}


def in_report(path, what=None, subcategory="Tables"):
    """A paper's file that the report shows, with the caption that is named after it."""
    paper, stem = Path(path).parts[1], Path(path).stem
    return report(
        path,
        caption=f"../report/{paper}_{stem}.rst",
        category=REPORTED[paper],
        subcategory=subcategory,
        labels={"what": what or stem.replace("_", " ").capitalize()},
    )


def figure_files(paper, names):
    """A paper's figures, as PDF and as PNG."""
    return collect("results/{paper}/{name}.pdf", paper=paper, name=names) + [
        in_report(f"results/{paper}/{name}.png", subcategory="Figures") for name in names
    ]


def scorecard_pages(paper):
    """A paper's scorecard as CSV and as a page, and the verdicts on its sentences as CSV."""
    page = report(
        f"results/{paper}/scorecard.html",
        caption="../report/scorecard.rst",
        category="Scorecard",
        labels={"what": paper},
    )
    tables = collect("results/{paper}/{name}.csv", paper=paper, name=["scorecard", "verdicts"])
    return [*tables, page]


def report_params(paper, models, titles, note=""):
    """Return the parameters of a paper's report.

    A name or pattern of `models` is of those that figures show.
    """
    shown = [name for name in catalog.models if matches(name, models)]
    return dict(
        code=code_digest(f"report_{paper}", *template_files()),
        run={
            "scale": settings["scale"],
            "models": describe_models(catalog.models, shown),
            "titles": titles,
            "published": read_published(paper),
            "note": note,
        },
        left_out=lambda wildcards: run.left_out_of(paper),
    )


def models_in_print(paper):
    """The models whose numbers a paper prints."""
    rows = [row for item in read_published(paper)["items"] for row in item["rows"]]
    return list(dict.fromkeys(row.partition("/")[0] for row in rows))


def pages_of(files):
    """The figures or tables of a paper, by their pages or images."""
    return [Path(file).stem for file in files if Path(file).suffix in (".html", ".png")]


DATASETS = alternatives(catalog.datasets)
CORPORA = alternatives(catalog.datasets_of("corpus"))
IMPORTED_SENTENCES = sources.models_with(run, "scores", level="sentence")
IMPORTED_TOKENS = sources.models_with(run, "scores", level="token")
CAUSAL = sources.causal_models(run)
MASKED = sources.masked_models(run)


wildcard_constraints:
    # A sample of a data set may replace any data set, but is built from the whole.
    dataset=rf"({DATASETS})(_sample\d+)?",
    corpus=CORPORA,
    model=alternatives(catalog.models),
    tokenizer=alternatives({entry["tokenizer"] for entry in catalog.models.values()}),
    start_token=alternatives(catalog.start_tokens),
    shard=r"\d+",
    stage="sampled|perturbed|shared",
