"""The content of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rerank.evaluation.comparison import Comparison
from rerank.evaluation.curves import RunCurves
from rerank.evaluation.details import QueryDetail


@dataclass(frozen=True)
class TrainedModel:
    """The training of a model.

    measure         validation measure
    history         its values after 0, 1, 2 ... iterations; empty without validation data
    best_iteration  number of iterations of the final model
    importances     share of the total gain by feature, largest first; empty if the learner has none
    """

    name: str
    measure: str
    history: Sequence[float]
    best_iteration: int
    importances: Mapping[str, float]


@dataclass(frozen=True)
class PageContent:
    """The content of a page; empty parts are left out.

    curves     curves of each run, by name
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
