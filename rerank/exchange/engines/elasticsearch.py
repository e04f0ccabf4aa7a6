"""Elastic's learning to rank: feature extractors, with term statistics in scripts (from version 8.16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rerank.exchange.engines.query_language import LENGTH, NUMBER, SIMILARITY, QueryLanguage
from rerank.exchange.engines.registry import NO_FIELD, STATIC, Engine, EngineFeature, register_engine

_QUERIES = QueryLanguage("query")


@register_engine("elasticsearch")
class Elasticsearch(Engine):
    """The feature extractors of a trained model."""

    title = "Elastic's learning to rank"
    formats = ("elasticsearch",)
    features: ClassVar[tuple[EngineFeature, ...]] = (
        EngineFeature("bm25", _QUERIES.bm25, SIMILARITY, exact=False),
        EngineFeature("boolean", _QUERIES.boolean),
        EngineFeature("covered", _QUERIES.term_statistic("_termStats.matchedTermsCount()")),
        EngineFeature(
            "covered_ratio",
            _QUERIES.term_statistic("_termStats.matchedTermsCount() / (double) _termStats.uniqueTermsCount()"),
        ),
        EngineFeature("tf_sum", _QUERIES.term_statistic("_termStats.termFreq().getSum()")),
        EngineFeature("tf_min", _QUERIES.term_statistic("_termStats.termFreq().getMin()")),
        EngineFeature("tf_max", _QUERIES.term_statistic("_termStats.termFreq().getMax()")),
        EngineFeature("tf_mean", _QUERIES.term_statistic("_termStats.termFreq().getAverage()")),
        EngineFeature("stream_length", _QUERIES.length, LENGTH),
        EngineFeature(STATIC, _QUERIES.known_number, NUMBER),
        EngineFeature(NO_FIELD, _QUERIES.term_statistic("_termStats.uniqueTermsCount()")),
    )

    def entry(self, name: str, query: dict[str, Any]) -> dict[str, Any]:
        """Return a feature extractor."""
        return {"query_extractor": {"feature_name": name, "query": query}}

    def feature_set(self, entries: Sequence[dict[str, Any]]) -> Any:
        """Return the part of a trained model with the feature extractors."""
        return {"inference_config": {"learning_to_rank": {"feature_extractors": list(entries)}}}
