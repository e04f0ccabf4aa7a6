"""The tiny collection and its index, as other tests have them, and a model of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import rerank
from tests.indexed import collection, index  # noqa: F401
from tests.tiny import Tiny, more_queries


@pytest.fixture(scope="session")
def model_file(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
    path = tmp_path_factory.mktemp("plugins") / "model.json"
    rerank.LambdaMART(n_estimators=10, num_leaves=8, min_child_samples=5).fit(data).save(path)
    return path


@pytest.fixture(scope="session")
def calibrated_file(
    index: rerank.Index,  # noqa: F811
    collection: Tiny,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    topics, qrels = more_queries(collection)
    learner = rerank.LambdaMART(n_estimators=5, min_child_samples=5, num_leaves=4)
    path = tmp_path_factory.mktemp("plugins") / "calibrated.json"
    rerank.train(index, topics, qrels, learner, candidates="bm25", k=40).model.save(path)
    return path
