"""Requests that cannot be answered: one shape of error, the right status, and nothing of the machine in it."""

from __future__ import annotations

import gc
import json
import logging
import socket
import struct
import time
from contextlib import suppress
from typing import Any

import pytest

from rerank.service.settings import STATUSES
from tests.service.server import Running, bound_socket

SHAPE = {"status", "place", "expected", "found", "remedy"}
DEEP = b'{"query":' + b"[" * 2_000 + b"]" * 2_000 + b"}"
BODIES = [
    (b"", 400, "body"),
    (b"{", 400, "body"),
    (b"\xff\xfe{}", 400, "body"),
    (b'{"query": "a", "k": 1e999}', 400, "body"),
    (b'{"query": "a", "k": ' + b"9" * 5000 + b"}", 400, "body"),
    (b'{"query": "a", "k": NaN}', 400, "body"),
    (DEEP[:150_000], 400, "body"),
    (b"[]", 422, "body"),
    (b'"text"', 422, "body"),
    (b"{}", 422, "body"),
    (b'{"query": ""}', 422, "body.query"),
    (b'{"query": " \\n"}', 422, "body.query"),
    (b'{"query": 3}', 422, "body.query"),
    (b'{"query": "\\ud800"}', 400, "body"),
    (b'{"query": "a\\u0000b"}', 422, "body.query"),
    (b'{"query": "' + b"a" * 5000 + b'"}', 422, "body.query"),
    (b'{"query": "a", "queries": ["b"]}', 422, "body"),
    (b'{"queries": []}', 422, "body.queries"),
    (b'{"queries": ["a", 1]}', 422, "body.queries[1]"),
    (b'{"queries": {"a b": "x"}}', 422, "body.queries"),
    (b'{"queries": [' + b'"a",' * 32 + b'"a"]}', 422, "body.queries"),
    (b'{"query": "a", "k": 0}', 422, "body.k"),
    (b'{"query": "a", "k": 101}', 422, "body.k"),
    (b'{"query": "a", "k": 1.5}', 422, "body.k"),
    (b'{"query": "a", "k": true}', 422, "body.k"),
    (b'{"query": "a", "k": 20, "candidates": 10}', 422, "body.candidates"),
    (b'{"query": "a", "kk": 1}', 422, "body"),
    (b'{"query": "a", "fields": ["titel"]}', 422, "body.fields[0]"),
    (b'{"query": "a", "fields": "title"}', 422, "body.fields"),
    (b'{"query": "a", "explain": 1}', 422, "body.explain"),
    (b'{"query": "a", "explain": true, "model": "bm25"}', 422, "body.explain"),
    (b'{"query": "a", "model": "modle"}', 404, "body.model"),
]
RERANK_BODIES: list[tuple[Any, int, str]] = [
    ({"query": "a"}, 422, "body"),
    ({"query": "a", "documents": []}, 422, "body.documents"),
    ({"query": "a", "documents": "a"}, 422, "body.documents"),
    ({"query": "a", "documents": [1]}, 422, "body.documents[0]"),
    ({"query": "a", "documents": ["a", None]}, 422, "body.documents[1]"),
    ({"query": "a", "documents": ["a"], "texts": ["a"]}, 422, "body"),
    ({"query": "a", "texts": [{"text": "a"}]}, 422, "body.texts[0]"),
    ({"documents": ["a"]}, 422, "body"),
    ({"query": "a", "documents": ["a"] * 101}, 413, "body.documents"),
    ({"query": "a", "documents": ["a"], "top_n": 0}, 422, "body.top_n"),
    ({"query": "a", "documents": ["a"], "topn": 1}, 422, "body"),
    ({"query": "a", "documents": ["a\0"]}, 422, "body.documents[0]"),
    ({"query": "a", "documents": [{}]}, 422, "body.documents[0].id"),
    ({"query": "a", "documents": [{"id": "d1"}, "a"]}, 422, "body.documents[1]"),
    ({"query": "a", "documents": [{"id": "d1"}, {"id": "d1"}]}, 422, "body.documents[1].id"),
    ({"query": "a", "documents": [{"id": "nothing"}]}, 404, "body.documents[0].id"),
    ({"query": "a", "documents": [{"id": []}]}, 422, "body.documents[0].id"),
    ({"query": "a", "documents": [{"text": 1}]}, 422, "body.documents[0]"),
    ({"query": "a", "documents": [{"url": "x"}]}, 422, "body.documents[0]"),
    ({"query": "a", "documents": ["a", {"title": 1}]}, 422, "body.documents[1]"),
    ({"query": "a", "documents": ["a"], "model": "other"}, 404, "body.model"),
    ({"query": "a", "documents": [{"id": "x" * 5000}]}, 404, "body.documents[0].id"),
]


