from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.recipe import Recipe
from tests.tiny import Tiny

CHEAP = Recipe(families=("letor", "run"), fields=("title",))


@pytest.fixture(scope="module")
def run(index: rerank.Index, collection: Tiny) -> rerank.Run:
    return index.search(collection.topics, k=50)


@pytest.fixture(scope="module")
def model(index: rerank.Index, collection: Tiny, run: rerank.Run) -> rerank.LambdaMART:
    return rerank.LambdaMART(n_estimators=10, min_child_samples=5).fit(
        index.features(run, collection.topics, collection.qrels)
    )


@pytest.fixture(scope="module")
def cheap(index: rerank.Index, collection: Tiny, run: rerank.Run) -> rerank.LogisticRegression:
    return rerank.LogisticRegression().fit(index.features(run, collection.topics, collection.qrels, recipe=CHEAP))


def _by_hand(
    index: rerank.Index, first: rerank.Ranker, second: rerank.Ranker, topics: dict[str, str], run: rerank.Run, k: int
) -> dict[str, list[str]]:
    """Return the documents of each query: the second model's order of the first's best k, then the first's order."""
    expected = {}
    ranked = first.rank(index.features(run, topics, recipe=CHEAP))
    for query_id in run:
        best = list(ranked[query_id])
        chosen = {query_id: {doc_id: score for doc_id, score in run[query_id].items() if doc_id in best[:k]}}
        expected[query_id] = list(second.rank(index.features(chosen, topics))[query_id]) + best[k:]
    return expected


@pytest.mark.parametrize("given", [False, True])
def test_two_stages_are_their_steps(
    index: rerank.Index,
    collection: Tiny,
    run: rerank.Run,
    model: rerank.LambdaMART,
    cheap: rerank.LogisticRegression,
    given: bool,
) -> None:
    done = rerank.rerank(index, model, collection.topics, run if given else None, k=7, first=cheap, first_k=50)
    expected = _by_hand(index, cheap, model, collection.topics, run, 7)
    assert {query_id: list(done[query_id]) for query_id in done} == expected
    assert any(expected[query_id][:7] != list(run[query_id])[:7] for query_id in run)
    assert all((np.diff(done.scores[done.rows(query_id)])[6:] < 0).all() for query_id in done)


def test_first_stage_changes_nothing_when_it_chooses_all(
    index: rerank.Index,
    collection: Tiny,
    run: rerank.Run,
    model: rerank.LambdaMART,
    cheap: rerank.LogisticRegression,
) -> None:
    done = rerank.rerank(index, model, collection.topics, k=50, first=cheap, first_k=50)
    expected = rerank.rerank(index, model, collection.topics, k=50)
    assert done.doc_ids.tolist() == expected.doc_ids.tolist()
    np.testing.assert_array_equal(done.scores, expected.scores)


def test_documents_below_the_depth_of_the_first_stage_follow_in_their_order(
    index: rerank.Index,
    collection: Tiny,
    run: rerank.Run,
    model: rerank.LambdaMART,
    cheap: rerank.LogisticRegression,
) -> None:
    done = rerank.rerank(index, model, collection.topics, run, k=3, first=cheap, first_k=10)
    top = rerank.rerank(index, model, collection.topics, run.head(10), k=3, first=cheap, first_k=10)
    for query_id in run:
        assert list(done[query_id])[:10] == list(top[query_id])
        assert list(done[query_id])[10:] == list(run[query_id])[10:]


def test_first_stage_chooses_among_the_documents_of_a_union(
    index: rerank.Index, collection: Tiny, model: rerank.LambdaMART, cheap: rerank.LogisticRegression
) -> None:
    whole = index.search(collection.topics, candidates="bm25:20,rm3:30")
    done = rerank.rerank(index, model, collection.topics, whole, k=5, first=cheap, first_k=1000)
    assert {query_id: set(done[query_id]) for query_id in done} == {
        query_id: set(whole[query_id]) for query_id in whole
    }
    best = cheap.rank(index.features(whole, collection.topics, recipe=CHEAP))
    assert all(set(list(done[query_id])[:5]) == set(list(best[query_id])[:5]) for query_id in done)


def test_first_stage_is_refused_when_it_does_not_fit(
    index: rerank.Index,
    other_index: rerank.Index,
    collection: Tiny,
    model: rerank.LambdaMART,
    cheap: rerank.LogisticRegression,
    tmp_path: Path,
) -> None:
    with pytest.raises(InvalidInputError, match="first_k: expected a model of the first stage, got none"):
        rerank.rerank(index, model, collection.topics, first_k=10)
    with pytest.raises(InvalidInputError, match=r"first_k: expected at least k, the 20 documents .*, got 10"):
        rerank.rerank(index, model, collection.topics, k=20, first=cheap, first_k=10)
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2
    bare = rerank.LogisticRegression().fit(X, y, qid=np.repeat(np.arange(6), 10))
    bare.save(tmp_path / "bare.json")
    with pytest.raises(ModelMismatchError, match=r"first stage: model: expected the recipe of its features, got none"):
        rerank.rerank(index, model, collection.topics, first=tmp_path / "bare.json")
    data = other_index.features(other_index.search(collection.topics, k=9), collection.topics, collection.qrels)
    other = rerank.LogisticRegression().fit(data)
    with pytest.raises(ModelMismatchError, match=r"^first stage: .*expected the index that the model was trained on"):
        rerank.rerank(index, model, collection.topics, first=other)
