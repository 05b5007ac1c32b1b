"""Whether KenLM is at hand, and what the chance level is computed with then."""

from __future__ import annotations

import os

import pytest
import yaml

from lingprob import kenlm
from lingprob.config import ROOT, read_settings
from lingprob.errors import LingprobError

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
