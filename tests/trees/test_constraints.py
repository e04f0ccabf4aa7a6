from __future__ import annotations

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.runtime.fields import SchemaError
from rerank.trees.bins import learn_bins
from rerank.trees.columns import Columns
from rerank.trees.constraints import Directions, FeatureGroups, SplitConstraints
from rerank.trees.forest import Forest
from rerank.trees.grower import Grower
from rerank.trees.score import score_rows
from rerank.trees.structures import TreeLimits
from tests.oracles import trees as oracle

NAMES = ("a", "b", "c", "d")
DIRECTIONS = {"a": 1, "c": -1}


def _data(seed: int, missing: float = 0.1, n: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.integers(0, 12, (n, 4)).astype(np.float32)
    X[random.random(X.shape) < missing] = np.nan
    return X, random.standard_normal(n), random.uniform(0.5, 2.0, n)


def _grow(
    X: np.ndarray, grad: np.ndarray, hess: np.ndarray, constraints: SplitConstraints | None, limits: TreeLimits
) -> Forest:
    columns = Columns.of(learn_bins(X, 255, 1))
    grower = Grower(columns, columns.blocks(X, np.arange(len(X)), 1), limits, 1, constraints)
    return grower.grow(grad, hess, np.arange(len(X), dtype=np.int32), np.arange(4))[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("reg_lambda", "reg_alpha"), [(0.0, 0.0), (3.0, 0.0), (1.0, 2.0)])
def test_constrained_tree_equals_the_oracle(seed: int, reg_lambda: float, reg_alpha: float) -> None:
    X, grad, hess = _data(seed)
    hess[:] = 1.0
    groups = [("a", "b"), ("b", "c", 3)] if seed % 2 else None
    limits = TreeLimits(num_leaves=8, min_child_samples=5, reg_alpha=reg_alpha, reg_lambda=reg_lambda)
    tree = _grow(X, grad, hess, SplitConstraints.of(NAMES, DIRECTIONS, groups), limits)
    members = [{0, 1}, {1, 2, 3}] if seed % 2 else [{0, 1, 2, 3}]
    expected, gains = oracle.grow_constrained(X, grad, hess, 8, 5, (1, 0, -1, 0), members, (reg_lambda, reg_alpha))
    np.testing.assert_allclose(tree.gain, gains, rtol=1e-5)
    np.testing.assert_allclose(score_rows(Forest.of([tree]), X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_score_never_moves_against_a_direction(seed: int) -> None:
    """Every constrained feature is swept over all its thresholds, the other values fixed."""
    X, grad, hess = _data(seed, n=2000)
    grad += np.nan_to_num(X[:, 0]) / 6 - np.nan_to_num(X[:, 2]) / 6  # the data contradict both directions
    limits = TreeLimits(num_leaves=31, min_child_samples=3)
    tree = _grow(X, grad, hess, SplitConstraints.of(NAMES, DIRECTIONS), limits)
    forest, rows = Forest.of([tree]), X[np.random.default_rng(seed).permutation(2000)[:300]]
    assert {0, 2} & set(tree.feature.tolist()) or len(tree.feature) > 1
    for feature, direction in ((0, 1), (2, -1)):
        swept = np.repeat(rows, 13, axis=0)
        swept[:, feature] = np.tile(np.arange(-0.5, 12.5), len(rows))
        steps = np.diff(score_rows(forest, swept).reshape(len(rows), 13), axis=1)
        assert (direction * steps >= 0.0).all()


def test_directions_that_the_data_keep_change_nothing() -> None:
    X, _, hess = _data(1, missing=0.0)
    grad = -X[:, 0].astype(np.float64)
    limits = TreeLimits(num_leaves=4, min_child_samples=10)
    free, bound = (_grow(X, grad, hess, each, limits) for each in (None, SplitConstraints.of(NAMES, DIRECTIONS)))
    assert free.feature.tolist() == bound.feature.tolist()
    np.testing.assert_array_equal(free.leaf_value, bound.leaf_value)


@pytest.mark.parametrize("seed", range(3))
def test_paths_stay_in_one_group(seed: int) -> None:
    X, grad, hess = _data(seed, n=1000)
    tree = _grow(X, grad, hess, SplitConstraints.of(NAMES, groups=[(0, 1), ("c",)]), TreeLimits(min_child_samples=3))
    paths = oracle.feature_paths(tree)
    assert all(path <= {0, 1} or path <= {2} for path in paths)
    assert {2} in paths or {0, 1} in paths
    assert 3 not in tree.feature  # in no group


def test_constraints_are_refused_with_what_is_wrong() -> None:
    with pytest.raises(InvalidInputError, match=r"^monotone_constraints: expected a feature of the training data"):
        SplitConstraints.of(NAMES, {"aa": 1})
    with pytest.raises(InvalidInputError, match=r"a direction for each of 4 features, got 2\. Give a mapping"):
        SplitConstraints.of(NAMES, [1, 0])
    with pytest.raises(InvalidInputError, match=r"the number of one of 4 features, from 0, got 4\. Name the feature\."):
        SplitConstraints.of(NAMES, groups=[[4]])
    with pytest.raises(SchemaError, match=r"expected -1 to 1, got 2"):
        Directions().read({"a": 2})
    with pytest.raises(SchemaError, match=r"expected a list of values, at least one, got 'a'"):
        Directions().read("a")
    with pytest.raises(SchemaError, match=r"expected at most 64 groups, got 65"):
        FeatureGroups().read([["a"]] * 65)
    with pytest.raises(SchemaError, match=r"expected a list of values, at least one"):
        FeatureGroups().read([[]])


def test_directions_are_stored_as_plain_values() -> None:
    assert Directions().read(np.array([1, 0, -1])) == [1, 0, -1]
    assert Directions().read({"a": np.int64(1)}) == {"a": 1}
    assert FeatureGroups().read((("a", 1), ["b"])) == [["a", 1], ["b"]]
