"""What a client can make the service hold in memory or compute is bounded, with and without a token."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings as examples, strategies as st

import rerank
from rerank.service.bodies import Rerank, RerankJob, Search, SearchJob
from rerank.service.engine import Engine
from tests.service.server import LIMITS, Running, running

if TYPE_CHECKING:
    from rerank.service.settings import Settings

CHUNKED = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
TRAILERS = b"".join(b"x%d: %b\r\n" % (number, b"y" * 100) for number in range(100))
ENDLESS = {
    "request line": (b"GET /", b"y" * 10_000),
    "headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\n", TRAILERS),
    "short headers": (b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"x:y\r\n" * 1000),
    "extension of a chunk": (CHUNKED % b"application/json" + b"2;", b"y" * 10_000),
    "trailers": (CHUNKED % b"application/json" + b"2\r\n{}\r\n0\r\n", TRAILERS),
    "trailers after the answer": (CHUNKED % b"text/plain" + b"2\r\n{}\r\n0\r\n", TRAILERS),
}


def _sent_until_refused(port: int, head: bytes, block: bytes, most: int = 4_000_000) -> tuple[int, bytes]:
    """Return how many bytes the service takes before it answers or closes, and its answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        sent, answer = 0, b""
        connection.sendall(head)
        while sent < most:
            try:
                sent += connection.send(block)
                if select.select([connection], [], [], 0.01)[0]:
                    part = connection.recv(65536)
                    answer += part
                    if not part or answer.startswith(b"HTTP/1.1 400"):
                        break
            except ConnectionError:
                break
        return sent, answer


@pytest.fixture(scope="module")
def guarded(settings: Settings) -> Iterator[Running]:
    with running(replace(settings, model=None, token="secret")) as started:
        yield started


@pytest.mark.parametrize("kind", ENDLESS)
def test_what_comes_before_the_token_is_checked_is_bounded(guarded: Running, kind: str) -> None:
    sent, answer = _sent_until_refused(guarded.port, *ENDLESS[kind])
    assert sent < 1_000_000
    if kind == "trailers after the answer":
        assert answer[9:12] in (b"401", b"415")
        assert answer.count(b"HTTP/1.1") == 1
    else:
        assert answer[9:12] in (b"400", b"401")
    assert guarded.client.get("/health").status_code == 200


def test_many_requests_at_once_on_one_connection_do_not_stop_others(guarded: Running) -> None:
    one = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    _sent_until_refused(guarded.port, b"", one * 1000, 1)
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=20) as connection:
        connection.sendall(one * 20)
        answers = b""
        while answers.count(b'"status":"ok"') < 20:
            answers += connection.recv(65536)
    assert guarded.client.get("/health").status_code == 200


@pytest.mark.parametrize(("place", "what"), [("body", "keys"), ("body.documents[0]", "entries")])
def test_objects_of_many_keys_are_refused(server: Running, place: str, what: str) -> None:
    many = {f"key{number}": 1 for number in range(10_000)}
    document = {"text": "amber", **many} if place != "body" else "amber"
    body = {"query": "amber", "documents": [document], **(many if place == "body" else {})}
    answer = server.post("/rerank", body)
    assert answer.status_code == 422
    assert answer.json()["message"].startswith(f"{place}: expected at most 256 {what}, got 100")


def test_an_answer_of_large_documents_is_refused_with_the_remedy(settings: Settings, index: rerank.Index) -> None:
    ids = list(index.search({"q": "amber"}, k=60)["q"])
    with running(replace(settings, limits=replace(LIMITS, answer_bytes=3000))) as server:
        search = {"query": "amber", "k": 100, "candidates": 100, "fields": ["title", "body"]}
        given: list[tuple[str, dict[str, Any], str]] = [
            ("/search", search, "body.fields"),
            ("/search", {**search, "model": "bm25", "highlight": True}, "body.fields"),
            (
                "/rerank",
                {"query": "amber", "documents": [{"id": doc_id} for doc_id in ids]},
                "body.return_documents",
            ),
            (  # 1686 letters
                "/rerank",
                {"query": "amber", "documents": ["amber " + 80 * ("ü" * 20 + " ")], "return_passages": True},
                "body.return_passages",
            ),
        ]
        for path, body, place in given:
            refused = server.post(path, body)
            assert refused.status_code == 413
            assert refused.json()["message"] == (
                f"{place}: expected documents of at most 3000 bytes, got more. "
                "Ask for fewer documents, or for an excerpt of each."
            )
        assert server.post("/search", {**search, "k": 2}).status_code == 200
        assert server.post("/search", {**search, "fields": ["title"], "excerpt": 5, "k": 20}).status_code == 200
        assert server.post("/rerank", {**given[2][1], "return_documents": False}).status_code == 200
        assert server.post("/rerank", {**given[2][1], "top_n": 1}).status_code == 200


