"""The log of queries: a topics file, the run of their candidates, what was shown and clicked, and their features.

A thread of its own appends to the files: a request never waits for a disk or for a lock. A process that is killed in an
append leaves a line without its end, which is cut off before the next append.
"""

import hashlib
import hmac
import json
import os
import secrets
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from io import FileIO
from itertools import count
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import Counter

from rerank.clicks.reading import EVENTS, TOPICS, key_of_text
from rerank.errors import InvalidInputError, log, shown
from rerank.files.svmlight import svmlight_text
from rerank.runtime.output import wait_for_lock
from rerank.service.bodies import SearchJob
from rerank.service.settings import ServiceError, Settings
from rerank.types import RankingData, Run, id_array

CANDIDATES_FILE = "candidates.run"
KEY = ".key"
KEY_BYTES = 32
_LETTERS = 4  # bytes of a token for each document
MOST_BYTES = 64 << 20  # of the entries that wait
_END_SECONDS = 2.0  # for what waits at the end
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a pipe is refused, not waited for; Windows has none among files
PRIVATE = 0o600
LOST = Counter("rerank_log_lost", "Entries that were not written to the log of queries.")


class LoggedLines(NamedTuple):
    """Whole lines for the end of a file, and what the file begins with."""

    name: str
    content: bytes
    header: bytes = b""


class Appender:
    """Appends entries to the files of a folder, as other processes may do: all lines of an entry, or none.

    What cannot be written is counted, and its cause logged once: nothing that appends gets an error.

    Parameters
    ----------
    folder : Path
        The folder.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: list[tuple[Sequence[LoggedLines], Future[bool]]] = []
        self._changed = threading.Condition()
        self._n_bytes = 0
        self._ends = False
        self._reason = ""  # why the last entries were lost
        self._thread = threading.Thread(target=self._work, name="rerank-log", daemon=True)
        self._thread.start()

    def put(self, entry: Sequence[LoggedLines]) -> Future[bool]:
        """Append an entry soon; return whether it was written, as a future that can be cancelled until it is."""
        done: Future[bool] = Future()
        size = sum(len(lines.content) + len(lines.header) for lines in entry)
        with self._changed:
            if not self._ends and self._n_bytes + size <= MOST_BYTES:
                self._n_bytes += size
                self._queue.append((entry, done))
                self._changed.notify()
                return done
        self._lose(1, "too many entries that wait")
        done.set_result(False)
        return done

    def close(self) -> None:
        """Write what waits, and end the thread; what takes too long is lost."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        self._thread.join(_END_SECONDS)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._ends)
                taken = self._queue
                self._queue = []
                self._n_bytes = 0
            if not taken:
                return
            self._write(taken)

    def _write(self, taken: Sequence[tuple[Sequence[LoggedLines], Future[bool]]]) -> None:
        """Append entries, all or none, when no other process does; those that are cancelled until then are left out."""
        reason: object = ""
        try:
            with _opened(self._folder / ".lock") as lock:
                wait_for_lock(lock.fileno())
                taken = [(entry, done) for entry, done in taken if done.set_running_or_notify_cancel()]
                _append(self._folder, [lines for entry, _ in taken for lines in entry])
        except Exception as error:  # of any kind: answers do not depend on the log
            reason = (error.strerror if isinstance(error, OSError) else None) or error
        if reason:
            self._lose(len(taken), reason)
        elif self._reason:
            self._reason = ""
            log.warning("query log: is written again.")
        for _, done in taken:
            if done.running() or done.set_running_or_notify_cancel():
                done.set_result(not reason)

    def _lose(self, n_entries: int, reason: object) -> None:
        """Count entries that are not written; log the reason, unless it was that of the last ones."""
        LOST.inc(n_entries)
        if str(reason) != self._reason:
            self._reason = str(reason)
            log.warning("query log: expected a log that can be written, got: %s. Entries are lost.", reason)


