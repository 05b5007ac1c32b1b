"""Word surprisals of models and from elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.io.tables import write_table
from lingprob.models.loading import LanguageModel, Tokens, load_language_model
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.predictors import unigram_surprisal
from lingprob.reading.surprisal import (
    ScoredPassage,
    _batches,
    blank_tokens,
    check_vocabulary,
    sum_words,
    token_word_index,
    word_surprisals,
)
from lingprob.unigrams.counts import count_words
from models_for_tests import save_tiny_model
from words_for_tests import words_of

TEXT = (
    "Who did Mary say that John saw? The cats sat on the mats. It seems to him that Kim solved it."
)
SHORT_TEXT = "Who did Mary say that John saw? The cats sat on the mats."


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


def tokens(*spans: tuple[int, int]) -> Tokens:
    start, end = np.array(spans, dtype=np.int32).T
    return Tokens(np.arange(len(spans), dtype=np.int32), start, end)


def test_the_blank_moves_from_the_word_it_begins_to_the_word_it_ends():
    """`a bc d`: tokens a | _b c | _d; all powers of one half, so bits are whole numbers."""
    half = -np.log(2)
    passage = ScoredPassage(
        logprob=half * np.array([3, 5, 1, 4]), blank=half * np.array([9, 2, 7, 1, 6])
    )
    corrected, uncorrected = sum_words(3, np.array([0, 1, 1, 2]), passage)
    assert uncorrected == pytest.approx([3, 6, 4])
    # a: 3 + 2 (a blank after it); bc: 6 - 2 + 1; d: 4 - 1 + 6. Within bc, 7 plays no part.
    assert corrected == pytest.approx([5, 5, 9])


def test_a_first_token_without_context_leaves_its_word_without_surprisal():
    passage = ScoredPassage(np.array([np.nan, -1.0, -2.0]), np.array([np.nan, -0.5, -0.25, -0.125]))
    corrected, uncorrected = sum_words(2, np.array([0, 1, 1]), passage)
    assert np.isnan([corrected[0], uncorrected[0]]).all()
    assert uncorrected[1] * np.log(2) == pytest.approx(3)
    assert corrected[1] * np.log(2) == pytest.approx(3 - 0.5 + 0.125)


def test_tokens_belong_to_the_word_of_their_last_letter():
    # "to be": offsets with the blank inside the token, beside it, and as a token of its own.
    for spans in [((0, 2), (2, 5)), ((0, 2), (3, 5)), ((0, 1), (1, 2), (2, 3), (3, 5))]:
        index = token_word_index(["to", "be"], tokens(*spans), "x")
        assert index.tolist() == [0] * (len(spans) - 1 - (len(spans) == 4)) + [1] * (
            1 + (len(spans) == 4)
        )
    # Two tokens of the bytes of one letter have the same offsets.
    assert token_word_index(["é", "x"], tokens((0, 1), (0, 1), (1, 3)), "x").tolist() == [0, 0, 1]


def test_tokens_that_span_words_or_leave_letters_out_are_refused():
    with pytest.raises(LingprobError, match=r"passage 'p': a token spans.*before 'be'"):
        token_word_index(["to", "be"], tokens((0, 5)), "passage 'p'")
    with pytest.raises(LingprobError, match="word 1 'be': no token covers its letter 'e'"):
        token_word_index(["to", "be"], tokens((0, 2), (2, 4)), "passage 'p'")


def test_a_tokenizer_that_does_not_know_a_word_is_refused(lm, words):
    class Unknowing:
        unk_token_id, unk_token, all_special_ids = 7, "[UNK]", [7]

        def __call__(self, texts, **_):
            ids = [[7 if word == "Kim" else 40 for word in text.split()] for text in texts]
            return {"input_ids": ids, "offset_mapping": [spans(text) for text in texts]}

        def __len__(self):
            return 9

        def convert_ids_to_tokens(self, ids):
            return ["Ġa"] * len(ids)

        def get_vocab(self):
            return {}

    def spans(text):
        ends = np.cumsum([len(word) + 1 for word in text.split()]) - 1
        return list(zip([0, *(ends[:-1] + 1)], ends, strict=True))

    odd = LanguageModel(
        lm.model, Unknowing(), lm.device, lm.dtype, lm.context_window, lm.directory, 320
    )
    with pytest.raises(LingprobError, match=r"passage 'a', word 18 'Kim': .*no token for it"):
        word_surprisals(odd, words, start_token="none")


def test_spaces_and_no_line_breaks_begin_tokens_of_byte_level_vocabularies(lm):
    ids = set(blank_tokens(lm.tokenizer, lm.vocabulary_size))
    names = lm.tokenizer.convert_ids_to_tokens(range(lm.vocabulary_size))
    special = set(lm.tokenizer.all_special_ids)
    assert {"Ġ", "Ċ"} <= {name[0] for name in names}
    assert ids == {n for n, name in enumerate(names) if name[0] == "Ġ" and n not in special}
    with pytest.raises(LingprobError, match="no token of the vocabulary begins with a blank"):
        blank_tokens(lm.tokenizer, 3)


def test_word_surprisals_are_the_plain_models(lm, words):
    """Against the model called as its authors meant it, word by word, in float64 sums."""
    import torch

    table = word_surprisals(lm, words, start_token="bos")
    found = lm.tokenize([TEXT])[0]
    fed = torch.tensor([[0, *found.ids]])
    logprobs = lm.model(fed).logits[0].double().log_softmax(-1).numpy()
    blanks = np.logaddexp.reduce(logprobs[:, blank_tokens(lm.tokenizer, 320)], axis=1)
    starts = [match.start() for match in re.finditer(r"\S+", TEXT)]
    by_word: list[list[int]] = [[] for _ in starts]
    for place, end in enumerate(found.char_end):
        by_word[np.searchsorted(starts, end, side="right") - 1].append(place)
    for number, places in enumerate(by_word):
        nats = -sum(logprobs[place, found.ids[place]] for place in places)
        row = table.iloc[number]
        assert row["n_tokens"] == len(places)
        assert row["surprisal_uncorrected"] == pytest.approx(nats / np.log(2), abs=1e-4)
        before = blanks[places[0]] if number else 0
        corrected = (nats + before - blanks[places[-1] + 1]) / np.log(2)
        assert row["surprisal"] == pytest.approx(corrected, abs=1e-4)
    count = len(starts)
    assert table["surprisal"].tolist() == table["surprisal"].tolist()[:count] * 2


def test_sentence_context_forgets_the_sentences_before(lm, words):
    whole = word_surprisals(lm, words, start_token="bos")
    by_sentence = word_surprisals(lm, words, start_token="bos", context="sentence")
    first = (words["sentence_index"] == 0).to_numpy()
    columns = ["surprisal_uncorrected", "n_tokens"]
    pd.testing.assert_frame_equal(whole.loc[first, columns], by_sentence.loc[first, columns])
    later = np.abs(whole["surprisal"] - by_sentence["surprisal"])[~first]
    assert (later > 1e-3).mean() > 0.9
    with pytest.raises(LingprobError, match="unknown context 'story'"):
        word_surprisals(lm, words, start_token="bos", context="story")


@pytest.mark.parametrize(("counts", "fed"), [("predicted", 63), ("fed", 64)])
@pytest.mark.parametrize(("stride", "step"), [(None, 32), (16, 16)])
def test_a_long_passage_goes_on_with_what_a_stride_leaves_of_the_window(
    lm, counts, fed, stride, step
):
    """Each token from the tokens that it may see, one by one, in float64; in two conventions.

    The window is the model's own. Token 64 (from 0, the start token counts) is the first that a
    model sees the end of the window before (its second half, unless a stride is given), or the
    last that it sees the whole before.
    """
    import torch

    long = " ".join([TEXT] * 4)
    split = long.split()
    words = pd.DataFrame(
        {"passage_id": "a", "word_index": range(len(split)), "word": split, "sentence_index": 0}
    )
    assert lm.context_window == 64
    table = word_surprisals(
        lm, words, start_token="bos", window=64, stride=stride, window_counts=counts
    )
    ids = np.array([0, *lm.tokenize([long])[0].ids])
    nats = []
    for place in range(1, len(ids)):
        start = 0
        while place - start > fed:
            start += step
        logits = lm.model(torch.from_numpy(ids[None, start:place])).logits[0, -1].double()
        nats.append(-logits.log_softmax(-1)[ids[place]].item())
    ends = table["n_tokens"].cumsum().to_numpy()
    expected = np.add.reduceat(nats, np.append(0, ends[:-1])) / np.log(2)
    assert table["surprisal_uncorrected"].to_numpy() == pytest.approx(expected, abs=1e-4)


def test_unknown_conventions_are_refused(lm, words):
    with pytest.raises(LingprobError, match="window_counts 'fet'"):
        word_surprisals(lm, words, start_token="bos", window_counts="fet")


def test_a_killed_job_goes_on_with_what_it_had(lm, words, tmp_path, monkeypatch):
    monkeypatch.setattr("lingprob.reading.surprisal.TOKENS_PER_BATCH_OF_PASSAGES", 5)
    first = word_surprisals(lm, words, start_token="bos", shard_directory=tmp_path, identity="x")
    files = sorted(tmp_path.glob("*.npz"))
    assert len(files) == 1  # the two passages are the same, so is their file
    monkeypatch.setattr(
        "lingprob.reading.surprisal.Scorer.score", lambda *_, **__: pytest.fail("scored again")
    )
    again = word_surprisals(lm, words, start_token="bos", shard_directory=tmp_path, identity="x")
    pd.testing.assert_frame_equal(first, again)


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped"])
def test_a_damaged_file_of_finished_passages_is_made_again(lm, words, tmp_path, caplog, damage):
    first = word_surprisals(lm, words, start_token="bos", shard_directory=tmp_path, identity="x")
    (path,) = tmp_path.glob("*.npz")
    content = path.read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    path.write_bytes({"cut": content[:100], "emptied": b"", "flipped": flipped}[damage])
    again = word_surprisals(lm, words, start_token="bos", shard_directory=tmp_path, identity="x")
    pd.testing.assert_frame_equal(first, again)
    assert f"{path}: damaged" in caplog.text
    caplog.clear()
    word_surprisals(lm, words, start_token="bos", shard_directory=tmp_path, identity="x")
    assert "damaged" not in caplog.text


def small_words() -> pd.DataFrame:
    rows = [("1", 0, "So", 0), ("1", 1, "what?", 0), ("2", 0, "No.", 0)]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


def test_imported_surprisals_by_story_and_as_tables_are_the_same(tmp_path):
    by_story = tmp_path / "s.json"
    by_story.write_text(json.dumps({"2": [[1.0]], "1": [[2.0], [0.5]], "3": [[9.0]]}))
    table = pd.DataFrame(
        {"passage_id": [2, 1, 1], "word_index": [0, 1, 0], "surprisal": [1.0, 0.5, 2.0],
         "word": ["No", "what", "so"]}
    )  # fmt: skip
    table.to_csv(tmp_path / "s.csv", index=False)
    table.to_parquet(tmp_path / "s.parquet")
    for path in (by_story, tmp_path / "s.csv", tmp_path / "s.parquet"):
        found = import_word_surprisals(path, small_words(), "nats")
        assert found["surprisal"].to_numpy() * np.log(2) == pytest.approx([2.0, 0.5, 1.0])
        bits = import_word_surprisals(path, small_words())
        assert bits["surprisal"].tolist() == [2.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", '{"1": [2.0], "2": [1.0]}', "passage '1' has 1 surprisals and 2 words"),
        ("s.json", '{"1": [[2.0, Infinity]], "2": [1.0]}', "passage '1', word 1: inf"),
        ("s.json", '{"1": [[2.0, -0.1]], "2": [1.0]}', "passage '1', word 1: -0.1, below 0"),
        ("s.json", '{"1": [[null, NaN]], "2": [1.0]}', "no surprisal in all of passage '1'"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,2\n1,1,-3\n2,0,1\n",
         r"data row 2, column 'surprisal': below 0: -3.0 .*turned by `surprisal = -logprob`"),
        ("s.csv", "passage_id,word_index,surprisal\n1,inf,2\n", "data row 1, .*'word_index': inf"),
        ("s.csv", "passage_id,word_index,surprisal\n1,-1,2\n", "'word_index': below 0: '-1'"),
        ("s.csv", "passage_id,word_index,surprisal\n,0,2\n", "'passage_id': no value"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,\n1,1,\n", "'surprisal': all of it is"),
        ("s.json", "[1, 2]", "not JSON of word surprisals"),
        ("s.csv", "passage_id,word_index,surprisal\n2,0,1\n", "in all of passage '1'"),
        ("s.csv", "passage_id,surprisal\n1,2\n", r"no columns \['word_index'\]"),
        ("s.csv", "passage_id,word_index,surprisal\n1,0,2\n1,0,3\n", "word 0 of passage '1'"),
        ("s.csv", "passage_id,word_index,surprisal,word\n1,0,2,So\n1,1,1,when\n2,0,1,No\n",
         "word 1 of passage '1' is 'when' .* 'what\\?'"),
    ],
)  # fmt: skip
def test_bad_imports_are_one_clear_message(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(LingprobError, match=message):
        import_word_surprisals(path, small_words())


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
def test_a_first_word_may_lack_its_surprisal_and_the_log_counts_it(tmp_path, caplog, name, content):
    path = tmp_path / name
    path.write_text(content)
    found = import_word_surprisals(path, small_words())
    assert found["surprisal"].isna().tolist() == [True, False, False]
    assert found["surprisal"].dropna().tolist() == [2.0, 1.0]
    assert "1 of 3 words have no surprisal, such as word 0 of passage '1' ('So')" in caplog.text
    write_table(found, "surprisal", tmp_path / "out.parquet")


def test_one_file_of_two_texts_says_which_row_is_of_which(tmp_path):
    """Two texts whose passages are numbered alike."""
    rows = [("ours", 1, 0, 2.0), ("ours", 1, 1, 3.0), ("ours", 2, 0, 4.0), ("other", 1, 0, 9.0)]
    rows.append((None, 1, 0, 8.0))  # of no text
    frame = pd.DataFrame(rows, columns=["text", "passage_id", "word_index", "surprisal"])
    path = tmp_path / "s.csv"
    frame.to_csv(path, index=False)
    texts = ["ours", "other"]
    found = import_word_surprisals(path, small_words(), text="ours", texts_in_file=texts)
    assert found["surprisal"].tolist() == [2.0, 3.0, 4.0]
    frame.iloc[:4].drop(columns="text").to_csv(path, index=False)
    with pytest.raises(LingprobError, match=r"word 0 of passage '1' occurs twice.*`text`"):
        import_word_surprisals(path, small_words(), text="ours")
    frame.iloc[:3].drop(columns="text").to_csv(path, index=False)
    with pytest.raises(LingprobError, match=r"is the one file of \['ours', 'other'\]"):
        import_word_surprisals(path, small_words(), text="ours", texts_in_file=texts)
    path = tmp_path / "s.json"  # which has no column to say it
    path.write_text('{"1": [2.0, 3.0], "2": [4.0]}')
    with pytest.raises(LingprobError, match=r"is the one file of \['ours', 'other'\]"):
        import_word_surprisals(path, small_words(), text="ours", texts_in_file=texts)


def test_a_wrong_unit_is_refused(tmp_path):
    with pytest.raises(LingprobError, match="'bans' is neither"):
        import_word_surprisals(Path("x.csv"), small_words(), "bans")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_imported_passages_keep_their_names_and_others_do_not_count(tmp_path, suffix):
    """A text with the passages '01' and 'NA', one of whose words is NA, in a file with another."""
    rows = [("01", 0, "So", 1.0), ("01", 1, "NA", 2.0), ("NA", 0, "x", 3.0), ("9", 0, "other", 4.0)]
    frame = pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "surprisal"])
    path = tmp_path / f"surprisals{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    words = frame.iloc[:3].drop(columns="surprisal").assign(sentence_index=0)
    found = import_word_surprisals(path, words)
    assert found["passage_id"].tolist() == ["01", "01", "NA"]
    assert found["surprisal"].tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,0,So\n1,1.7,it\n", r"data row 2, column 'word_index': no whole number: '1.7'"),
        ("1,0,So\n1,1,it\n1,2,is\n", r"a surprisal for word 2 of passage '1', which the text"),
        ("1,0,So\n1,1,she\n", r"'1' is 'she' in the surprisals and 'it' in the text"),
    ],
)
def test_imported_words_that_are_not_the_texts_are_refused(tmp_path, rows, message):
    words = pd.DataFrame({"passage_id": "1", "word_index": [0, 1], "word": ["So", "it"]})
    path = tmp_path / "surprisals.csv"
    path.write_text("passage_id,word_index,word,surprisal\n" + rows.replace("\n", ",1.0\n"))
    with pytest.raises(LingprobError, match=message):
        import_word_surprisals(path, words)


def test_unigrams_forget_case_and_outer_punctuation():
    counts = count_words(['The "cat" don\'t', "the CAT, — the"])
    assert dict(counts.to_numpy().tolist()) == {"the": 3, "cat": 2, "don't": 1, "—": 1}
    found = unigram_surprisal(pd.Series(["Cat.", "dog"]), [counts, counts], smoothing=1.0)
    # 14 words and 4 forms, and one more form for those not seen.
    assert found == pytest.approx([-np.log2(5 / 19), -np.log2(1 / 19)])
    with pytest.raises(LingprobError, match="'dog' is not in the corpus"):
        unigram_surprisal(pd.Series(["cat", "dog"]), [counts], smoothing=0)
    with pytest.raises(LingprobError, match="no words"):
        count_words(["  "])


@pytest.fixture(scope="module")
def other_lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    directory = save_tiny_model("gpt_neox", tmp_path_factory.mktemp("tiny"))
    return load_language_model(directory, device="cpu")


@pytest.mark.parametrize(("counts", "fed"), [("predicted", 15), ("fed", 16)])
def test_a_window_may_be_shorter_than_the_model_s(other_lm, counts, fed):
    """Of sixteen tokens of the model's 64, and eight from one to the next."""
    table = word_surprisals(
        other_lm, words_of(SHORT_TEXT), start_token="bos", window=16, window_counts=counts
    )
    ids = np.array([0, *other_lm.tokenize([SHORT_TEXT])[0].ids])
    nats = []
    for place in range(1, len(ids)):
        start = 0
        while place - start > fed:
            start += 8
        logits = other_lm.model(torch.from_numpy(ids[None, start:place])).logits[0, -1].double()
        nats.append(-logits.log_softmax(-1)[ids[place]].item())
    ends = table["n_tokens"].cumsum().to_numpy()
    expected = np.add.reduceat(nats, np.append(0, ends[:-1])) / np.log(2)
    assert table["surprisal_uncorrected"].to_numpy() == pytest.approx(expected, abs=1e-4)
    assert len(ids) > 16 + 8


