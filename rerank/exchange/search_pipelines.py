"""Learned weights of runs as search pipelines, which fuse the results of several queries.

OpenSearch     a search pipeline with a normalization-processor, for a `hybrid` query (2.10 and later); the weights of
               its queries sum to 1
Elasticsearch  a `linear` retriever (8.18 and later, 9.0 and later), whose retrievers are placeholders to replace

Both normalise a retriever's scores within a query by min-max and add them up with weights; a document that a retriever
did not find has 0 there. That is what a fusion learned with `--norm minmax` does, up to the depth of the lists. The
only document, and equal scores, have 1, as in OpenSearch, which gives 0.001 to the lowest of several; Elasticsearch
leaves equal scores as they are.
"""

import re
from typing import Any

from rerank.exchange.registry import Format, LinearModel, cannot_say, indented_json, register

REMEDY = "Learn it with `rerank fuse --learn QRELS --norm minmax`."
WANTED = "a linear model with weights of at least 0 of min-max normalised scores of runs"
WINDOW = 100  # documents of each retriever: as many as `learn_fusion` learns from; the engine has 10 by default


class _Pipeline(Format):
    """A format of weights of runs."""

    writes = by_name = True
    linear_only = WANTED, REMEDY


@register("opensearch-pipeline")
class OpenSearchPipeline(_Pipeline):
    """Write the body of `PUT _search/pipeline/NAME`."""

    title = "OpenSearch's search pipeline (normalization-processor)"

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the body."""
        weights = _weights(self.name, model)
        total = sum(weights)
        shares = [round(weight / total, 6) for weight in weights]
        largest = shares.index(max(shares))
        shares[largest] = round(shares[largest] + 1.0 - sum(shares), 6)
        combination = {"technique": "arithmetic_mean", "parameters": {"weights": shares}}
        processor = {"normalization": {"technique": "min_max"}, "combination": combination}
        body = {
            "description": f"{name}: weights of the queries of a hybrid query, in the order of the runs",
            "phase_results_processors": [{"normalization-processor": processor}],
        }
        return indented_json(body)


@register("elasticsearch-retriever")
class ElasticsearchRetriever(_Pipeline):
    """Write the body of a search with a linear retriever."""

    title = "Elasticsearch's linear retriever"

    def write_linear(self, model: LinearModel, name: str) -> bytes:
        """Return the body; each retriever is a placeholder that matches every document."""
        retrievers: list[dict[str, Any]] = [
            {
                "retriever": {"standard": {"query": {"match_all": {"_name": f"source{number}"}}}},
                "weight": weight,
                "normalizer": "minmax",
            }
            for number, weight in enumerate(_weights(self.name, model), 1)
        ]
        return indented_json({"retriever": {"linear": {"retrievers": retrievers, "rank_window_size": WINDOW}}})


def _weights(name: str, model: LinearModel) -> list[float]:
    """Return the weight of each run; refuse a model of anything but min-max normalised scores of runs."""
    weights: dict[int, float] = {}
    for feature, weight in zip(model.feature_names or (), model.weights, strict=False):
        match = re.fullmatch(r"source(\d+)\.(\w+)", feature)
        if weight and (match is None or match[2] != "minmax"):
            raise cannot_say(name, WANTED, f"one of {feature}", REMEDY)
        if match is not None:
            weights[int(match[1])] = weights.get(int(match[1]), 0.0) + weight
    values = [weights[number] for number in sorted(weights)]
    if not values or min(values) < 0.0 or not max(values) > 0.0:
        raise cannot_say(name, WANTED, "other weights", REMEDY)
    return values
