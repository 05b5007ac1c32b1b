# Scores of stimuli, shared by all papers. The rules are score_MODEL_for_PAPER, with the script
# score_stimuli.py, so that one job per model and paper loads the model once.
# REQUIRES results/stimuli/{dataset}.parquet, a model's manifest or a file of imported scores.
# PROVIDES results/scores/{model}/{start_token}/{dataset}.parquet (tokens) and
# results/sentence_scores/{model}/{dataset}.{parquet,csv} (sentences, under each convention of the
# model's entry).

LISTED = [name for section in SECTIONS[:-1] for name in scope.scored_datasets(run, section)]
# A data set that no paper lists is scored on request, by a job of its own.
UNLISTED = rf"(?!({alternatives(LISTED)})\.(parquet|csv)$)({DATASETS})(_sample\d+)?"


for section, model, datasets in scope.scoring_jobs(run, CAUSAL + MASKED):

    rule:
        name:
            f"score_{model}_for_{section}"
        input:
            model=sources.model_manifest(model),
            stimuli=[f"results/stimuli/{name}.parquet" for name in datasets],
            unigrams=scope.unigram_tables(run, model),
        output:
            tokens=collect(
                "results/scores/{model}/{start_token}/{name}.parquet",
                model=model,
                name=datasets,
                start_token=scope.start_tokens(run, model),
            ),
            sentences=collect(
                "results/sentence_scores/{model}/{name}.parquet", model=model, name=datasets
            ),
            csv=collect("results/sentence_scores/{model}/{name}.csv", model=model, name=datasets),
        log:
            f"logs/score_stimuli/{model}/{'{dataset}' if section == 'other' else section}.log",
        benchmark:
            f"logs/score_stimuli/{model}/{'{dataset}' if section == 'other' else section}.benchmark.tsv"
        wildcard_constraints:
            dataset=UNLISTED,
        conda:
            "../envs/environment.yaml"
        threads: costs.threads(model)
        resources:
            **with_model(
                lambda job: costs.scoring_stimuli(
                    job.model, [name.format(**vars(job)) for name in job.datasets]
                ),
                model,
                datasets=datasets,
            ),
        params:
            **pick(settings["scoring"], "device", "dtype"),
            code=code_digest("score_stimuli"),
            engine=modules_digest("lingprob.scoring.stimuli"),
            model=model,
            entry=sources.model_entry(run, model, "kind context_window", bulk=False),
            start_tokens={
                name: catalog.start_tokens[name] for name in scope.start_tokens(run, model)
            },
            bos_policies=scope.bos_policies(run, model),
            unigrams=scope.unigram_sources(run, model),
        script:
            "../workflow_scripts/score_stimuli.py"


for section, model, datasets in scope.scoring_jobs(run, IMPORTED_TOKENS + IMPORTED_SENTENCES):

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
