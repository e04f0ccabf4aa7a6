"""Events of OpenSearch's User Behavior Insights (UBI, schema 1.0) as impressions.

An event has action_name, query_id (one search), event_attributes.object.object_id, event_attributes.position.ordinal,
and session_id or client_id; `impression` and `click` are read, other actions are passed over. A record of ubi_queries
has query_id, user_query and query_response_hit_ids: it gives the text of a search, and its impressions where no event
does. Its query_attributes may say what ranked the hits: `ranker`, or `rankers` with `sides` (the number of each hit's
ranker) and `credits`, as `rerank serve` writes them. Lines of bulk requests (`{"index": ...}`) are skipped, and hits
(`{"_source": ...}`) are unwrapped.

https://docs.opensearch.org/docs/search-plugins/ubi/schemas
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rerank.clicks.batches import (
    MISSING,
    Batch,
    Coded,
    credit_value,
    document_value,
    position_value,
    text_value,
    time_value,
)
from rerank.errors import FileFormatError
from rerank.files.source import LineFault, chunks, json_object, of_line, text

IMPRESSION, CLICK = "impression", "click"


def log_objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the number and the object of each line that is not blank, None for one that is no whole object."""
    for first, chunk in chunks(path):
        for line, raw in enumerate(chunk.split(b"\n"), first):
            if raw.strip():
                try:
                    yield line, json_object(text(raw))
                except LineFault:
                    yield line, None


def is_ubi(members: Mapping[str, Any]) -> bool:
    """Return whether the first object of a file is an event, a query, a hit or the head of a bulk request."""
    return "action_name" in members or "query_response_hit_ids" in members or _is_wrapped(members)


def _is_wrapped(members: Mapping[str, Any]) -> bool:
    heads = [members.get(name) for name in ("index", "create", "_source")]
    return any(isinstance(head, Mapping) for head in heads)


