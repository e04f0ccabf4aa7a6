"""Trees whose nodes hold their children: walked without recursion, so that no depth is too deep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from rerank.errors import InvalidInputError
from rerank.exchange.build import flat_tree
from rerank.trees.forest import Forest, Tree

Made = TypeVar("Made")


@dataclass(frozen=True)
class Leaf:
    """A leaf of a file; its training rows or their hessians, 0 where the file has none."""

    value: float
    count: float = 0.0


@dataclass(frozen=True)
class Node:
    """A test of a file and its children, as the file has them; `x <= threshold` goes left, threshold a float32."""

    feature: int
    threshold: float
    missing_left: bool
    left: Any
    right: Any


def tree_of(root: Any, read: Callable[[Any], Leaf | Node]) -> Tree:
    """Return the tree below a root; `read` says what a node of the file is, and checks it."""
    rows: list[tuple[bool, int, float, bool, float, float]] = []
    waiting: list[tuple[Any, int, int]] = [(root, -1, 0)]
    children: list[list[int]] = []
    while waiting:
        raw, parent, side = waiting.pop()
        index, node = len(rows), read(raw)
        if parent >= 0:
            children[parent][side] = index
        children.append([0, 0])
        if isinstance(node, Leaf):
            rows.append((True, 0, 0.0, False, node.value, node.count))
        else:
            rows.append((False, node.feature, node.threshold, node.missing_left, 0.0, 0.0))
            waiting += [(node.right, index, 1), (node.left, index, 0)]
    columns = list(zip(*rows, strict=True))
    left, right = (np.array([pair[side] for pair in children], dtype=np.int64) for side in (0, 1))
    return flat_tree(
        np.array(columns[0], dtype=np.bool_),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.float32),
        np.array(columns[3], dtype=np.bool_),
        left,
        right,
        np.array(columns[4], dtype=np.float64),
        count=np.array(columns[5], dtype=np.float64),
    )


def nested(
    forest: Forest,
    tree: int,
    leaf: Callable[[int, int], Made],
    node: Callable[[int, int, Made, Made], Made],
) -> Made:
    """Return a tree built from its leaves up."""
    first, first_leaf = int(forest.node_ptr[tree]), int(forest.leaf_ptr[tree])
    if first == int(forest.node_ptr[tree + 1]):
        return leaf(first_leaf, 0)
    nodes = slice(first, int(forest.node_ptr[tree + 1]))
    left, right = forest.left[nodes].tolist(), forest.right[nodes].tolist()
    order, depth = [0], {0: 0}
    for index in order:
        for child in (left[index], right[index]):
            if child >= 0:
                order.append(child)
                depth[child] = depth[index] + 1
    made: dict[int, Made] = {}

    def child_of(child: int, below: int) -> Made:
        return made.pop(child) if child >= 0 else leaf(first_leaf + ~child, below)

    for index in reversed(order):
        below = depth[index] + 1
        pair = child_of(left[index], below), child_of(right[index], below)
        made[index] = node(first + index, depth[index], *pair)
    return made[0]


def check_depth(forest: Forest, deepest: int, format: str) -> None:
    """Refuse trees that are deeper than readers of a nested format allow."""

    def deeper(node: int, depth: int, left: int, right: int) -> int:
        return max(left, right)

    for tree in range(forest.n_trees):
        depth = nested(forest, tree, lambda leaf, depth: depth, deeper)
        if depth > deepest:
            raise InvalidInputError(
                f"{format}: expected trees of a depth up to {deepest}, got one of {depth}. Train with "
                f"max_depth={deepest}."
            )
