"""Learning curves: a measure on held-out queries by the number of judged queries that a ranker learned from.

Folds, candidates, features, systems and training are those of a study (experiment.py). The last point, at all training
queries, is the study's figure. For each held-out fold, the smaller sets of training queries are subsets of the larger
ones, and every set is spread evenly over the other folds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log10
from pathlib import Path

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.comparison import figure
from rerank.evaluation.evaluate import evaluate
from rerank.evaluation.page import Axis, Curve, Section
from rerank.evaluation.significance import bootstrap_intervals
from rerank.experiments.experiment import run_of_base
from rerank.experiments.prepared import Prepared, SourceLike, learns_from_all, prepare
from rerank.experiments.study import BASE, Study, output_folder, staged_output
from rerank.experiments.study_result import n_tied, resource_notes, tie_notes
from rerank.files.inputs import QrelsLike, TopicsLike
from rerank.rankers.ranker import Ranker
from rerank.training.cross_validation import cross_validated
from rerank.training.folds import LEAST_QUERIES, training_size
from rerank.types import Run

FILES = "curve"  # name of the files without the ending
STEPS = (1, 2, 5)  # numbers of queries are these times powers of ten
INTERVAL = "95 % bootstrap interval over the held-out queries (expanded percentiles, 10,000 samples, seed 0)"
NEAREST_MARKS = 1.3  # least quotient of neighbouring numbers of queries that are marked on the axis


@dataclass(frozen=True)
class CurvePoint:
    """The measure of one system at one number of training queries.

    Parameters
    ----------
    system : str
        Name in the table of a study: "BM25", "unsupervised", "base", or a ranker without and with its base.
    queries : int
        Number of judged queries that each model learned from; 0 for a system that learns nothing.
    values : mapping of str to float
        The measure of each held-out query.
    n_tied : int
        Number of held-out queries whose documents all have one score.

    """

    system: str
    queries: int
    values: Mapping[str, float]
    n_tied: int = 0

    @property
    def mean(self) -> float:
        """Mean over all held-out queries."""
        return float(np.mean(list(self.values.values())))


@dataclass(frozen=True, repr=False)
class LearningCurve(Curve):
    """Learning curves of several systems.

    Parameters
    ----------
    measure : str
        Name of the measure.
    points : sequence of CurvePoint
        The points, system by system, each system's by ascending number of queries.
    resources : mapping of str to str
        What features were computed from, as in `StudyResult`.

    """

    measure: str
    points: Sequence[CurvePoint]
    resources: Mapping[str, str]
    header = ("system", "queries", "mean", "low", "high")

    @property
    def title(self) -> str:  # type: ignore[override]
        """Heading of the chart and the table."""
        return f"{self.measure} on held-out queries by the number of training queries"

    @property
    def systems(self) -> Mapping[str, Sequence[CurvePoint]]:
        """The points of each system."""
        names = dict.fromkeys(point.system for point in self.points)
        return {name: [point for point in self.points if point.system == name] for name in names}

    @cached_property
    def rows(self) -> list[tuple[str, int, float, float, float]]:
        """System, number of queries, mean, and low and high end of its 95 % bootstrap interval, as in `curve.tsv`.

        After the rows of the points come the differences between the ranker with its base and without.
        """
        points = [(point.system, point.queries, point.values) for point in self.points]
        learned = [own for own in self.systems.values() if own[0].queries]
        for cold, warm in zip(*learned, strict=True) if len(learned) > 1 else ():
            change = {query_id: value - cold.values[query_id] for query_id, value in warm.values.items()}
            points.append((f"{warm.system} - {cold.system}", cold.queries, change))
        values = np.array([[own[query_id] for query_id in self.points[0].values] for _, _, own in points]).T
        figures = zip(values.mean(axis=0).tolist(), *map(np.ndarray.tolist, bootstrap_intervals(values)), strict=True)
        return [(system, queries, *row) for (system, queries, _), row in zip(points, figures, strict=True)]

    def parts(self, page: bool = False) -> Sequence[Section]:
        """Return the points, with their chart."""
        few = f"not enough judged queries: a fold leaves fewer than {LEAST_QUERIES} to learn from"
        text = [INTERVAL if any(point.queries for point in self.points) else few, *resource_notes(self.resources)]
        text += tie_notes({f"{own.system} of {own.queries}": own.n_tied for own in self.points if own.queries})
        rows = [
            [name, f"{queries}", figure(mean), f"{low:.4f} to {high:.4f}"]
            for name, queries, mean, low, high in self.rows
        ]
        header = ["system", "training queries", self.measure, "95 % interval"]
        return [Section("Points", text, rows, header, 1, [self.chart(self._axis(), len(self.points))])]

    def _axis(self) -> Axis:
        """Return the logarithmic axis of the numbers of queries; a mark too near to the next one is left out."""
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
        Settings; None is the defaults. The measure is that of the training. Systems are those of the study: BM25,
        the unsupervised ranking, the base, and the study's ranker without and with its base.

    Returns
    -------
    LearningCurve
        The points.

    Raises
    ------
    InvalidInputError
        If no topic is judged, the study has repeats or tuning, or another process is writing the folder. Also if too
        few topics are judged to train on, unless a system that learns nothing gives a point.

    """
    study = study or Study()
    for name, is_set in (("tune", study.tune), ("repeats", study.repeats > 1)):
        if is_set:
            raise InvalidInputError(f"{name}: expected none in a learning curve, got some. Leave it out.")
    with output_folder(output) as folder:
        with prepare(source, topics, qrels, study) as prepared:
            (folds,) = prepared.folds
            points = [_point(prepared, system, 0, run) for system, run in prepared.runs.items()]
            systems = [BASE, *prepared.study.trained]
            points += sorted(_points(prepared, folds), key=lambda point: systems.index(point.system))
            if not points:
                raise InvalidInputError(
                    f"data: expected {LEAST_QUERIES} judged queries or more outside each fold, got {len(folds)} "
                    "in all. Judge more."
                )
        curve = LearningCurve(study.metric, points, prepared.resources)
        if folder is not None:
            with staged_output(folder, last=f"{FILES}.tsv") as staging:
                curve.write(staging, FILES)
    return curve


