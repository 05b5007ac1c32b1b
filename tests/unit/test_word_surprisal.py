"""Word surprisals of models and from elsewhere."""

import json
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.io.shards import Shards
from lingprob.io.tables import write_table
from lingprob.models.loading import LanguageModel, Tokens, load_language_model
from lingprob.models.tokenizer import Letters
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.surprisal import (
    ScoredPassage,
    passages_of,
    space_tokens,
    sum_words,
    token_word_index,
    word_surprisals,
)
from lingprob.scoring.engine import Scorer
from models_for_tests import save_tiny_model
from words_for_tests import words_of

TEXT = (
    "Who did Mary say that John saw? The cats sat on the mats. It seems to him that Kim solved it."
)


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    return load_language_model(
        save_tiny_model("gpt_neox", tmp_path_factory.mktemp("tiny")), device="cpu"
    )


@pytest.fixture
def words() -> pd.DataFrame:
    """Two passages of the same three sentences."""
    rows = []
    for passage in ("a", "b"):
        sentence = 0
        for index, word in enumerate(TEXT.split()):
            rows.append((passage, index, word, sentence))
            sentence += word.endswith((".", "?"))
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


SPACED = np.zeros(9, dtype=bool)  # words that are not glued


def tokens(*spans: tuple[int, int]) -> Tokens:
    start, end = np.array(spans, dtype=np.int32).T
    return Tokens(np.arange(len(spans), dtype=np.int32), start, end)


def test_spaces_move_to_the_word_before():
    """`a bc d`: tokens a | _b c | _d, with powers of one half, so that bits are whole numbers."""
    half = -np.log(2)
    passage = ScoredPassage(
        logprob=half * np.array([3, 5, 1, 4]), space=half * np.array([9, 2, 7, 1, 6])
    )
    found = sum_words(np.array([0, 1, 1, 2]), passage, SPACED[:3])
    assert found["surprisal_uncorrected"] == pytest.approx([3, 6, 4])
    assert found["n_tokens"].tolist() == [1, 2, 1]
    # a: 3 + 2 (a space after it); bc: 6 - 2 + 1; d: 4 - 1 + 6. Within bc, 7 plays no part.
    assert found["surprisal"] == pytest.approx([5, 5, 9])


def test_first_words_without_context_have_no_surprisal():
    passage = ScoredPassage(np.array([np.nan, -1.0, -2.0]), np.array([np.nan, -0.5, -0.25, -0.125]))
    found = sum_words(np.array([0, 1, 1]), passage, SPACED[:2])
    corrected, uncorrected = found["surprisal"], found["surprisal_uncorrected"]
    assert np.isnan([corrected[0], uncorrected[0]]).all()
    assert uncorrected[1] * np.log(2) == pytest.approx(3)
    assert corrected[1] * np.log(2) == pytest.approx(3 - 0.5 + 0.125)


def test_tokens_belong_to_their_last_letters_word():
    # Offsets with the space inside the token, next to it, and as a separate token. Two tokens of
    # the bytes of one letter have the same offsets.
    for words, spans, expected in (
        (["to", "be"], [(0, 2), (2, 5)], [0, 1]), (["to", "be"], [(0, 2), (3, 5)], [0, 1]),
        (["to", "be"], [(0, 1), (1, 2), (2, 3), (3, 5)], [0, 0, 1, 1]),
        (["to be", "or"], [(0, 2), (3, 5), (6, 8)], [0, 0, 1]),
        (["é", "x"], [(0, 1), (0, 1), (1, 3)], [0, 0, 1]),
    ):  # fmt: skip
        assert token_word_index(words, tokens(*spans), "x", SPACED[:2]).tolist() == expected


def test_spanning_tokens_and_uncovered_letters_are_refused(lm, monkeypatch):
    with pytest.raises(LingprobError, match=r"passage 'p': a token spans 'to' and 'be'"):
        token_word_index(["to", "be"], tokens((0, 5)), "passage 'p'", SPACED[:2])
    for lost, spans, context, said in (
        (["e"], [(0, 2), (2, 5)], "passage", "passage '1': the tokenizer has no token for 'e'"),
        ([], [(0, 1), (1, 2)], "sentence", "passage '1', sentence 0: .* no token for 'be'"),
    ):
        monkeypatch.setattr(Letters, "lost", lambda *_, lost=lost: lost)
        monkeypatch.setattr(lm, "tokenize", lambda _, spans=spans: [tokens(*spans)])
        with pytest.raises(LingprobError, match=said):
            word_surprisals(lm, words_of("to be"), start_token="bos", context=context)


