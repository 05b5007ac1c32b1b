"""Sharded, batched counting against a Counter over one text at a time."""

from collections import Counter
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from lingprob.io.corpora import batches
from lingprob.unigrams import counts as counting
from lingprob.unigrams.counts import count_tokens
from lingprob.unigrams.estimate import merge_sums, sums_table
from models_for_tests import SENTENCES, VOCABULARY_SIZE


@given(
    st.lists(st.text(max_size=30) | st.sampled_from(SENTENCES), max_size=12),
    st.integers(1, 4),
    st.integers(1, 60),
)
def test_shards_add_up_to_a_counter_over_texts(
    tiny_tokenizer, documents, n_shards, batch_characters
):
    tokenizer, expected = tiny_tokenizer.tokenizer, Counter()
    for document in documents:
        for piece in tokenizer.backend_tokenizer.encode(document).ids:
            expected[piece] += 1
    counting.batches = partial(batches, size=batch_characters)
    try:
        shards = [
            count_tokens(
                iter(documents), tokenizer, VOCABULARY_SIZE, shard=shard, n_shards=n_shards
            )
            for shard in range(n_shards)
        ]
    finally:
        counting.batches = batches
    assert [expected[token_id] for token_id in range(VOCABULARY_SIZE)] == sum(shards).tolist()
    merged = merge_sums(map(sums_table, shards))
    assert merged["sum"].tolist() == sum(shards).tolist()
