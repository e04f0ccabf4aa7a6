"""Logs of OpenSearch's User Behavior Insights (UBI, schemas 1.0 to 1.3): events and queries, joined by the search.

An event has action_name, query_id (one search), event_attributes.object.object_id, event_attributes.position.ordinal,
and session_id (also in event_attributes) or client_id. The actions `impression`, `click` and `click_through` are read.
Other actions (by default add_to_cart, watch, view, purchase) are no clicks on results: they are skipped and counted. A
record of ubi_queries has query_id, user_query and query_response_hit_ids (query_response_object_ids or
query_response_objects_ids in early versions). It gives the text of a search, and its impressions if no event does.
Its query_attributes may say what ranked the hits: `ranker`, or `rankers` with `sides` (the number of each hit's ranker)
and `credits`, as `rerank serve` writes them. Lines of bulk requests (`{"index": ...}`) are skipped, and hits
(`{"_source": ...}`) are unwrapped.

https://docs.opensearch.org/docs/search-plugins/ubi/schemas
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rerank.clicks.columns import (
    COLUMNS,
    LIST,
    MISSING,
    read_credit,
    read_document,
    read_position,
    read_time,
    text_value,
)
from rerank.clicks.log_rows import LogPart, LogRows, OddRows, nested_row, place_of, row_fault
from rerank.errors import FileFormatError, shown
from rerank.files.source import LineFault
from rerank.runtime.json_text import ParseFault, parse_json
from rerank.types.data_frames import plain_name

IMPRESSION = "impression"
CLICKS = ("click", "click_through")
_HITS = ("query_response_object_ids", "query_response_objects_ids", "query_response_hit_ids")
_DECODED = ("event_attributes", "query_attributes", *_HITS)  # JSON text in CSV files and databases


def is_ubi(row: dict[str, Any]) -> bool:
    """Return whether the first row of a log is an event, a query, a hit or the head of a bulk request."""
    members = nested_row(row)
    if {"query_id", "user_query"} <= members.keys():  # another log may have both, but also has a position
        return set(COLUMNS["position"].names).isdisjoint(map(plain_name, members))
    return _is_wrapped(members) or any(name in members for name in ("action_name", "query_attributes", *_HITS))


def _is_wrapped(members: Mapping[str, Any]) -> bool:
    return any(isinstance(members.get(name), Mapping) for name in ("index", "create", "_source"))


@dataclass
class _Search:
    """One search, from its events and the record of its query.

    hits         ids of the documents, in the order of the answer
    time         seconds since 1970; NaN if unknown
    impressions  by document: position and time
    credits      by document: its ranker, and what a click on it counts for the ranker
    """

    text: str
    session: str
    hits: list[str] = field(default_factory=list)
    time: float = math.nan
    impressions: dict[str, tuple[int, float]] = field(default_factory=dict)
    clicked: set[str] = field(default_factory=set)
    credits: dict[str, tuple[str, float]] = field(default_factory=dict)


class UbiLog:
    """Events and queries of all parts of a log, joined by the id of the search."""

    def __init__(self, odd: OddRows) -> None:
        self.parts: list[LogPart] = []
        self._searches: dict[str, _Search] = {}  # by query_id
        self._actions: Counter[str] = Counter()  # number of skipped events of each action
        self._odd = odd

    def read(self, part: LogPart, rows: LogRows) -> None:
        """Add the events and queries of a part; those that cannot be read are counted."""
        self.parts.append(part)
        for place, row in rows:
            members = nested_row(row)
            source = members.get("_source", members)
            if isinstance(source, Mapping) and not (source is members and _is_wrapped(members)):
                try:
                    self._add(source)
                except LineFault as fault:
                    self._odd.add(row_fault(part, place, str(fault)))

    def _add(self, row: Mapping[str, Any]) -> None:
        members = _decoded(row)
        action = members.get("action_name")
        is_read = action in (IMPRESSION, *CLICKS)
        if action is not None and not is_read:
            self._actions[str(action)] += 1
        if not is_read and "user_query" not in members:
            return
        name = text_value(members.get("query_id"), "query_id")
        search = self._searches.setdefault(name, _Search(name, f"search {name}"))
        if members.get("user_query"):
            search.text = text_value(members["user_query"], "user_query")
        attributes = _object(members.get("event_attributes"), "event_attributes")
        session = members.get("session_id") or attributes.get("session_id") or members.get("client_id")
        if session:
            search.session = text_value(session, "session_id")
        name, hits = next(((name, members[name]) for name in _HITS if members.get(name) is not None), ("", None))
        if hits is not None:
            if not isinstance(hits, list):
                raise LineFault(
                    f"expected a list as {name}, got {shown(hits)}. Write JSONL, or make lists of a frame's texts: "
                    f"frame[{name!r}].map(ast.literal_eval)."
                )
            search.time = read_time(members.get("timestamp"), "timestamp")
            hits = [read_document(doc, name) for doc in hits]
            search.hits = list(dict.fromkeys([*search.hits, *hits]))  # a further page is a record with the same id
            _add_rankers(search, hits, _object(members.get("query_attributes"), "query_attributes"))
        if is_read:
            _add_event(search, str(action), members.get("timestamp"), attributes)

    def impressions(self) -> tuple[LogRows, list[str]]:
        """Return the rows of the impressions, search by search, and messages about what was changed or left out."""
        searches = list(self._searches.values())
        from_0 = any(place == 0 for search in searches for place, _ in search.impressions.values())
        for search in searches:
            if not search.impressions:
                for position, doc in enumerate(search.hits, 1 - from_0):
                    search.impressions[doc] = position, search.time
        passed = ", ".join(f"{shown(action)[1:-1]} ({count:,})" for action, count in self._actions.most_common())
        if not any(search.impressions for search in searches):
            got = ", but ".join(["none", *filter(None, [passed]), *self._odd.notes()]).removesuffix(".")
            raise FileFormatError(
                place_of(self.parts[-1]),
                None,
                f"expected impression events or queries with query_response_hit_ids, got {got}. Log also "
                "what was shown.",
            )
        notes = ["ordinals count from 0: 1 was added to each."] if from_0 else []
        unnamed = sum(bool(search.impressions) and search.text == name for name, search in self._searches.items())
        if unnamed:
            notes.append(f"{unnamed:,} searches without user_query: each is a query of its own. Give ubi_queries, too.")
        lost = sum(len(search.clicked - search.impressions.keys()) for search in searches)
        if lost:
            notes.append(f"{lost:,} clicks without an impression of the document: dropped.")
        if passed:
            notes.append(f"events of other actions: {passed}: passed over.")
        return enumerate(self._rows(from_0)), notes

    def _rows(self, from_0: bool) -> Iterator[dict[str, Any]]:
        """Yield the rows of the impressions; all have a ranker and a credit if any search names rankers."""
        has_credits = any(search.credits for search in self._searches.values())
        for name, search in self._searches.items():
            for place, doc, time in sorted((place, doc, time) for doc, (place, time) in search.impressions.items()):
                row = {
                    "query": search.text,
                    "document": doc,
                    "position": place if place == MISSING else place + from_0,
                    "clicked": doc in search.clicked,
                    "session": search.session,
                    "time": time,
                    LIST: name,
                }
                ranker, credit = search.credits.get(doc, ("unknown", 0.0))
                yield row | {"ranker": ranker, "credit": credit} if has_credits else row


def _add_rankers(search: _Search, hits: Sequence[str], attributes: Mapping[str, Any]) -> None:
    """Add the ranker and the credit of each hit of a search, if the attributes of its query name them."""
    columns = [attributes.get(name) for name in ("rankers", "sides", "credits")]
    if "ranker" in attributes:
        columns = [[attributes["ranker"]], [0] * len(hits), [0.0] * len(hits)]
    elif columns == [None, None, None]:
        return
    rankers, sides, credits = (column if isinstance(column, list) else [] for column in columns)
    if not len(hits) == len(sides) == len(credits) or any(side not in range(len(rankers)) for side in sides):
        raise LineFault(
            "expected query_attributes with rankers, and in sides and credits one value for each hit (in sides "
            "the number of its ranker, from 0), got others. Write one for each hit."
        )
    for doc, side, credit in zip(hits, sides, credits, strict=True):
        ranker = text_value(rankers[int(side)], "query_attributes.rankers")  # Parquet and frames may hold 1.0
        search.credits[doc] = ranker, read_credit(credit, "query_attributes.credits")


def _add_event(search: _Search, action: str, time: Any, attributes: Mapping[str, Any]) -> None:
    document = _object(attributes.get("object"), "event_attributes.object")
    doc = read_document(document.get("object_id"), "event_attributes.object.object_id")
    if action in CLICKS:
        search.clicked.add(doc)
        return
    place = _object(attributes.get("position"), "event_attributes.position").get("ordinal", attributes.get("rank"))
    place = place.get("index") if isinstance(place, Mapping) else place  # schemas up to 1.2
    ordinal = read_position(place, "event_attributes.position.ordinal")
    search.impressions.setdefault(doc, (ordinal, read_time(time, "timestamp")))


def _decoded(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record with objects and lists decoded from JSON text; other text stays, and is refused later."""
    decoded = {}
    for name in _DECODED:
        if isinstance(text := row.get(name), str):
            with suppress(ParseFault):
                decoded[name] = parse_json(text) if text else None
    return {**row, **decoded} if decoded else row


def _object(value: Any, name: str) -> Mapping[str, Any]:
    """Return an object of a record; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LineFault(f"expected an object as {name}, got another value. Write events of UBI's schema.")
    return value
