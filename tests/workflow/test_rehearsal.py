"""In a folder that `lingprob rehearse` writes, the workflow of scale paper runs as it is."""

import pandas as pd
import pytest

from checkout import copy_of_the_checkout, planned_jobs
from rehearsal_for_tests import ALL, NOT_IN_THE_DEMO, in_folder, written

NAMES = """training/corpus.json morcela/frequency_slopes/gpt2.parquet morcela/gpt2.csv
    scores/gpt2/none/scamp_plausible_sample20.parquet ngrams/state_of_the_union.ngrams"""


def test_rules_that_the_demo_lacks_run(mirror, tmp_path):
    short = written(tmp_path / "short", mirror, short=True)
    checkout = copy_of_the_checkout(tmp_path / "lingprob")
    targets = ["--config", f"mirror={mirror}", "--", *(f"results/{name}" for name in NAMES.split())]
    assert planned_jobs(in_folder(checkout, short, *targets)).keys() >= NOT_IN_THE_DEMO
    assert not list(checkout.glob("res*"))
    assert "Nothing to be done" in in_folder(checkout, short, "-n", *targets)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "short"), [("paper", True), ("demo", False)])
def test_one_of_each_rule_runs_to_its_end(checkout, mirror, tmp_path, scale, short):
    folder = written(tmp_path / scale, mirror, scale, short)
    in_folder(checkout, folder, "--config", f"mirror={mirror}", *ALL)
    assert len(pd.read_csv(folder / "results/scorecard.csv")) > 100
