from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.lambdarank import LambdaRank
from rerank.rankers.nets import Adam, Net
from rerank.rankers.ranker import read_model
from rerank.rankers.ranknet import RankNet
from rerank.rankers.standardizer import Standardizer
from rerank.rankers.training_set import TrainingSet
from rerank.types import RankingData
from tests.oracles import lambdas as lambda_oracle, nets as oracle
from tests.oracles.objectives import ranknet as ranknet_cost
from tests.rankers.conftest import ranking_data
from tests.rankers.test_lambdamart import ndcg


def _net(seed: int) -> tuple[Net, np.ndarray]:
    random = np.random.default_rng(seed)
    return Net(random.standard_normal((5 + 2) * 3), 3), random.standard_normal((9, 5))


def test_net_is_two_layers() -> None:
    net, inputs = _net(0)
    expected = [
        sum(net.output[k] * np.tanh(net.bias[k] + sum(net.hidden[f, k] * row[f] for f in range(5))) for k in range(3))
        for row in inputs
    ]
    np.testing.assert_allclose(net.scores(inputs), expected)


def test_gradient_is_finite_differences_of_the_weights() -> None:
    net, inputs = _net(1)
    lambdas = np.random.default_rng(2).standard_normal(9)
    result = net.gradient(inputs, net.activations(inputs), lambdas)
    for position in range(len(net.weights)):
        step = np.where(np.arange(len(net.weights)) == position, 1e-6, 0.0)
        up, down = (lambdas @ Net(net.weights + sign * step, 3).scores(inputs) for sign in (1, -1))
        np.testing.assert_allclose(result[position], (up - down) / 2e-6, rtol=1e-5, atol=1e-7)


def test_drawn_net_scores_nothing_and_can_learn() -> None:
    net = Net.drawn(5, 3, np.random.default_rng(0))
    _, inputs = _net(3)
    assert (net.scores(inputs) == 0).all()
    gradient = net.gradient(inputs, net.activations(inputs), np.arange(9.0))
    assert np.abs(gradient[-3:]).min() > 0


def test_scaled_net_scores_in_another_unit() -> None:
    net, inputs = _net(4)
    np.testing.assert_allclose(net.scaled(8.0).scores(inputs), 8.0 * net.scores(inputs), rtol=1e-12)


SMALL = {"n_epochs": 8, "hidden_units": 8, "learning_rate": 0.01}
BOTH = pytest.mark.parametrize("ranker", [RankNet, LambdaRank])


def _queries(model, data: RankingData, start: np.ndarray):
    """The queries as the net learns from them, a net with some weight everywhere, and the canonical data."""
    train = TrainingSet.of(data, start)
    model.standardizer_ = Standardizer.learn(train.X, train.order)
    weights = np.random.default_rng(1).normal(0, 0.5, (model.standardizer_.n_inputs + 2) * model.hidden_units)
    return train, model._queries(train, 1.0), Net(weights, model.hidden_units)