def test_a_passage_of_one_token_has_its_surprisal(other_lm):
    table = word_surprisals(other_lm, words_of("x", SHORT_TEXT), start_token="bos")
    assert list(table) == [
        "passage_id", "word_index", "surprisal", "surprisal_uncorrected", "n_tokens"
    ]  # fmt: skip
    assert table["n_tokens"].iloc[0] == 1
    logprobs = other_lm.model(torch.tensor([[0]])).logits[0, 0].double().log_softmax(-1)
    (found,) = other_lm.tokenize(["x"])
    expected = -logprobs[found.ids[0]].item() / np.log(2)
    assert table["surprisal_uncorrected"].iloc[0] == pytest.approx(expected, abs=1e-4)


def test_batches_end_with_the_passage_that_fills_them(monkeypatch):
    monkeypatch.setattr("lingprob.reading.surprisal.TOKENS_PER_BATCH_OF_PASSAGES", 5)
    lengths = [3, 2, 4, 7, 1]
    found = [[len(ids) for ids in batch] for batch in _batches([np.arange(n) for n in lengths])]
    assert found == [[3, 2], [4, 7], [1]]


def test_finished_passages_are_read_from_their_folder_alone(other_lm, tmp_path, monkeypatch):
    words = words_of(SHORT_TEXT)
    kept: dict[str, Any] = {"shard_directory": tmp_path, "identity": "x"}
    word_surprisals(other_lm, words, start_token="bos", **kept)
    (path,) = tmp_path.glob("*.npz")
    monkeypatch.chdir(tmp_path)

    class Scored(Exception):
        """What is scored is not read."""

    def score(*_: Any, **__: Any) -> None:
        raise Scored

    with monkeypatch.context() as patched:
        patched.setattr("lingprob.reading.surprisal.Scorer.score", score)
        word_surprisals(other_lm, words, start_token="bos", **kept)
        with pytest.raises(Scored):
            word_surprisals(other_lm, words, start_token="bos", identity="x")
        # A file of objects, which nobody here wrote, is not read either.
        np.savez(path, **{"00000000": np.array([{}], dtype=object)})
        with pytest.raises(Scored):
            word_surprisals(other_lm, words, start_token="bos", **kept)


