# How ΔLogLik goes with what a model had seen of its training (beyond Oh, Zhu & Schuler 2025; Oh &
# Schuler 2023a): there is none of this where fewer than two steps of a size are read.
# REQUIRES results/reading/gains/{dataset}.parquet and results/reading/delta_log_likelihood.parquet,
# with models of `training.keep_checkpoints` among `reading.models`.
# PROVIDES results/reading/trajectories.{parquet,csv} and trajectory_peaks.{parquet,csv}.


rule tabulate_trajectories:
    """ΔLogLik by what models had seen of their training, and after which step it is highest."""
    input:
        gains=collect("results/reading/gains/{dataset}.parquet", dataset=READING["datasets"]),
        deltas="results/reading/delta_log_likelihood.parquet",
    output:
        parquet="results/reading/trajectories.parquet",
        csv=in_report("results/reading/trajectories.csv", READING_ROOM, "ΔLogLik over training"),
        peaks="results/reading/trajectory_peaks.parquet",
        peaks_csv=in_report(
            "results/reading/trajectory_peaks.csv", READING_ROOM, "Where ΔLogLik is highest"
        ),
    log:
        "logs/tabulate_trajectories.log",
    conda:
        "../envs/environment.yaml"
    params:
        code=code_digest("tabulate_trajectories"),
        models=TRAJECTORIES,
        bootstrap=READING["bootstrap"],
        seed=settings["seed"],
    script:
        "../workflow_scripts/tabulate_trajectories.py"
