"""docs/minicons.md: each line runs, and its numbers equal those of minicons if it is installed."""

import re
import shlex
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import lingprob
from checkout import ROOT
from lingprob.api.cli import COMMANDS, main
from lingprob.errors import LingprobError
from lingprob.io.lab_exports import import_export
from lingprob.stats.linking_fits import LINKING_FUNCTIONS
from models_for_tests import SENTENCES, save_tiny_masked_model, save_tiny_model

PAGE = (ROOT / "docs/minicons.md").read_text(encoding="utf-8")
ROWS = [
    [re.findall(r"`((?:[^`\\]|\\.)*)`", cell) for cell in row.split(" | ")[-2:]]
    for row in re.findall(r"^\| (?!you want|--)(.*) \|$", PAGE, re.M)
]
SENTENCE = list(SENTENCES[:6])
CONTEXTS = ["The teacher read.", "It seems.", "The cats sat."] * 2
PAIRS = pd.DataFrame({"good": SENTENCE[:3], "bad": SENTENCE[3:]})
CHAT = "{% for one in messages %}<s>{{ one.role }}: {{ one.content }}</s>{% endfor %}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("minicons")
    save_tiny_model("gpt2", folder / "tiny")
    (folder / "tiny/chat_template.jinja").write_text(CHAT)
    save_tiny_masked_model("bert", folder / "bert")
    unigrams = pd.DataFrame({"token_id": np.arange(320), "logprob": -np.arange(320) / 50 - 1})
    unigrams.to_csv(folder / "unigrams.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def lm(folder) -> lingprob.Model:
    return lingprob.load(folder / "tiny", cache=folder, unigrams=folder / "unigrams.csv")


@pytest.fixture
def place(folder, tmp_path, monkeypatch) -> Path:
    """A working folder with the files that the page names, and a hub of one data set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINGPROB_CACHE", str(folder))
    for name in ("tiny", "bert"):
        (tmp_path / name).symlink_to(folder / name)
    pd.DataFrame({"sentence": SENTENCE}).to_csv("sentences.csv", index=False)
    pd.DataFrame({"text": SENTENCE, "context": CONTEXTS}).to_csv("stories.csv", index=False)
    PAIRS.to_csv("pairs.csv", index=False)
    Path("regions.csv").write_text("text,regions\nThe cats sat.,The cats|sat|.\n")
    Path("text.txt").write_text("\n".join(SENTENCE) + "\n")
    hub = lambda source, **_: PAIRS.copy() if source == "hub:lab/pairs" else read(source)  # noqa: E731
    read = lingprob.read_table
    monkeypatch.setattr("lingprob.read_table", hub)
    return tmp_path


@pytest.mark.parametrize("code", [code for cells in ROWS for code in cells[0]])
def test_calls_of_the_page_run(place, lm, folder, code):
    names: dict[str, Any] = {
        "lingprob": lingprob, "lm": lm, "sentences": SENTENCE, "texts": SENTENCE, "pairs": PAIRS,
        "contexts": CONTEXTS, "bert": lingprob.load(place / "bert", cache=folder),
    }  # fmt: skip
    found = eval(code.replace('"smollm2-135m"', '"./tiny"'), names)
    if isinstance(found, pd.DataFrame):
        assert len(found) > 0
        assert found.select_dtypes("number").notna().any().all()


@pytest.mark.parametrize("line", sorted({line for cells in ROWS for line in cells[1]}))
def test_commands_of_the_page_run(place, line, capsys):
    program, *arguments = shlex.split(re.sub("(smollm2-135m|bert)$| smollm2-135m",
        lambda found: f" ./{'bert' if found[0] == 'bert' else 'tiny'}", line))  # fmt: skip
    assert program == "lingprob"
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert len(capsys.readouterr().out.splitlines()) > 1


def test_the_page_has_every_command_of_a_model():
    shown = {line.split()[1] for cells in ROWS for line in cells[1]}
    assert shown == COMMANDS.keys() - {"audit", "overlap", "certify", "fit", "import", "guard"}
    assert len(ROWS) == 18


def check_start_tokens(lm, bert, theirs, caplog, path):
    for table in (lm.score(SENTENCE), lm.tokens(SENTENCE), lm.compare(PAIRS)):
        assert set(table["bos"]) == {"bos"}
    if theirs:
        sums = theirs.sequence_score(SENTENCE, reduction=lambda x: x.sum(0).item())
        np.testing.assert_allclose(lm.score(SENTENCE, bos="none")["logprob"], sums, atol=1e-4)


def check_output(lm, bert, theirs, caplog, path):
    for name, call in (("sentence", lm.score), ("text", lm.surprisal)):
        table = call(pd.DataFrame({name: SENTENCE, "mine": range(6)})[::-1])
        assert table["mine"].drop_duplicates().tolist() == [5, 4, 3, 2, 1, 0]
    assert theirs is None or isinstance(theirs.sequence_score(SENTENCE), list)


def check_pairs(lm, bert, theirs, caplog, path):
    assert {"accuracy_low", "accuracy_high"} <= {*lm.compare(PAIRS)}
    row = lm.compare(PAIRS, by="pair").iloc[0]
    scores = lm.score([row["good"], row["bad"]])["logprob"]
    assert row["difference"] == pytest.approx(scores[0] - scores[1], abs=1e-4)
    assert row["preferred"] == ("good" if row["difference"] > 0 else "bad")


def check_letters(lm, bert, theirs, caplog, path):
    bert.score("The \u732b sat.")
    assert "no token for '\u732b'" in caplog.text
    strict = lingprob.load(path / "bert", cache=path, unknown_letters="refuse")
    with pytest.raises(LingprobError, match="no token for"):
        strict.score("The \u732b sat.")


def check_human_data(lm, bert, theirs, caplog, path):
    (path / "human.csv").write_text(
        "participant,item,sentence,rating,word_number,word,rt\na,1,It is.,4,1,It,301\n"
    )
    ratings, _ = import_export(path / "human.csv", "ratings")
    times, _ = import_export(path / "human.csv", "reading_times")
    assert (ratings["rating"][0], times["rt_ms"][0]) == (4, 301)
    assert {"morcela", "slor"} < {*LINKING_FUNCTIONS}


CHECKS = {
    "start token": check_start_tokens, "output": check_output, "minimal pairs": check_pairs,
    "letters that a tokenizer cannot represent": check_letters, "human data": check_human_data,
}  # fmt: skip
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = README.partition("## Why not minicons")[2].partition("\n## ")[0]
COMPARED = re.findall(r"^\| ([a-z ]+) \|", COMPARISON, re.M)


@pytest.mark.parametrize("row", COMPARED)
def test_rows_of_the_comparison_hold(row, lm, folder, caplog):
    assert [*CHECKS] == COMPARED
    theirs = None
    if find_spec("minicons"):
        theirs = import_module("minicons.scorer").IncrementalLMScorer(str(folder / "tiny"), "cpu")
        theirs.tokenizer.batch_encode_plus = theirs.tokenizer.__call__
    bert = lingprob.load(folder / "bert", cache=folder)
    CHECKS[row](lm, bert, theirs, caplog, folder)


def test_numbers_are_those_of_minicons(lm, folder, monkeypatch):
    """Sums, tokens with ranks, words, contexts, next tokens and masked models, to 1e-4."""
    scorer = pytest.importorskip("minicons.scorer")
    theirs = scorer.IncrementalLMScorer(str(folder / "tiny"), "cpu")
    # minicons 0.3.39 calls a method that version 5 of transformers has under another name.
    kind = type(theirs.tokenizer)
    monkeypatch.setattr(kind, "batch_encode_plus", kind.__call__, raising=False)
    total = {"reduction": lambda x: x.sum(0).item()}
    for bos in ("bos", "none"):
        with_bos = {"bos_token": bos == "bos"}
        sums = theirs.sequence_score(SENTENCE, **total, **with_bos)
        np.testing.assert_allclose(lm.score(SENTENCE, bos=bos)["logprob"], sums, atol=1e-4)
        tokens = theirs.token_score(SENTENCE, rank=True, **with_bos)
        ours = lm.tokens(SENTENCE, bos=bos)
        skipped = int(bos == "bos")  # minicons lists the start token
        listed = [row for sentence in tokens for row in sentence[skipped:]]
        known = ours["logprob"].notna().to_numpy()
        expected = np.array([row[1] for row in listed])
        np.testing.assert_allclose(ours["logprob"][known], expected[known], atol=1e-4)
        assert ours["rank"][known].tolist() == [row[2] for row in np.array(listed, object)[known]]
        after = theirs.conditional_score(CONTEXTS, SENTENCE, **total, **with_bos)
        score = lm.score(SENTENCE, context=CONTEXTS, bos=bos)["logprob"]
        np.testing.assert_allclose(score, after, atol=1e-4)
    words = theirs.word_score_tokenized(
        SENTENCE, str.split, surprisal=True, base_two=True, bow_correction=True, bos_token=True
    )
    expected = [row[1] for sentence in words for row in sentence]
    np.testing.assert_allclose(lm.surprisal(SENTENCE)["surprisal"], expected, atol=2e-4)
    following = theirs.next_word_distribution(["The cats"], bos_token=True)[0]
    table = lm.next_tokens("The cats", top=5)
    assert table["token_id"].tolist() == following.argsort(descending=True)[:5].tolist()
    np.testing.assert_allclose(table["logprob"], following[table["token_id"].tolist()], atol=1e-4)
    masked = scorer.MaskedLMScorer(str(folder / "bert"), "cpu")
    for metric in ("within_word_l2r", "original"):
        sums = masked.sequence_score(SENTENCE, **total, PLL_metric=metric)
        correction = "none" if metric == "original" else metric
        bert = lingprob.load(folder / "bert", cache=folder, correction=correction)
        np.testing.assert_allclose(bert.score(SENTENCE)["logprob"], sums, atol=1e-4)
