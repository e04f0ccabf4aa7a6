"""Clients of other services, unchanged: each test is skipped where its client is not installed.

`tests/checks/plugins.py` installs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.service.server import Running, running

if TYPE_CHECKING:
    from rerank.service.settings import Settings

TEXTS = ["stone river", "amber amber", "amber cedar"]
QUERY = "amber"


@pytest.fixture(scope="module")
def server(settings: Settings, calibrated_file: Path) -> Iterator[Running]:
    """A service of a calibrated model, whose relevance_score is a number."""
    with running(replace(settings, model=calibrated_file, model_names=("model",))) as started:
        yield started


@pytest.fixture
def expected(server: Running) -> list[tuple[int, float]]:
    results = server.post("/rerank", {"query": QUERY, "documents": TEXTS}).json()["results"]
    return [(each["index"], each["relevance_score"]) for each in results]


def _url(server: Running) -> str:
    return f"http://127.0.0.1:{server.port}"


@pytest.mark.parametrize("name", ["Client", "ClientV2"])
def test_cohere_reranks(server: Running, expected: list[tuple[int, float]], name: str) -> None:
    cohere = pytest.importorskip("cohere")
    client = getattr(cohere, name)(api_key="none", base_url=_url(server))
    answer = client.rerank(model="model", query=QUERY, documents=TEXTS)
    assert [(each.index, each.relevance_score) for each in answer.results] == expected
    assert len(client.rerank(model="model", query=QUERY, documents=TEXTS, top_n=2).results) == 2
    with pytest.raises(cohere.NotFoundError) as refused:
        client.rerank(model="other", query=QUERY, documents=TEXTS)
    assert refused.value.body["error"]["place"] == "body.model"


def test_cohere_takes_documents_with_texts_and_returns_them(server: Running, expected: list[tuple[int, float]]) -> None:
    cohere = pytest.importorskip("cohere")
    client = cohere.Client(api_key="none", base_url=_url(server))
    documents: list[Any] = [{"text": text} for text in TEXTS]
    answer = client.rerank(model="model", query=QUERY, documents=documents, return_documents=True)
    assert [each.document.text for each in answer.results] == [TEXTS[number] for number, _ in expected]


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ("cohere", "/v1/rerank"),
        ("jina", "/v1/rerank"),
        ("voyage", "/v1/rerank"),
        ("text-embeddings-inference", "/rerank"),
    ],
)
def test_rerankers_api_rankers_rank(
    server: Running, expected: list[tuple[int, float]], provider: str, path: str
) -> None:
    rankers = pytest.importorskip("rerankers.models.api_rankers")
    ranked = rankers.APIRanker("model", "none", provider, url=_url(server) + path).rank(QUERY, TEXTS)
    assert [(each.document.doc_id, each.score) for each in ranked.results] == expected


def test_langchain_compresses_documents(server: Running, expected: list[tuple[int, float]]) -> None:
    langchain = pytest.importorskip("langchain_cohere")
    from langchain_core.documents import Document

    compressor = langchain.CohereRerank(model="model", cohere_api_key="none", base_url=_url(server), top_n=2)
    documents = compressor.compress_documents([Document(page_content=text) for text in TEXTS], QUERY)
    scores = [(TEXTS.index(each.page_content), each.metadata["relevance_score"]) for each in documents]
    assert scores == expected[:2]
