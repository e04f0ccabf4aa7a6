from __future__ import annotations

import json

import numpy as np

from rerank.trees.forest import Forest, Tree
from rerank.trees.score import score_rows
from tests.oracles import trees as oracle


def random_tree(random: np.random.Generator, n_leaves: int, n_features: int) -> Tree:
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
    return Tree(
        random.integers(0, n_features, n_nodes).astype(np.int32),
        random.standard_normal(n_nodes).astype(np.float32),
        random.random(n_nodes) < 0.5,
        left,
        right,
        random.random(n_nodes),
        random.standard_normal(n_leaves),
    )


def _forest(seed: int, sizes: tuple[int, ...]) -> tuple[Forest, np.ndarray]:
    random = np.random.default_rng(seed)
    forest = Forest.of([random_tree(random, size, 6) for size in sizes])
    X = random.standard_normal((300, 6)).astype(np.float32)
    X[random.random(X.shape) < 0.1] = np.nan
    X[0] = np.inf
    X[1] = -np.inf
    return forest, X


def test_scores_equal_the_oracle() -> None:
    forest, X = _forest(0, (1, 2, 31, 8, 64, 200))
    expected = [oracle.score(forest, row) for row in X]
    np.testing.assert_allclose(score_rows(forest, X), expected, rtol=1e-12)


def test_scores_of_rows_do_not_depend_on_the_batch() -> None:
    forest, X = _forest(1, (31,) * 20)
    whole = score_rows(forest, X)
    np.testing.assert_array_equal(whole, np.concatenate([score_rows(forest, X[i : i + 1]) for i in range(len(X))]))


def test_forest_comes_back_exactly_from_json() -> None:
    forest, X = _forest(2, (31, 1, 5))
    again = Forest.from_dict(json.loads(json.dumps(forest.to_dict())))
    np.testing.assert_array_equal(score_rows(forest, X), score_rows(again, X))


def test_head_of_a_forest_is_its_first_trees() -> None:
    forest, X = _forest(3, (4, 9, 2))
    assert forest.head(0).n_trees == 0
    assert not score_rows(forest.head(0), X).any()
    expected = [oracle.score(forest.head(2), row) for row in X]
    np.testing.assert_allclose(score_rows(forest.head(2), X), expected, rtol=1e-12)
