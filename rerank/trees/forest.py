"""Trees as flat arrays, as they are grown, scored and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.fields import Array, SchemaError, check_length
from rerank.types import Floats, Ints, pointers

MOST_ROWS = 2**40  # of a leaf
MOST_CATEGORIES = 2**16  # of a feature: their codes are below it
WORD_BITS = 32
_LARGEST_GAIN = 1e300  # sums of gains stay finite


@dataclass(frozen=True)
class _Counts(Array):
    """Rows of leaves."""

    def read(self, value: Any) -> Ints | Floats:
        """Return the numbers, whole ones as int64."""
        return _counts(super().read(value))


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees in the order in which they were grown, their arrays concatenated; a tree is a forest of one.

    Node 0 of a tree is its root; a tree of one leaf has no node. Scores are summed in the type of leaf_value: float64,
    but float32 for a model of a system that sums in float32.

    Parameters
    ----------
    node_ptr : int64 array of shape (n_trees + 1,)
        Node n of tree t has the index node_ptr[t] + n.
    leaf_ptr : int64 array of shape (n_trees + 1,)
        Leaf l of tree t has the index leaf_ptr[t] + l.
    feature : int32 array of shape (n_nodes,)
        Feature that the node tests.
    threshold : float32 array of shape (n_nodes,)
        Value <= threshold goes left.
    missing_left : bool array of shape (n_nodes,)
        Whether a missing value goes left.
    left, right : int32 arrays of shape (n_nodes,)
        A node, or ~leaf (negative) for a leaf, counted from the first of the tree.
    gain : float64 array of shape (n_nodes,)
        Decrease of the loss by the split.
    leaf_value : float64 array of shape (n_leaves,)
        Value of each leaf, learning rate included.
    leaf_count : int64 or float64 array of shape (n_leaves,) or None
        Training rows of each leaf, or the sum of their hessians where another system counts these (XGBoost); None where
        they are not known.
    category_words : int64 array of shape (n_nodes,) or None
        Number of words of the node's set of categories: such a node compares no threshold, the categories of its set go
        left, all others right. 0 for a node that compares. None where no node has a set.
    category_bits : uint32 array of shape (n_words,) or None
        Words of all sets: bit c % 32 of word c // 32 of a node's set is 1 where the set has category c.

    """

    node_ptr: Ints
    leaf_ptr: Ints
    feature: NDArray[np.int32]
    threshold: NDArray[np.float32]
    missing_left: NDArray[np.bool_]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    gain: Annotated[Floats, Array(low=-_LARGEST_GAIN, high=_LARGEST_GAIN)]
    leaf_value: Floats
    leaf_count: Annotated[Ints | Floats, _Counts(low=0, high=MOST_ROWS)] | None = None
    category_words: Annotated[Ints, Array(np.int64, low=0, high=MOST_CATEGORIES // WORD_BITS)] | None = None
    category_bits: NDArray[np.uint32] | None = None

    @classmethod
    def tree(cls, **columns: Any) -> Forest:
        """Return one tree of the columns of its nodes and leaves."""
        return cls(pointers([len(columns["feature"])]), pointers([len(columns["leaf_value"])]), **columns)

    @classmethod
    def of(cls, parts: Sequence[Forest]) -> Forest:
        """Join trees or forests, in the order in which they were grown."""

        def join(name: str, dtype: Any) -> Any:
            return np.concatenate([np.empty(0, dtype), *(getattr(part, name) for part in parts)])

        return cls(
            node_ptr=pointers(np.concatenate([np.empty(0, np.int64), *(np.diff(part.node_ptr) for part in parts)])),
            leaf_ptr=pointers(np.concatenate([np.empty(0, np.int64), *(np.diff(part.leaf_ptr) for part in parts)])),
            **{name: join(name, dtype) for name, dtype in _COLUMNS.items()},
            leaf_count=None
            if any(part.leaf_count is None for part in parts)
            else _counts(join("leaf_count", np.int64)),
            **_joined_sets(parts),
        )

    def trees(self) -> list[Forest]:
        """Return the trees, each as a forest of one."""
        return [self.select(tree, tree + 1) for tree in range(self.n_trees)]

    def select(self, first: int, last: int) -> Forest:
        """Return the trees from number `first` to before `last`."""
        nodes = slice(*self.node_ptr[[first, last]].tolist())
        leaves = slice(*self.leaf_ptr[[first, last]].tolist())
        words, bits = self.category_sets
        sets = slice(*words[[nodes.start, nodes.stop]].tolist())
        return Forest(
            self.node_ptr[first : last + 1] - nodes.start,
            self.leaf_ptr[first : last + 1] - leaves.start,
            **{name: getattr(self, name)[nodes] for name in _COLUMNS if name != "leaf_value"},
            leaf_value=self.leaf_value[leaves],
            leaf_count=None if self.leaf_count is None else self.leaf_count[leaves],
            category_words=np.diff(words[nodes.start : nodes.stop + 1]) if sets.start < sets.stop else None,
            category_bits=bits[sets] if sets.start < sets.stop else None,
        )

    @cached_property
    def category_sets(self) -> tuple[Ints, NDArray[np.uint32]]:
        """Return where the words of each node's set of categories begin, (n_nodes + 1,), and all words, (n_words,)."""
        if self.category_words is None or self.category_bits is None:
            return np.zeros(len(self.feature) + 1, dtype=np.int64), np.empty(0, dtype=np.uint32)
        return pointers(self.category_words), self.category_bits

    @cached_property
    def categories(self) -> Ints:
        """Features that some node tests by a set of categories, ascending, (m,) int64."""
        if self.category_words is None:
            return np.empty(0, dtype=np.int64)
        return np.unique(self.feature[self.category_words > 0]).astype(np.int64)

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

    def check(self) -> None:
        """Raise SchemaError unless every tree is binary and its root reaches each of its nodes and leaves once."""
        _check_lengths(self)
        _check_pointers(self)
        _check_children(self)
        _check_sets(self)

    def check_features(self, n_features: int) -> None:
        """Raise SchemaError for a feature that a model of `n_features` does not have."""
        wrong = np.flatnonzero((self.feature < 0) | (self.feature >= n_features))
        if len(wrong):
            got = str(self.feature[wrong[0]])
            raise SchemaError(f"a whole number from 0 to {n_features - 1}", got, path=f"feature[{wrong[0]}]")

    def largest_score(self) -> float:
        """Return a bound of the scores' size: the sum of each tree's largest leaf value."""
        if not self.n_trees:
            return 0.0
        return float(np.maximum.reduceat(np.abs(self.leaf_value), self.leaf_ptr[:-1]).sum())


def _joined_sets(parts: Sequence[Forest]) -> dict[str, Any]:
    """Return the sets of categories of several forests, as one has them; nothing where there is none."""
    sets = [part.category_bits for part in parts if part.category_bits is not None]
    if not sets:
        return {}
    words = [np.diff(part.category_sets[0]) for part in parts]
    return {"category_words": np.concatenate(words), "category_bits": np.concatenate(sets)}


def _counts(leaf_count: Ints | Floats) -> Ints | Floats:
    """Return whole numbers as int64, as files show them."""
    whole = leaf_count.astype(np.int64)
    return whole if (whole == leaf_count).all() else leaf_count


def category_bits(categories: Ints) -> NDArray[np.uint32]:
    """Return a set of categories (n,), at least one, as words (n_words,); the last is not 0."""
    members = np.zeros((int(categories.max()) // WORD_BITS + 1) * WORD_BITS, dtype=np.bool_)
    members[categories] = True
    return np.packbits(members, bitorder="little").view("<u4").astype(np.uint32)


def category_sets(n_nodes: int, sets: Mapping[int, Ints]) -> dict[str, Any]:
    """Return the sets of categories of some of a tree's nodes, by node, ascending, as `Forest` has them."""
    if not sets:
        return {}
    bits = [category_bits(categories) for categories in sets.values()]
    words = np.zeros(n_nodes, dtype=np.int64)
    words[list(sets)] = list(map(len, bits))
    return {"category_words": words, "category_bits": np.concatenate(bits)}


def set_members(forest: Forest) -> tuple[Ints, Ints]:
    """Return node and category of each member of the forest's sets, (n_members,) each, ascending."""
    words, bits = forest.category_sets
    filled = np.flatnonzero(bits)
    is_member = np.unpackbits(bits[filled].astype("<u4").view(np.uint8).reshape(-1, 4), axis=1, bitorder="little")
    word, bit = np.nonzero(is_member)
    node = np.searchsorted(words, filled, side="right") - 1
    return node[word], (WORD_BITS * (filled - words[node]))[word] + bit


def _check_lengths(forest: Forest) -> None:
    """Raise SchemaError unless nodes, leaves and trees have the same number in all columns."""
    of_leaves = ("leaf_value", "leaf_count")
    of_trees = ("node_ptr", "leaf_ptr")
    for column in fields(forest):
        first = "leaf_value" if column.name in of_leaves else "node_ptr" if column.name in of_trees else "feature"
        length = len(getattr(forest, first))
        values = getattr(forest, column.name)
        if column.name != "category_bits" and values is not None:
            check_length(values, length, column.name)


def _check_pointers(forest: Forest) -> None:
    """Raise SchemaError unless the pointers rise, and each tree has one leaf more than it has nodes."""
    for name, ptr, end in (
        ("node_ptr", forest.node_ptr, len(forest.feature)),
        ("leaf_ptr", forest.leaf_ptr, len(forest.leaf_value)),
    ):
        if not len(ptr) or ptr[0] != 0 or ptr[-1] != end or (np.diff(ptr) < 0).any():
            raise SchemaError(f"numbers that rise from 0 to {end}", "others", path=name)
    wrong = np.flatnonzero(np.diff(forest.leaf_ptr) != np.diff(forest.node_ptr) + 1)
    if len(wrong):
        tree = int(wrong[0])
        nodes, leaves = (int(np.diff(ptr)[tree]) for ptr in (forest.node_ptr, forest.leaf_ptr))
        raise SchemaError(
            "a tree with one leaf more than it has nodes",
            f"{leaves} leaves beside {nodes} nodes",
            path=f"leaf_ptr[{tree + 1}]",
        )


def _check_sets(forest: Forest) -> None:
    """Raise SchemaError unless the words of the sets of categories are all there, and the last of each is not 0."""
    words = forest.category_words
    bits = forest.category_bits
    if (words is None) != (bits is None):
        raise SchemaError("both category_words and category_bits", "one of them", path="category_words")
    if words is None or bits is None:
        return
    if not len(bits) or words.sum() != len(bits):
        raise SchemaError(f"{int(words.sum())} words, at least 1", str(len(bits)), path="category_bits")
    last = pointers(words)[1:][words > 0] - 1
    if not bits[last].all():
        at = int(last[np.argmin(bits[last] != 0)])
        raise SchemaError("sets whose last word is not 0", "0", path=f"category_bits[{at}]")


def _check_children(forest: Forest) -> None:
    """Raise SchemaError for a child that is not of its tree, that two nodes share, or that the root does not reach."""
    counts = np.diff(forest.node_ptr)
    n_nodes = len(forest.feature)
    tree = np.repeat(np.arange(forest.n_trees), counts)
    children = np.concatenate([forest.left, forest.right]).astype(np.int64)
    of_tree = np.tile(tree, 2)
    is_node = children >= 0
    known = np.where(is_node, (children > 0) & (children < counts[of_tree]), ~children <= counts[of_tree])
    nodes = forest.node_ptr[of_tree] + children
    targets = np.where(known, np.where(is_node, nodes, n_nodes + forest.leaf_ptr[of_tree] + ~children), -1)
    wrong = np.ones(len(targets), dtype=np.bool_)
    wrong[np.unique(targets, return_index=True)[1]] = False  # the first of equals
    wrong |= ~known
    if wrong.any():
        side, node = divmod(int(np.argmax(wrong)), n_nodes)
        size = int(counts[tree[node]])
        expected = f"{f'a node from 1 to {size - 1} or ' if size > 1 else ''}a leaf from -1 to {-size - 1}"
        path = f"{('left', 'right')[side]}[{node}]"
        raise SchemaError(f"{expected}, each once in its tree", str(children[side * n_nodes + node]), path=path)
    above = np.arange(n_nodes)
    above[targets[is_node]] = np.tile(np.arange(n_nodes), 2)[is_node]
    for _ in range(int(counts.max(initial=0)).bit_length()):  # each round doubles the way to the root
        above = above[above]
    unreached = np.flatnonzero(above != forest.node_ptr[tree])
    if len(unreached):
        raise SchemaError("a node that its tree's root reaches", "one in a circle", path=f"left[{unreached[0]}]")


_COLUMNS: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float32,
    "missing_left": np.bool_,
    "left": np.int32,
    "right": np.int32,
    "gain": np.float64,
    "leaf_value": np.float64,
}
