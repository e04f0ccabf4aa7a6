"""Queries that Elasticsearch and OpenSearch share.

The query of a feature matches every document: a document that it does not match has no value of the feature, which
some versions of the plug-ins read as 0 and others as missing.
"""

from __future__ import annotations

from typing import Any

from rerank.exchange.engines.registry import EngineSettings, Query

SIMILARITY = "field {field}: BM25 with k1 = {k1:g} and b = {b:g}, and the analyser of the index of training"
LEGACY = f"{SIMILARITY}; in OpenSearch 3 the similarity LegacyBM25"
LENGTH = "field {field}.length: a token_count of {field} with its analyser and enable_position_increments false"
NUMBER = "field {field}: a number of 0 or more"


class QueryLanguage:
    """Queries with a parameter for the text that is searched for."""

    def __init__(self, parameter: str) -> None:
        self.text = f"{{{{{parameter}}}}}"

    def bm25(self, field: str, settings: EngineSettings) -> dict[str, Any]:
        """Return BM25 without the constant factor k1 + 1 by which the engine multiplies it."""
        return _with_all({"match": {field: {"query": self.text, "boost": 1.0 / (settings.k1 + 1.0)}}})

    def boolean(self, field: str, settings: EngineSettings) -> dict[str, Any]:
        """Return 1 where all terms are in the field, else 0."""
        every = {"match": {field: {"query": self.text, "operator": "and"}}}
        return _with_all({"constant_score": {"filter": every, "boost": 1.0}})

    def length(self, field: str, settings: EngineSettings) -> dict[str, Any]:
        """Return the number of tokens of a field, which is the value of its subfield `length`."""
        return self.number(f"{field}.length", settings)

    def number(self, field: str, settings: EngineSettings) -> dict[str, Any]:
        """Return a number of the documents, 0 where a document has none."""
        values = f"doc[{_quoted(field)}]"
        return _script({"match_all": {}}, f"{values}.size() == 0 ? 0 : {values}.value")

    def known_number(self, field: str, settings: EngineSettings) -> dict[str, Any]:
        """Return a number of the documents that have it."""
        return _script({"exists": {"field": field}}, f"doc[{_quoted(field)}].value")

    def term_statistic(self, source: str) -> Query:
        """Return the query function of a feature that a script computes from the statistics of the query's terms."""

        def query(field: str, settings: EngineSettings) -> dict[str, Any]:
            return _script(_with_all({"match": {field or settings.query_field: {"query": self.text}}}), source)

        return query

    def explorer(self, statistic: str) -> Query:
        """Return the query function of a feature that the plug-ins' match_explorer computes."""

        def query(field: str, settings: EngineSettings) -> dict[str, Any]:
            match = {"match": {field or settings.query_field: {"query": self.text}}}
            return _with_all({"match_explorer": {"type": statistic, "query": match}})

        return query


def _with_all(query: dict[str, Any]) -> dict[str, Any]:
    """Return a query that matches every document, with 0 where the given one does not match."""
    rest = {"constant_score": {"filter": {"match_all": {}}, "boost": 0.0}}
    return {"bool": {"should": [query, rest]}}


def _script(query: dict[str, Any], source: str) -> dict[str, Any]:
    return {"script_score": {"query": query, "script": {"source": source}}}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
