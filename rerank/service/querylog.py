"""The log of queries: a topics file, the run of their candidates, what was shown and clicked, and their features.

A thread of its own appends to the files: a request never waits for a disk or for a lock. A process that is killed in an
append leaves a line without its end. Before the next append, such a line of JSON, which readers can tell from a whole
one, gets its end; one of another format could pass for a whole one, and is cut off.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from io import FileIO
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import Counter

from rerank.clicks.reading import EVENTS, TOPICS, key_of_text
from rerank.errors import InvalidInputError, shown
from rerank.files.svmlight import svmlight_text
from rerank.service.bodies import SearchJob
from rerank.service.settings import ServiceError, Settings
from rerank.types import RankingData, Run
from rerank.types.ids import id_array

log = logging.getLogger("rerank")
CANDIDATES = "candidates.run"
KEY = ".key"
KEY_BYTES = 32
_LETTERS = 4  # bytes of a token for each document
_PLACE = "body.token"
JSON_LINES = ".jsonl"
MOST_BYTES = 64 << 20  # of the entries that wait
_LOCK_SECONDS, _STEP = 1.0, 0.005  # how long another process may hold the lock, and between two tries
_END_SECONDS = 2.0  # for what waits at the end
PRIVATE = 0o600
LOST = Counter("rerank_log_lost", "Entries that were not written to the log of queries.")


class QueryLog:
    """Appends to the files of a folder; several processes may do so.

    topics.tsv      query id and text, with a tab between them; the id is that of the request, which clients may repeat,
                    a number that is given once, and the query's in the request
    candidates.run  BM25's documents of each query, a TREC run
    events.jsonl    what was shown and clicked, as OpenSearch's User Behavior Insights have it
    features-X.svm  features of the candidates, SVMlight; X differs between models of other features

    An answer's token says, signed with the key of the folder, which documents it has: a click without an impression is
    refused by any process, and nothing is kept between requests. No answer depends on the files: see `Appender`.

    Parameters
    ----------
    settings : Settings
        The folder, which is made, and what is written.

    """

    def __init__(self, settings: Settings) -> None:
        folder = settings.log_queries or Path()
        self._features = settings.log_features
        self._hashes = settings.log_hashes
        self._prefix = secrets.token_hex(4)
        self._numbers = count(1)
        self._key = folder_key(folder)
        self._appender = Appender(folder)

    def token(self, query_id: str, doc_ids: Iterable[str]) -> str:
        """Return what events of an answer must carry."""
        marks = urlsafe_b64encode(b"".join(map(self._mark, doc_ids))).decode()
        return f"{query_id}.{marks}.{self._signature(query_id, marks)}"

    def entry(
        self,
        job: SearchJob,
        results: Sequence[tuple[dict[str, Any], Mapping[str, Any]]],
        names: Sequence[str],
        run: Run,
        data: RankingData | None,
    ) -> list[Lines]:
        """Return what is written of an answer, and add their tokens to its results.

        results  of each query, and what is known of it
        names    of its queries in `run` and `data`
        """
        request = f"{job.request_id}-{self._prefix}{next(self._numbers):x}"
        ids = {name: f"{request}-{result['query_id']}" for name, (result, _) in zip(names, results, strict=True)}
        for query_id, (result, _) in zip(ids.values(), results, strict=True):
            result["token"] = self.token(query_id, [hit["id"] for hit in result["hits"]])
        try:
            return self._entry(job, results, ids, run, data)
        except Exception as error:  # of any kind: the answer does not depend on the log
            self._appender.lose(1, error)
            return []

    def _entry(self, job: SearchJob, results: Any, ids: Mapping[str, str], run: Run, data: Any) -> list[Lines]:
        session = {} if job.body.session is None else {"session_id": self._hash(job.body.session)}
        topics = []
        events = []
        for query_id, (result, attributes) in zip(ids.values(), results, strict=True):
            text = " ".join(result["query"].split())
            text = self._hash(key_of_text(text)) if self._hashes else text
            topics.append(f"{query_id}\t{text}\n")
            event = {"query_id": query_id, "user_query": text, "timestamp": _now(), **session}
            hit_ids = [hit["id"] for hit in result["hits"]]
            events.append(event | {"query_response_hit_ids": hit_ids, "query_attributes": attributes})
        entry = [
            Lines(TOPICS, "".join(topics).encode()),
            Lines(CANDIDATES, "".join(_run_lines(run, ids)).encode()),
            Lines(EVENTS, _lines(events)),
        ]
        if self._features and data is not None:
            header, rows = svmlight_text(_of_queries(data, ids))
            entry.append(Lines(f"features-{hashlib.sha256(header).hexdigest()[:8]}.svm", rows, header))
        return entry

    def write(self, entry: Sequence[Lines]) -> Future[bool]:
        """Write an entry soon; return whether it was written, as a future that can be cancelled until it is."""
        return self._appender.put(entry)

    def close(self) -> None:
        """Write what waits."""
        self._appender.close()

    def events(self, token: str, shown_ids: Sequence[str], clicked_ids: Sequence[str]) -> list[Lines]:
        """Return what is written of shown and clicked documents; ServiceError where the answer does not have them."""
        query_id, marks, signature = ("", "", *token.rsplit(".", 2))[-3:]
        if not hmac.compare_digest(signature.encode(), self._signature(query_id, marks).encode()):
            raise ServiceError(
                422, _PLACE, "the token of an answer of this service", "another text", "Send it as it was answered."
            )
        known = urlsafe_b64decode(marks)
        places = {known[first : first + _LETTERS]: first // _LETTERS + 1 for first in range(0, len(known), _LETTERS)}
        events = []
        for action, doc_ids in (("impression", shown_ids), ("click", clicked_ids)):
            for number, doc_id in enumerate(doc_ids):
                place = places.get(self._mark(doc_id))
                if place is None:
                    raise ServiceError(
                        422, f"body.{'shown' if action == 'impression' else 'clicks'}[{number}]",
                        "a document of the answer", shown(doc_id), "Report what the answer showed.",
                    )  # fmt: skip
                attributes = {"object": {"object_id": doc_id}, "position": {"ordinal": place}}
                event = {"action_name": action, "query_id": query_id, "timestamp": _now()}
                events.append(event | {"event_attributes": attributes})
        return [Lines(EVENTS, _lines(events))]

    def _mark(self, doc_id: str) -> bytes:
        return hashlib.blake2b(doc_id.encode(), digest_size=_LETTERS, key=self._key).digest()

    def _signature(self, query_id: str, marks: str) -> str:
        return hashlib.blake2b(f"{query_id}.{marks}".encode(), digest_size=12, key=self._key).hexdigest()

    def _hash(self, text: str) -> str:
        """Return the keyed hash (BLAKE2b) that is stored in place of a text."""
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=10, key=self._key).hexdigest()


def folder_key(folder: Path) -> bytes:
    """Return the key of a folder, which its first process makes; InvalidInputError where it cannot, or is another."""
    path = folder / KEY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _make_key(path)
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            key = os.read(file, 2 * KEY_BYTES)
        finally:
            os.close(file)
    except OSError as error:
        raise InvalidInputError(
            f"--log: expected a folder with a key that can be read, or in which one can be made, got {folder} "
            f"({error.strerror}). Name another."
        ) from None
    if len(key) != KEY_BYTES:
        found = f"{len(key)} bytes" if len(key) < 2 * KEY_BYTES else "more"
        raise InvalidInputError(
            f"{path}: expected a key of {KEY_BYTES} bytes, got {found}. Remove it (a new one is made, and earlier "
            "tokens are refused), or copy that of another machine."
        )
    return key


def _make_key(path: Path) -> None:
    """Make the file of a key with all of its bytes, or not at all; that of another process stays."""
    part = path.with_name(f"{KEY}.{secrets.token_hex(6)}.part")
    try:
        with FileIO(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE), "w") as file:
            write_all(file, secrets.token_bytes(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(part, path)
    finally:
        part.unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _lines(events: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events).encode()


def _run_lines(run: Run, names: Mapping[str, str]) -> Iterator[str]:
    for own, name in names.items():
        rows = run.rows(own)
        scored = zip(run.doc_ids[rows].tolist(), run.scores[rows].tolist(), strict=True)
        for rank, (doc_id, score) in enumerate(scored, start=1):
            yield f"{name} Q0 {doc_id} {rank} {score!r} {run.name}\n"


def _of_queries(data: RankingData, names: Mapping[str, str]) -> RankingData:
    """Return the rows of some queries, under their names in the log."""
    numbers = [number for number, query_id in enumerate(data.query_ids.tolist()) if query_id in names]
    rows = data.select(numbers)
    return replace(rows, query_ids=id_array([names[query_id] for query_id in rows.query_ids.tolist()]))


class Lines(NamedTuple):
    """Whole lines for the end of a file, and what the file begins with."""

    name: str
    content: bytes
    header: bytes = b""


class Appender:
    """Appends entries to the files of a folder: all lines of one, or none.

    What cannot be written is counted, and its cause logged once: nothing that appends gets an error.

    Parameters
    ----------
    folder : Path
        The folder.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: list[tuple[Sequence[Lines], Future[bool]]] = []
        self._changed = threading.Condition()
        self._n_bytes = 0
        self._ends = False
        self._reason = ""  # why the last entries were lost
        self._thread = threading.Thread(target=self._work, name="rerank-log", daemon=True)
        self._thread.start()

    def put(self, entry: Sequence[Lines]) -> Future[bool]:
        """Append an entry soon; return whether it was written, as a future that can be cancelled until it is."""
        done: Future[bool] = Future()
        size = _size(entry)
        with self._changed:
            fits = not self._ends and self._n_bytes + size <= MOST_BYTES
            if fits:
                self._n_bytes += size
                self._queue.append((entry, done))
                self._changed.notify()
        if not fits:
            self.lose(1, "too many entries that wait")
            done.set_result(False)
        return done

    def lose(self, n_entries: int, reason: object) -> None:
        """Count entries that are not written; log the reason, unless it was that of the last ones."""
        LOST.inc(n_entries)
        if str(reason) != self._reason:
            self._reason = str(reason)
            log.warning("query log: expected a log that can be written, got: %s. Entries are lost.", reason)

    def close(self) -> None:
        """Write what waits, and end the thread; what takes too long is lost."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        self._thread.join(_END_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not (self._queue or self._ends):
                    self._changed.wait()
                taken = self._queue
                self._queue = []
                if not taken:
                    return
                self._n_bytes -= sum(_size(entry) for entry, _ in taken)
            left = [(entry, done) for entry, done in taken if done.set_running_or_notify_cancel()]
            is_written = self._write([entry for entry, _ in left])
            for _, done in left:
                done.set_result(is_written)

    def _write(self, entries: Sequence[Sequence[Lines]]) -> bool:
        """Append entries, all or none; return whether they were written."""
        try:
            with _locked(self._folder / ".lock"):
                _append(self._folder, [lines for entry in entries for lines in entry])
        except Exception as error:  # of any kind: answers do not depend on the log
            self.lose(len(entries), (error.strerror if isinstance(error, OSError) else None) or error)
            return False
        if self._reason:
            self._reason = ""
            log.warning("query log: is written again.")
        return True


def _size(entry: Sequence[Lines]) -> int:
    return sum(len(lines.content) + len(lines.header) for lines in entry)


def _append(folder: Path, entries: Sequence[Lines]) -> None:
    """Append lines to their files; after an error, all files have their old lengths.

    Files of JSON are last: what their lines name is then in the other files, even if the process is killed.
    """
    parts: dict[tuple[str, bytes], list[bytes]] = {}
    for lines in entries:
        parts.setdefault((lines.name, lines.header), []).append(lines.content)
    opened: list[tuple[FileIO, int]] = []
    with ExitStack() as stack:
        try:
            for name, header in sorted(parts, key=lambda key: key[0].endswith(JSON_LINES)):
                file = stack.enter_context(_regular_file(folder / name))
                begins = _beginning(file, header, name.endswith(JSON_LINES))
                opened.append((file, os.fstat(file.fileno()).st_size))
                write_all(file, b"".join([begins, *parts[name, header]]))
        except BaseException:
            for file, size in opened:
                with suppress(OSError):
                    file.truncate(min(size, os.fstat(file.fileno()).st_size))
            raise


def _regular_file(path: Path) -> FileIO:
    """Return a file that is open for appending, and made where it is not there; a pipe is refused, not waited for."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    file = FileIO(os.open(path, flags, PRIVATE), "r+")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, f"{path.name} is a pipe or a device")
    return file


def _beginning(file: FileIO, header: bytes, is_json: bool) -> bytes:
    """Return what is written before new lines; cut off what a killed process left that could pass for a whole line."""
    size = os.fstat(file.fileno()).st_size
    stored = os.pread(file.fileno(), len(header), 0)
    if len(stored) < len(header) and header.startswith(stored):
        file.truncate(0)
        return header
    if stored != header:
        raise OSError(errno.EINVAL, "a file of other features")
    if not size or os.pread(file.fileno(), 1, size - 1) == b"\n":
        return b""
    if is_json:
        return b"\n"
    with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        whole = content.rfind(b"\n") + 1
    file.truncate(whole)
    return b""


def write_all(file: FileIO, content: bytes) -> None:
    """Write all bytes; OSError where the disk is full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a folder, which ends with the process; OSError where another holds it for too long."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, PRIVATE)
    try:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(errno.EAGAIN, "another process holds the lock") from None
                time.sleep(_STEP)
        yield
    finally:
        os.close(file)
