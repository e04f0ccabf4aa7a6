"""Learning curves: a measure on held-out queries by the number of judged queries that a ranker learned from.

Folds, candidates, features and training are those of a study (experiment.py), and the last point, of all training
queries, is its figure. Where a fold is held out, a smaller number of queries is part of a greater one, and is spread
evenly over the other folds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log10
from pathlib import Path

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import figure
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.page import Axis, Curve, Section
from rerank.experiments.experiment import Prepared, SourceLike, learns_from_all, prepare
from rerank.experiments.study import NO_BASE, Study, output_folder, staged_output
from rerank.files.inputs import QrelsLike, TopicsLike
from rerank.training.cross_validation import cross_validated
from rerank.training.folds import LEAST_QUERIES, training_size
from rerank.types import Run

RANKERS = ("plackettluce", "lambdamart")
FILES = "curve"  # their name without its ending
STEPS = (1, 2, 5)  # of the numbers of queries, times a power of ten
NEAREST_MARKS = 1.3  # quotient of numbers of queries on an axis


@dataclass(frozen=True)
class CurvePoint:
    """The measure of one system that learned from one number of queries.

    Parameters
    ----------
    system : str
        "BM25", "unsupervised", or the name of a ranker.
    queries : int
        Number of judged queries that each model learned from; 0 for a system that learns nothing.
    mean : float
        Mean over all held-out queries.
    folds : tuple of float
        Mean over the held-out queries of each fold.

    """

    system: str
    queries: int
    mean: float
    folds: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class LearningCurve(Curve):
    """Learning curves of several systems.

    Parameters
    ----------
    measure : str
        Name of the measure.
    points : sequence of CurvePoint
        The points of one system after the other, by ascending number of queries.

    """

    measure: str
    points: Sequence[CurvePoint]
    header = ("system", "queries", "mean", "lowest", "highest")

    @property
    def title(self) -> str:  # type: ignore[override]
        """What is shown, as a heading."""
        return f"{self.measure} on held-out queries by the number of training queries"

    @property
    def systems(self) -> Mapping[str, Sequence[CurvePoint]]:
        """The points of each system."""
        names = dict.fromkeys(point.system for point in self.points)
        return {name: [point for point in self.points if point.system == name] for name in names}

    @property
    def rows(self) -> list[tuple[str, int, float, float, float]]:
        """System, number of queries, mean, lowest and highest fold of each point, as in `curve.tsv`."""
        return [(one.system, one.queries, one.mean, min(one.folds), max(one.folds)) for one in self.points]

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the points, with their chart."""
        few = f"not enough judged queries: a fold leaves fewer than {LEAST_QUERIES} to learn from"
        text = [] if any(point.queries for point in self.points) else [few]
        rows = [[system, f"{queries}", *map(figure, values)] for system, queries, *values in self.rows]
        header = ["system", "training queries", self.measure, "lowest fold", "highest fold"]
        return [Section("Points", text, rows, header, 1, [self.chart(self._axis())])]

    def _axis(self) -> Axis:
        """Return the axis of the numbers of queries, without marks that are too near to the next."""
        numbers = sorted({point.queries for point in self.points if point.queries})
        marks = numbers if len(numbers) > 1 else [LEAST_QUERIES, 2 * LEAST_QUERIES]
        spread = [mark for mark, following in pairwise(marks) if following >= NEAREST_MARKS * mark or mark == marks[0]]
        return Axis("judged training queries", [*spread, marks[-1]], log10)


def learning_curve(
    source: SourceLike,
    topics: TopicsLike | None = None,
    qrels: QrelsLike | None = None,
    output: str | Path | None = None,
    study: Study | None = None,
) -> LearningCurve:
    """Evaluate rankers on held-out queries after training on more and more judged queries.

    The numbers of training queries are 10, 20, 50, 100 and so on, and finally all queries that are not held out.
    Features are computed once.

    Parameters
    ----------
    source, topics, qrels : as for `run_experiment`
        An index or its folder, topics and judgements; or data or their files.
    output : path or None
        Folder for `curve.tsv` and `curve.html`; None writes nothing.
    study : Study or None
        Settings; None is the defaults. The measure is that of the training. Systems are BM25, the unsupervised
        ranking, and the rankers plackettluce, lambdamart and that of the study, started from the study's base.

    Returns
    -------
    LearningCurve
        The points.

    Raises
    ------
    InvalidInputError
        If no topic is judged, the study has repeats or tuning, or another process is writing the folder.

    """
    study = study or Study()
    for name, is_set in (("tune", study.tune), ("repeats", study.repeats > 1)):
        if is_set:
            raise InvalidInputError(f"{name}: expected none in a learning curve, got some. Leave it out.")
    with output_folder(output) as folder:
        with prepare(source, topics, qrels, study) as prepared:
            points = [_point(prepared, system, 0, run) for system, run in prepared.runs.items()]
            rankers = list(dict.fromkeys((*RANKERS, study.ranker)))
            points += sorted(_points(prepared, rankers), key=lambda point: rankers.index(point.system))
        curve = LearningCurve(study.metric, points)
        if folder is not None:
            with staged_output(folder, last=f"{FILES}.tsv") as staging:
                curve.write(staging, FILES)
    return curve


def nested_order(folds: Mapping[str, int], fold: int, random_state: int) -> list[str]:
    """Return the queries of the other folds in random order, of which the first n have about an equal share of each."""
    random = np.random.default_rng([random_state, fold])
    places = {}
    for other in sorted(set(folds.values()) - {fold}):
        names = sorted(query_id for query_id, number in folds.items() if number == other)
        for place, number in enumerate(random.permutation(len(names)).tolist()):
            places[names[number]] = ((place + 0.5) / len(names), names[number])
    return sorted(places, key=places.__getitem__)


def training_sizes(folds: Mapping[str, int]) -> list[int]:
    """Return the numbers of training queries of the points; the last is all, in the folds that have most."""
    fewest = len(folds) - int(np.bincount(list(folds.values())).max())
    powers = range(len(str(fewest)))
    sizes = [step * 10**power for power in powers for step in STEPS if LEAST_QUERIES <= step * 10**power < fewest]
    return [*sizes, training_size(folds)] if fewest >= LEAST_QUERIES else []


def _points(prepared: Prepared, rankers: Sequence[str]) -> Iterator[CurvePoint]:
    """Yield the points of rankers, which start from the study's base, by number of queries."""
    study = prepared.study
    (folds,) = prepared.folds
    sizes = training_sizes(folds)
    base = None if study.base == NO_BASE else study.base
    orders = [nested_order(folds, fold, study.random_state) for fold in range(max(folds.values()) + 1)]
    for size in sizes:
        subsets = [order if size == sizes[-1] else order[:size] for order in orders]
        data_of = prepared.of_folds(subsets)
        for ranker in rankers:
            training = replace(
                prepared.training(data_of, folds, ranker, base),
                subsets=subsets,
                learns_from_all=learns_from_all(study, ranker, size),
            )
            yield _point(prepared, ranker, size, cross_validated(prepared.workers, training, f"{ranker} of {size}")[2])


def _point(prepared: Prepared, system: str, queries: int, run: Run) -> CurvePoint:
    """Return the measure of a run of all held-out queries."""
    measure = prepared.study.metric
    result = evaluate(prepared.qrels, run, [measure], complete=True)
    values: dict[int, list[float]] = {}
    for query_id, value in result.per_query[measure].items():
        values.setdefault(prepared.folds[0][query_id], []).append(value)
    return CurvePoint(system, queries, result[measure], tuple(float(np.mean(values[fold])) for fold in sorted(values)))
