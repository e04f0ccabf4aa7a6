"""What the nets share: two layers, whose weights are updated once per query.

s(x) = sum_k output_k tanh(bias_k + sum_f hidden_fk x_f)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.objectives.base import Objective
from rerank.rankers.base_unit import spread_at_the_top, start_in_units
from rerank.rankers.linear import StandardizedRanker
from rerank.rankers.model_file import PROGRESS
from rerank.rankers.parameters import JOBS, SEED, base_parameter, parameter, stopping_parameter, watched_metric
from rerank.rankers.standardizer import FLOAT64_ROWS, Standardizer
from rerank.rankers.training_context import ALONE, TrainingContext
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.elementary import exp
from rerank.runtime.fields import Number, Whole
from rerank.runtime.kernels import kernel
from rerank.runtime.products import cross_product, product
from rerank.runtime.progress import track
from rerank.runtime.threads import kernel_threads
from rerank.types import Floats


@dataclass(frozen=True, eq=False)
class Net:
    """Weights of a two-layer net as one vector, and the parts as views of it.

    weights  ((n_inputs + 2) * n_hidden,) float64: hidden (n_inputs, n_hidden), bias (n_hidden,), output (n_hidden,)
    """

    weights: Floats
    n_hidden: Annotated[int, Whole(1, 1_000_000)]

    @classmethod
    def drawn(cls, n_inputs: int, n_hidden: int, random: np.random.Generator) -> Net:
        """Return a net that scores every row 0: hidden weights drawn with variance 1 / n_inputs, the others 0.

        A warm start thus begins at the base ranker itself. Weights are drawn evenly from an interval: NumPy's
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
        return Net(np.append(self.weights[: -self.n_hidden], factor * self.output), self.n_hidden)


@kernel()
def _fill_activations(bias, sums):
    """Replace sums (n_rows, n_hidden) by tanh(sums + bias), to within 1e-16."""
    for row in range(sums.shape[0]):
        for unit in range(sums.shape[1]):
            value = sums[row, unit] + bias[unit]
            small = exp(-2.0 * abs(value))
            size = (1.0 - small) / (1.0 + small)
            sums[row, unit] = size if value >= 0.0 else -size


MEAN_DECAY, SQUARE_DECAY, TINY = 0.9, 0.999, 1e-8  # Adam's


