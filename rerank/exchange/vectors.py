"""Feature rows with expected scores, to test an engine's copy of a model with."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from rerank.exchange.registry import TreeModel
from rerank.exchange.thresholds import LARGEST
from rerank.rankers.arrays import numbered_names
from rerank.rankers.imported import ImportedTrees
from rerank.trees.forest import Forest


def boundary_rows(forest: Forest, n_features: int, n_rows: int, seed: int = 0) -> NDArray[np.float32]:
    """Return rows (n_rows, n_features) float32: values on thresholds, one float to either side, missing, 0, others."""
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), dtype=np.float32)
    lowest, highest = -LARGEST, LARGEST
    for feature in range(n_features):
        on = np.unique(forest.threshold[forest.feature == feature])
        if not len(on):
            X[:, feature] = random.normal(size=n_rows)
            continue
        inner = on[np.abs(on) < LARGEST] if (np.abs(on) < LARGEST).any() else np.zeros(1)
        between = random.uniform(inner[0] - 1.0, inner[-1] + 1.0, n_rows).astype(np.float32)
        chosen = on[random.integers(0, len(on), n_rows)]
        kinds = random.integers(0, 6, n_rows)
        options = [chosen, np.nextafter(chosen, lowest), np.nextafter(chosen, highest), between]
        X[:, feature] = np.choose(kinds, [*options, np.full(n_rows, np.nan), np.zeros(n_rows)])
    return X


def vector_lines(model: TreeModel, count: int, adds_first_score: bool) -> bytes:
    """Return lines of JSON: the features of a row by name, null where missing, and the score of the trees.

    adds_first_score  the engine adds the score of its first stage, which is 0 in these rows
    """
    names = model.feature_names or numbered_names(model.n_features)
    X = boundary_rows(model.forest, model.n_features, count)
    ranker = ImportedTrees.of(model, names, "model")
    note = {"first_stage_score": 0.0} if adds_first_score else {}
    lines = []
    for row, score in zip(X.tolist(), ranker._scores(X).tolist(), strict=True):
        features = {name: None if value != value else value for name, value in zip(names, row, strict=True)}
        lines.append(json.dumps({"features": features, **note, "score": score}, ensure_ascii=False))
    return ("\n".join(lines) + "\n").encode()
