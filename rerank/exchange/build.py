"""Trees of other systems as a forest, checked: numbers in range, each tree binary, every node reached once.

Values are float32 here, and `x <= threshold` goes left. A test of float32 values against a float64 threshold has the
same outcome as the test `<=` against the largest float32 that passes it. Trees whose nodes hold their children are
walked without recursion, so that no depth is too deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.exchange.registry import FormatFault, damage_found
from rerank.runtime.codec import SchemaError
from rerank.trees.forest import MOST_CATEGORIES, MOST_ROWS, Forest, Tree, category_bits
from rerank.types import Floats, Ints

LARGEST = np.finfo(np.float32).max
Floats32 = NDArray[np.float32]


def at_most(threshold: Floats) -> Floats32:
    """Return the largest float32 that is <= each threshold (n,) float64; -inf where no finite one is."""
    with np.errstate(over="ignore"):  # beyond float32 is infinite
        nearest = threshold.astype(np.float32)
    return np.where(nearest.astype(np.float64) > threshold, neighbours(nearest, -np.inf), nearest)


def neighbours(values: Any, towards: float) -> Floats32:
    """Return the next float32 from each, towards -inf or inf: `x < next` above it goes left where `x <= value` does."""
    with np.errstate(over="ignore"):
        return np.nextafter(np.asarray(values, dtype=np.float32), np.float32(towards))


MOST_FEATURES = 1_000_000
Made = TypeVar("Made")
Sets = Mapping[int, Ints]  # nodes and their categories


def numbers(values: Any, size: int | None = None) -> Floats:
    """Return numbers of a file as (n,) float64, which may be infinite; `size` is how many there must be."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any():
        raise FormatFault("a list of numbers", shown(values))
    if size is not None and len(array) != size:
        raise FormatFault(f"{size} values", str(len(array)))
    return array


def wholes(values: Any, size: int | None = None, most: int = 2**31 - 1) -> Ints:
    """Return whole numbers of a file, of a size up to `most`, as (n,) int64; `size` is as in `numbers`."""
    array = numbers(values, size)
    wrong = np.flatnonzero((array != np.floor(array)) | (np.abs(array) > most))
    if len(wrong):
        raise FormatFault("whole numbers", shown(values[int(wrong[0])]))
    return array.astype(np.int64)


def single_number(value: Any) -> float:
    """Return a number of a file as float32."""
    with np.errstate(over="ignore"):
        number = float(np.float32(float(value)))
    if not np.isfinite(number):
        raise FormatFault("numbers of float32", shown(value))
    return number


def feature_count(value: Any) -> int:
    """Return the number of features that a file says."""
    count = int(value)
    if not 1 <= count <= MOST_FEATURES:
        raise FormatFault(f"1 to {MOST_FEATURES} features", shown(value))
    return count


def categories_of(values: Any) -> Ints:
    """Return categories of a file as (n,) int64; raises FormatFault for one that is no code."""
    categories = wholes(values)
    if len(categories) and not (categories.min() >= 0 and categories.max() < MOST_CATEGORIES):
        remedy = f"Number the categories from 0 to {MOST_CATEGORIES - 1}."
        raise FormatFault(f"categories from 0 to {MOST_CATEGORIES - 1}", shown(values), remedy=remedy)
    return categories


def each_tree(parts: Iterable[Any], read: Callable[[Any], Made]) -> list[Made]:
    """Return the trees of a file's parts; raises FormatFault, which names the tree by its number from 1."""
    trees = []
    for number, part in enumerate(parts, 1):
        with damage_found(f"tree {number}"):
            trees.append(read(part))
    return trees


