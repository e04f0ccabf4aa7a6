"""Examination by regression EM, where no document moved."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from benchmarks.users import Users
from rerank.clicks.cells import Cells
from rerank.clicks.examination import examination
from rerank.errors import InvalidInputError
from rerank.types import RankingData, pointers
from rerank.types.ids import id_array

N_QUERIES, N_DOCS = 100, 10


@pytest.fixture(scope="module")
def log() -> tuple[rerank.Clicks, RankingData]:
    """Documents whose features tell how attractive they are; the ranker of the log orders by it, with some noise."""
    random = np.random.default_rng(0)
    X = random.normal(size=(N_QUERIES, N_DOCS, 3))
    gamma = 1.0 / (1.0 + np.exp(1.0 - 1.5 * X[..., 0] - X[..., 1]))
    order = np.argsort(-gamma + 0.3 * random.normal(size=gamma.shape), axis=1)
    X, gamma = np.take_along_axis(X, order[..., None], 1), np.take_along_axis(gamma, order, 1)
    clicked = random.random((40, N_QUERIES, N_DOCS)) < gamma * Users().examination(N_DOCS)
    queries = np.repeat([f"q{number}" for number in range(N_QUERIES)], N_DOCS)
    docs = np.char.add(np.char.add(queries, "-"), np.tile(np.arange(N_DOCS).astype(str), N_QUERIES))
    clicks = rerank.Clicks.from_rows(
        np.tile(queries, 40), np.tile(docs, 40), np.tile(np.arange(1, N_DOCS + 1), 40 * N_QUERIES), clicked.reshape(-1)
    )
    ids, ptr = id_array(list(dict.fromkeys(queries.tolist()))), pointers([N_DOCS] * N_QUERIES)
    data = RankingData(ids, ptr, id_array(docs), X.reshape(-1, 3).astype(np.float32), ("a", "b", "c"))
    return clicks, data


def test_features_tell_positions_from_attractiveness(log: tuple[rerank.Clicks, RankingData]) -> None:
    clicks, data = log
    true = Users().examination(N_DOCS)
    without = rerank.estimate_clicks(clicks).examination
    found = rerank.estimate_with_features(clicks, data).examination
    assert found is not None
    assert without is not None
    errors = [np.abs(theta / theta[0] - true / true[0]).mean() for theta in (without, found)]
    assert errors[1] < 0.6 * errors[0]
    assert (np.diff(found)[:6] < 0).all()


def test_other_models_and_few_queries_are_estimated_without_features(log: tuple[rerank.Clicks, RankingData]) -> None:
    clicks, data = log
    for model, rows in (("ctr", data), ("pbm", data.select(range(5)))):
        same = rerank.estimate_with_features(clicks, rows, model)
        assert same.values.tolist() == rerank.estimate_clicks(clicks, model).values.tolist()


def test_positions_whose_documents_moved_keep_their_estimate(log: tuple[rerank.Clicks, RankingData]) -> None:
    clicks, data = log
    turned = clicks.position.copy()
    swap = (clicks.position <= 2) & (np.arange(clicks.n_rows) < clicks.n_rows // 2)
    turned[swap] = 3 - turned[swap]
    moved = rerank.Clicks(
        clicks.query_ids, clicks.doc_ids, clicks.query, clicks.document, turned.astype(np.int32), clicks.clicked
    )
    seen = examination(Cells.of(moved))
    assert seen.is_assumed.tolist() == [False] * 2 + [True] * 8
    found = rerank.estimate_with_features(moved, data).examination
    assert found is not None
    assert found[:2].tolist() == seen.theta[:2].tolist()
    assert np.abs(found[2:] - seen.theta[2:]).max() > 0.0


def test_theta_of_another_length_is_refused(log: tuple[rerank.Clicks, RankingData]) -> None:
    with pytest.raises(InvalidInputError, match=r"theta: expected 10 numbers from 0, one for each position"):
        rerank.estimate_clicks(log[0], theta=[1.0])
