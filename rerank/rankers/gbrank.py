"""GBRank: boosted trees on the squared hinge of pairs (Zheng et al. 2007)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rerank.objectives.base import Objective
from rerank.objectives.pairs import GBRankObjective
from rerank.rankers.boosted import BoostedTrees
from rerank.rankers.parameters import parameter
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet
from rerank.runtime.fields import Flag, Number
from rerank.trees.booster import Gradients
from rerank.types import Floats


@register("gbrank")
@dataclass(eq=False, repr=False)
class GBRank(BoostedTrees):
    """Regression trees trained on the pairs of documents that are in the wrong order.

    Each iteration selects the pairs in which x has a higher label than y but h(x) < h(y) + tau. A tree g is fitted to
    the targets h(y) + tau for x and h(x) - tau for y, and is averaged with the earlier trees:

        h_k = (k h_(k-1) + learning_rate g_k) / (k + 1)

    `predict` returns (k + 1) h_k, which gives the same order and keeps the unit of the base scores. The curvature of a
    row is its number of targets, so that splits and leaves are those of least squares. h_0 is the base score minus the
    mean of the query, divided by the spread of the base scores, so that the targets are around 0.

    References
    ----------
    Z. Zheng et al., A general boosting method and its application to learning ranking functions for web search,
    NIPS 2007, algorithm 1.

    """

    learning_rate: float = parameter(
        1.0, Number(1e-9, 10.0), "Weight eta of each tree in the average of the trees.", search=(0.25, 0.5, 1.0, 2.0)
    )
    tau: float = parameter(
        0.1,
        Number(1e-9, 1e9),
        "Margin between the two documents of a pair; for a warm start, in units of the spread of the base scores at "
        "the top.",
    )
    keep_pairs: bool = parameter(
        False,
        Flag(),
        "Whether to train each tree on the misordered pairs of all iterations so far, with the targets of their "
        "iteration, instead of those of the current iteration only.",
    )

    averages: ClassVar[bool] = True

    def _objective(self, train: TrainingSet) -> Objective:
        return GBRankObjective(train.query_ptr, train.weights, train.labels, self.tau)

    def _gradients(self, objective: Objective) -> Gradients:
        """Return the gradients at g = 0 of the squared distance of a tree g from the targets.

        They fill grad (n_rows,) with the negative sum of each row's targets and hess with their number, so that leaves
        become the means of the targets.
        """
        earlier: list[tuple[Floats, Floats]] = []  # sums and numbers of the targets of the trees so far

        def fill(scores: Floats, grad: Floats, hess: Floats) -> None:
            objective.gradients(scores, grad, hess)
            grad -= hess * scores
            if self.keep_pairs:
                for sums, numbers in earlier:
                    grad += sums
                    hess += numbers
                earlier[:] = [(grad.copy(), hess.copy())]

        return fill
