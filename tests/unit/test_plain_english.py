"""Documents, docstrings, comments and messages have no odd English that the patterns know."""

import re

import pytest

from plain_english import PATTERNS, places, project_files

ODD = {
    "'what' as a noun (name the thing)": "What nothing tests is not run.",
    "'where' for if or when": "Left out where the slope is 0.",
    "'a X a Y' for one X per Y": "A table with a row a sentence.",
    "ours, yours, theirs, of one's own": "Their values are next to ours.",
    "'holds' for contains": "The interval holds 0.",
    "'stands' for is or appears": "A name stands on another.", "a final ', too'": "It rises, too.",
    "', for' and ', as' for because": "It is left out, for it is empty.",
    "beside": "The model beside the data.", "'blank' for space": "A blank ends the word.",
    "'less' for minus": "The first r less the second, less its error.",
    "a semicolon that joins sentences": "One line joins them; it is dotted.",
    "mend, anew, likewise, nobody, to be had, so many": "Mend the file.",
    "a number without its leading zero": "An r of .5 is high.",
}  # fmt: skip
GOOD = """{{ where }} [`where`] A setting `what` of it.
The interval includes 0.5. If the slope is 0, say what to do. A list: one; two; three.
What is wrong? The folder where it lies. One row per sentence, 3.5 and `.csv`."""


@pytest.mark.parametrize("name", PATTERNS)
def test_odd_english_is_found(tmp_path, name):
    page = tmp_path / "page.md"
    page.write_text(ODD[name])
    assert name in {found for _, found, _ in places(page)}


def test_good_english_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(GOOD)
    assert list(places(page)) == []


def test_names_of_tests_have_at_most_eight_words():
    names = [
        name
        for path in project_files()
        if path.name.startswith("test_")
        for name in re.findall(r"^ *def test_(\w+)", path.read_text(encoding="utf-8"), re.M)
    ]
    assert len(names) > 1000
    assert [name for name in names if len(re.findall("[^_]+", name)) > 8] == []


def test_the_project_has_no_odd_english():
    found = [
        f"{path.name}:{line}: {name}: {around}"
        for path in project_files()
        for line, name, around in places(path)
    ]
    assert found == []
