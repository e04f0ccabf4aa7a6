"""PlackettLuce: a linear ranker on the likelihood of the judged order."""

from __future__ import annotations

from dataclasses import dataclass

from rerank.objectives.base import Objective
from rerank.objectives.plackett_luce import PlackettLuceObjective
from rerank.rankers.linear import LinearRanker
from rerank.rankers.registry import register
from rerank.rankers.training import TrainingSet


@register("plackettluce")
@dataclass(eq=False, repr=False)
class PlackettLuce(LinearRanker):
    """Linear ranker that maximises the Plackett-Luce likelihood of the judged order.

        1/2 |w|^2 - C sum over queries of log P(judged order)
        P = product over documents i of exp(s_i) / (exp(s_i) + sum over j with l_j < l_i of exp(s_j))

    Documents of equal label have no order among themselves: each is drawn from itself and those of lower labels.

    References
    ----------
    R. Plackett, The analysis of permutations, Applied Statistics 24, 1975.
    F. Xia et al., Listwise approach to learning to rank (ListMLE), ICML 2008, section 4.

    """

    def _objective(self, train: TrainingSet) -> Objective:
        return PlackettLuceObjective(train.query_ptr, train.weights, train.labels)
