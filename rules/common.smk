# What every rules file uses and only Snakemake can say; what is decided is asked of `plan` and
# `costs` (workflow_scripts/lingprob/plan/). A rule's params hold all that its numbers depend on: a
# digest of the package modules that its script imports (`code`), catalog entries and settings. What
# changes only how the work is done (batch sizes, a device map) goes to a script as a resource, for a
# change there must not repeat the work.

plan, costs = Plan(settings, catalog), Costs(settings, catalog)


def alternatives(names):
    """A wildcard constraint that admits exactly these names."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def other_than(names):
    """A wildcard constraint that admits every file name but these."""
    return rf"(?!({alternatives(names)})\.parquet)[^/]+"


def refuse(lookup, name):
    """The error with which the catalog answers an unknown name."""
    try:
        lookup(name)
    except LingprobError as error:
        raise WorkflowError(str(error)) from None


def only_at_scale_demo(files):
    if settings["scale"] != "demo":
        return lambda wildcards: [
            f"the target demo is for scale demo, not {settings['scale']}; ask for morcela or all"
        ]
    return files


def local_files(entry):
    """The files of a model that the user has on disk: others in their place are another model."""
    return model_files(Path(entry["path"])) if entry["source"] == "local" else []


def code_of_parser(rule, dataset, parser_of):
    """The digest of a rule that parses a data set, with its parser and the demo data it reads."""
    parser = catalog.dataset(dataset)["parser"]
    try:
        return code_digest(rule, parser_of(dataset, parser), *demo_files(parser))
    except LingprobError as error:
        raise WorkflowError(str(error)) from None


def code_over(rule, *datasets):
    """The digest of a rule that reads data sets, with those that are the package's own."""
    parsers = [catalog.dataset(name)["parser"] for name in datasets]
    return code_digest(rule, *(file for parser in parsers for file in demo_files(parser)))


DATASETS = alternatives(catalog.datasets)
CORPORA = alternatives(plan.datasets_of("corpus"))
IN_SHARDS = [name for name, entry in catalog.datasets.items() if "shards" in entry]
FETCHED = plan.models_with("hub", "package", "local")
WITH_WEIGHTS = FETCHED + plan.models_with("trained")


wildcard_constraints:
    # A sample of a data set stands wherever a data set may, but is built from the whole.
    dataset=rf"({DATASETS})(_sample\d+)?",
    model=alternatives(catalog.models),
    tokenizer=alternatives({entry["tokenizer"] for entry in catalog.models.values()}),
    start_token=alternatives(catalog.start_tokens),
    shard=r"\d+",
    stage="sampled|perturbed|shared",
