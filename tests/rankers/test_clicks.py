from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.rankers.click_rows import ClickRows
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.mart import MART
from rerank.types import Qrels, RankingData, Run, query_rows
from tests.rankers.conftest import ranking_data

SMALL = {"n_estimators": 20, "num_leaves": 6, "min_child_samples": 5}


def _log(data: RankingData, seed: int = 0, passes: int = 40) -> rerank.Clicks:
    """Clicks of simulated users on the ranking by the base scores."""
    assert data.labels is not None
    assert data.base_scores is not None
    query = data.query_ids[query_rows(data.query_ptr)]
    run = Run.from_rows(query, data.doc_ids, data.base_scores)
    qrels = Qrels.from_rows(query, data.doc_ids, data.labels.astype(np.int64))
    return rerank.simulate_clicks(run, qrels, passes=passes, spread=1.0, seed=seed)


@pytest.fixture(scope="module")
def data() -> RankingData:
    return replace(ranking_data(5, n_queries=40), recipe=None)


@pytest.fixture(scope="module")
def log(data: RankingData) -> rerank.Clicks:
    return _log(data)


@pytest.mark.parametrize("bias", ["ignored", "propensity", "unbiased", "additive"])
def test_clicks_teach_an_order_that_is_better_than_that_of_the_log(
    bias: str, data: RankingData, log: rerank.Clicks
) -> None:
    model = LambdaMART(**SMALL, position_bias=bias).fit(replace(data, labels=None), clicks=log)
    unseen = ranking_data(6)
    query = unseen.query_ids[query_rows(unseen.query_ptr)]
    of_base = rerank.evaluate(
        Qrels.from_rows(query, unseen.doc_ids, unseen.labels.astype(np.int64)),
        Run.from_rows(query, unseen.doc_ids, unseen.base_scores),
        ["nDCG@10"],
    )["nDCG@10"]
    assert model.score(unseen) > of_base


@pytest.mark.parametrize("bias", ["propensity", "unbiased"])
def test_a_model_of_clicks_depends_neither_on_the_order_of_rows_nor_on_that_of_the_log(
    bias: str, data: RankingData, log: rerank.Clicks
) -> None:
    model = LambdaMART(**SMALL, position_bias=bias)
    expected = model.fit(data, clicks=log).to_dict()
    lists = np.random.default_rng(0).permutation(len(log.list_ptr) - 1)
    rows = np.concatenate([np.arange(*log.list_ptr[number : number + 2]) for number in lists])
    assert model.fit(data, clicks=log.select(rows)).to_dict() == expected
    shuffled = data.select(np.random.default_rng(1).permutation(len(data)))
    assert model.fit(shuffled, clicks=log).to_dict() == expected


def test_lists_of_a_log_are_counted_once_each(data: RankingData, log: rerank.Clicks) -> None:
    rows = ClickRows.of(log, data)
    of_rows = set(zip(data.query_ids[query_rows(data.query_ptr)].tolist(), data.doc_ids.tolist(), strict=True))
    expected: dict[tuple[tuple[str, str, bool], ...], int] = {}
    for first, last in zip(log.list_ptr[:-1], log.list_ptr[1:], strict=True):
        part = range(first, last)
        names = [(str(log.query_ids[log.query[row]]), str(log.doc_ids[log.document[row]])) for row in part]
        clicked = [bool(log.clicked[row]) for row in part]
        assert set(names) <= of_rows
        if any(clicked) and not all(clicked):
            key = tuple((*name, click) for name, click in zip(names, clicked, strict=True))
            expected[key] = expected.get(key, 0) + 1
    found = {}
    for number, count in enumerate(rows.counts.tolist()):
        part = range(rows.list_ptr[number], rows.list_ptr[number + 1])
        query = data.query_ids[query_rows(data.query_ptr)[rows.rows[list(part)]]]
        docs, clicked = data.doc_ids[rows.rows[list(part)]], rows.clicked[list(part)] > 0
        key = tuple(zip(query.tolist(), docs.tolist(), clicked.tolist(), strict=True))
        found[key] = int(count)
    assert found == expected


def test_clicks_that_cannot_be_learned_from_are_refused_in_one_line(data: RankingData, log: rerank.Clicks) -> None:
    with pytest.raises(InvalidInputError, match="clicks: expected LambdaMART without preferences"):
        MART(**SMALL).fit(data, clicks=log)
    with pytest.raises(InvalidInputError, match="clicks: expected RankingData beside them, got arrays"):
        LambdaMART(**SMALL).fit(data.X, data.labels, qid=query_rows(data.query_ptr), clicks=log)
    others = replace(data, query_ids=np.array([f"other{name}" for name in data.query_ids]))
    with pytest.raises(InvalidInputError, match="clicks: expected lists of the data's documents with some"):
        LambdaMART(**SMALL).fit(others, clicks=log)
    with pytest.raises(InvalidInputError, match="position_bias: expected a separable metric beside 'unbiased'"):
        LambdaMART(**SMALL, metric="AP", position_bias="unbiased").fit(data, clicks=log)
    with pytest.raises(InvalidInputError, match="position_bias: expected clicks beside 'unbiased', got labels"):
        LambdaMART(**SMALL, position_bias="unbiased").fit(replace(data, labels=np.arange(data.n_rows) % 3))
