"""Fine-tune a trained model on the texts of reading-time corpora."""

from pathlib import Path

from lingprob.io.tables import read_table
from lingprob.models.folders import read_manifest, write_manifest
from lingprob.reading.texts import passage_texts
from lingprob.training.fine_tuning import FineTuning, fine_tune
from lingprob.workflow import job, work_settings

with job(snakemake):
    params = snakemake.params
    origin = read_manifest(snakemake.input.model)
    manifests = dict(zip(params.steps, map(Path, snakemake.output), strict=True))
    words = [read_table(path, "words") for path in snakemake.input.words]
    fine_tune(
        Path(origin["directory"]),
        [text for table in words for text in passage_texts(table)],
        {steps: manifest.parent for steps, manifest in manifests.items()},
        FineTuning(
            learning_rate=params.learning_rate,
            seed=params.seed,
            precision=params.precision,
            rows=params.rows,
            **work_settings(snakemake, "micro_batch_size", section="training"),
        ),
        params.device,
    )
    for steps, manifest in manifests.items():
        described = f"{origin['origin']}, fine-tuned {steps} steps"
        write_manifest(manifest.parent.name, "trained", described, manifest.parent, manifest)
