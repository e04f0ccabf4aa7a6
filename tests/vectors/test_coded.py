"""Vectors in eight bits a dimension: no document that belongs to the nearest is passed over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.retrieval.sources.nearest import _fill_cosines, nearest_hits
from rerank.runtime.mapped_rows import read_only_view
from rerank.vectors import coded
from rerank.vectors.coded import CodedVectors


@pytest.fixture(autouse=True, scope="module")
def no_documents_are_few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(coded, "_FEW", 0)
        yield


def _nearest(query: np.ndarray, documents: np.ndarray, k: int) -> tuple[list[int], list[float]]:
    """Return the numbers and cosines of the k nearest documents, when all are compared; the later of a tie first."""
    documents = read_only_view(documents)
    cosines = np.empty(len(documents), np.float32)
    _fill_cosines(query, documents, np.arange(len(documents)), CodedVectors.of(documents).norms, cosines)
    scores = np.round(cosines.astype(np.float64), 6)
    order = sorted(np.flatnonzero(scores > 0.0).tolist(), key=lambda doc: (-scores[doc], -doc))[:k]
    return order, scores[order].tolist()


def _vectors(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 400 documents, three of zeros, and six queries near some of them, of a distribution."""
    random = np.random.default_rng(seed)
    dimensions = int(random.integers(1, 70))
    documents = random.normal(size=(400, dimensions))
    if kind == "near duplicates":
        documents = documents[random.integers(5, size=400)] + 1e-4 * random.normal(size=documents.shape)
    elif kind == "equal":
        documents = documents[random.integers(20, size=400)]
    elif kind == "one large value":
        documents[:, 0] *= 1e6
    elif kind == "all sizes":
        documents *= 10.0 ** random.integers(-12, 12, size=(400, 1))
    documents[[0, 7, 399]] = 0.0
    return documents.astype(np.float32), (documents[1:7] * (1.0 + 0.3 * random.normal())).astype(np.float32)


@pytest.mark.parametrize("kind", ["normal", "near duplicates", "equal", "one large value", "all sizes"])
@given(seed=st.integers(0, 1 << 30), k=st.integers(1, 500))
@settings(max_examples=25, deadline=None)
def test_nearest_hits_equal_those_of_comparing_all_documents(kind: str, seed: int, k: int) -> None:
    documents, queries = _vectors(kind, seed)
    for query, (docs, scores) in zip(queries, nearest_hits(queries, documents, k), strict=True):
        assert (docs.tolist(), scores.tolist()) == _nearest(query, documents, k)


def test_most_documents_are_passed_over() -> None:
    random = np.random.default_rng(0)
    documents = random.normal(size=(5000, 100)).astype(np.float32)
    possible = CodedVectors.of(documents).possible(documents[5], 10)
    assert 5 in possible
    assert len(possible) < 100


def test_a_query_of_zeros_has_no_document() -> None:
    documents = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    ((docs, scores),) = nearest_hits(np.zeros((1, 7), np.float32), documents, 10)
    assert len(docs) == len(scores) == 0


def test_sums_of_products_stay_within_32_bits_when_vectors_are_long() -> None:
    documents = np.ones((3, 4096), np.float32)
    documents[1] *= -1.0
    ((docs, scores),) = nearest_hits(documents[:1], documents, 2)
    assert docs.tolist() == [2, 0]
    assert scores.tolist() == [1.0, 1.0]
