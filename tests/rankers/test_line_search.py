"""LambdaMART's exact step lengths."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.store import load_model
from rerank.rankers.training import TrainingSet, Validation
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows

SMALL = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 5, "metric": "nDCG@5", "n_jobs": 1}


def test_first_step_is_the_best_of_a_grid(train) -> None:
    searched = LambdaMART(**SMALL, step="line-search").fit(train)
    whole = LambdaMART(**SMALL, learning_rate=1.0).fit(train)
    first = whole.forest_.leaf_ptr[1]
    shares = searched.forest_.leaf_value[:first] / whole.forest_.leaf_value[:first]
    assert shares == pytest.approx(shares[0])
    assert 0.0 < shares[0] <= 1.0


def test_no_other_step_is_better_on_the_training_queries(train) -> None:
    model = LambdaMART(**SMALL, base="run", step="line-search").fit(train)
    rows = TrainingSet.of(train, train.base_scores)
    watch, forest = Validation(rows, parse_measure("nDCG@5")), model.forest_
    scores = rows.start_scores.copy()
    for number in range(forest.n_trees):
        tree = score_rows(_tree(forest, number), train.X)[rows.order]
        own = watch.value(scores + tree)
        assert own >= watch.value(scores) - 1e-12
        # the share that was taken is at most 1: shorter steps lie below it
        assert own >= max(watch.value(scores + share * tree) for share in np.linspace(0.0, 1.0, 101)) - 1e-12
        scores += tree


def _tree(forest: Forest, number: int) -> Forest:
    zeroed = forest.leaf_value.copy()
    keep = slice(*forest.leaf_ptr[number : number + 2])
    zeroed[: keep.start] = 0.0
    zeroed[keep.stop :] = 0.0
    return Forest(**{**vars(forest), "leaf_value": zeroed})


def test_line_search_is_the_same_for_any_number_of_threads_and_comes_back(train, test, tmp_path) -> None:
    one, two = (LambdaMART(**{**SMALL, "n_jobs": n}, step="line-search").fit(train) for n in (1, 2))
    assert one._learned() == two._learned()
    one.save(tmp_path / "model.json")
    np.testing.assert_array_equal(load_model(tmp_path / "model.json").predict(test), one.predict(test))


def test_unknown_step_is_refused(train) -> None:
    with pytest.raises(InvalidInputError, match="step: expected fixed or line-search, found 'newton'"):
        LambdaMART(**SMALL, step="newton").fit(train)
