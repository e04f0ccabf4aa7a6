"""Arrays and records that the stages of tree growth share: binned rows, limits, splits, leaves and nodes.

code            the value of a column's byte: the bin of one feature, or the digits of several (`columns.py`)
column group    4 neighbouring columns (a quarter of a block of 16): the least that one thread takes
packed          one int64 a row: gradient in the high 32 bits, hessian in the low 32 (`grower.py`)
histogram       (256,) int64 of one column: the sum of `packed` by code
slot            index of a leaf's histograms, totals and best split. After a split the larger child takes over the slot
                of its parent, so a leaf and its slot have numbers of their own.

The named tuples and dtypes are part of a compiled kernel's signature: a change of them compiles it anew.

What the splits of all trees of a forest must keep to: monotone and interaction constraints.

Monotone constraints, by the method "basic" of LightGBM. A split on a constrained feature whose children's Newton steps
contradict the direction is no candidate. The steps of all leaves below its left child end, and those below its right
child begin, at the middle of the two steps, so that no later split undoes the order. Missing values take either side.

Interaction constraints. The features of a path from the root to a leaf are all in one of the groups: a split may take
the features of the groups that hold all features of the path. A feature in no group is never taken, as in LightGBM.

Which features are categories: their values are codes without an order, whole numbers from 0, or missing.

A node splits a category by a set of codes (`leafwise.py` chooses it, `Tree.category_bits` holds it). A code outside it,
such as one that training did not see, goes where missing values go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, suggestion
from rerank.runtime.codec import Field, Items, SchemaError, Sizes, Table, Text, Whole
from rerank.runtime.mapped_rows import row_blocks
from rerank.trees.forest import MOST_CATEGORIES
from rerank.types import Ints

BIN_WORDS = 4  # of 64 bins each
ROUNDING = 2.0**-20  # of sums of hessians that are no multiples of a power of 2
FEATURE = np.dtype(
    [
        ("column", np.int64),  # where its codes are; -1: one bin only, nothing to split
        ("n_digits", np.int64),  # number of values of its digit in the code; 256 where it has the column for itself
        ("missing_digit", np.int64),  # digit of a missing value
        ("n_bins", np.int64),
        ("has_missing", np.bool_),  # whether the training rows hold a missing value
        ("is_category", np.bool_),  # whether its bins are categories, which have no order
    ],
    align=True,
)
SPLIT = np.dtype(
    [
        ("gain", np.float64),  # decrease of the loss; 0: no split
        ("feature", np.int64),
        ("bin", np.int64),  # the last one that goes left
        ("left_bins", np.uint64, (BIN_WORDS,)),  # of a category instead: the bins that go left, a bit each
        ("missing_left", np.bool_),  # whether missing values go left
        ("left_grad", np.float64),  # sums over the rows that go left
        ("left_hess", np.float64),
    ],
    align=True,
)
TOTALS = np.dtype(
    [
        ("grad", np.float64),
        ("hess", np.float64),
        ("n_rows", np.int64),
        ("low", np.float64),  # bounds of the leaf's value, from monotone constraints
        ("high", np.float64),
        ("groups", np.uint64),  # interaction groups that hold all features of the path to the leaf, a bit each
    ],
    align=True,
)
LEAF = np.dtype(
    [
        ("first", np.int64),  # its rows are [first, last) of its buffer
        ("last", np.int64),
        ("buffer", np.int64),  # 0 or 1: a split copies the rows of a leaf from one buffer to the other
        ("slot", np.int64),
        ("depth", np.int64),
        ("parent", np.int64),  # node; -1: the leaf is the root
        ("is_left", np.bool_),  # which child of its parent
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("feature", np.int64),
        ("bin", np.int64),
        ("left_bins", np.uint64, (BIN_WORDS,)),
        ("missing_left", np.bool_),
        ("left", np.int64),  # a node, or ~leaf (negative)
        ("right", np.int64),
        ("gain", np.float64),
    ],
    align=True,
)
ALL_GROUPS = np.uint64(2**64 - 1)
FEATURES = "features"  # the directions that the features' families declare
MOST_GROUPS = 64  # a bit each
_Directions = Mapping[str, int] | Sequence[int]
_Groups = Sequence[Sequence[str | int]]
_DIRECTION = Whole(-1, 1)
AUTO = "auto"


class BinnedRows(NamedTuple):
    """The binned rows of a data set, the same for all of its trees.

    Attributes
    ----------
    blocks : uint64 array of shape (n_blocks, n_rows, 2)
        The codes of 16 columns, a byte each: histograms read many columns of a row.
    codes : uint8 array of shape (n_blocks, n_rows, 16)
        The same memory by byte: a split reads one column.
    exceptions : uint64 array of shape (n_rows + 1, 2)
        Codes of the sparse columns (`columns.py`).
    most_freq_code : uint8 array of shape (n_sparse,)
        Most frequent code of each sparse column.
    first_sparse : int
        First sparse column; the others follow it.
    column_ptr : int64 array of shape (n_columns + 1,)
        Features of column c are column_features[column_ptr[c] : column_ptr[c + 1]].
    column_features : int64 array of shape (n_stored,)
        Features by column.
    features : FEATURE array of shape (n_features,)
    digit_of_code : int64 array of shape (n_features, 256)
        Digit of a feature under each code of its column.
    category_order : int64 array of shape (n_features, 256)
        Bins of a category in the order in which equal ones are tried.

    """

    blocks: NDArray[np.uint64]
    codes: NDArray[np.uint8]
    exceptions: NDArray[np.uint64]
    most_freq_code: NDArray[np.uint8]
    first_sparse: int
    column_ptr: Ints
    column_features: Ints
    features: NDArray[np.void]
    digit_of_code: Ints
    category_order: Ints


class TreeLimits(NamedTuple):
    """When a tree stops growing; the names are those of LightGBM's ``LGBMRanker``.

    Kernels take float numbers, and looser limits where splits fit gradients by least squares.

    Parameters
    ----------
    num_leaves : int
        Most leaves.
    max_depth : int
        Most splits from the root to a leaf; negative: no limit.
    min_child_samples : float
        Fewest rows of a leaf.
    min_child_weight : float
        Smallest sum of hessians of a leaf.
    min_split_gain : float
        A split must gain more than this.
    reg_alpha : float
        What the size of a leaf's sum of gradients is reduced by.
    reg_lambda : float
        Added to the sum of hessians of a leaf.

    """

    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: float = 20
    min_child_weight: float = 1e-3
    min_split_gain: float = 0.0
    reg_alpha: float = 0.0
    reg_lambda: float = 0.0

    @property
    def least_hess(self) -> float:
        """`min_child_weight`, less what sums of hessians lose by rounding: a sum that equals it is enough."""
        return float(self.min_child_weight) * (1.0 - ROUNDING)


class TreeTask(NamedTuple):
    """What one tree is grown from.

    Attributes
    ----------
    features : int64 array of shape (n_candidates,)
        Features that may be split on, in the order that decides between equal gains.
    is_candidate : bool array of shape (n_features,)
        Whether each feature is one of them.
    column_groups : int64 array of shape (n_groups,)
        Column groups that hold a candidate, ascending.
    thread_ptr : int64 array of shape (n_threads + 1,)
        Thread t sums and searches column_groups[thread_ptr[t] : thread_ptr[t + 1]].
    grad_unit, hess_unit : float
        Gradient and hessian of one unit of the packed integers.
    direction : int64 array of shape (n_features,)
        Monotone constraints: 1 where the score may not fall with the feature, -1 where it may not rise, else 0.
    groups : uint64 array of shape (n_features,)
        Interaction groups that hold each feature, a bit each; all bits without such constraints.
    bounded : bool
        Whether a direction is not 0.

    """

    features: Ints
    is_candidate: NDArray[np.bool_]
    column_groups: Ints
    thread_ptr: Ints
    grad_unit: float
    hess_unit: float
    direction: Ints
    groups: NDArray[np.uint64]
    bounded: bool


class Workspace(NamedTuple):
    """Memory that is allocated once and used for every tree.

    Attributes
    ----------
    rows : int32 array of shape (2, n_rows)
        Two buffers of row numbers, ordered by leaf. After growth buffer 0 holds all of them.
    packed : int64 array of shape (2, n_rows)
        Packed gradients of `rows`.
    goes_left : uint8 array of shape (n_rows,)
        Whether a row of the leaf that is split goes left.
    histograms : int64 array of shape (n_slots, n_columns, 256)
    feature_splits : SPLIT array of shape (2, n_features)
        Best split of each feature, of the two leaves that are searched together.
    splits : SPLIT array of shape (n_slots,)
        Best split of each leaf.
    totals : TOTALS array of shape (n_slots,)
    leaves : LEAF array of shape (n_slots,)
    nodes : NODE array of shape (n_slots - 1,), at least 1

    """

    rows: NDArray[np.int32]
    packed: NDArray[np.int64]
    goes_left: NDArray[np.uint8]
    histograms: NDArray[np.int64]
    feature_splits: NDArray[np.void]
    splits: NDArray[np.void]
    totals: NDArray[np.void]
    leaves: NDArray[np.void]
    nodes: NDArray[np.void]

    @classmethod
    def allocate(cls, n_rows: int, n_columns: int, n_features: int, n_leaves: int) -> Workspace:
        """Return the memory for trees of up to `n_leaves` leaves."""
        return cls(
            rows=np.empty((2, n_rows), dtype=np.int32),
            packed=np.empty((2, n_rows), dtype=np.int64),
            goes_left=np.empty(n_rows, dtype=np.uint8),
            histograms=np.empty((n_leaves, n_columns, 256), dtype=np.int64),
            feature_splits=np.zeros((2, n_features), dtype=SPLIT),
            splits=np.zeros(n_leaves, dtype=SPLIT),
            totals=np.zeros(n_leaves, dtype=TOTALS),
            leaves=np.zeros(n_leaves, dtype=LEAF),
            nodes=np.zeros(max(n_leaves - 1, 1), dtype=NODE),
        )

    def start(self, grad: float, hess: float, n_rows: int) -> None:
        """Make the root the only leaf; rows and packed gradients are in buffer 0, their totals are given."""
        self.totals[0] = (grad, hess, n_rows, -np.inf, np.inf, ALL_GROUPS)
        self.leaves[0] = (0, n_rows, 0, 0, 0, -1, False)
        self.splits["gain"] = 0.0
        self.feature_splits["gain"] = 0.0


class Directions(Field):
    """Monotone constraints: a direction for each named feature, or a list of one for each; FEATURES; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"a mapping of names to -1, 0 or 1, a list of these, {FEATURES!r}, or None"

    def read(self, value: object, sizes: Sizes) -> dict[str, int] | list[int] | str | None:
        """Return the directions."""
        if value is None or (isinstance(value, str) and value == FEATURES):
            return value
        if isinstance(value, Mapping):
            return Table(_DIRECTION).read(value, sizes)
        return Items(_DIRECTION).read(_as_list(value), sizes)