def _check(answer: Any, status: int, server: Running) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert status in STATUSES
    body = answer.json()
    assert set(body) == {"message", "error", "request_id"}
    assert set(body["error"]) == SHAPE
    assert body["error"]["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    for private in (str(server.service.settings.index), "Traceback", "rerank/", "/tmp", ".py"):
        assert private not in answer.text
    assert "\n" not in body["message"]
    return body["error"]


@pytest.mark.parametrize(("body", "status", "place"), BODIES, ids=range(len(BODIES)))
def test_search_refuses_a_body_that_cannot_be_used(server: Running, body: bytes, status: int, place: str) -> None:
    answer = server.client.post("/search", content=body, headers={"Content-Type": "application/json"})
    assert _check(answer, status, server)["place"] == place


@pytest.mark.parametrize(("body", "status", "place"), RERANK_BODIES, ids=range(len(RERANK_BODIES)))
def test_rerank_refuses_a_body_that_cannot_be_used(server: Running, body: Any, status: int, place: str) -> None:
    content = json.dumps(body).encode()
    answer = server.client.post("/rerank", content=content, headers={"Content-Type": "application/json"})
    assert _check(answer, status, server)["place"] == place


def test_an_unknown_name_is_quoted_whole(server: Running) -> None:
    for body in ({"query": "a", "model": "a. b"}, {"query": "a", "fields": ["a. b"]}):
        error = server.post("/search", body).json()["error"]
        assert (error["expected"], error["found"]) == ("a known name", "'a. b'")
        assert error["remedy"].startswith("Known: ")


@pytest.mark.parametrize("path", ["/search", "/rerank", "/events", "/models", "/v1/models", "/health", "/ready"])
def test_parameters_that_a_path_does_not_have_are_refused(server: Running, path: str) -> None:
    posted = path in ("/search", "/rerank", "/events")
    answer = server.client.request("POST" if posted else "GET", f"{path}?top_n=1", json={} if posted else None)
    assert _check(answer, 422, server)["place"] == "query.top_n"


@pytest.mark.parametrize("depth", [400, 600, 970, 1021, 90_000])
def test_values_that_are_nested_are_answered_or_refused(server: Running, depth: int) -> None:
    nested = b"[" * depth + b"]" * depth
    content = b'{"query": "a", "documents": [{"text": "a", "more": %b}]}' % nested
    answer = server.client.post("/rerank", content=content, headers={"Content-Type": "application/json"})
    if depth < 500:
        assert answer.content.count(b"[") > depth
    else:
        assert _check(answer, 400, server)["place"] == "body"


def test_body_whose_length_is_said_twice_is_refused_and_its_connection_closed(server: Running) -> None:
    twice = {"Content-Type": "application/json", "Content-Length": "2", "Transfer-Encoding": "chunked"}
    answer, _ = raw(server.port, _head("/search", twice) + b"2\r\n{}\r\n0\r\n\r\n" + _head("/health", {}), False)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1


def test_other_paths_methods_and_types_are_refused(server: Running) -> None:
    _check(server.client.get("/nothing"), 404, server)
    _check(server.client.get("/page/../../etc/passwd"), 404, server)
    assert _check(server.client.get("/search?q=amber"), 405, server)["place"] == "method"
    answer = server.client.get("/search")
    assert _check(answer, 405, server)["place"] == "method"
    assert "POST" in answer.headers["allow"]
    _check(server.client.request("DELETE", "/models"), 405, server)
    _check(server.client.post("/search", content=b"{}", headers={"Content-Type": "text/plain"}), 415, server)
    _check(server.client.post("/search", content=b"{}"), 415, server)
    gzip = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    _check(server.client.post("/search", content=b"{}", headers=gzip), 415, server)


def test_a_large_body_is_refused_before_it_is_read(server: Running) -> None:
    declared = {"Content-Type": "application/json", "Content-Length": "1000000000"}
    answer, seconds = raw(server.port, _head("/search", declared))
    assert answer.startswith(b"HTTP/1.1 413")
    assert seconds < 2.0
    parts = [b"x" * 50_000] * 6
    chunked = server.client.post("/search", content=iter(parts), headers={"Content-Type": "application/json"})
    assert chunked.status_code == 413


def test_a_foreign_host_is_refused(server: Running) -> None:
    for host in ("example.org", "example.org:80", "127.0.0.1.example.org", ""):
        _check(server.client.get("/models", headers={"Host": host}), 421, server)
    for host in ("localhost", f"127.0.0.1:{server.port}", "[::1]:80", "LOCALHOST"):
        assert server.client.get("/models", headers={"Host": host}).status_code == 200


def test_request_ids_are_taken_from_the_client_where_they_are_ids(server: Running) -> None:
    assert server.client.get("/health", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for given in ("a b", "x" * 65, "<script>", "-a", "é".encode("latin-1")):
        own = server.client.get("/health", headers={"X-Request-Id": given}).headers["x-request-id"]
        assert own != given
        assert own.isalnum()


def test_answers_have_the_headers_that_browsers_need(server: Running) -> None:
    for path in ("/", "/page.js", "/page.css", "/health", "/nothing"):
        headers = server.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers


def _head(path: str, headers: dict[str, str], method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def raw(port: int, sent: bytes, closes: bool = True) -> tuple[bytes, float]:
    """Send bytes, and return what comes until the server closes the connection, and the seconds until then.

    closes  whether this side closes it after an error
    """
    start, parts = time.perf_counter(), []
    # the server resets connections that are slow or still send a refused request: callers check what it answered
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, suppress(ConnectionError):
        connection.sendall(sent)
        while part := connection.recv(65536):
            parts.append(part)
            if closes and b"\r\n\r\n" in b"".join(parts):
                break
    return b"".join(parts), time.perf_counter() - start


@pytest.mark.parametrize(
    "sent",
    [
        b"\x00\x01\x02\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1, 2\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: other\r\n\r\n",
        b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 1_000_000 + b"\r\n\r\n",
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_not_http_is_answered_with_400(server: Running, sent: bytes) -> None:
    answer, seconds = raw(server.port, sent)
    assert answer.split(b" ")[1] in (b"400", b"421"), answer[:200]
    assert seconds < 5.0


def test_a_slow_body_loses_its_connection(server: Running) -> None:
    half = _head("/search", {"Content-Type": "application/json", "Content-Length": "100"}) + b"{"
    answer, seconds = raw(server.port, half, closes=False)
    assert seconds < 8.0
    assert answer.startswith(b"HTTP/1.1 408")
    assert server.client.get("/health").status_code == 200


def test_requests_on_one_connection_are_answered_in_order(server: Running) -> None:
    one = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(one % b"health" + one % b"nothing" + one % b"ready")
        got = b""
        while got.count(b"HTTP/1.1") < 3 or not got.endswith(b"}"):
            got += connection.recv(65536)
    assert [part.split()[0] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200"]


def test_an_offered_upgrade_is_not_taken(server: Running) -> None:
    body = b'{"query": "amber", "k": 1}'
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABk"}
    length = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    whole = _head("/search", {**offer, **length}) + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        for _ in range(2):
            for part in (whole[:40], whole[40:-5], whole[-5:]):
                connection.sendall(part)
                time.sleep(0.01)
            answer = b""
            while not answer.endswith(b"}]}"):
                answer += connection.recv(65536)
            assert answer.startswith(b"HTTP/1.1 200")


def test_clients_that_break_off_leave_no_trace(server: Running, caplog: pytest.LogCaptureFixture) -> None:
    body = b'{"query": "amber", "documents": [{"id": "nothing"}]}'
    whole = _head("/rerank", {"Content-Type": "application/json", "Content-Length": str(len(body))}) + body
    reset = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection
    for sent in (whole, whole[:-5], b"\x00\r\n\r\n", b"GET /" + b"x" * 300_000, whole * 3):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
                connection.sendall(sent)
    assert server.client.get("/health").status_code == 200
    time.sleep(0.2)
    gc.collect()  # a task's error that nobody took is logged when the task is collected
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


def test_answers_do_not_wait_for_acknowledgements() -> None:
    with bound_socket("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY only then
