"""Scores of rows under a forest: many rows by bits of leaves (`quickscorer.py`), a few by walking (`walk.py`)."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.trees import bit_layout, quickscorer, walk
from rerank.trees.forest import Forest
from rerank.types import Floats

FEW_ROWS = 8  # about as many rows as can be walked while a block of 64 is scored by bits
# From about two milliseconds on threads pay off, even where other processes use the cores and the last thread is late.
# In tests of a node on a row; moving a value into its column counts as several.
PARALLEL_TESTS = 50_000_000
TESTS_A_COLUMN = 40

_BITS: WeakKeyDictionary[Forest, quickscorer.BitForest] = WeakKeyDictionary()
_WALKS: WeakKeyDictionary[Forest, walk.WalkForest] = WeakKeyDictionary()


def score_rows(forest: Forest, X: NDArray[np.float32]) -> Floats:
    """Return the scores of some rows under a forest.

    Trees are added in their order, so that a row's score depends neither on the other rows nor on the number of threads
    (``numba.set_num_threads``). The forest as it is arranged for scoring is kept as long as the forest: its arrays must
    not change after its first scores.

    Shapes: X (n_rows, n_features).
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    out = np.zeros(len(X), dtype=forest.leaf_value.dtype)
    if len(X) <= FEW_ROWS:
        layout = _WALKS.get(forest) or _WALKS.setdefault(forest, walk.walk_forest(forest))
        walk.add_scores(layout, X, out)
    else:
        bits = _BITS.get(forest) or _BITS.setdefault(forest, bit_layout.bit_forest(forest))
        quickscorer.add_scores(bits, X, out, _threads_worth(bits, len(X)))
    return out.astype(np.float64, copy=False)


def _threads_worth(bits: quickscorer.BitForest, n_rows: int) -> int:
    """Return how many threads to use."""
    n_tests = n_rows * (len(bits.tests) + TESTS_A_COLUMN * len(bits.features))
    return numba.get_num_threads() if n_tests >= PARALLEL_TESTS else 1
