"""Targets after growing prefixes, against each text read alone from its beginning in float64."""

import logging
import threading
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.io.shards import Shards
from lingprob.models.loading import Tokens, load_language_model
from lingprob.scoring.continuations import ContextItem, score_in_context, tokenize_item
from lingprob.scoring.engine import Scorer
from models_for_tests import CONFIGS, float64_model, passes, plain_logprobs, save_tiny_model

PREFIX = "The cat sat on the mat. Who did Mary say that John saw?"
ITEM = ContextItem(
    prefix=PREFIX,
    cuts=[0, 23, len(PREFIX)],
    targets=["The cats sat.", "The cats sit on it.", "Who did Mary say saw?"],
)
OTHER = ContextItem(prefix="Kim solved it.", cuts=[14], targets=["It seems so.", "Seems it so."])


@pytest.fixture(scope="module", params=CONFIGS)
def directory(request, tmp_path_factory):
    return save_tiny_model(request.param, tmp_path_factory.mktemp(request.param))


loaded = cache(load_language_model)


def slow(directory, text, begin, start_token):
    """Read one text in float64 and return id, offsets after `begin` and ln p of later tokens."""
    language_model, model = loaded(directory), float64_model(directory)
    (tokens,) = language_model.tokenize([text])
    logprobs = plain_logprobs(model, tokens.ids.tolist(), language_model.start_id(start_token))
    spans = zip(tokens.ids, tokens.char_start, tokens.char_end, logprobs, strict=True)
    rows = [
        (token_id, max(start - begin, 0), end - begin, logprob)
        for token_id, start, end, logprob in spans
        if end > max(begin - 1, 0)
    ]
    return rows, len(tokens.ids) - len(rows)


def check(table, directory, items, start_token, atol=1e-5):
    by_target = table.set_index(["item_index", "cut_index", "target_index"])
    for item_index, item in enumerate(items):
        for cut_index, cut in enumerate(item.cuts):
            for target_index, target in enumerate(item.targets):
                before = item.prefix[:cut] + " " if cut else ""
                expected, n_before = slow(directory, before + target, len(before), start_token)
                rows = by_target.loc[[(item_index, cut_index, target_index)]]
                found = rows[["token_index", "token_id", "char_start", "char_end"]].to_numpy()
                assert found.tolist() == [[k, *row[:3]] for k, row in enumerate(expected)]
                assert (rows["prefix_tokens"] == n_before).all()
                np.testing.assert_allclose(rows["logprob"], [row[3] for row in expected], atol=atol)


@pytest.mark.parametrize("start_token", ["bos", "none"])
def test_every_family_equals_reading_each_text_alone(directory, start_token):
    items = [ITEM, OTHER]
    table = score_in_context(Scorer(load_language_model(directory)), items, start_token=start_token)
    assert table["logprob"].isna().sum() == (3 if start_token == "none" else 0)
    check(table, directory, items, start_token, atol=1e-5)


def test_a_prefix_is_run_once_however_many_cuts(llama):
    targets = ["The cats sat.", "The cats sit."]
    cuts = [23, PREFIX.index(" say"), len(PREFIX)]
    with passes(llama.model.base_model) as fed:
        score_in_context(Scorer(llama), [ContextItem(PREFIX, cuts[2:], targets)], start_token="bos")
        one_cut = fed[-1].shape
        score_in_context(Scorer(llama), [ContextItem(PREFIX, cuts, targets)], start_token="bos")
        three_cuts = fed[-1].shape
    n_prefix = len(llama.tokenize([PREFIX])[0].ids)
    assert one_cut[0] == three_cuts[0] == 1
    assert n_prefix < one_cut[1] < n_prefix + 12
    assert n_prefix < three_cuts[1] <= n_prefix + 3 * (one_cut[1] - n_prefix)


def test_items_at_once_are_scored_as_alone(llama):
    """Many short items on more workers than cores, from the model's preparation on."""
    ends = [place for place, letter in enumerate(PREFIX) if letter == " "]
    items = [ContextItem(PREFIX[:end], [0, end], ["The cat sat.", "So."]) for end in ends * 4]
    threads = torch.get_num_threads()
    together = score_in_context(
        Scorer(llama), items, start_token="bos", workers=4, items_per_shard=30
    )
    assert torch.get_num_threads() == threads
    alone = score_in_context(Scorer(llama), items, start_token="bos")
    pd.testing.assert_frame_equal(together, alone, check_exact=False, atol=1e-5)


def test_workers_do_not_wait_for_each_other(llama):
    """Two items in shards of their own meet in the model, or the barrier breaks."""
    items = [ContextItem("The cat sat.", [12], ["So."]), ContextItem("It seems.", [9], ["So."])]
    scorer, options = Scorer(llama), {"start_token": "bos", "items_per_shard": 1}
    score_in_context(scorer, items, **options)  # checks the model
    together = threading.Barrier(2, timeout=60)
    threads = set()

    def wait(*_):
        threads.add(torch.get_num_threads())
        together.wait()

    with llama.model.base_model.register_forward_pre_hook(wait):
        score_in_context(scorer, items, **options, workers=2)
    assert threads == {1}


def test_tokens_after_an_end_are_not_scored(llama, tmp_path):
    """A word ends at the next one's space, which begins its token."""
    targets = ["The cats sit on it.", "Who did Mary say saw?"]
    options = {"start_token": "bos", "shards": Shards(tmp_path, "these weights")}
    whole = score_in_context(Scorer(llama), [ContextItem(PREFIX, [0, 23], targets)], **options)
    ends = [len("The cats sit"), len(targets[1])]
    cut = score_in_context(Scorer(llama), [ContextItem(PREFIX, [0, 23], targets, ends)], **options)
    wanted = whole[(whole["target_index"] == 1) | (whole["char_start"] < ends[0])]
    assert 0 < len(wanted) < len(whole)
    pd.testing.assert_frame_equal(cut, wanted.reset_index(drop=True), check_exact=False, atol=1e-5)


