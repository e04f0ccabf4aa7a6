"""Slow, obvious twins of the tree engine: every split tried on raw values, every row walked by itself."""

from __future__ import annotations

import numpy as np

from rerank.trees.forest import Forest


def gain(grad: np.ndarray, hess: np.ndarray, reg_lambda: float) -> float:
    """G^2 / (H + lambda) of a set of rows."""
    total = hess.sum() + reg_lambda
    return grad.sum() ** 2 / total if total > 0 else 0.0


def best_split(X, grad, hess, rows, min_rows, reg_lambda):
    """Return (gain, feature, left rows, missing goes left) of the best split by trying them all, or None."""
    best = None
    for feature in range(X.shape[1]):
        column = X[rows, feature]
        missing = np.isnan(column)
        for threshold in np.unique(column[~missing]):
            for missing_left in (False, True):
                left = (column <= threshold) | (missing & missing_left)
                if min(left.sum(), (~left).sum()) < min_rows:
                    continue
                value = (
                    gain(grad[rows[left]], hess[rows[left]], reg_lambda)
                    + gain(grad[rows[~left]], hess[rows[~left]], reg_lambda)
                    - gain(grad[rows], hess[rows], reg_lambda)
                )
                if best is None or value > best[0] + 1e-9:
                    best = (value, feature, left, missing_left)
    return best if best is not None and best[0] > 1e-9 else None


def grow(X, grad, hess, num_leaves, min_rows, reg_lambda=0.0):
    """Return the value of every row under a tree grown leaf by leaf, and the gains in the order of the splits."""
    leaves = [np.arange(len(X))]
    gains = []
    while len(leaves) < num_leaves:
        found = [best_split(X, grad, hess, rows, min_rows, reg_lambda) for rows in leaves]
        values = [split[0] if split else 0.0 for split in found]
        number = int(np.argmax(values))
        if values[number] <= 0:
            break
        left, rows = found[number][2], leaves[number]
        gains.append(values[number])
        leaves[number] = rows[left]
        leaves.append(rows[~left])
    out = np.empty(len(X))
    for rows in leaves:
        out[rows] = -grad[rows].sum() / (hess[rows].sum() + reg_lambda)
    return out, gains


def score(forest: Forest, row: np.ndarray) -> float:
    """Walk one row through every tree."""
    total = 0.0
    for t in range(forest.n_trees):
        first, last = forest.node_ptr[t], forest.node_ptr[t + 1]
        node = 0 if last > first else -1
        while node >= 0:
            n = first + node
            value = row[forest.feature[n]]
            left = forest.missing_left[n] if np.isnan(value) else value <= forest.threshold[n]
            node = forest.left[n] if left else forest.right[n]
        total += forest.leaf_value[forest.leaf_ptr[t] + ~node]
    return total
