"""Judgements of a machine against those of people: their agreement, and measures estimated from both."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.files.records import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.base import MEAN
from rerank.metrics.registry import parse_measure
from rerank.types import Floats, Ints
from rerank.types.display import Shown, counted

LEVEL = 0.95


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """Labels that two judges gave to the same documents.

    Parameters
    ----------
    labels : ndarray of shape (n_labels,), dtype int64
        The labels that occur, ascending.
    counts : ndarray of shape (n_labels, n_labels), dtype int64
        Number of documents by the label of the people (row) and of the machine (column).

    """

    labels: Ints
    counts: Ints

    @property
    def kappa(self) -> float:
        """Cohen's kappa with quadratic weights: 1 is full agreement, 0 that of chance; NaN where all labels are equal.

        J. Cohen, Weighted Kappa: Nominal Scale Agreement with Provision for Scaled Disagreement or Partial Credit,
        Psychological Bulletin 70(4), 1968.
        """
        weights = np.square(np.subtract.outer(self.labels, self.labels).astype(np.float64))
        by_chance = np.outer(self.counts.sum(axis=1), self.counts.sum(axis=0)) / self.counts.sum()
        expected = (weights * by_chance).sum()
        return float(1.0 - (weights * self.counts).sum() / expected) if expected > 0 else float("nan")

    def summary(self) -> str:
        """Return the number of documents and kappa in one line."""
        n_documents, n_equal = int(self.counts.sum()), int(self.counts.trace())
        equal = f"{n_equal:,} with the same label, quadratic-weighted kappa {self.kappa:.3f}"
        return f"Agreement: {counted(n_documents, 'document')}, {equal}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the first n rows of the confusion matrix."""
        header = ["people", *(f"machine {label}" for label in self.labels.tolist())]
        rows = [[label, *row] for label, row in zip(self.labels.tolist(), self.counts.tolist(), strict=True)]
        return header, rows[:n], len(rows)


@dataclass(frozen=True)
class Estimate:
    """A measure of a run, estimated from the judgements of a machine and of people.

    Parameters
    ----------
    measure : str
        Name of the measure.
    value : float
        The estimate.
    low, high : float
        Its confidence interval.
    machine : float
        The mean over the queries that the machine judged, by its judgements alone.
    people : float
        The mean over the queries that people judged, too, by their judgements alone.
    n_machine, n_people : int
        Number of these queries.

    """

    measure: str
    value: float
    low: float
    high: float
    machine: float
    people: float
    n_machine: int
    n_people: int


def agreement(people: QrelsLike, machine: QrelsLike) -> Agreement:
    """Compare the labels of the documents that people and a machine judged.

    Parameters
    ----------
    people, machine : Qrels, mapping, DataFrame or path
        The judgements, or their files.

    Returns
    -------
    Agreement
        Confusion matrix and quadratic-weighted kappa.

    Raises
    ------
    InvalidInputError
        If no document is judged by both.

    """
    people, machine = qrels_of(people), qrels_of(machine)
    rows, others = people.matches(machine.query_ids, machine.query_ptr, machine.doc_ids)
    if not len(rows):
        raise InvalidInputError(
            "agreement: expected documents that people and the machine judged, got none. Judge some of the same."
        )
    labels, numbers = np.unique(np.concatenate([people.labels[others], machine.labels[rows]]), return_inverse=True)
    cells = numbers[: len(rows)] * len(labels) + numbers[len(rows) :]
    counts = np.bincount(cells, minlength=len(labels) ** 2).reshape(len(labels), len(labels))
    return Agreement(labels, counts)


def prediction_powered(
    people: QrelsLike, machine: QrelsLike, run: RunLike, measure: Any = "nDCG@10", *, level: float = LEVEL
) -> Estimate:
    """Estimate a measure from a machine's judgements of all queries and people's judgements of some.

    The estimate is the mean over all N queries by the machine's judgements, plus a correction: the mean difference
    between people's and the machine's judgements over the n queries that people judged. It is unbiased, however wrong
    the machine is, if the n queries are a random sample of the N. The better the machine, the shorter the interval.

    Parameters
    ----------
    people : Qrels, mapping, DataFrame or path
        Judgements of people, for some of the queries that the machine judged.
    machine : Qrels, mapping, DataFrame or path
        Judgements of the machine.
    run : Run, mapping, DataFrame or path
        The run to evaluate. A query that is not in it counts as 0.
    measure : str, Measure or measure of ir_measures
        A measure that is averaged over queries.
    level : float
        Probability that the interval contains the mean over the queries' population.

    Returns
    -------
    Estimate
        The estimate with its interval, beside the means by either judgements alone.

    Raises
    ------
    InvalidInputError
        If people judged fewer than two of the machine's queries, or the measure is no mean over queries.

    References
    ----------
    A. Angelopoulos, S. Bates, C. Fannjiang, M. Jordan and T. Zrnic, Prediction-powered inference, Science 382, 2023.
    There, queries of people are not among the N; here they are, as in double sampling (W. Cochran, Sampling Techniques,
    3rd edition, 1977, chapter 12), which adds the covariance of the two means to the variance.

    """
    people, machine, run = qrels_of(people), qrels_of(machine), run_of(run)
    parsed = parse_measure(measure)
    if parsed.averaging != MEAN:
        raise InvalidInputError(
            f"measure {parsed.name}: expected a mean over queries, got the {parsed.averaging}. Name another measure."
        )
    if not 0.0 < level < 1.0:
        raise InvalidInputError(f"level: expected a number between 0 and 1, got {level!r}. Write e.g. {LEVEL}.")
    shared = [query_id for query_id in machine if query_id in people]
    if len(shared) < 2:
        raise InvalidInputError(
            f"people: expected judgements of at least 2 queries that the machine judged, got {len(shared)}. Judge more."
        )
    by_machine = evaluate(machine, run, [parsed], complete=True)
    by_people = evaluate(people.select(people.query_numbers(shared)), run, [parsed], complete=True)
    both = np.flatnonzero(np.isin(by_machine.query_ids, by_people.query_ids))  # results are in the order of the ids
    name, means = parsed.name, (by_machine[parsed], by_people[parsed])
    value, half = mean_and_half_width(by_machine.vector(name), both, by_people.vector(name), level)
    return Estimate(name, value, value - half, value + half, *means, len(by_machine.query_ids), len(both))


def mean_and_half_width(machine: Floats, both: Ints, people: Floats, level: float) -> tuple[float, float]:
    """Return the estimated mean and half the length of its confidence interval.

    Shapes: machine (n_machine,); both (n_people,), the rows of `machine` that people judged; people (n_people,).
    """
    change = people - machine[both]
    covariance = np.cov(machine[both], change)
    variance = (machine.var(ddof=1) + 2.0 * covariance[0, 1]) / len(machine) + covariance[1, 1] / len(both)
    half = NormalDist().inv_cdf((1.0 + level) / 2.0) * np.sqrt(max(variance, 0.0))
    return float(machine.mean() + change.mean()), float(half)
