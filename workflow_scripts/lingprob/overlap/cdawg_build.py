"""On-line construction of a compacted DAWG (Inenaga et al. 2005), compiled by Numba.

The text consists of all documents, each followed by a separator. A separator counts as different
from every symbol, also from other separators, so that no label runs from one document into the
next. No query follows an edge for a separator. Such edges are therefore only counted (`ends`).

The edges of a node lie together in a block of `pool`: up to sixteen in a list, more in a hash
table. A block that has become too small goes to the list of free blocks of its size.
"""

# mypy: disable-error-code="no-untyped-def"

import numpy as np
from numba import njit

ROOT, SINK, BOTTOM = 0, 1, -1
OPEN = 2**31 - 1  # length of the edges to the sink, which grow with the text
EMPTY = -1
LENGTH, LINK, BLOCK, EDGES = range(4)  # columns of nodes
SYMBOL, START, EXTENT, TARGET = range(4)  # columns of pool
# EDGES contains the number of edges, the index of the block's size, and whether documents end here.
DEGREE_BITS = 24
DEGREE_MASK = 2**DEGREE_BITS - 1
ENDS_FLAG = 2**30
SIZES = np.array([0, 2, 3, 4, 6, 8, 12, 16] + [size << k for k in range(21) for size in (24, 32)])
LONGEST_ROW = 7  # index of the largest block that is searched edge by edge
FULL = 0.85  # of a hash table


@njit(cache=True)
def _degree(nodes, node):
    return np.int64(nodes[node, EDGES]) & DEGREE_MASK


@njit(cache=True)
def _size_index(nodes, node):
    return (np.int64(nodes[node, EDGES]) & (ENDS_FLAG - 1)) >> DEGREE_BITS


@njit(cache=True)
def _first_place(symbol, size):
    """Return the place in a hash table of `size` rows at which the search for a symbol begins."""
    return (((symbol * 0x9E3779B1) & 0xFFFFFFFF) * size) >> 32


@njit(cache=True)
def _find(nodes, pool, node, symbol):
    """Return the row in `pool` of a node's edge that begins with `symbol`, or -1."""
    block, index = np.int64(nodes[node, BLOCK]), _size_index(nodes, node)
    if index <= LONGEST_ROW:
        for row in range(block, block + _degree(nodes, node)):
            if pool[row, SYMBOL] == symbol:
                return row
        return np.int64(-1)
    size = SIZES[index]
    place = _first_place(symbol, size)
    while pool[block + place, SYMBOL] != EMPTY:
        if pool[block + place, SYMBOL] == symbol:
            return block + place
        place += 1
        if place == size:
            place = 0
    return np.int64(-1)


@njit(cache=True)
def _put(pool, block, index, used, edge):
    """Write an edge, a row of four, into a block with free rows after `used` ones."""
    row = block + used
    if index > LONGEST_ROW:
        size = SIZES[index]
        place = _first_place(edge[SYMBOL], size)
        while pool[block + place, SYMBOL] != EMPTY:
            place += 1
            if place == size:
                place = 0
        row = block + place
    pool[row, 0], pool[row, 1], pool[row, 2], pool[row, 3] = edge


@njit(cache=True)
def _allocate(pool, state, free, index):
    """Return the first row of a new block, taken from the free blocks or from the pool's end."""
    block = free[index]
    if block >= 0:
        free[index] = pool[block, START]
    else:
        block = state[1]
        state[1] += SIZES[index]
    if index > LONGEST_ROW:
        for row in range(block, block + SIZES[index]):
            pool[row, SYMBOL] = EMPTY
    return block


@njit(cache=True)
def _copy_edges(nodes, pool, source, block, index):
    """Copy the edges of a node into an empty block."""
    row, degree = np.int64(nodes[source, BLOCK]), _degree(nodes, source)
    used = 0
    while used < degree:
        if pool[row, SYMBOL] != EMPTY:
            edge = (np.int64(pool[row, 0]), pool[row, 1], pool[row, 2], pool[row, 3])
            _put(pool, block, index, used, edge)
            used += 1
        row += 1


