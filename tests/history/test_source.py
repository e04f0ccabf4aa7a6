"""Judged queries as a source of candidates."""

from __future__ import annotations

import pytest

from rerank.errors import InvalidInputError
from rerank.history.history import History
from rerank.retrieval.base import SearchInputs, source
from rerank.types import Qrels, Run
from tests.history.conftest import World, world


def _search(of: World, history: History | None, k: int) -> Run:
    terms = {**of.queries, **of.other}
    inputs = SearchInputs(
        of.forward, list(terms), list(terms.values()), lambda k: Run.of({}), history=history and history.on(of.forward)
    )
    return source("history").search(inputs, k)


def test_source_does_not_find_the_documents_of_a_query_by_its_own_judgements() -> None:
    """A document that is relevant to one query alone, and near no other document, is found for no query."""
    of = world(0)
    of.documents["alone"] = {field: ["aloneword"] for field in next(iter(of.documents.values()))}
    query_id = next(iter(of.queries))
    of.labels[query_id] = {**of.labels.get(query_id, {}), "alone": 1}
    run = _search(of, History.of_terms(of.forward, of.queries, Qrels.of(of.labels)), 1000)
    assert query_id not in run or "alone" not in run[query_id]


def test_source_needs_a_history() -> None:
    with pytest.raises(InvalidInputError, match=r"^candidates: expected a history for the source history, got none"):
        _search(world(0), None, 10)
