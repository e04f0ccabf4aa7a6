"""LambdaMART's exact step lengths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import read_model
from rerank.rankers.training_set import TrainingSet
from rerank.rankers.validation import Validation
from rerank.trees.forest import Forest
from rerank.trees.score import score_rows

SMALL = {"n_estimators": 4, "num_leaves": 6, "min_child_samples": 5, "metric": "nDCG@5", "n_jobs": 1}


def test_ties_take_the_learning_rate(train) -> None:
    """A cold model's first tree ranks alike with any share."""
    searched, fixed = (
        LambdaMART(**{**SMALL, "n_estimators": 1}, learning_rate=0.3, step=step).fit(train)
        for step in ("line-search", "fixed")
    )
    np.testing.assert_array_equal(searched.forest_.leaf_value, fixed.forest_.leaf_value)


@pytest.mark.parametrize("base", ["run", None])
@pytest.mark.parametrize("metric", ["nDCG@5", "AP"])
def test_no_other_step_is_better_on_the_training_queries(train, base, metric) -> None:
    small = {**SMALL, "metric": metric, "base": base, "start": "base"}
    model = LambdaMART(**small, step="line-search").fit(train)
    rows = TrainingSet.of(train, train.base_scores if base else np.zeros(train.n_rows))
    validation, forest, shares = Validation(rows, parse_measure(metric)), model.forest_, []
    scores = rows.start_scores.copy()
    for number in range(forest.n_trees):
        tree = score_rows(_tree(forest, number), train.X)[rows.order]
        value = validation.value(scores + tree)
        # shares of the step that was taken, from 1/1000 of it to 1000 times it
        assert value >= max(validation.value(scores + share * tree) for share in np.geomspace(1e-3, 1e3, 301)) - 1e-12
        scores += tree
        fixed = LambdaMART(**{**small, "n_estimators": 1}, learning_rate=1.0).fit(train) if number == 0 else None
        if fixed is not None:
            ratio = forest.leaf_value[: forest.leaf_ptr[1]] / fixed.forest_.leaf_value
            shares.append(ratio[0])
            assert ratio == pytest.approx(ratio[0])
    assert all(share > 0.0 for share in shares)


def test_a_share_above_1_is_taken_where_it_is_better(train) -> None:
    """Trees that add little to an uninformative base: the best step of the first tree is far above 1."""
    noise = replace(train, base_scores=np.random.default_rng(0).standard_normal(train.n_rows))
    small = {**SMALL, "n_estimators": 1, "base": "run", "start": "base"}
    model, whole = (LambdaMART(**small, **own).fit(noise) for own in ({"step": "line-search"}, {"learning_rate": 1.0}))
    ratio = model.forest_.leaf_value / whole.forest_.leaf_value
    assert ratio[0] > 1.0
    assert ratio == pytest.approx(ratio[0])


def _tree(forest: Forest, number: int) -> Forest:
    zeroed = forest.leaf_value.copy()
    keep = slice(*forest.leaf_ptr[number : number + 2])
    zeroed[: keep.start] = 0.0
    zeroed[keep.stop :] = 0.0
    return Forest(**{**vars(forest), "leaf_value": zeroed})


def test_line_search_is_the_same_for_any_number_of_threads_and_comes_back(train, test, tmp_path) -> None:
    one, two = (LambdaMART(**{**SMALL, "n_jobs": n}, step="line-search").fit(train) for n in (1, 2))
    assert one.to_dict()["learned"] == two.to_dict()["learned"]
    one.save(tmp_path / "model.json")
    np.testing.assert_array_equal(read_model(tmp_path / "model.json").predict(test), one.predict(test))


def test_unknown_step_is_refused(train) -> None:
    with pytest.raises(InvalidInputError, match="step: expected fixed or line-search, got 'newton'"):
        LambdaMART(**SMALL, step="newton").fit(train)
