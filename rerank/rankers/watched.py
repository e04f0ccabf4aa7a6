"""Scores of the validation rows during training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rerank.rankers.training import TrainingSet
from rerank.runtime.mapped_rows import is_mapped
from rerank.trees.binned import bin_with
from rerank.trees.binned_scores import tree_values
from rerank.trees.bins import Bins
from rerank.trees.columns import Columns
from rerank.trees.forest import Forest, Tree
from rerank.trees.score import score_rows
from rerank.types import Floats


class WatchedRows:
    """Validation rows and the sums of the leaf values of the trees so far.

    Rows in memory are scored by their features, mapped ones by their bins; the scores are the same.
    """

    def __init__(self, data: TrainingSet, bins: Bins, n_threads: int) -> None:
        """Take validation data and the bins of the training rows."""
        self._data, self._sums = data, np.zeros(len(data.order))
        self._columns = Columns.separate(bins) if is_mapped(data.X) else None
        if self._columns is not None:
            self._blocks = bin_with(self._columns, data.X, data.order, n_threads)

    def add(self, tree: Tree, unit: float) -> None:
        """Add the values of a tree, each times the unit."""
        if self._columns is None:
            self._sums += score_rows(Forest.of([tree]).scaled(unit), self._data.X)[self._data.order]
        else:
            scaled = replace(tree, leaf_value=unit * tree.leaf_value)
            self._sums += tree_values(scaled, self._columns, self._blocks)

    def scores(self, constant: float) -> Floats:
        """Return the scores of all rows, (n_rows,) float64, in canonical order."""
        return self._data.start_scores + (constant + self._sums)
