"""A two-layer net: s(x) = sum_k output_k tanh(bias_k + sum_f hidden_fk x_f)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rerank.types import Floats


@dataclass(frozen=True, eq=False)
class Net:
    """Weights of a two-layer net as one vector, and the parts as views of it.

    weights  ((n_inputs + 2) * n_hidden,) float64: hidden (n_inputs, n_hidden), bias (n_hidden,), output (n_hidden,)
    """

    weights: Floats
    n_hidden: int

    @classmethod
    def drawn(cls, n_inputs: int, n_hidden: int, random: np.random.Generator) -> Net:
        """Return a net that scores every row 0: hidden weights drawn with variance 1 / n_inputs, the others 0.

        Training a warm start so begins at the base ranker itself.
        """
        hidden = random.standard_normal(n_inputs * n_hidden) / np.sqrt(n_inputs)
        return cls(np.concatenate([hidden, np.zeros(2 * n_hidden)]), n_hidden)

    @property
    def hidden(self) -> Floats:
        """First layer, (n_inputs, n_hidden)."""
        return self.weights[: -2 * self.n_hidden].reshape(-1, self.n_hidden)

    @property
    def bias(self) -> Floats:
        """Bias of the hidden units, (n_hidden,)."""
        return self.weights[-2 * self.n_hidden : -self.n_hidden]

    @property
    def output(self) -> Floats:
        """Second layer, (n_hidden,)."""
        return self.weights[-self.n_hidden :]

    def activations(self, inputs: Floats) -> Floats:
        """Return the hidden units' values for inputs (n_rows, n_inputs), (n_rows, n_hidden)."""
        return np.tanh(inputs @ self.hidden + self.bias)

    def scores(self, inputs: Floats) -> Floats:
        """Return the score of every row of inputs (n_rows, n_inputs), (n_rows,) float64."""
        return self.activations(inputs) @ self.output

    def gradient(self, inputs: Floats, activations: Floats, lambdas: Floats) -> Floats:
        """Return dC/dw = sum_i lambda_i ds_i/dw, one pass over a query's documents (Burges 2010, section 2.1).

        lambdas  (n_rows,) dC/ds_i, each summed over all pairs of document i: no pass over pairs is left
        """
        back = lambdas[:, None] * self.output * (1.0 - activations**2)
        return np.concatenate([(inputs.T @ back).ravel(), back.sum(axis=0), lambdas @ activations])

    def scaled(self, factor: float) -> Net:
        """Return the net whose scores are `factor` times these."""
        weights = self.weights.copy()
        weights[-self.n_hidden :] *= factor
        return Net(weights, self.n_hidden)
