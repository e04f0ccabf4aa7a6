"""The log of queries: a topics file, the run of their candidates, what was shown and clicked, and their features."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from rerank.clicks.reading import EVENTS, TOPICS, key_of_text
from rerank.errors import shown
from rerank.files.svmlight import append_svmlight
from rerank.service.faults import ServiceError
from rerank.service.jobs import SearchJob
from rerank.service.settings import Settings
from rerank.types import RankingData, Run
from rerank.types.ids import id_array

log = logging.getLogger("rerank")
CANDIDATES, KEY = "candidates.run", ".key"
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
    refused by any process, and nothing is kept between requests.

    Parameters
    ----------
    settings : Settings
        The folder, which is made, and what is written.

    """

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.log_queries or Path()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._features, self._hashes = settings.log_features, settings.log_hashes
        self._prefix, self._numbers = secrets.token_hex(4), count(1)
        self._key = self._own_key()

    def _own_key(self) -> bytes:
        """Return the key of the folder, which its first process makes."""
        path = self._folder / KEY
        with self._locked():
            if not path.is_file():
                path.touch(0o600)
                path.write_bytes(secrets.token_bytes(32))
        return path.read_bytes()

    def names(self, job: SearchJob) -> dict[str, str]:
        """Return the ids in the log of a request's queries."""
        request = f"{job.request_id}-{self._prefix}{next(self._numbers):x}"
        return {name: f"{request}-{name}" for name in job.queries}

    def token(self, query_id: str, doc_ids: Iterable[str]) -> str:
        """Return what events of an answer must carry."""
        marks = urlsafe_b64encode(b"".join(map(self._mark, doc_ids))).decode()
        return f"{query_id}.{marks}.{self._signature(query_id, marks)}"

    def write(
        self, job: SearchJob, queries: Sequence[Logged], names: Mapping[str, str], run: Run, data: RankingData | None
    ) -> None:
        """Write the queries of a request; `names` are their ids in the log by those in `run` and `data`."""
        session = {} if job.session is None else {"session_id": self._hash(job.session)}
        texts, events = [], []
        for query in queries:
            text = " ".join(query.text.split())
            text = self._hash(key_of_text(text)) if self._hashes else text
            texts.append(f"{query.query_id}\t{text}\n")
            told = {"query_id": query.query_id, "user_query": text, "timestamp": _now(), **session}
            shown_docs = {"query_response_hit_ids": list(query.doc_ids), "query_attributes": dict(query.attributes)}
            events.append(told | shown_docs)
        with self._written():
            self._append(TOPICS, "".join(texts))
            self._append(CANDIDATES, "".join(_run_lines(run, names)))
            self._append(EVENTS, _lines(events))
            if self._features and data is not None:
                rows = _of_queries(data, names)
                append_svmlight(rows, self._folder / f"features-{_digest(rows)}.svm")

    def write_events(self, token: str, shown_ids: Sequence[str], clicked_ids: Sequence[str]) -> None:
        """Write what was shown and clicked of an answer; raises ServiceError where the answer does not have it."""
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
        with self._written():
            self._append(EVENTS, _lines(events))

    def _mark(self, doc_id: str) -> bytes:
        return hashlib.blake2b(doc_id.encode(), digest_size=_LETTERS, key=self._key).digest()

    def _signature(self, query_id: str, marks: str) -> str:
        return hashlib.blake2b(f"{query_id}.{marks}".encode(), digest_size=12, key=self._key).hexdigest()

    def _hash(self, text: str) -> str:
        """Return the keyed hash (BLAKE2b) that is stored in place of a text."""
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=10, key=self._key).hexdigest()

    def _append(self, name: str, text: str) -> None:
        with open(self._folder / name, "ab") as handle:
            handle.write(text.encode())

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Hold the folder's lock in the block; a full disk is logged and does not fail the request."""
        try:
            with self._locked():
                yield
        except OSError as error:
            log.warning("query log: expected a folder that can be written, got: %s.", error.strerror)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock, which ends with the process."""
        with open(self._folder / ".lock", "wb") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _lines(events: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n" for event in events)


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


def _digest(data: RankingData) -> str:
    """Return a few letters that tell features of one recipe from those of another."""
    text = repr((data.feature_names, data.recipe, data.fingerprint, data.retriever))
    return hashlib.sha256(text.encode()).hexdigest()[:8]
