"""Elastic's trained model of the kind learning_to_rank (Elastic's own, licensed feature; not the plug-in).

Values, thresholds and sums are float64, `x <= threshold` goes left, and `default_left` says where a missing value goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.exchange.engines import ELASTICSEARCH as ENGINE
from rerank.exchange.engines import STATIC
from rerank.exchange.registry import Format, TreeModel, WriteOptions, register
from rerank.exchange.structured import compact_json
from rerank.exchange.write import flat_children, node_counts, summed, whole_counts, with_constant
from rerank.rankers.arrays import numbered_names
from rerank.trees.forest import Tree


@register("elasticsearch")
class Elasticsearch(Format):
    """Write the body of `PUT _ml/trained_models/NAME`."""

    title = "Elastic's trained model (learning_to_rank)"
    writes = by_name = True

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the body; the query of a feature that the engine does not compute is a placeholder."""
        forest, names = summed(model, "elasticsearch").forest, model.feature_names or numbered_names(model.n_features)
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
        body = {
            "inference_config": {"learning_to_rank": {"feature_extractors": _extractors(names, options.recipe)}},
            "input": {"field_names": list(names)},
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
        return compact_json(body)


def _extractors(names: Sequence[str], recipe: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return a query for each feature; for one that the engine does not compute, the number in a field of its name."""
    portable = ENGINE.portable(names, recipe)
    settings = ENGINE.settings(portable, recipe or {})
    known = {name: name if name in portable else f"{STATIC}.{name}" for name in names}
    return [ENGINE.entry(name, ENGINE.query(query, settings)) for name, query in known.items()]


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
