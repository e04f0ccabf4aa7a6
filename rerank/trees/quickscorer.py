"""Scores of 64 rows at a time with one bit for every leaf: QuickScorer.

word   32 consecutive leaves of one tree, one bit each; a tree of up to 32 leaves is one word
test   one node as one word sees it: column, threshold and the bits to clear
lane   one of the 64 rows of a block; the words of all lanes stay in vector registers

A test that fails clears the leaves of its node's first child; the lowest bit left is the exit leaf (section 3 of the
paper). The paper orders nodes by feature and threshold, to stop at the first test that holds; with 64 rows in a block
hardly any test is saved, and words that stay in registers while all tests of a tree run are three times as fast. Trees
of more than 32 leaves are several words. `bit_layout.py` arranges a forest so.

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
from rerank.types import Floats, Ints

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
