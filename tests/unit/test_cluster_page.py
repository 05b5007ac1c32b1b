"""docs/cluster.md agrees with the rules, the lock and the profile."""

import re

import yaml

from checkout import ROOT
from lingprob.workflow.settings import keys

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
RULES = "\n".join(path.read_text() for path in sorted((ROOT / "rules").glob("*.smk")))
CONTAINERFILE = (ROOT / "envs" / "Containerfile").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(bash|yaml)\n(.*?)```", PAGE, re.S)


def body(rule: str) -> str:
    """The text of a rule."""
    return re.search(rf"^rule {rule}:\n(.*?)(?=^rule |\Z)", RULES, re.S | re.M)[1]


def test_profiles_know_the_keys_of_yaml_blocks():
    profile = (ROOT / "profiles" / "slurm" / "profile.yaml").read_text()
    for kind, block in BLOCKS:
        if kind == "yaml":
            for key in yaml.safe_load(block):
                assert f"{key}:" in profile, key


def test_settings_that_the_page_names_exist():
    defaults = {key.path: key.field.default for key in keys()}
    assert {f"machine.{name}" for name in re.findall(r"machine\.(\w+)", PAGE)} <= defaults.keys()
    for name, default in re.findall(r"`machine\.(\w+)` \((\d+)", PAGE):
        assert defaults[f"machine.{name}"] == int(default)


def test_the_image_has_the_locked_python_and_packages():
    conda = yaml.safe_load((ROOT / "envs" / "environment.yaml").read_text())
    (python,) = [item for item in conda["dependencies"] if str(item).startswith("python=")]
    assert f"python:{python.removeprefix('python=')}-" in CONTAINERFILE
    assert re.search(r"pip install .*--requirement \S*/requirements\.txt", CONTAINERFILE)
    assert "COPY envs/requirements.txt" in CONTAINERFILE


def test_rules_with_scripts_name_the_one_environment():
    for name in re.findall(r"^rule (\w+):", RULES, re.M):
        if "script:" in body(name):
            assert re.search(r'conda:\s+"\.\./envs/environment\.yaml"', body(name)), name