def test_tokens_that_begin_with_a_space(lm):
    ids = set(space_tokens(lm.tokenizer, lm.vocabulary_size))
    names = lm.tokenizer.convert_ids_to_tokens(range(lm.vocabulary_size))
    special = set(lm.tokenizer.all_special_ids)
    assert {"Ġ", "Ċ"} <= {name[0] for name in names}
    assert ids == {n for n, name in enumerate(names) if name[0] == "Ġ" and n not in special}
    with pytest.raises(LingprobError, match="no token of the vocabulary begins with a space"):
        space_tokens(lm.tokenizer, 3)


def test_surprisals_are_the_plain_models(lm, words):
    """Against the model called as its authors meant it, word by word, in float64 sums."""
    table = word_surprisals(lm, words, start_token="bos")
    found = lm.tokenize([TEXT])[0]
    fed = torch.tensor([[0, *found.ids]])
    logprobs = lm.model(fed).logits[0].double().log_softmax(-1).numpy()
    spaces = np.logaddexp.reduce(logprobs[:, space_tokens(lm.tokenizer, 320)], axis=1)
    starts = [match.start() for match in re.finditer(r"\S+", TEXT)]
    by_word: list[list[int]] = [[] for _ in starts]
    for place, end in enumerate(found.char_end):
        by_word[np.searchsorted(starts, end, side="right") - 1].append(place)
    for number, places in enumerate(by_word):
        nats = -sum(logprobs[place, found.ids[place]] for place in places)
        row = table.iloc[number]
        assert row["n_tokens"] == len(places)
        assert row["surprisal_uncorrected"] == pytest.approx(nats / np.log(2), abs=1e-4)
        before = spaces[places[0]] if number else 0
        corrected = (nats + before - spaces[places[-1] + 1]) / np.log(2)
        assert row["surprisal"] == pytest.approx(corrected, abs=1e-4)
    count = len(starts)
    assert table["surprisal"].tolist() == table["surprisal"].tolist()[:count] * 2


def test_sentence_context_ignores_earlier_sentences(lm, words):
    whole = word_surprisals(lm, words, start_token="bos")
    by_sentence = word_surprisals(lm, words, start_token="bos", context="sentence")
    first = (words["sentence_index"] == 0).to_numpy()
    columns = ["surprisal_uncorrected", "n_tokens"]
    pd.testing.assert_frame_equal(whole.loc[first, columns], by_sentence.loc[first, columns])
    later = np.abs(whole["surprisal"] - by_sentence["surprisal"])[~first]
    assert (later > 1e-3).mean() > 0.9
    with pytest.raises(LingprobError, match="texts whose sentences are marked"):
        passages_of(words.assign(sentence_index=None), "sentence")


@pytest.mark.parametrize(("counts", "fed"), [("predicted", 63), ("fed", 64)])
def test_windows_of_long_passages(lm, counts, fed):
    """Each token from the tokens that it may see, one by one, in float64; in two conventions.

    The window is the model's own. Token 64 (from 0, the start token counts) is the first that a
    model sees the second half of the window before, or the last that it sees the whole before.
    """
    long = " ".join([TEXT] * 4)
    split = long.split()
    words = pd.DataFrame(
        {"passage_id": "a", "word_index": range(len(split)), "word": split, "sentence_index": 0}
    )
    assert lm.context_window == 64
    table = word_surprisals(lm, words, start_token="bos", window_counts=counts)
    ids = np.array([0, *lm.tokenize([long])[0].ids])
    nats = []
    for place in range(1, len(ids)):
        start = 0
        while place - start > fed:
            start += 32
        logits = lm.model(torch.from_numpy(ids[None, start:place])).logits[0, -1].double()
        nats.append(-logits.log_softmax(-1)[ids[place]].item())
    ends = table["n_tokens"].cumsum().to_numpy()
    expected = np.add.reduceat(nats, np.append(0, ends[:-1])) / np.log(2)
    assert table["surprisal_uncorrected"].to_numpy() == pytest.approx(expected, abs=1e-4)


CHANGES = {"start_token": "none", "window_counts": "fed"}


