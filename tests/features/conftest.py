"""The awkward collection and a run over it."""

from __future__ import annotations

import pytest

from rerank.types import Run
from tests.features.awkward import DOCUMENTS, QUERIES
from tests.features.collection import Documents


@pytest.fixture(scope="session")
def documents() -> Documents:
    """The documents of tests/features/awkward.py."""
    return DOCUMENTS


@pytest.fixture(scope="session")
def run(documents: Documents) -> Run:
    """All documents for every query, scores with ties."""
    return Run.of(
        {
            query_id: {
                doc_id: len(query_id) + (-1.0) ** len(query_id) * (number // 2)
                for number, doc_id in enumerate(documents)
            }
            for query_id in QUERIES
        }
    )