@dataclass(eq=False, repr=False)
class NetRanker(StandardizedRanker):
    """Base class of the nets; a ranker adds the objective of one query.

    The net (`Net`) reads standardized features (standardizer.py) and adds to the base scores. An epoch passes over the
    queries once, in a new random order, and updates the weights once per query: the lambdas of all its pairs are
    summed per document, then one backward pass over its documents gives the gradient (Burges 2010, section 2.1). The
    step is Adam's (Kingma and Ba 2015), its learning rate falling in a straight line to 0 over `n_epochs`, where Burges
    takes plain gradient steps: Adam's need no learning rate that suits the size of each measure's gradients. Scores are
    in units of u, the spread of the base scores at the top of the queries (1 for a cold start), each query's base
    scores less their mean; the net is stored in the base's own unit.
    Training runs on one thread: a query is too little for two, and sums keep their order.

    References
    ----------
    C. Burges, From RankNet to LambdaRank to LambdaMART: An Overview, MSR-TR-2010-82, section 2.1.
    D. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015, algorithm 1.

    """

    hidden_units: int = parameter(32, Whole(1, 1_000_000), "Number of hidden units (tanh).", search=(16, 32, 64))
    n_epochs: int = parameter(
        50,
        Whole(1, 1_000_000),
        "Maximum number of passes over the queries. The learning rate decreases to 0 over them.",
    )
    learning_rate: float = parameter(
        0.001,
        Number(1e-12, 10.0),
        "Initial learning rate of Adam; there is one update per query.",
        search=(0.00025, 0.0005, 0.001, 0.002),
    )
    reg_lambda: float = parameter(
        0.001,
        Number(0.0),
        "L2 regularisation: reg_lambda / 2 |w|^2 is added to the cost of each query.",
        search=(0.0001, 0.001, 0.01),
    )
    metric: Any = watched_metric()
    early_stopping_rounds: int = stopping_parameter(10, "epochs")
    base: Any = base_parameter()
    random_state: int = parameter(0, SEED, "Random seed of the initial weights and of the order of the queries.")
    n_jobs: int | None = parameter(
        None, JOBS, "Number of threads for prediction; None or -1 for all cores. Training uses one."
    )

    weights_at: ClassVar[str] = "net_.weights"
    learned: ClassVar[Mapping[str, Any]] = {**PROGRESS, "standardizer": Standardizer, "net": Net}

    @abstractmethod
    def _objective(self, query: TrainingSet) -> Objective | None:
        """Return what is minimised over one query of two documents or more; None where it has no pairs."""

    def _learn(self, train: TrainingSet, valid: TrainingSet | None, context: TrainingContext = ALONE) -> None:
        unit = spread_at_the_top(train)
        self.standardizer_ = Standardizer.learn(train.X, train.order)
        with kernel_threads(1):
            queries = self._queries(train, unit)
            if not queries:
                raise InvalidInputError(
                    "training data: expected a query with pairs to learn from, got none. Check that qrels and run "
                    "name the same documents."
                )
            random = np.random.default_rng(self.random_state)
            first = Net.drawn(self.standardizer_.n_inputs, self.hidden_units, random)
            net = self._best_of(self._epochs(queries, first, random), first, net_scores, unit, valid, context)
        self.net_: Net = net.scaled(unit)

    def _queries(self, train: TrainingSet, unit: float) -> list[_Query]:
        inputs = self.standardizer_.inputs(train.X, train.order, np.float32)
        start, _ = start_in_units(train, unit, by_query=True)
        queries = []
        for query, (first, last) in zip(train.queries(), pairwise(train.query_ptr.tolist()), strict=True):
            objective = self._objective(query) if len(query.labels) > 1 and query.weights[0] > 0.0 else None
            if objective is not None:
                queries.append(_Query(inputs[first:last], start[first:last], objective))
        return queries

    def _epochs(self, queries: list[_Query], net: Net, random: np.random.Generator) -> Iterator[Net]:
        """Yield the net after each epoch."""
        step = Adam(len(net.weights))
        n_steps = self.n_epochs * len(queries)
        for _ in track(range(self.n_epochs), "epochs"):
            for number in random.permutation(len(queries)).tolist():
                rate = self.learning_rate * (1.0 - step.count / n_steps)
                net = Net(step.next(net.weights, self._gradient(net, queries[number]), rate), net.n_hidden)
            yield net

    def _gradient(self, net: Net, query: _Query) -> Floats:
        """Return dC/dw of one query, and that of the penalty reg_lambda / 2 |w|^2."""
        activations = net.activations(query.inputs)
        lambdas, curvatures = np.empty((2, len(activations)))
        query.objective.gradients(query.start + product(activations, net.output), lambdas, curvatures)
        return net.gradient(query.inputs, activations, lambdas) + self.reg_lambda * net.weights

    def _input_scores(self, inputs: Floats) -> Floats:
        return self.net_.scores(inputs)

    def _learned_nothing(self) -> str:
        return "" if self.net_.output.any() else "no output weight but 0. Raise learning_rate or give other features"

    def _check_learned(self) -> None:
        n_inputs, rest = divmod(len(self.net_.weights), self.net_.n_hidden)
        self.standardizer_.check_sizes(self.n_features_in_, -1 if rest else n_inputs - 2)


class _Query(NamedTuple):
    """One query as the net learns from it: inputs (n_rows, n_inputs), starting scores (n_rows,), objective."""

    inputs: NDArray[np.float32]
    start: Floats
    objective: Objective


class Adam:
    """Adam's steps (Kingma and Ba 2015, algorithm 1): each weight's gradient divided by its running mean size."""

    def __init__(self, n_weights: int) -> None:
        """Start with no gradient."""
        self.count = 0
        self._mean, self._square = np.zeros((2, n_weights))
        self._no_mean = 1.0  # share of each running mean that comes from no gradient
        self._no_square = 1.0

    def next(self, weights: Floats, gradient: Floats, rate: float) -> Floats:
        """Return the weights (n_weights,) after one step of this learning rate."""
        self.count += 1
        self._mean += (1.0 - MEAN_DECAY) * (gradient - self._mean)
        self._square += (1.0 - SQUARE_DECAY) * (gradient**2 - self._square)
        self._no_mean *= MEAN_DECAY  # not a power of the C library, which depends on the processor
        self._no_square *= SQUARE_DECAY
        mean = self._mean / (1.0 - self._no_mean)
        square = self._square / (1.0 - self._no_square)
        return weights - rate * mean / (np.sqrt(square) + TINY)


def net_scores(net: Net, inputs: NDArray[np.float32]) -> Floats:
    """Return the scores of stored inputs (n_rows, n_inputs), (n_rows,) float64."""
    return np.concatenate(
        [net.scores(inputs[first : first + FLOAT64_ROWS]) for first in range(0, len(inputs), FLOAT64_ROWS)]
    )
