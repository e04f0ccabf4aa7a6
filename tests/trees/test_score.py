from __future__ import annotations

import json

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.runtime.codec import plain, restored
from rerank.trees import score
from rerank.trees.forest import Forest, category_bits
from rerank.trees.score import FEW_ROWS, bit_forest, score_rows
from rerank.types import pointers
from tests.oracles import trees as oracle


def random_tree(random: np.random.Generator, n_leaves: int, n_features: int) -> Forest:
    """A tree of any shape: leaves are split in random order."""
    left, right = np.zeros(n_leaves - 1, np.int32), np.zeros(n_leaves - 1, np.int32)
    hangs: list[tuple[int, int]] = [(-1, 0)]
    for node in range(n_leaves - 1):
        leaf = int(random.integers(len(hangs)))
        parent, side = hangs[leaf]
        if parent >= 0:
            (left, right)[side][parent] = node
        left[node], right[node] = ~leaf, ~len(hangs)
        hangs[leaf] = (node, 0)
        hangs.append((node, 1))
    n_nodes = n_leaves - 1
    return Forest.tree(
        feature=random.integers(0, n_features, n_nodes).astype(np.int32),
        threshold=random.standard_normal(n_nodes).astype(np.float32),
        missing_left=random.random(n_nodes) < 0.5,
        left=left,
        right=right,
        gain=random.random(n_nodes),
        leaf_value=random.standard_normal(n_leaves),
    )


def _rows(random: np.random.Generator, n_rows: int, n_features: int = 6) -> np.ndarray:
    """Rows with missing and infinite values."""
    X = random.standard_normal((n_rows, n_features)).astype(np.float32)
    X[random.random(X.shape) < 0.1] = np.nan
    X[random.random(X.shape) < 0.02] = np.inf
    X[random.random(X.shape) < 0.02] = -np.inf
    return X


def _forest(seed: int, sizes: tuple[int, ...]) -> tuple[Forest, np.ndarray]:
    random = np.random.default_rng(seed)
    forest = Forest.of([random_tree(random, size, 6) for size in sizes])
    return forest, _rows(random, 300)


def _oracle_scores(forest: Forest, X: np.ndarray) -> np.ndarray:
    return np.array([oracle.score(forest, row) for row in X])


@pytest.mark.parametrize("n_leaves", [1, 2, 31, 32, 33, 64, 65, 200, 255])
def test_scores_equal_the_oracle(n_leaves: int) -> None:
    forest, X = _forest(n_leaves, (n_leaves,) * 3)
    expected = _oracle_scores(forest, X)
    np.testing.assert_array_equal(score_rows(forest, X), expected)
    np.testing.assert_array_equal(score_rows(forest, X[:FEW_ROWS]), expected[:FEW_ROWS])


def test_scores_equal_the_oracle_when_trees_differ_in_size() -> None:
    forest, X = _forest(0, (1, 2, 31, 8, 64, 200, 1, 255, 33, 600) * 2)
    np.testing.assert_array_equal(score_rows(forest, X), _oracle_scores(forest, X))


@pytest.mark.parametrize("heavy", ["left", "right"])
def test_scores_equal_the_oracle_when_every_split_parts_one_leaf(heavy: str) -> None:
    n_nodes = 254
    chain = np.append(np.arange(1, n_nodes, dtype=np.int32), np.int32(~n_nodes))
    single = ~np.arange(n_nodes, dtype=np.int32)
    random = np.random.default_rng(5)
    threshold = np.sort(random.standard_normal(n_nodes).astype(np.float32))
    tree = Forest.tree(
        feature=np.zeros(n_nodes, np.int32),
        threshold=threshold[::-1].copy() if heavy == "left" else threshold,
        missing_left=random.random(n_nodes) < 0.5,
        left=chain if heavy == "left" else single,
        right=single if heavy == "left" else chain,
        gain=np.zeros(n_nodes),
        leaf_value=random.standard_normal(n_nodes + 1),
    )
    forest, X = Forest.of([tree]), _rows(random, 200, 1)
    np.testing.assert_array_equal(score_rows(forest, X), _oracle_scores(forest, X))


