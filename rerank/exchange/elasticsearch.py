"""Elastic's trained model of the kind learning_to_rank (Elastic's own, licensed feature; not the plug-in).

Values, thresholds and sums are float64, `x <= threshold` goes left, and `default_left` says where a missing value goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rerank.exchange.engines import ELASTICSEARCH as ENGINE
from rerank.exchange.engines import STATIC
from rerank.exchange.registry import Format, TreeModel, WriteOptions, register
from rerank.exchange.write import node_counts, summed, whole_counts
from rerank.rankers.arrays import numbered_names
from rerank.trees.forest import Forest
from rerank.types import Floats


@register("elasticsearch")
class Elasticsearch(Format):
    """Write the body of `PUT _ml/trained_models/NAME`."""

    title = "Elastic's trained model (learning_to_rank)"
    writes = by_name = True

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return the body; the query of a feature that the engine does not compute is a placeholder."""
        forest, names = summed(model, "elasticsearch").forest, model.feature_names or numbered_names(model.n_features)
        counts = whole_counts(forest, "elasticsearch")
        trees = [_stored(forest, tree, counts) for tree in range(forest.n_trees)]
        if model.constant:
            trees.append([{"node_index": 0, "leaf_value": model.constant, "number_samples": 1}])
        trained = [
            {"tree": {"feature_names": list(names), "target_type": "regression", "tree_structure": tree}}
            for tree in trees
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
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _extractors(names: Sequence[str], recipe: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return a query for each feature; for one that the engine does not compute, the number in a field of its name."""
    portable = ENGINE.portable(names, recipe)
    settings = ENGINE.settings(portable, recipe or {})
    known = {name: name if name in portable else f"{STATIC}.{name}" for name in names}
    return [ENGINE.entry(name, ENGINE.query(query, settings)) for name, query in known.items()]


def _stored(forest: Forest, tree: int, leaf_count: Floats) -> list[dict[str, Any]]:
    """Return the nodes of a tree, then its leaves; feature importance divides by their numbers of samples."""
    nodes = slice(int(forest.node_ptr[tree]), int(forest.node_ptr[tree + 1]))
    leaves = slice(int(forest.leaf_ptr[tree]), int(forest.leaf_ptr[tree + 1]))
    n_nodes = nodes.stop - nodes.start
    left, right = (np.where(side >= 0, side, n_nodes + ~side) for side in (forest.left[nodes], forest.right[nodes]))
    columns = forest.feature[nodes], forest.threshold[nodes].astype(np.float64), forest.missing_left[nodes], left, right
    node_count, own_count = (counts.astype(np.int64) for counts in node_counts(forest, tree, leaf_count))
    stored = [
        {
            "node_index": number,
            "decision_type": "lte",
            "left_child": below[0],
            "right_child": below[1],
            "split_feature": feature,
            "threshold": threshold,
            "default_left": missing_left,
            "number_samples": count,
        }
        for number, (feature, threshold, missing_left, *below, count) in enumerate(
            zip(*(column.tolist() for column in (*columns, node_count)), strict=True)
        )
    ]
    values = zip(forest.leaf_value[leaves].tolist(), own_count.tolist(), strict=True)
    return stored + [
        {"node_index": number, "leaf_value": value, "number_samples": count}
        for number, (value, count) in enumerate(values, n_nodes)
    ]