def weighed(tree: Tree, weight: float, leaves: type[np.floating[Any]], products: type[np.floating[Any]]) -> Tree:
    """Return a tree with its leaf values times its weight, a float32."""
    with np.errstate(over="ignore"):
        values = tree.leaf_value.astype(leaves).astype(products) * products(np.float32(weight))
    return replace(tree, leaf_value=values.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Splits:
    """What the nodes of a tree test, (n,) each.

    threshold  float32, `x <= threshold` goes left; infinite where all values go to one side
    sets       of the nodes that test categories: those that go left, all others go right
    """

    feature: Ints
    threshold: Floats32
    missing_left: NDArray[np.bool_]
    sets: Sets = field(default_factory=dict)

    def select(self, chosen: NDArray[np.bool_], number: Ints) -> Splits:
        """Return those of some nodes, (n,) bool; number: of each node in the tree that has these alone."""
        sets = {int(number[node]): categories for node, categories in self.sets.items() if chosen[node]}
        return Splits(self.feature[chosen], self.threshold[chosen], self.missing_left[chosen], sets)


def split_tree(
    splits: Splits,
    left: Ints,
    right: Ints,
    leaf_value: Floats,
    gain: Floats | None = None,
    leaf_count: Ints | Floats | None = None,
) -> Tree:
    """Return a tree whose nodes are numbered as in `Tree`; the children are not checked yet (see `joined`).

    leaf_count  (n_leaves,) training rows of each leaf, or their hessians; None, or only zeros, where the file has none
    """
    feature = splits.feature
    known = leaf_count is not None and leaf_count.any() and leaf_count.min() >= 0 and leaf_count.max() <= MOST_ROWS
    rows = leaf_count if known else None  # else no shares can be computed of them
    threshold = splits.threshold.copy()
    words = np.zeros(len(feature), dtype=np.int64)
    bits = [np.empty(0, dtype=np.uint32)]
    for node, categories in sorted(splits.sets.items()):
        threshold[node] = 0.0 if len(categories) else -np.inf
        if len(categories):
            bits.append(category_bits(categories))
            words[node] = len(bits[-1])
    turned = threshold == -np.inf  # every value goes right: as if every value went left to the other child
    return Tree(
        feature=feature.astype(np.int32),
        threshold=np.where(np.isinf(threshold), LARGEST, threshold).astype(np.float32),
        missing_left=np.asarray(splits.missing_left, dtype=np.bool_) ^ turned,
        left=np.where(turned, right, left).astype(np.int32),
        right=np.where(turned, left, right).astype(np.int32),
        gain=np.zeros(len(feature)) if gain is None else np.clip(gain, -1e300, 1e300),
        leaf_value=np.asarray(leaf_value),
        leaf_count=rows if len(feature) else np.ones(1, dtype=np.int64),  # a lone leaf has all rows
        category_words=words if len(bits) > 1 else None,
        category_bits=np.concatenate(bits) if len(bits) > 1 else None,
    )


def leaf_tree(value: float) -> Tree:
    """Return a tree of one leaf."""
    return tree_of(None, lambda root: Node(value=value))


def flat_tree(
    is_leaf: NDArray[np.bool_],
    splits: Splits,
    children: tuple[Ints, Ints],
    value: Floats,
    gain: Floats | None = None,
    count: Ints | Floats | None = None,
) -> Tree:
    """Return a tree of which nodes and leaves are in one numbering, (n,) each, the root first.

    splits    of leaves without meaning
    children  left and right, (n,) int64 from 0 to n - 1; of leaves without meaning
    count     as `leaf_count` of `split_tree`, but of nodes and leaves
    """
    nodes = ~is_leaf
    number = np.where(is_leaf, ~(np.cumsum(is_leaf) - 1), np.cumsum(nodes) - 1)
    return split_tree(
        splits.select(nodes, number),
        number[children[0][nodes]],
        number[children[1][nodes]],
        value[is_leaf],
        None if gain is None else gain[nodes],
        None if count is None else count[is_leaf],
    )


def joined(trees: Sequence[Tree], n_features: int, dtype: Any = np.float64) -> Forest:
    """Return checked trees as a forest; raises FormatFault, which names the tree (from 1) and what is wrong with it.

    dtype  type in which the owner sums leaf values
    """
    if not trees:
        raise FormatFault("at least one tree", "none")
    forest = Forest.of(trees)
    forest.check_features(n_features)
    try:
        forest.check()
    except SchemaError:
        each_tree(trees, lambda tree: Forest.of([tree]).check())  # names the tree that is wrong by itself
        raise
    with np.errstate(over="ignore"):
        values = forest.leaf_value.astype(dtype)
    return replace(forest, leaf_value=values)


def first_number_of(forest: Forest) -> int:
    """Return the number of the first column in LETOR text: 1 where a tree tests it, else -1.

    LightGBM and XGBoost number columns from 0: the first one is empty where they read features numbered from 1.
    """
    return 1 if (forest.feature == 0).any() else -1


class Node(NamedTuple):
    """A node of a file with its left and right child, as the file has them; a leaf has none.

    threshold  a float32, `x <= threshold` goes left
    rows       training rows of a leaf, or their hessians, 0 where the file has none
    """

    feature: int = 0
    threshold: float = 0.0
    missing_left: bool = False
    value: float = 0.0
    rows: float = 0.0
    children: tuple[Any, ...] = ()


def tree_of(root: object, read: Callable[[Any], Node]) -> Tree:
    """Return the tree below a root; `read` says what a node of the file is, and checks it."""
    nodes: list[Node] = []
    children: list[list[int]] = []
    waiting: list[tuple[Any, list[int]]] = [(root, [])]
    while waiting:
        raw, of_parent = waiting.pop()
        of_parent.append(len(nodes))
        nodes.append(read(raw))
        children.append([])
        waiting += [(child, children[-1]) for child in reversed(nodes[-1].children)]  # the left one is next
    feature, threshold, missing_left, value, rows = map(np.array, zip(*(node[:-1] for node in nodes), strict=True))
    left, right = np.array([pair or [0, 0] for pair in children]).T
    splits = Splits(feature, threshold.astype(np.float32), missing_left)
    return flat_tree(np.array([not pair for pair in children]), splits, (left, right), value, count=rows)


def nested(
    forest: Forest,
    leaf: Callable[[int], Made],
    node: Callable[[int, int, Made, Made], Made],
    deepest: float = np.inf,
    format: str = "",
) -> list[Made]:
    """Return each tree built from its leaves up; refuse one that is deeper than readers of a nested format allow.

    leaf     returns a leaf of its index in the forest
    node     returns a node of its index in the forest, its depth, and its left and right child
    deepest  most splits from the root to a leaf
    """
    trees = []
    for tree in range(forest.n_trees):
        first = int(forest.node_ptr[tree])
        first_leaf = int(forest.leaf_ptr[tree])
        nodes = slice(first, int(forest.node_ptr[tree + 1]))
        children = list(zip(forest.left[nodes].tolist(), forest.right[nodes].tolist(), strict=True))
        depth = {0: 0} if children else {}  # parents before their children
        order = list(depth)
        for index in order:
            below = [child for child in children[index] if child >= 0]
            order += below
            depth.update(dict.fromkeys(below, depth[index] + 1))
        if order and depth[order[-1]] >= deepest:
            raise InvalidInputError(
                f"{format}: expected trees of a depth up to {deepest}, got one of {depth[order[-1]] + 1}. Train "
                f"with max_depth={deepest}."
            )
        made = {} if order else {0: leaf(first_leaf)}
        for index in reversed(order):
            below = [made.pop(child) if child >= 0 else leaf(first_leaf + ~child) for child in children[index]]
            made[index] = node(first + index, depth[index], *below)
        trees.append(made[0])
    return trees
