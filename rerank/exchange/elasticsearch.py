"""Elastic's trained model, of the kind learning_to_rank (Elastic's own, licensed feature; not the plug-in).

Values, thresholds and sums are float64, `x <= threshold` goes left, and `default_left` says where a missing value goes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.exchange.build import flat_children, node_counts, summed, whole_counts, with_constant
from rerank.exchange.registry import ELASTICSEARCH, STATIC, Format, TreeModel, compact_json, register
from rerank.trees.forest import Forest
from rerank.types import numbered_names


@register("elasticsearch")
class Elasticsearch(Format):
    """Write the body of `PUT _ml/trained_models/NAME`."""

    title = "Elastic's trained model (learning_to_rank)"
    writes = by_name = True

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the body; a feature that the engine does not compute is the number in a field of its name."""
        forest = summed(model, "elasticsearch").forest
        names = model.feature_names or numbered_names(model.n_features)
        trees = replace(forest, leaf_count=whole_counts(forest, self.name)).trees()
        trained = [
            {
                "tree": {
                    "feature_names": list(names),
                    "target_type": "regression",
                    "tree_structure": _elastic_nodes(tree),
                }
            }
            for tree in with_constant(trees, model.constant)
        ]
        ensemble = {
            "feature_names": list(names),
            "target_type": "regression",
            "trained_models": trained,
            "aggregate_output": {"weighted_sum": {}},
        }
        portable = ELASTICSEARCH.portable(names, recipe)
        queries = {name: name if name in portable else f"{STATIC}.{name}" for name in names}
        extractors = ELASTICSEARCH.entries(queries, ELASTICSEARCH.settings(portable, recipe or {}))
        body = {
            "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
            "input": {"field_names": list(names)},
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
        return compact_json(body)


def _elastic_nodes(tree: Forest) -> list[dict[str, Any]]:
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
