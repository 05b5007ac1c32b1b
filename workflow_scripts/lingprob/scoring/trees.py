"""Token sequences that begin alike, merged into trees and laid out in rows of a forward pass.

A row has the nodes of trees in preorder, so that a node's descendants follow it without a gap:
node j is an ancestor of node i, or i itself, if j <= i <= last[j].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Branch:
    """Tokens `ids` (n,) int64 to run after the first `start` tokens of a prefix (maybe 0).

    Wanted is ln p of `ids[score_from:]`. `score_from` is at least 1, and the last is never run.
    """

    ids: np.ndarray
    score_from: int
    start: int = 0


@dataclass
class Row:
    """Branches merged into trees: per node its id, position, ancestors and predicted tokens.

    `start` and `last` are as in Branch and in the module's docstring. The k-th wanted token
    is `targets[k]`, predicted by node `nodes[k]`; they follow the order of `branches` (numbers
    that say whose they are), `wanted` many for each. `paths` has each branch's nodes.
    """

    branches: list[int] = field(default_factory=list)
    wanted: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    paths: dict[int, list[int]] = field(default_factory=dict)

    def add(self, number: int, branch: Branch, shared: int) -> None:
        """Add a branch whose first `shared` tokens are those of the branch added before."""
        fed = len(branch.ids) - 1
        first = len(self.ids)
        new = range(first, first + fed - shared)
        path = self.paths[self.branches[-1]] if self.branches else []
        self.branches.append(number)
        self.wanted.append(len(branch.ids) - branch.score_from)
        path = self.paths[number] = [*path[:shared], *new]
        self.ids += branch.ids[shared:fed].tolist()
        self.positions += range(branch.start + shared, branch.start + fed)
        self.start += [branch.start] * len(new)
        self.last += [new.stop - 1] * len(new)
        if new:
            for node in path[:shared]:
                self.last[node] = new.stop - 1
        self.nodes += path[branch.score_from - 1 :]
        self.targets += branch.ids[branch.score_from :].tolist()

    def is_chain(self) -> bool:
        """Whether every token sees all those before it in the row."""
        return self.last[0] == len(self.last) - 1 == self.positions[-1] - self.positions[0]


def pack(branches: Sequence[Branch], row_length: int, merge: bool = True) -> list[Row]:
    """Lay branches out in rows of at most `row_length` nodes, the longest row first.

    Branches with the same beginning share a row while it has room. A branch longer than
    `row_length` has a longer row. Without `merge`, each branch has its own row.
    """
    rows: list[Row] = []
    previous = None
    for number in sorted(range(len(branches)), key=lambda number: _order(branches[number])):
        branch = branches[number]
        shared = 0 if previous is None else _shared(previous, branch)
        if not (merge and rows and len(rows[-1].ids) + len(branch.ids) - 1 - shared <= row_length):
            rows.append(Row())
            shared = 0
        rows[-1].add(number, branch, shared)
        previous = branch
    return sorted(rows, key=lambda row: len(row.ids), reverse=True)


def batches(rows: Sequence[Row], tokens_per_batch: int) -> Iterator[list[Row]]:
    """Yield consecutive rows, one or as many as fit when padded to the longest."""
    first = 0
    while first < len(rows):
        count = max(1, tokens_per_batch // len(rows[first].ids))
        yield list(rows[first : first + count])
        first += count


def visible(row: Row, prefix: int) -> np.ndarray:
    """Return which of the prefix's tokens, then the row's, each node sees: (n, prefix + n) bool."""
    here = np.arange(len(row.ids))
    ancestors = (here[None, :] <= here[:, None]) & (here[:, None] <= np.array(row.last)[None, :])
    before = np.arange(prefix)[None, :] < np.array(row.start)[:, None]
    return np.concatenate([before, ancestors], axis=1)


def _order(branch: Branch) -> tuple[int, bytes]:
    return branch.start, branch.ids.astype(">i8").tobytes()


def _shared(one: Branch, other: Branch) -> int:
    """Return how many tokens that are run two branches have in common."""
    if one.start != other.start:
        return 0
    return shared_length(one.ids[:-1], other.ids[:-1])


def shared_length(one: np.ndarray, other: np.ndarray) -> int:
    """Return the length of the longest common beginning of two sequences."""
    length = min(len(one), len(other))
    differs = np.flatnonzero(one[:length] != other[:length])
    return int(differs[0]) if len(differs) else length
