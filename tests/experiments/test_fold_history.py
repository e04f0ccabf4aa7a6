"""Learned features of a study: in each fold those of a history of its training queries, and of nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.experiments.prepared import prepare
from rerank.experiments.study import Study
from rerank.features.recipe import Recipe
from rerank.training.folds import assign_folds
from rerank.types import Qrels, Topics
from tests.tiny import Tiny

RECIPES = {
    "default": None,
    "normalised": Recipe(normalisation={"*": "zscore", "history.prior": "none"}),
    "some": Recipe(features=("history.*lsi*", "bm25.title", "history.prior")),
}


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("with_vectors", [False, True])
def test_features_of_a_fold_are_those_of_a_history_of_its_training_queries(
    index: rerank.Index, collection: Tiny, with_vectors: bool, name: str
) -> None:
    if name == "some" and not with_vectors:
        pytest.skip("its features need vectors")
    if with_vectors:
        index = index.using(vectors=rerank.Vectors.learn(index, dimensions=8))
    folds = assign_folds(collection.topics, 5, 0)
    topics, qrels = Topics.of(collection.topics), Qrels.of(collection.qrels)
    study = Study(recipe=RECIPES[name], base="run", candidates="bm25", k=20)
    trains = [[query_id for query_id in topics if folds[query_id] != fold] for fold in range(5)]
    with prepare(index, topics, qrels, study) as prepared:
        data_of = prepared.of_folds(trains)
    run = index.search(topics, 20)
    for fold in (3, 0, 4, 1, 2):
        some = set(trains[fold])
        learned = rerank.History.learn(index, topics, qrels).of_queries(some)
        expected = index.using(history=learned).features(run, topics, qrels, recipe=study.recipe)
        data = data_of(fold).data
        assert data.feature_names == expected.feature_names
        assert any("lsi.gap" in feature for feature in data.feature_names) == with_vectors
        np.testing.assert_array_equal(data.X, expected.X)
        assert data.recipe == {**(expected.recipe or {}), "history": learned.checksum}


def test_features_of_a_fold_may_stand_beside_those_of_an_encoder(index: rerank.Index, collection: Tiny) -> None:
    def encode(texts: list[str]) -> list[list[float]]:
        return [[1.0 + text.count(letter) for letter in "aeiou"] for text in texts]

    study = Study(candidates="bm25", k=20)
    folds = assign_folds(collection.topics, 3, 0)
    with prepare(index.using(encoder=encode, threads=1), collection.topics, collection.qrels, study) as prepared:
        data_of = prepared.of_folds([[name for name in folds if folds[name] != fold] for fold in range(3)])
    assert {"encoder.cosine", "history.prior"} <= set(data_of(1).data.feature_names)