def test_what_nobody_waits_for_is_not_computed(settings: Settings) -> None:
    engine = Engine(settings)
    engine.open()
    jobs = [
        SearchJob(Search(query="amber"), ("model",), queries={"q": "amber"}),
        RerankJob(Rerank(query="amber", documents=["amber"]), ("model",), documents=["amber"]),
        RerankJob(Rerank(query="amber", documents=[{"id": "d1"}]), ("model",), doc_ids=["d1"]),
    ]
    for job in jobs:
        job.deadline = 0.0
    engine.answer(jobs)
    engine.close()
    assert [(job.answer, getattr(job.fault, "status_code", None)) for job in jobs] == [(None, 503)] * 3


LETTERS = st.sampled_from("\",\\{}[]:'a0é🙂\u2028\x7f\ufeff") | st.characters(exclude_categories=["Cs"])
ODD = st.text(LETTERS, min_size=1)


@examples(max_examples=3, deadline=None)
@given(st.data())
def test_ids_and_texts_of_any_characters_are_answered_as_json(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    drawn = data.draw(st.lists(st.tuples(ODD, ODD), min_size=10, max_size=40))
    pairs = {"".join(doc_id.split()): text.replace("\0", "") for doc_id, text in drawn}
    documents = {doc_id.replace("\0", "")[:40]: text for doc_id, text in {'a",': '",', 'b"': "\\", **pairs}.items()}
    documents = {doc_id: text for doc_id, text in documents.items() if doc_id and not doc_id.isspace()}
    folder = tmp_path_factory.mktemp("odd") / "index"
    entries = [{"id": doc_id, "body": f"amber {text}"} for doc_id, text in documents.items()]
    try:
        rerank.Index.build(entries, folder).close()
    except rerank.InvalidInputError:  # an id that an index cannot have
        return
    from rerank.service.settings import Settings as Made

    with running(Made(folder, limits=LIMITS)) as server:
        body = {"query": "amber", "k": 100, "candidates": 100, "fields": ["body"]}
        hits = json.loads(server.post("/search", body).content)["results"][0]["hits"]
        assert {hit["id"]: hit["fields"]["body"] for hit in hits} == {each["id"]: each["body"] for each in entries}
        plain = json.loads(server.post("/search", {**body, "fields": []}).content)["results"][0]["hits"]
        assert [hit["id"] for hit in plain] == [hit["id"] for hit in hits]
        texts = [text for text in documents.values() if text] or ["a"]
        ranked = json.loads(server.post("/rerank", {"query": "amber", "documents": texts}).content)["results"]
        assert {each["index"]: each["document"]["text"] for each in ranked} == dict(enumerate(texts))


def test_kept_connections_have_one_more_answer_at_the_end_which_says_so(settings: Any) -> None:
    with running(settings) as server, ExitStack() as stack:
        kept = [stack.enter_context(closing(HTTPConnection("127.0.0.1", server.port, timeout=20))) for _ in range(12)]
        for connection in kept:
            assert _health(connection) == (200, None)
        server.server.should_exit = True
        while not any(name == b"connection" for name, _ in server.server.server_state.default_headers):
            time.sleep(0.01)
        begin = time.monotonic()
        for connection in kept[1:]:
            assert _health(connection) == (200, "close")
        assert kept[0].sock.recv(1) == b""  # one that sends nothing is closed
        assert time.monotonic() - begin < 4.0


def _health(connection: HTTPConnection) -> tuple[int, str | None]:
    connection.request("GET", "/health")
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("Connection")
