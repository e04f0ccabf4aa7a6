"""Slow, obvious twins of the tree engine: every split tried on raw values, every row walked by itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rerank.trees.forest import Forest


def shrunk(grad: np.ndarray, reg_alpha: float) -> float:
    """Return the sum of the gradients, its size less reg_alpha."""
    total = float(grad.sum())
    return max(total - reg_alpha, 0.0) if total > 0 else min(total + reg_alpha, 0.0)


def gain(grad: np.ndarray, hess: np.ndarray, reg_lambda: float, reg_alpha: float = 0.0) -> float:
    """G^2 / (H + lambda) of a set of rows."""
    total = hess.sum() + reg_lambda
    return shrunk(grad, reg_alpha) ** 2 / total if total > 0 else 0.0


def best_split(X, grad, hess, rows, min_rows, reg_lambda, reg_alpha=0.0):
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
                    gain(grad[rows[left]], hess[rows[left]], reg_lambda, reg_alpha)
                    + gain(grad[rows[~left]], hess[rows[~left]], reg_lambda, reg_alpha)
                    - gain(grad[rows], hess[rows], reg_lambda, reg_alpha)
                )
                if best is None or value > best[0] + 1e-9:
                    best = (value, feature, left, missing_left)
    return best if best is not None and best[0] > 1e-9 else None


def grow(X, grad, hess, num_leaves, min_rows, reg_lambda=0.0, reg_alpha=0.0):
    """Return the value of every row under a tree grown leaf by leaf, and the gains in the order of the splits."""
    leaves = [np.arange(len(X))]
    gains = []
    while len(leaves) < num_leaves:
        splits = [best_split(X, grad, hess, rows, min_rows, reg_lambda, reg_alpha) for rows in leaves]
        values = [split[0] if split else 0.0 for split in splits]
        number = int(np.argmax(values))
        if values[number] <= 0:
            break
        left, rows = splits[number][2], leaves[number]
        gains.append(values[number])
        leaves[number] = rows[left]
        leaves.append(rows[~left])
    out = np.empty(len(X))
    for rows in leaves:
        out[rows] = leaf_value(grad[rows], hess[rows], reg_lambda, reg_alpha=reg_alpha)
    return out, gains


def leaf_value(grad, hess, reg_lambda=0.0, least_hess=0.0, reg_alpha=0.0):
    """Return the Newton step of a leaf's rows; 0 where their hessian is too small."""
    total = hess.sum() + reg_lambda
    return -shrunk(grad, reg_alpha) / total if hess.sum() >= least_hess and total > 0 else 0.0


def pack(grad, hess, rows):
    """Return gradient and hessian of each row as integers, and the value of one unit of each."""
    grad_scale = 2.0**30 / np.abs(grad).sum() if grad.any() else 1.0
    hess_scale = 2.0 ** (30 - (np.floor(np.log2(hess.sum())) + 1)) if hess.any() else 1.0
    integers = [(round(grad[row] * grad_scale), round(hess[row] * hess_scale)) for row in rows]
    return integers, 1.0 / grad_scale, 1.0 / hess_scale


def find_bin(value, edges):
    """Return the first bin whose edge is not below the value."""
    return next(number for number, edge in enumerate([*edges, np.inf]) if value <= edge)


def choose_edges(values, max_bin):
    """Return the edges below the last bin: every value apart, or about equal counts with large values alone."""
    distinct, counts = np.unique(values, return_counts=True)
    middles = [_between(low, high) for low, high in pairwise(distinct)]
    if len(distinct) <= max_bin:
        return middles
    heavy = counts >= len(values) / max_bin
    light_rows, light_bins = counts[~heavy].sum(), max(max_bin - heavy.sum(), 1)
    edges, in_bin = [], 0
    for i in range(len(distinct)):
        share = light_rows / max(light_bins, 1)
        if heavy[i] and in_bin > 0 and in_bin >= 0.5 * share and len(edges) < max_bin - 1:
            edges.append(middles[i - 1])
            light_bins, light_rows, in_bin = light_bins - 1, light_rows - in_bin, 0
        in_bin += counts[i]
        if i < len(middles) and (heavy[i] or in_bin >= share) and len(edges) < max_bin - 1:
            edges.append(middles[i])
            if not heavy[i]:
                light_bins, light_rows = light_bins - 1, light_rows - in_bin
            in_bin = 0
    return edges


