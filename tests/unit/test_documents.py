"""config.yaml, pages and messages agree with the code."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from checkout import ROOT
from lingprob.catalog import read_yaml
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.settings import Morcela, keys

CONVENTIONS = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")
# Defaults in words, as the table of conventions has them.
IN_WORDS = {0.5: "half", 0.75: "75%", 1.0: "one"}


KEYS = {key.path: key for key in keys()}
SECTIONS = {path.rpartition(".")[0] for path in KEYS} - {""}
ENTRY_KEYS = {
    f"{kind}s": read_yaml("schema.yaml")["$defs"][kind]["properties"]
    for kind in ("model", "dataset")
}


def test_editors_accept_config_yaml_and_refuse_mistyped_keys():
    schema = ROOT / "workflow_scripts/lingprob/workflow/config.schema.json"
    validator = Draft202012Validator(json.loads(schema.read_text(encoding="utf-8")))
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    assert list(validator.iter_errors(config)) == []
    assert not validator.is_valid({"morcela": {"fold": 3}})
    assert not validator.is_valid({"models": {"mine": {"titel": "Mine"}}})


@pytest.mark.parametrize("scale", ["demo", "laptop", "paper"])
def test_config_yaml_changes_nothing_and_has_valid_examples(scale):
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    as_shipped, _ = read_settings({**yaml.safe_load(text), "scale": scale})
    assert as_shipped == read_settings({"scale": scale})[0]
    shown = yaml.safe_load(re.sub(r"^( *)#(?=\w)", r"\1", text, flags=re.M))
    assert set(shown["morcela"]) == set(Morcela.model_fields)
    own = {"title": "Mine", "family": "mine", "source": "local", "path": "mine"}
    entries = {
        "my-texts": {"kind": "reading_texts", "parser": "passages"},
        "my-corpus": {"kind": "corpus", "parser": "lines"},
        "my-pairs": {"kind": "stimuli", "parser": "table"},
        "my-times": {
            "kind": "reading_times", "parser": "reading_times_table", "texts": "my-texts",
            "method": "self_paced", "unit": "subject", "measure": "time",
        },
    }  # fmt: skip
    datasets = {name: {"title": "M", "path": "m", **entry} for name, entry in entries.items()}
    read_settings({**shown, "scale": scale, "models": {"my-model": own}, "datasets": datasets})


def conventions() -> Iterator[tuple[str, list[str]]]:
    """Rows of the table of conventions, and the keys that the third column names."""
    table = CONVENTIONS.partition("| convention | default | set by |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        set_by = row.split("|")[3]
        keys, section = [], ""
        for name in re.findall(r"`([a-z_.]+)`", set_by):
            section = name.rpartition(".")[0] or section
            keys.append(f"{section}.{name}" if f"{section}.{name}" in KEYS else name)
        yield row, keys


def test_the_conventions_table_names_keys_and_defaults():
    for row, named in conventions():
        for key in named:
            if key in SECTIONS:
                continue
            field = KEYS[key].field
            default = None if field.is_required() else field.default
            if default is None or isinstance(default, (bool, dict, list)):
                continue
            shown = f"{default:,}" if isinstance(default, int) else str(default).replace("_", " ")
            assert IN_WORDS.get(default, shown) in row, key


def test_the_table_of_conventions_has_every_convention():
    named = {key for _, keys in conventions() for key in keys}
    declared = {path for path, key in KEYS.items() if key.convention}
    assert len(declared) > 15
    assert declared - named == set()


def messages() -> Iterator[tuple[Path, str]]:
    """Every text in the code except docstrings, with {} for inserted values."""
    for path in sorted((ROOT / "workflow_scripts").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        within = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
                  for part in node.values}  # fmt: skip
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in within | docstrings:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", "{}") for part in node.values]
                yield path, "".join(part if isinstance(part, str) else "{}" for part in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value
    for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]:
        yield from ((path, text) for text in re.findall(r'"([^"\n]*)"', path.read_text()))


def test_keys_that_messages_name_exist():
    sections = "|".join(sorted(SECTIONS, reverse=True))
    named = re.compile(rf"(?<![\w./-])((?:{sections})(?:\.[a-z_]+)+)(?![\w/(])")
    in_entry = re.compile(r"\b(models|datasets)\.(?:\{\}|[A-Z]+)\.([a-z_]+)")
    found = set()
    for path, text in messages():
        for key in named.findall(text):
            is_file = Path(key).suffix in (".csv", ".html", ".json", ".parquet", ".pdf", ".png")
            if not is_file and key != text:  # a name alone is a module's
                found.add(key)
                assert key in KEYS, f"{path}: {text}"
        for section, key in in_entry.findall(text):
            found.add(key)
            assert key in ENTRY_KEYS[section], f"{path}: {text}"
    assert {"training.fine_tuning.learning_rate", "scoring.dtype", "parser"} <= found
    assert len(found) > 30


def test_pages_that_messages_name_exist():
    pages = [page for _, text in messages() for page in re.findall(r"\bdocs/\w+\.md", text)]
    assert pages
    assert [page for page in pages if not (ROOT / page).is_file()] == []


def folder_of(result: str) -> tuple[str, ...]:
    """The folder of a file below results/ in its parts; * for a wildcard or words in capitals."""
    parts = Path(re.sub(r"\{+[^}]*\}+|\b[A-Z_]{3,}\b", "*", result)).parts
    return parts[:-1]


def alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) == len(other) and all(
        a == b or "*" in a or "*" in b for a, b in zip(one, other, strict=True)
    )


def test_the_list_of_results_equals_the_rules_folders():
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    blocks = "".join(
        block for _, block in re.findall(r"^( +)output:\n((?:\1    .*\n)+)", rules, re.M)
    )
    written = {folder_of(path) for path in re.findall(r'"results/([^"]+\.[a-z]+)"', blocks)}
    written |= {folder_of(f"{path}/...") for path in re.findall(r'y\("results/([^"]+)"', blocks)}
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "report" / "results.md").read_text(), re.M)
    listed = {folder_of(path) for row in rows for path in re.findall(r"`([^`]+)`", row)}
    assert len(written) > 25
    assert [folder for folder in written if not any(alike(folder, one) for one in listed)] == []
    assert [folder for folder in listed if not any(alike(folder, one) for one in written)] == []