class UbiLog:
    """Events and queries of all files of a log, joined by the id of the search."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._sessions: dict[int, str] = {}
        self._hits: dict[int, list[str]] = {}
        self._impressions: dict[tuple[int, str], tuple[int, float]] = {}
        self._clicks: set[tuple[int, str]] = set()
        self._times: dict[int, float] = {}  # of the searches
        self._credits: dict[tuple[int, str], tuple[str, float]] = {}  # ranker, and what a click counts for it
        self._torn: list[str] = []  # places of lines that a full disk or a killed process cut off

    def read(self, path: Path) -> None:
        """Add the events and queries of a file; lines that are no whole objects are counted."""
        for line, members in log_objects(path):
            if members is None:
                self._torn.append(f"{path}:{line}")
                continue
            source = members.get("_source", members)
            if isinstance(source, Mapping) and not (source is members and _is_wrapped(members)):
                of_line(path, line, self._add, source)

    def _add(self, members: Mapping[str, Any]) -> None:
        action = members.get("action_name")
        if action not in (IMPRESSION, CLICK) and "user_query" not in members:
            return
        search = self._numbers.setdefault(text_value(members.get("query_id"), "query_id"), len(self._numbers))
        if members.get("user_query"):
            self._texts[search] = text_value(members["user_query"], "user_query")
        session = members.get("session_id") or members.get("client_id")
        if session:
            self._sessions[search] = text_value(session, "session_id")
        hits = members.get("query_response_hit_ids")
        if isinstance(hits, list):
            self._hits[search] = [document_value(doc, "query_response_hit_ids") for doc in hits]
            self._times[search] = time_value(members.get("timestamp"), "timestamp")
            self._add_rankers(search, _object(members.get("query_attributes"), "query_attributes"))
        if action in (IMPRESSION, CLICK):
            self._add_event(search, str(action), members)

    def _add_rankers(self, search: int, attributes: Mapping[str, Any]) -> None:
        """Add what ranked the hits of a search, where it is told."""
        hits = self._hits[search]
        given = attributes.get("rankers"), attributes.get("sides"), attributes.get("credits")
        if "ranker" in attributes:
            given = [attributes["ranker"]], [0] * len(hits), [0.0] * len(hits)
        elif given == (None, None, None):
            return
        rankers, sides, credits = (each if isinstance(each, list) else [] for each in given)
        if not len(hits) == len(sides) == len(credits) or any(side not in range(len(rankers)) for side in sides):
            raise LineFault(
                "expected as query_attributes rankers, and of each hit the number of its ranker in sides, and credits, "
                "got others. Write one for each hit."
            )
        for doc, side, credit in zip(hits, sides, credits, strict=True):
            ranker = text_value(rankers[side], "query_attributes.rankers")
            self._credits[search, doc] = ranker, credit_value(credit, "query_attributes.credits")

    def _add_event(self, search: int, action: str, members: Mapping[str, Any]) -> None:
        attributes = _object(members.get("event_attributes"), "event_attributes")
        shown = _object(attributes.get("object"), "event_attributes.object")
        doc = document_value(shown.get("object_id"), "event_attributes.object.object_id")
        if action == CLICK:
            self._clicks.add((search, doc))
            return
        place = _object(attributes.get("position"), "event_attributes.position").get("ordinal", attributes.get("rank"))
        ordinal = position_value(place, "event_attributes.position.ordinal")
        self._impressions.setdefault((search, doc), (ordinal, time_value(members.get("timestamp"), "timestamp")))

    def batch(self, path: Path) -> tuple[Batch, list[str]]:
        """Return the impressions, list by list, and what is to be told of them."""
        shown = {search for search, _ in self._impressions}
        for search, docs in self._hits.items():
            if search not in shown:
                for position, doc in enumerate(docs, 1):
                    self._impressions.setdefault((search, doc), (position, self._times[search]))
        if not self._impressions:
            raise FileFormatError(
                path,
                None,
                "expected impression events or queries with query_response_hit_ids, got none. Log what was shown, too.",
            )
        from_0 = any(ordinal == 0 for ordinal, _ in self._impressions.values())
        notes = ["ordinals count from 0: 1 was added to each."] if from_0 else []
        lost = len(self._clicks - self._impressions.keys())
        if lost:
            notes.append(f"{lost:,} clicks without an impression of the document: dropped.")
        if self._torn:
            notes.append(
                f"{len(self._torn):,} lines that are no whole JSON objects, the first {self._torn[0]}: dropped."
            )
        places = {key: place + from_0 if place != MISSING else place for key, (place, _) in self._impressions.items()}
        rows = sorted((key[0], places[key], key[1], time) for key, (_, time) in self._impressions.items())
        return self._rows(rows), notes

    def _rows(self, rows: list[tuple[int, int, str, float]]) -> Batch:
        names = list(self._numbers)
        searches, places, docs, times = zip(*rows, strict=True)
        of_search, numbers = np.unique(np.array(searches), return_inverse=True)
        documents: dict[str, int] = {}
        of_doc = np.array([documents.setdefault(doc, len(documents)) for doc in docs])
        queries = [self._texts.get(search, names[search]) for search in of_search.tolist()]
        sessions = [self._sessions.get(search, f"search {names[search]}") for search in of_search.tolist()]
        credited = [self._credits.get((search, doc), ("unknown", 0.0)) for search, _, doc, _ in rows]
        names_of_rankers = list(dict.fromkeys(ranker for ranker, _ in credited))
        numbers_of_rankers = {ranker: number for number, ranker in enumerate(names_of_rankers)}
        ranker = np.array([numbers_of_rankers[ranker] for ranker, _ in credited])
        return Batch(
            query=Coded(queries, numbers.reshape(-1)),
            document=Coded(list(documents), of_doc),
            position=np.array(places, dtype=np.int64),
            clicked=np.array([(search, doc) in self._clicks for search, _, doc, _ in rows], dtype=np.bool_),
            session=Coded(sessions, numbers.reshape(-1)),
            time=np.array(times, dtype=np.float64),
            ranker=Coded(names_of_rankers, ranker) if self._credits else None,
            credit=np.array([credit for _, credit in credited]) if self._credits else None,
        )


def _object(value: Any, name: str) -> Mapping[str, Any]:
    """Return an object of an event, an empty one where it is missing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LineFault(f"expected an object as {name}, got another value. Write events of UBI's schema.")
    return value
