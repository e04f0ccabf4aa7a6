"""Parts of a forest: some of its trees, and the leaf of each that a row reaches."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from rerank.types import Ints

_OF_LEAVES = ("leaf_value", "leaf_count")


def trees_between(forest: Forest, first: int, last: int) -> Forest:
    """Return trees [first, last) of a forest."""
    parts = {}
    for field in fields(forest):
        array, of_leaves = getattr(forest, field.name), field.name in ("leaf_ptr", *_OF_LEAVES)
        ptr = forest.leaf_ptr if of_leaves else forest.node_ptr
        if array is ptr:
            parts[field.name] = ptr[first : last + 1] - ptr[first]
        elif array is not None:
            parts[field.name] = array[ptr[first] : ptr[last]]
    return replace(forest, **parts)


def leaves_of(forest: Forest, X: NDArray[np.float32]) -> Ints:
    """Return the number of the leaf that each row reaches in each tree, (n_rows, n_trees) int64, from 0."""
    leaves = np.empty((len(X), forest.n_trees), dtype=np.int64)
    for number in range(forest.n_trees):
        tree = trees_between(forest, number, number + 1)
        leaves[:, number] = score_rows(replace(tree, leaf_value=np.arange(len(tree.leaf_value), dtype=np.float64)), X)
    return leaves
