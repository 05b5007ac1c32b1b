# Scores of stimuli, shared by all papers. A job per model and paper loads the model once. Models with
# the same start tokens share a rule, score_stimuli_PAPER_LANGUAGE_TOKENS.
# REQUIRES results/stimuli/{dataset}.parquet, a model's manifest or a file of imported scores.
# PROVIDES results/scores/{model}/{start_token}/{dataset}.parquet (tokens) and
# results/sentence_scores/{model}/{dataset}.{parquet,csv} (sentences, under each convention of the
# model's entry).

LISTED = [name for section in SECTIONS[:-1] for name in scope.scored_datasets(run, section)]
# A data set that no paper lists is scored on request, by a job of its own.
UNLISTED = rf"(?!({alternatives(LISTED)})\.(parquet|csv)$)({DATASETS})(_sample\d+)?"


for (section, language, *start_tokens), models in scope.scoring_rules(run, CAUSAL + MASKED).items():
    datasets = scope.datasets_to_score(run, models[0], section)

    rule:
        name:
            f"score_stimuli_{section}_{language}_{'_'.join(start_tokens)}"
        input:
            model=sources.model_manifest("{model}"),
            stimuli=[f"results/stimuli/{name}.parquet" for name in datasets],
            unigrams=lambda wildcards: scope.unigram_tables(run, wildcards.model),
        output:
            tokens=collect(
                "results/scores/{{model}}/{start_token}/{name}.parquet",
                name=datasets,
                start_token=start_tokens,
            ),
            sentences=collect("results/sentence_scores/{{model}}/{name}.parquet", name=datasets),
            csv=collect("results/sentence_scores/{{model}}/{name}.csv", name=datasets),
        log:
            f"logs/score_stimuli/{{model}}/{'{dataset}' if section == 'other' else section}.log",
        benchmark:
            f"logs/score_stimuli/{{model}}/{'{dataset}' if section == 'other' else section}.benchmark.tsv"
        wildcard_constraints:
            dataset=UNLISTED,
            model=alternatives(models),
        conda:
            "../envs/environment.yaml"
        threads: lambda wildcards: costs.threads(wildcards.model)
        resources:
            **with_model(
                lambda job, datasets=datasets: costs.scoring_stimuli(
                    job.model, [name.format(**job) for name in datasets]
                )
            ),
        params:
            **pick(settings["scoring"], "device", "dtype"),
            code=code_digest("score_stimuli"),
            engine=modules_digest("lingprob.scoring.stimuli"),
            model="{model}",
            entry=model_entry("kind context_window"),
            start_tokens={name: catalog.start_tokens[name] for name in start_tokens},
            bos_policies=lambda wildcards: scope.bos_policies(run, wildcards.model),
            unigrams=lambda wildcards: scope.unigram_sources(run, wildcards.model),
        script:
            "../workflow_scripts/score_stimuli.py"


IMPORTS = [
    (section, model, scope.datasets_to_score(run, model, section))
    for section in SECTIONS
    for model in IMPORTED_TOKENS + IMPORTED_SENTENCES
]
for section, model, datasets in [job for job in IMPORTS if job[2]]:

    rule:
        name:
            f"import_{model}_for_{section}"
        input:
            scores=sources.imported_scores(run, model)[0],
            stimuli=[f"results/stimuli/{name}.parquet" for name in datasets],
            unigrams=scope.unigram_tables(run, model) if model in IMPORTED_TOKENS else [],
        output:
            tokens=collect(
                "results/scores/{model}/{start_token}/{name}.parquet",
                model=model,
                name=datasets,
                start_token=["imported"] * (model in IMPORTED_TOKENS),
            ),
            sentences=collect(
                "results/sentence_scores/{model}/{name}.parquet", model=model, name=datasets
            ),
            csv=collect("results/sentence_scores/{model}/{name}.csv", model=model, name=datasets),
        log:
            f"logs/import_scores/{model}/{'{dataset}' if section == 'other' else section}.log",
        wildcard_constraints:
            dataset=UNLISTED,
        conda:
            "../envs/environment.yaml"
        resources:
            mem_mb=4000,
        params:
            code=code_digest("import_scores"),
            model=model,
            path=sources.imported_scores(run, model)[1],
            level=catalog.model(model)["level"],
            published=model if "dataset" in catalog.model(model) else None,
            bos_policies=scope.bos_policies(run, model),
            unigrams=scope.unigram_sources(run, model),
        script:
            "../workflow_scripts/import_scores.py"
