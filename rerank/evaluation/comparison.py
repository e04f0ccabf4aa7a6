"""Comparison of runs with a baseline: differences, the queries that changed, and their presentation as text.

The text is a table for the terminal, TSV, JSON or LaTeX (with booktabs).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, check_known
from rerank.evaluation.evaluate import MEASURES, EvaluationResult, evaluate, judgements_of
from rerank.evaluation.significance import (
    CORRECTIONS,
    SAMPLES,
    TESTS,
    PairedDifference,
    corrected,
    paired_differences,
)
from rerank.files.beir import removes_query
from rerank.files.inputs import JudgementsLike, RunLike
from rerank.metrics.base import MEAN
from rerank.metrics.registry import parse_measures
from rerank.runtime.codec import finite
from rerank.types import Floats, Ids, Ints, counted
from rerank.types.data_frames import new_frame
from rerank.types.text_tables import csv_lines, text_table

DEFAULT_TEST = "t"
DEFAULT_CORRECTION = "holm"


@dataclass(frozen=True)
class QueryChange:
    """Value of a query in the baseline and in another run."""

    query_id: str
    before: float
    after: float

    @property
    def difference(self) -> float:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Evaluation results of several runs, and the differences of each to the baseline.

    Parameters
    ----------
    results : mapping of str to EvaluationResult
        Results of each run, by its name.
    baseline : str
        Name of the run that the others are compared with.
    test : {"t", "wilcoxon", "randomisation"}
        Significance test whose p-values are corrected and reported.
    correction : {"holm", "bonferroni", "bh", "none"}
        Correction of the p-values for multiple comparisons, over all runs and measures.
    added : tuple of str
        Names of runs that nobody asked for: their p-values are corrected apart from those of the others.
    remarks : tuple of str
        Further notes, which follow those of the comparison.

    """

    results: Mapping[str, EvaluationResult]
    baseline: str
    test: str = DEFAULT_TEST
    correction: str = DEFAULT_CORRECTION
    added: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return self.results[self.baseline].measures

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the runs that are compared with the baseline; those that were added are the last."""
        return tuple(name for family in self.families for name in family)

    @cached_property
    def families(self) -> list[list[str]]:
        """Runs whose p-values are corrected together: those that were asked for, and those that were added."""
        others = [name for name in self.results if name != self.baseline]
        asked = [name for name in others if name not in self.added]
        return [family for family in (asked, [name for name in others if name not in asked]) if family]

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """Names of the measures whose figure is a mean over queries: a sum or a geometric mean has no difference."""
        return tuple(name for name, kind in self.results[self.baseline].kinds.items() if kind.averaging == MEAN)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Runs and measures that have a difference to the baseline."""
        return [(run, measure) for run in self.systems for measure in self.compared]

    @cached_property
    def differences(self) -> dict[str, dict[str, PairedDifference]]:
        """`differences[run][measure]` of the `compared` measures, over the queries that run and baseline share."""
        vectors = {pair: self._difference(*pair) for pair in self.pairs}
        of_pairs: dict[tuple[str, str], PairedDifference] = {}
        for size in {len(vector) for vector in vectors.values()}:
            keys = [key for key, vector in vectors.items() if len(vector) == size]
            of_pairs |= zip(keys, paired_differences(np.column_stack([vectors[key] for key in keys])), strict=True)
        return self._by_run(of_pairs)

    @cached_property
    def p_values(self) -> dict[str, dict[str, float]]:
        """`p_values[run][measure]` of `test`, corrected over the runs of a family and `compared` measures."""
        values: list[float] = []
        for family in self.families:
            raw = [self.differences[run][measure].p_values[self.test] for run in family for measure in self.compared]
            values += corrected(raw, self.correction)
        return self._by_run(dict(zip(self.pairs, values, strict=True)))

    def _by_run(self, of_pairs: Mapping[tuple[str, str], Any]) -> dict[str, dict[str, Any]]:
        return {run: {measure: of_pairs[run, measure] for measure in self.compared} for run in self.systems}

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of the means and differences; `results` has the values of each query."""
        rows = [
            {
                "run": name,
                "measure": measure,
                "mean": result[measure],
                **(self.statistics(name, measure) if (name, measure) in self.pairs else {}),
            }
            for name, result in self.results.items()
            for measure in self.measures
        ]
        columns = dict.fromkeys(key for row in rows for key in row)
        return new_frame({key: [row.get(key, np.nan) for row in rows] for key in columns})

    def statistics(self, run: str, measure: str) -> dict[str, float]:
        """Return every statistic of a run's difference to the baseline, by name; the measure must be in `compared`."""
        figures = dict(vars(self.differences[run][measure]))
        p_values = {f"p_{test}": p_value for test, p_value in figures.pop("p_values").items()}
        return {**figures, **p_values, "p_value": self.p_values[run][measure]}

    def __repr__(self) -> str:
        """Return means, differences with intervals and p, and notes as text."""
        return render(self)

    def _repr_markdown_(self) -> str:
        """Return the text of `__repr__` in Markdown, for a notebook."""
        return render(self, "markdown")

    def changes(self, run: str, measure: str) -> list[QueryChange]:
        """Return the change of every query of both runs, the largest gain first, the largest loss last."""
        query_ids, run_rows, baseline_rows = self._shared(run)
        before = self.results[self.baseline].vector(measure)[baseline_rows].tolist()
        after = self.results[run].vector(measure)[run_rows].tolist()
        changes = [QueryChange(*row) for row in zip(query_ids.tolist(), before, after, strict=True)]
        return sorted(changes, key=lambda change: (-change.difference, change.query_id))

    def n_shared(self, run: str) -> int:
        """Return the number of queries that a run and the baseline both answer."""
        return len(self._shared(run)[0])

    def _shared(self, run: str) -> tuple[Ids, Ints, Ints]:
        return np.intersect1d(self.results[run].query_ids, self.results[self.baseline].query_ids, return_indices=True)

    def _difference(self, run: str, measure: str) -> Floats:
        _, run_rows, baseline_rows = self._shared(run)
        return self.results[run].vector(measure)[run_rows] - self.results[self.baseline].vector(measure)[baseline_rows]


