from __future__ import annotations

import numpy as np

from rerank.rankers.nets import Net


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