@pytest.mark.parametrize("changed", ["nothing", "spaces", "weights", "dtype", *CHANGES])
def test_a_killed_job_resumes_only_its_own_settings(lm, words, tmp_path, monkeypatch, changed):
    """A setting that changes between the runs leaves no stale shard."""
    monkeypatch.setattr("lingprob.reading.surprisal.TOKENS_PER_BATCH_OF_PASSAGES", 5)
    first = {"start_token": "bos", "shards": Shards(tmp_path, "x")}
    word_surprisals(lm, words, **first)
    # The two passages are the same, so is their shard.
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    second = first | {name: value for name, value in CHANGES.items() if name == changed}
    if changed == "weights":
        second["shards"] = Shards(tmp_path, "y")
    if changed == "dtype":
        lm = load_language_model(lm.directory, device="cpu", dtype="bfloat16")
    if changed == "spaces":
        monkeypatch.setattr("lingprob.reading.surprisal.OF_BYTES", "Ġt")
    settings = {name: value for name, value in second.items() if name != "shards"}
    expected = word_surprisals(lm, words, **settings)
    scored = []
    score = Scorer.score
    monkeypatch.setattr(Scorer, "score", lambda *a, **b: scored.append(1) or score(*a, **b))
    pd.testing.assert_frame_equal(word_surprisals(lm, words, **second), expected)
    assert bool(scored) == (changed != "nothing")


def test_regions_have_the_sum_of_their_words(lm, words):
    """Spaces within a region move between its words alone."""
    by_word = word_surprisals(lm, words, start_token="bos")
    some = words[words["passage_id"] == "a"]
    cut = np.array([0, 2, 3, 7, 12, len(some)])
    regions = [" ".join(some["word"][a:b]) for a, b in pairwise(cut)]
    frame = pd.DataFrame({"passage_id": "a", "word_index": range(5), "word": regions})
    found = word_surprisals(lm, frame.assign(sentence_index=0), start_token="bos")
    sums = by_word[: len(some)].groupby(np.searchsorted(cut, range(len(some)), "right") - 1)
    columns = ["surprisal", "surprisal_uncorrected", "n_tokens"]
    np.testing.assert_allclose(found[columns], sums[columns].sum(), atol=1e-5)


SMALL = words_of("So what?", "No.")


def test_imports_by_story_and_by_table_agree(tmp_path):
    by_story = tmp_path / "s.JSON"
    stories = json.dumps({"2": [[1.0]], "1": [[2.0], [0.5]], "3": [[9.0]]})
    by_story.write_text(stories, encoding="utf-8-sig")
    table = pd.DataFrame(
        {"passage_id": [2, 1, 1], "word_index": [0, 1, 0], "surprisal": [1.0, 0.5, 2.0],
         "word": ["No", "what", "so"]}
    )  # fmt: skip
    table.to_csv(tmp_path / "s.csv", index=False)
    table.to_parquet(tmp_path / "s.parquet")
    for path in (by_story, tmp_path / "s.csv", tmp_path / "s.parquet"):
        found = import_word_surprisals(path, SMALL, "nats")
        assert found["surprisal"].to_numpy() * np.log(2) == pytest.approx([2.0, 0.5, 1.0])
        bits = import_word_surprisals(path, SMALL)
        assert bits["surprisal"].tolist() == [2.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", '{"1": [2.0], "2": [1.0]}', "passage '1' has 1 surprisals and 2 words"),
        ("s.json", '{"1": [[2.0, Infinity]], "2": [1.0]}', "passage '1', word 1: inf"),
        ("s.json", '{"1": [[2.0, -0.1]], "2": [1.0]}', "passage '1', word 1: -0.1, below 0"),
        ("s.json", '{"1": [[null, NaN]], "2": [1.0]}', "no surprisal in all of passage '1'"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,2\n1,1,-3\n2,0,1\n",
         "passage '1', word 1: -3.0, below 0 .*turn their sign: `surprisal = -logprob`"),
        ("s.csv", "passage_id,word_index,surprisal\n,0,2\n", "'passage_id': no value"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,\n1,1,\n", "'surprisal': all of it is"),
        ("s.json", "[1, 2]", "not JSON of word surprisals"),
        ("s.json", '{"1": [9.0, 9.0], "2": [1.0], "1": [2.0, 1.0]}', "'1' occurs twice"),
        ("s.json", '{"1": "99", "2": [2.0, 1.0]}', "'99' is no list of numbers"),
        ("s.json", '{"1": [true, 9.0], "2": [2.0, 1.0]}', "True is no number"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,2\n1,1,1\n1,2,1\n2,0,1\n",
         "a surprisal for word 2 of passage '1', which the text"),
        ("s.csv", "passage_id,word_index,surprisal\n2,0,1\n", "in all of passage '1'"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,2\n1,0,3\n", "word 0 of passage '1'"),
        ("s.csv", "passage_id,word_index,surprisal,word\n1,0,2,So\n1,1,1,when\n2,0,1,No\n",
         "word 1 of passage '1' is 'when' in the surprisals and 'what\\?'"),
    ],
)  # fmt: skip
def test_bad_imports_are_one_message(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(LingprobError, match=message):
        import_word_surprisals(path, SMALL)
    with pytest.raises(LingprobError, match="unknown unit 'bans'"):
        import_word_surprisals(path, SMALL, "bans")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.json", '{"1": [null, 2.0], "2": [1.0]}'),
        ("s.json", '{"1": [[NaN], [2.0]], "2": [[1.0]]}'),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,\n1,1,2\n2,0,1\n"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,NA\n1,1,2\n2,0,1\n"),
        ("s.csv", "passage_id,word_index,surprisal\n1,1,2\n2,0,1\n"),
    ],
)
def test_missing_first_surprisals_are_counted(tmp_path, caplog, name, content):
    path = tmp_path / name
    path.write_text(content)
    found = import_word_surprisals(path, SMALL)
    assert found["surprisal"].isna().tolist() == [True, False, False]
    assert found["surprisal"].dropna().tolist() == [2.0, 1.0]
    assert "1 of 3 words have no surprisal, such as word 0 of passage '1' ('So')" in caplog.text
    write_table(found, "surprisal", tmp_path / "out.parquet")


