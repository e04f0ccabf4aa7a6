from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.rankers.base_scores import start_in_units
from rerank.rankers.mart import GBRank
from rerank.rankers.training import TrainingSet
from tests.oracles.boosting import gbrank_targets
from tests.rankers.conftest import ranking_data
from tests.rankers.leaves import leaves

ROUNDS, ETA, TAU = 5, 0.7, 0.1


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("base", [None, "run"])
def test_each_tree_is_the_mean_of_the_targets_in_its_leaves(keep, base) -> None:
    data = ranking_data(4, n_queries=8, n_features=4)
    data = replace(data, base_scores=None if base is None else data.base_scores / data.base_scores.std())
    model = GBRank(
        n_estimators=ROUNDS,
        num_leaves=4,
        min_child_samples=1,
        learning_rate=ETA,
        tau=TAU,
        keep_pairs=keep,
        base=base,
        start="base",
    ).fit(data)
    start = np.zeros(data.n_rows) if base is None else data.base_scores
    train = TrainingSet.of(data, start)
    unit = model._unit(train)
    h, kept = start_in_units(train, unit, by_query=True)[0], []
    for k, (leaf, value) in enumerate(leaves(model.forest_, data.X[train.order]), 1):
        targets = gbrank_targets(train.query_ptr, train.labels, h, TAU)
        kept = kept + targets if keep else targets
        rows, wanted = np.array([row for row, _ in kept]), np.array([target for _, target in kept])
        for number in np.unique(leaf):
            inside = wanted[leaf[rows] == number]
            expected = ETA * inside.mean() if len(inside) else 0.0
            assert value[leaf == number] / unit == pytest.approx(expected, rel=1e-9)
        h = (k * h + value / unit) / (k + 1)
    centre = train.start_scores / unit - start_in_units(train, unit, by_query=True)[0]
    np.testing.assert_allclose(
        model.predict(data)[train.order] / unit - centre, (ROUNDS + 1) * h, rtol=1e-9, atol=1e-12
    )
