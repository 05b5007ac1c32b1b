"""Chinese contexts: how sentences are joined, drawn and read, and what is right after them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.context import sentences
from lingprob.context.chinese_text import joined, unrelated_sentences
from lingprob.context.controls import control_sentences
from lingprob.context.sampling import sample_contexts
from lingprob.context.scores import score_prefixes
from lingprob.context.writing import CHINESE, ENGLISH
from lingprob.errors import LingprobError
from lingprob.models.loading import load_language_model
from lingprob.tables import write_table
from models_for_tests import save_tiny_model

CONTROL = [f"街上有{number}个人在走路。" for number in range(30)]


def characters_as_tokens(texts):
    """Offsets of a tokenizer whose tokens are characters; blanks are none."""
    return [
        np.array([(k, k + 1) for k, one in enumerate(text) if one != " "]).reshape(-1, 2)
        for text in texts
    ]


@pytest.fixture
def stimuli() -> pd.DataFrame:
    """Three suites of ten pairs; the unacceptable sentences of one have no end mark."""
    rows = [
        {
            "item_id": f"{suite}{pair}{side}",
            "pair_id": f"{suite}{pair}",
            "condition": side,
            "text": f"他{suite}看了{pair}本书。"
            if side == "good"
            else f"他看{suite}{pair}本书了{end}",
            "grammatical": side == "good",
            "phenomenon": "p",
            "paradigm": suite,
            "language": "zh",
        }
        for suite, end in (("甲", "。"), ("乙", "？"), ("丙", ""))
        for pair in range(10)
        for side in ("good", "bad")
    ]
    return pd.DataFrame(rows)


DRAWN = {
    "suites": [],
    "pairs_per_suite": 2,
    "settings": {"lengths": [10, 40], "pairs_per_prefix": 1, "matrix_sentences": 3,
                 "matrix_prefixes": 1, "matrix_draws": 1, "matrix_targets": None},
    "seed": 1,
}  # fmt: skip


def contexts(stimuli: pd.DataFrame, writing=CHINESE) -> pd.DataFrame:
    pieces = sample_contexts(
        "mine", stimuli, CONTROL, characters_as_tokens, **DRAWN, writing=writing
    )
    return pd.concat(pieces, ignore_index=True)


def test_chinese_sentences_are_joined_without_blanks_and_end_as_they_do():
    text, ends = joined(["你来吗？", "他走了", "她说：“好。”", "真的?", "算了…"])
    assert text == "你来吗？他走了。她说：“好。”真的?算了…"
    assert [text[start:end] for start, end in zip([0, *ends], ends, strict=False)] == [
        "你来吗？", "他走了。", "她说：“好。”", "真的?", "算了…"
    ]  # fmt: skip
    assert joined([]) == ("", [])


def test_running_text_is_split_at_its_marks_and_those_that_close_with_them():
    document = (
        "春天来得很早。“你们今天去哪里？”她轻轻地问！（没有人回答她。\n短句。街上很安静很安静"
    )
    assert unrelated_sentences([document]) == [
        "春天来得很早。",
        "“你们今天去哪里？”",
        "她轻轻地问！",
    ]
    assert unrelated_sentences(["长" * 90 + "。", "长" * 89 + "。", "长" * 89 + "。"]) == [
        "长" * 89 + "。"
    ]


def test_prefixes_are_made_of_their_sentences_and_of_nothing_between_them(stimuli):
    drawn = contexts(stimuli)
    texts = dict(zip(stimuli["item_id"], stimuli["text"], strict=True))
    texts |= {f"unrelated/{number}": text for number, text in enumerate(CONTROL)}
    for row in drawn.itertuples():
        starts = [0, *row.char_ends[:-1]]
        parts = [row.text[start:end] for start, end in zip(starts, row.char_ends, strict=True)]
        alone = [texts[one] for one in row.source_ids]
        assert parts == [one if one[-1] in "。？" else f"{one}。" for one in alone]
        assert row.char_ends[-1] == len(row.text)
    assert not drawn["text"].str.contains(r"[ .]").any()


def test_prefixes_are_as_long_as_asked_by_the_characters_of_the_text_that_they_are(stimuli):
    """Half as long again as the longest length, with the sentence that goes beyond it."""
    grown = contexts(stimuli).query("kind != 'from_suite'")
    sizes = grown["text"].str.len()
    before = grown["char_ends"].map(lambda ends: ends[-2])
    assert (sizes > 60).all()
    assert (before <= 60).all()


def test_targets_and_kinds_are_drawn_as_in_english(stimuli):
    """The same sentences in the same order as far as both go: only their text is Chinese."""
    chinese, english = contexts(stimuli), contexts(stimuli, ENGLISH)
    same = ["prefix_id", "kind", "suite", "source_suite", "pair_ids"]
    pd.testing.assert_frame_equal(chinese[same], english[same])
    for one, other in zip(chinese["source_ids"], english["source_ids"], strict=True):
        both = min(len(one), len(other))
        assert one[:both] == other[:both]


def test_a_control_is_a_data_set_s_acceptable_sentences_or_a_corpus(stimuli, tmp_path):
    table = stimuli.assign(rating=np.nan, rating_source=None)
    path = tmp_path / "pairs.parquet"
    write_table(table, "stimuli", path)
    found = control_sentences("pairs", {"kind": "stimuli"}, path, CHINESE)
    assert found == stimuli.loc[stimuli["grammatical"], "text"].tolist()
    corpus = {"kind": "corpus", "parser": "lines", "path": str(tmp_path / "text.txt")}
    (tmp_path / "text.txt").write_text("春天来得很早。街上很安静，没有人。\n", encoding="utf-8")
    assert control_sentences("mine", corpus, "", CHINESE) == [
        "春天来得很早。",
        "街上很安静，没有人。",
    ]
    (tmp_path / "text.txt").write_text("Spring came early.\n")
    with pytest.raises(LingprobError, match=r"'mine' has no whole sentence.*control_of"):
        control_sentences("mine", corpus, "", CHINESE)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_language_model(save_tiny_model("gpt2", tmp_path_factory.mktemp("tiny")))


def plain_sum(lm, before: str, target: str) -> float:
    """Sum of ln p of the target right after what precedes it, by one plain float64 pass."""
    first = len(lm.tokenize([before])[0].ids)
    ids = torch.tensor([[0, *lm.tokenize([before + target])[0].ids.tolist()]])
    with torch.no_grad():
        logprobs = torch.log_softmax(lm.model(ids).logits[0].double(), -1)
    return float(logprobs[torch.arange(ids.shape[1] - 1), ids[0, 1:]][first:].sum())


def test_a_chinese_target_is_scored_right_after_its_prefix(tiny):
    pairs = pd.DataFrame(
        {"item_id": ["g", "b"], "pair_id": ["1", "1"], "text": ["我看书。", "我书看。"],
         "grammatical": [True, False]}
    )  # fmt: skip
    text, ends = joined(["你好。", "好吗？"])
    prefixes = pd.DataFrame(
        {"prefix_id": ["x"], "kind": ["matched_acceptable"], "pair_ids": [["1"]], "text": [text],
         "char_ends": [ends]}
    )  # fmt: skip
    counts = [len(tokens.ids) for tokens in tiny.tokenize([text[:end] for end in ends])]
    n_tokens = pd.DataFrame({"prefix_id": ["x"], "n_tokens": [counts]})

    def score(separator: str) -> pd.DataFrame:
        options = {"start_token": "bos", "regions": {}, "baselines": True, "dataset": "mine"}
        options["separator"] = separator
        scores = pd.concat(score_prefixes(tiny, pairs, [prefixes], n_tokens, counts, **options))
        return scores.set_index(["n_sentences", "item_id"])["logprob"]

    found, with_blanks = score(CHINESE.separator), score(ENGLISH.separator)
    for count, before in ((0, ""), (1, "你好。"), (2, "你好。好吗？")):
        for item, target in (("g", "我看书。"), ("b", "我书看。")):
            expected = plain_sum(tiny, before, target)
            assert found[count, item] == pytest.approx(expected, abs=1e-4)
            # What English has between two sentences is another text.
            same = abs(with_blanks[count, item] - expected) < 1e-3
            assert same == (count == 0)


def test_english_is_joined_as_before():
    assert sentences.joined(["你来吗？", "He left."])[0] == "你来吗？. He left."
