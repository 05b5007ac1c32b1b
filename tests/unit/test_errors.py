"""The words of errors: the first row at fault, and names that are near."""

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError, nearest, refuse_rows, unknown_name

ROWS = pd.DataFrame({"item_id": ["a", "b", "c"], "n": [1, 2, 3]}, index=[7, 8, 9])


@pytest.mark.parametrize(
    "at_fault",
    [
        [False, True, True],
        np.array([False, True, True]),
        pd.Series([None, True, True]),
        pd.Series([pd.NA, True, True], dtype="boolean", index=[2, 0, 1]),
    ],
)
def test_the_first_row_at_fault_words_the_error(at_fault):
    problem = "{path}, data row {row} (place {place}): {item_id!r} has {n!r}, as {count} rows"
    with pytest.raises(LingprobError) as error:
        refuse_rows(at_fault, problem, ROWS, path="my{row}.csv")
    assert str(error.value) == "my{row}.csv, data row 2 (place 1): 'b' has 2, as 2 rows"


def test_rows_without_fault_pass():
    refuse_rows([False, None, False], "never said", ROWS)
    refuse_rows([], "never said")


def test_only_other_and_similar_names_are_offered():
    assert nearest("lines", ["lines", "sling"]) == ["sling"]
    assert nearest("Demo", ["demo"]) == ["demo"]
    said = str(unknown_name("parser", "table", ["table", "tables", "text"]))
    assert said == "unknown parser 'table'. Did you mean 'tables'?"
    assert nearest("nonsense", ["bert-base-uncased", "gpt2"]) == []
    assert nearest("cat", ["cart", "cats", "scat", "catalog"]) == ["cats", "scat", "catalog"]


def test_without_near_names_the_known_names_are_listed():
    said = str(unknown_name("parser", "xyz", ["blimp", "cola"], "(here)"))
    assert said == "unknown parser 'xyz'. Known are 'blimp', 'cola'. (here)"
    assert str(unknown_name("size", "xyz", ["xyz", "b"])) == "unknown size 'xyz'. Known are 'b'."
    assert str(unknown_name("size", "xyz", "nmlkjihgfedcba")).endswith("'k', 'l' and 2 more.")
    assert str(unknown_name("size", "xyz", [])) == "unknown size 'xyz'. Known are none."
