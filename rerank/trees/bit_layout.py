"""A forest arranged as words of leaves and tests, for `quickscorer.py`.

A node is a test only in the words that the leaves below its first child reach. In trees of several words the smaller
child is made the first one, to keep those few. `tests/oracles/trees.py` scores rows without any of this (`score`).
"""

from __future__ import annotations

import numpy as np

from rerank.runtime.kernels import kernel
from rerank.trees.forest import Forest
from rerank.trees.quickscorer import LANES, N_KINDS, BitForest
from rerank.types import pointers

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