class QueryLog(Appender):
    """Appends to the files of a folder; several processes may do so.

    topics.tsv      query id and text, with a tab between them; the id is that of the request, which clients may repeat,
                    a number that is given once, and the query's in the request
    candidates.run  BM25's documents of each query, a TREC run
    events.jsonl    what was shown and clicked, as OpenSearch's User Behavior Insights have it
    features-X.svm  features of the candidates, SVMlight; X differs between models of other features

    An answer's token says, signed with the key of the folder, which documents it has: a click without an impression is
    refused by any process, and nothing is kept between requests.

    Parameters
    ----------
    settings : Settings
        The folder, which is made, and what is written.

    """

    def __init__(self, settings: Settings) -> None:
        folder = settings.log_queries or Path()
        self._settings = settings
        self._prefix = secrets.token_hex(4)
        self._numbers = count(1)
        self._key = folder_key(folder)
        super().__init__(folder)

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
    ) -> list[LoggedLines]:
        """Return what is written of an answer, and add their tokens to its results.

        results  of each query, and what is known of it
        names    of its queries in `run` and `data`
        """
        request = f"{job.request_id}-{self._prefix}{next(self._numbers):x}"
        ids = {name: f"{request}-{result['query_id']}" for name, (result, _) in zip(names, results, strict=True)}
        session = {} if job.body.session is None else {"session_id": self._hash(job.body.session)}
        topics = []
        events = []
        for query_id, (result, attributes) in zip(ids.values(), results, strict=True):
            hit_ids = [hit["id"] for hit in result["hits"]]
            result["token"] = self.token(query_id, hit_ids)
            text = " ".join(result["query"].split())
            text = self._hash(key_of_text(text)) if self._settings.log_hashes else text
            topics.append(f"{query_id}\t{text}\n")
            event = {"query_id": query_id, "user_query": text, "timestamp": _now(), **session}
            events.append(event | {"query_response_hit_ids": hit_ids, "query_attributes": attributes})
        entry = [
            LoggedLines(TOPICS, "".join(topics).encode()),
            LoggedLines(CANDIDATES_FILE, "".join(_run_lines(run, ids)).encode()),
            LoggedLines(EVENTS, _lines(events)),
        ]
        if self._settings.log_features and data is not None:
            own = data.select([number for number, query_id in enumerate(data.query_ids.tolist()) if query_id in ids])
            names_in_log = id_array([ids[query_id] for query_id in own.query_ids.tolist()])
            header, rows = svmlight_text(replace(own, query_ids=names_in_log))
            entry.append(LoggedLines(f"features-{hashlib.sha256(header).hexdigest()[:8]}.svm", rows, header))
        return entry

    def events(self, token: str, shown_ids: Sequence[str], clicked_ids: Sequence[str]) -> list[LoggedLines]:
        """Return what is written of shown and clicked documents; ServiceError where the answer does not have them."""
        query_id, marks, signature = ("", "", *token.rsplit(".", 2))[-3:]
        if not hmac.compare_digest(signature.encode(), self._signature(query_id, marks).encode()):
            raise ServiceError(
                422, "body.token", "the token of an answer of this service", "another text",
                "Send it as it was answered.",
            )  # fmt: skip
        known = urlsafe_b64decode(marks)
        places = {known[first : first + _LETTERS]: first // _LETTERS + 1 for first in range(0, len(known), _LETTERS)}
        events = []
        for action, key, doc_ids in (("impression", "shown", shown_ids), ("click", "clicks", clicked_ids)):
            for number, doc_id in enumerate(doc_ids):
                place = places.get(self._mark(doc_id))
                if place is None:
                    raise ServiceError(
                        422, f"body.{key}[{number}]", "a document of the answer", shown(doc_id),
                        "Report what the answer showed.",
                    )  # fmt: skip
                attributes = {"object": {"object_id": doc_id}, "position": {"ordinal": place}}
                event = {"action_name": action, "query_id": query_id, "timestamp": _now()}
                events.append(event | {"event_attributes": attributes})
        return [LoggedLines(EVENTS, _lines(events))]

    def _keyed(self, text: str, size: int) -> bytes:
        """Return the keyed hash (BLAKE2b) of a text, of some bytes."""
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size, key=self._key).digest()

    def _mark(self, doc_id: str) -> bytes:
        return self._keyed(doc_id, _LETTERS)

    def _signature(self, query_id: str, marks: str) -> str:
        return self._keyed(f"{query_id}.{marks}", 12).hex()

    def _hash(self, text: str) -> str:
        """Return what is stored in place of a text."""
        return self._keyed(text, 10).hex()


def folder_key(folder: Path) -> bytes:
    """Return the key of a folder, which its first process makes; InvalidInputError where that fails or is no key."""
    path = folder / KEY
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _make_key(path)
        with FileIO(os.open(path, os.O_RDONLY | _AT_ONCE)) as file:
            key = file.read()
    except OSError as error:
        raise InvalidInputError(
            f"--log: expected a folder with a key that can be read, or in which one can be made, got {folder} "
            f"({error.strerror}). Name another."
        ) from None
    if len(key) != KEY_BYTES:
        raise InvalidInputError(
            f"{path}: expected a key of {KEY_BYTES} bytes, got {len(key)} bytes. Remove it (a new one is made, and "
            "earlier tokens are refused), or copy that of another machine."
        )
    return key


def _make_key(path: Path) -> None:
    """Make the file of a key with all of its bytes, or not at all; that of another process stays."""
    part = path.with_name(f"{KEY}.{secrets.token_hex(6)}.part")
    try:
        with _opened(part) as file:
            _write_all(file, secrets.token_bytes(KEY_BYTES))
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
        for rank, (doc_id, score) in enumerate(run[own].items(), start=1):
            yield f"{name} Q0 {doc_id} {rank} {score!r} {run.name}\n"


def _append(folder: Path, entries: Sequence[LoggedLines]) -> None:
    """Append lines to their files; after an error, all files have their old lengths.

    The events are last: what their lines name is then in the other files, even if the process is killed.
    """
    parts: dict[tuple[str, bytes], list[bytes]] = {}
    for lines in entries:
        parts.setdefault((lines.name, lines.header), []).append(lines.content)
    opened: list[tuple[FileIO, int]] = []
    with ExitStack() as stack:
        try:
            for name, header in sorted(parts, key=lambda key: key[0] == EVENTS):
                file = stack.enter_context(_opened(folder / name))
                begins = _beginning(file, header)
                opened.append((file, os.fstat(file.fileno()).st_size))
                _write_all(file, b"".join([begins, *parts[name, header]]))
        except BaseException:
            for file, size in opened:
                with suppress(OSError):
                    file.truncate(size)
            raise


def _opened(path: Path) -> FileIO:
    """Return a file that is open for appending, and made where it is not there."""
    return FileIO(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _AT_ONCE, PRIVATE), "r+")


def _beginning(file: FileIO, header: bytes) -> bytes:
    """Return the header that a file lacks; cut off what a killed process left behind the last whole line."""
    if os.fstat(file.fileno()).st_size <= len(header):
        file.truncate(0)
        return header
    with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        end = content.rfind(b"\n") + 1
    file.truncate(end)  # Windows shortens no mapped file
    return b""


def _write_all(file: FileIO, content: bytes) -> None:
    """Write all bytes; OSError where the disk is full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
