#!/usr/bin/env python3
"""The HTTP service beside the same work called from Python: latency, throughput, overload, a killed worker, a soak.

A real server process (`rerank serve`), clients in another process, on the loopback. Collections: the embedded one, and
bench_collection's 100,000 documents with a model of 200 trees on the full recipe.

Run:  .venv/bin/python scripts/bench_service.py [--quick] [--parts latency,sizing,...] [--workers N]
                                                   [--collection embedded|large] [--output FILE]
      .venv/bin/python scripts/bench_service.py --parts soak --seconds 3600 [--rate N]

latency   p50 and p99 of /search at 1, 8 and 64 clients, with k = 100 and 1,000, beside `rerank.rerank` for one query
          and for many at once; and the search of Anserini, as Pyserini's server calls it, behind the same framework
overload  ten times the load that 64 clients reach, for a minute: answers by status, wrong ones, latency, memory
kill      kill -9 of a worker under half of that load: failed requests, seconds until it is back
soak      80 % of that load, or N requests a second, for so many seconds: answers by status, memory each minute
sizing    bytes of the index on disk, and memory of one and of two worker processes after some requests
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
from bench_collection import open_collection
from bench_common import arguments, machine, ratio, report
from bench_features import small_model
from service_load import Answers, closed_loop, essence, open_loop, request

import rerank
from rerank.rankers.ranker import Ranker
from rerank.workflows.demo import demo_files, library_collection
from rerank.workflows.index import Index

CLIENTS = (1, 8, 64)
OVERHEAD_S, SHARE = 0.002, 0.9  # bars: of HTTP at p50, and of Python's throughput
DEADLINE = 10.0
ROUNDS = 4
CORES = os.cpu_count() or 1
WARM_S = 12.0  # Java's compiler takes processor time for so long


class Server:
    """A running `rerank serve`."""

    def __init__(self, index: Path, model: Path, workers: int) -> None:
        command = [sys.executable, "-m", "rerank", "serve", str(index), str(model), "--port", "0"]
        self._log = tempfile.NamedTemporaryFile("w+", suffix=".log")  # noqa: SIM115
        self.child = subprocess.Popen([*command, "--workers", str(workers)], stderr=self._log)
        self.workers = workers
        self.port = int(self._wait(r"listening on http://\S+:(\d+)/", 1)[0])
        self._wait(": ready after", workers)

    def _wait(self, pattern: str, count: int) -> list[str]:
        """Return the matches of a pattern in the log when there are so many."""
        while len(matches := re.findall(pattern, Path(self._log.name).read_text())) < count:
            if self.child.poll() is not None:
                sys.exit(Path(self._log.name).read_text())
            time.sleep(0.1)
        return matches

    def wait_for_restart(self) -> None:
        """Wait until a worker that was killed is ready again."""
        self._wait(": ready after", self.workers + 1)

    def answer(self, data: Mapping[str, Any]) -> bytes:
        """Return the essence of the answer to a body of /search."""
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"http://127.0.0.1:{self.port}/search", json.dumps(data).encode(), headers)) as answer:
            return essence(answer.read())

    def resident(self) -> int:
        """Return the resident bytes of all processes."""
        return sum(map(_resident, [self.child.pid, *self.children()]))

    def processor(self) -> float:
        """Return the seconds of processor time of all processes."""
        return sum(map(_processor, [self.child.pid, *self.children()]))

    def children(self) -> list[int]:
        """Return the worker processes, or none if there is one process."""
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return [pid for pid in map(int, children) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def end(self) -> None:
        """End it."""
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)
        self._log.close()


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # it has just ended
        return 0


def _processor(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(index: Path, model: Path, workers: int) -> Iterator[Server]:
    """Run the service for a block."""
    server = Server(index, model, workers)
    try:
        yield server
    finally:
        server.end()


def bodies(queries: Sequence[str], k: int) -> list[dict[str, Any]]:
    """Return bodies of /search that rerank and return k documents."""
    return [{"query": query, "k": k, "candidates": k} for query in queries]


def python_seconds(
    index: Index, model: Ranker, queries: Sequence[str], k: int, threads: int, seconds: float
) -> list[float]:
    """Return the seconds of `rerank.rerank` for each of the queries, one at a time."""
    times: list[float] = []
    index, end = index.using(threads=threads), time.perf_counter() + seconds
    for number in range(1_000_000):
        start = time.perf_counter()
        if start > end:
            break
        rerank.rerank(index, model, {"q": queries[number % len(queries)]}, k=k)
        times.append(time.perf_counter() - start)
    return times


def python_per_second(
    index: Index, model: Ranker, queries: Sequence[str], k: int, n: int, seconds: float
) -> tuple[float, float]:
    """Return the queries a second of `rerank.rerank` for n at once, on all cores, and its processor time a query."""
    parts = [queries[first : first + n] for first in range(0, len(queries), n)]
    count, number, start, processor = 0, 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < start + seconds:
        topics = {f"q{number}": query for number, query in enumerate(parts[number % len(parts)])}
        rerank.rerank(index, model, topics, k=k)
        count, number = count + len(topics), number + 1
    return count / (time.perf_counter() - start), (time.process_time() - processor) / count


@contextmanager
def peer(index: Path) -> Iterator[int]:
    """Run Anserini's search behind Starlette and uvicorn in a process of its own; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    child = subprocess.Popen([sys.executable, __file__, "--peer", f"{port}:{index}"])
    try:
        while child.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        child.terminate()
        child.wait(30)


