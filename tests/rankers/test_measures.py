"""Every measure can be trained for: a law over the registry, and a user's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import parse_measure
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.lambdarank import LambdaRank
from rerank.rankers.ranker import read_model
from rerank.types import RankingData, query_rows
from tests.metrics.examples import EXAMPLES
from tests.oracles import measures as oracle

SMALL = {"n_estimators": 15, "num_leaves": 8, "min_child_samples": 5, "min_child_weight": 0.0, "n_jobs": 1}
REFUSED = r"expected a measure that can be trained for|the order of the documents changes"


def own_reciprocal_rank(ranked_labels, ideal_labels) -> float:
    return oracle.rr(list(ranked_labels), list(ideal_labels))


@pytest.fixture(scope="module")
def sparse(train: RankingData) -> RankingData:
    """Few relevant documents: no measure is at its best before training."""
    return replace(train, labels=np.maximum(train.labels - 1.0, 0.0))


def value(measure, data: RankingData, scores: np.ndarray) -> float:
    ranked = np.lexsort((-scores, query_rows(data.query_ptr)))
    lists = RankedLists(data.labels[ranked], data.query_ptr, *data.ideal())
    return float(parse_measure(measure).scores(lists).mean())


@pytest.mark.parametrize("name", sorted({*EXAMPLES, "AP(rel=2)", "ERR@20", "RR@10", "nDCG@10"}))
def test_training_for_a_measure_improves_it_or_is_refused(name: str, sparse: RankingData) -> None:
    model = LambdaMART(**SMALL, metric=name, base="run")
    if not parse_measure(name).trainable or value(name, sparse, sparse.labels) == value(name, sparse, -sparse.labels):
        with pytest.raises(InvalidInputError, match=REFUSED):
            model.fit(sparse)
    else:
        before = value(name, sparse, sparse.base_scores)
        assert value(name, sparse, model.fit(sparse).predict(sparse)) > before


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_trees_and_nets_accept_the_same_data(name: str) -> None:
    """Both refuse data only where no query of weight teaches the measure an order."""
    for labels in ([[1, 2], [0, 1, 2]], [[1, 2], [2, 2]], [[0, 0], [0, 0]], [[2, 0], [0, 0]]):
        X = np.random.default_rng(1).random((sum(map(len, labels)), 2))
        accepted = []
        for learner in (
            LambdaMART(n_estimators=1, min_child_samples=1, metric=name),
            LambdaRank(n_epochs=1, metric=name),
        ):
            try:
                learner.fit(X, np.concatenate(labels), group=[len(own) for own in labels])
                accepted.append(True)
            except InvalidInputError:
                accepted.append(False)
        assert accepted[0] == accepted[1], labels


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", ["AP", "ERR@20", "AUC"])
def test_sigma_makes_no_difference_to_the_model(name, normalize, sparse) -> None:
    """Burges 2010, section 7, for deltas in blocks."""
    parameters = {**SMALL, "metric": name, "normalize": normalize}
    models = [LambdaMART(**parameters, sigma=sigma).fit(sparse) for sigma in (0.5, 1.0, 4.0)]
    scores = [model.predict(sparse) * model.sigma for model in models]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)
    np.testing.assert_allclose(scores[2], scores[1], rtol=1e-6)


@pytest.mark.parametrize("name", ["AP", "PairAccuracy"])
def test_model_is_the_same_for_any_number_of_threads(name, sparse) -> None:
    one, two = (LambdaMART(**{**SMALL, "n_jobs": n}, metric=name).fit(sparse) for n in (1, 2))
    assert one.to_dict()["learned"] == two.to_dict()["learned"]


def test_custom_measure_trains_as_its_twin_and_is_saved_by_name(sparse, valid, tmp_path) -> None:
    few = sparse.select(range(6))
    shallow = {**SMALL, "n_estimators": 3, "truncation_level": 5}
    own = LambdaMART(**shallow, metric=own_reciprocal_rank).fit(few, eval_set=valid)
    twin = LambdaMART(**shallow, metric="RR").fit(few, eval_set=valid)
    assert list(own.evals_result_["valid"]) == ["own_reciprocal_rank"]
    np.testing.assert_allclose(own.predict(few), twin.predict(few), rtol=1e-9)
    own.save(tmp_path / "model.json")
    again = read_model(tmp_path / "model.json")
    assert again.metric == "own_reciprocal_rank"
    np.testing.assert_array_equal(again.predict(few), own.predict(few))


def test_measure_given_as_a_value_is_saved_by_name(sparse, tmp_path) -> None:
    LambdaMART(**SMALL, metric=parse_measure("AP@50")).fit(sparse).save(tmp_path / "model.json")
    assert read_model(tmp_path / "model.json").metric == "AP@50"