class FeatureGroups(Field):
    """Interaction constraints: lists of names or numbers of features; or None."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"up to {MOST_GROUPS} lists of names or numbers, or None"

    def read(self, value: object, sizes: Sizes) -> list[list[str | int]] | None:
        """Return the groups."""
        if value is None:
            return None
        groups = [_as_list(group) for group in value] if isinstance(value, list | tuple) else value
        read: list[list[str | int]] = Items(Items(FeatureKey())).read(groups, sizes)
        if len(read) > MOST_GROUPS:
            raise SchemaError(f"at most {MOST_GROUPS} groups", str(len(read)))
        return read


class FeatureKey(Field):
    """The name or the number of a feature."""

    def read(self, value: object, sizes: Sizes) -> str | int:
        """Return it."""
        key: str | int = (Text() if isinstance(value, str) else Whole(0, 2**31)).read(value, sizes)
        return key


def _as_list(value: object) -> object:
    return list(value) if isinstance(value, tuple | np.ndarray) else value


@dataclass(frozen=True, eq=False)
class SplitConstraints:
    """Constraints of the features of a data set.

    Parameters
    ----------
    direction : int64 array of shape (n_features,)
        1 where the score may not fall with the feature, -1 where it may not rise, else 0.
    groups : uint64 array of shape (n_features,)
        Interaction groups that hold each feature, a bit each; all bits without such constraints.

    """

    direction: Ints
    groups: NDArray[np.uint64]

    @property
    def kinds(self) -> NDArray[np.uint64]:
        """A number for each feature, (n_features,): equal for those of the same constraints."""
        columns = np.column_stack([self.direction.astype(np.uint64), self.groups])
        return np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)

    @classmethod
    def of(
        cls, names: Sequence[str], directions: _Directions | None = None, groups: _Groups | None = None
    ) -> SplitConstraints:
        """Return the constraints of features by their names; raise InvalidInputError for unknown ones."""
        direction = np.zeros(len(names), dtype=np.int64)
        if isinstance(directions, Mapping):
            for name, value in directions.items():
                direction[feature_number(names, name, "monotone_constraints")] = value
        elif directions is not None and len(directions) != len(names):
            raise InvalidInputError(
                f"monotone_constraints: expected a direction for each of {len(names)} features, got {len(directions)}. "
                "Give a mapping of names to directions."
            )
        elif directions is not None:
            direction[:] = directions
        allowed = np.full(len(names), ALL_GROUPS if groups is None else 0, dtype=np.uint64)
        for bit, group in enumerate(groups or ()):
            for feature in group:
                allowed[feature_number(names, feature, "interaction_constraints")] |= np.uint64(1 << bit)
        return cls(direction, allowed)


def feature_number(names: Sequence[str], feature: str | int, place: str) -> int:
    """Return the number of a feature that is named, or given by its number."""
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if isinstance(feature, int) and feature < len(names):
        return feature
    if isinstance(feature, int):
        raise InvalidInputError(
            f"{place}: expected the number of one of {len(names)} features, from 0, got {feature}. Name the feature."
        )
    raise InvalidInputError(
        f"{place}: expected a feature of the training data, got {shown(feature)}. {suggestion(feature, list(names))}"
    )


class CategoryFeatures(Field):
    """Names or numbers of the features that are categories, or "auto"."""

    def accepts(self) -> str:
        """Return what is accepted."""
        return f"{AUTO!r}, or a list of names or numbers"

    def read(self, value: object, sizes: Sizes) -> str | list[str | int]:
        """Return the features."""
        if value == AUTO:
            return AUTO
        if isinstance(value, str):
            raise SchemaError(self.accepts(), shown(value))
        keys: list[str | int] = Items(FeatureKey(), may_be_empty=True).read(_as_list(value), sizes)
        return keys


class CategoryValues(Field):
    """List of the values of a category, each once: text, numbers or booleans; the code of a value is its position."""

    def read(self, value: object, sizes: Sizes) -> list[str | int | float | bool]:
        """Return the values."""
        if not isinstance(value, list) or not all(isinstance(entry, str | int | float) for entry in value):
            raise SchemaError("a list of texts and numbers", shown(value))
        if len(set(value)) < len(value) or len(value) > MOST_CATEGORIES:
            raise SchemaError(
                f"up to {MOST_CATEGORIES} values, each once", f"{len(value)}, {len(set(value))} of them distinct"
            )
        return value


def category_mask(
    names: Sequence[str], n_features: int, chosen: str | Iterable[str | int], automatic: Mapping[str, object]
) -> NDArray[np.bool_]:
    """Return which features are categories, (n_features,): those chosen, or with "auto" those of `automatic`."""
    mask = np.zeros(n_features, dtype=np.bool_)
    for feature in automatic if isinstance(chosen, str) else chosen:
        mask[feature_number(names, feature, "categorical_feature")] = True
    return mask


def check_codes(
    X: NDArray[np.float32], features: Ints, names: Sequence[str], most: float = np.inf, what: str = "X"
) -> None:
    """Refuse values of categories that are no codes below `most`; NaN is missing."""
    for first, block in row_blocks(X) if len(features) else ():
        codes = block[:, features]
        wrong = (codes < 0.0) | (codes >= most) | (codes != np.floor(codes)) & ~np.isnan(codes)
        if wrong.any():
            row, column = (int(places[0]) for places in np.nonzero(wrong))
            raise InvalidInputError(
                f"{what}: expected whole numbers from 0{'' if most == np.inf else f' to {most - 1:.0f}'} or NaN as "
                f"categories, got "
                f"{codes[row, column]:.9g} at row {first + row} of feature {shown(names[features[column]])}. Number "
                "categories from 0, and put NaN where one is missing."
            )
