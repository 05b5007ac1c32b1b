"""Merge token sequences that begin alike into trees, and lay them out in rows of a forward pass.

A row has the nodes (tokens) of trees in preorder, so that a node's descendants follow it without a
gap: node j is an ancestor of node i, or i itself, if j <= i <= last[j].
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Branch:
    """Tokens `ids` (n,) int64 to run after the first `start` (0 or more) tokens of a prefix.

    The log-probabilities of `ids[score_from:]` are wanted. `score_from` is at least 1. The last
    token is not run.
    """

    ids: np.ndarray
    score_from: int
    start: int = 0


@dataclass
class Row:
    """Branches merged into trees, with lists that have one entry per node, branch or wanted token.

    - per node: ids, positions, `start` (of its Branch), `last` (see the module's docstring).
    - per branch: its number (`branches`) and its number of wanted tokens (`wanted`).
    - per wanted token, branch by branch: its id (`targets`), and the node that predicts it.
    - `paths` has the nodes of each branch, by the branch's number.
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
    """Return rows of at most `row_length` nodes with all branches, the longest row first.

    Branches with the same beginning share a row while it has room. A branch longer than
    `row_length` has a longer row. Without `merge`, each branch has its own row.
    """
    rows: list[Row] = []
    previous = None
    # Branches with the same beginning become neighbours.
    keys = [(branch.start, branch.ids.astype(">i8").tobytes()) for branch in branches]
    for number in sorted(range(len(branches)), key=keys.__getitem__):
        branch = branches[number]
        shared = 0
        if previous is not None and previous.start == branch.start:
            shared = shared_length(previous.ids[:-1], branch.ids[:-1])
        if not (merge and rows and len(rows[-1].ids) + len(branch.ids) - 1 - shared <= row_length):
            rows.append(Row())
            shared = 0
        rows[-1].add(number, branch, shared)
        previous = branch
    return sorted(rows, key=lambda row: len(row.ids), reverse=True)


def batches(rows: Sequence[Row], tokens_per_batch: int) -> Iterator[list[Row]]:
    """Yield lists of consecutive rows: as many as fit when padded to the longest, or one."""
    first = 0
    while first < len(rows):
        count = max(1, tokens_per_batch // len(rows[first].ids))
        yield list(rows[first : first + count])
        first += count


def visible(row: Row, prefix: int) -> np.ndarray:
    """Return which tokens of the prefix and the row each node attends to, (n, prefix + n) bool."""
    here = np.arange(len(row.ids))
    ancestors = (here[None, :] <= here[:, None]) & (here[:, None] <= np.array(row.last)[None, :])
    before = np.arange(prefix)[None, :] < np.array(row.start)[:, None]
    return np.concatenate([before, ancestors], axis=1)


def shared_length(one: np.ndarray, other: np.ndarray) -> int:
    """Return the length of the longest common beginning of two sequences."""
    length = min(len(one), len(other))
    differs = np.flatnonzero(one[:length] != other[:length])
    return int(differs[0]) if len(differs) else length
