"""The tiny collection, indexed once, and a model of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import rerank
from tests.workflows.tiny import Tiny, tiny


@pytest.fixture(scope="session")
def collection() -> Tiny:
    return tiny()


@pytest.fixture(scope="session")
def index(collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    with rerank.Index.build(collection.documents, tmp_path_factory.mktemp("plugins") / "index") as built:
        yield built


@pytest.fixture(scope="session")
def model_file(index: rerank.Index, collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
    path = tmp_path_factory.mktemp("plugins") / "model.json"
    rerank.LambdaMART(n_estimators=10, min_child_samples=5).fit(data).save(path)
    return path