def nested_order(folds: Mapping[str, int], fold: int, random_state: int) -> list[str]:
    """Return the queries of the other folds in random order; any first n hold about the same share of each fold."""
    random = np.random.default_rng([random_state, fold])
    places = {}
    for other in sorted(set(folds.values()) - {fold}):
        names = sorted(query_id for query_id, number in folds.items() if number == other)
        for place, number in enumerate(random.permutation(len(names)).tolist()):
            places[names[number]] = ((place + 0.5) / len(names), names[number])
    return sorted(places, key=places.__getitem__)


def training_sizes(folds: Mapping[str, int]) -> list[int]:
    """Return the numbers of training queries of the points; the last is the size of the largest training set."""
    fewest = len(folds) - int(np.bincount(list(folds.values())).max())
    powers = range(len(str(fewest)))
    sizes = [step * 10**power for power in powers for step in STEPS if LEAST_QUERIES <= step * 10**power < fewest]
    return [*sizes, training_size(folds)] if fewest >= LEAST_QUERIES else []


def _points(prepared: Prepared, folds: Mapping[str, int]) -> Iterator[CurvePoint]:
    """Yield the points of the ranker without and with its base, size by size, and of a base that is a model."""
    study = prepared.study
    sizes = training_sizes(folds)
    orders = [nested_order(folds, fold, study.random_state) for fold in range(max(folds.values()) + 1)]
    for size in sizes:
        subsets = [order if size == sizes[-1] else order[:size] for order in orders]
        data_of = prepared.of_folds(subsets)
        if size == sizes[-1] and isinstance(study.base, Ranker):
            yield _point(prepared, BASE, 0, run_of_base(prepared, data_of, folds, study.base))
        for system, base in study.trained.items():
            training = prepared.training(data_of, folds, base)
            training = replace(training, subsets=subsets, learns_from_all=learns_from_all(study, size))
            yield _point(prepared, system, size, cross_validated(prepared.workers, training, f"{system} of {size}")[2])


def _point(prepared: Prepared, system: str, queries: int, run: Run) -> CurvePoint:
    """Return the point of a run of all held-out queries."""
    result = evaluate(prepared.qrels, run, [prepared.study.metric], complete=True)
    return CurvePoint(system, queries, result.per_query[result.measures[0]], n_tied(run))
