"""Send malformed requests to a running service: no answer may be 5xx, none may hold a trace, none may hang.

    rerank serve demo-output/index demo-output/model.json --port 8080 2> serve.log &   # of `rerank demo`
    python -m tests.fuzz.service http://127.0.0.1:8080 --log serve.log [--requests 20000] [--seed 0]

Half are mutations of good JSON bodies, half bytes on a raw socket (half requests, wrong lengths, deep JSON, huge
numbers, bad UTF-8, broken chunks); then comes what Schemathesis makes of /openapi.json, where it is installed. After
each part a good request must be answered, and at the end the service's log may hold no trace. The last lines count the
answers by status, and the connections that ended without an answer: "closed" by the service, or "reset" by it, mostly
while the request was still being sent. Exit code 1 if something was wrong.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ALLOWED = {200, 400, 401, 404, 405, 408, 413, 415, 421, 422, 429, 503}
LONGEST = 30.0  # seconds of one answer
PATHS = ("/search", "/rerank", "/v1/rerank", "/v2/rerank")
GOOD: list[dict[str, Any]] = [
    {"query": "open a file", "k": 5, "fields": ["title", "body"], "highlight": True, "excerpt": 100, "explain": True},
    {"queries": ["sort a list", "read json"], "k": 3, "candidates": 20, "model": "bm25"},
    {"queries": {"a": "thread", "b": "socket"}, "k": 2},
    {"query": "open a file", "documents": ["open the file", {"text": "close it"}], "top_n": 1},
    {"query": "open a file", "documents": [{"title": "open", "body": "a file"}], "raw_scores": True},
    {"query": "open a file", "documents": [{"id": "_pyio.open"}]},
    {"query": "open a file", "texts": ["open the file", "close it"], "return_text": True},
]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1e308, -1e-308, 0.5, "", " ", "\x00", "\ud800",
    "a" * 5000, "\U0001f642" * 50, "\u202e\u0301", [], {}, [[]], [None], [1], ["a", "a"], {"id": "_pyio.open"},
    {"text": 1}, {"": ""}, "../../etc/passwd", "'; DROP TABLE x; --", 'AND OR NOT ( ) * ? ~ ^ : " \\', "%s%n{0}",
    "<script>alert(1)</script>",
]  # fmt: skip


class Tally:
    """Answers by status, connections without an answer by how they ended, and what was wrong."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.slowest = 0.0
        self._lock = threading.Lock()

    def add(self, what: bytes, answer: bytes, ended: str, seconds: float) -> None:
        """Count an answer and how its connection ended (see `Fuzzer.send`); note one that should not be."""
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.1 ") else ended
        with self._lock:
            self.statuses[f"{status}, then reset" if ended == "reset" != status else status] += 1
            self.slowest = max(self.slowest, seconds)
            body = answer.partition(b"\r\n\r\n")[2]
            fault = ""
            if ended in ("refused", "late"):
                fault = ended
            elif status.isdigit() and int(status) not in ALLOWED:
                fault = "status"
            elif b"Traceback" in body or b'File "' in body:
                fault = "trace"
            elif status.isdigit() and int(status) >= 400 and b'"remedy"' not in body and what[:4] != b"HEAD":
                fault = "shape"
            elif status.isdigit() and ended == "closed" and what[:4] != b"HEAD":
                fault = "cut"
            elif seconds > LONGEST:
                fault = "time"
            if fault:
                self.wrong.append(f"{fault}: {what[:200]!r} -> {answer[:300]!r} in {seconds:.1f} s")


