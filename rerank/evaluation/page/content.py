"""What a page is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rerank.evaluation.comparison import Comparison
from rerank.evaluation.curves import RunCurves
from rerank.evaluation.details import QueryDetail


@dataclass(frozen=True)
class TrainedModel:
    """What a model tells of its training.

    measure         watched on the validation data
    history         its values after 0, 1, 2 ... iterations; empty where nothing was watched
    best_iteration  the one that was kept
    importances     share of the total gain by feature, greatest first; empty where the learner has none
    """

    name: str
    measure: str
    history: Sequence[float]
    best_iteration: int
    importances: Mapping[str, float]


@dataclass(frozen=True)
class PageContent:
    """All that a page shows; what is empty is left out.

    curves     by run
    details    queries that gained and lost most
    documents  texts by document id
    topics     texts by query id
    """

    title: str
    comparison: Comparison
    curves: Mapping[str, RunCurves] = field(default_factory=dict)
    details: Sequence[QueryDetail] = ()
    documents: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    models: Sequence[TrainedModel] = ()
