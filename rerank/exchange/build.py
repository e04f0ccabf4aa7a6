"""Trees of other systems as a forest, checked: numbers in range, each tree binary, every node reached once.

Values are float32 here, and `x <= threshold` goes left. A test of float32 values against a float64 threshold has the
same outcome as the test `<=` against the largest float32 that passes it. Trees whose nodes hold their children are
walked without recursion, so that no depth is too deep.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.errors import InvalidInputError, log, shown
from rerank.exchange.registry import FormatFault, TreeModel, cannot_say, damage_found
from rerank.runtime.fields import SchemaError
from rerank.trees.contributions import EMPTY_LEAF
from rerank.trees.forest import MOST_CATEGORIES, MOST_ROWS, Forest, category_sets
from rerank.types import Floats, Ints

LARGEST_FLOAT = np.finfo(np.float32).max
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
COUNT_ERROR = 1e-3  # of the sum of counts: hessians are float32
MOST_IN_TREE = 2**29  # whole counts of a tree: readers have int32
Made = TypeVar("Made")
Sets = Mapping[int, Ints]  # nodes and their categories


def number_array(values: Any, size: int | None = None) -> Floats:
    """Return numbers of a file as (n,) float64, which may be infinite; `size` is how many there must be."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or np.isnan(array).any():
        raise FormatFault("a list of numbers", shown(values))
    if size is not None and len(array) != size:
        raise FormatFault(f"{size} values", str(len(array)))
    return array


def wholes(values: Any, size: int | None = None, most: int = 2**31 - 1) -> Ints:
    """Return whole numbers of a file, of a size up to `most`, as (n,) int64; `size` is as in `numbers`."""
    array = number_array(values, size)
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
        raise FormatFault(
            f"categories from 0 to {MOST_CATEGORIES - 1}",
            shown(values),
            remedy=f"Number the categories from 0 to {MOST_CATEGORIES - 1}.",
        )
    return categories


def each_tree(parts: Iterable[Any], read: Callable[[Any], Made]) -> list[Made]:
    """Return the trees of a file's parts; raises FormatFault, which names the tree by its number from 1."""
    trees = []
    for number, part in enumerate(parts, 1):
        with damage_found(f"tree {number}"):
            trees.append(read(part))
    return trees


def weighed(tree: Forest, weight: float, products: type[np.floating[Any]] = np.float32) -> Forest:
    """Return a tree with its leaf values, float32, times its weight, a float32."""
    with np.errstate(over="ignore"):
        values = tree.leaf_value.astype(np.float32).astype(products) * products(np.float32(weight))
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


def split_tree(
    splits: Splits,
    left: Ints,
    right: Ints,
    leaf_value: Floats,
    gain: Floats | None = None,
    leaf_count: Ints | Floats | None = None,
    n_rows: float = 0.0,
) -> Forest:
    """Return a tree whose nodes are numbered as in `Forest`; the children are not checked yet (see `joined_trees`).

    leaf_count  (n_leaves,) training rows of each leaf, or their hessians; None, or only zeros, where the file has none
    n_rows      their sum as the file has it at the root, 0 where it has none: contributions alone read the counts
    """
    known = leaf_count is not None and leaf_count.any() and leaf_count.min() >= 0 and leaf_count.max() <= MOST_ROWS
    total = 0.0 if leaf_count is None else float(leaf_count.sum())
    if known and n_rows and not np.isclose(total, n_rows, rtol=COUNT_ERROR):
        raise FormatFault(f"counts of leaves that add up to {n_rows:g}, as at the root", f"{total:g}")
    threshold = splits.threshold.copy()
    for node, categories in splits.sets.items():
        threshold[node] = 0.0 if len(categories) else -np.inf
    sets = {node: categories for node, categories in sorted(splits.sets.items()) if len(categories)}
    turned = threshold == -np.inf  # every value goes right: as if every value went left to the other child
    return Forest.tree(
        feature=splits.feature.astype(np.int32),
        threshold=np.where(np.isinf(threshold), LARGEST_FLOAT, threshold).astype(np.float32),
        missing_left=np.asarray(splits.missing_left, dtype=np.bool_) ^ turned,
        left=np.where(turned, right, left).astype(np.int32),
        right=np.where(turned, left, right).astype(np.int32),
        gain=np.zeros(len(threshold)) if gain is None else np.clip(gain, -1e300, 1e300),
        leaf_value=np.asarray(leaf_value),
        # a lone leaf has all rows; of unknown ones no shares can be computed
        leaf_count=np.ones(1, dtype=np.int64) if not len(threshold) else leaf_count if known else None,
        **category_sets(len(threshold), sets),
    )


def leaf_tree(value: float) -> Forest:
    """Return a tree of one leaf."""
    return tree_of(None, lambda root: Node(value=value))


def flat_tree(
    is_leaf: NDArray[np.bool_],
    splits: Splits,
    children: tuple[Ints, Ints],
    value: Floats,
    gain: Floats | None = None,
    count: Ints | Floats | None = None,
) -> Forest:
    """Return the tree of the nodes and leaves that the first one reaches; (n,) each, in one numbering.

    splits    of leaves without meaning
    children  left and right, (n,) int64 from 0 to n - 1; of leaves without meaning
    count     as `leaf_count` of `split_tree`, but of nodes and leaves
    """
    left, right = children
    reached = np.zeros(len(left), dtype=np.bool_)
    front = np.zeros(1, dtype=np.int64)
    while len(front):
        if reached[front].any() or front.min() < 0:
            raise FormatFault("a tree of nodes", "a circle, or a node with one child")
        reached[front] = True
        nodes = front[~is_leaf[front]]
        front = np.concatenate([left[nodes], right[nodes]])
    inner = reached & ~is_leaf
    leaves = reached & is_leaf
    number = np.where(is_leaf, ~(np.cumsum(leaves) - 1), np.cumsum(inner) - 1)
    return split_tree(
        Splits(
            splits.feature[inner],
            splits.threshold[inner],
            splits.missing_left[inner],
            {int(number[node]): categories for node, categories in splits.sets.items() if reached[node]},
        ),
        number[left[inner]],
        number[right[inner]],
        value[leaves],
        None if gain is None else gain[inner],
        None if count is None else count[leaves],
        0.0 if count is None else float(count[0]),
    )


