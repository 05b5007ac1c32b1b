"""README and docs/ are short, linked, valid, and up to date with the code."""

import copy
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml

import lingprob
from checkout import ROOT
from lingprob.catalog import Catalog, read_published
from lingprob.workflow.configuration import read_settings

PAGES = [path for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]]
GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))


def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked to: as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links() -> Iterator[tuple[Path, str]]:
    """Every link of every page that leads to no other machine."""
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
        yield from ((page, link) for link in re.findall(r"\]\(\s*([^)\s]+)\s*\)", text))


@pytest.mark.parametrize(("page", "link"), list(links()))
def test_links_lead_somewhere(page, link):
    if link.startswith("https://"):
        return
    target, _, anchor = link.partition("#")
    found = (page.parent / target).resolve() if target else page
    assert found.is_file()
    assert not anchor or anchor in anchors(found)


def test_every_page_is_reached_from_the_readme():
    reached, pending = set(), [ROOT / "README.md"]
    by_page = list(links())
    while pending:
        page = pending.pop()
        reached.add(page)
        found = {
            (one.parent / link.partition("#")[0]).resolve() for one, link in by_page if one == page
        }
        pending += [path for path in found if path in PAGES and path not in reached]
    assert set(PAGES) - reached == set()


def test_the_readme_is_short_and_clones_the_project():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Repository"]
    for page in ("README.md", "docs/cluster.md"):
        shown = re.findall(r"git clone (\S+)", (ROOT / page).read_text(encoding="utf-8"))
        assert set(shown) == {address}, page
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["repository-code"] == address


def test_pages_stay_short_without_generated_parts():
    """Counts words with a letter or digit, those of code and tables among them."""
    generated = {"api.md", "architectures.md", "catalog.md", "settings.md"}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in pages if path.name not in generated]
    notebook = nbformat.read(ROOT / "docs/tutorial.ipynb", as_version=4)
    texts += [cell.source for cell in notebook.cells]
    texts = [re.sub(r"<!-- claims: .*?<!-- end -->", "", text, flags=re.S) for text in texts]
    assert sum(bool(re.search(r"\w", word)) for word in " ".join(texts).split()) <= 12_000


def test_the_workflow_catalog_reads_true_instructions():
    text = (ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8")
    usage = yaml.safe_load(text)["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert f"rule {usage['mandatory-flags']['flags']}:" in (ROOT / "Snakefile").read_text()


def test_generated_pages_are_those_of_the_code():
    """After a change of settings, the catalog or a docstring: `python docs/generate.py`."""
    for path, text in GENERATED["pages"]().items():
        assert path.read_text(encoding="utf-8") == text, path


def test_the_catalog_s_page_has_every_entry_once():
    catalog = Catalog()
    page = (ROOT / "docs" / "catalog.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| `([^`]+)` \|", page, re.M)
    expected = [*catalog.models, *catalog.embeddings, *catalog.bos_policies, *catalog.datasets]
    assert sorted(names) == sorted(expected)
    assert "| `natural_stories` | Natural Stories | en | 10 passages | `natural_stories` |" in page
    assert "| `bos_first_excluded` | `bos` | excluded |" in page
    row = "| `gpt2` | GPT-2 | 124,439,808 | hub, `openai-community/gpt2` | `bos` |"
    assert row in page


@pytest.mark.parametrize("target", ["morcela", "string_probability", "overlap", "training",
                                    "reading", "context"])  # fmt: skip
def test_each_target_s_claims_are_on_one_page(target):
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs/papers").glob("*.md")]
    (page,) = [page for page in pages if f"<!-- claims: {target} -->" in page]
    block = page.partition(f"<!-- claims: {target} -->")[2].partition("<!-- end -->")[0]
    claims = read_published(target)["claims"]
    assert re.findall(r"^\| `(\w+)` \|", block, re.M) == [claim["id"] for claim in claims]


def test_a_bar_does_not_end_its_cell():
    rows = GENERATED["table"](("a", "b"), [("log p | q", None)])
    assert rows == "| a | b |\n| --- | --- |\n| log p \\| q |  |\n"


def test_the_entries_that_pages_show_are_valid():
    """Each block is valid together with the entries of the others, which it may name."""
    texts = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("own_*.md")]
    shown = re.findall(r"```yaml\n(.*?)```", "".join(texts), re.S)
    blocks = [yaml.safe_load(block) for block in shown]
    assert len(blocks) > 7
    entries = {"models": {}, "datasets": {}}
    for block in blocks:
        for section in entries.keys() & block.keys():
            entries[section] |= block[section]
    for block in blocks:
        _, catalog = read_settings({"scale": "laptop", **block, **copy.deepcopy(entries)})
        assert entries["models"].keys() <= catalog.models.keys()


def test_the_entry_that_contributors_are_shown_is_valid():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.S)[1])
    assert "my_pairs" in read_settings({"datasets": shown})[1].datasets


def test_the_citation_names_the_version_and_the_papers():
    cited, version = yaml.safe_load((ROOT / "CITATION.cff").read_text()), lingprob.__version__
    assert cited["version"] == version
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for page in ("running", "papers/context", "papers/morcela", "papers/string_probability"):
        assert f"version {version}" in (ROOT / f"docs/{page}.md").read_text(encoding="utf-8"), page
    titles = [one["title"] for one in cited["references"]]
    for title in re.findall(r"\d{4}, \*(.+?)\*", (ROOT / "README.md").read_text()):
        assert any(one.startswith(title.partition(" ...")[0]) for one in titles), title
    assert len(titles) == 4
