"""Options of the command `lingprob`, and how it ends. Nothing here takes long to import."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

import lingprob
from lingprob.errors import LingprobError, no_such_file

FORMATS = (".csv", ".tsv", ".parquet")
SAVED = "the folder of a saved corpus, such as results/cdawg/gutenberg"
MODEL = "a name in the catalog, a folder, or a repository of the hub (owner/name@revision)"
TABLE = "a CSV, TSV, Parquet, Excel (.xlsx) or JSON-lines (.jsonl) file"
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


LOADING = "model! config device family correction column"
COMMANDS = {
    "score": Command(
        "log-probabilities of sentences",
        f"{TABLE} with a column `sentence` and optionally `context`",
        "Writes the table with new columns: logprob (nats), n_tokens and mean_logprob. If the "
        "model has unigrams, it adds unigram_logprob and slor.",
        "sentences.csv --model smollm2-135m --output scores.csv",
        f"{LOADING} unigrams bos",
    ),
    "surprisal": Command(
        "surprisal of each word of texts, in bits",
        TEXTS,
        "Writes one row per word. Surprisal is corrected for the space after the word.",
        "text.txt --model smollm2-135m --output words.csv",
        f"{LOADING} bos",
    ),
    "compare": Command(
        "accuracy on minimal pairs by phenomenon",
        PAIRS,
        "Writes one row per phenomenon: n, accuracy and Wilson's 95% interval.",
        "pairs.csv --model smollm2-135m --output accuracy.csv",
        f"{LOADING} bos by",
    ),
    "audit": Command(
        "problems of minimal pairs",
        PAIRS,
        "Writes one row per pair, the worst first.",
        "pairs.csv --model smollm2-135m --corpus books.txt --output audit.csv",
        f"{LOADING} unigrams corpus",
    ),
    "overlap": Command(
        "longest sequences that texts share with a corpus",
        TEXTS,
        "Writes one row per longest overlap: its length in tokens, place, text and occurrences.",
        "texts.txt --corpus corpus.jsonl.gz --model smollm2-135m --output overlaps.csv",
        "tokenizer corpus! min-length column",
    ),
    "certify": Command(
        "overlaps of texts with corpora, and whether they exceed chance",
        f"{TEXTS}, or a data set of the catalog, such as linguistic_inquiry",
        "Writes one row per text and corpus: the longest overlap in tokens, its occurrences, "
        "chance level, verdict, place and context.",
        "texts.txt --corpus gutenberg --corpus corpus.jsonl.gz --model gpt-neox-20b "
        "--output certificate.csv",
        "tokenizer corpus! min-length ngrams save config column",
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
    "by": {
        "default": "phenomenon",
        "choices": ("phenomenon", "paradigm", "pair"),
        "help": "what a row is",
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
    options = build_parser().parse_args(arguments)
    try:
        if options.command not in ("certify", "rehearse") and not options.input.exists():
            raise no_such_file(options.input)
        # Heavy imports come after the options have been checked.
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
    parser.add_argument("--version", action="version", version=f"lingprob {lingprob.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, one in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=one.brief,
            description=fill(f"{one.brief[0].upper()}{one.brief[1:]}. {one.written}"),
            epilog=f"example:\n  lingprob {name} {one.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("input", metavar="INPUT", type=Path, help=one.given)
        command.add_argument(
            "--output", type=_output, metavar="FILE",
            help="CSV, TSV or Parquet file to write (default: CSV on the screen)",
        )  # fmt: skip
        for option in f"{one.options} digits cache".split():
            add_option(command, option.rstrip("!"), required=option.endswith("!"))
    add_rehearse(commands.add_parser("rehearse", help="a folder to try the workflow in"))
    return parser


def add_option(command: argparse.ArgumentParser, name: str, required: bool) -> None:
    """Add one of `OPTIONS`. A tokenizer is given by `--model`."""
    given = dict(OPTIONS[name])
    if name == "column":
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
        raise argparse.ArgumentTypeError(f"{text!r} is not OURS=YOURS, such as sentence=Text")
    return ours, theirs
