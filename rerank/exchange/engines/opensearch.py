"""The learning-to-rank plug-ins for OpenSearch and Elasticsearch: feature sets of query templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rerank.exchange.engines.query_language import LEGACY, LENGTH, NUMBER, QueryLanguage
from rerank.exchange.engines.registry import NO_FIELD, STATIC, Engine, EngineFeature, register_engine

PARAMETER = "keywords"  # of a search request, with the text that is searched for
_QUERIES = QueryLanguage(PARAMETER)


@register_engine("opensearch")
class OpenSearch(Engine):
    """A feature set, for `POST _ltr/_featureset/NAME`."""

    title = "the learning-to-rank plug-in of OpenSearch and Elasticsearch"
    formats = ("xgboost-dump", "ranklib")
    features: ClassVar[tuple[EngineFeature, ...]] = (
        EngineFeature("bm25", _QUERIES.bm25, LEGACY, exact=False),
        EngineFeature("boolean", _QUERIES.boolean),
        EngineFeature("tf_sum", _QUERIES.explorer("sum_raw_tf")),
        EngineFeature("tf_max", _QUERIES.explorer("max_raw_tf")),
        EngineFeature("stream_length", _QUERIES.length, LENGTH),
        EngineFeature(STATIC, _QUERIES.number, NUMBER, missing_is_zero=True),
        EngineFeature(NO_FIELD, _QUERIES.explorer("unique_terms_count")),
    )

    def entry(self, name: str, query: dict[str, Any]) -> dict[str, Any]:
        """Return a feature with its template."""
        return {"name": name, "params": [PARAMETER], "template_language": "mustache", "template": query}

    def feature_set(self, entries: Sequence[dict[str, Any]]) -> Any:
        """Return the body of the request that creates a feature set."""
        return {"featureset": {"features": list(entries)}}