def test_a_token_that_takes_the_blank_after_its_word_along_spans_two_words():
    found = Tokens(np.arange(2), np.array([0, 3]), np.array([3, 5]))
    with pytest.raises(LingprobError, match="a token spans the end of the word before 'be'"):
        token_word_index(["to", "be"], found, "passage 'p'")


class Odd:
    """A tokenizer with an id without a token, an empty one, and a special one behind a blank."""

    all_special_ids = (2,)

    def __len__(self) -> int:
        return 6

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str | None]:
        return ["a", None, "Ġs", "Ġb", "", "▁c"][: len(ids)]


def test_special_tokens_and_ids_without_a_token_begin_with_no_blank():
    assert blank_tokens(Odd(), 9).tolist() == [3, 5]
    assert blank_tokens(Odd(), 5).tolist() == [3]


@pytest.mark.parametrize("unknown", [None, 7])
def test_a_text_of_known_words_needs_no_token_for_others(unknown):
    class Known:
        unk_token_id, unk_token = unknown, "?"

    found = Tokens(np.array([3, 4]), np.array([0, 2]), np.array([2, 5]))
    check_vocabulary(Known(), [object()], [found])


def test_of_a_file_of_one_text_no_column_says_which_it_is(tmp_path):
    """Nothing may be surprising, and other passages without words do not count."""
    words = words_of("So what?", "No.")
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"1": [1, 0.0], "2": [[2]], "3": []}))
    found = import_word_surprisals(path, words, text="mine", texts_in_file=["mine"])
    assert found["surprisal"].tolist() == [1, 0, 2]
    table = tmp_path / "s.csv"
    table.write_text("passage_id,word_index,surprisal\n1,0,1\n1,1,0\n2,0,2\n")
    found = import_word_surprisals(table, words, text="mine", texts_in_file=["mine"])
    assert found["surprisal"].tolist() == [1, 0, 2]


def test_word_counts_fall_and_of_equal_ones_the_words_rise():
    assert count_words(["b a c", "c"]).to_numpy().tolist() == [["c", 2], ["a", 1], ["b", 1]]


def test_unigrams_are_smoothed_by_one_unless_told_otherwise():
    """Of four words and three forms, and one more form for those not seen."""
    counts, words = [count_words(["b a c", "c"])], pd.Series(["c", "d"])
    assert unigram_surprisal(words, counts) == pytest.approx(-np.log2([3 / 8, 1 / 8]))
    assert unigram_surprisal(words, counts, 0.5) == pytest.approx(-np.log2([2.5 / 6, 0.5 / 6]))
    assert unigram_surprisal(words[:1], counts, 0) == pytest.approx([1.0])