def test_ranknet_update_is_the_sum_over_pairs() -> None:
    data = ranking_data(3, n_queries=6)
    model = RankNet(hidden_units=5, reg_lambda=0.0)
    train, queries, net = _queries(model, data, data.base_scores)
    labels = [part.labels for part in train.queries() if len(np.unique(part.labels)) > 1]
    for query, own in zip(queries, labels, strict=True):
        expected = oracle.query_gradient(net, query.start, query.inputs.astype(float), own)
        np.testing.assert_allclose(model._gradient(net, query), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("normalize", [False, True])
def test_lambdarank_update_is_the_lambdas_of_all_pairs_through_the_net(normalize) -> None:
    data = ranking_data(4, n_queries=5)
    model = LambdaRank(hidden_units=5, reg_lambda=0.0, normalize=normalize, truncation_level=5)
    train, queries, net = _queries(model, data, data.base_scores)
    parts = [part for part in train.queries() if len(np.unique(part.labels)) > 1]
    for query, part in zip(queries, parts, strict=True):
        inputs = query.inputs.astype(float)
        scores = query.start + net.scores(inputs)
        grad, _ = lambda_oracle.lambdas(scores, part.labels, part.ideal_labels, 1.0, 5, normalize)
        expected = sum(grad[i] * oracle.slopes(net, inputs[i]) for i in range(len(inputs)))
        np.testing.assert_allclose(model._gradient(net, query), expected, rtol=1e-8, atol=1e-12)


def test_gradient_is_finite_differences_of_cost_and_decay() -> None:
    data = ranking_data(5, n_queries=2)
    model = RankNet(hidden_units=3, reg_lambda=0.2)
    _, queries, net = _queries(model, data, data.base_scores)
    query = queries[0]

    def cost(weights: np.ndarray) -> float:
        scores = query.start + Net(weights, 3).scores(query.inputs.astype(float))
        objective = query.objective
        weight = objective.weights[0]
        return weight * ranknet_cost(scores.tolist(), objective.labels.tolist()) + 0.1 * weights @ weights

    actual = model._gradient(net, query)
    for position in range(len(net.weights)):
        step = np.where(np.arange(len(net.weights)) == position, 1e-6, 0.0)
        expected = (cost(net.weights + step) - cost(net.weights - step)) / 2e-6
        assert actual[position] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_adam_takes_the_steps_of_its_paper() -> None:
    random = np.random.default_rng(0)
    step, weights, mean, square = Adam(3), np.zeros(3), np.zeros(3), np.zeros(3)
    expected = np.zeros(3)
    for t in range(1, 6):
        gradient = random.standard_normal(3)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        expected = expected - 0.1 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        weights = step.next(weights, gradient, 0.1)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)


@BOTH
def test_nets_learn_what_one_feature_does_not_tell(ranker, train, test) -> None:
    model = ranker(**SMALL).fit(train)
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.03


@BOTH
def test_random_state_fixes_the_net(ranker, train, test) -> None:
    one, two, other = (ranker(**SMALL, random_state=seed).fit(train) for seed in (3, 3, 4))
    assert one.to_dict()["learned"] == two.to_dict()["learned"]
    assert one.to_dict()["learned"] != other.to_dict()["learned"]


@BOTH
def test_nets_stop_early_at_the_best_validation_measure(ranker, train, valid) -> None:
    model = ranker(n_epochs=60, learning_rate=0.03, early_stopping_rounds=4).fit(train, eval_set=valid)
    history = model.evals_result_["valid"]["nDCG@10"]
    assert model.best_iteration_ == int(np.argmax(history)) < 60
    assert len(history) == model.best_iteration_ + 5
    assert ndcg(valid, model.predict(valid)) == pytest.approx(max(history), abs=1e-6)


@BOTH
def test_warm_start_does_not_depend_on_the_scale_of_the_base(ranker, train, test) -> None:
    results = []
    for factor in (1.0, 16.0):
        scaled = replace(train, base_scores=train.base_scores * factor)
        model = ranker(**SMALL, base="run").fit(scaled)
        results.append(model.predict(replace(test, base_scores=test.base_scores * factor)) / factor)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-9)
    assert not np.array_equal(results[0], test.base_scores)


@BOTH
def test_weights_come_out_and_go_in(ranker, train, test, tmp_path) -> None:
    model = ranker(**SMALL).fit(train)
    weights = model.weights()
    same = model.with_weights(weights)
    np.testing.assert_array_equal(same.predict(test), model.predict(test))
    moved = model.with_weights(weights + 0.1)
    assert not np.allclose(moved.predict(test), model.predict(test))
    np.testing.assert_array_equal(model.weights(), weights)
    moved.save(tmp_path / "net.json")
    np.testing.assert_array_equal(read_model(tmp_path / "net.json").predict(test), moved.predict(test))
    with pytest.raises(InvalidInputError, match=r"weights: expected 136 numbers, got shape \(3,\)"):
        model.with_weights([1, 2, 3])


