"""Contributions of features to the score of a tree by their definition: Shapley values, over all subsets."""

from __future__ import annotations

from itertools import combinations
from math import factorial

import numpy as np

from tests.oracles.trees import goes_left


def expectation(tree, leaf_count, row, known, node=0):
    """Return the expected leaf value where the features in `known` are known; the others by shares of the rows."""
    if node < 0 or not len(tree.feature):
        return tree.leaf_value[~node if node < 0 else 0]
    left, right = int(tree.left[node]), int(tree.right[node])
    value = row[tree.feature[node]]
    if tree.feature[node] in known:
        return expectation(tree, leaf_count, row, known, left if goes_left(tree, node, value) else right)
    shares = [_rows(tree, leaf_count, child) / _rows(tree, leaf_count, node) for child in (left, right)]
    values = [expectation(tree, leaf_count, row, known, child) for child in (left, right)]
    return shares[0] * values[0] + shares[1] * values[1]


def _rows(tree, leaf_count, node):
    if node < 0:
        return leaf_count[~node]
    return _rows(tree, leaf_count, tree.left[node]) + _rows(tree, leaf_count, tree.right[node])


def contributions(tree, leaf_count, row):
    """Return the contribution of each feature of a row and, behind them, the expected value of the tree."""
    n = len(row)
    values = np.zeros(n + 1)
    values[n] = expectation(tree, leaf_count, row, set())
    for feature in range(n):
        others = [other for other in range(n) if other != feature]
        for size in range(n):
            weight = factorial(size) * factorial(n - 1 - size) / factorial(n)
            for subset in combinations(others, size):
                without = expectation(tree, leaf_count, row, set(subset))
                values[feature] += weight * (expectation(tree, leaf_count, row, {*subset, feature}) - without)
    return values