def joined_trees(trees: Sequence[Forest], n_features: int, dtype: Any = np.float64) -> Forest:
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
        each_tree(trees, lambda tree: tree.check())  # names the tree that is wrong by itself
        raise
    with np.errstate(over="ignore"):
        return replace(forest, leaf_value=forest.leaf_value.astype(dtype))


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


def tree_of(root: object, read: Callable[[Any], Node]) -> Forest:
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
    return flat_tree(
        np.array([not pair for pair in children]),
        Splits(feature, threshold.astype(np.float32), missing_left),
        (left, right),
        value,
        count=rows,
    )


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


def decimal(value: float) -> str:
    """Return the shortest text that is this float64."""
    return repr(float(value))


def single(values: ArrayLike) -> NDArray[np.float64]:
    """Return the nearest float32 of each value, as float64."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def summed(model: TreeModel, format: str) -> TreeModel:
    """Return the model if its score is a sum with a constant; a mean and 0 as missing are refused."""
    if len(model.zero_missing):
        raise cannot_say(
            format,
            "a model that reads 0 as a value",
            "one that reads 0 as missing (zero_as_missing)",
            "Export it as lightgbm, or train it without.",
        )
    if model.divisor != 1.0:
        raise cannot_say(
            format,
            "a sum of trees",
            "a mean of trees (average_output, a random forest)",
            "Export it as lightgbm, or train boosted trees.",
        )
    return model


def with_constant(trees: list[Forest], constant: float) -> list[Forest]:
    """Return trees, and a constant, unless it is 0, as one more of a single leaf: it is added last, as it is here."""
    return [*trees, leaf_tree(constant)] if constant else trees


def known_counts(forest: Forest, format: str) -> Floats:
    """Return the training rows of each leaf, or their hessians, (n_leaves,) float64 above 0; 1 where they are unknown.

    SHAP divides by them; that they are unknown is logged.
    """
    if forest.leaf_count is not None:
        return np.maximum(forest.leaf_count.astype(np.float64), EMPTY_LEAF)
    if len(forest.feature):
        log.warning(
            "%s: expected the training rows of each leaf, got a model that does not know them. The file has 1 for each "
            "leaf: SHAP values made from it weigh all leaves alike.",
            format,
        )
    return np.ones(len(forest.leaf_value))


def whole_counts(forest: Forest, format: str) -> Floats:
    """Return `known_counts` as whole numbers from 1, (n_leaves,): hessians in units of which a tree has up to 2^29."""
    counts = known_counts(forest, format)
    unit = 2.0 ** np.floor(np.log2(np.add.reduceat(counts, forest.leaf_ptr[:-1]) / MOST_IN_TREE))
    if (counts == np.floor(counts)).all():
        unit = np.maximum(unit, 1.0)
    return np.maximum(np.rint(counts / np.repeat(unit, np.diff(forest.leaf_ptr))), 1.0)


def node_counts(tree: Forest) -> tuple[Floats, Floats]:
    """Return the counts of the nodes (n_nodes,) and leaves (n_leaves,) of a tree that knows those of its leaves."""
    leaves = np.asarray(tree.leaf_count, dtype=np.float64)
    counts = np.zeros(len(tree.feature))

    def count(node: int, depth: int, left: float, right: float) -> float:
        counts[node] = left + right
        return left + right

    nested(tree, leaves.tolist().__getitem__, count)
    return counts, leaves


def flat_children(tree: Forest) -> tuple[Ints, Ints]:
    """Return the left and right children of each node, (n_nodes,), where the leaves are numbered after the nodes."""
    left, right = (np.where(side >= 0, side, len(tree.feature) + ~side) for side in (tree.left, tree.right))
    return left, right


def with_tests_below(forest: Forest) -> Forest:
    """Return the same trees for tests `x < threshold`, and for sets of categories that go right.

    Where every value goes left, since the threshold is the largest float32, the children are exchanged: no value is
    below the smallest float32.
    """
    is_set = np.diff(forest.category_sets[0]) > 0
    turned = (forest.threshold == LARGEST_FLOAT) | is_set
    return replace(
        forest,
        threshold=np.where(turned, np.where(is_set, 0.0, -LARGEST_FLOAT), neighbours(forest.threshold, np.inf)).astype(
            np.float32
        ),
        missing_left=forest.missing_left ^ turned,
        left=np.where(turned, forest.right, forest.left),
        right=np.where(turned, forest.left, forest.right),
    )


def refuse_missing_direction(model: TreeModel, format: str, features: Sequence[int] | None = None) -> None:
    """Refuse a model that sends a missing value elsewhere than 0, for a system that reads a missing value as 0.

    features  those that the system reads so; None for all
    """
    forest = model.forest
    concerned = True if features is None else np.isin(forest.feature, features)
    other = np.flatnonzero(concerned & (forest.missing_left != (forest.threshold >= 0.0)))
    if len(other):
        names = model.feature_names
        feature = int(forest.feature[other[0]])
        raise cannot_say(
            format,
            "missing values that go where 0 goes",
            f"{len(other)} splits that send them elsewhere, e.g. of feature {names[feature] if names else feature + 1}",
            "If no value is ever missing, give --missing-as-zero (missing_as_zero=True).",
        )
