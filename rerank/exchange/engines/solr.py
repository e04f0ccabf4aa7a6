"""Solr's learning to rank: a feature store, whose queries take the search text from the parameter `efi.query`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rerank.exchange.engines.registry import STATIC, Engine, EngineFeature, EngineSettings, register_engine

_PACKAGE = "org.apache.solr.ltr.feature"
SIMILARITY = (
    "field {field}: BM25SimilarityFactory with k1 = {k1:g} and b = {b:g}, and the analyser of the index of training"
)
NUMBER = "field {field}: a number with docValues or stored"


def _parsed(field: str, operator: str) -> str:
    """Return a query of the terms of the search text, in which no character is an operator."""
    return f"{{!simple qf={field} q.operators='' q.op={operator}}}${{query}}"


def _bm25(field: str, settings: EngineSettings) -> dict[str, Any]:
    return {"class": f"{_PACKAGE}.SolrFeature", "params": {"q": _parsed(field, "OR")}}


def _boolean(field: str, settings: EngineSettings) -> dict[str, Any]:
    return {"class": f"{_PACKAGE}.SolrFeature", "params": {"fq": [_parsed(field, "AND")]}}


def _number(field: str, settings: EngineSettings) -> dict[str, Any]:
    return {"class": f"{_PACKAGE}.FieldValueFeature", "params": {"field": field, "defaultValue": "NaN"}}


@register_engine("solr")
class Solr(Engine):
    """A feature store, for `PUT schema/feature-store`."""

    title = "Solr"
    formats = ("solr",)
    features: ClassVar[tuple[EngineFeature, ...]] = (
        EngineFeature("bm25", _bm25, SIMILARITY, exact=False),
        EngineFeature("boolean", _boolean),
        EngineFeature(STATIC, _number, NUMBER),
    )

    def entry(self, name: str, query: dict[str, Any]) -> dict[str, Any]:
        """Return a feature of the store."""
        return {"name": name, **query}

    def feature_set(self, entries: Sequence[dict[str, Any]]) -> Any:
        """Return the features of a store."""
        return list(entries)
