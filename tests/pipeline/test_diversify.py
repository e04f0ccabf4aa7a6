"""Diversity as a last step, over what an index has."""

from __future__ import annotations

import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.pipeline.diversify import diversified
from tests.index.test_unsupervised import letters
from tests.tiny import Tiny


@pytest.fixture(scope="module")
def bound(index: rerank.Index) -> rerank.Index:
    return index.using(vectors=rerank.Vectors.learn(index, dimensions=8))


def test_documents_are_compared_by_lsi(bound: rerank.Index, collection: Tiny) -> None:
    run = bound.search(collection.topics, k=30)
    run = run.take(run.trec_order())
    vectors = bound.vectors.all_documents("lsi")[bound.forward.doc_numbers(run.doc_ids)]
    better = rerank.diversify(bound, run, "mmr(0.5)")
    expected = diversified(run, lambda rows: vectors[rows], 0.5)
    assert better.doc_ids.tolist() == expected.doc_ids.tolist()
    assert better.doc_ids.tolist() != run.doc_ids.tolist()


def test_encoder_comes_first_where_the_index_has_one(bound: rerank.Index, collection: Tiny) -> None:
    run, with_encoder = bound.search(collection.topics, k=30), bound.using(encoder=letters)
    by_encoder = rerank.diversify(with_encoder, run, "mmr(0.3)")
    assert by_encoder.doc_ids.tolist() == rerank.diversify(with_encoder, run, "mmr(0.3,encoder)").doc_ids.tolist()
    assert by_encoder.doc_ids.tolist() != rerank.diversify(with_encoder, run, "mmr(0.3,lsi)").doc_ids.tolist()


def test_refusals_name_what_is_missing(index: rerank.Index, collection: Tiny) -> None:
    run = index.search(collection.topics, k=5)
    plain = index.using(vectors=False, encoder=False)
    with pytest.raises(InvalidInputError, match=r"expected vectors of lsi, got an index without\. Learn them"):
        rerank.diversify(plain, run)
    with pytest.raises(InvalidInputError, match="expected a known name, got 'bert'"):
        rerank.diversify(plain, run, "mmr(0.7,bert)")
    with pytest.raises(InvalidInputError, match="k: expected 1 to 1000, got 0"):
        rerank.diversify(plain, run, k=0)
