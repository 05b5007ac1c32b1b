"""Linear mixed models against lme4's stored values on the same data."""

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import mixed_data
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from mixed_data import REAL, SIMULATED, read

FACTS = json.loads(Path(mixed_data.__file__).with_name("mixed_facts.json").read_text())


def check(name: str, frame: pd.DataFrame) -> None:
    """Compare a fit with lme4's of the same data.

    If lme4's search ends below our optimum, the estimates are compared with lme4's there.
    """
    fact = FACTS[name]
    assert len(frame) == fact["rows"]
    assert frame["rt_ms"].mean() == pytest.approx(fact["mean_rt_ms"], rel=1e-12)
    data = read(frame, [fact["formula"]])
    lme4 = fact["at_our_theta"].get("ML", fact["ML"])
    (fit,) = fit_mixed_models(data, [fact["formula"]])
    assert fit.converged
    assert fit.log_likelihood > fact["ML"]["log_likelihood"] - 1e-6
    assert fit.log_likelihood == pytest.approx(lme4["log_likelihood"], abs=1e-6)
    # Starts of any kind end at the same optimum or below it.
    with patch("lingprob.stats.linear_mixed.fit.STARTS", 8):
        (again,) = fit_mixed_models(data, [fact["formula"]])
    assert fit.log_likelihood == pytest.approx(again.log_likelihood, abs=1e-6)
    assert fit.singular == lme4["singular"]
    assert fit.sigma == pytest.approx(lme4["sigma"], rel=1e-5)
    assert fit.fixed_effects.to_dict() == pytest.approx(lme4["fixed_effects"], rel=1e-5)
    assert fit.standard_errors.to_dict() == pytest.approx(lme4["standard_errors"], rel=1e-3)
    covariance = np.array(lme4["covariance"])
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_array_less(
        np.abs(fit.covariance - covariance), 5e-3 * scale + 1e-5 * lme4["sigma"] ** 2
    )


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_data_of_the_papers_sizes(name: str) -> None:
    check(name, SIMULATED[name].make(*SIMULATED[name].arguments))


@pytest.mark.parametrize("name", REAL)
def test_real_data_by_subject(name: str, mirror: Path) -> None:
    check(name, REAL[name].make(mirror))
