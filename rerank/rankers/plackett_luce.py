"""The linear ranker of the Plackett-Luce likelihood."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import LabelCost
from rerank.objectives.lists import PlackettLuceObjective
from rerank.rankers.linear import LinearCostRanker
from rerank.rankers.registry import register
from rerank.rankers.training_set import TrainingSet


@register("plackettluce")
@dataclass(eq=False, repr=False)
class PlackettLuce(LinearCostRanker):
    """Linear ranker that maximises the Plackett-Luce likelihood of the judged order.

        1/2 |w|^2 - C sum over queries of log P(judged order)
        P = product over documents i of exp(s_i) / (exp(s_i) + sum over j with l_j < l_i of exp(s_j))

    Documents with equal labels have no order: each is compared only with itself and the documents with lower labels.

    References
    ----------
    R. Plackett, The analysis of permutations, Applied Statistics 24, 1975.
    F. Xia et al., Listwise approach to learning to rank (ListMLE), ICML 2008, section 4.

    """

    def _objective(self, train: TrainingSet) -> LabelCost:
        return PlackettLuceObjective(train.query_ptr, train.weights, train.labels)
