"""On-line construction of a compacted DAWG (Inenaga et al. 2005), compiled by Numba.

The text is all documents, each followed by SEPARATOR, which equals nothing, not even itself:
thus a label never runs from one document into the next, and the edges for separators, which no
query could follow, are only counted (`ends`).

A node's edges lie together in a block of `pool`: up to eight in a row, more as a hash table.
A block that has become too small goes to the free list of its size.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

ROOT, SINK, BOTTOM = 0, 1, -1
OPEN = 2**31 - 1  # length of the edges to the sink, which grow with the text
EMPTY = -1
MAX_ROW = 8
SIZES = 40  # of blocks: the index of 2**k is 8 + k
LENGTH, LINK, BLOCK, DEGREE, ENDS = range(5)  # columns of nodes
SYMBOL, START, EXTENT, TARGET = range(4)  # columns of pool


@njit(cache=True)
def _capacity(degree):
    """Return the size of the block for so many edges."""
    if degree <= 4:
        return degree
    if degree <= MAX_ROW:
        return (degree + 1) // 2 * 2
    size = 16
    while 3 * size < 4 * degree:
        size *= 2
    return size


@njit(cache=True)
def _list_of(size):
    """Return the number of the free list for blocks of this size."""
    if size <= MAX_ROW:
        return size
    power = 0
    while size > 1:
        size >>= 1
        power += 1
    return 8 + power


@njit(cache=True)
def _find(nodes, pool, node, symbol):
    """Return the row in `pool` of a node's edge that begins with `symbol`, or -1."""
    block, degree = np.int64(nodes[node, BLOCK]), np.int64(nodes[node, DEGREE])
    if degree <= MAX_ROW:
        for row in range(block, block + degree):
            if pool[row, SYMBOL] == symbol:
                return row
        return np.int64(-1)
    mask = _capacity(degree) - 1
    place = (symbol * 0x9E3779B1 >> 12) & mask
    while pool[block + place, SYMBOL] != EMPTY:
        if pool[block + place, SYMBOL] == symbol:
            return block + place
        place = (place + 1) & mask
    return np.int64(-1)


@njit(cache=True)
def _put(pool, block, capacity, used, symbol, start, extent, target):
    """Write an edge into a block with room."""
    row = block + used
    if capacity > MAX_ROW:
        mask = capacity - 1
        place = (symbol * 0x9E3779B1 >> 12) & mask
        while pool[block + place, SYMBOL] != EMPTY:
            place = (place + 1) & mask
        row = block + place
    pool[row, SYMBOL] = symbol
    pool[row, START] = start
    pool[row, EXTENT] = extent
    pool[row, TARGET] = target


@njit(cache=True)
def _allocate(pool, state, free, capacity):
    """Return a block's first row, from the free list or the end of the pool."""
    kind = _list_of(capacity)
    block = free[kind]
    if block >= 0:
        free[kind] = np.int64(pool[block, START]) | (np.int64(pool[block, EXTENT]) << 31)
        if free[kind] == (np.int64(OPEN) | (np.int64(OPEN) << 31)):
            free[kind] = -1
    else:
        block = state[1]
        state[1] += capacity
    if capacity > MAX_ROW:
        for row in range(block, block + capacity):
            pool[row, SYMBOL] = EMPTY
    return block


@njit(cache=True)
def _release(pool, free, block, capacity):
    if capacity == 0:
        return
    kind = _list_of(capacity)
    following = free[kind]
    if following < 0:
        pool[block, START], pool[block, EXTENT] = OPEN, OPEN
    else:
        pool[block, START] = following & OPEN
        pool[block, EXTENT] = following >> 31
    free[kind] = block


