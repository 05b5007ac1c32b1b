"""Chats against plain forward passes over what `apply_chat_template` makes, and their judgments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers.processors import TemplateProcessing

from lingprob.context.chats import METHODS, Example, asked, judge_chats, labelled, written
from lingprob.context.prefixes import Prefix, prefix_table
from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel, load_language_model
from lingprob.schemas import SCHEMAS
from lingprob.scoring.chats import chat_continuation, score_continuations, text_continuation
from lingprob.scoring.engine import Scorer

# Turns between marks, after a system's turn (ChatML), and turns within brackets, whose answers
# begin after a blank and end with a special token.
TEMPLATES = {
    "marks": (
        "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
        "{{ '<s>system\\nBe kind.</s>\\n' }}{% endif %}"
        "{{ '<s>' + message['role'] + '\\n' + message['content'] + '</s>' + '\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<s>assistant\\n' }}{% endif %}"
    ),
    "brackets": (
        "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ '[U] ' + message['content'] + ' [/U]' }}{% else %}"
        "{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}"
    ),
}
TURNS = [("user", "Say a thing."), ("assistant", "The cat sat."), ("user", "And more?")]
# The last one's first token begins with the blank before it.
TARGETS = [
    "The cats sat on the mats.",
    "Who did John see?",
    "Naïve façades, 1995",
    "1",
    "that sat.",
]


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> LanguageModel:
    """A tiny model with a context window that holds a chat."""
    from transformers import AutoModelForCausalLM

    from models_for_tests import CONFIGS, save_tiny_tokenizer

    folder = tmp_path_factory.mktemp("wide")
    torch.manual_seed(1)
    config = CONFIGS["llama"].__class__(
        **{**CONFIGS["llama"].to_dict(), "max_position_embeddings": 4096}
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    save_tiny_tokenizer(folder)
    return load_language_model(folder)


def plain(lm: LanguageModel, messages: list[dict[str, str]], target: str) -> float:
    """ln p of a target in the tokens of `apply_chat_template`, by one pass of the model alone."""
    ids = lm.tokenizer.apply_chat_template(messages, tokenize=True)
    ids = list(ids["input_ids"] if not isinstance(ids, list) else ids)
    with torch.no_grad():
        logits = lm.model(torch.tensor([ids])).logits[0].double()
    logprobs = torch.log_softmax(logits[:-1], -1)[torch.arange(len(ids) - 1), ids[1:]]
    # The shortest stretch of the tokens whose text holds the target, from its end.
    for last in range(len(ids), 0, -1):
        for first in range(last - 1, 0, -1):
            text = lm.tokenizer.decode(ids[first:last], clean_up_tokenization_spaces=False)
            if target in text:
                if target in lm.tokenizer.decode(ids[first : last - 1]):
                    break
                return float(logprobs[first - 1 : last - 1].sum())
    raise AssertionError(target)


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("turns", [TURNS, TURNS[:1], TURNS + TURNS[1:]])
def test_a_target_s_logprob_is_that_of_a_plain_pass_over_the_template_s_tokens(
    wide, template, turns
):
    wide.tokenizer.chat_template = TEMPLATES[template]
    found = score_continuations(
        Scorer(wide), [chat_continuation(wide, turns, target) for target in TARGETS]
    )
    for target, logprob in zip(TARGETS, found, strict=True):
        messages = [{"role": role, "content": text} for role, text in turns]
        messages.append({"role": "assistant", "content": target})
        assert logprob == pytest.approx(plain(wide, messages, target), abs=1e-4)


@pytest.mark.parametrize("template", TEMPLATES)
def test_tokens_are_the_template_s_up_to_the_target_s_end(wide, template):
    wide.tokenizer.chat_template = TEMPLATES[template]
    target = "The cat sat."  # said before, too
    one = chat_continuation(wide, TURNS, target)
    messages = [{"role": role, "content": text} for role, text in TURNS]
    messages.append({"role": "assistant", "content": target})
    whole = wide.tokenizer.apply_chat_template(messages, tokenize=True, return_dict=True)
    ids = list(whole["input_ids"])
    assert one.ids.tolist() == ids[: len(one.ids)]
    rest = wide.tokenizer.decode(ids[len(one.ids) :])
    assert rest.strip() == "</s>"
    assert wide.tokenizer.decode(one.ids[one.first :]).strip() == target
    assert "<s>" in wide.tokenizer.decode(one.ids[:3])
    assert 0 in one.ids  # <s> as one token


def test_a_chat_as_long_as_the_window_is_read_and_a_longer_one_refused(wide):
    wide.tokenizer.chat_template = TEMPLATES["marks"]
    one = chat_continuation(wide, TURNS, "Yes")
    fits = replace(wide, context_window=len(one.ids))
    assert chat_continuation(fits, TURNS, "Yes").ids.tolist() == one.ids.tolist()
    with pytest.raises(LingprobError, match=f"4 turns that ends with 'Yes' has {len(one.ids)}"):
        chat_continuation(replace(wide, context_window=len(one.ids) - 1), TURNS, "Yes")


def test_what_a_tokenizer_puts_around_texts_is_not_in_a_chat(wide):
    """The template has written what belongs there."""
    wide.tokenizer.chat_template = TEMPLATES["brackets"]
    expected = chat_continuation(wide, TURNS, "Yes")
    backend = wide.tokenizer.backend_tokenizer
    plain = backend.post_processor
    backend.post_processor = TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    try:
        found = chat_continuation(wide, TURNS, "Yes")
        assert wide.tokenizer("Yes")["input_ids"][0] == 0
    finally:
        backend.post_processor = plain
    assert (found.ids.tolist(), found.first) == (expected.ids.tolist(), expected.first)


def test_a_template_may_begin_with_the_target(wide):
    wide.tokenizer.chat_template = "{{ messages[-1]['content'] }}</s>"
    one = chat_continuation(wide, TURNS, "The cats sleep.")
    assert one.first == 0
    assert wide.tokenizer.decode(one.ids) == "The cats sleep."


def test_the_real_template_s_logprob_is_that_of_a_plain_pass(smollm2):
    lm = load_language_model(smollm2)
    targets = ["The cats sleep.", "Yes"]
    found = score_continuations(
        Scorer(lm), [chat_continuation(lm, TURNS, target) for target in targets]
    )
    for target, logprob in zip(targets, found, strict=True):
        messages = [{"role": role, "content": text} for role, text in TURNS]
        messages.append({"role": "assistant", "content": target})
        assert logprob == pytest.approx(plain(lm, messages, target), abs=1e-3)


def test_plain_text_is_scored_as_in_context(wide):
    from lingprob.scoring.continuations import ContextItem
    from lingprob.scoring.growing_prefixes import score_in_context, sum_tokens

    before, targets = "The cat sat. Who saw it?", ["The cats sat.", "that sat."]
    for start in ("bos", "none"):
        item = ContextItem(before, [0, len(before)], targets)
        expected = sum_tokens(score_in_context(wide, [item], start_token=start))["logprob"]
        continuations = [
            text_continuation(wide, start, text, target)
            for text in ("", before) for target in targets
        ]  # fmt: skip
        found = np.concatenate(
            [score_continuations(Scorer(wide), continuations[k : k + 2]) for k in (0, 2)]
        )
        assert found == pytest.approx(expected.to_numpy(), abs=1e-4)


def test_what_a_chat_cannot_have_is_refused(wide):
    wide.tokenizer.chat_template = None
    with pytest.raises(LingprobError, match=r"no chat template.*context\.chat_models"):
        chat_continuation(wide, TURNS, "Yes")
    wide.tokenizer.chat_template = "{{ raise_exception('one turn only') }}"
    with pytest.raises(LingprobError, match=r"refuses 4 turns .*one turn only"):
        chat_continuation(wide, TURNS, "Yes")
    wide.tokenizer.chat_template = "{% for message in messages %}{{ message['role'] }}{% endfor %}"
    with pytest.raises(LingprobError, match=r"does not show what the assistant says \('Yes'\)"):
        chat_continuation(wide, TURNS, "Yes")
    with pytest.raises(LingprobError, match=r"does not show what the assistant says \(''\)"):
        chat_continuation(wide, TURNS, "")
    wide.tokenizer.chat_template = TEMPLATES["marks"]
    with pytest.raises(LingprobError, match=r"reads 4096 tokens at once.*chat_sentences"):
        chat_continuation(wide, [("user", "word " * 5000)], "Yes")


EXAMPLES = [Example("The cat sat.", True), Example("Cat the sat.", False)]


def test_turns_and_labels_are_what_the_assistant_has_said():
    said = [content for role, content in written(EXAMPLES) if role == "assistant"]
    assert said == ["The cat sat.", "Cat the sat."]
    turns = labelled(EXAMPLES)
    assert [role for role, _ in turns] == ["user", "assistant"] * 2
    assert "The cat sat." in turns[0][1]
    assert [turns[1][1], turns[3][1]] == ["Yes", "No"]


@pytest.mark.parametrize("method", METHODS)
def test_a_margin_is_what_speaks_for_the_acceptable_sentence(wide, method):
    """Swapping the members turns it round; by hand from single passes."""
    wide.tokenizer.chat_template = TEMPLATES["marks"]
    good, bad = "Mary saw John.", "Saw Mary John."

    def margin(first: str, second: str) -> float:
        weights, parts = zip(*asked(wide, method, EXAMPLES, first, second, "bos"), strict=True)
        return float(np.array(weights) @ score_continuations(Scorer(wide), parts))

    assert margin(good, bad) == pytest.approx(-margin(bad, good), abs=1e-4)

    def chat(turns, target) -> float:
        messages = [{"role": role, "content": text} for role, text in turns]
        return plain(wide, [*messages, {"role": "assistant", "content": target}], target)

    if method == "turns":
        turns = [*written(EXAMPLES), ("user", "Write a sentence.")]
        expected = chat(turns, good) - chat(turns, bad)
    elif method == "labels":
        odds = []
        for text in (good, bad):
            question = f"Is this sentence acceptable English? Answer Yes or No.\n\n{text}"
            turns = [*labelled(EXAMPLES), ("user", question)]
            odds.append(chat(turns, "Yes") - chat(turns, "No"))
        expected = odds[0] - odds[1]
    elif method == "choice":
        odds = []
        for first, second in ((good, bad), (bad, good)):
            question = (
                "Which of these two sentences is better English? Answer 1 or 2.\n\n"
                f"1. {first}\n2. {second}"
            )
            turns = [*written(EXAMPLES), ("user", question)]
            odds.append(chat(turns, "1") - chat(turns, "2"))
        expected = (odds[0] - odds[1]) / 2
    else:
        before = "The cat sat. Cat the sat."
        parts = [text_continuation(wide, "bos", before, text) for text in (good, bad)]
        expected = np.subtract(*score_continuations(Scorer(wide), parts))
    assert margin(good, bad) == pytest.approx(expected, abs=1e-3)


STIMULI = pd.DataFrame(
    [
        {"item_id": f"{pair}{side}", "pair_id": str(pair), "text": text, "phenomenon": "p",
         "grammatical": side == "g", "paradigm": "s"}
        for pair, both in enumerate([("The cat sat.", "Cat the sat."), ("He saw it.", "It he saw."),
                                     ("She ran.", "Ran she."), ("I see.", "See I."),
                                     ("We go on.", "Go we on."), ("They sat.", "Sat they.")])
        for side, text in zip("gb", both, strict=True)
    ]
)  # fmt: skip


def prefixes(levels: dict[str, str]) -> pd.DataFrame:
    text = STIMULI.set_index("item_id")["text"]
    tables = [
        prefix_table("d", [Prefix("dose/0+1", "dose", "s", None, ("0", "1"), tuple(ids),
                                  tuple(text[ids]))], level)
        for level, ids in ((level, ids.split()) for level, ids in levels.items())
    ]  # fmt: skip
    return pd.concat(tables, ignore_index=True)


def test_every_pair_is_judged_by_every_method_after_every_context(wide):
    wide.tokenizer.chat_template = TEMPLATES["marks"]
    doses = prefixes({"0": "2g 3g 4g 5g", "0.25": "2g 3b", "0.5": "2g 3b 4b 5g", "1": "2b 3b 4b"})
    options = {"start_token": "bos", "model": "m", "dataset": "d"}
    others = doses.assign(kind="place")
    (table,) = judge_chats(wide, STIMULI, pd.concat([doses, others]), sentences=8, **options)
    assert list(table.columns) == SCHEMAS["context_chat_judgments"].names
    keys = table[["pair_id", "method", "context"]]
    assert len(keys) == len(keys.drop_duplicates()) == 2 * 4 * 4
    # As many sentences in each context as the shortest has.
    assert set(table["n_sentences"][table["context"] != "none"]) == {3}
    assert (table["correct"] == (table["margin"] > 0)).all()
    by = table.set_index(["pair_id", "method", "context"])["margin"]
    good, bad = ("She ran.", "I see.", "We go on."), ("Ran she.", "See I.", "Go we on.")
    shown = {
        "none": [],
        "acceptable": [Example(text, True) for text in good],
        "mixed": [Example(good[0], True), *(Example(text, False) for text in bad[1:])],
        "unacceptable": [Example(text, False) for text in bad],
    }
    for method in METHODS:
        for context, examples in shown.items():
            parts = asked(wide, method, examples, "He saw it.", "It he saw.", "bos")
            each = [weight * float(score_continuations(Scorer(wide), [one])[0])
                    for weight, one in parts]  # fmt: skip
            assert by["1", method, context] == pytest.approx(sum(each), abs=1e-3)
    (fewer,) = judge_chats(wide, STIMULI, doses, sentences=2, **options)
    assert fewer["n_sentences"].max() == 2
    with pytest.raises(LingprobError, match=r"'d': no composed prefixes.*composed_suites"):
        list(judge_chats(wide, STIMULI, doses.iloc[:0], sentences=2, **options))


def test_no_margin_is_no_right_answer(wide):
    """Without a choice between answers that are equally probable, no pair is judged rightly."""
    wide.tokenizer.chat_template = TEMPLATES["marks"]
    doses = prefixes({level: "2g 3g" for level in ("0", "0.5", "1")})
    embedding = wide.model.get_output_embeddings()
    weight = embedding.weight.data.clone()
    try:
        embedding.weight.data.zero_()
        options = {"start_token": "bos", "model": "m", "dataset": "d"}
        (table,) = judge_chats(wide, STIMULI, doses, sentences=2, **options)
    finally:
        embedding.weight.data.copy_(weight)
    even = table[table["method"].isin(["labels", "choice"])]
    assert (even["margin"] == 0).all()
    assert not even["correct"].any()
