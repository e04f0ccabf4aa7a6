"""Trees as flat arrays: the record that the engine grows, scores with and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints, pointers


@dataclass(frozen=True, eq=False)
class Tree:
    """One regression tree; node 0 is the root, a tree of one leaf has no node.

    feature       (n_nodes,) int32 column that the node tests
    threshold     (n_nodes,) float32: value <= threshold goes left
    missing_left  (n_nodes,) bool: where a missing value goes
    left, right   (n_nodes,) int32: a node, or ~leaf (negative) for a leaf
    gain          (n_nodes,) float64: what the split took off the loss
    leaf_value    (n_leaves,) float64, learning rate included
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: Floats
    leaf_value: Floats


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees end to end: node n of tree t stands at node_ptr[t] + n, leaf l at leaf_ptr[t] + l."""

    node_ptr: Ints
    leaf_ptr: Ints
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: Floats
    leaf_value: Floats

    @classmethod
    def of(cls, trees: Sequence[Tree]) -> Forest:
        """Join trees, in the order in which they were grown."""

        def join(name: str, dtype: Any) -> Any:
            return np.concatenate([np.empty(0, dtype), *(getattr(tree, name) for tree in trees)])

        return cls(
            node_ptr=pointers([len(tree.feature) for tree in trees]),
            leaf_ptr=pointers([len(tree.leaf_value) for tree in trees]),
            **{name: join(name, dtype) for name, dtype in _COLUMNS.items()},
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.node_ptr) - 1

    def scaled(self, factor: float) -> Forest:
        """Return the forest whose scores are `factor` times these."""
        return replace(self, leaf_value=factor * self.leaf_value)

    def gains(self, n_features: int) -> Floats:
        """Return the total gain of each feature's splits, (n_features,) float64."""
        return np.bincount(self.feature, weights=self.gain, minlength=n_features).astype(np.float64)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain lists, for JSON; float32 and float64 values come back exactly."""
        return {column.name: getattr(self, column.name).tolist() for column in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Sequence[Any]]) -> Forest:
        """Return the forest that `to_dict` wrote."""
        dtypes = {"node_ptr": np.int64, "leaf_ptr": np.int64, **_COLUMNS}
        return cls(**{name: np.asarray(stored[name], dtype=dtype) for name, dtype in dtypes.items()})


_COLUMNS: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float32,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "gain": np.float64,
    "leaf_value": np.float64,
}
