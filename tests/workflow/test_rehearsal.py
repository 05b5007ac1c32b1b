"""In a folder that `lingprob rehearse` writes, the workflow of scale paper runs as it is."""

import os

import pandas as pd
import pytest

from checkout import copy_of_the_checkout
from rehearsal_for_tests import ALL, in_folder, written


def test_one_of_each_rule_runs_to_its_end(mirror, tmp_path):
    short = written(tmp_path / "short", mirror, short=True)
    checkout = copy_of_the_checkout(tmp_path / "lingprob")
    mirrored = ["--config", f"mirror={mirror}", *ALL]
    in_folder(checkout, short, *mirrored)
    assert not {"results", "resources"} & set(os.listdir(checkout))
    assert len(pd.read_csv(short / "results/scorecard.csv")) > 100
    assert "Nothing to be done" in in_folder(checkout, short, "-n", *mirrored)


@pytest.mark.slow
def test_the_demo_is_rehearsed(checkout, mirror, tmp_path):
    folder = written(tmp_path / "demo", mirror, "demo")
    in_folder(checkout, folder, *ALL)
    assert (folder / "results/scorecard.csv").exists()
