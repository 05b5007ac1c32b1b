"""Whether KenLM is at hand, and what the chance level is computed with then."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest
import yaml

from checkout import ROOT
from lingprob.errors import LingprobError
from lingprob.overlap import kenlm_programs as kenlm
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.missing import is_placed

SHIPPED = yaml.safe_load((ROOT / "config.yaml").read_text())


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with nothing: `add` puts on it what it is asked for."""
    programs, packages = tmp_path / "bin", set()
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(kenlm, "_library_folders", lambda: iter([tmp_path / "lib"]))
    monkeypatch.setattr(kenlm, "find_spec", lambda name: name if name in packages else None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINGPROB_MIRROR", raising=False)

    def add(*names: str) -> None:
        for name in names:
            if name == "kenlm":
                packages.add(name)
            elif name.startswith("libboost"):
                (tmp_path / "lib").mkdir(exist_ok=True)
                (tmp_path / "lib" / name).write_text("")
            else:
                (programs / name).write_text("#!/bin/sh\n")
                os.chmod(programs / name, 0o755)

    return add


def settings_of(scale: str, **overlap: object) -> dict:
    return read_settings({**SHIPPED, "scale": scale, "overlap": overlap})[0]["overlap"]


def test_what_is_missing_is_named(machine):
    assert "package kenlm" in kenlm.missing_for_kenlm()
    machine("kenlm")
    assert "no cmake" in kenlm.missing_for_kenlm()
    machine("cmake")
    assert "no Boost" in kenlm.missing_for_kenlm()
    machine("libboost_program_options.so.1.74.0")  # that of programs, without headers
    assert "no Boost" in kenlm.lmplz_missing() == kenlm.missing_for_kenlm()
    machine("libboost_program_options.so")
    assert kenlm.missing_for_kenlm() is None


def test_kenlm_s_own_programs_need_nothing_to_be_built(machine):
    machine("kenlm", *kenlm.PROGRAMS)
    assert kenlm.missing_for_kenlm() is None


def test_the_chance_level_is_on_where_kenlm_is_at_hand(machine, tmp_path):
    without = settings_of("laptop")
    assert without["ngrams"] is None
    assert "package kenlm" in without["no_chance_level"]
    machine("kenlm", *kenlm.PROGRAMS)
    assert settings_of("laptop")["ngrams"] == "gutenberg"
    assert settings_of("laptop")["no_chance_level"] == ""
    # The Pile's chunks are tokens, so that words are OpenWebText's, unless Gigaword is there.
    assert settings_of("paper")["ngrams"] == "openwebtext"
    placed = tmp_path / "resources/datasets/gigaword/gigaword.jsonl.gz"
    placed.parent.mkdir(parents=True)
    placed.write_text("")
    assert settings_of("paper")["ngrams"] == "gigaword"
    assert settings_of("demo")["ngrams"] is None


def test_why_there_is_no_chance_level_is_said(machine):
    assert settings_of("laptop", ngrams=None)["no_chance_level"] == "overlap.ngrams is null"
    assert settings_of("laptop", ngrams="nltk")["no_chance_level"] == ""


@pytest.mark.parametrize(
    ("mirror", "place", "placed"),
    [
        (None, "resources/datasets", True),
        ("mirror", "mirror", True),
        ("~/mirror", "home/mirror", True),
        ("mirror", "elsewhere", False),
        ("", ".", False),  # where the run is, which is no mirror
        ("https://example.org/mirror", ".", False),
    ],
)
def test_a_corpus_is_placed_in_resources_or_in_a_mirror_that_is_a_folder(
    machine, tmp_path, monkeypatch, mirror, place, placed
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if mirror is not None:
        monkeypatch.setenv("LINGPROB_MIRROR", mirror)
    _, catalog = read_settings(SHIPPED)
    assert not is_placed("gigaword", catalog)
    path = tmp_path / place / "gigaword/gigaword.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert is_placed("gigaword", catalog) == placed


def test_boost_is_looked_for_where_linkers_look_and_where_the_environment_says(
    tmp_path, monkeypatch
):
    deeper = tmp_path / "boost/lib/x86_64-linux-gnu"
    deeper.mkdir(parents=True)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.setenv("BOOST_ROOT", str(tmp_path / "boost"))
    found = list(kenlm._library_folders())
    own = [folder for folder in found if folder.is_relative_to(tmp_path)]
    root = tmp_path / "boost"
    assert own == [root / "lib", deeper, root / "lib64", root / "stage/lib"]
    assert {Path("/usr/lib"), Path("/usr/local/lib64"), Path("/opt/homebrew/lib")} <= {*found}


@pytest.mark.parametrize(("version", "compiles"), [((3, 12, 9), True), ((3, 13), False)])
def test_who_cannot_compile_kenlm_is_told_so(monkeypatch, version, compiles):
    monkeypatch.setattr(sys, "version_info", version)
    hint = runpy.run_path(kenlm.__file__)["INSTALL"]
    assert hint.startswith("pip install kenlm")
    assert ("only" not in hint) == compiles


def test_a_mistyped_corpus_is_named_with_its_key_whether_kenlm_is_there_or_not(machine):
    for programs in ((), ("kenlm", *kenlm.PROGRAMS)):
        machine(*programs)
        with pytest.raises(LingprobError, match=r"Did you mean 'nltk'.*overlap\.corpora"):
            settings_of("laptop", corpora=["nltkk"])


def test_what_the_user_names_is_taken_and_no_text_at_all_is_refused(machine):
    assert settings_of("laptop", ngrams="nltk")["ngrams"] == "nltk"
    machine("kenlm", *kenlm.PROGRAMS)
    with pytest.raises(LingprobError, match=r"none of overlap\.corpora is text"):
        settings_of("paper", corpora=["pile_pythia"])