def _between(low, high):
    middle = np.float32(0.5 * float(low) + 0.5 * float(high))
    return middle if low <= middle < high else low


def exceptions_of_row(codes, most_freq_code):
    """Return column * 256 + code of each sparse column in which a row has another code than the most frequent one."""
    return [256 * k + code for k, code in enumerate(codes) if code != most_freq_code[k]]


def score(forest: Forest, row: np.ndarray) -> float:
    """Walk one row through every tree."""
    total = 0.0
    for t in range(forest.n_trees):
        first, last = forest.node_ptr[t], forest.node_ptr[t + 1]
        node = 0 if last > first else -1
        while node >= 0:
            n = first + node
            left = goes_left(forest, n, row[forest.feature[n]])
            node = forest.left[n] if left else forest.right[n]
        total += forest.leaf_value[forest.leaf_ptr[t] + ~node]
    return total


def goes_left(trees, node: int, value: float) -> bool:
    """Say where a value goes at a node of a forest or a tree: categories of the node's set go left."""
    members = set_of(trees, node)
    if np.isnan(value):
        return bool(trees.missing_left[node])
    return value in members if members else bool(value <= trees.threshold[node])


def set_of(trees, node: int) -> set[int]:
    """Return the categories of a node's set, read bit by bit; none for a node that compares."""
    if trees.category_words is None:
        return set()
    first = sum(trees.category_words[:node].tolist())
    words = trees.category_bits[first : first + trees.category_words[node]].tolist()
    return {32 * number + bit for number, word in enumerate(words) for bit in range(32) if word >> bit & 1}


