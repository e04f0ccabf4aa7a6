"""Sources of candidates against slow definitions: weighted BM25, RM3, nearest vectors."""

from __future__ import annotations

from collections import defaultdict
from math import exp, log2

import numpy as np
import pytest

from rerank.features.statistics import field_idf, lucene_lengths
from rerank.retrieval.base import SearchInputs, best_hits, source
from rerank.retrieval.sources.nearest import nearest_hits
from rerank.retrieval.sources.rm3 import weighted_bm25
from rerank.types import Run
from rerank.types.forward import FieldArrays, ForwardIndex
from rerank.types.vocabulary import find_terms
from tests.features.awkward import DOCUMENTS, QUERIES
from tests.features.collection import forward_index

K1, B = 0.9, 0.4


@pytest.fixture(scope="module")
def forward() -> ForwardIndex:
    return forward_index(DOCUMENTS)


def _bm25(field: FieldArrays, weights: dict[int, float]) -> dict[int, float]:
    """Return the score of each document that holds a term."""
    scores: dict[int, float] = defaultdict(float)
    lengths, idf = lucene_lengths(np.asarray(field.lengths)), field_idf(field)
    for doc in range(len(field.lengths)):
        for posting in range(field.doc_ptr[doc], field.doc_ptr[doc + 1]):
            term, tf = int(field.terms[posting]), float(field.freqs[posting])
            if term in weights:
                norm = K1 * (1 - B + B * lengths[doc] / field.average_length)
                scores[doc] += weights[term] * idf[term] * tf / (tf + norm)
    return dict(scores)


def _weights(forward: ForwardIndex, tokens: list[str]) -> dict[int, float]:
    weights: dict[int, float] = defaultdict(float)
    for token in tokens:
        number = int(find_terms(forward, [token.encode()])[0])
        if number >= 0 and forward.fields["contents"].doc_freq[number] > 0:
            weights[number] += 1.0
    return dict(weights)


def _burstiness(field: FieldArrays, term: int) -> float:
    df, cf = (float(counts[term]) / field.n_docs_with for counts in (field.doc_freq, field.collection_freq))
    return 0.2 + max(0.0, log2(1.0 - exp(-cf)) - log2(df))


def _tf(field: FieldArrays, doc: int) -> dict[int, int]:
    postings = range(field.doc_ptr[doc], field.doc_ptr[doc + 1])
    return {int(field.terms[posting]): int(field.freqs[posting]) for posting in postings}


def _inputs(forward: ForwardIndex) -> SearchInputs:
    field = forward.fields["contents"]

    def bm25(k: int) -> Run:
        rows = []
        for query_id, tokens in QUERIES.items():
            scores = sorted(_bm25(field, _weights(forward, tokens)).items(), key=lambda hit: (-hit[1], hit[0]))
            rows += [(query_id, str(forward.doc_ids[doc]), score) for doc, score in scores[:k]]
        queries, docs, values = zip(*rows, strict=True)
        return Run.from_rows(queries, docs, values)

    return SearchInputs(forward, list(QUERIES), list(QUERIES.values()), bm25, K1, B)


def test_weighted_bm25_equals_its_definition(forward: ForwardIndex) -> None:
    field, random = forward.fields["contents"], np.random.default_rng(0)
    for _ in range(5):
        terms = np.sort(random.choice(len(field.doc_freq), 4, replace=False))
        weights = random.random(4)
        expected = _bm25(field, dict(zip(terms.tolist(), weights.tolist(), strict=True)))
        ((docs, scores),) = weighted_bm25(field, [(terms, weights)], K1, B)
        assert docs.tolist() == sorted(expected)
        np.testing.assert_allclose(scores, [expected[doc] for doc in docs.tolist()], rtol=1e-12)


def _kept(field: FieldArrays, model: dict[int, float], size: int) -> dict[int, float]:
    most = max(0.1 * field.n_docs_with, 1.0)
    kept = sorted((-weight, term) for term, weight in model.items() if field.doc_freq[term] <= most and weight > 0)
    return {term: -weight for weight, term in kept[:size]}


def _rm3(field: FieldArrays, query: dict[int, float], docs: list[int]) -> dict[int, float]:
    docs = [doc for doc in docs if field.lengths[doc]]
    norm, model = sum(1 / log2(rank + 2) for rank in range(len(docs))), defaultdict[int, float](float)
    for rank, doc in enumerate(docs):
        for term, tf in _tf(field, doc).items():
            model[term] += tf / field.lengths[doc] / log2(rank + 2) / norm
    best, total = _kept(field, model, 20), sum(query.values())
    expanded: dict[int, float] = defaultdict(float)
    for term, n in query.items():
        expanded[term] += (0.5 if best else 1.0) * n / total
    for term, weight in best.items():
        expanded[term] += 0.5 * weight / sum(best.values())
    return expanded


def test_expanded_queries_equal_their_definition(forward: ForwardIndex) -> None:
    field, inputs = forward.fields["contents"], _inputs(forward)
    run = source("rm3").search(inputs, 1000)
    assert run.query_ids.tolist() == list(QUERIES)
    for query_id, tokens in QUERIES.items():
        query = {term: n * _burstiness(field, term) for term, n in _weights(forward, tokens).items()}
        first = sorted(_bm25(field, query).items(), key=lambda hit: (round(hit[1], 6), forward.doc_ids[hit[0]]))
        docs = [doc for doc, _ in first[: -10 - 1 : -1]]
        expected = _bm25(field, _rm3(field, query, docs)) if query else {}
        named = {str(forward.doc_ids[doc]): score for doc, score in expected.items()}
        assert run[query_id] == pytest.approx(named, abs=2e-6), query_id
    assert source("rm3").search(inputs, 3).doc_ids.tolist() == run.head(3).doc_ids.tolist()


def test_best_hits_break_ties_as_trec_eval() -> None:
    doc_ids = np.array(["b", "d", "a", "c", "e"])
    scores = np.array([1.0, 2.0, 1.0, 1.0, 0.5])
    for k in range(1, 7):
        docs, values = best_hits(np.arange(5), scores, k, np.argsort(np.argsort(doc_ids)))
        assert doc_ids[docs].tolist() == ["d", "c", "b", "a", "e"][:k]
        assert values.tolist() == [2.0, 1.0, 1.0, 1.0, 0.5][:k]


def test_nearest_hits_are_the_documents_of_the_greatest_cosines() -> None:
    random = np.random.default_rng(0)
    documents, queries = random.normal(size=(50, 7)).astype(np.float32), random.normal(size=(5, 7)).astype(np.float32)
    documents[3], queries[4] = 0.0, 0.0
    for threads in (1, 2):
        hits = list(nearest_hits(queries, documents, 10, threads))
        for query, (docs, scores) in zip(queries[:4], hits, strict=False):
            norms = np.linalg.norm(documents, axis=1) * np.linalg.norm(query)
            cosines = np.where(norms > 0, documents @ query / np.where(norms > 0, norms, 1), 0.0)
            assert docs.tolist() == np.argsort(-cosines)[:10].tolist()
            np.testing.assert_allclose(scores, cosines[docs], atol=2e-6)
        assert len(hits[4][0]) == 0
