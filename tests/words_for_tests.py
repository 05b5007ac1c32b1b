"""Words of short passages, as the `words` table has them."""

import pandas as pd


def words_of(*passages: str) -> pd.DataFrame:
    """Return one row per word, for passages from 1, each of one sentence."""
    rows = [
        (str(number), index, word, 0)
        for number, content in enumerate(passages, start=1)
        for index, word in enumerate(content.split())
    ]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])
