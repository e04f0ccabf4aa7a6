"""Scores of rows under a forest: blocks of rows by bits of leaves, a few rows by walking."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numba
import numpy as np
from numpy.typing import NDArray

from rerank.trees import quickscorer, walk
from rerank.trees.forest import Forest
from rerank.types import Floats

# A block of 64 rows costs as much as walking about eight.
FEW_ROWS = 8
# From about two milliseconds on threads are worth it: where other processes hold the cores, the wait for the last
# thread takes longer. Counted in tests of a node on a row; to move a value into its column counts as some.
PARALLEL_TESTS = 50_000_000
TESTS_A_COLUMN = 40

_BITS: WeakKeyDictionary[Forest, quickscorer.BitForest] = WeakKeyDictionary()
_WALKS: WeakKeyDictionary[Forest, walk.WalkForest] = WeakKeyDictionary()


def score_rows(forest: Forest, X: NDArray[np.float32]) -> Floats:
    """Return the sum of the trees' leaf values for every row of X (n_rows, n_features) float32.

    Trees are added in their order, so that a row's score depends neither on the other rows nor on the threads
    (numba.set_num_threads). What is prepared for a forest is kept as long as the forest is: its arrays must not
    change after its first scores.
    """
    X = np.ascontiguousarray(X, dtype=np.float32)
    out = np.zeros(len(X), dtype=np.float64)
    if len(X) <= FEW_ROWS:
        steps = _WALKS.get(forest) or _WALKS.setdefault(forest, walk.walk_forest(forest))
        walk.add_scores(steps, X, out)
    else:
        bits = _BITS.get(forest) or _BITS.setdefault(forest, quickscorer.bit_forest(forest))
        quickscorer.add_scores(bits, X, out, _threads_worth(bits, len(X)))
    return out


def _threads_worth(bits: quickscorer.BitForest, n_rows: int) -> int:
    n_tests = n_rows * (len(bits.tests) + TESTS_A_COLUMN * len(bits.features))
    return numba.get_num_threads() if n_tests >= PARALLEL_TESTS else 1