def symmetric_tree(random: np.random.Generator, depth: int, n_features: int, with_sets: bool) -> Forest:
    """A complete tree whose nodes of one depth have the same split, with its nodes and leaves in any order."""
    n_nodes, n_leaves = (1 << depth) - 1, 1 << depth
    place = np.append(0, 1 + random.permutation(n_nodes - 1))  # of each node; the root stays first
    leaf = random.permutation(n_leaves)
    asks = np.floor(np.log2(np.arange(n_nodes) + 1)).astype(int)
    features, thresholds = random.integers(0, n_features, depth), random.standard_normal(depth).astype(np.float32)
    missing_left = random.random(depth) < 0.5
    is_set = (random.random(depth) < 0.5) & with_sets
    features[is_set] = n_features
    sets = [category_bits(np.flatnonzero(random.random(90) < 0.4)) for _ in range(depth)]
    children = np.empty((n_nodes, 2), np.int32)
    for node in range(n_nodes):
        for side in range(2):
            child = 2 * node + 1 + side
            children[place[node], side] = place[child] if child < n_nodes else ~leaf[child - n_nodes]
    asked = np.empty(n_nodes, int)
    asked[place] = asks
    words = np.where(is_set, [len(each) for each in sets], 0)[asked].astype(np.int64)
    bits = [sets[question] for question in asked.tolist() if is_set[question]]
    return Forest.tree(
        feature=features[asked].astype(np.int32),
        threshold=np.where(is_set, 0, thresholds)[asked].astype(np.float32),
        missing_left=missing_left[asked],
        left=children[:, 0].copy(),
        right=children[:, 1].copy(),
        gain=random.random(n_nodes),
        leaf_value=random.standard_normal(n_leaves),
        category_words=words if with_sets else None,
        category_bits=np.concatenate([*bits, np.empty(0, np.uint32)]) if with_sets else None,
    )


@pytest.mark.parametrize("with_sets", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 3, 5, 6, 8])
def test_scores_equal_the_oracle_when_trees_are_symmetric(depth: int, with_sets: bool) -> None:
    random = np.random.default_rng(depth)
    trees = [symmetric_tree(random, depth, 6, with_sets) for _ in range(9)] + [random_tree(random, 40, 6)]
    almost = symmetric_tree(random, depth, 6, False)
    almost.threshold[-1] += 0.5
    forest, X = Forest.of([*trees, almost, trees[0]]), _rows(random, 200, 7)
    X[:, 6] = np.where(random.random(200) < 0.1, np.nan, random.integers(0, 120, 200))
    np.testing.assert_array_equal(score_rows(forest, X), _oracle_scores(forest, X))
    layout = bit_forest(forest)
    n_tests = pointers((layout.mask != -1).sum(axis=1))[layout.pass_ptr]
    assert np.diff(n_tests)[: layout.tree_words[9]].max() <= depth  # nodes of a word with one split are one test


def test_values_at_the_threshold_go_left() -> None:
    forest, _ = _forest(4, (31,) * 9)
    X = np.random.default_rng(4).choice(forest.threshold, (100, 6))
    X[::7] = np.nextafter(X[::7], np.float32(np.inf))
    expected = _oracle_scores(forest, X)
    np.testing.assert_array_equal(score_rows(forest, X), expected)
    np.testing.assert_array_equal(score_rows(forest, X[:7]), expected[:7])


@pytest.mark.parametrize("threshold", [np.inf, -np.inf])
def test_scores_equal_the_oracle_when_a_threshold_is_infinite(threshold: float) -> None:
    forest, X = _forest(6, (31,) * 4)
    forest.threshold[::3] = threshold
    expected = _oracle_scores(forest, X)
    np.testing.assert_array_equal(score_rows(forest, X), expected)
    np.testing.assert_array_equal(score_rows(forest, X[:FEW_ROWS]), expected[:FEW_ROWS])