class Fuzzer:
    """Makes requests and sends them."""

    def __init__(self, url: str, seed: int) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.url = parts.hostname or "127.0.0.1", parts.port or 80, url
        self.draw = random.Random(seed)
        self.tally = Tally()

    def send(self, data: bytes, patience: float = LONGEST + 10, half: bool = False) -> bytes:
        """Return the answer to bytes on a new connection; `half` closes this side's writing end after them.

        The connection ends when the answer is whole ("answered"), when the service closes it ("closed") or resets it
        ("reset"), is never opened ("refused"), or the answer does not come in time ("late").
        """
        start, parts, ended = time.perf_counter(), b"", ""
        try:
            with socket.create_connection((self.host, self.port), timeout=patience) as connection:
                connection.sendall(data)
                if half:
                    connection.shutdown(socket.SHUT_WR)
                while not ended:
                    part = connection.recv(1 << 16)
                    parts += part
                    ended = "answered" if _is_whole(parts) else "" if part else "closed"
        except ConnectionRefusedError:
            ended = "refused"
        except ConnectionError:
            ended = "reset"
        except TimeoutError:
            ended = "late"
        self.tally.add(data, parts, ended, time.perf_counter() - start)
        return parts

    def post(self, path: str, body: bytes, kind: str = "application/json") -> bytes:
        """Return the answer to a body."""
        return self.send(self.head(path, len(body), kind) + body)

    def head(self, path: str, length: int | str, kind: str = "application/json") -> bytes:
        """Return the head of a request."""
        lines = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        return lines.encode()

    def mutated(self, draw: random.Random) -> Callable[[], bytes]:
        """Return a request with a body that is a good one with changes."""
        body = json.loads(json.dumps(draw.choice(GOOD)))
        for _ in range(draw.randint(1, 3)):
            _change(body, draw)
        text = json.dumps(body, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
        return lambda: self.post(draw.choice(PATHS), text)

    def raw(self, draw: random.Random) -> Callable[[], bytes]:
        """Return a request that breaks HTTP or JSON."""
        text = json.dumps(draw.choice(GOOD)).encode()
        path = draw.choice(PATHS)
        whole = self.head(path, len(text)) + text
        cut = draw.randrange(1, len(whole))
        flipped = bytearray(whole)
        for _ in range(draw.randint(1, 8)):
            flipped[draw.randrange(len(flipped))] = draw.randrange(256)
        broken = bytearray(text)
        broken[draw.randrange(len(broken))] = draw.randrange(128, 256)
        deep = draw.choice([b"[", b'{"a":', b'[{"documents":[']) * draw.randint(10, 2_000)
        number = (
            b'{"query": "a", "k": ' + draw.choice([b"9" * 400, b"-" + b"9" * 5000, b"1e999", b"NaN", b"0x1"]) + b"}"
        )
        chunked = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
        sizes = draw.choice([b"zz", b"-1", b"ffffffffffffffff", b"5;x=" + b"y" * 3000, b"%x" % len(text)])
        requests: list[tuple[bytes, bool]] = [
            (whole[:cut], True),
            (bytes(flipped), True),
            (self.head(path, len(text) + draw.randint(1, 100)) + text, True),
            (self.head(path, draw.randrange(len(text))) + text, False),
            (self.head(path, draw.choice(["-1", "1,2", "9" * 30, "0x10", "+5", ""])) + text, True),
            (self.head(path, len(broken)) + bytes(broken), False),
            (self.head(path, len(deep)) + deep, False),
            (self.head(path, len(number)) + number, False),
            (chunked + b"Transfer-Encoding: chunked\r\n\r\n" + sizes + b"\r\n" + text + b"\r\n0\r\n\r\n", True),
            (chunked + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", True),
            (draw.randbytes(draw.randint(1, 3000)), True),
            (whole.replace(b"POST", draw.choice([b"GET", b"PUT", b"\x00", b"A" * 300, b"HEAD", b"CONNECT"])), True),
            (whole.replace(b"HTTP/1.1", draw.choice([b"HTTP/2.0", b"HTTP/1.0", b"HTTP/1.1.1", b"X"])), True),
            (whole.replace(b"Host: localhost", draw.choice([b"A: b", b"Host: a\r\nHost: b", b"Host: x"])), True),
            (whole.replace(b"Host", b"X-" + b"y" * draw.choice([10, 20_000, 300_000]) + b": z\r\nHost"), True),
            (whole.replace(path.encode(), draw.choice([b"/../etc/passwd", b"/%00", b"*", b"/" + b"a" * 9000])), True),
            (whole * draw.randint(2, 5), False),
        ]  # fmt: skip
        data, half = draw.choice(requests)
        return lambda: self.send(data, half=half)

    def check_alive(self) -> None:
        """End where a good request is not answered."""
        answer = self.post("/search", b'{"query": "a", "k": 1}')
        if answer[9:12] not in (b"200", b"429"):
            sys.exit(f"the service does not answer any more: {answer[:300]!r}")

    def run(self, count: int, make: Callable[[random.Random], Callable[[], bytes]], connections: int) -> None:
        """Send a number of requests, several at a time."""
        seeds = iter([self.draw.random() for _ in range(count)])
        lock = threading.Lock()

        def work() -> None:
            while True:
                with lock:
                    seed = next(seeds, None)
                if seed is None:
                    return
                make(random.Random(seed))()

        with ThreadPoolExecutor(connections) as pool:
            for done in [pool.submit(work) for _ in range(connections)]:
                done.result()
        self.check_alive()


def _is_whole(answer: bytes) -> bool:
    """Return whether an answer has the body that its head declares."""
    head, end_of_head, body = answer.partition(b"\r\n\r\n")
    length = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")), b"")
    return bool(end_of_head and length) and len(body) >= int(length.partition(b":")[2])


def _change(body: Any, draw: random.Random) -> None:
    """Change one value somewhere in a body."""
    while isinstance(body, dict | list) and body:
        keys = list(body) if isinstance(body, dict) else list(range(len(body)))
        key = draw.choice(keys)
        if isinstance(body[key], dict | list) and body[key] and draw.random() < 0.6:
            body = body[key]
            continue
        action = draw.randrange(4)
        if action == 0:
            del body[key]
        elif action == 1 and isinstance(body, dict):
            body[draw.choice(["k", "quer", "documents", "model", "fields", "x" * 70, ""])] = copy.deepcopy(
                draw.choice(VALUES)
            )
        elif action == 2 and isinstance(body, list):
            body.extend([copy.deepcopy(body[key])] * draw.choice([1, 40, 1200]))
        else:
            body[key] = copy.deepcopy(draw.choice(VALUES))
        return


def schemathesis(url: str, count: int, seed: int) -> str:
    """Run Schemathesis on /openapi.json; return its summary, or why there is none."""
    try:
        import schemathesis as installed  # noqa: F401
    except ImportError:
        return "Schemathesis is not installed: its part was left out"
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--checks", checks, "--mode", "all",
            "--max-examples", str(count), "--seed", str(seed), "--phases", "fuzzing", "--workers", "4",
            "--request-timeout", str(LONGEST), "--generation-database", "none", "--continue-on-failure",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    Path("schemathesis.log").write_text(done.stdout + done.stderr)
    return f"exit {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-25:])


def main() -> None:
    """Run all parts and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--log", type=Path, help="the service's stderr")
    given = parser.parse_args()
    fuzzer = Fuzzer(given.url.rstrip("/"), given.seed)
    half = given.requests // 2
    for name, make in (("mutated bodies", fuzzer.mutated), ("raw sockets", fuzzer.raw)):
        before, start = sum(fuzzer.tally.statuses.values()), time.perf_counter()
        fuzzer.run(half, make, given.connections)
        sent = sum(fuzzer.tally.statuses.values()) - before
        print(f"{name}: {sent} requests in {time.perf_counter() - start:.0f} s", flush=True)
    print("Schemathesis:", schemathesis(fuzzer.url, half // 12, given.seed))
    fuzzer.check_alive()
    if given.log is not None and "Traceback" in (text := given.log.read_text("utf8", "replace")):
        trace = text[text.index("Traceback") :][:1500]
        fuzzer.tally.wrong.append(f"{text.count('Traceback')} traces in the log, the first:\n{trace}")
    print("answers:", ", ".join(f"{status} {count}" for status, count in sorted(fuzzer.tally.statuses.items())))
    print(f"slowest: {fuzzer.tally.slowest:.2f} s; wrong: {len(fuzzer.tally.wrong)}")
    for line in fuzzer.tally.wrong[:20]:
        print(" ", line)
    sys.exit(1 if fuzzer.tally.wrong else 0)


if __name__ == "__main__":
    main()
