"""Scores of 64 rows at a time with one bit for every leaf: QuickScorer.

word   32 consecutive leaves of one tree, one bit each; a tree of up to 32 leaves is one word
test   one node as one word sees it: column, threshold and the bits to clear
lane   one of the 64 rows of a block; the words of all lanes stay in vector registers
code   number of a category among those that a node of the forest knows; then that of all others, and of the missing

A test that fails clears the leaves of its node's first child; the lowest bit left is the exit leaf (section 3 of the
paper). The paper orders nodes by feature and threshold, to stop at the first test that holds; with 64 rows in a block
hardly any test is saved, and words that stay in registers while all tests of a tree run are three times as fast. Trees
of more than 32 leaves are several words. A node is a test only in the
words that the leaves below its first child reach; in trees of several words the smaller child is made the first one, to
keep those few.

A symmetric tree, whose nodes of one depth have the same split, as CatBoost's do, needs one test for each depth: a
test that fails clears one bit, and the leaves are ordered so that the cleared bits are the number of the exit leaf.

A category has a column for each 32 codes, which holds a row's code as a bit, or 0 where it is in another column. A node
with a set of categories has its right child first, and a test for each column with codes of its set: it fails where the
column has a bit of the set, so that the tests need no order, and a set of up to 32 codes costs as much as a threshold.

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
from rerank.trees.forest import Forest, set_members
from rerank.types import Floats, Ints, pointers

LANES = 64
ROWS_TO_CODE = 1 << 12  # that are copied beside their codes at once
N_KINDS = 5  # of tests: (first child is the right one, missing values go right), in this order, and sets of categories
OF_SET = 4
WORD_WIDTH = N_KINDS + 3  # first test, ends of each kind, first leaf, whether the tree is symmetric
LEAST_NODES, DEEPEST = 3, 16  # of symmetric trees
TREES_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class BitForest:
    """A forest arranged as words and tests.

    Parameters
    ----------
    features : int32 array of shape (n_columns,)
        The columns of a block, by their number among the columns of codes and the features behind them: those of codes,
        then features that any node compares, ascending.
    categories : int32 array of shape (n_categories + 1, 3)
        Feature, first of its columns of codes, and its first code in `codes`; a last row ends both.
    codes : int32 array of shape (n_codes,)
        For each feature, codes of the categories from 0 up, then that of all others, and that of missing values.
    tree_words : int64 array of shape (n_trees + 1,)
        Words of tree t are [tree_words[t], tree_words[t + 1]), its last leaves first.
    words : int32 array of shape (n_words, 8)
        First test, ends of the tests of each kind, first leaf, 1 for a symmetric tree.
    tests : int32 array of shape (n_tests, 3)
        Column * 64, threshold (bits of a float32) or set of codes, mask that clears leaves.
    leaf_value : float64 array of shape (n_leaves,)
        Leaves from first child to second.

    """

    features: NDArray[np.int32]
    categories: NDArray[np.int32]
    codes: NDArray[np.int32]
    tree_words: Ints
    words: NDArray[np.int32]
    tests: NDArray[np.int32]
    leaf_value: Floats


def add_scores(forest: BitForest, X: NDArray[np.float32], out: Floats, n_threads: int = 1) -> None:
    """Add the value of every tree to the scores of some rows, in the order of the trees.

    Shapes: X float32 (n_rows, n_features); out float64 (n_rows,).
    """
    layout = (forest.features, forest.tree_words, forest.words, forest.tests, forest.leaf_value)
    at_once = max(ROWS_TO_CODE if len(forest.categories) > 1 else len(X), 1)

    def add(rows: slice) -> None:
        for first in range(rows.start, rows.stop, at_once):
            some = slice(first, min(first + at_once, rows.stop))
            _add_scores(_with_codes(forest, X[some]), *layout, out[some])

    in_threads(add, row_parts(len(X), n_threads) if n_threads > 1 else [slice(0, len(X))], n_threads)


def _with_codes(forest: BitForest, X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows behind the columns of their codes, which hold bits; the rows alone for a forest without sets."""
    if len(forest.categories) == 1:
        return X
    n_columns = forest.categories[-1, 1]
    rows = np.zeros((len(X), n_columns + X.shape[1]), dtype=np.float32)
    rows[:, n_columns:] = X
    _fill_codes(X, forest.categories, forest.codes, rows.view(np.int32))
    return rows