@pytest.mark.parametrize("n_rows", [1, 2, 8, 15, 32, 33, 64, 65, 256, 257, 1000])
def test_scores_of_rows_do_not_depend_on_the_batch(n_rows: int) -> None:
    forest, _ = _forest(1, (31,) * 20 + (100,))
    X = _rows(np.random.default_rng(n_rows), 1000)
    np.testing.assert_array_equal(score_rows(forest, X)[-n_rows:], score_rows(forest, X[-n_rows:]))


def test_scores_of_single_rows_have_the_same_bits_as_in_a_batch() -> None:
    forest, X = _forest(1, (31,) * 20)
    whole = score_rows(forest, X)
    np.testing.assert_array_equal(whole, np.concatenate([score_rows(forest, X[i : i + 1]) for i in range(len(X))]))


def test_scores_have_the_same_bits_on_one_and_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    forest, _ = _forest(2, (31,) * 30)
    X = _rows(np.random.default_rng(2), 3001)
    monkeypatch.setattr(score, "PARALLEL_TESTS", 0)
    before = numba.get_num_threads()
    scores = []
    for n_threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(n_threads)
        scores.append(score_rows(forest, X))
    numba.set_num_threads(before)
    np.testing.assert_array_equal(*scores)
    np.testing.assert_array_equal(scores[0][::100], _oracle_scores(forest, X[::100]))


def test_scores_are_zero_when_the_forest_is_empty() -> None:
    assert not score_rows(Forest.of([]), np.ones((3, 2), np.float32)).any()
    assert not score_rows(Forest.of([]), np.ones((100, 2), np.float32)).any()


def test_scores_are_none_when_there_are_no_rows() -> None:
    forest, X = _forest(3, (31, 2))
    assert score_rows(forest, X[:0]).shape == (0,)


@pytest.mark.parametrize("n_rows", [5, 100])
def test_scores_do_not_depend_on_how_rows_lie_in_memory(n_rows: int) -> None:
    forest, X = _forest(7, (31, 40))
    X = X[:n_rows]
    expected = score_rows(forest, X)
    np.testing.assert_array_equal(score_rows(forest, np.asfortranarray(X)), expected)
    np.testing.assert_array_equal(score_rows(forest, np.repeat(X, 2, axis=0)[::2]), expected)
    np.testing.assert_array_equal(score_rows(forest, X.astype(np.float64)), expected)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(1, 80), min_size=0, max_size=20),
    n_features=st.integers(1, 5),
    n_rows=st.integers(0, 140),
)
def test_scores_equal_the_oracle_for_any_forest(seed: int, sizes: list[int], n_features: int, n_rows: int) -> None:
    random = np.random.default_rng(seed)
    forest = Forest.of([random_tree(random, size, n_features) for size in sizes])
    X = _rows(random, n_rows, n_features)
    np.testing.assert_array_equal(score_rows(forest, X), _oracle_scores(forest, X))


def test_forest_comes_back_exactly_from_json() -> None:
    forest, X = _forest(2, (31, 1, 5))
    again = restored(Forest, json.loads(json.dumps(plain(forest))))
    np.testing.assert_array_equal(score_rows(forest, X), score_rows(again, X))


def test_forest_comes_back_when_its_parts_are_joined() -> None:
    random = np.random.default_rng(3)
    forest = Forest.of([symmetric_tree(random, depth, 5, with_sets=depth % 2 == 0) for depth in (1, 2, 3, 4)])
    assert [tree.n_trees for tree in forest.trees()] == [1, 1, 1, 1]
    assert plain(Forest.of(forest.trees())) == plain(forest)
    assert plain(Forest.of([forest.select(0, 1), forest.select(1, 4)])) == plain(forest)
