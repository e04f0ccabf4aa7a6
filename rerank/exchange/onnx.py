"""ONNX: a TreeEnsembleRegressor of domain ai.onnx.ml 3, written with the library `onnx`.

Input `X` (rows, features) float32, made float64 inside, so that the leaf values are summed in float64; output `scores`
(rows, 1) is float32. `x <= threshold` (BRANCH_LEQ) is the true branch, which a missing value may track.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.exchange.build import flat_children, summed
from rerank.exchange.registry import Format, TreeModel, register
from rerank.trees.forest import Forest


@register("onnx")
class Onnx(Format):
    """Write an ONNX model."""

    title = "ONNX (TreeEnsembleRegressor; needs the package onnx)"
    writes = True

    def write(self, model: TreeModel, name: str, recipe: Mapping[str, Any] | None) -> bytes:
        """Return the bytes of a model."""
        try:
            from onnx import TensorProto, helper
        except ImportError:
            raise InvalidInputError("onnx: expected the package onnx, got none. Run `pip install onnx`.") from None
        summed(model, "onnx")
        attributes = _attributes(model.forest)
        for name in ("nodes_values", "target_weights"):
            values = attributes.pop(name)
            attributes[f"{name}_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(values)], values)
        if model.constant:
            attributes["base_values_as_tensor"] = helper.make_tensor("base", TensorProto.DOUBLE, [1], [model.constant])
        trees = helper.make_node(
            "TreeEnsembleRegressor",
            ["X64"],
            ["scores"],
            domain="ai.onnx.ml",
            n_targets=1,
            aggregate_function="SUM",
            post_transform="NONE",
            **attributes,
        )
        cast = helper.make_node("Cast", ["X"], ["X64"], to=TensorProto.DOUBLE)
        X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, model.n_features])
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 1])
        graph = helper.make_graph([cast, trees], name, [X], [scores])
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 3)],
            producer_name="rerank",
            ir_version=8,
        )
        helper.set_model_props(made, {f"feature.{index}": name for index, name in enumerate(model.feature_names or ())})
        return bytes(made.SerializeToString())


def _attributes(forest: Forest) -> dict[str, Any]:
    """Return the operator's lists, the nodes of each tree before its leaves."""
    parts: dict[str, list[Any]] = {}
    for number, tree in enumerate(forest.trees()):
        n_nodes = len(tree.feature)
        n_leaves = len(tree.leaf_value)
        zeros = [0] * len(tree.leaf_value)
        left, right = flat_children(tree)
        columns: dict[str, list[Any]] = {
            "nodes_treeids": [number] * (n_nodes + n_leaves),
            "nodes_nodeids": list(range(n_nodes + n_leaves)),
            "nodes_featureids": tree.feature.tolist() + zeros,
            "nodes_values": tree.threshold.astype(np.float64).tolist() + zeros,
            "nodes_modes": ["BRANCH_LEQ"] * n_nodes + ["LEAF"] * n_leaves,
            "nodes_truenodeids": left.tolist() + zeros,
            "nodes_falsenodeids": right.tolist() + zeros,
            "nodes_missing_value_tracks_true": tree.missing_left.astype(int).tolist() + zeros,
            "target_treeids": [number] * n_leaves,
            "target_nodeids": list(range(n_nodes, n_nodes + n_leaves)),
            "target_ids": zeros,
            "target_weights": tree.leaf_value.astype(np.float64).tolist(),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).extend(column)
    return parts