def test_lambdarank_trains_for_measures_that_are_not_separable(train, valid) -> None:
    model = LambdaRank(**SMALL, metric="AP").fit(train, eval_set=valid)
    history = model.evals_result_["valid"]["AP"]
    assert max(history) > history[0] + 0.1


def _pairs(data: RankingData, wrong_share: float, seed: int = 0):
    """Pairs of documents with different labels, some of them the wrong way round."""
    random, result = np.random.default_rng(seed), []
    for query_id in data:
        rows = data.rows(query_id)
        labels, ids = data.labels[rows], data.doc_ids[rows]
        for i, j in zip(*np.nonzero(labels[:, None] > labels), strict=True):
            x, y = (ids[j], ids[i]) if random.random() < wrong_share else (ids[i], ids[j])
            result.append((query_id, str(x), str(y)))
    return result


def test_ranknet_from_preferences_of_all_pairs_is_ranknet_from_labels(train, test) -> None:
    expected = RankNet(**SMALL).fit(train).predict(test)
    unjudged = replace(train, labels=None)
    actual = RankNet(**SMALL).fit(unjudged, preferences=_pairs(train, 0.0)).predict(test)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)


def test_ranknet_learns_from_pairs_that_contradict_each_other(train, test) -> None:
    model = RankNet(**SMALL).fit(replace(train, labels=None), preferences=_pairs(train, 0.25))
    assert ndcg(test, model.predict(test)) > ndcg(test, test.base_scores) + 0.02
    both = [pair for query_id, x, y in _pairs(train, 0.0) for pair in ((query_id, x, y), (query_id, y, x))]
    undecided = RankNet(**SMALL).fit(train, preferences=both)
    np.testing.assert_allclose(undecided.predict(test), 0.0, atol=1e-12)


def test_probability_says_how_far_apart_two_documents_belong() -> None:
    data = ranking_data(8, n_queries=1, missing=0.0)
    x, y = (str(doc_id) for doc_id in data.doc_ids[:2])
    for probability in (0.2, 0.5, 0.8):
        model = RankNet(n_epochs=400, learning_rate=0.02, reg_lambda=0.0)
        scores = model.fit(data, preferences=[("q0", x, y, probability)]).predict(data)
        assert 1 / (1 + np.exp(scores[1] - scores[0])) == pytest.approx(probability, abs=0.02)


def test_preferences_of_documents_that_the_data_lack_are_left_out(train, test, caplog) -> None:
    pairs = _pairs(train, 0.0)
    expected = RankNet(**SMALL).fit(train, preferences=pairs).predict(test)
    with caplog.at_level("INFO", "rerank"):
        more = [*pairs, ("q0", "d0", "elsewhere"), ("q-none", "d0", "d1")]
        actual = RankNet(**SMALL).fit(train, preferences=more).predict(test)
    np.testing.assert_array_equal(actual, expected)
    assert f"2 of {len(more)} pairs" in caplog.text


def test_preferences_that_cannot_be_learned_from_are_refused(train) -> None:
    with pytest.raises(InvalidInputError, match="preferences: expected pairs of documents that the training data hold"):
        RankNet(**SMALL).fit(train, preferences=[("q0", "none", "nothing")])
    qid = np.repeat(np.arange(len(train)), np.diff(train.query_ptr))
    with pytest.raises(InvalidInputError, match="preferences: expected the data as RankingData"):
        RankNet(**SMALL).fit(train.X, train.labels, qid=qid, preferences=[("q0", "a", "b")])


@BOTH
def test_data_and_parameters_that_cannot_be_are_refused(ranker, train) -> None:
    with pytest.raises(InvalidInputError, match="expected a query with pairs to learn from, got none"):
        ranker(**SMALL).fit(replace(train, labels=np.ones(train.n_rows)))
    with pytest.raises(InvalidInputError, match=r"hidden_units: expected 1 to .*, got 0"):
        ranker(hidden_units=0).fit(train)
    with pytest.raises(InvalidInputError, match="got only constant ones"):
        ranker(**SMALL).fit(replace(train, X=np.ones_like(train.X)))
