"""The log of queries: a topics file, the run of their candidates, what was shown and clicked, and their features."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import FileIO
from itertools import count
from pathlib import Path
from typing import Any

from rerank.clicks.reading import EVENTS, TOPICS, key_of_text
from rerank.errors import InvalidInputError, shown
from rerank.files.svmlight import svmlight_text
from rerank.service.appending import PRIVATE, Appender, Lines, write_all
from rerank.service.jobs import SearchJob
from rerank.service.settings import ServiceError, Settings
from rerank.types import RankingData, Run
from rerank.types.ids import id_array

CANDIDATES = "candidates.run"
KEY = ".key"
KEY_BYTES = 32
_LETTERS = 4  # bytes of a token for each document
_PLACE = "body.token"


@dataclass(frozen=True)
class Logged:
    """One query of a request: its id in the log, its text, the documents that are shown, and what is known of them."""

    query_id: str
    text: str
    doc_ids: Sequence[str]
    attributes: Mapping[str, Any]


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

    def names(self, job: SearchJob) -> dict[str, str]:
        """Return the ids in the log of a request's queries."""
        request = f"{job.request_id}-{self._prefix}{next(self._numbers):x}"
        return {name: f"{request}-{name}" for name in job.queries}

    def token(self, query_id: str, doc_ids: Iterable[str]) -> str:
        """Return what events of an answer must carry."""
        marks = urlsafe_b64encode(b"".join(map(self._mark, doc_ids))).decode()
        return f"{query_id}.{marks}.{self._signature(query_id, marks)}"

    def entry(
        self, job: SearchJob, queries: Sequence[Logged], names: Mapping[str, str], run: Run, data: RankingData | None
    ) -> list[Lines]:
        """Return what is written of an answer; `names` are the ids of its queries by those in `run` and `data`."""
        try:
            return self._entry(job, queries, names, run, data)
        except Exception as error:  # of any kind: the answer does not depend on the log
            self._appender.lose(1, error)
            return []

    def _entry(
        self, job: SearchJob, queries: Sequence[Logged], names: Mapping[str, str], run: Run, data: RankingData | None
    ) -> list[Lines]:
        session = {} if job.session is None else {"session_id": self._hash(job.session)}
        texts = []
        events = []
        for query in queries:
            text = " ".join(query.text.split())
            text = self._hash(key_of_text(text)) if self._hashes else text
            texts.append(f"{query.query_id}\t{text}\n")
            told = {"query_id": query.query_id, "user_query": text, "timestamp": _now(), **session}
            shown_docs = {"query_response_hit_ids": list(query.doc_ids), "query_attributes": dict(query.attributes)}
            events.append(told | shown_docs)
        entry = [
            Lines(TOPICS, "".join(texts).encode()),
            Lines(CANDIDATES, "".join(_run_lines(run, names)).encode()),
            Lines(EVENTS, _lines(events)),
        ]
        if self._features and data is not None:
            header, rows = svmlight_text(_of_queries(data, names))
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
                told = {"action_name": action, "query_id": query_id, "timestamp": _now()}
                events.append(told | {"event_attributes": attributes})
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