def compare(
    qrels: JudgementsLike,
    runs: Mapping[str, RunLike],
    measures: Iterable[Any] = MEASURES,
    *,
    baseline: str | None = None,
    complete: bool = False,
    remove_query: bool | None = None,
    test: str = DEFAULT_TEST,
    correction: str = DEFAULT_CORRECTION,
) -> Comparison:
    """Evaluate runs and compare each with a baseline.

    Parameters
    ----------
    qrels : Qrels, mapping, DataFrame or path
        Judgements, as `evaluate` takes them.
    runs : mapping of str to Run, mapping, DataFrame or path
        The runs, by name.
    measures : iterable of str, Measure or measure of ir_measures
        Measures, as `evaluate` takes them.
    baseline : str or None
        Name of one of the runs; None is the first.
    complete : bool
        Whether to average over all judged queries, see `EvalOptions`.
    remove_query : bool or None
        Whether to remove the document that has the id of the query, see `evaluate`.
    test : {"t", "wilcoxon", "randomisation"}
        Significance test whose p-values are corrected and reported; all three are computed.
    correction : {"holm", "bonferroni", "bh", "none"}
        Correction of the p-values for multiple comparisons, over all runs and measures.

    Returns
    -------
    Comparison
        The figures of each run and the differences to the baseline.

    Raises
    ------
    InvalidInputError
        For what `evaluate` refuses, for an unknown baseline, test or correction, and if a run and the baseline share
        fewer than two queries.

    """
    if not isinstance(runs, Mapping):
        raise InvalidInputError(f"runs: expected a mapping of runs by name, got {type(runs).__name__}. Name each run.")
    measures = parse_measures(measures)
    judgements = judgements_of(qrels, measures)
    options = {"complete": complete, "remove_query": removes_query(remove_query, qrels)}
    results = {name: evaluate(judgements, run, measures, **options) for name, run in runs.items()}
    return compare_results(results, baseline, test=test, correction=correction)


def compare_results(
    results: Mapping[str, EvaluationResult],
    baseline: str | None = None,
    *,
    test: str = DEFAULT_TEST,
    correction: str = DEFAULT_CORRECTION,
    added: Iterable[str] = (),
    remarks: Iterable[str] = (),
) -> Comparison:
    """Compare runs that have been evaluated; arguments and errors are those of `compare` and `Comparison`."""
    if not results:
        raise InvalidInputError("comparison: expected at least one run, got none. Name one.")
    baseline = next(iter(results)) if baseline is None else baseline
    check_known("baseline", baseline, results)
    check_known("test", test, TESTS)
    corrected([], correction)  # refuses an unknown correction now, not when the first p-value is computed
    comparison = Comparison(results, baseline, test, correction, tuple(added), tuple(remarks))
    for run in comparison.systems:
        if (n_shared := comparison.n_shared(run)) < 2:
            raise InvalidInputError(
                f"run {run}: expected at least two queries that {baseline} answers too, to compare them, got "
                f"{n_shared}. Evaluate both on the same queries, or one alone."
            )
    return comparison


