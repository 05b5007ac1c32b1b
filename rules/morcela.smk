# MORCELA (Tjuatja et al. 2025): linking functions between log-probabilities and acceptability.
# REQUIRES results/stimuli and results/sentence_scores of each rated data set, a corpus for §5.
# PROVIDES results/morcela/{model}.parquet for one model, and over the models of the scale
# results/morcela/: linking_functions.{parquet,csv}, figures 2 to 6, tables 2 to 4.

MORCELA = settings["morcela"]
FREQUENCY_MODELS = plan.frequency_models()
FIGURES_OF_FITS = ["figure_2", "figure_3", "figure_4", "figure_6", "conventions"]


rule fit_linking_functions:
    """Fit every linking function of one model under each of its conventions (morcela, §3.4)."""
    input:
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        scores=collect(
            "results/sentence_scores/{{model}}/{dataset}.parquet", dataset=MORCELA["datasets"]
        ),
    output:
        "results/morcela/{model}.parquet",
    log:
        "logs/fit_linking_functions/{model}.log",
    benchmark:
        "logs/fit_linking_functions/{model}.benchmark.tsv"
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=code_digest("fit_linking_functions"),
        datasets=MORCELA["datasets"],
        default_bos=lambda wildcards: catalog.model(wildcards.model)["bos_policies"][0],
        default_unigrams=lambda wildcards: plan.unigram_sources(wildcards.model)[0],
        folds=MORCELA["folds"],
        repeats=MORCELA["repeats"],
        bootstrap=MORCELA["bootstrap"],
        keep_pairs_together=MORCELA["keep_pairs_together"],
        seed=settings["seed"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/fit_linking_functions.py"


rule combine_linking_functions:
    """Put the fits of all models of the scale in one table."""
    input:
        collect("results/morcela/{model}.parquet", model=MORCELA["models"]),
    output:
        parquet="results/morcela/linking_functions.parquet",
        csv=report(
            "results/morcela/linking_functions.csv",
            caption="../report/linking_functions.rst",
            category="MORCELA",
            subcategory="Tables",
            labels={"what": "Every fit, under every convention"},
        ),
    log:
        "logs/combine_linking_functions.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("combine_linking_functions"),
    script:
        "../workflow_scripts/combine_linking_functions.py"


rule correlate_participant_groups:
    """Correlate two halves of the judgments: how well people predict people (morcela, §3.4)."""
    input:
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        ratings=collect("results/ratings/{dataset}.parquet", dataset=MORCELA["datasets"]),
    output:
        "results/morcela/intergroup_correlation.parquet",
    log:
        "logs/correlate_participant_groups.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=code_digest("correlate_participant_groups"),
        datasets=MORCELA["datasets"],
        seed=settings["seed"],
        scale=settings["scale"],
    script:
        "../workflow_scripts/correlate_participant_groups.py"


rule sum_frequency_moments:
    """Score one shard of a corpus; sum up log-probabilities by unigram frequency (morcela, §5)."""
    input:
        model="resources/models/{model}/manifest.json",
        corpus=plan.corpus_files(MORCELA["frequency_corpus"]),
        unigrams=lambda wildcards: plan.unigram_tables(wildcards.model)[0],
    output:
        "results/morcela/frequency_moments/{model}/{shard}-of-{shards}.parquet",
    log:
        "logs/sum_frequency_moments/{model}/{shard}-of-{shards}.log",
    benchmark:
        "logs/sum_frequency_moments/{model}/{shard}-of-{shards}.benchmark.tsv"
    wildcard_constraints:
        model=alternatives(WITH_WEIGHTS),
    conda:
        "../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: costs.grown(costs.memory_mb(wildcards.model), attempt),
        gpu=lambda wildcards: costs.gpus(wildcards.model),
        # Overlapping windows feed every token twice.
        runtime=lambda wildcards: costs.at_most(
            costs.minutes(wildcards.model, 2 * MORCELA["frequency_tokens"] / int(wildcards.shards))
        ),
        device_map=lambda wildcards: costs.device_map(wildcards.model),
    params:
        code=code_digest("sum_frequency_moments"),
        corpus=MORCELA["frequency_corpus"],
        entry=pick(catalog.dataset(MORCELA["frequency_corpus"]), "parser", "path", "files"),
        model_entry=lambda wildcards: pick(catalog.model(wildcards.model), "dtype"),
        tokens=MORCELA["frequency_tokens"],
        window=MORCELA["frequency_window"],
        stride=MORCELA["frequency_stride"],
        device=settings["scoring"]["device"],
        dtype=settings["scoring"]["dtype"],
    script:
        "../workflow_scripts/sum_frequency_moments.py"


rule regress_on_frequency:
    """Regress tokens' log-probability on their unigram log-probability (morcela, §5)."""
    input:
        collect(
            "results/morcela/frequency_moments/{{model}}/{shard}-of-{shards}.parquet",
            shard=range(MORCELA["frequency_shards"]),
            shards=MORCELA["frequency_shards"],
        ),
    output:
        slopes="results/morcela/frequency_slopes/{model}.parquet",
        bins="results/morcela/frequency_bins/{model}.parquet",
    log:
        "logs/regress_on_frequency/{model}.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("regress_on_frequency"),
        corpus=MORCELA["frequency_corpus"],
        unigrams=lambda wildcards: plan.model_unigrams(wildcards.model)[0],
        scale=settings["scale"],
    script:
        "../workflow_scripts/regress_on_frequency.py"


rule plot_linking_functions:
    """Draw Figures 2, 3, 4 and 6, and what each convention does."""
    input:
        linking_functions="results/morcela/linking_functions.parquet",
        intergroup_correlation="results/morcela/intergroup_correlation.parquet",
    output:
        pdf=collect("results/morcela/{figure}.pdf", figure=FIGURES_OF_FITS),
        png=[
            report(
                f"results/morcela/{figure}.png",
                caption=f"../report/morcela_{figure}.rst",
                category="MORCELA",
                subcategory="Figures",
                labels={"what": figure.replace("_", " ").capitalize()},
            )
            for figure in FIGURES_OF_FITS
        ],
    log:
        "logs/plot_linking_functions.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("plot_linking_functions"),
        models=figure_models,
        published=read_published("morcela"),
        figures=FIGURES_OF_FITS,
    script:
        "../workflow_scripts/plot_linking_functions.py"


rule plot_frequency_slopes:
    """Draw Figure 5, and the token bins behind each slope."""
    input:
        linking_functions="results/morcela/linking_functions.parquet",
        slopes=collect("results/morcela/frequency_slopes/{model}.parquet", model=FREQUENCY_MODELS),
        bins=collect("results/morcela/frequency_bins/{model}.parquet", model=FREQUENCY_MODELS),
    output:
        pdf="results/morcela/figure_5.pdf",
        png=report(
            "results/morcela/figure_5.png",
            caption="../report/morcela_figure_5.rst",
            category="MORCELA",
            subcategory="Figures",
            labels={"what": "Figure 5"},
        ),
    log:
        "logs/plot_frequency_slopes.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("plot_frequency_slopes"),
        models=figure_models,
    script:
        "../workflow_scripts/plot_frequency_slopes.py"


rule tabulate_morcela:
    """Write Tables 2, 3 and 4 with the published values beside ours."""
    input:
        linking_functions="results/morcela/linking_functions.parquet",
    output:
        csv=collect("results/morcela/table_{number}.csv", number=[2, 3, 4]),
        html=[
            report(
                f"results/morcela/table_{number}.html",
                caption=f"../report/morcela_table_{number}.rst",
                category="MORCELA",
                subcategory="Tables",
                labels={"what": f"Table {number}"},
            )
            for number in [2, 3, 4]
        ],
    log:
        "logs/tabulate_morcela.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("tabulate_morcela"),
        models=figure_models,
        published=read_published("morcela"),
    script:
        "../workflow_scripts/tabulate_morcela.py"


rule compare_morcela:
    """Compare our numbers with those in the paper, and say which we cannot compute here."""
    input:
        stimuli=collect("results/stimuli/{dataset}.parquet", dataset=MORCELA["datasets"]),
        linking_functions="results/morcela/linking_functions.parquet",
        intergroup_correlation="results/morcela/intergroup_correlation.parquet",
    output:
        "results/morcela/scorecard.parquet",
    log:
        "logs/compare_morcela.log",
    conda:
        "../envs/environment.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        code=code_digest("compare_morcela"),
        datasets=MORCELA["datasets"],
        published=read_published("morcela"),
        scale=settings["scale"],
    script:
        "../workflow_scripts/compare_morcela.py"


rule morcela:
    """The paper's figures and tables, for the models and data of the scale."""
    input:
        rules.combine_linking_functions.output,
        rules.correlate_participant_groups.output,
        rules.plot_linking_functions.output,
        rules.plot_frequency_slopes.output if FREQUENCY_MODELS else [],
        rules.tabulate_morcela.output,
