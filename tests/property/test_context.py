"""Formulas against Python's own evaluation, overlaps against counters, offsets one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.context.perturbations import f1
from lingprob.context.prefixes import cuts
from lingprob.papers.context.overlaps import Overlaps
from lingprob.stimuli.formulas import parse_formula

REGIONS = [("a", 1), ("a", 2), ("b-2", 1)]
numbers = st.one_of(
    st.sampled_from(REGIONS).map(lambda region: (f"({region[1]};%{region[0]}%)", repr(region))),
    st.integers(0, 9).map(lambda value: (str(value), str(float(value)))),
)


def joined(parts, symbols, brackets):
    """A formula, and the same in Python with every operation in brackets, from the left."""
    formula, python = parts[0]
    for symbol, (more, other) in zip(symbols, parts[1:], strict=False):
        formula, python = f"{formula} {symbol} {more}", f"({python} {symbol} {other})"
    return (f"[{formula}]" if brackets else formula), python


sums = st.builds(
    joined, st.lists(numbers, min_size=1, max_size=4), st.lists(st.sampled_from("+-"), min_size=3),
    st.booleans(),
)  # fmt: skip
comparisons = st.builds(
    lambda left, symbol, right, brackets: joined([left, right], [symbol], brackets), sums,
    st.sampled_from("<>"), sums, st.booleans(),
)  # fmt: skip
formulas = st.builds(
    joined,
    st.lists(comparisons, min_size=1, max_size=4),
    st.sampled_from("&|").map(lambda symbol: [symbol] * 3),
    st.booleans(),
)
values = st.lists(st.integers(0, 9).map(float), min_size=3, max_size=3)


@given(formulas, values)
def test_a_formula_is_what_python_makes_of_it(both, surprisals):
    formula, python = both
    known = dict(zip(REGIONS, surprisals, strict=True))
    for region, value in known.items():
        python = python.replace(repr(region), repr(value))
    expected = eval(python)  # numbers and operators that this file wrote
    assert bool(parse_formula(formula, "here").holds(known)) == bool(expected)


@given(st.lists(st.text("abc", max_size=6), min_size=1, max_size=5))
@settings(deadline=None)
def test_sparse_overlaps_are_those_of_counters(texts):
    overlaps = Overlaps(texts, lambda some: [list(text) for text in some])
    ones, others = texts, texts[::-1]
    expected = [f1(one, other) for one, other in zip(ones, others, strict=True)]
    assert overlaps.f1(ones, others).tolist() == expected


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=20),
    st.lists(st.integers(1, 300), min_size=1, max_size=8),
    st.integers(1, 400),
)
def test_a_cut_is_the_last_sentence_that_fits(sizes, lengths, room):
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    found = cuts(ends, lengths, room)
    for length, last in found.items():
        assert ends[last] <= min(length, room)
        assert last + 1 == len(ends) or ends[last + 1] > min(length, room)
    assert len(set(found.values())) == len(found)
    reachable = {length for length in (min(one, room) for one in lengths) if length >= ends[0]}
    assert {
        max(last for last, end in enumerate(ends) if end <= length) for length in reachable
    } == set(found.values())