MARKS = ((0.01, ("**", "††")), (0.05, ("*", "†")))  # bounds of corrected p-values; marks of better and worse runs
MARKED = "* and **: better than {} with corrected p below 0.05 and 0.01; † and ††: worse"
FORMATS = ("table", "tsv", "csv", "json", "latex", "markdown")
MOST_COLUMNS = 10  # measures side by side
_BOLD = "\ue000", "\ue001"  # private characters: tabulate escapes commands, so these become \textbf{...} after it
TABLES = {"table": "simple", "latex": "latex_booktabs", "markdown": "github"}  # forms of tabulate


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
        return "\n".join(map("\t".join, _lines(comparison, per_query)))
    if form == "csv":
        return csv_lines([("run", "measure", "query", "value"), *_lines(comparison, per_query)])
    check_known("format", form, FORMATS)
    tables = [_per_query_table(*named, form) for named in comparison.results.items()] if per_query else []
    return "\n\n".join([*tables, _comparison_text(comparison, form)])


def notes(comparison: Comparison) -> list[str]:
    """Return the notes of a comparison: how runs were compared, and the conventions of each evaluation.

    All formats, and the page, have the same notes.
    """
    others = [*comparison.remarks, *_policies(comparison)]
    if not comparison.systems:
        return others
    if not comparison.pairs:
        return [*_exceptions(comparison), *others]
    asked, *added = comparison.families
    over = f"{counted(len(asked), 'run')} x {counted(len(comparison.compared), 'measure')}"
    correction = CORRECTIONS[comparison.correction]
    return [
        f"difference to {comparison.baseline}, with the 95 % bootstrap interval of its mean (expanded percentiles, "
        f"{SAMPLES:,} samples, seed 0); d: mean over standard deviation of the differences; "
        "W/T/L: queries won/tied/lost",
        f"p: {TESTS[comparison.test]}, {correction}{'' if comparison.correction == 'none' else f' over {over}'}",
        *(f"added, and corrected apart: {', '.join(family)}" for family in added),
        *_exceptions(comparison),
        *others,
    ]


def _policies(comparison: Comparison) -> list[str]:
    """Return the conventions of all runs; where these differ, those of each with its name."""
    policies = {name: result.policy for name, result in comparison.results.items()}
    if len(set(policies.values())) == 1:
        return [f"policy: {policies[comparison.baseline]}"]
    return [f"policy of {name}: {policy}" for name, policy in policies.items()]


def _exceptions(comparison: Comparison) -> list[str]:
    """Return notes about measures without a difference, and about runs that answer other queries than the baseline."""
    baseline = comparison.baseline
    of_baseline = len(comparison.results[baseline].query_ids)
    others = [measure for measure in comparison.measures if measure not in comparison.compared]
    lines = [f"no difference of {', '.join(others)}: the figure is no mean over queries"] if others else []
    for run in comparison.systems:
        n_shared = comparison.n_shared(run)
        n_queries = len(comparison.results[run].query_ids)
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
    p_value = comparison.p_values[run][measure]
    return [
        run,
        measure,
        f"{difference.difference:+.4f}",
        f"{difference.low:+.4f} to {difference.high:+.4f}",
        f"{difference.effect_size:+.2f}",
        "<0.0001" if p_value < 1e-4 else f"{p_value:.4f}",
        f"{difference.wins}/{difference.ties}/{difference.losses}",
    ]


DIFFERENCE_HEADER = ["run", "measure", "difference", "95 % interval", "d", "p", "W/T/L"]


def _comparison_text(comparison: Comparison, form: str) -> str:
    rows = mean_rows(comparison, marked=form == "latex")
    if form == "latex":
        rows = [_with_best(comparison, *row) for row in rows]
    tables = [means_table(comparison, rows)]
    lines = notes(comparison)
    if comparison.pairs:
        tables.append(([difference_cells(comparison, *pair) for pair in comparison.pairs], DIFFERENCE_HEADER))
    if form == "markdown":  # bars separate columns
        bare = [[[cell.replace("|", r"\|") for cell in row] for row in (header, *cells)] for cells, header in tables]
        tables = [(cells, header) for header, *cells in bare]
    parts = [text_table(cells, header, form=TABLES[form]) for cells, header in tables]
    if form == "latex":
        against = comparison.baseline
        of_means, of_differences = ([MARKED.format(against)], [lines.pop(0)]) if comparison.pairs else ([], [])
        title = "Means" + "; bold: the best" * (_BOLD[0] in parts[0])
        texts = [_floating(parts[0], title, "means", [*of_means, *lines])]
        texts += [_floating(part, f"Differences to {against}", "differences", of_differences) for part in parts[1:]]
        return "\n\n".join(texts)
    return "\n\n".join([*parts, *lines])


