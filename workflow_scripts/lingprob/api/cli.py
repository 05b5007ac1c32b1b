"""What the command `lingprob` takes, and how it ends: imports nothing that costs time."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import NoReturn

import lingprob
from lingprob.errors import no_such_file

FORMATS = (".csv", ".tsv", ".parquet")
SAVED = "the folder of a saved corpus, such as results/cdawg/gutenberg"
NAMED = f"the name of a corpus of the catalog, or {SAVED}"
SEARCHES = ("overlap", "certify")
MODEL_HELP = "a name of the catalog, a folder, or a repository of the hub (owner/name@revision)"
TABLE = "CSV, TSV, Parquet, Excel (.xlsx) or JSON-lines (.jsonl) file"
COMMANDS = {
    "score": (
        "log-probabilities of sentences",
        f"{TABLE} with a column `sentence` and, if something precedes them, `context`",
        "Writes the table with logprob (nats), n_tokens, mean_logprob and, where the model has "
        "unigrams, unigram_logprob and slor beside each sentence.",
        "sentences.csv --model smollm2-135m --output scores.csv",
    ),
    "surprisal": (
        "surprisal of each word of texts, in bits",
        "text file with a passage a line, or a table with a column `text`",
        "Writes a row a word; surprisal is corrected for the blank after the word.",
        "text.txt --model smollm2-135m --output words.csv",
    ),
    "compare": (
        "accuracy on minimal pairs by phenomenon",
        f"{TABLE} with a row a pair (columns `good`, `bad` and, if known, `phenomenon`)",
        "Writes a row a phenomenon: n, accuracy and its 95% interval (Wilson's).",
        "pairs.csv --model smollm2-135m --output accuracy.csv",
    ),
    "audit": (
        "what is wrong with minimal pairs",
        f"{TABLE} with a row a pair (columns `good` and `bad`)",
        "Writes a row a pair, the worst first.",
        "pairs.csv --model smollm2-135m --corpus books.txt --output audit.csv",
    ),
    "overlap": (
        "longest sequences that texts share with a corpus",
        "text file with a passage a line, or a table with a column `text`",
        "Writes a row a longest overlap: its length in tokens, place, text and occurrences.",
        "texts.txt --corpus corpus.jsonl.gz --model smollm2-135m --output overlaps.csv",
    ),
    "certify": (
        "whether corpora have texts, where, and whether by more than chance",
        "text file with a passage a line, a table with a column `text`, or a data set of the "
        "catalog, such as linguistic_inquiry",
        "Writes a row a text and corpus: the longest overlap in tokens, its occurrences, chance "
        "level, verdict, place and context.",
        "texts.txt --corpus gutenberg --corpus corpus.jsonl.gz --model gpt-neox-20b "
        "--output certificate.csv",
    ),
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit: 0, 1 after an error of the input, 2 after one of options."""
    options = build_parser().parse_args(arguments)
    try:
        if options.command not in ("certify", "rehearse") and not options.input.exists():
            raise no_such_file(options.input)
        # Heavy imports come after the options are known to be sound.
        room = "rehearsal.folder" if options.command == "rehearse" else "api.commands"
        run = import_module(f"lingprob.{room}").run
        run(options)
    except lingprob.LingprobError as error:
        sys.exit(f"lingprob {options.command}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output has seen enough
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
    for name, (brief, given, written, example) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=brief,
            description=fill(f"{brief[0].upper()}{brief[1:]}. {written}"),
            epilog=f"example:\n  lingprob {name} {example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_argument("input", metavar="INPUT", type=Path, help=given)
        add_options(command, name)
    add_rehearse(commands.add_parser("rehearse", help="a folder to try the workflow in"))
    return parser


def add_rehearse(command: argparse.ArgumentParser) -> None:
    """Add what the rehearsal of a scale takes."""
    command.description = (
        "Write tiny models, made-up data and config.yaml to FOLDER. Then run `snakemake all "
        "--cores 2 --directory FOLDER --configfile FOLDER/config.yaml` in the checkout."
    )
    command.add_argument("folder", metavar="FOLDER", type=Path, help="a new folder")
    command.add_argument("--scale", default="paper", help="demo, laptop or paper (if left out)")
    command.add_argument(
        "--short", action="store_true", help="of scale paper one or two jobs of each rule"
    )


def add_options(command: argparse.ArgumentParser, name: str) -> None:
    """Add what a command takes beside its input."""
    if name in SEARCHES:
        models = f"{MODEL_HELP}, or a tokenizer (gpt-neox-20b); if left out that of a saved corpus"
    else:
        models = MODEL_HELP
    command.add_argument("--model", required=name not in SEARCHES, metavar="NAME", help=models)
    command.add_argument(
        "--output",
        type=_output,
        metavar="FILE",
        help="CSV, TSV or Parquet file to write; as CSV to the screen without it",
    )
    command.add_argument(
        "--digits", type=int, metavar="N", help="decimals to round to; in full without it"
    )
    command.add_argument("--cache", metavar="DIR", help="where models are kept, or LINGPROB_CACHE")
    if name in ("audit", *SEARCHES):
        command.add_argument(
            "--corpus",
            metavar="FILE",
            action="append",
            required=name in SEARCHES,
            help="one or more: .txt (one document), .jsonl (field text) or .parquet (column text)"
            + {"certify": f", {NAMED}", "overlap": f", {SAVED}"}.get(name, ""),
        )
    if name in SEARCHES:
        command.add_argument("--min-length", type=int, metavar="N", help="shortest overlap, tokens")
    if name == "certify":
        command.add_argument(
            "--ngrams",
            default="auto",
            metavar="SOURCE",
            help="whose 5-grams the chance level is computed with: a corpus, an ARPA or KenLM "
            "file, none, or auto, the first of the other corpora",
        )
        command.add_argument(
            "--save",
            metavar="DIR",
            help="save each corpus there, to be searched again by its folder: 25 bytes a token",
        )
    if name == "overlap":
        return
    command.add_argument("--config", metavar="FILE", help="entries of your own, as config.yaml")
    if name == "certify":
        return
    command.add_argument("--device", help="auto, cpu, cuda, cuda:N or mps")
    command.add_argument("--family", help="known family of a folder or repository, such as gpt2")
    command.add_argument(
        "--correction",
        metavar="NAME",
        help="of a masked model: within_word_l2r (if left out), whole_word or none",
    )
    if name in ("score", "audit"):
        command.add_argument(
            "--unigrams", metavar="SOURCE", help="unigrams for SLOR: a source, or a file"
        )
    if name in ("score", "compare"):
        command.add_argument(
            "--bos",
            metavar="POLICY",
            help="what precedes a sentence and whether its first token counts: none, bos, "
            "bos_first_excluded ... (docs/catalog.md), or paper, that of the model's paper; if "
            "left out, a start token, and every token counts",
        )
    if name == "compare":
        command.add_argument(
            "--by",
            default="phenomenon",
            choices=("phenomenon", "paradigm", "pair"),
            help="what a row is",
        )
    ours = {"score": "sentence", "surprisal": "text"}.get(name, "good")
    command.add_argument(
        "--column",
        dest="columns",
        action="append",
        default=[],
        type=_column,
        metavar="OURS=YOURS",
        help=f"what a column is called in the file, such as {ours}=Text",
    )


def _output(text: str) -> Path:
    path = Path(text)
    if path.suffix not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} ends in none of {', '.join(FORMATS)}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    return path


def _column(text: str) -> tuple[str, str]:
    ours, separator, theirs = text.partition("=")
    if not (ours and separator and theirs):
        raise argparse.ArgumentTypeError(f"{text!r} is not OURS=YOURS, such as sentence=Text")
    return ours, theirs
