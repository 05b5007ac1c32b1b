"""Sentence scores: sums by hand, conventions, imported scores."""

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.io.tables import write_table
from lingprob.scoring.imported import (
    import_scores,
    import_sentence_scores,
    import_token_scores,
    refuse_shared_ids,
)
from lingprob.scoring.sentences import summarise_sentences

STIMULI = pd.DataFrame({"item_id": ["a", "b"], "text": ["one two three", "four five"]})
POLICIES = {
    "none": {"start_token": "none", "first_token": "excluded"},
    "bos": {"start_token": "bos", "first_token": "scored"},
    "bos_first_excluded": {"start_token": "bos", "first_token": "excluded"},
}


def tokens(first: float | None) -> pd.DataFrame:
    """Sentence a has tokens 5, 6, 5 and b has 6, 7. `first` is each first token's score."""
    return pd.DataFrame({
        "item_id": [*"aaabb"], "token_index": [0, 1, 2, 0, 1], "token_id": [5, 6, 5, 6, 7],
        "logprob": np.array([first, -2.0, -3.0, first, -4.0], dtype="float32"),
        "scored": [first is not None, True, True, first is not None, True],
    })  # fmt: skip


SCORES = {"none": tokens(None), "bos": tokens(-10.0)}
UNIGRAMS = {"u": pd.Series({5: -1.0, 6: -0.5, 7: -0.25})}


def test_sums_and_lengths_by_hand():
    """With two sources of unigrams and without any. Two spaces lie between words."""
    stimuli, both = STIMULI.replace("four five", "four  five"), UNIGRAMS | {"v": 3 * UNIGRAMS["u"]}
    table = summarise_sentences(stimuli, SCORES, POLICIES, both)
    table = table.set_index(["unigrams", "bos", "item_id"])
    expected = {
        ("none", "a"): (-5.0, -1.5, 2, 3), ("none", "b"): (-4.0, -0.25, 1, 2),
        ("bos", "a"): (-15.0, -2.5, 3, 3), ("bos", "b"): (-14.0, -0.75, 2, 2),
        ("bos_first_excluded", "a"): (-5.0, -1.5, 2, 3),
        ("bos_first_excluded", "b"): (-4.0, -0.25, 1, 2),
    }  # fmt: skip
    columns = ["logprob", "unigram_logprob", "n_tokens", "n_words"]
    for key, (logprob, unigram, *lengths) in expected.items():
        for source, times in (("u", 1), ("v", 3)):
            found = table.loc[(source, *key), columns].tolist()
            assert found == [logprob, times * unigram, *lengths]
    assert len(table) == 2 * len(expected)
    bare = summarise_sentences(STIMULI, SCORES, {"bos": POLICIES["bos"]}, {})
    assert bare["unigrams"].tolist() == ["imported"] * 2
    assert (bare["logprob"].tolist(), bare["unigram_logprob"].isna().all()) == ([-15, -14], True)


def test_sums_are_in_float64():
    """In float32 the sum of these thirds is off by more than 1e-6."""
    many = pd.DataFrame({
        "item_id": ["b"] * 400 + ["a"] * 400, "token_index": [*range(400)] * 2, "token_id": 5,
        "logprob": np.full(800, -1 / 3, dtype="float32"), "scored": True,
    })  # fmt: skip
    table = summarise_sentences(STIMULI, {"bos": many}, {"bos": POLICIES["bos"]}, UNIGRAMS)
    expected = 400 * float(np.float32(-1 / 3))
    assert table["logprob"].tolist() == pytest.approx([expected] * 2, abs=1e-10)


def test_a_sentence_without_a_scored_token_is_named():
    one_token = SCORES["none"][SCORES["none"]["token_index"] == 0]
    policy = {"none": POLICIES["none"]}
    with pytest.raises(
        LingprobError, match=r"'a': no scored token under BOS policy 'none' .such items: 2"
    ):
        summarise_sentences(STIMULI, {"none": one_token}, policy, UNIGRAMS)


def test_tokens_without_a_score_count_nowhere():
    """As imported scores may have them: the first two of a sentence of three."""
    scores = tokens(None)
    scores.loc[1, ["scored", "logprob"]] = [False, np.nan]
    policy = {"none": POLICIES["none"]}
    table = summarise_sentences(STIMULI, {"none": scores}, policy, UNIGRAMS)
    row = table.set_index("item_id").loc["a", ["logprob", "unigram_logprob", "n_tokens"]]
    assert row.tolist() == [-3.0, -1.0, 1]


