"""What judged queries with similar lists say of a document, against a slow oracle."""

from __future__ import annotations

import numpy as np

import rerank
from rerank.rankers.learned_fusion import JUDGED
from rerank.rankers.lists_of_judged_queries import JudgedLists
from rerank.retrieval.source_data import source_data
from tests.oracles import lists_of_judged_queries as oracle
from tests.retrieval.test_sources import random_runs


def some_of(runs: list[dict], queries: list[str]) -> list[dict]:
    return [{query: run[query] for query in queries if query in run} for run in runs]


def judged_queries(runs: list[dict], seed: int = 1) -> dict[str, dict[str, int]]:
    random = np.random.default_rng(seed)
    return {
        query: {doc: int(random.integers(-1, 3)) for doc in random.permutation(list(scores))[:20].tolist()}
        | {"elsewhere": 1}
        for query, scores in runs[0].items()
    }


def test_judged_equals_the_oracle_and_a_query_does_not_read_its_own_labels() -> None:
    runs = random_runs(3)
    names = list(runs[0])
    train, other = names[:8], names[4:]  # four of them judged
    qrels = judged_queries(some_of(runs, train))
    judged = JudgedLists.of(source_data(some_of(runs, train)), rerank.Qrels.of(qrels))
    data = judged.added(source_data(some_of(runs, other)))
    assert data.feature_names[-1] == JUDGED
    lists = {query: [run.get(query, {}) for run in runs] for query in names}
    for query in data:
        rows = data.rows(query)
        expected = [
            oracle.judged(query, lists[query], doc, {name: lists[name] for name in train}, qrels)
            for doc in data.doc_ids[rows].tolist()
        ]
        np.testing.assert_allclose(data.X[rows, -1], expected, rtol=1e-6)
    assert (data.column(JUDGED) > 0.0).any()


def test_documents_of_other_collections_are_like_none() -> None:
    runs = random_runs(4)
    judged = JudgedLists.of(source_data(runs), rerank.Qrels.of(judged_queries(runs)))
    others = [{query: {f"other-{doc}": score for doc, score in run[query].items()} for query in run} for run in runs]
    assert not judged.relevance(source_data(others)).any()
