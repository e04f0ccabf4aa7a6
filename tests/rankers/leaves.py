"""The leaves of a forest, computed from its scores."""

from __future__ import annotations

import numpy as np

from rerank.trees.forest import Forest
from rerank.trees.score import score_rows
from rerank.types import Floats, Ints


def leaves(forest: Forest, X: Floats) -> list[tuple[Ints, Floats]]:
    """Return each row's leaf and the leaf's value, tree by tree: a twin of the tree scores each leaf by its number."""
    results = []
    for tree in range(forest.n_trees):
        nodes = slice(forest.node_ptr[tree], forest.node_ptr[tree + 1])
        values = forest.leaf_value[forest.leaf_ptr[tree] : forest.leaf_ptr[tree + 1]]
        columns = {name: getattr(forest, name)[nodes] for name in ("feature", "threshold", "missing_left", "left")}
        columns |= {"right": forest.right[nodes], "gain": forest.gain[nodes]}
        ends = {"node_ptr": np.array([0, nodes.stop - nodes.start]), "leaf_ptr": np.array([0, len(values)])}
        number = Forest(**ends, **columns, leaf_value=np.arange(len(values), dtype=np.float64))
        leaf = score_rows(number, X).astype(int)
        results.append((leaf, values[leaf]))
    return results