def best_set(codes, grad, hess, n_known, min_rows, reg_lambda, reg_alpha=0.0):
    """Return (gain, rows that go left) of the best split of a category, or None; hess of a row is 1.

    methods: one against the rest up to 4 categories; else prefixes and suffixes of the order by G / (H + 10), of
    categories with at least 10 rows, at most 32 of them and at most half, at least 100 rows between two splits.
    """
    few = n_known <= 4
    known = [code for code in np.unique(codes[~np.isnan(codes)]) if few or (codes == code).sum() >= 10]
    known.sort(key=lambda code: grad[codes == code].sum() / (hess[codes == code].sum() + 10.0))
    tried = [{code} for code in known]
    if not few:
        most = min((len(known) + 1) // 2, 32)
        tried = []
        for order in (known, known[::-1]):
            before = 0
            for size in range(1, most + 1):
                left = np.isin(codes, order[:size])
                enough = left.sum() - before >= 100 and left.sum() >= min_rows
                if enough and (~left).sum() >= max(min_rows, 100):
                    tried.append(set(order[:size]))
                    before = left.sum()
    best = None
    for members in tried:
        left = np.isin(codes, list(members))
        if min(left.sum(), (~left).sum()) < min_rows:
            continue
        smoothed = reg_lambda + (0.0 if few else 10.0)
        value = sum(gain(grad[side], hess[side], smoothed, reg_alpha) for side in (left, ~left))
        value -= gain(grad, hess, reg_lambda, reg_alpha)
        if best is None or value > best[0] + 1e-9:
            best = (value, left)
    return best if best is not None and best[0] > 1e-9 else None


def grow_with_categories(X, grad, hess, num_leaves, min_rows, n_known, reg_lambda=0.0, reg_alpha=0.0):
    """Return what `grow` does; n_known {feature: number of its categories in training} names the categories."""

    def best(rows):
        numbers = [feature for feature in range(X.shape[1]) if feature not in n_known]
        split = best_split(X[:, numbers], grad, hess, rows, min_rows, reg_lambda, reg_alpha=reg_alpha)
        found = [] if split is None else [(split[0], split[2])]
        for feature, count in n_known.items():
            split = best_set(X[rows, feature], grad[rows], hess[rows], count, min_rows, reg_lambda, reg_alpha)
            found += [] if split is None else [split]
        return max(found, key=lambda each: each[0], default=None)

    leaves, gains = [np.arange(len(X))], []
    while len(leaves) < num_leaves:
        splits = [best(rows) for rows in leaves]
        values = [split[0] if split else 0.0 for split in splits]
        number = int(np.argmax(values))
        if values[number] <= 0:
            break
        left, rows = splits[number][1], leaves[number]
        gains.append(values[number])
        leaves[number] = rows[left]
        leaves.append(rows[~left])
    out = np.empty(len(X))
    for rows in leaves:
        out[rows] = leaf_value(grad[rows], hess[rows], reg_lambda, reg_alpha=reg_alpha)
    return out, gains


def grow_constrained(X, grad, hess, num_leaves, min_rows, directions, groups, penalties=(0.0, 0.0)):
    """Return what `grow` does under monotone constraints (LightGBM's basic method) and interaction groups.

    penalties  reg_lambda and reg_alpha
    """
    bounds, used = [(-np.inf, np.inf)], [frozenset()]
    leaves, gains = [np.arange(len(X))], []
    while len(leaves) < num_leaves:
        splits = [
            _best_constrained(X, grad, hess, rows, min_rows, directions, groups, penalties, *each)
            for rows, *each in zip(leaves, bounds, used, strict=True)
        ]
        values = [split[0] if split else 0.0 for split in splits]
        number = int(np.argmax(values))
        if values[number] <= 0:
            break
        value, feature, left, (low_left, low_right) = splits[number]
        rows, (low, high), path = leaves[number], bounds[number], used[number] | {splits[number][1]}
        gains.append(value)
        leaves[number], used[number] = rows[left], path
        leaves.append(rows[~left])
        used.append(path)
        middle, direction = (low_left + low_right) / 2, directions[feature]
        sides = {1: ((low, middle), (middle, high)), -1: ((middle, high), (low, middle))}
        bounds[number], right = sides.get(direction, ((low, high), (low, high)))
        bounds.append(right)
    out = np.empty(len(X))
    for rows, (low, high) in zip(leaves, bounds, strict=True):
        value = leaf_value(grad[rows], hess[rows], penalties[0], reg_alpha=penalties[1])
        out[rows] = np.clip(value, low, high)
    return out, gains


def _best_constrained(X, grad, hess, rows, min_rows, directions, groups, penalties, bounds, path):
    """Return gain, feature, left rows and both steps of the best split within the bounds and groups, or None."""
    reg_lambda, reg_alpha = penalties

    def step(chosen):
        return np.clip(leaf_value(grad[chosen], hess[chosen], reg_lambda, reg_alpha=reg_alpha), *bounds)

    def loss(chosen):
        return step(chosen) * (2 * shrunk(grad[chosen], reg_alpha) + (hess[chosen].sum() + reg_lambda) * step(chosen))

    best = None
    for feature in sorted(set().union(*(group for group in groups if path <= group))):
        column = X[rows, feature]
        missing = np.isnan(column)
        for threshold in np.unique(column[~missing]):
            for missing_left in (False, True):
                left = (column <= threshold) | (missing & missing_left)
                if min(left.sum(), (~left).sum()) < min_rows:
                    continue
                steps = step(rows[left]), step(rows[~left])
                if directions[feature] * (steps[1] - steps[0]) < 0:
                    continue
                value = loss(rows) - loss(rows[left]) - loss(rows[~left])
                if best is None or value > best[0] + 1e-9:
                    best = value, feature, left, steps
    return best if best is not None and best[0] > 1e-9 else None


def feature_paths(tree):
    """Return the features on the way to each leaf of a tree, a set each."""
    if not len(tree.feature):
        return [set()]
    paths, waiting = [], [(0, set())]
    while waiting:
        node, path = waiting.pop()
        path = path | {int(tree.feature[node])}
        for child in (int(tree.left[node]), int(tree.right[node])):
            if child >= 0:
                waiting.append((child, path))
            else:
                paths.append(path)
    return paths
