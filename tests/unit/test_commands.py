"""The command `lingprob`: its files equal the results of calls, and mistakes get one message."""

import hashlib
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lingprob
from lingprob.api.cli import COMMANDS, build_parser, main
from lingprob.errors import LingprobError
from lingprob.workflow.digests import SCRIPTS
from models_for_tests import SENTENCES, save_tiny_model

PAIRS = pd.DataFrame({"good": SENTENCES[:2], "bad": SENTENCES[2:4], "phenomenon": ["a", "b"]})
PASSAGES = ["The cat sat on the mat. It slept all day.", "", "Naïve façades: a test!"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A tiny model in `tiny`, named by an entry in own.yaml, and a cache."""
    folder = tmp_path_factory.mktemp("commands")
    save_tiny_model("gpt_neox", folder / "tiny")
    entry = {"title": "Tiny", "family": "own", "source": "local", "path": str(folder / "tiny")}
    config = {"models": {"tiny": {**entry, "bos_policies": ["bos_first_excluded", "none"]}}}
    (folder / "own.yaml").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def model(folder) -> list[str]:
    return ["--model", "tiny", "--config", str(folder / "own.yaml"), "--cache", str(folder)]


@pytest.fixture(scope="module")
def lm(folder) -> lingprob.Model:
    return lingprob.load("tiny", config=folder / "own.yaml", cache=folder)


def ended(status: int, arguments: list[str]) -> None:
    """Run a command, which must end with a status."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == status


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in its own folder, and return the table that it writes."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> pd.DataFrame:
        ended(0, [*map(str, arguments), "--output", "output.parquet"])
        return pd.read_parquet("output.parquet")

    return run


def test_tables_have_what_the_calls_return(run, lm, model, capsys):
    frame = pd.DataFrame({"mark": ["a", "b", "c"], "Text": SENTENCES[:3]})
    frame.to_csv("sentences.csv", index=False)
    frame.assign(context="It seems.").to_csv("contexts.csv", index=False)
    scored = run("score", "sentences.csv", *model, "--column", "sentence=Text")
    called = lm.score(SENTENCES[:3])
    assert scored.columns.tolist() == ["mark", "Text", *called.columns[1:]]
    assert scored[called.columns[1:]].equals(called[called.columns[1:]])
    options = (*model, "--column", "sentence=Text", "--bos", "eos", "--tokens-per-batch", 64)
    after = run("score", "contexts.csv", *options)
    expected = lm.score(SENTENCES[:3], context="It seems.", bos="eos")
    assert after["logprob"].tolist() == expected["logprob"].tolist()
    tokens = run("tokens", "contexts.csv", *options)
    theirs = lm.tokens(SENTENCES[:3], context="It seems.", bos="eos")
    pd.testing.assert_frame_equal(tokens.drop(columns="mark"), theirs, check_exact=True)
    assert tokens["mark"].tolist() == ["abc"[n - 1] for n in theirs["sentence_id"]]
    for name in ("tokens", "words"):
        found = run(f"next-{name}", "The cat", *model, "--top", 2, "--bos", "eos")
        assert found.equals(getattr(lm, f"next_{name}")("The cat", top=2, bos="eos"))
    for digits in (2, 0):
        rounded = run("score", "contexts.csv", *options, "--digits", digits)["logprob"]
        assert rounded.tolist() == [round(one, digits) for one in expected["logprob"]]
    assert "3 rows: output.parquet\n" in capsys.readouterr().err
    assert not list(Path().glob(".*"))
    ended(0, ["score", "sentences.csv", *model, "--column", "sentence=Text"])
    assert capsys.readouterr().out.startswith("mark,Text,logprob,n_tokens,mean_logprob,")


def test_texts_are_lines_paragraphs_or_a_column(run, lm, model, folder, caplog):
    Path("texts.txt").write_text("\n".join(PASSAGES), encoding="utf-8")
    assert run("surprisal", "texts.txt", *model).equals(lm.surprisal(PASSAGES))
    frame = pd.DataFrame({"Passage": PASSAGES, "story": [4, 5, 6], "context": ["It seems."] * 3})
    frame.to_csv("passages.csv", index=False)
    table = run("surprisal", "passages.csv", *model, "--column", "text=Passage", "--bos", "eos")
    expected = lm.surprisal(PASSAGES, context="It seems.", bos="eos")
    assert table["surprisal"].tolist() == expected["surprisal"].tolist()
    assert table["story"].tolist() == [str(3 + n) for n in expected["text_id"]]
    assert "do not end a sentence" not in caplog.text
    Path("wrapped.txt").write_text("The cat, which\nwas old, sat\non the mat.\n\n\nIt slept.\n")
    blocks = ["The cat, which was old, sat on the mat.", "It slept."]
    table = run("surprisal", "wrapped.txt", *model, "--passages", "paragraphs")
    assert table.equals(lm.surprisal(blocks))
    assert run("surprisal", "wrapped.txt", *model)["text_id"].max() == 6
    assert "do not end a sentence" not in caplog.text  # two of four
    Path("wrapped.txt").write_text("The cat, which\nwas old, sat\non the mat.\n")
    run("surprisal", "wrapped.txt", *model)
    assert "2 of 3 lines do not end a sentence" in caplog.text
    assert "--passages paragraphs" in caplog.text

    Path("corpus.jsonl").write_text(json.dumps({"text": "Once the cat sat on the mat again."}))
    search = ("--corpus", "corpus.jsonl", "--model", folder / "tiny", "--cache", folder)
    found = run("overlap", "texts.txt", *search, "--min-length", 2)
    theirs = lingprob.find_overlap(
        PASSAGES, Path("corpus.jsonl"), tokenizer=folder / "tiny", cache=folder, min_length=2
    )
    assert found.equals(theirs)
    named = run("overlap", "passages.csv", *search, "--min-length", 2, "--column", "text=Passage")
    assert named.equals(theirs)


def test_pairs_and_ratings_have_what_the_calls_return(run, lm, model, monkeypatch):
    PAIRS.to_csv("pairs.csv", index=False)
    compared = run("compare", "pairs.csv", *model, "--by", "pair", "--bos", "eos")
    assert compared.equals(lm.compare(PAIRS, by="pair", bos="eos"))
    distances = pd.DataFrame({"pair_id": ["1", "2"], "cosine_distance": [0.25, 0.75]})
    monkeypatch.setattr("lingprob.api.pairs.measure_distances", lambda *_: distances)
    audited = run("audit", "pairs.csv", *model, "--corpus", "demo_control").sort_values("pair_id")
    found = audited[["pair_id", "cosine_distance", "corpus"]].to_numpy().tolist()
    assert found == [["1", 0.25, "demo_control"], ["2", 0.75, "demo_control"]]
    random = np.random.default_rng(1)
    ratings = pd.DataFrame(random.normal(size=(40, 3)), columns=["logprob", "unigram_logprob", "z"])
    ratings[["logprob", "unigram_logprob"]] -= 9  # logarithms of probabilities are below 0
    ratings = ratings.assign(n_tokens=random.integers(3, 12, 40), article=np.arange(40) // 4)
    ratings.to_csv("ratings.csv", index=False)
    given = [ratings[name] for name in ("logprob", "unigram_logprob", "n_tokens", "z")]
    for cluster, values in (("article", ratings["article"]), ("none", None)):
        fits = run("fit", "ratings.csv", "--cluster", cluster, "--column", "rating=z")
        expected = lingprob.fit_linking_functions(*given, clusters=values)
        pd.testing.assert_frame_equal(fits, expected)
    for name in ("logprob", "unigram_logprob"):
        ratings.assign(**{name: 2.5}).to_csv("surprisals.csv", index=False)
        with pytest.raises(SystemExit, match=rf"row 1, column '{name}': above 0: 2\.5 .*sign"):
            main(["fit", "surprisals.csv", "--cluster", "none", "--column", "rating=z"])


@pytest.mark.parametrize(
    ("command", "text", "options", "said"),
    [
        ("score", "Sentence\nA cat.\n", [], r"no columns \['sentence'\].*{sentence: Sentence}\?"),
        ("score", "Satz\nA cat.\n", [], r"no columns \['sentence'\].*--column sentence=Text"),
        ("score", "sentence,logprob\nA cat.,1\n", [], "in.csv: a column 'logprob' is there"),
        ("score", "sentence,mark\nA cat.,a\n  ,b\n", [], "in.csv: sentence 2 is '  ', which"),
        ("score", "text\nA cat.\n", ["--column", "sentence=Text"],
         r"no columns \['Text'\].*\['text'\].*Correct --column"),
        ("score", "Text\nA cat.\n", ["--column", "sentnce=Text"], "Did you mean 'sentence'"),
        ("score", "sentence\nA cat.\n", ["--unigrams", "no.csv"], "no.csv: no such file"),
        ("score", "sentence\nA cat.\n", ["--chat"], "no chat template"),
        ("score", None, [], "in.csv: no such file"),
        ("compare", "good,worse\nA.,B.\n", [], r"no columns \['bad'\]"),
        ("compare", "Good,Bad\nA.,B.\n", [], r"mean {good: Good, bad: Bad}\?"),
        ("compare", "sentence,pair\nA.,1\n", [], "pair '1': 0 grammatical sentences"),
    ],
)  # fmt: skip
def test_a_mistake_gets_one_message(tmp_path, model, capfd, command, text, options, said):
    if text is not None:
        (tmp_path / "in.csv").write_text(text)
    output = tmp_path / "out.csv"
    arguments = [command, str(tmp_path / "in.csv"), *model, *options, "--output", str(output)]
    with pytest.raises(SystemExit, match=rf"(?s)^lingprob {command}: .*{said}") as end:
        main(arguments)
    assert "Traceback" not in str(end.value.code) + capfd.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize(
    ("called", "command", "options"),
    [
        ("load", "score in.csv", "--family opt --device cpu --tokens-per-batch 7 --unigrams u "
         "--correction none --config own.yaml --cache c"),
        ("certify", "certify in.csv --corpus d",
         "--ngrams n --min-length 3 --save s --config own.yaml --cache c"),
        ("find_overlap", "overlap in.csv --corpus d", "--min-length 3 --cache c"),
        ("read_table", "score hub:a/b", "--split test --configuration en"),
    ],
)  # fmt: skip
def test_options_reach_their_call(monkeypatch, tmp_path, called, command, options):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("sentence,text\nA.,A.\n")
    Path("own.yaml").write_text("scale: demo\n")
    asked: dict[str, str] = {}

    def stand_in(*_: object, **given: object) -> None:
        asked.update({f"--{name.replace('_', '-')}": str(value) for name, value in given.items()})
        raise LingprobError("asked")

    monkeypatch.setattr(f"lingprob.{called}", stand_in)
    with pytest.raises(SystemExit, match="asked"):
        main(f"{command} --model gpt2 {options}".split())
    assert asked.pop("--tokenizer", "gpt2") == "gpt2"
    assert asked == dict(zip(options.split()[::2], options.split()[1::2], strict=True))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["score", "a.csv", "--model", "m", "--output", "scores.txt"], "ends in none of .csv,"),
        (["score", "a.csv", "--model", "m", "--output", "no/scores.csv"], "in no folder to write"),
        (["score", "a.csv", "--model", "m", "--output", "scores.csv"], "'scores.csv' is a folder"),
        (["score", "a.csv", "--model", "m", "--digits", "-1"], "'-1' is no whole number from 0"),
        (["score", "a.csv", "--model", "m", "--column", "sentence"], "is not NAME=VALUE"),
        (["score", "a.csv", "--model", "m", "--batch", "3"], "unrecognized arguments"),
        (["score", "a.csv"], "required: --model"),
        (["overlap", "a.txt"], "required: --corpus"),
        ([], "name a COMMAND"),
    ],
)
def test_options_are_refused_before_any_reading(capsys, arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("scores.csv").mkdir()
    ended(2, arguments)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_a_valid_example(command, capsys):
    ended(0, [command, "--help"])
    example = f"lingprob {command} {COMMANDS[command]['example']}"
    assert f"example:\n  {example}" in capsys.readouterr().out
    assert build_parser().parse_args(shlex.split(example)[1:]).command == command


def test_the_version_and_what_a_report_needs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("scale: demo\n")
    shown = []
    for more in ([], ["--debug"]):
        ended(0, ["--version", *more])
        shown.append(capsys.readouterr().out)
    assert shown[0] == f"lingprob {lingprob.__version__}\n"
    lines = dict(line.split(": ", 1) for line in shown[1].splitlines())
    assert lines["lingprob"] == lingprob.__version__
    assert {"python", "torch", "transformers", "snakemake", "platform"} <= lines.keys()
    digest = hashlib.sha256(b"scale: demo\n").hexdigest()
    assert lines["config.yaml"] == f"sha256 {digest}"


def python(code: str, folder: Path) -> list[str]:
    """Run code in a fresh process; return the words that it prints."""
    environment: dict[str, Any] = {"PYTHONPATH": str(SCRIPTS)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, text=True, capture_output=True,
        check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_help_and_a_wrong_model_import_nothing_heavy(tmp_path):
    loaded = python(
        "import sys, lingprob.api.cli as cli; cli.build_parser(); print(*sys.modules)", tmp_path
    )
    assert "lingprob" in loaded
    assert not {"torch", "transformers", "pandas", "numpy", "scipy", "yaml"} & set(loaded)
    (tmp_path / "in.csv").write_text("sentence\nThe cat sat.\n")
    said = python(
        "import sys; from lingprob.api.cli import main\n"
        "try: main(['score', 'in.csv', '--model', 'smolm2-135m'])\n"
        "except SystemExit as end: print(end.code, {'torch', 'statsmodels'} & set(sys.modules))",
        tmp_path,
    )
    assert "'smollm2-135m'?" in said
    assert said[-1] == "set()"