def run_peer(address: str) -> None:
    """Be the peer: its search for each request on a thread of Starlette's, as Pyserini's server does."""
    import uvicorn
    from bench_retrieval import Pyserini
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request as Asked
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    port, _, index = address.partition(":")
    searcher = Pyserini(Path(index))

    def search(query: str, k: int) -> list[dict[str, Any]]:
        return [{"docid": hit.docid, "score": hit.score} for hit in searcher.search(query, k)]

    async def answer(asked: Asked) -> JSONResponse:
        body = await asked.json()
        return JSONResponse({"results": await run_in_threadpool(search, body["query"], body["k"])})

    app = Starlette(routes=[Route("/search", answer, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")


def latency(name: str, index: Index, model_file: Path, queries: list[str], options: Any) -> tuple[list[Any], Any]:
    """Return ratios to Python and to the peer, and all latencies, of one collection."""
    ratios: list[Any] = []
    figures: dict[str, Any] = {}
    for k in (100, 1000):
        full = [query for query in queries if index.search({"q": query}, k=k).n_rows == k] or queries
        lines, more = _latency(f"{name}, k = {k:,}", index, model_file, full, k, options)
        ratios += lines
        figures |= more
    return ratios, figures


@dataclass
class Turns:
    """What Python, the service and the peer do in turns, so that what disturbs one disturbs the others.

    alone   seconds of single queries in Python, with as many threads as a process of the service has
    rates   queries a second in Python and of 64 clients of the service, in each turn. Python has all cores, which the
            service shares with its clients, and the faster of two sizes of a call: 64 queries, and all
    own, in_python   processor time of the service for 64 clients, and of Python for a query in each turn
    """

    alone: list[float] = field(default_factory=list)
    rates: list[tuple[float, float]] = field(default_factory=list)
    answers: dict[int, Answers] = field(default_factory=lambda: {clients: Answers() for clients in CLIENTS})
    others: Answers = field(default_factory=Answers)
    own: float = 0.0
    in_python: list[float] = field(default_factory=list)

    def measure(self, index: Index, model_file: Path, queries: list[str], k: int, options: Any) -> None:
        """Take all turns."""
        seconds, warm = (0.5, 2.0) if options.quick else (4.0, WARM_S)
        model, workers = rerank.read_model(model_file), int(options.workers)
        sent, threads = [request("/search", body) for body in bodies(queries, k)], max(1, CORES // workers)
        with served(index.path, model_file, workers) as server, peer(index.path) as port:
            closed_loop(server.port, sent, 64, warm)
            closed_loop(port, sent, 64, seconds)
            python_per_second(index, model, queries, k, len(queries), seconds)
            for _ in range(ROUNDS):
                self.alone += python_seconds(index, model, queries, k, threads, seconds)
                called = [python_per_second(index, model, queries, k, n, seconds) for n in (64, len(queries))]
                self.in_python.append(min(processor for _, processor in called))
                for clients, each in self.answers.items():
                    before = server.processor()
                    part = closed_loop(server.port, sent, clients, seconds)
                    each.extend(part)
                self.own += server.processor() - before  # with the most clients
                self.rates.append((max(each for each, _ in called), part.per_second()))
                self.others.extend(closed_loop(port, sent, 64, seconds))


def _latency(
    what: str, index: Index, model_file: Path, queries: list[str], k: int, options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """Return the ratios and figures of one collection and k."""
    turns = Turns()
    turns.measure(index, model_file, queries, k, options)
    many, n_many = turns.answers[64], len(turns.answers[64].seconds[200])
    one, python = turns.answers[1].quantile(0.5), float(np.median(turns.alone))
    rate, own_rate = sorted(turns.rates, key=lambda pair: pair[1] / pair[0])[len(turns.rates) // 2]
    busy, in_python = many.processor / many.elapsed / CORES, float(np.median(turns.in_python))
    ratios = [
        ratio(f"{what}: p50 of one client", "Python", one, python),
        ratio(f"{what}: second a query, 64 clients", "Python", 1 / own_rate, 1 / rate, SHARE),
        ratio(f"{what}: the same without the clients' time", "Python", (1 - busy) / own_rate, 1 / rate),
        ratio(f"{what}: processor time a query", "Python", turns.own / n_many, in_python),
        ratio(f"{what}: second a query", "Anserini by HTTP", 1 / many.per_second(), 1 / turns.others.per_second()),
    ]
    figures: dict[str, Any] = {
        f"{what}: overhead at p50, ms (at most {OVERHEAD_S * 1e3:g})": 1e3 * (one - python),
        f"{what}: Python": f"p50 {python * 1e3:.2f} ms, {rate:.0f} queries a second in one call",
        f"{what}: share of the cores that 64 clients take": busy,
        f"{what}: requests a second of a core, 64 clients": n_many / turns.own,
    }
    for clients, each in turns.answers.items():
        figures[f"{what}: {clients} clients"] = described(each)
    return ratios, figures


def described(answers: Answers) -> str:
    """Return counts and latencies as text."""
    return (
        f"{answers.per_second():.0f} a second, p50 {answers.quantile(0.5) * 1e3:.2f} ms, "
        f"p99 {answers.quantile(0.99) * 1e3:.2f} ms, by status {answers.counts()}"
    )


def capacity(server: Server, sent: list[bytes], options: Any) -> float:
    """Return the requests a second that 64 clients reach, when Java has compiled what it compiles."""
    closed_loop(server.port, sent, 64, 2.0 if options.quick else WARM_S)
    return closed_loop(server.port, sent, 64, 3.0 if options.quick else 15.0).per_second()


def overload(index: Index, model_file: Path, queries: list[str], options: Any) -> dict[str, Any]:
    """Return what ten times the sustained load does."""
    seconds, asked = 8.0 if options.quick else 60.0, bodies(queries, 100)
    with served(index.path, model_file, int(options.workers)) as server:
        expected = [server.answer(body) for body in asked]
        sent = [request("/search", body) for body in asked]
        sustained = capacity(server, sent, options)
        before = server.resident()
        answers = open_loop(server.port, sent, 10 * sustained, seconds, expected)
        after, again = server.resident(), server.answer(asked[0]) == expected[0]
    if not set(answers.counts()) <= {200, 429, 503} or answers.wrong or not again:
        print(
            f"bench_service: wrong answers under overload: {answers.counts()}, {answers.wrong} wrong", file=sys.stderr
        )
    return {
        "overload, sustained a second": sustained,
        "overload, sent": sum(answers.counts().values()),
        "overload, not sent for want of connections": answers.not_sent,
        "overload, by status": str(answers.counts()),
        "overload, wrong": answers.wrong,
        f"overload, longest accepted, s (deadline {DEADLINE:g})": answers.quantile(1.0),
        "overload, memory after by before (at most 1.1)": after / before,
    }


def kill(index: Index, model_file: Path, queries: list[str], options: Any) -> dict[str, Any]:
    """Return what the end of a worker does to the requests."""
    workers = max(2, int(options.workers))
    with served(index.path, model_file, workers) as server:
        asked = bodies(queries, 100)
        expected, sent = [server.answer(body) for body in asked], [request("/search", body) for body in asked]
        sustained, back = capacity(server, sent, options), []

        def end_one() -> None:
            time.sleep(3.0)
            start = time.perf_counter()
            os.kill(server.children()[0], signal.SIGKILL)
            server.wait_for_restart()
            back.append(time.perf_counter() - start)

        thread = threading.Thread(target=end_one)
        thread.start()
        answers = open_loop(server.port, sent, sustained / 2 * (workers - 1) / workers, 30.0, expected)
        thread.join()
    return {
        "kill -9 of a worker, by status (0: the connection broke)": str(answers.counts()),
        "kill -9 of a worker, wrong": answers.wrong,
        "kill -9 of a worker, seconds until it is back": back[0],
    }


def soak(index: Index, model_file: Path, queries: list[str], options: Any) -> dict[str, Any]:
    """Return what a load of 80 % of the sustained one, or of --rate requests a second, does to the memory."""
    seconds, asked = float(options.seconds or 3600), bodies(queries, 100)
    with served(index.path, model_file, int(options.workers)) as server:
        expected = [server.answer(body) for body in asked]
        sent = [request("/search", body) for body in asked]
        sustained = capacity(server, sent, options)
        rate, sizes, ends = float(options.rate or 0.8 * sustained), [server.resident()], threading.Event()

        def look() -> None:
            while not ends.wait(min(60.0, seconds / 10)):
                sizes.append(server.resident())

        thread = threading.Thread(target=look)
        thread.start()
        answers = open_loop(server.port, sent, rate, seconds, expected)
        ends.set()
        thread.join()
        sizes.append(server.resident())
    first, last = (float(np.median(part)) for part in (sizes[1 : 2 + len(sizes) // 5], sizes[-1 - len(sizes) // 5 :]))
    return {
        "soak, seconds": seconds,
        "soak, sustained a second before it": sustained,
        "soak, sent a second": rate,
        "soak, answers": described(answers),
        "soak, wrong, unanswered, not sent": f"{answers.wrong}, {answers.unanswered}, {answers.not_sent}",
        "soak, memory at the start, each minute and at the end, MB": " ".join(f"{size / 1e6:.0f}" for size in sizes),
        "soak, end by start": sizes[-1] / sizes[0],
        "soak, last fifth by first fifth": last / first,
    }


def sizing(name: str, index: Index, model_file: Path, queries: list[str]) -> dict[str, Any]:
    """Return what one collection needs on disk and in memory."""
    size, sent = (
        sum(file.stat().st_size for file in index.path.rglob("*")),
        [request("/search", b) for b in bodies(queries, 100)],
    )
    proportional = []
    for workers in (1, 2):
        with served(index.path, model_file, workers) as server:
            closed_loop(server.port, sent, 8, 10.0)
            parts = [_memory(pid) for pid in server.children() or [server.child.pid]]
            proportional.append(sum(part["Pss"] for part in parts))
            anonymous = parts[0]["Pss_Anon"]
    documents = index.forward.n_docs
    return {
        f"{name}: index on disk, MB for a million documents": size / documents,
        f"{name}: memory of one worker, MB": proportional[0] / 1e6,
        f"{name}: of it its own, MB": anonymous / 1e6,
        f"{name}: memory of two workers, MB": proportional[1] / 1e6,
    }


def _memory(pid: int) -> dict[str, int]:
    """Return the bytes of a process: Pss counts a shared page in parts, Pss_Anon is what no file backs."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: 1024 * int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}


def collections(options: Any) -> Iterator[tuple[str, Index, Path, list[str]]]:
    """Yield name, index, model and queries of each collection."""
    if options.collection == "large":
        yield from _large(options)
        return
    index, model = demo_files()
    queries = list(library_collection().topics.values())[1500:1900]
    yield "embedded", Index.open(index), model, [" ".join(query.split()[:10]) for query in queries]
    if options.collection != "embedded":
        yield from _large(options)


def _large(options: Any) -> Iterator[tuple[str, Index, Path, list[str]]]:
    """Yield the large collection."""
    n_documents = 20_000 if options.quick else 100_000
    large, topics = open_collection(n_documents, 400)
    file = large.path.parent / "service-model.json"
    if not file.exists():
        small_model(large, topics).save(file)
    yield f"{n_documents:,} documents", large, file, list(topics.values())


def main() -> None:
    """Run the parts."""
    options = arguments(__doc__, "--parts", "--collection", "--workers", "--seconds", "--rate", "--peer")
    if options.peer:
        run_peer(options.peer)
        return
    options.workers = options.workers or str(os.cpu_count())
    parts = (options.parts or "latency,sizing,overload,kill").split(",")
    others: dict[str, Callable[..., dict[str, Any]]] = {"overload": overload, "kill": kill, "soak": soak}
    ratios: list[Any] = []
    figures: dict[str, Any] = {"machine": machine("fastapi", "uvicorn", "numba"), "workers": options.workers}
    for name, index, model, queries in collections(options):
        if "latency" in parts:
            lines, more = latency(name, index, model, queries, options)
            ratios += lines
            figures |= more
        if "sizing" in parts:
            figures |= sizing(name, index, model, queries)
        if name == "embedded":
            for part in parts:
                if part in others:
                    figures |= others[part](index, model, queries, options)
            if not {"latency", "sizing"} & set(parts):
                break
    report(ratios, figures, options.output)


if __name__ == "__main__":
    main()
