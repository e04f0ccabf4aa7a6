"""Scores of rows under a forest: many rows by bits of leaves (QuickScorer), a few by walking.

word  32 consecutive leaves of one tree, one bit each; a tree of up to 32 leaves is one word
test  one node as one word sees it: column, threshold and the bits to clear
lane  one of the rows of a block; the inner loops run over them and become vector code

A test that fails clears the leaves of its node's left child; the lowest bit that is left is the exit leaf (section 3 of
the paper). A node is a test only in the words that the leaves of its left child reach, and nodes of a word with the
same split, as CatBoost's trees have, are one test. Six tests are made in one pass over the lanes, whose bits are then
read and written once; four trees are added in one pass. The paper orders nodes by threshold to stop at the first
test that holds, which saves hardly any test for a block of rows. `score` in `tests/oracles/trees.py` walks one row
through the trees as they are stored.

References
----------
C. Lucchese et al., QuickScorer: A Fast Algorithm to Rank Documents with Additive Ensembles of Regression Trees, SIGIR
2015.
C. Leiserson, H. Prokop, K. Randall, Using de Bruijn Sequences to Index a 1 in a Computer Word, 1998.

"""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.runtime.kernels import helper, kernel
from rerank.runtime.threads import in_threads, row_parts
from rerank.trees.forest import WORD_BITS, Forest
from rerank.types import Floats, Ints, pointers

LANES = 256  # of a block: with fewer, more time goes to the starts of passes; values of more leave the L2 cache
LANE_STEP = 32  # lanes of the last block are a multiple of it, as vector code needs
TESTS_AT_ONCE = 6
TREES_ADDED = 4
DE_BRUIJN = 0x077CB531  # bits 27 to 31 of its product with 2^b are another number for each b below 32
SLOTS = (DE_BRUIJN << np.arange(WORD_BITS) >> 27) & 31
TREES_AT_ONCE = 8

# About as many rows as can be walked while they are scored by bits: some, and more of them the larger trees are.
FEW_ROWS = 8
LEAVES_A_ROW = 10

# From about two milliseconds on threads pay off, even where other processes use the cores and the last thread is late.
# In tests of a node on a row; moving a value into its column counts as several.
PARALLEL_TESTS = 40_000_000
TESTS_A_COLUMN = 10
_BITS: WeakKeyDictionary[Forest, BitForest] = WeakKeyDictionary()
_WALKS: WeakKeyDictionary[Forest, WalkForest] = WeakKeyDictionary()


class BitForest(NamedTuple):
    """A forest arranged as words and tests.

    Attributes
    ----------
    columns : int64 array of shape (n_columns, 4)
        Feature, whether a missing value goes left, and begin and end of a set of categories in `category_bits`. The
        column of a set is 0 for its categories and 1 for all others.
    category_bits : uint32 array of shape (n_category_words,)
        Sets of categories, as in `Forest`.
    tree_words : int64 array of shape (n_trees + 1,)
        Words of tree t are [tree_words[t], tree_words[t + 1]).
    pass_ptr : int64 array of shape (n_words + 1,)
        Passes of word w are [pass_ptr[w], pass_ptr[w + 1]).
    column : uint32 array of shape (n_passes, 6)
        Column of each test. Greater values than the threshold go right.
    threshold : float32 array of shape (n_passes, 6)
    mask : int32 array of shape (n_passes, 6)
        Bits of the leaves that are left where a row goes right; all, for tests that fill up a word's last pass.
    leaf_value : float array of shape (n_words * 32,)
        Value of leaf b of word w at 32 * w + SLOTS[b].

    """

    columns: Ints
    category_bits: NDArray[np.uint32]
    tree_words: Ints
    pass_ptr: Ints
    column: NDArray[np.uint32]
    threshold: NDArray[np.float32]
    mask: NDArray[np.int32]
    leaf_value: Floats


