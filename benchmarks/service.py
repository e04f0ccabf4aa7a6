"""The HTTP service: a real `rerank serve`, clients in another process, on the loopback."""

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
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import numpy as np

import rerank
from benchmarks.large_collection import Pyserini, open_collection, small_model
from benchmarks.load import Answers, closed_loop, essence, open_loop, request
from benchmarks.measuring import memory, timed
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

if TYPE_CHECKING:
    from rerank.experiments.demo import DemoCollection

CLIENTS, ROUNDS = (1, 8, 64), 4
CORES = os.cpu_count() or 1
NEEDS = ("fastapi", "uvicorn")


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
                raise BenchmarkError(f"rerank serve: {Path(self._log.name).read_text()[-300:]!r}")
            time.sleep(0.1)
        return matches

    def wait_for_restart(self) -> None:
        """Wait until a worker that was killed is ready again."""
        self._wait(": ready after", self.workers + 1)

    def answer(self, body: Mapping[str, Any]) -> bytes:
        """Return the essence of the answer to a body of /search."""
        headers = {"Content-Type": "application/json"}
        with urlopen(Request(f"http://127.0.0.1:{self.port}/search", json.dumps(body).encode(), headers)) as answer:
            return essence(answer.read())

    def children(self) -> list[int]:
        """Return the worker processes, or none if there is one process."""
        children = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split()
        return [pid for pid in map(int, children) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def resident(self) -> float:
        """Return the resident MB of all processes."""
        return sum(memory("VmRSS", pid) for pid in (self.child.pid, *self.children()))

    def processor(self) -> float:
        """Return the seconds of processor time of all processes."""
        parts = [Path(f"/proc/{pid}/stat").read_text() for pid in (self.child.pid, *self.children())]
        fields = [part.rpartition(")")[2].split() for part in parts]
        return sum(int(each[11]) + int(each[12]) for each in fields) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """End it."""
        self.child.send_signal(signal.SIGTERM)
        self.child.wait(60)
        self._log.close()


@contextmanager
def served(index: rerank.Index, model: Path, workers: int) -> Iterator[Server]:
    """Run the service for a block."""
    server = Server(index.path, model, workers)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def anserini(index: Path) -> Iterator[int]:
    """Run Anserini's search behind Starlette and uvicorn in a process of its own; yield its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = get_context("spawn").Process(target=serve_anserini, args=(index, port))
    process.start()
    try:
        while process.is_alive():
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.join(30)


def serve_anserini(index: Path, port: int) -> None:
    """Search for each request on a thread of Starlette's, as Pyserini's server does."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request as Asked
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    searcher = Pyserini(index)

    def search(query: str, k: int) -> list[dict[str, Any]]:
        return [{"docid": hit.docid, "score": hit.score} for hit in searcher.search(query, k)]

    async def answer(asked: Asked) -> JSONResponse:
        body = await asked.json()
        return JSONResponse({"results": await run_in_threadpool(search, body["query"], body["k"])})

    app = Starlette(routes=[Route("/search", answer, methods=["POST"])])
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def collections(options: Options) -> Generator[tuple[str, rerank.Index, Path, list[str]]]:
    """Yield name, index, model and queries: of the demo, and of 100,000 documents with a model of 200 trees."""
    from rerank.experiments.demo import library_collection

    for name in options.chosen_collections(("embedded", "large")):
        if name == "embedded":
            collection = library_collection()
            texts = list(collection.topics.values())[1500:1900]
            with tempfile.TemporaryDirectory() as folder:
                index, model = _embedded(collection, Path(folder))
                yield name, index, model, [" ".join(text.split()[:10]) for text in texts]
            continue
        index, topics = open_collection(options, options.pick(100_000, 5_000), 400)
        file = index.path.parent / "service-model.json"
        if not file.exists():
            small_model(index, topics).save(file)
        yield name, index, file, list(topics.values())


def _embedded(collection: DemoCollection, folder: Path) -> tuple[rerank.Index, Path]:
    """Return an index of the docstrings of the standard library, and LambdaMART of 1,500 of their topics."""
    index = rerank.Index.build(collection.documents, folder / "index")
    topics = dict(list(collection.topics.items())[:1500])
    data = index.features(index.search(topics, k=100), topics, collection.qrels)
    model = rerank.LambdaMART(
        n_estimators=200, metric="RR@10", base="run", colsample_bytree=0.3, early_stopping_rounds=30
    )
    model.fit(data.select(range(1200)), eval_set=data.select(range(1200, 1500)))
    model.save(folder / "demo.json")
    return index, folder / "demo.json"


def _workers(options: Options) -> int:
    return options.threads or CORES


def bodies(queries: Sequence[str], k: int) -> list[dict[str, Any]]:
    """Return bodies of /search that rerank and return k documents."""
    return [{"query": query, "k": k, "candidates": k} for query in queries]


@dataclass
class Turns:
    """What Python, the service and Anserini do in turns, so that what disturbs one disturbs the others.

    alone      seconds of single queries in Python, with as many threads as a process of the service has
    in_calls   queries a second of Python in one call, with all cores, in each turn
    """

    alone: list[float] = field(default_factory=list)
    in_calls: list[float] = field(default_factory=list)
    answers: dict[int, Answers] = field(default_factory=lambda: {clients: Answers() for clients in CLIENTS})
    others: Answers = field(default_factory=Answers)
    processor: float = 0.0  # of the service, with the most clients

    def take(
        self, server: Server, port: int, index: rerank.Index, model: Any, queries: list[str], k: int, s: float
    ) -> None:
        """Take one turn of so many seconds each."""
        sent, threads = [request("/search", body) for body in bodies(queries, k)], max(1, CORES // server.workers)
        end, one = time.perf_counter() + s, index.using(threads=threads)
        while time.perf_counter() < end:
            topic = {"q": queries[len(self.alone) % len(queries)]}
            self.alone.append(timed(partial(rerank.rerank, one, model, topic, k=k)))
        topics = {f"q{number}": query for number, query in enumerate(queries)}
        self.in_calls.append(len(topics) / timed(partial(rerank.rerank, index, model, topics, k=k)))
        for clients, each in self.answers.items():
            before = server.processor()
            each.extend(closed_loop(server.port, sent, clients, s))
        self.processor += server.processor() - before
        self.others.extend(closed_loop(port, sent, CLIENTS[-1], s))


@benchmark(
    data="the demo's 7,000 docstrings; 100,000 documents of real sentences",
    peer="the same from Python; Anserini's search behind Starlette",
    needs=(*NEEDS, "jnius"),
)
def service_latency(options: Options) -> Iterator[Row]:
    """Milliseconds and searches a second of 1, 8 and 64 clients, k = 100 and 1,000; `--threads` counts the workers."""
    seconds = options.pick(4.0, 0.5)
    for name, index, file, queries in collections(options):
        model = rerank.read_model(file)
        for k in (100, 1000):
            full = [query for query in queries if index.search({"q": query}, k=k).n_rows == k] or queries
            sent, turns = [request("/search", body) for body in bodies(full, k)], Turns()
            with served(index, file, _workers(options)) as server, anserini(index.path) as port:
                rerank.rerank(index, model, {"q": full[0]}, k=k)  # compiles
                for address in (server.port, port):
                    closed_loop(address, sent, CLIENTS[-1], 3 * seconds)  # Java's compiler takes time for so long
                for _ in range(options.pick(ROUNDS, 1)):
                    turns.take(server, port, index, model, full, k, seconds)
            for clients, each in turns.answers.items():
                yield {"collection": name, "candidates": k, "clients": clients, **described(each)}
            many, alone = turns.answers[CLIENTS[-1]], float(np.median(turns.alone))
            row = {"collection": name, "candidates": k, "Python, ms p50": 1e3 * alone}
            row |= {"added at p50, ms": 1e3 * (turns.answers[1].quantile(0.5) - alone)}
            row |= {"searches a second": many.per_second(), "Python in one call": float(np.median(turns.in_calls))}
            row |= {
                "Anserini by HTTP": turns.others.per_second(),
                "clients' share": many.processor / many.elapsed / CORES,
            }
            yield {**row, "processor ms a search": 1e3 * turns.processor / len(many.seconds[200])}


def described(answers: Answers) -> Row:
    """Return rates, latencies and counts by status."""
    row = {"a second": answers.per_second(), "ms p50": 1e3 * answers.quantile(0.5)}
    row |= {"ms p99": 1e3 * answers.quantile(0.99), "longest, s": answers.quantile(1.0)}
    return {**row, "by status": str(answers.counts()), "wrong": answers.wrong, "unanswered": answers.unanswered}


@benchmark(data="the demo's 7,000 docstrings; 100,000 documents of real sentences", needs=NEEDS)
def service_sizing(options: Options) -> Iterator[Row]:
    """Size of the index on disk, and memory of one and of two worker processes after some requests."""
    for name, index, file, queries in collections(options):
        sent, size = [request("/search", body) for body in bodies(queries, 100)], 0
        size = sum(path.stat().st_size for path in index.path.rglob("*"))
        row: Row = {"collection": name, "GB for a million documents": size / index.forward.n_docs / 1e3}
        for workers in (1, 2):
            with served(index, file, workers) as server:
                closed_loop(server.port, sent, 8, options.pick(10.0, 2.0))
                parts = [_shares(pid) for pid in server.children() or [server.child.pid]]
            row |= {"a worker's own MB": parts[0]["Pss_Anon"]} if workers == 1 else {}
            row[f"MB of {workers}"] = sum(part["Pss"] for part in parts)
        yield row


def _shares(pid: int) -> dict[str, float]:
    """Return MB of a process: Pss counts a shared page in parts, Pss_Anon is what no file backs."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {name: int(value.split()[0]) / 1024 for name, _, value in (line.partition(":") for line in lines)}


@contextmanager
def loaded(options: Options, workers: int) -> Iterator[tuple[Server, list[bytes], list[bytes], float]]:
    """Serve the demo; yield server, requests, the essences of their answers, and the sustained rate of 64 clients."""
    with closing(collections(Options(data=options.data))) as found:  # whose end removes the folder
        _, index, file, queries = next(found)
        with served(index, file, workers) as server:
            asked = bodies(queries[: options.pick(400, 50)], 100)
            expected, sent = [server.answer(body) for body in asked], [request("/search", body) for body in asked]
            closed_loop(server.port, sent, CLIENTS[-1], options.pick(12.0, 2.0))
            rate = closed_loop(server.port, sent, CLIENTS[-1], options.pick(15.0, 3.0)).per_second()
            yield server, sent, expected, rate


@benchmark(data="the demo's 7,000 docstrings", peer="the sustained load", needs=NEEDS)
def service_overload(options: Options) -> Iterator[Row]:
    """Answers, latency and memory under ten times the load that 64 clients reach, for a minute."""
    with loaded(options, _workers(options)) as (server, sent, expected, rate):
        before = server.resident()
        answers = open_loop(server.port, sent, 10 * rate, options.pick(60.0, 5.0), expected)
        row = {"sustained a second": rate, "not sent": answers.not_sent, **described(answers)}
        yield {**row, "memory after by before": server.resident() / before}
    if not set(answers.counts()) <= {200, 429, 503} or answers.wrong:
        raise BenchmarkError(f"wrong answers under overload: {answers.counts()}, {answers.wrong} wrong")


@benchmark(data="the demo's 7,000 docstrings", needs=NEEDS)
def service_kill(options: Options) -> Iterator[Row]:
    """What kill -9 of a worker does to the requests under half of the sustained load, and when it is back.

    Status 0 is a connection that broke.
    """
    workers = max(2, _workers(options))
    with loaded(options, workers) as (server, sent, expected, rate):
        back: list[float] = []

        def end_one() -> None:
            time.sleep(3.0)
            os.kill(server.children()[0], signal.SIGKILL)
            back.append(timed(server.wait_for_restart))

        thread = threading.Thread(target=end_one)
        thread.start()
        share = rate / 2 * (workers - 1) / workers
        answers = open_loop(server.port, sent, share, options.pick(30.0, 12.0), expected)
        thread.join()
    yield {"sustained a second": rate, "back after, s": back[0], **described(answers)}
