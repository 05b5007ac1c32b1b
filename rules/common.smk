# What every rules file uses and only Snakemake can say; what is decided is asked of `plan` and
# `costs` (workflow_scripts/lingprob/plan/). A rule's params hold all that its numbers depend on: a
# digest of the package modules that its script imports (`code`), catalog entries and settings. What
# changes only how the work is done (batch sizes, a device map) goes to a script as a resource, for a
# change there must not repeat the work. A rehearsal's `costs` are those of the run itself.

plan, costs = Plan(settings, catalog), Costs(*asked_for)


def alternatives(names):
    """A wildcard constraint that admits exactly these names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def asked(function, *names):
    """What a function of the package says of names; its error becomes Snakemake's."""
    try:
        return function(*names)
    except LingprobError as error:
        raise WorkflowError(str(error)) from None


def code_over(rule, *datasets, parser_of=None):
    """The digest of a rule that reads data sets, with its parsers of them and the demo data."""
    parsers = {name: catalog.dataset(name)["parser"] for name in datasets}
    found = [asked(parser_of, *named) for named in parsers.items()] if parser_of else []
    data = [file for parser in parsers.values() for file in demo_files(parser)]
    return code_digest(rule, *found, *data)


def entry_of(wildcard, keys):
    """The param that is these parts of the catalog's entry which a wildcard names."""
    lookup = catalog.dataset if wildcard in ("corpus", "source") else getattr(catalog, wildcard)
    return lambda wildcards: pick(lookup(wildcards[wildcard]), *keys.split())


def model_entry(keys, bulk=False):
    """The param that is these parts of a model's entry, with its number formats by device."""
    return lambda wildcards: plan.model_entry(wildcards.model, keys, bulk)


def with_model(rule, **others):
    """Resources of a rule's job that feeds a model."""
    return {
        "mem_mb": lambda wildcards, attempt: costs.grown(costs.memory_mb(wildcards.model), attempt),
        "gpu": lambda wildcards: costs.gpus(wildcards.model),
        "runtime": lambda wildcards: costs.runtime(rule, wildcards),
        "device_map": lambda wildcards: costs.device_map(wildcards.model),
        **others,
    }


def in_report(path, room, what=None, subcategory="Tables"):
    """A file of a paper's room that the report shows, with the caption that is named after it."""
    paper, stem = Path(path).parts[1], Path(path).stem
    return report(
        path,
        caption=f"../report/{paper}_{stem}.rst",
        category=room.category,
        subcategory=subcategory,
        labels={"what": what or stem.replace("_", " ").capitalize()},
    )


DATASETS = alternatives(catalog.datasets)
CORPORA = alternatives(plan.datasets_of("corpus"))
CAUSAL = plan.causal_models()
MASKED = plan.masked_models()


wildcard_constraints:
    # A sample of a data set stands wherever a data set may, but is built from the whole.
    dataset=rf"({DATASETS})(_sample\d+)?",
    corpus=CORPORA,
    model=alternatives(catalog.models),
    tokenizer=alternatives({entry["tokenizer"] for entry in catalog.models.values()}),
    start_token=alternatives(catalog.start_tokens),
    shard=r"\d+",
    stage="sampled|perturbed|shared",
