"""Comparisons as text: a table for the terminal, TSV, JSON or LaTeX (with booktabs).

Judgements of a machine against those of people: their agreement, and measures estimated from both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import NormalDist
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, unknown_name
from rerank.evaluation.comparison import CORRECTIONS, TESTS, Comparison, Move, compare_results, shows
from rerank.evaluation.evaluate import EvaluationResult, evaluate
from rerank.files.lists import QrelsLike, RunLike, qrels_of, run_of
from rerank.metrics.base import MEAN
from rerank.metrics.registry import parse_measure
from rerank.types import Floats, Ints
from rerank.types.query_table import Shown, counted

MARKS = ((0.01, "**"), (0.05, "*"))  # marks for corrected p-values below the bounds


_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{letter: "\\" + letter for letter in "&%$#_{}"},
}


class Raw(str):
    """A cell that is LaTeX code, which is not escaped."""


def latex_table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Return a `tabular`: the first column left-aligned, the others right-aligned; cells are escaped unless Raw."""
    lines = [[_escaped(cell) for cell in row] for row in (header, *rows)]
    head, *body = (" & ".join(line) + r" \\" for line in lines)
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]) + (
        "\n" + r"\end{tabular}"
    )


def means_with_marks(comparison: Comparison, rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows (run, mean, mean ...) with the highest mean of each measure in bold, and marks of significance.

    * and ** mark means that differ from the baseline's with a corrected p-value below 0.05 and 0.01.
    """
    best = [max((row[column] for row in rows), key=float) for column in range(1, len(rows[0]))]
    return [
        [run, *(_marked(comparison, run, column, cell, best[column]) for column, cell in enumerate(cells))]
        for run, *cells in rows
    ]


def _marked(comparison: Comparison, run: str, column: int, cell: str, best: str) -> Raw:
    text = rf"\textbf{{{cell}}}" if cell == best else cell
    measure = comparison.measures[column]
    if (run, measure) not in comparison.pairs:
        return Raw(text)
    p_value = comparison.p_values[run][measure]
    mark = next((mark for bound, mark in MARKS if p_value < bound), "")
    return Raw(text + (rf"$^{{{mark}}}$" if mark else ""))


def _escaped(cell: str) -> str:
    return cell if isinstance(cell, Raw) else "".join(_SPECIAL.get(letter, letter) for letter in cell)


Results = Mapping[str, EvaluationResult]


Texts = Mapping[str, str]


FORMATS = ("table", "tsv", "json", "latex")


EXCERPT = 70  # characters of a document in the terminal


def render(
    comparison: Comparison,
    form: str = "table",
    *,
    per_query: bool = False,
) -> str:
    """Return a comparison as text."""
    if form == "json":
        return _json(comparison, per_query)
    if form == "tsv":
        return _tsv(comparison, per_query)
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    results = comparison.results.items()
    parts = [_per_query_table(name, result, form) for name, result in results] if per_query else []
    parts.append(_comparison_text(comparison, form))
    return "\n\n".join(parts)


def comparison_table(results: Results, baseline: str) -> str:
    """Return the means by run and measure, the differences to the baseline, and the conventions of the evaluation."""
    return _comparison_text(compare_results(results, baseline), "table")


@shows("text")
def text_of(comparison: Comparison) -> str:
    """Return a comparison as tables of text."""
    return render(comparison)


@shows("latex")
def latex_of(comparison: Comparison) -> str:
    """Return a comparison as tables in LaTeX."""
    return render(comparison, "latex")


def notes(comparison: Comparison) -> list[str]:
    """Return the notes of a comparison: how runs were compared, and the conventions of each evaluation.

    All formats, and the page, have the same notes.
    """
    policies = sorted({f"policy: {result.policy}" for result in comparison.results.values()})
    if not comparison.systems:
        return policies
    if not comparison.pairs:
        return [*_exceptions(comparison), *policies]
    over = f"{counted(len(comparison.systems), 'run')} x {counted(len(comparison.compared), 'measure')}"
    correction = CORRECTIONS[comparison.correction]
    return [
        f"difference to {comparison.baseline}, with the 95 % bootstrap interval of its mean (percentiles, "
        f"{comparison.samples:,} samples, seed {comparison.seed}); d: mean over standard deviation of the differences; "
        "W/T/L: queries won/tied/lost",
        f"p: {TESTS[comparison.test]}, {correction}{'' if comparison.correction == 'none' else f' over {over}'}",
        *_exceptions(comparison),
        *policies,
    ]


def _exceptions(comparison: Comparison) -> list[str]:
    """Return notes of measures without a difference, and of runs that answer other queries than the baseline."""
    baseline, of_baseline = comparison.baseline, len(comparison.results[comparison.baseline].query_ids)
    others = [measure for measure in comparison.measures if measure not in comparison.compared]
    lines = [f"no difference of {', '.join(others)}: the figure is no mean over queries"] if others else []
    for run in comparison.systems:
        n_shared, n_queries = comparison.n_shared(run), len(comparison.results[run].query_ids)
        if n_shared < max(n_queries, of_baseline):
            lines.append(
                f"{run} answers {n_queries} queries, {baseline} {of_baseline}: differences are over the {n_shared} of "
                "both, means over the queries of each"
            )
    return lines


def figure(value: float) -> str:
    """Return a mean or a value of a query as all formats write it."""
    return f"{value:.4f}"


def difference_cells(comparison: Comparison, run: str, measure: str) -> list[str]:
    """Return the cells of DIFFERENCE_HEADER for one run and measure."""
    difference = comparison.differences[run][measure]
    return [
        run,
        measure,
        f"{difference.difference:+.4f}",
        f"{difference.low:+.4f} to {difference.high:+.4f}",
        f"{difference.effect_size:+.2f}",
        p_text(comparison.p_values[run][measure]),
        f"{difference.wins}/{difference.ties}/{difference.losses}",
    ]


def p_text(p_value: float) -> str:
    """Return a p-value with four decimals."""
    return "<0.0001" if p_value < 1e-4 else f"{p_value:.4f}"


def rank_text(move: Move) -> str:
    """Return e.g. `34 → 1`, with – if the document is not retrieved."""
    return f"{move.before or '–'} → {move.after or '–'}"


DIFFERENCE_HEADER = ["run", "measure", "difference", "95 % interval", "d", "p", "W/T/L"]


def _comparison_text(comparison: Comparison, form: str) -> str:
    rows = [
        [name, *(figure(result[measure]) for measure in comparison.measures)]
        for name, result in comparison.results.items()
    ]
    header = ["run", *comparison.measures]
    parts = [latex_table(means_with_marks(comparison, rows), header) if form == "latex" else _table(rows, header, form)]
    if comparison.pairs:
        cells = [difference_cells(comparison, *pair) for pair in comparison.pairs]
        parts.append(_table(cells, DIFFERENCE_HEADER, form))
    lines = notes(comparison)
    if form == "latex":
        marks = ["bold: the highest mean; * and **: corrected p below 0.05 and 0.01"] if comparison.pairs else []
        lines = [f"% {line}" for line in (*marks, *lines)]
    return "\n\n".join([*parts, *lines])


def _per_query_table(name: str, result: EvaluationResult, form: str) -> str:
    rows = [
        [query_id, *(figure(result.values[measure][number]) for measure in result.measures)]
        for number, query_id in enumerate(result.query_ids.tolist())
    ]
    return _table(rows, [name, *result.measures], form)


def _table(rows: Sequence[Sequence[str]], header: Sequence[str], form: str) -> str:
    if form == "latex":
        return latex_table(rows, header)
    left = ("left",) + ("right",) * (len(header) - 1)
    return plain_table(rows, header, tablefmt="simple", disable_numparse=True, colalign=left)


def plain_table(rows: Sequence[Sequence[str]], header: Sequence[str], **form: Any) -> str:
    """Return a table of text; `form` is as for tabulate."""
    from tabulate import tabulate  # imported here: JSON and TSV do not need it, and it takes a tenth of their time

    return tabulate(rows, headers=header, **form)


def excerpt(documents: Texts, doc_id: str, most: int) -> str:
    """Return the beginning of a document, of at most `most` characters on one line; empty for an unknown one."""
    text = " ".join(documents.get(doc_id, "").split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _tsv(comparison: Comparison, per_query: bool) -> str:
    """Return lines `run measure query value`; query `all` is the mean, as in trec_eval, `all:...` a statistic."""
    lines = []
    for name, result in comparison.results.items():
        for measure in result.measures:
            if per_query:
                values = zip(result.query_ids.tolist(), result.values[measure].tolist(), strict=True)
                lines += [f"{name}\t{measure}\t{query_id}\t{figure(value)}" for query_id, value in values]
            lines.append(f"{name}\t{measure}\tall\t{figure(result[measure])}")
            if (name, measure) in comparison.pairs:
                statistics = comparison.statistics(name, measure).items()
                lines += [f"{name}\t{measure}\tall:{key}\t{value:.6g}" for key, value in statistics]
    return "\n".join(lines)


def _json(comparison: Comparison, per_query: bool) -> str:
    """Return all results; an infinite t or effect size is null, as JSON has no infinity."""
    runs: dict[str, Any] = {}
    for name, result in comparison.results.items():
        runs[name] = {"mean": {measure: result[measure] for measure in result.measures}, "policy": result.policy}
        if name in comparison.systems:
            runs[name]["against_baseline"] = {
                measure: {
                    key: value if isfinite(value) else None
                    for key, value in comparison.statistics(name, measure).items()
                }
                for measure in comparison.compared
            }
        if per_query:
            runs[name]["per_query"] = result.per_query
    settings = {key: getattr(comparison, key) for key in ("baseline", "test", "correction", "samples", "seed")}
    return json.dumps({**settings, "runs": runs, "notes": notes(comparison)}, indent=1)


def text_lines(results: Mapping[str, EvaluationResult], form: str) -> Iterator[str]:
    """Yield lines `run measure query text`, separated by tabs as in TSV; as comments in LaTeX."""
    note = "% " if form == "latex" else ""
    for run, result in results.items():
        for measure, texts in result.texts.items():
            for query_id, text in zip(result.query_ids.tolist(), texts.tolist(), strict=True):
                yield f"{note}{run}\t{measure}\t{query_id}\t{text}\n"


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
