"""The command `lingprob`: its options and its exit status. It imports no slow libraries."""

import argparse
import gc
import hashlib
import os
import platform
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

import lingprob
from lingprob.errors import LingprobError

HUB = "hub:"
FORMATS = (".csv", ".tsv", ".parquet")
REPORTED = ("torch", "transformers", "tokenizers", "snakemake", "numpy", "pandas", "pyarrow")
TABLE = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
COMMANDS: dict[str, dict[str, str]] = TABLE["commands"]
OPTIONS: dict[str, dict[str, Any]] = TABLE["options"]


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command and exit with status 0 (success), 1 (bad input) or 2 (bad option)."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.version:
        print(describe_version() if options.debug else f"lingprob {lingprob.__version__}")
        sys.exit(0)
    if options.command is None:
        parser.error("name a COMMAND")
    try:
        # Heavy imports come after the options have been checked. Most objects that they create stay
        # in use, so collecting garbage would waste a fifth of the time.
        gc.disable()
        room = "rehearsal.folder" if options.command == "rehearse" else "api.commands"
        import_module(f"lingprob.{room}").run(options)
    except LingprobError as error:
        sys.exit(f"lingprob {options.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the program that reads the output (such as `head`) has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with all commands of commands.toml and `rehearse`."""
    parser = argparse.ArgumentParser(
        prog="lingprob",
        description="Probabilities of language models, without a workflow. "
        "`lingprob COMMAND --help` shows an example.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument(
        "--debug", action="store_true", help="with --version: print all that a bug report needs"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, one in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=one["brief"],
            description=fill(f"{one['brief'][0].upper()}{one['brief'][1:]}. {one['written']}"),
            epilog=f"example:\n  lingprob {name} {one['example']}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("input", metavar="INPUT", help=one["given"])
        command.add_argument(
            "--output", type=_output, metavar="FILE",
            help="CSV, TSV or Parquet file to write (default: CSV on the screen)",
        )  # fmt: skip
        for option in f"{one['options']} digits cache".split():
            add_option(command, option.rstrip("!"), required=option.endswith("!"))
    add_rehearse(commands.add_parser("rehearse", help="a folder to try the workflow in"))
    return parser


def describe_version() -> str:
    """Return a text with the versions, the platform and a digest of config.yaml, one per line."""
    told = {"lingprob": lingprob.__version__, "python": platform.python_version()}
    told |= {name: version(name) for name in REPORTED}
    told |= {"platform": platform.platform(), "package": lingprob.__path__[0]}
    config = Path("config.yaml")
    if config.is_file():
        told["config.yaml"] = f"sha256 {hashlib.sha256(config.read_bytes()).hexdigest()}"
    return "\n".join(f"{name}: {value}" for name, value in told.items())


def add_option(command: argparse.ArgumentParser, name: str, required: bool) -> None:
    """Add one of OPTIONS to a command's parser. The flag of the option `tokenizer` is `--model`."""
    given = dict(OPTIONS[name])
    if "type" in given:
        given["type"] = {"int": _whole, "pair": _pair}[given["type"]]
    flag = "model" if name == "tokenizer" else name
    command.add_argument(f"--{flag}", required=required, **given)


def add_rehearse(command: argparse.ArgumentParser) -> None:
    """Add the options of `lingprob rehearse` to its parser."""
    command.description = (
        "Write tiny models, made-up data and config.yaml to FOLDER. Then run `snakemake all "
        "--cores 2 --directory FOLDER --configfile FOLDER/config.yaml` in the checkout."
    )
    command.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder")
    command.add_argument("--scale", default="paper", help="demo, laptop or paper (default)")
    command.add_argument("--short", action="store_true", help="only one or two jobs of each rule")


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(FORMATS)}")
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} is a folder, or in no folder to write to")
    return path


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    ours, _, theirs = text.partition("=")
    if not (ours and theirs):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as sentence=Text")
    return ours, theirs