@njit(cache=True)
def _add_edge(nodes, pool, state, free, node, edge):
    degree, index = _degree(nodes, node), _size_index(nodes, node)
    limit = SIZES[index] if index <= LONGEST_ROW else np.int64(SIZES[index] * FULL)
    if degree == limit:
        larger = index + 1
        block = _allocate(pool, state, free, larger)
        _copy_edges(nodes, pool, node, block, larger)
        if index > 0:
            pool[nodes[node, BLOCK], START] = free[index]
            free[index] = nodes[node, BLOCK]
        nodes[node, BLOCK] = block
        nodes[node, EDGES] += 1 << DEGREE_BITS
        index = larger
    _put(pool, np.int64(nodes[node, BLOCK]), index, degree, edge)
    nodes[node, EDGES] += 1


@njit(cache=True)
def _new_node(nodes, state, length):
    node = state[0]
    state[0] += 1
    nodes[node, LENGTH] = length
    nodes[node, LINK] = ROOT
    nodes[node, BLOCK] = 0
    nodes[node, EDGES] = 0
    return node


@njit(cache=True)
def _grown(array, needed):
    """Return a copy of an array with at least `needed` rows, in which new rows are 0."""
    larger = np.zeros((needed + len(array) // 2, array.shape[1]), array.dtype)
    for row in range(len(array)):  # Numba takes seconds to compile slices
        for column in range(array.shape[1]):
            larger[row, column] = array[row, column]
    return larger


@njit(cache=True)
def _canonize(nodes, pool, text, node, first, count):
    """Return the last node on the way from a node along `count` symbols of the text from `first`.

    It also returns the beginning and the number of the symbols after that node.
    """
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
    """Return the place of the next shorter suffix, or (BOTTOM, ...) after the empty suffix."""
    if node == ROOT:
        if count == 0:
            return np.int64(BOTTOM), first, count
        first, count = first + 1, count - 1
    else:
        node = np.int64(nodes[node, LINK])
    return _canonize(nodes, pool, text, node, first, count)


@njit(cache=True)
def _separate(nodes, pool, ends, state, free, text, place):
    """Return the place after the next symbol of the text. Split the node there if it is not solid.

    A node is solid if its longest sequence is the one that was read. If `count` is 0, `first` has
    no meaning.
    """
    node, first, count = place
    if node == BOTTOM:
        return np.int64(ROOT), first, np.int64(0)
    row = _find(nodes, pool, node, np.int64(text[first]))
    if pool[row, EXTENT] > count + 1:
        return node, first, count + 1
    old = np.int64(pool[row, TARGET])
    length = nodes[node, LENGTH] + count + 1
    if nodes[old, LENGTH] == length:
        return old, first, np.int64(0)
    clone = _new_node(nodes, state, length)
    nodes[clone, LINK] = nodes[old, LINK]
    nodes[old, LINK] = clone
    index = _size_index(nodes, old)
    if index > 0:
        nodes[clone, BLOCK] = _allocate(pool, state, free, index)
        _copy_edges(nodes, pool, old, np.int64(nodes[clone, BLOCK]), index)
    nodes[clone, EDGES] = nodes[old, EDGES]
    if nodes[old, EDGES] & ENDS_FLAG:
        ends[clone, 0] = ends[old, 0]
    while pool[row, EXTENT] == count + 1 and pool[row, TARGET] == old:
        pool[row, TARGET] = clone
        node, first, count = _shorten(nodes, pool, text, node, first, count)
        if node == BOTTOM:
            break
        row = _find(nodes, pool, node, np.int64(text[first]))
    return clone, first, np.int64(0)


def build(text: np.ndarray, separator: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes and pool (int32, four columns each) and ends (int32) of a text's CDAWG.

    Enough room for natural text is allocated at the start. Unused memory pages take no memory, and
    NumPy requests large pages, which halves the time.
    """
    room = len(text) + 4096
    nodes = np.empty((room // 4, 4), np.int32)
    pool = np.empty((room + room // 2, 4), np.int32)
    ends = np.zeros((room // 4, 1), np.int32)
    return _build(text, separator, nodes, pool, ends)


@njit(cache=True)
def _build(text, separator, nodes, pool, ends):
    state = np.zeros(2, np.int64)  # nodes and rows of the pool in use
    free = np.full(len(SIZES), -1, np.int64)
    _new_node(nodes, state, 0)
    _new_node(nodes, state, OPEN)
    node, first, count = np.int64(ROOT), np.int64(0), np.int64(0)
    for position in range(len(text)):
        symbol = np.int64(text[position])
        is_end = symbol == separator
        previous, split_target, made = np.int64(-1), np.int64(-1), np.int64(-1)
        while node != BOTTOM:
            needed = state[1] + 2 * _degree(nodes, node) + 64
            if needed > len(pool):
                pool = _grown(pool, needed)
            if state[0] + 4 > len(nodes):
                nodes = _grown(nodes, state[0] + 4)
            row = _find(nodes, pool, node, np.int64(text[first]) if count > 0 else symbol)
            if count == 0:
                if row >= 0 and not is_end:
                    break
                made, split_target = node, np.int64(-1)
            else:
                start, target = np.int64(pool[row, START]), np.int64(pool[row, TARGET])
                if text[start + count] == symbol and not is_end:
                    break
                if target == split_target:
                    pool[row, EXTENT], pool[row, TARGET] = count, made
                    node, first, count = _shorten(nodes, pool, text, node, first, count)
                    continue
                split_target = target
                made = _new_node(nodes, state, nodes[node, LENGTH] + count)
                extent = np.int64(pool[row, EXTENT])
                pool[row, EXTENT], pool[row, TARGET] = count, made
                rest = extent - count if extent != OPEN else OPEN
                edge = (np.int64(text[start + count]), start + count, rest, target)
                _add_edge(nodes, pool, state, free, made, edge)
            if is_end:
                if len(ends) < len(nodes):
                    ends = _grown(ends, len(nodes))
                ends[made, 0] += 1
                nodes[made, EDGES] |= ENDS_FLAG
            else:
                _add_edge(nodes, pool, state, free, made, (symbol, position, OPEN, SINK))
            if previous >= 0:
                nodes[previous, LINK] = made
            previous = made
            node, first, count = _shorten(nodes, pool, text, node, first, count)
        if previous > ROOT:
            nodes[previous, LINK] = node
        if node != BOTTOM:
            row = _find(nodes, pool, node, np.int64(text[first]) if count > 0 else symbol)
            needed = state[1] + 2 * _degree(nodes, pool[row, TARGET]) + 64
            if needed > len(pool):
                pool = _grown(pool, needed)
            if state[0] + 4 > len(nodes):
                nodes = _grown(nodes, state[0] + 4)
            if len(ends) < len(nodes):
                ends = _grown(ends, len(nodes))
        if count == 0:
            first = np.int64(position)
        place = (node, first, count)
        node, first, count = _separate(nodes, pool, ends, state, free, text, place)
    return nodes[: state[0]], pool[: state[1]], ends[: state[0], 0]


@njit(cache=True)
def pack(nodes, pool, ends, by_length):
    """Return `edges`, `first_edges` and `counts` of a `Cdawg`, given the nodes in order of length.

    A node occurs as often as all its continuations together, and edges lead to longer nodes, so
    counts are summed from the longest node on.
    """
    n_nodes = len(nodes)
    firsts = np.zeros(n_nodes + 1, np.int64)
    for node in range(n_nodes):
        firsts[node + 1] = firsts[node] + _degree(nodes, node)
    edges = np.empty((firsts[n_nodes], 4), np.int32)
    for node in range(n_nodes):
        row = np.int64(nodes[node, BLOCK])
        place = firsts[node]
        while place < firsts[node + 1]:
            if pool[row, SYMBOL] != EMPTY:
                for column in range(4):
                    edges[place, column] = pool[row, column]
                place += 1
            row += 1
        _sort(edges, firsts[node], firsts[node + 1])
    counts = np.zeros(n_nodes, np.int64)
    counts[SINK] = 1
    for place in range(n_nodes - 1):  # after the sink, which is the longest
        longer = by_length[n_nodes - 2 - place]
        counts[longer] = ends[longer]
        for edge in range(firsts[longer], firsts[longer + 1]):
            counts[longer] += counts[edges[edge, TARGET]]
    return edges, firsts, counts


@njit(cache=True)
def _sort(edges, start, end):
    """Sort rows of edges by symbol (by Shell's method, as most nodes have two or three edges)."""
    gap = 1
    while gap < (end - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(start + gap, end):
            moved = (edges[i, 0], edges[i, 1], edges[i, 2], edges[i, 3])
            k = i
            while k >= start + gap and edges[k - gap, SYMBOL] > moved[SYMBOL]:
                for column in range(4):
                    edges[k, column] = edges[k - gap, column]
                k -= gap
            edges[k, 0], edges[k, 1], edges[k, 2], edges[k, 3] = moved
        gap //= 3
