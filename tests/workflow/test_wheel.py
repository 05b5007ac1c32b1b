"""The package as pip installs it, away from the checkout."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy
import pytest

from checkout import ROOT, copy_of_the_checkout
from models_for_tests import save_tiny_model

USE = """
import lingprob
print(lingprob.__file__)
model = lingprob.load("./model", cache="cache")
print(len(model.score(["the cat sat .", "a dog ran ."])))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment with the wheel, and the packages that it needs."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = copy_of_the_checkout(folder / "checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "wheels", copy]
    subprocess.run(build, check=True, capture_output=True)
    venv.create(folder / "environment")
    found = folder / "environment" / "bin" / "python"
    (wheel,) = (folder / "wheels").glob("*.whl")
    install = [*pip, "--python", found, "install", "--no-deps", "--no-index", wheel]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (folder / "environment" / "lib").glob("python*/site-packages")
    # Folders in a .pth file give packages, but their own .pth files are not read: no checkout.
    (site / "others.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    return found


def run(*command: object, folder: Path) -> str:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [*map(str, command)], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_scores_sentences_away_from_the_checkout(python, tmp_path):
    save_tiny_model("gpt2", tmp_path / "model")
    place, count = run(python, "-c", USE, folder=tmp_path).split()
    assert Path(place).is_relative_to(python.parents[1])
    assert count == "2"


def test_the_command_of_a_wheel_knows_the_catalog(python, tmp_path):
    said = run(python.with_name("lingprob"), "--help", folder=tmp_path)
    assert "surprisal" in said
