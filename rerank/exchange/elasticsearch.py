"""Files for Elasticsearch and OpenSearch: trees as Elastic's trained model, and weights of runs.

Elastic's trained model of the kind learning_to_rank (Elastic's own, licensed feature; not the plug-in).

Values, thresholds and sums are float64, `x <= threshold` goes left, and `default_left` says where a missing value goes.

Learned weights of runs as search pipelines of engines: what fuses the results of several queries there.

Both normalise a retriever's scores within a query by min-max and add them up with weights; a document that a retriever
did not find has 0 there. That is what a fusion learned with `--norm minmax` does, up to the depth of the lists. The
only document, and equal scores, have 1, as in OpenSearch, which gives 0.001 to the lowest of several; Elasticsearch
leaves equal scores as they are.

OpenSearch     a search pipeline with a normalization-processor, for a `hybrid` query (2.10 and later); the weights of
               its queries sum to 1
Elasticsearch  a `linear` retriever (8.18 and later, 9.0 and later), whose retrievers are placeholders to replace
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.exchange.build import flat_children, node_counts, summed, whole_counts, with_constant
from rerank.exchange.engines import ELASTICSEARCH, STATIC
from rerank.exchange.registry import (
    Format,
    LinearModel,
    TreeModel,
    WriteOptions,
    cannot_say,
    compact_json,
    indented_json,
    register,
)
from rerank.rankers.arrays import numbered_names
from rerank.trees.forest import Tree

REMEDY = "Learn it with `rerank fuse --learn QRELS --norm minmax`."
_FEATURE = re.compile(r"source(\d+)\.(\w+)")
_MINMAX = "minmax"
WINDOW = 100  # documents of each retriever: as many as `learn_fusion` learns from; the engine's default is 10
WANTED = "a linear model with weights of at least 0 of min-max normalised scores of runs"


@register("elasticsearch")
class Elasticsearch(Format):
    """Write the body of `PUT _ml/trained_models/NAME`."""

    title = "Elastic's trained model (learning_to_rank)"
    writes = by_name = True

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the body; a feature that the engine does not compute is the number in a field of its name."""
        forest = summed(model, "elasticsearch").forest
        names = model.feature_names or numbered_names(model.n_features)
        trees = replace(forest, leaf_count=whole_counts(forest, self.name)).trees()
        trained = [
            {"tree": {"feature_names": list(names), "target_type": "regression", "tree_structure": _stored(tree)}}
            for tree in with_constant(trees, model.constant)
        ]
        ensemble = {
            "feature_names": list(names),
            "target_type": "regression",
            "trained_models": trained,
            "aggregate_output": {"weighted_sum": {}},
        }
        portable = ELASTICSEARCH.portable(names, options.recipe)
        queries = {name: name if name in portable else f"{STATIC}.{name}" for name in names}
        extractors = ELASTICSEARCH.entries(queries, ELASTICSEARCH.settings(portable, options.recipe or {}))
        body = {
            "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
            "input": {"field_names": list(names)},
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
        return compact_json(body)


def _stored(tree: Tree) -> list[dict[str, Any]]:
    """Return the nodes of a tree, then its leaves; feature importance divides by their numbers of samples."""
    node_count, leaf_count = (counts.astype(np.int64) for counts in node_counts(tree))
    columns = tree.feature, tree.threshold.astype(np.float64), tree.missing_left, *flat_children(tree), node_count
    stored: list[dict[str, Any]] = [
        {
            "node_index": number,
            "decision_type": "lte",
            "left_child": left,
            "right_child": right,
            "split_feature": feature,
            "threshold": threshold,
            "default_left": missing_left,
            "number_samples": count,
        }
        for number, (feature, threshold, missing_left, left, right, count) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]
    leaves = zip(tree.leaf_value.tolist(), leaf_count.tolist(), strict=True)
    return stored + [
        {"node_index": number, "leaf_value": value, "number_samples": count}
        for number, (value, count) in enumerate(leaves, len(stored))
    ]


class _Pipeline(Format):
    """A format of weights of runs."""

    writes = by_name = True
    trees = False

    def not_linear(self, kind: str) -> InvalidInputError:
        """Return the error for a ranker of another kind."""
        return cannot_say(self.name, WANTED, f"a model of the kind {kind}", REMEDY)


@register("opensearch-pipeline")
class OpenSearchPipeline(_Pipeline):
    """Write the body of `PUT _search/pipeline/NAME`."""

    title = "OpenSearch's search pipeline (normalization-processor)"

    def write_linear(self, model: LinearModel, options: WriteOptions) -> bytes:
        """Return the body."""
        weights = _weights(self.name, model)
        total = sum(weights)
        shares = [round(weight / total, 6) for weight in weights]
        largest = shares.index(max(shares))
        shares[largest] = round(shares[largest] + 1.0 - sum(shares), 6)
        combination = {"technique": "arithmetic_mean", "parameters": {"weights": shares}}
        processor = {"normalization": {"technique": "min_max"}, "combination": combination}
        body = {
            "description": f"{options.name}: weights of the queries of a hybrid query, in the order of the runs",
            "phase_results_processors": [{"normalization-processor": processor}],
        }
        return indented_json(body)


@register("elasticsearch-retriever")
class ElasticsearchRetriever(_Pipeline):
    """Write the body of a search with a linear retriever."""

    title = "Elasticsearch's linear retriever"

    def write_linear(self, model: LinearModel, options: WriteOptions) -> bytes:
        """Return the body; each retriever is a placeholder that matches every document."""
        retrievers: list[dict[str, Any]] = [
            {
                "retriever": {"standard": {"query": {"match_all": {"_name": f"source{number}"}}}},
                "weight": weight,
                "normalizer": _MINMAX,
            }
            for number, weight in enumerate(_weights(self.name, model), 1)
        ]
        return indented_json({"retriever": {"linear": {"retrievers": retrievers, "rank_window_size": WINDOW}}})


def _weights(name: str, model: LinearModel) -> list[float]:
    """Return the weight of each run; refuse a model of anything but min-max normalised scores of runs."""
    weights: dict[int, float] = {}
    for feature, weight in zip(model.feature_names or (), model.weights, strict=False):
        match = _FEATURE.fullmatch(feature)
        if weight and (match is None or match[2] != _MINMAX):
            raise cannot_say(name, WANTED, f"one of {feature}", REMEDY)
        if match is not None:
            weights[int(match[1])] = weights.get(int(match[1]), 0.0) + weight
    values = [weights[number] for number in sorted(weights)]
    if not values or min(values) < 0.0 or not max(values) > 0.0:
        raise cannot_say(name, WANTED, "other weights", REMEDY)
    return values
