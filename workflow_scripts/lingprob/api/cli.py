"""Options of the command `lingprob`, and how it ends. Nothing here takes long to import."""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import platform
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

import lingprob
from lingprob.errors import LingprobError, no_such_file

HUB = "hub:"
FORMATS = (".csv", ".tsv", ".parquet")
SAVED = "the folder of a saved corpus, such as results/cdawg/gutenberg"
MODEL = "a name in the catalog, a folder, or a repository of the hub (owner/name@revision)"
TABLE = "a CSV, TSV, Parquet, Excel or JSON-lines file, or hub:OWNER/NAME[@REVISION],"
TEXTS = "a text file with one passage per line, or a table with a column `text`"
PAIRS = f"{TABLE} with one pair per row (columns `good`, `bad` and optionally `phenomenon`)"


@dataclass(frozen=True)
class Command:
    """A command: its purpose, its input, its output, an example and its options."""

    brief: str
    given: str
    written: str
    example: str
    options: str


CONTEXT = "the text before the word, in quotation marks"
FILE = "split configuration column"
LOADING = "model! config device tokens-per-batch family correction"
REPORTED = ("torch", "transformers", "tokenizers", "snakemake", "numpy", "pandas", "pyarrow")
NO_FILE = ("certify", "next-tokens", "next-words", "rehearse")  # whose input may be no file
COMMANDS = {
    "score": Command(
        "log-probabilities of sentences",
        f"{TABLE} with a column `sentence` and optionally `context`",
        "Writes the table with new columns: logprob (nats), n_tokens and mean_logprob. If the "
        "model has unigrams, it adds unigram_logprob and slor.",
        "sentences.csv --model smollm2-135m --output scores.csv",
        f"{LOADING} {FILE} unigrams bos chat",
    ),
    "tokens": Command(
        "log-probability, rank and entropy of each token of sentences",
        f"{TABLE} with a column `sentence` and optionally `context`",
        "Writes one row per token, with logprob (nats), surprisal and entropy (bits) and rank.",
        "sentences.csv --model smollm2-135m --output tokens.csv",
        f"{LOADING} {FILE} bos",
    ),
    "next-tokens": Command(
        "likeliest next tokens after a text",
        CONTEXT,
        "Writes one row per token, with its probability and logprob (nats).",
        "'The cats' --model smollm2-135m --top 5",
        f"{LOADING} bos top",
    ),
    "next-words": Command(
        "likeliest next words after a text",
        CONTEXT,
        "Writes one row per word, with its probability (the space after it included).",
        "'The cats' --model smollm2-135m --top 5",
        f"{LOADING} bos top",
    ),
    "surprisal": Command(
        "surprisal of each word of texts, in bits",
        TEXTS,
        "Writes one row per word. Surprisal is corrected for the space after the word.",
        "text.txt --model smollm2-135m --output words.csv",
        f"{LOADING} {FILE} passages bos",
    ),
    "compare": Command(
        "accuracy on minimal pairs by phenomenon",
        PAIRS,
        "Writes one row per phenomenon: n, accuracy and Wilson's 95% interval.",
        "pairs.csv --model smollm2-135m --output accuracy.csv",
        f"{LOADING} {FILE} bos by",
    ),
    "audit": Command(
        "problems of minimal pairs",
        PAIRS,
        "Writes one row per pair, the worst first.",
        "pairs.csv --model smollm2-135m --corpus books.txt --output audit.csv",
        f"{LOADING} {FILE} unigrams corpus",
    ),
    "overlap": Command(
        "longest sequences that texts share with a corpus",
        TEXTS,
        "Writes one row per longest overlap: its length in tokens, place, text and occurrences.",
        "texts.txt --corpus corpus.jsonl.gz --model smollm2-135m --output overlaps.csv",
        f"tokenizer corpus! min-length {FILE} passages",
    ),
    "certify": Command(
        "overlaps of texts with corpora, and whether they exceed chance",
        f"{TEXTS}, or a data set of the catalog, such as linguistic_inquiry",
        "Writes one row per text and corpus: the longest overlap in tokens, its occurrences, "
        "chance level, verdict, place and context.",
        "texts.txt --corpus gutenberg --corpus corpus.jsonl.gz --model gpt-neox-20b "
        "--output certificate.csv",
        f"tokenizer corpus! min-length ngrams save config {FILE} passages",
    ),
    "fit": Command(
        "linking functions from log-probabilities to ratings, such as MORCELA",
        f"{TABLE} with columns logprob, n_tokens, rating and optionally unigram_logprob",
        "Writes one row per linking function: its parameters, r and their 95% intervals.",
        "ratings.csv --cluster article --output fits.csv",
        f"cluster! {FILE}",
    ),
    "import": Command(
        "reading times or ratings of PCIbex, Ibex Farm, jsPsych, Gorilla or OpenSesame",
        "a results file as the program writes it (CSV, JSON)",
        "Writes our table: one row per reader and word, or one row per judgment. The message says "
        "which rows are left out.",
        "results.csv --as ratings --rows label=experiment --output ratings.csv",
        "as! column rows value",
    ),
    "guard": Command(
        "a copy of a table without cells that a spreadsheet takes for formulas",
        TABLE,
        "Puts an apostrophe before each text that begins with =, +, -, @, a tab or a line end.",
        "results.csv --output guarded.csv",
        "",
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "model": {"metavar": "NAME", "help": MODEL},
    "tokenizer": {
        "metavar": "NAME",
        "help": f"{MODEL}, or a tokenizer (default: that of a saved corpus)",
    },
    "digits": {"type": int, "metavar": "N", "help": "decimals to round to (default: all)"},
    "cache": {"metavar": "DIR", "help": "folder of prepared models (default: LINGPROB_CACHE)"},
    "corpus": {
        "metavar": "FILE",
        "action": "append",
        "help": f"a .txt, .jsonl or .parquet file, {SAVED}, or a corpus of the catalog (certify, "
        "audit) (repeatable)",
    },
    "min-length": {"type": int, "metavar": "N", "help": "shortest overlap, in tokens"},
    "ngrams": {
        "default": "auto",
        "metavar": "SOURCE",
        "help": "source of the 5-grams of the chance level: a corpus, an ARPA or KenLM file, none, "
        "or auto (the first of the other corpora)",
    },
    "save": {"metavar": "DIR", "help": "folder to save each corpus in: 25 bytes per token"},
    "config": {"metavar": "FILE", "help": "your own entries, laid out as config.yaml"},
    "device": {"help": "auto, cpu, cuda, cuda:N or mps"},
    "family": {"help": "known family of a folder or repository, such as gpt2"},
    "correction": {
        "metavar": "NAME",
        "help": "of a masked model: within_word_l2r (default), whole_word or none",
    },
    "unigrams": {"metavar": "SOURCE", "help": "unigrams for SLOR: a source or a file"},
    "bos": {
        "metavar": "POLICY",
        "help": "the token before a sentence and whether the first token counts: none, bos, "
        "bos_first_excluded ... (docs/catalog.md), or paper, the policy of the model's paper "
        "(default: a start token, and every token counts)",
    },
    "chat": {
        "action": "store_true",
        "help": "score sentences as an assistant's turns in the model's chat template",
    },
    "top": {"type": int, "default": 10, "metavar": "N", "help": "number of rows (default: 10)"},
    "tokens-per-batch": {"type": int, "metavar": "N", "help": "tokens that are run at once"},
    "cluster": {
        "metavar": "COLUMN",
        "help": "column whose values are resampled together, such as article, or none",
    },
    "passages": {
        "choices": ("lines", "paragraphs"),
        "default": "lines",
        "help": "whether line ends (default) or empty lines separate the passages of a text file",
    },
    "split": {"default": "train", "help": "split of a data set on the hub (default: train)"},
    "configuration": {"metavar": "NAME", "help": "configuration of a data set on the hub"},
    "by": {
        "default": "phenomenon",
        "choices": ("phenomenon", "paradigm", "pair"),
        "help": "what a row is",
    },
    "as": {
        "dest": "kind",
        "choices": ("reading_times", "ratings"),
        "help": "the kind of table to write",
    },
    "rows": {
        "action": "append",
        "default": [],
        "metavar": "COLUMN=VALUE",
        "help": "keep rows with this value alone, such as label=experiment (repeatable)",
    },
    "value": {
        "dest": "values",
        "action": "append",
        "default": [],
        "metavar": "ANSWER=NUMBER",
        "help": "the rating that an answer means, such as yes=1 (repeatable)",
    },
    "column": {
        "dest": "columns",
        "action": "append",
        "default": [],
        "metavar": "OURS=YOURS",
        "help": "name of a column in the file, such as sentence=Text (repeatable)",
    },
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line. Exit with 0, with 1 after bad input or with 2 after a bad option."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.version:
        print(describe_version() if options.debug else f"lingprob {lingprob.__version__}")
        sys.exit(0)
    if options.command is None:
        parser.error("name a COMMAND")
    try:
        is_file = options.command not in NO_FILE and not options.input.startswith(HUB)
        if is_file and not Path(options.input).exists():
            raise no_such_file(Path(options.input))
        # Heavy imports come after the options have been checked. Most objects that they make stay,
        # and searching these for garbage would take a fifth of the time.
        gc.disable()
        room = "rehearsal.folder" if options.command == "rehearse" else "api.commands"
        import_module(f"lingprob.{room}").run(options)
    except LingprobError as error:
        sys.exit(f"lingprob {options.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of the output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands, each with an example."""
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
            help=one.brief,
            description=fill(f"{one.brief[0].upper()}{one.brief[1:]}. {one.written}"),
            epilog=f"example:\n  lingprob {name} {one.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("input", metavar="INPUT", help=one.given)
        command.add_argument(
            "--output", type=_output, metavar="FILE",
            help="CSV, TSV or Parquet file to write (default: CSV on the screen)",
        )  # fmt: skip
        for option in f"{one.options} digits cache".split():
            add_option(command, option.rstrip("!"), required=option.endswith("!"))
    add_rehearse(commands.add_parser("rehearse", help="a folder to try the workflow in"))
    return parser


def describe_version() -> str:
    """Return versions, platform and a digest of config.yaml here, one per line."""
    config = Path("config.yaml")
    digest = "none here"
    if config.is_file():
        digest = f"sha256 {hashlib.sha256(config.read_bytes()).hexdigest()}"
    told = {"lingprob": lingprob.__version__, "python": platform.python_version()}
    for name in REPORTED:
        try:
            told[name] = version(name)
        except PackageNotFoundError:
            told[name] = "not installed"
    told |= {"platform": platform.platform(), "package": lingprob.__path__[0]}
    told["config.yaml"] = digest
    return "\n".join(f"{name}: {value}" for name, value in told.items())


def add_option(command: argparse.ArgumentParser, name: str, required: bool) -> None:
    """Add one of `OPTIONS`. A tokenizer is given by `--model`."""
    given = dict(OPTIONS[name])
    if name in ("column", "rows", "value"):
        given["type"] = _column
    flag = "model" if name == "tokenizer" else name
    command.add_argument(f"--{flag}", required=required, **given)


def add_rehearse(command: argparse.ArgumentParser) -> None:
    """Add the options of a rehearsal."""
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
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    return path


def _column(text: str) -> tuple[str, str]:
    ours, _, theirs = text.partition("=")
    if not (ours and theirs):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as sentence=Text")
    return ours, theirs
