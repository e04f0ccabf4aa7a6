"""What formats share: leaf values as float32, thresholds for tests with `<`, training rows of nodes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.exchange.build import in_a_row, leaf_tree
from rerank.exchange.registry import TreeModel, cannot_say
from rerank.exchange.thresholds import LARGEST, next_above
from rerank.trees.contributions import EMPTY_LEAF
from rerank.trees.forest import Forest
from rerank.types import Floats

_log = logging.getLogger("rerank")
MOST_IN_TREE = 2**29  # whole counts of a tree: readers have int32


def single(values: Floats) -> NDArray[np.float64]:
    """Return the nearest float32 of each value, as float64."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def refuse_zero_missing(model: TreeModel, format: str) -> None:
    """Refuse a model that reads 0 as missing."""
    if len(model.zero_missing):
        raise cannot_say(
            format,
            "a model that reads 0 as a value",
            "one that reads 0 as missing (zero_as_missing)",
            "Export it as lightgbm, or train it without.",
        )


def summed(model: TreeModel, format: str) -> TreeModel:
    """Return the model if its score is a sum with a constant; a mean and 0 as missing are refused."""
    refuse_zero_missing(model, format)
    if model.divisor != 1.0:
        raise cannot_say(
            format,
            "a sum of trees",
            "a mean of trees (average_output, a random forest)",
            "Export it as lightgbm, or train boosted trees.",
        )
    return model


def known_counts(forest: Forest, format: str) -> Floats:
    """Return the training rows of each leaf, or their hessians, (n_leaves,) float64 above 0; 1 where they are unknown.

    SHAP divides by them; that they are unknown is logged.
    """
    if forest.leaf_count is not None:
        return np.maximum(forest.leaf_count.astype(np.float64), EMPTY_LEAF)
    if len(forest.feature):
        _log.warning(
            "%s: expected the training rows of each leaf, got a model that does not know them. The file has 1 for each "
            "leaf: SHAP values made from it weigh all leaves alike.",
            format,
        )
    return np.ones(len(forest.leaf_value))


def whole_counts(forest: Forest, format: str) -> Floats:
    """Return `known_counts` as whole numbers from 1, (n_leaves,): hessians in units of which a tree has up to 2^29."""
    counts = known_counts(forest, format)
    unit = 2.0 ** np.floor(np.log2(np.add.reduceat(counts, forest.leaf_ptr[:-1]) / MOST_IN_TREE))
    if (counts == np.floor(counts)).all():
        unit = np.maximum(unit, 1.0)
    return np.maximum(np.rint(counts / np.repeat(unit, np.diff(forest.leaf_ptr))), 1.0)


def node_counts(forest: Forest, tree: int, leaf_count: Floats) -> tuple[Floats, Floats]:
    """Return the counts of a tree's nodes (n_nodes,) and leaves (n_leaves,), those of the forest's leaves given."""
    nodes = slice(int(forest.node_ptr[tree]), int(forest.node_ptr[tree + 1]))
    leaves = leaf_count[int(forest.leaf_ptr[tree]) : int(forest.leaf_ptr[tree + 1])]
    left, right = forest.left[nodes].tolist(), forest.right[nodes].tolist()
    counts, order = np.zeros(len(left)), [0] if left else []
    for node in order:  # parents before their children
        order += [child for child in (left[node], right[node]) if child >= 0]
    for node in reversed(order):
        counts[node] = sum(counts[child] if child >= 0 else leaves[~child] for child in (left[node], right[node]))
    return counts, leaves


def with_tests_below(forest: Forest) -> Forest:
    """Return the same trees for tests `x < threshold`.

    Where every value goes left, since the threshold is the largest float32, the children are exchanged: no value is
    below the smallest float32.
    """
    turned = forest.threshold == LARGEST
    return replace(
        forest,
        threshold=np.where(turned, -LARGEST, next_above(forest.threshold)),
        missing_left=forest.missing_left ^ turned,
        left=np.where(turned, forest.right, forest.left),
        right=np.where(turned, forest.left, forest.right),
    )


def with_split_leaves(model: TreeModel) -> TreeModel:
    """Return a model of twice as many trees whose sum in float32 is nearly that in float64.

    A leaf value is a multiple of a step, with which sums in float32 are exact, and a rest. The trees of the rests come
    first, as long as the sum is small; rounding then happens only where the sum grows to another power of 2.
    """
    forest, constant = model.forest, model.constant
    step = 2.0 ** (np.ceil(np.log2(max(forest.largest_score() + abs(constant), 1e-30))) - 23)
    whole, whole_constant = np.round(forest.leaf_value / step) * step, float(np.round(constant / step) * step)
    rests = replace(forest, leaf_value=forest.leaf_value - whole)
    parts = [
        Forest.of([leaf_tree(constant - whole_constant)]),
        rests,
        Forest.of([leaf_tree(whole_constant)]),
        replace(forest, leaf_value=whole),
    ]
    return replace(model, forest=in_a_row(parts if constant else parts[1::2]), constant=0.0)


def refuse_missing_direction(model: TreeModel, format: str, features: Sequence[int] | None = None) -> None:
    """Refuse a model that sends a missing value elsewhere than 0, for a system that reads a missing value as 0.

    features  those that the system reads so; None for all
    """
    forest = model.forest
    concerned = True if features is None else np.isin(forest.feature, features)
    other = np.flatnonzero(concerned & (forest.missing_left != (forest.threshold >= 0.0)))
    if len(other):
        names = model.feature_names
        feature = int(forest.feature[other[0]])
        raise cannot_say(
            format,
            "missing values that go where 0 goes",
            f"{len(other)} splits that send them elsewhere, e.g. of feature {names[feature] if names else feature + 1}",
            "If no value is ever missing, give --missing-as-zero (missing_as_zero=True).",
        )