@kernel()
def _fill_codes(X, categories, codes, out):  # type: ignore[no-untyped-def]
    """Set the bit of each row's code in out (n_rows, n_columns or more) int32, zero before, by `BitForest`'s arrays."""
    for k in range(categories.shape[0] - 1):
        feature, column, first = categories[k]
        n_values = categories[k + 1, 2] - first - 2
        for row in range(X.shape[0]):
            value = X[row, feature]
            index = np.int64(value) if 0.0 <= value < n_values else np.int64(n_values + (value != value))
            code = codes[first + index]
            out[row, column + (code >> 5)] = np.int32(1) << np.int32(code & 31)


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
_GOES_RIGHT = ((False, "ordered"), (False, "unordered"), (True, "ordered"), (True, "unordered"), (True, "set"))


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
        start, *ends, first_leaf, symmetric = (_load_int(b, words, word, WORD_WIDTH, i) for i in range(WORD_WIDTH))
        bits = ir.Constant(_INTS, [-1] * LANES)
        for (right_first, ordering), end in zip(_GOES_RIGHT, ends, strict=True):
            bits = _clear_leaves(b, columns, tests, start, end, bits, right_first, ordering)
            start = end
        lowest = b.call(count_zeros, [bits, ir.Constant(ir.IntType(1), 0)])
        lowest = b.select(b.icmp_signed("!=", symmetric, ir.Constant(_LONG, 0)), b.not_(bits), lowest)
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
        if ordering == "set":
            codes = b.load(b.bitcast(address, _INTS.as_pointer()), align=64)
            is_outside = b.icmp_signed(
                "==", b.and_(codes, _splat(b, b.load(threshold))), ir.Constant(_INTS, [0] * LANES)
            )
            return b.select(is_outside, bits, b.and_(bits, _splat(b, b.load(mask))))
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
        ("kind", np.int32),  # 2 * (first child is the right one) + (missing values go right), or OF_SET
        ("level", np.int32),  # in a symmetric tree: depth of the first node of each depth, -1 for the others
        ("path", np.int32),  # in a symmetric tree: bits of the tests that fail on the way to the node
    ]
)