def test_an_error_in_a_worker_ends_the_call(llama):
    """Shards that have not begun by then are never scored."""
    too_long = ContextItem(PREFIX * 40, [len(PREFIX) * 40], ["The cat."])
    items, options = [too_long, *[ITEM] * 200], {"workers": 2, "items_per_shard": 10}
    with passes(llama.model.base_model) as fed, pytest.raises(LingprobError, match="too few for"):
        score_in_context(Scorer(llama), items, start_token="bos", **options)
    assert len(fed) < 100


@pytest.mark.parametrize("kind", ["longrope", "dynamic"])
def test_a_model_with_a_state_is_not_shared(llama, monkeypatch, caplog, kind):
    """Its rotary frequencies are those of the pass before, so passes at once would mix them."""
    seen = set()
    plain = type(llama.model.base_model).forward

    def forward(self, *args, **kwargs):
        seen.add(threading.get_ident())
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(type(llama.model.base_model), "forward", forward)
    score_in_context(Scorer(llama), [ITEM, OTHER] * 4, start_token="bos", workers=2)
    assert threading.get_ident() not in seen
    seen.clear()
    rotation = {"rope_type": kind, "original_max_position_embeddings": 64}
    monkeypatch.setattr(llama.model.config, "rope_parameters", {"full_attention": rotation})
    with caplog.at_level(logging.INFO):
        score_in_context(Scorer(llama), [ITEM, OTHER] * 4, start_token="bos", workers=2)
    assert seen == {threading.get_ident()}
    assert "one by one" in caplog.text


def test_a_cut_may_change_the_prefixs_tokens(llama):
    """Cut within 'that', one token, and then without a separator."""
    cut = PREFIX.index("that") + 2
    item = ContextItem(PREFIX, [cut, len(PREFIX)], ["The cat."])
    table = score_in_context(Scorer(llama), [item], start_token="bos")
    check(table, llama.directory, [item], "bos", atol=1e-5)
    glued = score_in_context(
        Scorer(llama), [ContextItem("The ca", [6], ["t sat."])], start_token="bos", separator=""
    )
    rows, n_before = slow(llama.directory, "The cat sat.", 7, "bos")  # ends after character 6
    assert glued["token_id"].tolist() == [row[0] for row in rows]
    assert glued["prefix_tokens"].unique().tolist() == [n_before]
    assert (glued["char_start"].iloc[0], glued["char_end"].iloc[-1]) == (0, len("t sat."))
    np.testing.assert_allclose(glued["logprob"], [row[3] for row in rows], atol=1e-5)


def test_a_separators_tokens_lie_at_the_target(llama):
    item = ContextItem("So.", [3], ["It is."])
    table = score_in_context(Scorer(llama), [item], start_token="bos", separator="\n\n")
    rows, n_before = slow(llama.directory, "So.\n\nIt is.", 4, "bos")  # ends after character 3
    assert table["char_start"].tolist()[:3] == [0, 0, 0]
    assert table["char_end"].tolist()[:2] == [0, 0]
    assert table["char_end"].iloc[-1] == len("It is.")
    assert (table["prefix_tokens"] == n_before).all()
    np.testing.assert_allclose(table["logprob"], [row[3] for row in rows], atol=1e-5)


def test_an_empty_first_token_is_the_targets():
    """Some tokenizers begin a text with a mark of no width."""
    tokens = Tokens(*np.array([[7, 8], [0, 0], [0, 3]]))
    lm = SimpleNamespace(tokenize=lambda texts: [tokens] * len(texts))
    _, (alone,) = tokenize_item(lm, ContextItem("So.", [0], ["It."]), " ")
    assert alone.first == 0


@pytest.mark.parametrize(("start_token", "longest"), [("bos", 52), ("none", 53)])
def test_texts_fill_the_window_after_the_start_token(llama, start_token, longest):
    """Each letter and the space is a token, and ten letters are the longer target."""
    item = ContextItem("Q" * 60, [longest], ["Q", "Q" * 10])
    table = score_in_context(Scorer(llama), [item], start_token=start_token)
    check(table, llama.directory, [item], start_token, atol=1e-5)
    assert (table["prefix_tokens"] == longest).all()
    longer = replace(item, cuts=[longest + 1, 60])
    said = f"window of 64 tokens, 1 too few for {longest + 1} characters .* the target 'Q{{10}}'"
    with pytest.raises(LingprobError, match=said):
        score_in_context(Scorer(llama), [longer], start_token=start_token)


@pytest.mark.parametrize(
    "change",
    [{"identity": "others"}, {"start_token": "none"}, {"separator": "\n"}, {"context_window": 60},
     {"dtype": torch.float64}, {"prefix": "Tim solved it."}, {"cuts": [3]}, {"ends": [2, 5]},
     {"targets": OTHER.targets[::-1]}],
)  # fmt: skip
def test_shards_of_another_setting_are_not_taken(llama, tmp_path, change):
    def score(given, folder=None):
        given = {"start_token": "bos", "identity": "these", **given}
        lm, item = (
            replace(one, **{name: given.pop(name) for name in {*given} if hasattr(one, name)})
            for one in (llama, OTHER)
        )
        shards = Shards(folder, given.pop("identity"))
        return score_in_context(Scorer(lm), [item], **given, shards=shards)

    score({}, tmp_path)
    found = score(change, tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    pd.testing.assert_frame_equal(found, score(change))
