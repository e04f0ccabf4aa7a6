"""The ranking that needs no judgements, over indexes that have more and less."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.index.default_candidates import default_candidates
from rerank.index.unsupervised import unsupervised_model
from rerank.plugins.texts import TextReranker
from rerank.rankers.ranker import read_model
from rerank.rankers.standard_scores import SCORES, standardised
from tests.tiny import Tiny

WITHOUT_VECTORS = (
    "bm25_bursty.contents",
    "bm25_neighbours.contents",
    "rm3_10.contents",
    "similarity_3.contents",
    "sdm.contents",
)


def test_unsupervised_ranking_is_the_sum_over_what_the_index_has(index: rerank.Index, collection: Tiny) -> None:
    run = rerank.rerank(index, "unsupervised", collection.topics)
    candidates = index.search(collection.topics, candidates="bm25:1000,rm3:1000")
    data = index.features(candidates, collection.topics)
    expected = data.run(sum(standardised(data, data.feature_names).values()))
    assert {query: list(run[query]) for query in run} == {query: list(expected[query]) for query in expected}
    assert set(SCORES) & set(unsupervised_model(index).feature_names_) == set(WITHOUT_VECTORS)


def test_unsupervised_ranking_reads_vectors_where_the_index_has_them(index: rerank.Index, collection: Tiny) -> None:
    bound = index.using(vectors=rerank.Vectors.learn(index, dimensions=8), encoder=letters)
    model = unsupervised_model(bound)
    assert set(SCORES) <= set(model.feature_names_)
    assert str(default_candidates(bound)) == "bm25:1000,rm3:1000,lsi:200"
    assert len(rerank.rerank(bound, model, collection.topics)) == len(collection.topics)


def letters(texts: list[str]) -> np.ndarray:
    return np.array([[text.count(letter) + 1.0 for letter in "aeinrst"] for text in texts])


def test_unsupervised_ranking_of_an_index_without_positions_leaves_them_out(
    index: rerank.Index, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", "rerank")
    unsupervised_model(index)
    assert "without lsi_200.contents (`rerank vectors`)" in caplog.text
    fields = index.forward.fields
    monkeypatch.setitem(fields, "contents", replace(fields["contents"], positions=None))
    assert "sdm.contents" not in unsupervised_model(index).feature_names_


def test_unsupervised_ranking_is_stored_and_explained(index: rerank.Index, collection: Tiny, tmp_path: Path) -> None:
    model = unsupervised_model(index)
    model.save(tmp_path / "model.json")
    first = rerank.rerank(index, tmp_path / "model.json", collection.topics)
    again = rerank.rerank(index, "unsupervised", collection.topics)
    np.testing.assert_array_equal(first.scores, again.scores)
    query = next(iter(collection.topics))
    explained = rerank.explain(index, "unsupervised", collection.topics, query, tuple(list(first[query])[:2]))
    assert {feature.name for feature in explained.features if feature.difference} <= set(SCORES)
    with pytest.raises(InvalidInputError, match="unsupervised: expected a ranker that can be trained"):
        read_model(tmp_path / "model.json").fit(None)


def test_unsupervised_ranking_takes_other_candidates_and_texts(index: rerank.Index, collection: Tiny) -> None:
    query = next(iter(collection.topics))
    bm25 = index.search(collection.topics, k=10)
    run = rerank.rerank(index, "unsupervised", collection.topics, bm25)
    assert {each: set(run[each]) for each in run} == {each: set(bm25[each]) for each in bm25}
    texts = [collection.topics[query], "nothing of it", collection.topics[query] + " and more words"]
    assert TextReranker(index).order(collection.topics[query], texts)[-1][0] == 1