def test_unigrams_of_another_tokenizer_are_refused():
    with pytest.raises(LingprobError, match=r"'u' has no log-probability for token id 7"):
        summarise_sentences(STIMULI, SCORES, POLICIES, {"u": UNIGRAMS["u"].drop(7)})


def test_imported_sentences_by_id_or_by_text(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("item_id,logprob,n_tokens\nb,-4,2\na,-5,3\nz,-1,1\nz,-2,1\n")
    tokens, by_id = import_scores(tmp_path, "sentence", STIMULI, {}, {}, pd.read_csv(path))
    assert (tokens, by_id["logprob"].tolist()) == (None, [-5, -4])
    assert by_id["unigram_logprob"].isna().all()
    # One twice, as in the stimuli, and one of another study.
    rows = ["four five,-4,2,-9"] * 2 + ["one two three,-5,3,-8", "six,-1,1,-1"]
    path.write_text("\n".join(["sentence,logprob,n_tokens,unigram_logprob", *rows]))
    again = pd.DataFrame({"item_id": ["c"], "text": ["four five "]})
    by_text = import_sentence_scores(path, pd.concat([STIMULI, again]))
    assert by_text["unigram_logprob"].tolist() == [-8, -9, -9]
    assert by_text["n_words"].tolist() == [3, 2, 2]
    for table in (by_id, by_text):
        named = table.assign(model="m", dataset="d")
        write_table(named, "sentence_scores", tmp_path / "t.parquet")


def test_ids_count_if_a_file_has_texts_too(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(f"{BOTH}b,Four five.,-4,2\na,one_two  three,-5,3\n")
    assert import_sentence_scores(path, STIMULI)["logprob"].tolist() == [-5, -4]
    other = STIMULI.assign(text=["one two three", "six"])
    refuse_shared_ids(path, [STIMULI, STIMULI])
    with pytest.raises(LingprobError, match="the id 'b' is of different sentences in two"):
        refuse_shared_ids(path, [STIMULI, other])
    path.write_text(f"{TEXTS}four five,-4,2\n")
    refuse_shared_ids(path, [STIMULI, other])


IDS, TEXTS = "item_id,logprob,n_tokens\n", "sentence,logprob,n_tokens\n"
BOTH = "item_id,sentence,logprob,n_tokens\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{IDS}a,-5,3\n", r"no score for item 'b', 'four five' \(1 of 2 .*its data sets"),
        ("item_id,logprob\na,-5\nb,-4\n", r"no columns \['n_tokens'\]"),
        ("logprob,n_tokens\n-4,2\n-5,3\n", r"no columns \['item_id'\]"),
        (f"{IDS}a,-5,3\nb,x,2\n", "data row 2, column 'logprob'"),
        (f"{IDS}a,-5,3\na,-5,3\nb,-4,2\n", "item 'a' occurs twice"),
        (f"{TEXTS}one two three,-5,3\none two three,-6,3\nfour five,-4,2\n", "'a' occurs twice"),
        (f"{BOTH}c,x,-1,1\na,four five,-5,3\n", "data row 2: the item 'a' is 'one .* 'four five'"),
        (f"{IDS}a,-5,0\nb,-4,2\n", "'n_tokens': below 1"),
        (f"{IDS}a,-5,3\nb,-4,1.5\n", r"'n_tokens': no whole number: '1.5'"),
        (f"{IDS}a,-5,3\nb,4,2\n", r"row 2, column 'logprob': above 0: 4.0 .*turn their sign"),
        ("item_id,logprob,n_tokens,unigram_logprob\na,-5,3,9\nb,-4,2,8\n",
         r"data row 1, column 'unigram_logprob': above 0: 9.0 \(such rows: 2\)"),
        (f"{IDS}a,,3\nb,,2\n", r"data row 1, column 'logprob': no value"),
        (f"{IDS},-5,3\nb,-4,2\n", r"data row 1, column 'item_id': no value"),
        (f"{TEXTS}four five,-4,2\n,-5,3\n", r"data row 2, column 'sentence': no value"),
    ],
)  # fmt: skip
def test_bad_imported_scores_are_named(tmp_path, text, said):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(LingprobError, match=said):
        import_sentence_scores(path, STIMULI)


