"""Vega-Lite, as Snakemake's package has it for figures in its own report, with its licences."""

from __future__ import annotations

from snakemake.assets import Assets

from lingprob.errors import LingprobError

SCRIPTS = ("vega.js", "vega-lite.js", "vega-embed.js")  # in the order that they need each other
LICENCES = "vega-licences.txt"
LIBRARY = (*SCRIPTS, LICENCES)


def library_files() -> dict[str, str]:
    """Return the text of each file of the library by its name, its licences as one file.

    Raises LingprobError where Snakemake's package has it no more.
    """
    names = [script.removesuffix(".js") for script in SCRIPTS]
    licences = "\n\n".join(_asset(f"{name}/LICENSE") for name in names)
    scripts = {f"{name}.js": _asset(f"{name}/{name}.js") for name in names}
    return {**scripts, LICENCES: licences}


def _asset(path: str) -> str:
    # Not `Assets.get_content`, which would fetch what is missing from the network.
    file = Assets.base_path() / path
    if not file.is_file():
        raise LingprobError(
            f"{file}: this version of Snakemake comes without the library that draws the site's "
            "figures. Install the version in envs/requirements.txt."
        )
    return file.read_text(encoding="utf-8")
