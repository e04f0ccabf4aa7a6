"""The tiny collection and its index, as fixtures of the packages that import them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import rerank
from tests.tiny import Tiny, tiny


@pytest.fixture(scope="session")
def collection() -> Tiny:
    return tiny()


@pytest.fixture(scope="session")
def index(collection: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    with rerank.Index.build(collection.documents, tmp_path_factory.mktemp("tiny") / "index") as built:
        yield built


@pytest.fixture(scope="session")
def other_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rerank.Index]:
    with rerank.Index.build(tiny(seed=1, n_docs=100).documents, tmp_path_factory.mktemp("tiny") / "other") as built:
        yield built