def test_imported_tokens_give_our_own_sentences(tmp_path):
    path = tmp_path / "tokens.csv"
    own = SCORES["bos"]
    own.sample(frac=1, random_state=0).drop(columns="scored").to_csv(path, index=False)
    policies = {"mine": POLICIES["bos"], "yours": POLICIES["none"]}
    _, theirs = import_scores(path, "token", STIMULI, policies, UNIGRAMS, None)
    ours = summarise_sentences(STIMULI, {"bos": own, "none": own}, policies, UNIGRAMS)
    pd.testing.assert_frame_equal(ours, theirs)


def test_zeros_and_leading_zeros_are_kept(tmp_path):
    """A certain sentence has log-probability 0, and '01' is not '1'."""
    stimuli = pd.DataFrame({"item_id": ["01", "1"], "text": ["x", "NA"]})
    path = tmp_path / "scores.csv"
    path.write_text("item_id,logprob,n_tokens\n1,-2,1\n01,0,1\n")
    assert import_sentence_scores(path, stimuli)["logprob"].tolist() == [0, -2]
    path.write_text("sentence,logprob,n_tokens\nx,0,1\nNA,-2,1\n")
    assert import_sentence_scores(path, stimuli)["logprob"].tolist() == [0, -2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"logprob": 1.0}, r"column 'logprob': above 0: 1.0"),
        ({"token_index": 1}, r"item 'b' has a token_index 1, .* each once"),
        ({"token_index": 5}, r"item 'b' has a token_index 5"),
        ({"token_index": -1}, r"'token_index': below 0"),
        ({"token_id": -7}, r"'token_id': below 0"),
        ({"token_id": 2**31}, r"'token_id': above 2147483647"),
        ({"token_id": None}, r"'token_id': no value"),
        ({"logprob": None}, r"item 'b', token 2: no logprob after a token that has one"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_bad_imported_tokens_are_named(tmp_path, change, said, suffix):
    rows = [("a", 0, 5, None), ("b", 0, 6, None), ("b", 1, 7, -1.0), ("b", 2, 8, -2.0)]
    frame = pd.DataFrame(rows, columns=["item_id", "token_index", "token_id", "logprob"])
    frame = frame.astype({"logprob": float, "token_index": float, "token_id": float})
    path = tmp_path / f"tokens{suffix}"

    def write(table: pd.DataFrame) -> None:
        table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)

    write(frame)
    found = import_token_scores(path, STIMULI)
    assert found["scored"].tolist() == [False, False, True, True]
    write_table(found, "scores", tmp_path / "t.parquet")
    for column, value in change.items():
        frame.loc[3, column] = value
    write(frame)
    with pytest.raises(LingprobError, match=said):
        import_token_scores(path, STIMULI)


def test_places_of_imported_tokens_are_kept(tmp_path):
    path = tmp_path / "tokens.csv"
    path.write_text("item_id,token_index,token_id,logprob\na,0,5,-1\nz,0,7,-3\nb,0,6,-2\n")
    table = import_token_scores(path, STIMULI)
    assert table[["char_start", "char_end"]].to_numpy().tolist() == [[-1, -1], [-1, -1]]
    named = "sentence,token_index,token_id,logprob,char_start,char_end\n"
    path.write_text(f"{named}four five,0,6,-2,-1,-1\none two three,0,5,-1,0,3\n")
    table = import_token_scores(path, STIMULI[::-1])
    assert table[["char_start", "char_end"]].to_numpy().tolist() == [[-1, -1], [0, 3]]
    assert table["item_id"].tolist() == ["b", "a"]
    write_table(table, "scores", tmp_path / "t.parquet")
    path.write_text(f"{named}four five,0,6,-2,-2,-1\none two three,0,5,-1,0,3\n")
    with pytest.raises(LingprobError, match=r"'char_start': below -1"):
        import_token_scores(path, STIMULI)
    path.write_text("item_id,token_index,token_id,logprob\na,0,5,\nb,0,6,\n")
    with pytest.raises(LingprobError, match=r"column 'logprob': all of it is empty"):
        import_token_scores(path, STIMULI)