@njit(cache=True)
def _copy_edges(nodes, pool, source, block, capacity):
    """Copy a node's edges into an empty block."""
    old, degree = np.int64(nodes[source, BLOCK]), np.int64(nodes[source, DEGREE])
    used = 0
    for row in range(old, old + _capacity(degree)):
        if degree <= MAX_ROW and row - old >= degree:
            break
        if degree > MAX_ROW and pool[row, SYMBOL] == EMPTY:
            continue
        _put(
            pool, block, capacity, used,
            np.int64(pool[row, SYMBOL]), pool[row, START], pool[row, EXTENT], pool[row, TARGET],
        )  # fmt: skip
        used += 1


@njit(cache=True)
def _add_edge(nodes, pool, state, free, node, symbol, start, extent, target):
    degree = np.int64(nodes[node, DEGREE])
    old_capacity, capacity = _capacity(degree), _capacity(degree + 1)
    if capacity != old_capacity:
        block = _allocate(pool, state, free, capacity)
        _copy_edges(nodes, pool, node, block, capacity)
        _release(pool, free, np.int64(nodes[node, BLOCK]), old_capacity)
        nodes[node, BLOCK] = block
    _put(pool, np.int64(nodes[node, BLOCK]), capacity, degree, symbol, start, extent, target)
    nodes[node, DEGREE] += 1


@njit(cache=True)
def _new_node(nodes, state, length):
    node = state[0]
    state[0] += 1
    nodes[node, LENGTH] = length
    nodes[node, LINK] = ROOT
    nodes[node, BLOCK] = 0
    nodes[node, DEGREE] = 0
    nodes[node, ENDS] = 0
    return node


