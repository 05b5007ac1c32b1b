"""Chinese sentences are joined and drawn as said, scored right after each other, and judged."""

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.context.names import MATCHED, MISMATCHED
from lingprob.context.prefixes import count_tokens
from lingprob.context.scores import Targets, Task, judge_contexts, score_prefixes
from lingprob.figures.palette import describe_models
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_table
from lingprob.models.loading import load_language_model
from lingprob.papers.context.analysis import Settings
from lingprob.papers.run import Run
from lingprob.scoring.engine import Scorer
from models_for_tests import save_tiny_model
from studies.chinese_contexts.analysis import chinese_prefixes, joined, judge, summarise_models
from studies.chinese_contexts.figures import draw

DRAWN = {"lengths": [10, 30], "pairs_per_prefix": 1, "pairs_per_suite": 2}


def pairs(suites: str) -> pd.DataFrame:
    """A `stimuli` table: ten pairs of each suite, a character. Some have no end mark."""
    rows = [
        (f"{suite}{pair}{side}", f"{suite}{pair}", side, suite,
         f"他{suite}看了{pair}本书。" if side == "good" else f"他看{suite}{pair}本书了")
        for suite in suites for pair in range(10) for side in ("good", "bad")
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["item_id", "pair_id", "condition", "paradigm", "text"])
    table = table.assign(grammatical=table["condition"] == "good", language="zh", dataset="z")
    return table.reindex(columns=SCHEMAS["stimuli"].names)


def characters(texts):
    """Offsets of a tokenizer whose tokens are characters."""
    return [np.array([(k, k + 1) for k in range(len(text))]).reshape(-1, 2) for text in texts]


def drawn(stimuli: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    pieces = chinese_prefixes("zhoblimp", stimuli, other, characters, drawn=DRAWN, seed=1)
    return pd.concat(pieces, ignore_index=True)


def test_sentences_join_without_spaces_and_keep_their_ends():
    text, ends = joined(["你来吗？", "他走了", "她说：“好。”", "真的?", "算了…"])
    assert text == "你来吗？他走了。她说：“好。”真的?算了…"
    assert ends == [4, 8, 15, 18, 21]
    assert joined([]) == ("", [])


def test_prefixes_have_their_sentences_or_unrelated_ones():
    stimuli, other = pairs("甲乙丙"), pairs("丁戊")
    table = drawn(stimuli, other)
    good = other[other["grammatical"]]["text"].tolist()
    texts = dict(zip(stimuli["item_id"], stimuli["text"], strict=True))
    texts |= {f"unrelated/{number}": text for number, text in enumerate(good)}
    assert set(table["kind"]) == {*MATCHED, *MISMATCHED, "unrelated"}
    for row in table.itertuples():
        parts = [row.text[a:b] for a, b in zip([0, *row.char_ends], row.char_ends, strict=False)]
        assert parts == [text if text[-1] == "。" else f"{text}。"
                         for text in (texts[one] for one in row.source_ids)]  # fmt: skip
        assert row.char_ends[-1] == len(row.text) > 1.5 * max(DRAWN["lengths"])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return load_language_model(save_tiny_model("gpt2", tmp_path_factory.mktemp("tiny")))


def plain_sum(lm, before: str, target: str) -> float:
    """Sum of ln p of the target right after the text before it, by one plain float64 pass."""
    first = len(lm.tokenize([before])[0].ids)
    ids = torch.tensor([[0, *lm.tokenize([before + target])[0].ids.tolist()]])
    with torch.no_grad():
        logprobs = torch.log_softmax(lm.model(ids).logits[0].double(), -1)
    return float(logprobs[torch.arange(ids.shape[1] - 1), ids[0, 1:]][first:].sum())


def test_a_target_is_scored_right_after_its_prefix(tiny):
    stimuli = pairs("甲")[:2]
    text, ends = joined(["你好。", "好吗？"])
    prefixes = pd.DataFrame(
        {"prefix_id": ["x"], "kind": ["matched_acceptable"], "pair_ids": [["甲0"]],
         "text": [text], "char_ends": [ends]}
    )  # fmt: skip
    counts = [len(tokens.ids) for tokens in tiny.tokenize([text[:end] for end in ends])]
    found = pd.concat(score_prefixes(
        Scorer(tiny), Targets("zhoblimp", stimuli, {}), [prefixes.assign(n_tokens=[counts])],
        counts, alone=True, start_token="bos", separator="",
    )).set_index(["n_sentences", "item_id"])["logprob"]  # fmt: skip
    for count, before in ((0, ""), (1, "你好。"), (2, "你好。好吗？")):
        for item, target in zip(stimuli["item_id"], stimuli["text"], strict=True):
            expected = plain_sum(tiny, before, target)
            assert found[count, item] == pytest.approx(expected, abs=1e-4)


def test_judgments_become_tables_figures_and_verdicts(tiny, tmp_path):
    def tokenize(texts):
        return [np.stack([one.char_start, one.char_end], 1) for one in tiny.tokenize(texts)]

    stimuli = pairs("甲乙丙")
    prefixes = drawn(stimuli, pairs("丁戊"))
    lengths = [min(min(count) for count in count_tokens(prefixes, tokenize))]
    write_table(stimuli, "stimuli", tmp_path / "stimuli.parquet")
    write_table(prefixes, "context_prefixes", tmp_path / "prefixes.parquet")
    files = (tmp_path / "stimuli.parquet", tmp_path / "prefixes.parquet")
    task = Task("zhoblimp", {"parser": "zhoblimp"}, *files, lengths, alone=True)
    pieces = judge_contexts(Scorer(tiny), "m", tokenize, [task], start_token="bos", separator="")
    judgments = pd.concat(pieces, ignore_index=True)
    write_table(judgments, "context_judgments", tmp_path / "judgments.parquet")
    assert judgments["pair_id"].nunique() == 3 * DRAWN["pairs_per_suite"]
    tables = summarise_models([judgments], Settings(1, 20, 1, "demo"))
    entry = {"title": "M", "family": "m", "family_title": "M", "parameters": 10}
    titles = {"zhoblimp": "Zho", "unrelated": "SLING"}
    run = Run("demo", describe_models({"m": entry}), titles)
    verdicts = judge(tables, run)
    assert len(verdicts) == 5
    assert set(verdicts["row"]) <= {"m/zhoblimp", "(none)"}
    assert set(draw(tables, run)) == {"accuracy"}
