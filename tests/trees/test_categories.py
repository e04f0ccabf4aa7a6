"""Splits of categories: growth, sets of a node, scores, contributions, storage."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.runtime.codec import plain, restored
from rerank.runtime.fields import SchemaError
from rerank.trees.binned_data import bin_with
from rerank.trees.bins import learn_bins
from rerank.trees.categories import CategoryFeatures, CategoryValues, category_mask, check_codes
from rerank.trees.columns import Columns
from rerank.trees.constraints import SplitConstraints
from rerank.trees.contributions import add_contributions
from rerank.trees.forest import Forest, category_bits
from rerank.trees.grower import Grower
from rerank.trees.score import score_rows
from rerank.trees.structures import TreeLimits
from rerank.trees.tree_values import tree_values
from tests.oracles import contributions as shapley, trees as oracle
from tests.trees.test_score import random_tree

SPLIT = np.array([False, True, True, False])


def _data(seed: int, n: int = 1500, n_categories: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers, a category of many and one of three codes, with missing values; and gradients."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 9, (n, 4)).astype(np.float32)
    X[:, 1] = np.floor(n_categories * random.random(n) ** 2) * 3
    X[:, 2] = random.integers(0, 3, n)
    effect = random.standard_normal(3 * n_categories)
    grad = random.standard_normal(n) + effect[X[:, 1].astype(int)] + (X[:, 2] == 1) + X[:, 0] / 8
    X[random.random(X.shape) < 0.07] = np.nan
    return X, grad


def _grow(
    X: np.ndarray,
    grad: np.ndarray,
    limits: TreeLimits,
    max_bin: int = 255,
    constraints: SplitConstraints | None = None,
) -> tuple[Forest, Columns, np.ndarray]:
    columns = Columns.of(learn_bins(X, max_bin, 1, is_category=SPLIT))
    blocks = columns.blocks(X, np.arange(len(X)), 1)
    grower, rows = Grower(columns, blocks, limits, 1, constraints), np.arange(len(X), dtype=np.int32)
    return grower.grow(grad, np.ones(len(X)), rows, np.sort(columns.features))[0], columns, blocks


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("reg_lambda", "reg_alpha"), [(0.0, 0.0), (3.0, 0.0), (1.0, 20.0)])
def test_tree_with_categories_equals_the_oracle(seed: int, reg_lambda: float, reg_alpha: float) -> None:
    X, grad = _data(seed)
    limits = TreeLimits(8, min_child_samples=20, reg_alpha=reg_alpha, reg_lambda=reg_lambda)
    tree, columns, blocks = _grow(X, grad, limits)
    n_known = {1: len(np.unique(X[~np.isnan(X[:, 1]), 1])), 2: 3}
    expected, gains = oracle.grow_with_categories(X, grad, np.ones(len(X)), 8, 20, n_known, reg_lambda, reg_alpha)
    assert {1, 2} & set(tree.feature.tolist())
    np.testing.assert_allclose(tree.gain, gains, rtol=1e-5)
    np.testing.assert_allclose(score_rows(Forest.of([tree]), X), expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(tree_values(tree, columns, blocks), score_rows(Forest.of([tree]), X))


def test_unseen_and_missing_categories_go_the_same_way() -> None:
    X, grad = _data(2)
    tree, columns, _ = _grow(X, grad, TreeLimits(16, min_child_samples=5))
    missing, unseen = X.copy(), X.copy()
    missing[:, 1], unseen[:, 1], unseen[::2, 1] = np.nan, 1, 60_000
    scores = score_rows(Forest.of([tree]), missing)
    np.testing.assert_array_equal(score_rows(Forest.of([tree]), unseen), scores)
    separate = Columns.separate(columns.bins)
    blocks = bin_with(separate, unseen, np.arange(len(X)), 1)
    np.testing.assert_array_equal(tree_values(tree, separate, blocks), scores)


@pytest.mark.parametrize("max_bin", [2, 17, 255])
def test_the_most_frequent_categories_have_bins_and_the_others_are_missing(max_bin: int) -> None:
    random = np.random.default_rng(max_bin)
    X = np.zeros((4000, 4), np.float32)
    X[:, 1] = np.floor(500 * random.random(4000) ** 3)
    X[random.random(4000) < 0.1, 1] = np.nan
    columns = Columns.separate(learn_bins(X, max_bin, 1, is_category=SPLIT))
    values, counts = np.unique(X[~np.isnan(X[:, 1]), 1], return_counts=True)
    kept = sorted(sorted(range(len(values)), key=lambda code: (-counts[code], code))[:max_bin])
    np.testing.assert_array_equal(columns.bins.edges[1, : columns.bins.n_bins[1]], values[kept])
    codes = columns.blocks(X, np.arange(4000), 1)[0, :, columns.column[1]]
    bin_of = {values[code]: number for number, code in enumerate(kept)}
    assert codes.tolist() == [bin_of.get(value, 255) for value in X[:, 1].tolist()]


@pytest.mark.parametrize("fill", [np.nan, 4.0])
def test_a_category_of_one_value_is_no_candidate(fill: float) -> None:
    X, grad = _data(0)
    X[:, 1] = fill
    tree, columns, _ = _grow(X, grad, TreeLimits(8))
    assert 1 not in tree.feature
    assert columns.bins.n_bins[1] == 1


def test_bounds_of_a_monotone_feature_hold_below_a_split_of_a_category() -> None:
    X, grad = _data(3, n=4000)
    bound = SplitConstraints.of("abcd", {"a": -1})
    tree, *_ = _grow(X, grad, TreeLimits(31, min_child_samples=5), constraints=bound)
    assert {0, 1} <= set(tree.feature.tolist())
    swept = np.repeat(X[:300], 10, axis=0)
    swept[:, 0] = np.tile(np.arange(10), 300)
    assert (np.diff(score_rows(Forest.of([tree]), swept).reshape(300, 10), axis=1) <= 0.0).all()


def random_sets(tree: Forest, random: np.random.Generator, most: int) -> Forest:
    """Return a tree whose nodes of features 1 and 2 have sets of categories below `most`, some of them large."""
    words, bits = np.zeros(len(tree.feature), np.int64), [np.empty(0, np.uint32)]
    for node in np.flatnonzero(np.isin(tree.feature, (1, 2))).tolist():
        size = int(random.integers(1, random.choice([2, 3, most])))
        bits.append(category_bits(random.choice(most, size, replace=False)))
        words[node] = len(bits[-1])
    return replace(tree, category_words=words, category_bits=np.concatenate(bits)) if words.any() else tree


def _rows(random: np.random.Generator, n_rows: int, most: int) -> np.ndarray:
    X = random.standard_normal((n_rows, 4)).astype(np.float32)
    X[:, 1:3] = random.integers(0, most + 40, (n_rows, 2))
    X[random.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("most", [3, 30, 31, 32, 33, 700])
@pytest.mark.parametrize("sizes", [(2, 1, 31, 32) * 3, (33, 5, 64, 200)])
def test_scores_of_sets_equal_the_oracle(most: int, sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(most)
    forest = Forest.of([random_sets(random_tree(random, size, 4), random, most) for size in sizes])
    X = _rows(random, 200, most)
    expected = np.array([oracle.score(forest, row) for row in X])
    np.testing.assert_array_equal(score_rows(forest, X), expected)
    np.testing.assert_array_equal(score_rows(forest, X[:3]), expected[:3])
    again = Forest.of(forest.trees())
    np.testing.assert_array_equal(score_rows(again, X), expected)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), n_leaves=st.integers(1, 16))
def test_contributions_of_sets_are_shapley_values(seed: int, n_leaves: int) -> None:
    random = np.random.default_rng(seed)
    tree = random_sets(random_tree(random, n_leaves, 4), random, 40)
    tree, X = replace(tree, leaf_count=random.integers(1, 100, n_leaves)), _rows(random, 3, 40)
    out = np.zeros((3, 5))
    add_contributions(Forest.of([tree]), X, out)
    expected = [shapley.contributions(tree, tree.leaf_count, row) for row in X]
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)


def _stored() -> dict[str, list]:
    random = np.random.default_rng(7)
    forest = Forest.of([random_sets(random_tree(random, 12, 4), random, 70) for _ in range(3)])
    return json.loads(json.dumps(plain(forest)))


def test_sets_come_back_from_a_file() -> None:
    stored = _stored()
    forest = restored(Forest, stored)
    assert plain(forest) == stored
    assert set(forest.categories.tolist()) == {1, 2}


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("category_words", lambda words: [*words[:-1], 2049], "category_words"),
        ("category_words", lambda words: words[:-1], "category_words"),
        ("category_words", lambda words: [words[0] + 1, *words[1:]], r"category_bits: expected \d+ words"),
        ("category_words", lambda words: None, "category_words: expected both"),
        (
            "category_bits",
            lambda bits: [*bits[:-1], 0],
            r"category_bits\[\d+\]: expected sets whose last word is not 0",
        ),
        ("category_bits", lambda bits: [*bits[:-1], 2**32], "category_bits"),
        ("category_bits", lambda bits: [*bits, 1], r"category_bits: expected \d+ words"),
    ],
)
def test_damaged_sets_are_refused(name: str, change, message: str) -> None:
    stored = _stored()
    stored[name] = change(stored[name])
    with pytest.raises(SchemaError, match=message):
        restored(Forest, stored)


def test_sets_without_their_words_are_refused() -> None:
    stored = _stored()
    del stored["category_words"]
    with pytest.raises(SchemaError, match="expected both category_words and category_bits, got one of them"):
        restored(Forest, stored)


def test_features_are_named_or_numbered() -> None:
    assert category_mask("abc", 3, ["b", 2], {}).tolist() == [False, True, True]
    assert category_mask("abc", 3, "auto", {"a": []}).tolist() == [True, False, False]
    assert category_mask((), 2, "auto", {}).tolist() == [False, False]
    for unknown in ("d", 3):
        with pytest.raises(InvalidInputError, match=r"^categorical_feature: expected "):
            category_mask("abc", 3, [unknown], {})


@pytest.mark.parametrize("value", ["a", 3, [1.5], None, {"a": 1}])
def test_other_values_of_the_parameter_are_refused(value: object) -> None:
    with pytest.raises(SchemaError):
        CategoryFeatures().read(value)
    assert CategoryFeatures().read(("a", 1)) == ["a", 1]


@pytest.mark.parametrize("values", ["ab", [None], [[1]], ["a", "a"], list(range(2**16 + 1))])
def test_other_values_of_categories_are_refused(values: object) -> None:
    with pytest.raises(SchemaError):
        CategoryValues().read(values)


@pytest.mark.parametrize("value", [-1.0, 2.5, 65_536.0])
def test_values_that_are_no_codes_are_refused_in_one_line(value: float) -> None:
    X = np.full((5, 2), np.nan, np.float32)
    check_codes(X, np.array([1]), "ab", 2**16)
    X[3, 1] = value
    check_codes(X, np.array([0]), "ab", 2**16)
    with pytest.raises(InvalidInputError, match=rf"got {value:.9g} at row 3 of feature 'b'") as caught:
        check_codes(X, np.array([1]), "ab", 2**16)
    assert "\n" not in str(caught.value)
