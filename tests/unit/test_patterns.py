"""Which names a list of patterns chooses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lingprob.workflow.names import choose, matches

NAMES = ["trained-b", "trained-a", "trained-a-ft5", "smollm2-135m", "gutenberg-2gram"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["smollm2-135m", "trained-*"], ["smollm2-135m", *NAMES[:3]]),
        (["trained-*", "!*-ft*"], ["trained-b", "trained-a"]),
        (["!*-ft*", "trained-a*", "trained-*"], ["trained-a", "trained-b"]),  # at any place of !
        (["*", "!trained-*", "trained-a"], ["smollm2-135m", "gutenberg-2gram"]),
        (["!trained-*"], []),  # nothing is taken out of nothing
        (["gutenberg-[12]gram", "nobody"], ["gutenberg-2gram"]),
        ([], []),
    ],
)
def test_what_is_chosen_by_hand(patterns, chosen):
    assert choose(NAMES, patterns) == chosen


PARTS = st.text("ab-", max_size=3)
PATTERNS = st.lists(
    st.tuples(st.sampled_from(["", "!"]), PARTS, st.sampled_from(["", "*", "?"]), PARTS), max_size=4
)


@given(st.lists(st.text("ab-", max_size=5), unique=True, max_size=8), PATTERNS)
def test_a_name_is_chosen_once_unless_excluded(names, parts):
    patterns = ["".join(part) for part in parts]
    stars = {"": "", "*": ".*", "?": "."}
    wanted, refused = (
        [before + stars[star] + after for mark, before, star, after in parts if mark == kind]
        for kind in ("", "!")
    )
    expected = {
        name
        for name in names
        if any(re.fullmatch(one, name) for one in wanted)
        and not any(re.fullmatch(one, name) for one in refused)
    }
    chosen = choose(names, patterns)
    assert len(chosen) == len({*chosen})
    assert {*chosen} == expected == {name for name in names if matches(name, patterns)}
