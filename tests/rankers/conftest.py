"""Small data that a ranker can learn from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rerank.rankers.ranker import Ranker
from rerank.runtime.codec import restored
from rerank.types import RankingData, pointers
from rerank.types.ids import id_array


def ranking_data(seed: int, n_queries: int = 60, n_features: int = 8, missing: float = 0.05) -> RankingData:
    """Labels follow three of the features and noise; the base scores follow one of them."""
    random = np.random.default_rng(seed)
    counts = random.integers(5, 40, n_queries)
    n_rows = int(counts.sum())
    X = random.standard_normal((n_rows, n_features)).astype(np.float32)
    value = X[:, 0] + np.tanh(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 0] + 0.5 * random.standard_normal(n_rows)
    labels = np.clip(np.floor(value), 0, 3)
    base_scores = X[:, 0].astype(np.float64) * 2
    X[:, 1:][random.random((n_rows, n_features - 1)) < missing] = np.nan
    return RankingData(
        query_ids=id_array([f"q{number}" for number in range(n_queries)]),
        query_ptr=pointers(counts),
        doc_ids=id_array([f"d{number}" for number in random.permutation(n_rows)]),
        X=X,
        feature_names=tuple(f"f{number}" for number in range(n_features)),
        labels=labels,
        base_scores=base_scores,
    )


@pytest.fixture(scope="session")
def train() -> RankingData:
    return ranking_data(1)


@pytest.fixture(scope="session")
def valid() -> RankingData:
    return ranking_data(2)


@pytest.fixture(scope="session")
def test() -> RankingData:
    return ranking_data(3)


def model_from_dict(stored: Any) -> Ranker:
    """Return the ranker that `to_dict` described."""
    model: Ranker = restored(Ranker, stored)
    return model