def bit_forest(forest: Forest) -> BitForest:
    """Return a forest arranged for `_add_scores_by_bits`."""
    n_leaves = np.diff(forest.leaf_ptr)
    tree_words = pointers(-(-n_leaves // WORD_BITS))
    left_leaves = np.empty((len(forest.feature), 2), dtype=np.int64)
    number = np.empty(len(forest.leaf_value), dtype=np.int64)
    _number_leaves(forest.node_ptr, forest.leaf_ptr, forest.left, forest.right, left_leaves, number)
    words = np.repeat(tree_words[:-1], n_leaves) + number // WORD_BITS
    leaf_value = np.zeros(WORD_BITS * tree_words[-1], dtype=forest.leaf_value.dtype)
    leaf_value[WORD_BITS * words + SLOTS[number % WORD_BITS]] = forest.leaf_value
    columns, column_of_node = _columns(forest)
    node, word, mask = _node_words(left_leaves, np.repeat(tree_words[:-1], np.diff(forest.node_ptr)))
    column = column_of_node[node]
    threshold = np.where(columns[column, 3] > 0, np.float32(0.0), forest.threshold[node])
    order = np.lexsort((threshold, column, word))
    splits = np.stack((word, column, threshold.view(np.int32)))[:, order]
    first = np.flatnonzero(np.diff(splits, prepend=-1).any(axis=0))  # tests of each word with the same split
    n_tests = np.bincount(word[order][first], minlength=tree_words[-1])
    pass_ptr = pointers(-(-n_tests // TESTS_AT_ONCE))
    places = np.repeat(TESTS_AT_ONCE * pass_ptr[:-1] - pointers(n_tests)[:-1], n_tests) + np.arange(len(first))

    def in_passes(values: NDArray[Any], other: int) -> NDArray[Any]:
        """Return values of tests by pass, and another one for tests that fill up."""
        out = np.full((pass_ptr[-1], TESTS_AT_ONCE), other, dtype=values.dtype)
        out.flat[places] = values
        return out

    return BitForest(
        columns=columns,
        category_bits=forest.category_sets[1],
        tree_words=tree_words,
        pass_ptr=pass_ptr,
        column=in_passes(column[order][first].astype(np.uint32), 0),
        threshold=in_passes(threshold[order][first], 0),
        mask=in_passes(np.bitwise_and.reduceat(mask[order], first), -1),
        leaf_value=leaf_value,
    )


def _columns(forest: Forest) -> tuple[Ints, Ints]:
    """Return the columns of a `BitForest`, and that of each node, (n_nodes,)."""
    set_ptr, bits = forest.category_sets
    sets: dict[bytes, int] = {b"": 0}
    numbers = np.zeros(len(forest.feature), dtype=np.int64)
    for node in np.flatnonzero(np.diff(set_ptr)).tolist():
        numbers[node] = sets.setdefault(bits[set_ptr[node] : set_ptr[node + 1]].tobytes(), len(sets))
    key = (2 * forest.feature + forest.missing_left) * len(sets) + numbers
    _, first, column = np.unique(key, return_index=True, return_inverse=True)
    begin = np.where(numbers > 0, set_ptr[:-1], 0)
    end = np.where(numbers > 0, set_ptr[1:], 0)
    return np.stack((forest.feature, forest.missing_left, begin, end), axis=1)[first], column


def _node_words(left_leaves: Ints, tree_word: Ints) -> tuple[Ints, Ints, NDArray[np.int32]]:
    """Return node, word and mask of each word that the leaves of a node's left child reach, (n,) each.

    left_leaves  (n_nodes, 2) first and last + 1 of them, counted from the first leaf of the tree
    tree_word    (n_nodes,) first word of the node's tree
    """
    first_word = left_leaves[:, 0] // WORD_BITS
    n_words = (left_leaves[:, 1] - 1) // WORD_BITS - first_word + 1
    node = np.repeat(np.arange(len(n_words)), n_words)
    word = first_word[node] + np.arange(len(node)) - pointers(n_words)[node]
    begin, end = np.clip(left_leaves[node].T - WORD_BITS * word, 0, WORD_BITS)
    cleared = (np.int64(1) << end) - (np.int64(1) << begin)
    return node, tree_word[node] + word, (~cleared).astype(np.int32)


@kernel()
def _number_leaves(node_ptr, leaf_ptr, left, right, left_leaves, number):
    """Number the leaves of each tree from left to right.

    left_leaves  (n_nodes, 2) int64, OUT: first number below the left child of each node, and last + 1
    number       (n_leaves,) int64, OUT
    """
    waiting = np.empty(number.shape[0] + 1, np.int64)  # children, the next one last
    parent = np.empty(number.shape[0] + 1, np.int64)  # of a right child; -1 for others
    for t in range(node_ptr.shape[0] - 1):
        first = node_ptr[t]
        n_numbered = 0
        waiting[0] = 0 if node_ptr[t + 1] > first else -1
        parent[0] = -1
        n_waiting = 1
        while n_waiting:
            n_waiting -= 1
            child = waiting[n_waiting]
            if parent[n_waiting] >= 0:
                left_leaves[parent[n_waiting], 1] = n_numbered
            if child < 0:
                number[leaf_ptr[t] + ~child] = n_numbered
                n_numbered += 1
            else:
                node = first + child
                left_leaves[node, 0] = n_numbered
                waiting[n_waiting] = right[node]
                parent[n_waiting] = node
                waiting[n_waiting + 1] = left[node]
                parent[n_waiting + 1] = -1
                n_waiting += 2


@kernel()
def _add_scores_by_bits(X, forest, out):
    """Add every tree's value to out (n_rows,) float64, in the order of the trees; forest is a `BitForest`."""
    columns, category_bits, tree_words, pass_ptr, column, threshold, mask, leaf_value = forest
    n_trees = tree_words.shape[0] - 1
    most_lanes = min(LANES, -(-X.shape[0] // LANE_STEP) * LANE_STEP)
    values = np.zeros((columns.shape[0], LANES + LANE_STEP), np.float32)
    bits = np.empty(most_lanes, np.int32)
    leaf = np.zeros((TREES_ADDED, most_lanes), np.uint32)
    total = np.zeros(most_lanes, leaf_value.dtype)
    for first in range(0, X.shape[0], LANES):
        n_rows = min(LANES, X.shape[0] - first)
        n_lanes = -(-n_rows // LANE_STEP) * LANE_STEP
        for lane in range(n_rows):  # by row, into places that are not all of the same set of the cache
            total[lane] = out[first + lane]
            for c in range(columns.shape[0]):
                values[c, lane] = X[first + lane, np.uint64(columns[c, 0])]
        for c in range(columns.shape[0]):
            _, missing_left, begin, end = columns[c]
            of_column = values[c]
            if end > begin:
                for lane in range(n_rows):
                    if of_column[lane] == of_column[lane]:
                        of_column[lane] = _is_outside(of_column[lane], category_bits[begin:end])
            if missing_left:
                for lane in range(n_lanes):
                    of_column[lane] = of_column[lane] if of_column[lane] == of_column[lane] else -np.inf
        for t in range(n_trees):
            of_tree = leaf[t % TREES_ADDED]
            for word in range(tree_words[t + 1] - 1, tree_words[t] - 1, -1):
                bits[:] = -1
                for p in range(pass_ptr[word], pass_ptr[word + 1]):
                    c0, c1, c2, c3, c4, c5 = column[p]
                    t0, t1, t2, t3, t4, t5 = threshold[p]
                    m0, m1, m2, m3, m4, m5 = mask[p]
                    for lane in range(n_lanes):
                        left = bits[lane]
                        left = left if values[c0, lane] <= t0 else left & m0
                        left = left if values[c1, lane] <= t1 else left & m1
                        left = left if values[c2, lane] <= t2 else left & m2
                        left = left if values[c3, lane] <= t3 else left & m3
                        left = left if values[c4, lane] <= t4 else left & m4
                        bits[lane] = left if values[c5, lane] <= t5 else left & m5
                first_leaf = np.uint32(WORD_BITS * word)
                for lane in range(n_lanes):
                    left = np.uint32(bits[lane])
                    slot = np.uint32(np.uint32(left & np.uint32(-left)) * np.uint32(DE_BRUIJN)) >> np.uint32(27)
                    of_tree[lane] = np.uint32(first_leaf + slot) if left != 0 else of_tree[lane]
            if t % TREES_ADDED == TREES_ADDED - 1:
                for lane in range(n_lanes):
                    two = total[lane] + leaf_value[leaf[0, lane]] + leaf_value[leaf[1, lane]]
                    total[lane] = two + leaf_value[leaf[2, lane]] + leaf_value[leaf[3, lane]]
        for place in range(n_trees % TREES_ADDED):
            for lane in range(n_lanes):
                total[lane] += leaf_value[leaf[place, lane]]
        for lane in range(n_rows):
            out[first + lane] = total[lane]


@helper()
def _is_outside(category, bits):
    """Return 0 for a category of a set, 1 for any other."""
    if not 0.0 <= category < WORD_BITS * bits.shape[0]:
        return np.float32(1.0)
    number = np.int64(category)
    return np.float32(1 - (bits[number // WORD_BITS] >> (number % WORD_BITS) & 1))


class WalkForest(NamedTuple):
    """A forest arranged for walking: eight trees at once, one level in each step, without a branch on the row's values.

    Position: index of a node or leaf. The children of a node are next to each other, so the next position is that of
    the left one, plus one where the row goes right; a leaf is its own child.

    Attributes
    ----------
    roots : int32 array of shape (n_groups, 8)
        Position of the root of each tree; position 0 is a leaf of value 0, which fills up the last group.
    steps : int32 array of shape (n_positions, 2)
        Which of a row's values is tested (see `_add_walked_scores`), position of the left child.
    threshold : float32 array of shape (n_positions,)
        Greater values go right; infinite at a leaf.
    value : float64 array of shape (n_positions,)
        Value of a leaf.

    """

    roots: NDArray[np.int32]
    steps: NDArray[np.int32]
    threshold: NDArray[np.float32]
    value: Floats


def walk_forest(forest: Forest) -> WalkForest:
    """Return a forest arranged for `_add_walked_scores`: the roots of the trees, then the children of each node."""
    n_trees = forest.n_trees
    n_nodes = len(forest.feature)
    sizes = np.diff(forest.node_ptr)
    tree = np.append(np.arange(n_trees), np.repeat(np.arange(n_trees), 2 * sizes))
    child = np.append(np.where(sizes > 0, 0, -1), np.stack((forest.left, forest.right), axis=1))  # a node or ~leaf
    node = np.where(child >= 0, forest.node_ptr[tree] + child, n_nodes)
    leaf = np.where(child < 0, forest.leaf_ptr[tree] + ~child, len(forest.leaf_value))
    # Values 2f + 1 and 2f + 2 of a row are those of feature f for either direction of missing values.
    tested = np.append(2 * forest.feature + 2 - forest.missing_left, 0)
    first_child = 1 + n_trees + 2 * node
    left = np.append(0, np.where(child >= 0, first_child, np.arange(1, len(child) + 1)))
    roots = np.zeros((-(-n_trees // TREES_AT_ONCE), TREES_AT_ONCE), dtype=np.int32)
    roots.flat[:n_trees] = np.arange(1, n_trees + 1)
    return WalkForest(
        roots,
        np.stack((np.append(0, tested[node]), left), axis=1).astype(np.int32),
        np.append(np.inf, np.append(forest.threshold, np.inf)[node]).astype(np.float32),
        np.append(0.0, np.append(forest.leaf_value, 0.0)[leaf]).astype(forest.leaf_value.dtype),
    )


@kernel()
def _add_walked_scores(X, forest, out):
    """Add every tree's value to out (n_rows,) float64, in the order of the trees; forest is a `WalkForest`.

    Each row is copied into 1 + 2 * n_features values, so that one comparison decides at every node. Value 0 is -inf: a
    leaf compares it with its threshold, infinity, and stays at its position. Values 2f + 1 and 2f + 2 are feature f:
    the first has -inf in place of NaN, for nodes that send missing values left; the second keeps NaN, which is not <=
    any threshold, for nodes that send them right.
    """
    roots, steps, threshold, value = forest
    n_features = X.shape[1]
    spread = np.empty(1 + 2 * n_features, np.float32)
    spread[0] = -np.inf
    positions = np.empty(TREES_AT_ONCE, np.int32)
    for row in range(X.shape[0]):
        for f in range(n_features):
            x = X[row, f]
            spread[2 * f + 1] = -np.inf if x != x else x
            spread[2 * f + 2] = x
        total = out[row]
        for g in range(roots.shape[0]):
            for j in range(TREES_AT_ONCE):
                positions[j] = roots[g, j]
            moved = np.int32(1)
            while moved:
                moved = np.int32(0)
                for j in range(TREES_AT_ONCE):
                    p = np.uint32(positions[j])
                    position = np.int32(steps[p, 1] + (not spread[np.uint32(steps[p, 0])] <= threshold[p]))
                    moved |= position ^ positions[j]
                    positions[j] = position
            for j in range(TREES_AT_ONCE):
                total += value[np.uint32(positions[j])]
        out[row] = total


def score_rows(forest: Forest, X: NDArray[np.float32]) -> Floats:
    """Return the scores of some rows under a forest.

    Trees are added in their order, so that a row's score depends neither on the other rows nor on the number of threads
    (``numba.set_num_threads``). The forest as it is arranged for scoring is kept as long as the forest: its arrays must
    not change after its first scores.

    Shapes: X (n_rows, n_features).
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    out = np.zeros(len(X), dtype=forest.leaf_value.dtype)
    are_few = LEAVES_A_ROW * (len(X) - FEW_ROWS) * forest.n_trees <= len(forest.leaf_value)
    if are_few and forest.category_words is None:
        layout = _WALKS.get(forest) or _WALKS.setdefault(forest, walk_forest(forest))
        _add_walked_scores(X, layout, out)
    else:
        bits = _BITS.get(forest) or _BITS.setdefault(forest, bit_forest(forest))
        n_tests = len(X) * (bits.mask.size + TESTS_A_COLUMN * len(bits.columns))
        n_threads = numba.get_num_threads() if n_tests >= PARALLEL_TESTS else 1
        parts = row_parts(len(X), n_threads) if n_threads > 1 else [slice(None)]
        in_threads(lambda rows: _add_scores_by_bits(X[rows], bits, out[rows]), parts, n_threads)
    return out.astype(np.float64, copy=False)
