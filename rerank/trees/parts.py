"""Parts of a forest: some of its trees, and the leaf of each that a row reaches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from rerank.types import Ints


def trees_between(forest: Forest, first: int, last: int) -> Forest:
    """Return trees [first, last) of a forest, whose scores are summed in its type."""
    values = forest.leaf_value[forest.leaf_ptr[first] : forest.leaf_ptr[last]]
    return replace(Forest.of(forest.trees()[first:last]), leaf_value=values)


def leaves_of(forest: Forest, X: NDArray[np.float32]) -> Ints:
    """Return the number of the leaf that each row reaches in each tree, (n_rows, n_trees) int64, from 0."""
    leaves = np.empty((len(X), forest.n_trees), dtype=np.int64)
    for number, tree in enumerate(forest.trees()):
        numbered = replace(tree, leaf_value=np.arange(len(tree.leaf_value), dtype=np.float64))
        leaves[:, number] = score_rows(Forest.of([numbered]), X)
    return leaves