def test_first_words_of_sentences_may_be_zero(tmp_path, caplog):
    path = tmp_path / "s.json"
    path.write_text('{"1": [[0, 2, 3], [0, 4]], "2": [[null, 0]], "3": [null]}')
    words = words_of("So I do. No way!", "Oh no!", "Oh!")
    words["sentence_index"] = [0, 0, 0, 1, 1, 0, 0, 0]
    found = import_word_surprisals(path, words)["surprisal"]
    assert found.isna().tolist() == [True, False, False, True, False, True, False, True]
    assert "first word of each sentence has a surprisal of 0" in caplog.text


def test_one_file_of_two_texts_needs_a_column(tmp_path):
    """Two texts whose passages are numbered alike."""
    rows = [("ours", 1, 0, 2.0), ("ours", 1, 1, 3.0), ("ours", 2, 0, 4.0), ("ours2", 1, 0, 9.0)]
    rows.append((None, 1, 0, 8.0))  # of no text
    frame = pd.DataFrame(rows, columns=["text", "passage_id", "word_index", "surprisal"])
    path = tmp_path / "s.csv"
    frame.to_csv(path, index=False)
    texts = ["ours", "ours2"]
    found = import_word_surprisals(path, SMALL, text="ours", texts_in_file=texts)
    assert found["surprisal"].tolist() == [2.0, 3.0, 4.0]
    frame.iloc[:4].drop(columns="text").to_csv(path, index=False)
    with pytest.raises(LingprobError, match=r"word 0 of passage '1' occurs twice.*`text`"):
        import_word_surprisals(path, SMALL, text="ours")
    frame.iloc[:3].drop(columns="text").to_csv(path, index=False)
    with pytest.raises(LingprobError, match=r"is the one file of \['ours', 'ours2'\]"):
        import_word_surprisals(path, SMALL, text="ours", texts_in_file=texts)
    path = tmp_path / "s.json"  # which has no column to say it
    path.write_text('{"1": [2.0, 3.0], "2": [4.0]}')
    with pytest.raises(LingprobError, match=r"is the one file of \['ours', 'ours2'\]"):
        import_word_surprisals(path, SMALL, text="ours", texts_in_file=texts)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_imported_passages_keep_their_names(tmp_path, suffix):
    """A text with the passages '01' and 'NA', one of whose words is NA, in a file with another."""
    rows = [("01", 0, "So", 1.0), ("01", 1, "NA", 2.0), ("NA", 0, "x", 3.0), ("9", 0, "other", 4.0)]
    frame = pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "surprisal"])
    path = tmp_path / f"surprisals{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    words = frame.iloc[:3].drop(columns="surprisal").assign(sentence_index=0)
    found = import_word_surprisals(path, words)
    assert found["passage_id"].tolist() == ["01", "01", "NA"]
    assert found["surprisal"].tolist() == [1.0, 2.0, 3.0]


def test_a_passage_of_one_token(lm, caplog):
    table = word_surprisals(lm, words_of("x", TEXT), start_token="bos")
    assert list(table) == [
        "passage_id", "word_index", "surprisal", "surprisal_uncorrected", "n_tokens"
    ]  # fmt: skip
    assert table["n_tokens"].iloc[0] == 1
    assert "spaces" not in caplog.text
    word_surprisals(lm, words_of("昨天 很高兴"), start_token="bos")
    assert "spaces that their script does not write" in caplog.text
    logprobs = lm.model(torch.tensor([[0]])).logits[0, 0].double().log_softmax(-1)
    (found,) = lm.tokenize(["x"])
    expected = -logprobs[found.ids[0]].item() / np.log(2)
    assert table["surprisal_uncorrected"].iloc[0] == pytest.approx(expected, abs=1e-4)
