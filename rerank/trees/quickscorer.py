"""Scores of 64 rows at a time with one bit for every leaf: QuickScorer.

word   32 consecutive leaves of one tree, one bit each; a tree of up to 32 leaves is one word
test   one node as one word sees it: column, threshold and the bits to clear
lane   one of the 64 rows of a block; the words of all lanes stay in vector registers

A test that fails clears the leaves of its node's first child; the lowest bit left is the exit leaf (section 3 of the
paper). The paper orders nodes by feature and threshold, to stop at the first test that holds; with 64 rows in a block
hardly any test is saved, and words that stay in registers while all tests of a tree run are three times as fast. Trees
of more than 32 leaves are several words. A node is a test only in the
words that the leaves below its first child reach; in trees of several words the smaller child is made the first one, to
keep those few.

The loop over tests is written in LLVM's vector language: its auto-vectoriser keeps no word in a register. It is one
file with the kernel that calls it, since Numba's cache does not see changes in other files. `exit_leaves` in
`tests/oracles/intrinsics.py` is the same loop in NumPy; `score` in `tests/oracles/trees.py` walks one row.

References
----------
C. Lucchese et al., QuickScorer: A Fast Algorithm to Rank Documents with Additive Ensembles of Regression Trees, SIGIR
2015.

"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.forest import Forest
from rerank.types import Floats, Ints, pointers

LANES = 64
N_KINDS = 4  # of tests, in this order: (first child is the right one, missing values go right)
TREES_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class BitForest:
    """A forest arranged as words and tests.

    Parameters
    ----------
    features : int32 array of shape (n_columns,)
        Features that any node tests, ascending: the columns of a block.
    tree_words : int64 array of shape (n_trees + 1,)
        Words of tree t are [tree_words[t], tree_words[t + 1]), its last leaves first.
    words : int32 array of shape (n_words, 6)
        First test, ends of the tests of each kind, first leaf.
    tests : int32 array of shape (n_tests, 3)
        Column * 64, threshold (bits of a float32), mask that clears leaves.
    leaf_value : float64 array of shape (n_leaves,)
        Leaves from first child to second.

    """

    features: NDArray[np.int32]
    tree_words: Ints
    words: NDArray[np.int32]
    tests: NDArray[np.int32]
    leaf_value: Floats


def add_scores(forest: BitForest, X: NDArray[np.float32], out: Floats, n_threads: int = 1) -> None:
    """Add the value of every tree to the scores of some rows, in the order of the trees.

    Shapes: X float32 (n_rows, n_features); out float64 (n_rows,).
    """
    layout = (forest.features, forest.tree_words, forest.words, forest.tests, forest.leaf_value)

    def add(rows: slice) -> None:
        _add_scores(X[rows], *layout, out[rows])

    in_threads(add, row_parts(len(X), n_threads) if n_threads > 1 else [slice(None)], n_threads)


@kernel()
def _add_scores(X, features, tree_words, words, tests, leaf_value, out):  # type: ignore[no-untyped-def]
    """Add every tree's value to out (n_rows,) float64; the arrays are a `BitForest`'s."""
    columns = _aligned(np.zeros((features.shape[0] + 1) * LANES, np.float32))
    leaves = _aligned(np.empty((TREES_AT_ONCE + 1) * LANES, np.int32))
    n_trees = tree_words.shape[0] - 1
    for first in range(0, X.shape[0], LANES):
        n_rows = min(LANES, X.shape[0] - first)
        for c in range(features.shape[0]):
            feature = features[c]
            for lane in range(n_rows):
                columns[c * LANES + lane] = X[first + lane, feature]
        for first_tree in range(0, n_trees, TREES_AT_ONCE):
            n_slots = min(TREES_AT_ONCE, n_trees - first_tree)
            for slot in range(n_slots):
                tree = first_tree + slot
                first_word, last_word = tree_words[tree], tree_words[tree + 1]
                _exit_leaves(columns, tests, words, first_word, last_word, leaves, slot)  # type: ignore[call-arg]
            for lane in range(n_rows):
                total = out[first + lane]
                for slot in range(n_slots):
                    total += leaf_value[np.uint32(leaves[slot * LANES + lane])]
                out[first + lane] = total


@helper()
def _aligned(values):  # type: ignore[no-untyped-def]
    """Return four-byte values (n + 64,) from their first cache line on: loads must not cross cache lines."""
    skip = (-values.ctypes.data & 63) // 4
    return values[skip:]


_FLOAT, _INT, _LONG = ir.FloatType(), ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
# Whether a row goes right, missing values right or left: "unordered or greater" holds for NaN, "greater" does not.
_GOES_RIGHT = ((False, "ordered"), (False, "unordered"), (True, "ordered"), (True, "unordered"))


@intrinsic
def _exit_leaves(typing_context, columns, tests, words, first_word, last_word, leaves, slot):  # type: ignore[no-untyped-def]
    """Write the exit leaf of every lane of a block in one tree, counted from the forest's first leaf.

    columns  (n_columns * 64,) float32, from a cache line on: 64 rows of the first column, then of the second, ...
    leaves   (n_slots * 64,) int32, OUT at slot * 64
    """
    signature = types.void(columns, tests, words, first_word, last_word, leaves, slot)
    return signature, _generate_exit_leaves


def _generate_exit_leaves(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
    columns, tests, words, leaves = (
        context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 2, 5)
    )
    first_word, last_word, slot = (
        context.cast(builder, arguments[i], signature.args[i], types.int64) for i in (3, 4, 6)
    )
    count_zeros = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_INTS, [_INTS, ir.IntType(1)]), f"llvm.cttz.v{LANES}i32"
    )

    def find_leaf(b: ir.IRBuilder, word: Any, leaf: Any) -> Any:
        start, *ends, first_leaf = (_load_int(b, words, word, N_KINDS + 2, i) for i in range(N_KINDS + 2))
        bits = ir.Constant(_INTS, [-1] * LANES)
        for (right_first, ordering), end in zip(_GOES_RIGHT, ends, strict=True):
            bits = _clear_leaves(b, columns, tests, start, end, bits, right_first, ordering)
            start = end
        lowest = b.call(count_zeros, [bits, ir.Constant(ir.IntType(1), 0)])
        is_here = b.icmp_signed("!=", bits, ir.Constant(_INTS, [0] * LANES))
        return b.select(is_here, b.add(lowest, _splat(b, b.trunc(first_leaf, _INT))), leaf)

    leaf = _loop(builder, first_word, last_word, ir.Constant(_INTS, [0] * LANES), find_leaf)
    target = builder.gep(leaves, [builder.mul(slot, ir.Constant(_LONG, LANES))])
    builder.store(leaf, builder.bitcast(target, _INTS.as_pointer()), align=64)
    return context.get_dummy_value()


def _clear_leaves(
    builder: ir.IRBuilder, columns: Any, tests: Any, start: Any, end: Any, bits: Any, right_first: bool, ordering: str
) -> Any:
    """Return the bits that remain after tests [start, end), all of one kind."""

    def clear(b: ir.IRBuilder, test: Any, bits: Any) -> Any:
        column, threshold, mask = (b.gep(tests, [_index(b, test, 3, i)]) for i in range(3))
        address = b.gep(columns, [b.sext(b.load(column), _LONG)])
        values = b.load(b.bitcast(address, _FLOATS.as_pointer()), align=64)
        limit = _splat(b, b.load(b.bitcast(threshold, _FLOAT.as_pointer())))
        compare = b.fcmp_ordered if ordering == "ordered" else b.fcmp_unordered
        goes_right = compare(">", values, limit)
        left_over = b.and_(bits, _splat(b, b.load(mask)))
        return b.select(goes_right, bits, left_over) if right_first else b.select(goes_right, left_over, bits)

    return _loop(builder, start, end, bits, clear)


def _loop(builder: ir.IRBuilder, start: Any, end: Any, value: Any, body: Any) -> Any:
    """Return value after value = body(builder, i, value) for i from start to end; it stays in registers."""
    before, inside, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.cbranch(builder.icmp_signed("<", start, end), inside, after)
    builder.position_at_end(inside)
    i, current = builder.phi(_LONG), builder.phi(value.type)
    result = body(builder, i, current)
    following = builder.add(i, ir.Constant(_LONG, 1))
    last = builder.block
    for phi, first, later in ((i, start, following), (current, value, result)):
        phi.add_incoming(first, before)
        phi.add_incoming(later, last)
    builder.cbranch(builder.icmp_signed("<", following, end), inside, after)
    builder.position_at_end(after)
    outcome = builder.phi(value.type)
    outcome.add_incoming(value, before)
    outcome.add_incoming(result, last)
    return outcome


def _index(builder: ir.IRBuilder, row: Any, width: int, column: int) -> Any:
    """Return the index of an element of an array (n, width) in memory."""
    return builder.add(builder.mul(row, ir.Constant(_LONG, width)), ir.Constant(_LONG, column))


def _load_int(builder: ir.IRBuilder, array: Any, row: Any, width: int, column: int) -> Any:
    """Return an element of an int32 array (n, width) as int64."""
    return builder.sext(builder.load(builder.gep(array, [_index(builder, row, width, column)])), _LONG)


def _splat(builder: ir.IRBuilder, value: Any) -> Any:
    """Return a vector with the value in every lane."""
    vector = ir.VectorType(value.type, LANES)
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(_INT, 0))
    zeros = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), zeros)


WORD = 32  # leaves
NODE = np.dtype(
    [
        ("first_leaf", np.int32),  # first leaf below the node, counted from the first of its tree
        ("n_first", np.int32),  # leaves below its first child
        ("n_leaves", np.int32),  # leaves below the node
        ("kind", np.int32),  # 2 * (first child is the right one) + (missing values go right)
        ("column_offset", np.int32),
        ("threshold_bits", np.int32),
    ]
)


def bit_forest(forest: Forest) -> BitForest:
    """Return a forest arranged for `quickscorer.add_scores`."""
    features = np.unique(forest.feature)
    children = np.stack((forest.left, forest.right), axis=1)
    tree_words = pointers(-(-np.diff(forest.leaf_ptr) // WORD))
    leaf_value = forest.leaf_value.copy()
    nodes = np.zeros(len(children), dtype=NODE)
    _order_leaves(forest.node_ptr, forest.leaf_ptr, children, forest.missing_left, forest.leaf_value, nodes, leaf_value)
    nodes["column_offset"] = LANES * np.searchsorted(features, forest.feature)
    nodes["threshold_bits"] = forest.threshold.view(np.int32)
    words = np.zeros((tree_words[-1], N_KINDS + 2), dtype=np.int32)
    n_tests = _fill_words(forest.node_ptr, forest.leaf_ptr, tree_words, nodes, words)
    tests = np.empty((n_tests, 3), dtype=np.int32)
    _fill_tests(forest.node_ptr, tree_words, nodes, words, tests)
    return BitForest(features, tree_words, words, tests, leaf_value)


@kernel()
def _order_leaves(node_ptr, leaf_ptr, children, missing_left, leaf_value, nodes, ordered_value):  # type: ignore[no-untyped-def]
    """Put the leaves of every tree in order, first child before second.

    children       (n_nodes, 2) int32: left and right, a node or ~leaf
    nodes          (n_nodes,) NODE, OUT, zero before: first_leaf, n_first, n_leaves, kind
    ordered_value  (n_leaves,) float64, OUT: leaf_value in that order
    """
    order = np.empty(nodes.shape[0], np.int32)  # nodes of a tree, parents before children
    for t in range(node_ptr.shape[0] - 1):
        first, last, first_leaf = node_ptr[t], node_ptr[t + 1], leaf_ptr[t]
        several_words = leaf_ptr[t + 1] - first_leaf > WORD
        if last > first:
            order[first] = first
        n_ordered = first + 1
        for i in range(first, last):
            for side in range(2):
                child = children[order[i], side]
                if child >= 0:
                    order[n_ordered] = first + child
                    n_ordered += 1
        for i in range(last - 1, first - 1, -1):
            node, left, right = nodes[order[i]], children[order[i], 0], children[order[i], 1]
            n_left = nodes[first + left]["n_leaves"] if left >= 0 else 1
            n_right = nodes[first + right]["n_leaves"] if right >= 0 else 1
            right_first = several_words and n_right < n_left
            node["n_first"] = n_right if right_first else n_left
            node["n_leaves"] = n_left + n_right
            node["kind"] = (2 if right_first else 0) + (0 if missing_left[order[i]] else 1)
        for i in range(first, last):
            node = nodes[order[i]]
            for side in range(2):
                child = children[order[i], side]
                begin = node["first_leaf"] + (0 if side == node["kind"] // 2 else node["n_first"])
                if child >= 0:
                    nodes[first + child]["first_leaf"] = begin
                else:
                    ordered_value[first_leaf + begin] = leaf_value[first_leaf + ~child]


@kernel()
def _fill_words(node_ptr, leaf_ptr, tree_words, nodes, words):  # type: ignore[no-untyped-def]
    """Fill words (n_words, 6) of a `BitForest`, zero before; return the number of tests.

    The end of each kind is where its tests start: `_fill_tests` moves it to their end.
    """
    n_ends = words.shape[1] - 2
    for t in range(node_ptr.shape[0] - 1):
        last_word = tree_words[t + 1] - 1
        for w in range(tree_words[t], tree_words[t + 1]):
            words[w, n_ends + 1] = leaf_ptr[t] + WORD * (last_word - w)
        for n in range(node_ptr[t], node_ptr[t + 1]):
            begin, kind = nodes[n]["first_leaf"], nodes[n]["kind"]
            for w in range(begin // WORD, (begin + nodes[n]["n_first"] - 1) // WORD + 1):
                words[last_word - w, kind + 1] += 1
    n_tests = 0
    for w in range(words.shape[0]):
        words[w, 0] = n_tests
        for kind in range(n_ends):
            begin = n_tests
            n_tests += words[w, kind + 1]
            words[w, kind + 1] = begin
    return n_tests


@kernel()
def _fill_tests(node_ptr, tree_words, nodes, words, tests):  # type: ignore[no-untyped-def]
    """Fill tests (n_tests, 3) of a `BitForest`, word by word and kind by kind."""
    for t in range(node_ptr.shape[0] - 1):
        for n in range(node_ptr[t], node_ptr[t + 1]):
            node = nodes[n]
            begin, end, kind = node["first_leaf"], node["first_leaf"] + node["n_first"], node["kind"]
            for w in range(begin // WORD, (end - 1) // WORD + 1):
                low, high = np.int64(max(begin - WORD * w, 0)), np.int64(min(end - WORD * w, WORD))
                word = tree_words[t + 1] - 1 - w
                test = words[word, kind + 1]
                words[word, kind + 1] = test + 1
                tests[test, 0] = node["column_offset"]
                tests[test, 1] = node["threshold_bits"]
                above = -(1 << high) if high < WORD else 0  # 32 bits hold no more
                tests[test, 2] = ((1 << low) - 1) | above
