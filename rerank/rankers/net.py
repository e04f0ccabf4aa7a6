"""A two-layer net: s(x) = sum_k output_k tanh(bias_k + sum_f hidden_fk x_f)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.runtime.elementary import exp
from rerank.runtime.kernels import kernel
from rerank.runtime.products import cross_product, product
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

        Training a warm start so begins at the base ranker itself. Weights are drawn evenly from an interval: NumPy's
        normal numbers need logarithms of the C library, which depend on the processor.
        """
        hidden = (2.0 * random.random(n_inputs * n_hidden) - 1.0) * np.sqrt(3.0 / n_inputs)
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

    def activations(self, inputs: NDArray[Any]) -> Floats:
        """Return the hidden units' values for inputs (n_rows, n_inputs), float32 or float64, (n_rows, n_hidden)."""
        sums = product(inputs, self.hidden)
        _fill_activations(self.bias, sums)
        return sums

    def scores(self, inputs: NDArray[Any]) -> Floats:
        """Return the score of every row of inputs (n_rows, n_inputs), float32 or float64, (n_rows,) float64."""
        return product(self.activations(inputs), self.output)

    def gradient(self, inputs: NDArray[Any], activations: Floats, lambdas: Floats) -> Floats:
        """Return dC/dw = sum_i lambda_i ds_i/dw, one pass over a query's documents (Burges 2010, section 2.1).

        lambdas  (n_rows,) dC/ds_i, each summed over all pairs of document i: no pass over pairs is left
        """
        back = lambdas[:, None] * self.output * (1.0 - activations**2)
        of_output = cross_product(lambdas[:, None], activations)[0]
        return np.concatenate([cross_product(inputs, back).ravel(), back.sum(axis=0), of_output])

    def scaled(self, factor: float) -> Net:
        """Return the net whose scores are `factor` times these."""
        weights = self.weights.copy()
        weights[-self.n_hidden :] *= factor
        return Net(weights, self.n_hidden)


@kernel()
def _fill_activations(bias, sums):  # type: ignore[no-untyped-def]
    """Replace sums (n_rows, n_hidden) by tanh(sums + bias), to within 1e-16."""
    for row in range(sums.shape[0]):
        for unit in range(sums.shape[1]):
            value = sums[row, unit] + bias[unit]
            small = exp(-2.0 * abs(value))
            size = (1.0 - small) / (1.0 + small)
            sums[row, unit] = size if value >= 0.0 else -size