def bit_forest(forest: Forest) -> BitForest:
    """Return a forest arranged for `quickscorer.add_scores`."""
    is_set = np.diff(forest.category_sets()[0]) > 0
    compared = np.unique(forest.feature[~is_set])
    categories, codes, test_ptr, terms = _category_codes(forest, is_set)
    n_columns = categories[-1, 1]
    terms[test_ptr[:-1][~is_set], 0] = LANES * (n_columns + np.searchsorted(compared, forest.feature[~is_set]))
    terms[test_ptr[:-1][~is_set], 1] = forest.threshold.view(np.int32)[~is_set]
    features = np.concatenate([np.arange(n_columns, dtype=np.int32), n_columns + compared])
    children = np.stack((forest.left, forest.right), axis=1)
    leaf_value = forest.leaf_value.copy()
    nodes = np.zeros(len(children), dtype=NODE)
    nodes["kind"] = np.where(is_set, OF_SET, ~forest.missing_left)
    symmetric = np.zeros(forest.n_trees, dtype=np.bool_)
    splits = _split_numbers(forest, nodes["kind"], test_ptr, terms)
    _find_symmetric(forest.node_ptr, children, splits, nodes, symmetric)
    tree_words = pointers(np.where(symmetric, 1, -(-np.diff(forest.leaf_ptr) // WORD)))
    _order_leaves(forest.node_ptr, forest.leaf_ptr, children, forest.leaf_value, symmetric, nodes, leaf_value)
    words = np.zeros((tree_words[-1], WORD_WIDTH), dtype=np.int32)
    words[tree_words[:-1], -1] = symmetric
    n_tests = _fill_words(forest.node_ptr, forest.leaf_ptr, tree_words, test_ptr, nodes, words)
    tests = np.empty((n_tests, 3), dtype=np.int32)
    _fill_tests(forest.node_ptr, tree_words, test_ptr, terms, nodes, words, tests)
    return BitForest(features, categories, codes, tree_words, words, tests, leaf_value)


def _category_codes(
    forest: Forest, is_set: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints, NDArray[np.int32]]:
    """Return `categories` and `codes` of a `BitForest`, and the tests of each node.

    is_set    (n_nodes,) whether a node has a set of categories
    test_ptr  (n_nodes + 1,) the tests of node n are [test_ptr[n], test_ptr[n + 1])
    terms     (n_tests, 2) int32 column * 64, and set of codes; 0 for nodes that compare
    """
    node, category = set_members(forest)
    with_missing = np.flatnonzero(is_set & forest.missing_left)
    rows, tables, column, first = [], [np.empty(0, dtype=np.int32)], 0, 0
    bit, missing_bit = np.zeros(len(node), dtype=np.int64), np.zeros(len(with_missing), dtype=np.int64)
    for feature in forest.categories.tolist():
        here = forest.feature[node] == feature
        known, code = np.unique(category[here], return_inverse=True)
        bit[here] = WORD * column + code
        missing_bit[forest.feature[with_missing] == feature] = WORD * column + len(known) + 1
        tables.append(np.full(int(known[-1]) + 3, len(known), dtype=np.int32))
        tables[-1][known], tables[-1][-1] = np.arange(len(known)), len(known) + 1
        rows.append((feature, column, first))
        column, first = column - (-(len(known) + 2) // WORD), first + len(tables[-1])
    rows.append((-1, column, first))
    bits = np.concatenate([bit, missing_bit])
    key, test = np.unique(np.concatenate([node, with_missing]) * max(column, 1) + bits // WORD, return_inverse=True)
    n_tests = np.bincount(key // max(column, 1), minlength=len(is_set)) + ~is_set
    terms = np.zeros((n_tests.sum(), 2), dtype=np.int32)
    of_sets = np.repeat(is_set, n_tests)
    terms[of_sets, 0] = LANES * (key % max(column, 1))
    terms[of_sets, 1] = np.bincount(test, 2.0 ** (bits % WORD), len(key)).astype(np.uint32).view(np.int32)
    return np.array(rows, dtype=np.int32), np.concatenate(tables), pointers(n_tests), terms


def _split_numbers(forest: Forest, kind: NDArray[np.int32], test_ptr: Ints, terms: NDArray[np.int32]) -> Ints:
    """Return the number of each node's split, (n_nodes,), the same one for equal kinds and terms.

    It is -1 in trees that cannot be symmetric by their number of nodes and the features below their root.
    """
    sizes, known = np.diff(forest.node_ptr), dict[tuple[int, bytes], int]()
    complete = (sizes & (sizes + 1) == 0) & (sizes >= LEAST_NODES)
    roots = forest.node_ptr[:-1][complete]
    left, right = forest.left[roots], forest.right[roots]
    same = forest.feature[roots + np.maximum(left, 0)] == forest.feature[roots + np.maximum(right, 0)]
    complete[complete] = same & (left >= 0) & (right >= 0)
    splits = np.full(len(kind), -1, dtype=np.int64)
    for node in np.flatnonzero(np.repeat(complete, sizes)).tolist():
        split = int(kind[node]), terms[test_ptr[node] : test_ptr[node + 1]].tobytes()
        splits[node] = known.setdefault(split, len(known))
    return splits


@kernel()
def _find_symmetric(node_ptr, children, splits, nodes, symmetric):  # type: ignore[no-untyped-def]
    """Set symmetric (n_trees,) of complete trees of 2 to DEEPEST levels whose nodes of one depth have the same split.

    children   (n_nodes, 2) int32: left and right, a node or ~leaf
    splits  (n_nodes,) int64
    nodes      (n_nodes,) NODE, OUT: level and path of the nodes of these trees
    """
    order = np.empty(nodes.shape[0], np.int32)  # nodes of a tree, depth by depth
    for t in range(node_ptr.shape[0] - 1):
        first, n = node_ptr[t], node_ptr[t + 1] - node_ptr[t]
        if n < LEAST_NODES or n >= 1 << DEEPEST or splits[node_ptr[t]] < 0:
            continue
        order[0], begin, end, depth, complete = 0, 0, 1, 0, True
        while complete and begin < n:
            n_next = end
            for i in range(begin, end):
                node = first + order[i]
                complete = complete and splits[node] == splits[first + order[begin]]
                nodes[node]["level"] = depth if i == begin else -1
                for side in range(2):
                    child = children[node, side]
                    fails = 1 - side if nodes[node]["kind"] == OF_SET else side
                    if child >= 0:
                        order[n_next] = child
                        nodes[first + child]["path"] = nodes[node]["path"] + (fails << depth)
                        n_next += 1
            begin, end, depth = end, n_next, depth + 1
            complete = complete and (end - begin == 1 << depth or begin == n)
        symmetric[t] = complete


@kernel()
def _order_leaves(node_ptr, leaf_ptr, children, leaf_value, symmetric, nodes, ordered_value):  # type: ignore[no-untyped-def]
    """Put the leaves of every tree in order, first child before second.

    children       (n_nodes, 2) int32: left and right, a node or ~leaf
    nodes          (n_nodes,) NODE, OUT: first_leaf, n_first, n_leaves, zero before; kind, as if each first child were
                   the left one before
    ordered_value  (n_leaves,) float64, OUT: leaf_value in that order
    """
    order = np.empty(nodes.shape[0], np.int32)  # nodes of a tree, parents before children
    for t in range(node_ptr.shape[0] - 1):
        first, last, first_leaf = node_ptr[t], node_ptr[t + 1], leaf_ptr[t]
        if symmetric[t]:
            depth = np.int64(np.rint(np.log2(last - first + 1)))
            for n in range(first, last):
                for side in range(2):
                    if children[n, side] < 0:
                        fails = 1 - side if nodes[n]["kind"] == OF_SET else side
                        leaf = nodes[n]["path"] + (fails << (depth - 1))
                        ordered_value[first_leaf + leaf] = leaf_value[first_leaf + ~children[n, side]]
            continue
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
            is_set = node["kind"] == OF_SET
            right_first = is_set or (several_words and n_right < n_left)
            node["n_first"] = n_right if right_first else n_left
            node["n_leaves"] = n_left + n_right
            node["kind"] += 2 if right_first and not is_set else 0
        for i in range(first, last):
            node = nodes[order[i]]
            for side in range(2):
                child = children[order[i], side]
                begin = node["first_leaf"] + (0 if side == min(node["kind"] // 2, 1) else node["n_first"])
                if child >= 0:
                    nodes[first + child]["first_leaf"] = begin
                else:
                    ordered_value[first_leaf + begin] = leaf_value[first_leaf + ~child]


@kernel()
def _fill_words(node_ptr, leaf_ptr, tree_words, test_ptr, nodes, words):  # type: ignore[no-untyped-def]
    """Fill words (n_words, 8) of a `BitForest`, zero but for the last column; return the number of tests.

    The end of each kind is where its tests start: `_fill_tests` moves it to their end.
    """
    n_ends = words.shape[1] - 3
    for t in range(node_ptr.shape[0] - 1):
        last_word = tree_words[t + 1] - 1
        for w in range(tree_words[t], tree_words[t + 1]):
            words[w, n_ends + 1] = leaf_ptr[t] + WORD * (last_word - w)
        for n in range(node_ptr[t], node_ptr[t + 1]):
            begin, kind = nodes[n]["first_leaf"], nodes[n]["kind"]
            if words[last_word, n_ends + 2]:
                if nodes[n]["level"] >= 0:
                    words[last_word, kind + 1] += test_ptr[n + 1] - test_ptr[n]
                continue
            for w in range(begin // WORD, (begin + nodes[n]["n_first"] - 1) // WORD + 1):
                words[last_word - w, kind + 1] += test_ptr[n + 1] - test_ptr[n]
    n_tests = 0
    for w in range(words.shape[0]):
        words[w, 0] = n_tests
        for kind in range(n_ends):
            begin = n_tests
            n_tests += words[w, kind + 1]
            words[w, kind + 1] = begin
    return n_tests


@kernel()
def _fill_tests(node_ptr, tree_words, test_ptr, terms, nodes, words, tests):  # type: ignore[no-untyped-def]
    """Fill tests (n_tests, 3) of a `BitForest`, word by word and kind by kind."""
    for t in range(node_ptr.shape[0] - 1):
        for n in range(node_ptr[t], node_ptr[t + 1]):
            node = nodes[n]
            begin, end, kind = node["first_leaf"], node["first_leaf"] + node["n_first"], node["kind"]
            symmetric = words[tree_words[t], words.shape[1] - 1]
            if symmetric:  # one bit is cleared, in the only word
                begin, end = (node["level"], node["level"] + 1) if node["level"] >= 0 else (0, 0)
            for w in range(begin // WORD, (end - 1) // WORD + 1):
                low, high = np.int64(max(begin - WORD * w, 0)), np.int64(min(end - WORD * w, WORD))
                word = tree_words[t + 1] - 1 - w
                above = -(1 << high) if high < WORD else 0  # 32 bits hold no more
                for term in range(test_ptr[n], test_ptr[n + 1]):
                    test = words[word, kind + 1]
                    words[word, kind + 1] = test + 1
                    tests[test, 0], tests[test, 1] = terms[term, 0], terms[term, 1]
                    tests[test, 2] = ((1 << low) - 1) | above