def _floating(table: str, title: str, label: str, lines: list[str]) -> str:
    """Return a table of LaTeX with its caption and label, and notes below it."""
    from tabulate import LATEX_ESCAPE_RULES

    escapes = str.maketrans(dict(LATEX_ESCAPE_RULES))
    caption, *below = [line.translate(escapes) for line in (title, *lines)]
    head = [
        r"\begin{table}",
        r"\centering\footnotesize\tabcolsep=4pt",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{label}}}",
    ]
    below = [r"\par\medskip\raggedright", *(rf"\par {line}" for line in below)]
    text = "\n".join([*head, table, *below, r"\end{table}"])
    return text.replace(_BOLD[0], r"\textbf{").replace(_BOLD[1], "}").replace("†", r"\dag{}")


def _with_best(comparison: Comparison, run: str, *means: str) -> list[str]:
    """Return a row of `mean_rows` with _BOLD around the best means; means that are printed alike are equal."""
    results = comparison.results
    cells = [run]
    for measure, mean in zip(comparison.measures, means, strict=True):
        best = figure(max(result[measure] for result in results.values()))
        is_best = measure in comparison.compared and len(results) > 1 and figure(results[run][measure]) == best
        cells.append(f"{_BOLD[0]}{mean}{_BOLD[1]}" if is_best else mean)
    return cells


def mean_rows(comparison: Comparison, marked: bool) -> list[list[str]]:
    """Return each run with its means.

    marked  whether a mean has a mark if it differs from the baseline's with a small corrected p-value
    """
    rows = []
    for run, result in comparison.results.items():
        means = [figure(result[measure]) for measure in comparison.measures]
        for number, measure in enumerate(comparison.measures):
            if marked and (run, measure) in comparison.pairs:
                p_value = comparison.p_values[run][measure]
                is_worse = comparison.differences[run][measure].difference < 0.0
                means[number] += next((marks[is_worse] for bound, marks in MARKS if p_value < bound), "")
        rows.append([run, *means])
    return rows


def means_table(comparison: Comparison, rows: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """Return the rows of `mean_rows` and their header; of more than MOST_COLUMNS measures, one row for each measure."""
    header = ["run", *comparison.measures]
    if len(comparison.measures) <= MOST_COLUMNS:
        return rows, header
    (_, *runs), *turned = map(list, zip(header, *rows, strict=True))
    return turned, ["measure", *runs]


def _per_query_table(name: str, result: EvaluationResult, form: str) -> str:
    rows = [
        [query_id, *(figure(result.values[measure][number]) for measure in result.measures)]
        for number, query_id in enumerate(result.query_ids.tolist())
    ]
    return text_table(rows, [name, *result.measures], form=TABLES[form])


def _lines(comparison: Comparison, per_query: bool) -> Iterator[tuple[str, str, str, str]]:
    """Yield (run, measure, query, value); query `all` has the mean, as in trec_eval, `all:NAME` the statistic NAME."""
    for name, result in comparison.results.items():
        for measure in result.measures:
            if per_query:
                for query_id, value in zip(result.query_ids.tolist(), result.values[measure].tolist(), strict=True):
                    yield name, measure, query_id, figure(value)
            yield name, measure, "all", figure(result[measure])
            if (name, measure) in comparison.pairs:
                for key, statistic in comparison.statistics(name, measure).items():
                    yield name, measure, f"all:{key}", f"{statistic:.6g}"


def _json(comparison: Comparison, per_query: bool) -> str:
    """Return all results; an infinite t or effect size is null, as JSON has no infinity."""
    runs: dict[str, Any] = {}
    for name, result in comparison.results.items():
        runs[name] = {"mean": {measure: result[measure] for measure in result.measures}, "policy": result.policy}
        if name in comparison.systems:
            runs[name]["against_baseline"] = {
                measure: comparison.statistics(name, measure) for measure in comparison.compared
            }
        if per_query:
            runs[name]["per_query"] = result.per_query
    settings = {key: getattr(comparison, key) for key in ("baseline", "test", "correction")}
    drawn = {"samples": SAMPLES, "seed": 0}
    return json.dumps(finite({**settings, **drawn, "runs": runs, "notes": notes(comparison)}), indent=1)


def rendered_lines(results: Mapping[str, EvaluationResult], form: str) -> Iterator[str]:
    """Yield a line of run, measure, query and text for each text: CSV, or with tabs; in LaTeX, lines are comments."""
    note = "% " if form == "latex" else ""
    for run, result in results.items():
        for measure, texts in result.texts.items():
            for query_id, text in zip(result.query_ids.tolist(), texts.tolist(), strict=True):
                cells = run, measure, query_id, text
                line = csv_lines([cells]) if form == "csv" else note + "\t".join(cells)
                yield f"{line}\n"
