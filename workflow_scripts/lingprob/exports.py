"""Tables of one model as people open them: the text of each sentence or word beside its numbers."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from lingprob.tables import read_table

# Of a folder of results: its tables' schema, the table that has the texts, the columns that name a
# row there, and the column of the text itself.
FOLDERS: dict[str, tuple[str, str, list[str], str]] = {
    "sentence_scores": ("sentence_scores", "stimuli", ["item_id"], "text"),
    "surprisal": ("surprisal", "words", ["passage_id", "word_index"], "word"),
}


def with_texts(path: str | Path, texts: str | Path | None) -> pd.DataFrame:
    """Return a table of one model in its own order, with texts after the columns that name them.

    Args:
        path: `results/FOLDER/...parquet`, a folder of FOLDERS.
        texts: the `stimuli` or `words` that the table is about; None where its rows are about none.

    Returns log-probabilities in nats and surprisals in bits, as the table has them.
    """
    schema, texts_schema, keys, text = FOLDERS[Path(path).parts[1]]
    table = read_table(path, schema)
    if texts is None:
        return table
    named = read_table(texts, texts_schema, columns=[*keys, text])
    joined = table.merge(named, on=keys, how="left", validate="many_to_one")
    return joined[[*keys, text, *table.columns.drop(keys)]]
