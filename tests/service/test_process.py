"""`rerank serve` as a process: workers, signals, a new model, the token."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rerank
from tests.service.server import httpx
from tests.tiny import Tiny

pytestmark = pytest.mark.slow("105 s: processes")

_CONNECTS_WHEN_READY = """
import logging, os, re, socket

class Connect(logging.Handler):
    def emit(self, record):
        message = record.getMessage()
        if match := re.search(r"listening on http://127.0.0.1:([0-9]+)/", message):
            os.environ["TEST_PORT"] = match[1]  # workers inherit it
        if message.startswith("ready after"):
            socket.create_connection(("127.0.0.1", int(os.environ["TEST_PORT"]))).close()

logging.getLogger("rerank").addHandler(Connect())
"""


class Process:
    """The command, its address, and its log so far."""

    def __init__(self, *arguments: object) -> None:
        command = [sys.executable, "-m", "rerank", "serve", *map(str, arguments), "--port", "0"]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.lines.append(line)

    @property
    def log(self) -> str:
        """What it wrote."""
        return "".join(self.lines)

    def wait(self, pattern: str, seconds: float = 120.0) -> re.Match[str]:
        """Return the match of a pattern in the log as soon as there is one."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if match := re.search(pattern, self.log):
                return match
            assert self.child.poll() is None, self.log
            time.sleep(0.02)
        raise AssertionError(self.log)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and return the exit code."""
        self.child.send_signal(number)
        code = self.child.wait(60)
        self._reader.join(10)
        return code


@contextmanager
def process(*arguments: object) -> Iterator[tuple[Process, Any]]:
    """Run the command until the block ends; yield it and a client."""
    started = Process(*arguments)
    try:
        address = started.wait(r"listening on (http://\S+/)")[1]
        with httpx.Client(base_url=address, timeout=60) as client:
            yield started, client
    finally:
        if started.child.poll() is None:
            started.child.send_signal(signal.SIGTERM)
            try:
                started.child.wait(30)
            except subprocess.TimeoutExpired:
                started.child.kill()


def _order(client: Any) -> list[str]:
    answer = client.post("/search", json={"query": "amber stone", "k": 50, "candidates": 50})
    return [answer.text] if answer.status_code != 200 else [hit["id"] for hit in answer.json()["results"][0]["hits"]]


class Load:
    """Four threads that search until the block ends, each time on a connection of its own."""

    def __init__(self, address: Any) -> None:
        self.orders: list[list[str]] = []
        self.lost = 0
        self._address, self._ends = address, threading.Event()
        self._threads = [threading.Thread(target=self._search) for _ in range(4)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _search(self) -> None:
        while not self._ends.wait(0.01):  # a worker that starts needs a processor, too
            try:
                with httpx.Client(base_url=self._address, timeout=60, verify=False) as client:
                    self.orders.append(_order(client))
            except httpx.TransportError:
                self.lost += 1


def test_a_killed_worker_comes_back_and_others_answer(index: rerank.Index, model_file: Path) -> None:
    with process(index.path, model_file, "--workers", 2) as (started, client):
        started.wait(r"(?s): ready after.*: ready after")
        expected, children = _order(client), _children(started.child.pid)
        assert len(children) == 2
        with Load(client.base_url) as load:
            time.sleep(0.5)
            os.kill(children[0], signal.SIGKILL)
            started.wait(r"worker \d+ has ended")
            before = len(load.orders)
            started.wait(r"(?s)worker \d+ has ended.*: ready after")
        assert all(order == expected for order in load.orders)
        assert len(load.orders) > before  # the other worker went on
        assert load.lost <= 4  # what the killed worker had taken
        assert "rerank_ready_workers 2.0\n" in client.get("/metrics").text
        before_reload = set(_children(started.child.pid))
        started.child.send_signal(signal.SIGHUP)  # each is replaced when its successor is ready
        started.wait(r"(?s)(: ready after.*){5}")
        while len(children := _children(started.child.pid)) != 2:
            time.sleep(0.05)
        assert before_reload.isdisjoint(children)
        with httpx.Client(base_url=client.base_url, timeout=60) as own:
            assert _order(own) == expected
        assert started.end() == 0
    assert "Traceback" not in started.log


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_ends_or_hangs_is_replaced_and_no_signal_waits_for_it(
    number: int, index: rerank.Index, model_file: Path
) -> None:
    with process(index.path, model_file, "--workers", 2) as (started, client):
        started.wait(r"(?s): ready after.*: ready after")
        time.sleep(1.5)  # the supervisor knows it
        children = _children(started.child.pid)
        with Load(client.base_url):
            os.kill(children[0], number)
            begin = time.monotonic()
            started.wait(rf"worker {children[0]} (has ended|hangs) and is replaced")
            assert time.monotonic() - begin < 2.0
            os.kill(children[1], number)
            begin = time.monotonic()
            assert started.end() == 0
            assert time.monotonic() - begin < 5.0
        assert _children(started.child.pid) == []
    assert "Traceback" not in started.log


def test_workers_take_connections_when_they_say_so_and_ctrl_c_ends_all(index: rerank.Index, tmp_path: Path) -> None:
    functions = tmp_path / "functions.py"
    functions.write_text(_CONNECTS_WHEN_READY)
    with process(index.path, "--workers", 2, "--functions", functions) as (started, _):
        started.wait(r"(?s): ready after.*: ready after")
        children = _children(started.child.pid)
        started.child.send_signal(signal.SIGINT)
        for child in children:  # the terminal sends it to all processes
            os.kill(child, signal.SIGINT)
        assert started.child.wait(60) == 130
        assert [child for child in children if Path(f"/proc/{child}").exists()] == []
    assert "Traceback" not in started.log


def test_sigterm_finishes_what_runs(index: rerank.Index, model_file: Path) -> None:
    texts = [f"amber stone {number} " * 50 for number in range(1000)]
    body = json.dumps({"query": "amber stone", "documents": texts}).encode()
    head = (
        "POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with process(index.path, model_file) as (started, client):
        started.wait(": ready")
        with socket.create_connection(("127.0.0.1", client.base_url.port), timeout=60) as connection:
            connection.sendall(head.encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 100 ")  # the service reads the body: the request runs
            connection.sendall(body)
            started.child.send_signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert started.child.wait(60) == 0
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert len(json.loads(answer.partition(b"\r\n\r\n")[2])["results"]) == 1000
    assert "Traceback" not in started.log


def test_a_new_model_is_taken_up_and_a_broken_one_refused(
    index: rerank.Index, model_file: Path, collection: Tiny, tmp_path: Path
) -> None:
    served = tmp_path / "served.json"
    shutil.copy(model_file, served)
    data = index.features(index.search(collection.topics, k=50), collection.topics, collection.qrels)
    other = rerank.LogisticRegression().fit(data)
    query = {"q": "amber stone"}
    old, new = (list(rerank.rerank(index, model, query, k=50)["q"]) for model in (rerank.read_model(model_file), other))
    assert old != new
    with process(index.path, served) as (started, client):
        started.wait(": ready")
        assert _order(client) == old
        served.write_text("{}")
        started.wait("the new model is refused; the old one stays in use")
        assert _order(client) == old
        other.save(tmp_path / "new.json")
        os.replace(tmp_path / "new.json", served)
        started.wait("the new model is in use")
        assert _order(client) == new
        shutil.copy(model_file, tmp_path / "again.json")
        os.replace(tmp_path / "again.json", served)
        started.child.send_signal(signal.SIGHUP)
        started.wait(r"(?s)the new model is in use.*the new model is in use")
        assert _order(client) == old
        assert 'rerank_reloads_total{result="refused"} 1' in client.get("/metrics").text
    assert "Traceback" not in started.log


def test_queries_are_logged_as_files_that_features_reads(index: rerank.Index, model_file: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with process(index.path, model_file, "--log", f"features:{log}") as (started, client):
        started.wait(": ready")
        for number, query in enumerate(["amber stone", "cedar\triver\n\x1fgrove", "zzzz"]):
            answer = client.post(
                "/search", json={"query": query, "candidates": 20}, headers={"X-Request-Id": f"r{number}"}
            )
            assert answer.status_code == 200
        client.post("/search", json={"queries": {"a": "birch", "b": "delta"}, "model": "bm25"})
        for query in ("amber", "cedar"):  # an id that a client repeats
            client.post("/search", json={"query": query, "model": "bm25"}, headers={"X-Request-Id": "again"})
        assert started.end() == 0
    assert "amber" not in started.log
    topics = rerank.read_topics(log / "topics.tsv")
    named = {name.split("-")[0]: name for name in topics if name.startswith("r")}
    assert [topics[named[f"r{number}"]] for number in range(3)] == ["amber stone", "cedar river grove", "zzzz"]
    assert len(topics) == 7
    run = rerank.read_run(log / "candidates.run")
    (features,) = log.glob("features-*.svm")
    logged = rerank.read_data(features)
    assert logged.query_ids.tolist() == [named["r0"], named["r1"]]
    expected = index.features({named[name]: run[named[name]] for name in ("r0", "r1")}, topics)
    assert logged.feature_names == expected.feature_names
    assert logged.doc_ids.tolist() == expected.doc_ids.tolist()
    assert logged.X.tobytes() == expected.X.tobytes()


def refused(*arguments: object) -> str:
    """Return the line with which the service refuses to start."""
    command = [sys.executable, "-m", "rerank", "serve", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


def test_files_that_are_missing_are_refused_before_the_service_listens(index: rerank.Index, tmp_path: Path) -> None:
    assert "none.json" in refused(index.path, tmp_path / "none.json")


def test_service_takes_connections_when_it_says_that_it_is_ready(index: rerank.Index, tmp_path: Path) -> None:
    functions = tmp_path / "functions.py"
    functions.write_text(_CONNECTS_WHEN_READY)
    with process(index.path, "--functions", functions) as (started, client):
        started.wait(": ready after")
        assert client.get("/ready").status_code == 200
        assert started.end() == 0
    assert "Traceback" not in started.log


def test_another_address_needs_a_token(index: rerank.Index, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    assert "--token-file" in refused(index.path, "--host", "0.0.0.0")
    assert "expected INDEX [MODEL ...] or --model MODEL, got neither" in refused()
    assert "expected a model file" in refused(index.path, tmp_path / "none.json")
    assert "expected a folder with a Lucene index" in refused(tmp_path / "none")
    assert "expected an address of this machine" in refused(index.path, "--host", "127.0.0.1.x.invalid")
    assert "expected an address of this machine" in refused(index.path, "--host", "127.0.0.1.x.invalid", "--no-token")
    with process(index.path, "--host", "0.0.0.0", "--token-file", token) as (started, client):
        started.wait(": ready")
        assert client.get("/health").status_code == 200
        assert client.get("/").status_code == 200
        for headers in (
            {},
            {"Authorization": "Bearer other"},
            {"Authorization": "s3cret"},
            {"Authorization": "bearer s3cre"},
        ):
            answer = client.post("/search", json={"query": "amber"}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["place"]) == (401, "header Authorization")
            assert client.get("/metrics", headers=headers).status_code == 401
        answer = client.post("/search", json={"query": "amber"}, headers={"Authorization": "Bearer s3cret"})
        assert answer.status_code == 200
        assert json.dumps(answer.json()).count("amber") == 1
        assert started.end(signal.SIGINT) == 130
        assert "s3cret" not in started.log
        assert "Traceback" not in started.log


def _children(parent: int) -> list[int]:
    """Return the worker processes of a supervisor."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                command = (folder / "cmdline").read_text()
            except OSError:
                continue
            if int(fields[1]) == parent and "spawn_main" in command:
                found.append(int(folder.name))
    return sorted(found)