@njit(cache=True)
def _grown(array, needed):
    if needed <= len(array):
        return array
    larger = np.empty((max(needed, len(array) + len(array) // 4), array.shape[1]), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True)
def _canonize(nodes, pool, text, node, first, count):
    """Walk down from a node along `count` symbols of the text, as far as a node."""
    while count > 0:
        row = _find(nodes, pool, node, np.int64(text[first]))
        extent = np.int64(pool[row, EXTENT])
        if extent > count:
            break
        node = np.int64(pool[row, TARGET])
        first += extent
        count -= extent
    return node, first, count


@njit(cache=True)
def _shorten(nodes, pool, text, node, first, count):
    """Return the place of the next shorter suffix; (BOTTOM, ...) after the empty one."""
    if node == ROOT:
        if count == 0:
            return np.int64(BOTTOM), first, count
        first, count = first + 1, count - 1
    else:
        node = np.int64(nodes[node, LINK])
    return _canonize(nodes, pool, text, node, first, count)


@njit(cache=True)
def _separate(nodes, pool, state, free, text, node, first, count, position):
    """Read the symbol at `position`, which can follow; split the node reached if not solid."""
    if node == BOTTOM:
        return np.int64(ROOT), position + 1, np.int64(0)
    row = _find(nodes, pool, node, np.int64(text[first]))
    if pool[row, EXTENT] > count + 1:
        return node, first, count + 1
    old = np.int64(pool[row, TARGET])
    length = nodes[node, LENGTH] + count + 1
    if nodes[old, LENGTH] == length:
        return old, position + 1, np.int64(0)
    clone = _new_node(nodes, state, length)
    nodes[clone, LINK] = nodes[old, LINK]
    nodes[clone, ENDS] = nodes[old, ENDS]
    nodes[old, LINK] = clone
    capacity = _capacity(np.int64(nodes[old, DEGREE]))
    block = _allocate(pool, state, free, capacity)
    _copy_edges(nodes, pool, old, block, capacity)
    nodes[clone, BLOCK], nodes[clone, DEGREE] = block, nodes[old, DEGREE]
    while pool[row, EXTENT] == count + 1 and pool[row, TARGET] == old:
        pool[row, TARGET] = clone
        node, first, count = _shorten(nodes, pool, text, node, first, count)
        if node == BOTTOM:
            break
        row = _find(nodes, pool, node, np.int64(text[first]))
    return clone, position + 1, np.int64(0)


@njit(cache=True)
def build(text, separator):
    """Return nodes (int32, five columns) and pool (int32, four) of the CDAWG of a text."""
    nodes = np.empty((1024, 5), np.int32)
    pool = np.empty((4096, 4), np.int32)
    state = np.zeros(2, np.int64)  # nodes and rows of the pool in use
    free = np.full(SIZES, -1, np.int64)
    _new_node(nodes, state, 0)
    _new_node(nodes, state, OPEN)
    node, first, count = np.int64(ROOT), np.int64(0), np.int64(0)
    for position in range(len(text)):
        symbol = np.int64(text[position])
        ends = symbol == separator
        previous, split_target, made = np.int64(-1), np.int64(-1), np.int64(-1)
        while node != BOTTOM:
            degree = np.int64(nodes[node, DEGREE])
            pool = _grown(pool, state[1] + 4 * degree + 64)
            nodes = _grown(nodes, state[0] + 4)
            row = _find(nodes, pool, node, np.int64(text[first]) if count > 0 else symbol)
            if count == 0:
                if row >= 0 and not ends:
                    break
                made, split_target = node, np.int64(-1)
            else:
                start, target = np.int64(pool[row, START]), np.int64(pool[row, TARGET])
                if text[start + count] == symbol and not ends:
                    break
                if target == split_target:
                    pool[row, EXTENT], pool[row, TARGET] = count, made
                    node, first, count = _shorten(nodes, pool, text, node, first, count)
                    continue
                split_target = target
                made = _new_node(nodes, state, nodes[node, LENGTH] + count)
                extent = np.int64(pool[row, EXTENT])
                pool[row, EXTENT], pool[row, TARGET] = count, made
                _add_edge(
                    nodes, pool, state, free, made, np.int64(text[start + count]), start + count,
                    extent - count if extent != OPEN else OPEN, target,
                )  # fmt: skip
            if ends:
                nodes[made, ENDS] += 1
            else:
                _add_edge(nodes, pool, state, free, made, symbol, position, OPEN, SINK)
            if previous >= 0:
                nodes[previous, LINK] = made
            previous = made
            node, first, count = _shorten(nodes, pool, text, node, first, count)
        if previous > ROOT:
            nodes[previous, LINK] = node
        if node != BOTTOM:
            row = _find(nodes, pool, node, np.int64(text[first]) if count > 0 else symbol)
            reached = np.int64(nodes[pool[row, TARGET], DEGREE])
            pool = _grown(pool, state[1] + 4 * reached + 64)
            nodes = _grown(nodes, state[0] + 4)
        if count == 0:
            first = np.int64(position)
        node, first, count = _separate(
            nodes, pool, state, free, text, node, first, count, np.int64(position)
        )
    return nodes[: state[0]], pool[: state[1]]


@njit(cache=True)
def pack(nodes, pool):
    """Return the edges by node and symbol (int32, four columns), first edges, and counts.

    A node occurs as often as all its continuations together; edges lead to longer nodes.
    """
    n_nodes = len(nodes)
    firsts = np.zeros(n_nodes + 1, np.int64)
    for node in range(n_nodes):
        firsts[node + 1] = firsts[node] + nodes[node, DEGREE]
    edges = np.empty((firsts[n_nodes], 4), np.int32)
    for node in range(n_nodes):
        block, degree = np.int64(nodes[node, BLOCK]), np.int64(nodes[node, DEGREE])
        place = firsts[node]
        for row in range(block, block + _capacity(degree)):
            if (degree <= MAX_ROW and row - block >= degree) or (
                degree > MAX_ROW and pool[row, SYMBOL] == EMPTY
            ):
                continue
            edges[place] = pool[row]
            place += 1
        part = edges[firsts[node] : firsts[node + 1]]
        part[:] = part[np.argsort(part[:, SYMBOL])]
    counts = np.zeros(n_nodes, np.int64)
    for node in np.argsort(nodes[:, LENGTH])[::-1]:
        total = np.int64(nodes[node, ENDS])
        for row in range(firsts[node], firsts[node + 1]):
            total += counts[edges[row, TARGET]]
        counts[node] = 1 if node == SINK else total
    return edges, firsts, counts
