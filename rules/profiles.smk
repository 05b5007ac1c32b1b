# A model's profile: its place in all four papers beside every other model that is there.
# REQUIRES results/morcela/{model}, results/string_probability/{model}/, surprisal of the texts of
# `reading`, judgments after sampled prefixes.
# PROVIDES results/profiles/{model}.{html,csv}; of one model, results/reading/models/{model}/{dataset}
# and results/context/profiles/{model}/{dataset}/{accuracy,unprefixed}.parquet. Tables of other models
# are read where they are there, and nothing is run for them.


rule fit_model_reading:
    """What one model's surprisal adds to the regression of one data set (leakage, §3.1)."""
    input:
        **FIT_INPUT
        | {
            "surprisals": lambda wildcards: [
                f"results/surprisal/{wildcards.model}/"
                f"{catalog.dataset(wildcards.dataset)['texts']}.parquet"
            ]
        },
    output:
        deltas="results/reading/models/{model}/{dataset}.parquet",
        gains="results/reading/models/{model}/gains/{dataset}.parquet",
        counts="results/reading/models/{model}/counts/{dataset}.parquet",
    log:
        "logs/fit_model_reading/{model}/{dataset}.log",
    benchmark:
        "logs/fit_model_reading/{model}/{dataset}.benchmark.tsv"
    wildcard_constraints:
        dataset=READING_DATASETS,
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **FIT_PARAMS
        | {
            "models": lambda wildcards: [wildcards.model],
            "contexts": lambda wildcards: plan.reading_contexts([wildcards.model]),
            "corrections": lambda wildcards: plan.reading_corrections([wildcards.model]),
        },
        code=code_digest("fit_reading_times"),
    script:
        "../workflow_scripts/fit_reading_times.py"


rule summarise_model_context:
    """One model's accuracies after sampled prefixes, which wait for no other model (context, §4)."""
    input:
        judgments="results/context/sampled/judgments/{model}/{dataset}.parquet",
        unprefixed="results/context/unprefixed/{model}/{dataset}.parquet",
    output:
        collect(
            "results/context/profiles/{{model}}/{{dataset}}/{table}.parquet",
            table=["accuracy", "unprefixed"],
        ),
    log:
        "logs/summarise_model_context/{model}/{dataset}.log",
    benchmark:
        "logs/summarise_model_context/{model}/{dataset}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(5000, attempt),
        runtime=costs.at_most(240),
    params:
        code=code_digest("summarise_context"),
        settings={**pick(CONTEXT, "fewest_pairs", "bootstrap"), **pick(settings, "seed", "scale")},
    script:
        "../workflow_scripts/summarise_context.py"


rule profile_model:
    """A page on one model, a user's included, and the same as CSV."""
    input:
        unpack(lambda wildcards: profile_files(plan, wildcards.model)),
    output:
        html="results/profiles/{model}.html",
        csv="results/profiles/{model}.csv",
    log:
        "logs/profile_model/{model}.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("profile_model"),
        entry=lambda wildcards: pick(catalog.model(wildcards.model), "title"),
        facts=lambda wildcards: profile_facts(plan, wildcards.model),
        notes=lambda wildcards: profile_notes(plan, wildcards.model),
        beside=lambda wildcards: profiles_beside(plan, wildcards.model),
        names={name: entry["title"] for name, entry in catalog.models.items()},
        titles={
            called: entry["title"]
            for name, entry in catalog.datasets.items()
            for called in {name, plan.scored_as(name)}
        },
        published=read_published("morcela"),
    script:
        "../workflow_scripts/profile_model.py"


rule profiles:
    """The profiles of `profiles.models`, or of the models of string_probability if it names none."""
    input:
        collect(
            "results/profiles/{model}.{suffix}",
            model=settings["profiles"]["models"] or STRING_PANELS,
            suffix=["html", "csv"],
        ),
