"""Rows on which every split of a model is tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rerank.exchange.build import LARGEST_FLOAT
from rerank.trees.forest import Forest, set_members


def boundary_rows(forest: Forest, n_features: int, n_rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Return rows (n_rows, n_features) float32: values on thresholds, one float to either side, missing, 0, others."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), dtype=np.float32)
    node, category = set_members(forest)
    compares = np.diff(forest.category_sets[0]) == 0
    for feature in range(n_features):
        if feature in forest.categories:  # members, the codes between and behind them, missing ones
            known = category[forest.feature[node] == feature]
            X[:, feature] = random.choice(np.append(known, np.arange(known.max() + 2)), n_rows)
            X[random.random(n_rows) < 1 / 6, feature] = np.nan
            continue
        on = np.unique(forest.threshold[(forest.feature == feature) & compares])
        if not len(on):
            X[:, feature] = random.normal(size=n_rows)
            continue
        inner = on[np.abs(on) < LARGEST_FLOAT] if (np.abs(on) < LARGEST_FLOAT).any() else np.zeros(1)
        between = random.uniform(inner[0] - 1.0, inner[-1] + 1.0, n_rows).astype(np.float32)
        chosen = on[random.integers(0, len(on), n_rows)]
        kinds = random.integers(0, 6, n_rows)
        options = [chosen, np.nextafter(chosen, -LARGEST_FLOAT), np.nextafter(chosen, LARGEST_FLOAT), between]
        X[:, feature] = np.choose(kinds, [*options, np.full(n_rows, np.nan), np.zeros(n_rows)])
    return X
