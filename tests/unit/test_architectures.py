"""Every architecture of transformers is scored as a plain pass scores it, or refused."""

import pytest

from architectures import PAGE, architectures, judge

CASES = [(kind, name) for kind in ("causal", "masked") for name in architectures(kind)]
# Of every kind of state: experts, recurrence, convolutions, positions that begin elsewhere.
QUICK = ("olmoe", "mamba", "lfm2", "xglm", "bert", "roberta")


@pytest.mark.parametrize("name", QUICK)
def test_models_of_every_kind_of_state_are_right(name, monkeypatch):
    monkeypatch.setenv("LINGPROB_CACHE", "of judge")  # put back after it
    assert judge("causal", name, architectures("causal")[name]).result == "right"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_an_architecture_is_right_or_refused(kind, name):
    verdict = judge(kind, name, architectures(kind)[name])
    assert verdict.result != "wrong", verdict.reason
    if verdict.result == "refused":
        assert len(verdict.reason) < 500


def test_the_page_names_every_architecture():
    page = PAGE.read_text(encoding="utf-8")
    assert [name for _, name in CASES if f"`{name}`" not in page] == []
    assert "Wrong (" not in page
