"""The one exception for problems that the user can fix, and functions that word it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

Value = TypeVar("Value")
LISTED = 12  # names that a message lists


class LingprobError(Exception):
    """A problem in a file, row or option, and its remedy. It is shown without a traceback."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` other known names that contain `name` or are most similar to it."""
    by_lower_case = {candidate.lower(): candidate for candidate in known if candidate != name}
    containing = [candidate for candidate in by_lower_case if name.lower() in candidate]
    similar = difflib.get_close_matches(name.lower(), by_lower_case, n=count, cutoff=0.55)
    found = dict.fromkeys([*containing, *similar])
    return [by_lower_case[candidate] for candidate in found][:count]


def unknown_name(kind: str, name: str, known: Iterable[str], remedy: str = "") -> LingprobError:
    """Build the error for an unknown name, with the nearest known names."""
    others = sorted(set(known) - {name})
    if close := nearest(name, others):
        hint = f"Did you mean {', '.join(map(repr, close))}?"
    else:
        more = f" and {len(others) - LISTED} more" if len(others) > LISTED else ""
        hint = f"Known are {', '.join(map(repr, others[:LISTED])) or 'none'}{more}."
    return LingprobError(f"unknown {kind} {name!r}. {hint} {remedy}".strip())


def no_such_file(path: Path) -> LingprobError:
    """Build the error for a missing file."""
    begins = "" if path.is_absolute() else f", which begins in {Path.cwd()}"
    return LingprobError(f"{path}: no such file. Correct the path{begins}.")


def only_one(files: Sequence[Path], corpus: str) -> Path:
    """Return the only file of a user's data set. Raises LingprobError if there are several."""
    if len(files) != 1:
        raise LingprobError(
            f"datasets.{corpus}.path: {len(files)} files, such as {files[-1]}, and one is read. "
            "Join them to one file."
        )
    return files[0]


def looked_up(kind: str, name: str, known: Mapping[str, Value], remedy: str = "") -> Value:
    """Return the value of a name. Raises `unknown_name` if there is none."""
    if name not in known:
        raise unknown_name(kind, name, known, remedy)
    return known[name]


def refuse_rows(
    at_fault: ArrayLike, problem: str, rows: pd.DataFrame | None = None, **also: object
) -> None:
    """Raise LingprobError for the first row at fault, if there is one.

    Args:
        at_fault: whether a row is at fault, (n,). A missing value is False.
        problem: a format string. Its fields are the columns of `rows`, `also`, `row` (number of
            the first row at fault, from 1), `place` (from 0) and `count` (rows at fault).
        rows: the n rows.
    """
    import pandas as pd

    faults = pd.Series(at_fault).astype("boolean").to_numpy(bool, na_value=False)
    if not faults.any():
        return
    place = int(faults.argmax())
    fields: dict[str, Any] = {}
    if rows is not None:
        fields |= rows.iloc[[place]].rename(columns=str).to_dict("records")[0]
    fields |= {"row": place + 1, "place": place, "count": int(faults.sum())}
    raise LingprobError(problem.format(**fields | also))


def refuse_values(name: str, values: Any, at_fault: Any, problem: str) -> None:
    """Raise LingprobError for the first of n numbers at fault, given two arrays of shape (n,)."""
    if at_fault.any():
        row, count = int(at_fault.argmax()), int(at_fault.sum())
        raise LingprobError(f"{name}, row {row}: {values[row]:g} (such rows: {count}); {problem}.")


def refuse_other_order(**given: Any) -> None:
    """Raise LingprobError if series or tables, whose rows are matched by place, differ in order.

    They differ if their indexes have the same labels in different orders.
    """
    import pandas as pd

    indexed = {
        name: one for name, one in given.items() if isinstance(one, pd.Series | pd.DataFrame)
    }
    for name, one in indexed.items():
        first, other = next(iter(indexed.items()))
        if not one.index.equals(other.index) and set(one.index) == set(other.index):
            raise LingprobError(
                f"{first} and {name} have the same index labels in different orders. Rows are "
                "matched by place: sort both alike, or give lists."
            )


# Messages of torch, safetensors and the operating system when memory runs out.
OUT_OF_MEMORY = (
    "out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory",
    "cublas_status_alloc_failed", "failed to map segment",
)  # fmt: skip


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error means that memory ran out."""
    said = str(error).lower()
    return isinstance(error, MemoryError) or any(text in said for text in OUT_OF_MEMORY)
