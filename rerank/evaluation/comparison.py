"""Comparison of runs with a baseline: differences, significance tests, curves, and the queries that changed.

Paired significance tests of differences to a baseline, randomisation tests and bootstrap intervals of many at once.

Comparisons over the same number of queries share their samples. One matrix product for each block replaces
`scipy.stats.permutation_test` and `bootstrap` for each comparison, which is 100 times as fast for twenty runs and five
measures. The tests compare both with SciPy. A result does not depend on the other comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.evaluation.evaluate import MEASURES, EvaluationResult, evaluate, judgements_of
from rerank.files.lists import JudgementsLike, RunLike
from rerank.metrics.base import MEAN
from rerank.metrics.precision import RECALLS, IPrec
from rerank.metrics.registry import parse_measure, parse_measures
from rerank.runtime.arithmetic import log2_of
from rerank.runtime.registry import Registry
from rerank.types import Floats, Ints, Qrels, Run, pointers
from rerank.types.frames import new_frame
from rerank.types.ids import Ids, trec_order
from rerank.types.query_table import Shown, counted

SAMPLES = 10_000


BLOCK = 1 << 20  # random numbers of a block


MOST_SIGNED = 13  # queries: of up to so many, Wilcoxon's test tries all signs


DIGITS = 12  # after the point, of differences: equal ones of a measure differ in later ones


ROUNDING = 1e-10  # relative tolerance for ties of sums that are computed in different orders


def randomisation_p_values(differences: Floats, samples: int = SAMPLES, seed: int = 0) -> Floats:
    """Return the two-sided p-value of each column in Fisher's randomisation test of the mean.

    Shapes: differences float64 (n_queries, n_columns).

    B. Phipson and G. Smyth, Permutation P-values Should Never Be Zero, Statistical Applications in Genetics and
    Molecular Biology 9(1), 2010.
    """
    observed = np.abs(differences.sum(axis=0)) * (1.0 - ROUNDING)
    exhaustive = len(differences) < 63 and 2 ** len(differences) <= samples
    blocks = _all_signs(len(differences)) if exhaustive else _drawn_signs(len(differences), samples, seed)
    extreme = np.zeros(differences.shape[1])
    for signs in blocks:
        extreme += (np.abs(signs @ differences) >= observed).sum(axis=0)
    return extreme / 2 ** len(differences) if exhaustive else (extreme + 1.0) / (samples + 1.0)


def bootstrap_intervals(
    differences: Floats, level: float = 0.95, samples: int = SAMPLES, seed: int = 0
) -> tuple[Floats, Floats]:
    """Return the lower and upper end of the percentile bootstrap interval of the mean of each column.

    Shapes: differences float64 (n_queries, n_columns); low, high float64 (n_columns,).
    """
    n, random = len(differences), np.random.default_rng(seed)
    means = []
    for size in _block_sizes(samples, n):
        rows = random.integers(0, n, (size, n)) + np.arange(size)[:, None] * n
        times = np.bincount(rows.ravel(), minlength=size * n).reshape(size, n)
        means.append(times.astype(np.float64) @ differences / n)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(means), [tail, 1.0 - tail], axis=0)
    return low, high


def _all_signs(n: int) -> Iterator[Floats]:
    patterns = np.arange(2**n)
    yield _signs((patterns[:, None] >> np.arange(n)) & 1)


def _drawn_signs(n: int, samples: int, seed: int) -> Iterator[Floats]:
    random = np.random.default_rng(seed)
    for size in _block_sizes(samples, n):
        drawn = np.frombuffer(random.bytes(-(-size * n // 8)), dtype=np.uint8)
        yield _signs(np.unpackbits(drawn, count=size * n).reshape(size, n))


def _signs(bits: NDArray[Any]) -> Floats:
    return bits.astype(np.float64) * 2.0 - 1.0


def _block_sizes(samples: int, n: int) -> list[int]:
    size = max(1, BLOCK // n)
    return [min(size, samples - start) for start in range(0, samples, size)]


TESTS = {
    "t": "two-sided paired t-test",
    "wilcoxon": "two-sided Wilcoxon signed-rank test (queries without a difference left out)",
    "randomisation": "two-sided randomisation test of the mean difference",
}


CORRECTIONS = {
    "holm": "Holm",
    "bonferroni": "Bonferroni",
    "bh": "Benjamini-Hochberg",
    "none": "no correction",
}


LEVEL = 0.95  # level of the bootstrap interval; a p-value below 1 - LEVEL is significant


@dataclass(frozen=True)
class PairedDifference:
    """Difference of a system to the baseline over the same queries.

    Parameters
    ----------
    n_queries : int
        Number of queries of both runs.
    difference : float
        Mean difference, in units of the measure.
    low, high : float
        Its 95 % percentile bootstrap interval.
    effect_size : float
        Cohen's d of paired differences (d_z): their mean divided by their standard deviation (n - 1); 0 if no query
        differs, infinite if all differ by the same amount.
    wins, ties, losses : int
        Number of queries in which the system is better, equal, worse.
    t : float
        Statistic of the paired t-test.
    p_values : mapping of str to float
        Uncorrected p-value of each test (`t`, `wilcoxon`, `randomisation`); 1 if no query differs.

    """

    n_queries: int
    difference: float
    low: float
    high: float
    effect_size: float
    wins: int
    ties: int
    losses: int
    t: float
    p_values: Mapping[str, float]


def paired_differences(differences: Floats, samples: int = SAMPLES, seed: int = 0) -> list[PairedDifference]:
    """Return the statistics and tests of each column of differences.

    Shapes: differences float64 (n_queries, n_columns).
    """
    low, high = bootstrap_intervals(differences, LEVEL, samples, seed)
    randomised = randomisation_p_values(differences, samples, seed)
    return [
        _summarised(column, float(low[number]), float(high[number]), float(randomised[number]))
        for number, column in enumerate(differences.T)
    ]


def corrected(p_values: Sequence[float], correction: str) -> list[float]:
    """Return p-values corrected for multiple comparisons.

    S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 1979;
    Y. Benjamini and Y. Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical Society B 57,
    1995.
    """
    p, n = np.asarray(p_values, dtype=np.float64), len(p_values)
    if correction not in CORRECTIONS:
        raise unknown_name("correction", correction, CORRECTIONS)
    if correction == "bonferroni":
        return np.minimum(p * n, 1.0).tolist()  # type: ignore[no-any-return]
    if correction == "holm" and n:
        order = np.argsort(p, kind="stable")
        raised = np.maximum.accumulate(p[order] * np.arange(n, 0, -1))
        p[order] = np.minimum(raised, 1.0)
    if correction == "bh" and n:
        from scipy.stats import false_discovery_control

        p = false_discovery_control(p)
    return p.tolist()  # type: ignore[no-any-return]


def _summarised(difference: Floats, low: float, high: float, randomised: float) -> PairedDifference:
    rounded = np.round(difference, DIGITS)
    wins, losses = int((rounded > 0).sum()), int((rounded < 0).sum())
    t, t_p, wilcoxon_p = _tests(rounded)
    return PairedDifference(
        len(difference),
        float(difference.mean()),
        low,
        high,
        t / float(np.sqrt(len(difference))),  # t = d_z * sqrt(n)
        wins,
        len(difference) - wins - losses,
        losses,
        t,
        {"t": t_p, "wilcoxon": wilcoxon_p, "randomisation": randomised},
    )


def _tests(difference: Floats) -> tuple[float, float, float]:
    """Return t, its p-value and Wilcoxon's; t from SciPy unless all differences are equal, where SciPy divides by 0."""
    if not difference.any():
        return 0.0, 1.0, 1.0
    from scipy.stats import ttest_1samp

    wilcoxon_p = _wilcoxon_p_value(difference)
    if np.ptp(difference) == 0.0:
        return float(np.copysign(np.inf, difference[0])), 0.0, wilcoxon_p
    result = ttest_1samp(difference, 0.0)
    return float(result.statistic), float(result.pvalue), wilcoxon_p


def _wilcoxon_p_value(difference: Floats) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, exact for few queries, also with ties.

    SciPy calls Python for each pattern of signs where there are ties, and its earlier versions approximate there.
    """
    from scipy.stats import rankdata, wilcoxon

    if len(difference) > MOST_SIGNED:
        return float(wilcoxon(difference).pvalue)
    changed = difference[difference != 0.0]
    ranks = rankdata(np.abs(changed))
    sums = (next(_all_signs(len(changed))) > 0.0) @ ranks
    observed = ranks[changed > 0.0].sum()
    return float(min(2.0 * min((sums <= observed).mean(), (sums >= observed).mean()), 1.0))


DEFAULT_TEST, DEFAULT_CORRECTION = "t", "holm"


_FORMS: Registry[Callable[[Comparison], str]] = Registry("form", "rerank.evaluation", "rerank.evaluation.page")


shows = _FORMS.register  # decorates a function that writes comparisons in a form


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


@dataclass(frozen=True)
class Move:
    """Rank (from 1) of a document before and after, None if it is not retrieved; its label, None if unjudged."""

    doc_id: str
    label: int | None
    before: int | None
    after: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
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
    samples, seed : int
        Samples of the randomisation test and the bootstrap, and their random seed.

    """

    results: Mapping[str, EvaluationResult]
    baseline: str
    test: str = DEFAULT_TEST
    correction: str = DEFAULT_CORRECTION
    samples: int = SAMPLES
    seed: int = 0

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return self.results[self.baseline].measures

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the runs that are compared with the baseline."""
        return tuple(name for name in self.results if name != self.baseline)

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """Names of the measures whose figure is a mean over queries: a sum or a geometric mean has no difference."""
        kinds = self.results[self.baseline].kinds
        return tuple(name for name in self.measures if kinds[name].averaging == MEAN)

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """Runs and measures that have a difference to the baseline."""
        return [(run, measure) for run in self.systems for measure in self.compared]

    @cached_property
    def differences(self) -> dict[str, dict[str, PairedDifference]]:
        """`differences[run][measure]`, over the queries of both the run and the baseline, of `compared` measures."""
        vectors = {pair: self._difference(*pair) for pair in self.pairs}
        differences: dict[str, dict[str, PairedDifference]] = {run: {} for run in self.systems}
        for size in {len(vector) for vector in vectors.values()}:
            keys = [key for key, vector in vectors.items() if len(vector) == size]
            block = np.column_stack([vectors[key] for key in keys])
            for (run, measure), difference in zip(
                keys, paired_differences(block, self.samples, self.seed), strict=True
            ):
                differences[run][measure] = difference
        return differences

    @cached_property
    def p_values(self) -> dict[str, dict[str, float]]:
        """`p_values[run][measure]` of `test`, corrected over all runs and `compared` measures."""
        raw = [self.differences[run][measure].p_values[self.test] for run, measure in self.pairs]
        p_values: dict[str, dict[str, float]] = {run: {} for run in self.systems}
        for (run, measure), p_value in zip(self.pairs, corrected(raw, self.correction), strict=True):
            p_values[run][measure] = p_value
        return p_values

    def to_frame(self, per_query: bool = False) -> Any:
        """Return a pandas DataFrame."""
        if per_query:
            parts = [(name, *result.columns()) for name, result in self.results.items()]
            names = np.concatenate([np.full(len(query_ids), name, dtype=object) for name, query_ids, _ in parts])
            query_ids = np.concatenate([query_ids.astype(object) for _, query_ids, _ in parts])
            measures = {key: np.concatenate([columns[key] for _, _, columns in parts]) for key in parts[0][2]}
            return new_frame({"run": names, "query_id": query_ids, **measures})
        rows = [
            {"run": name, "measure": measure, "mean": result[measure], **self._figures(name, measure)}
            for name, result in self.results.items()
            for measure in self.measures
        ]
        columns = dict.fromkeys(key for row in rows for key in row)
        return new_frame({key: [row.get(key, np.nan) for row in rows] for key in columns})

    def _figures(self, run: str, measure: str) -> dict[str, Any]:
        """Return every figure of a difference to the baseline, by name; nothing for the baseline itself."""
        if run == self.baseline or measure not in self.compared:
            return {"significant": False}
        return {**self.statistics(run, measure), "significant": self.is_significant(run, measure)}

    def statistics(self, run: str, measure: str) -> dict[str, float]:
        """Return every statistic of a difference to the baseline, by name, of a measure that is `compared`."""
        figures = dict(vars(self.differences[run][measure]))
        p_values = {f"p_{test}": p_value for test, p_value in figures.pop("p_values").items()}
        return {**figures, **p_values, "p_value": self.p_values[run][measure]}

    def summary(self) -> str:
        """Return the counts and the baseline."""
        counts = f"{counted(len(self.results), 'run')}, {counted(len(self.measures), 'measure')}"
        return f"Comparison: {counts}, baseline {shown(self.baseline)}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the means of each run."""
        rows = [[name, *(result[measure] for measure in self.measures)] for name, result in self.results.items()]
        return ["run", *self.measures], rows, len(rows)

    def __str__(self) -> str:
        """Return means, differences with intervals and p, and notes as text."""
        return _FORMS.get("text")(self)

    def _repr_html_(self) -> str:
        """Return means, differences with intervals and p, and charts of them, for a notebook."""
        return _FORMS.get("notebook")(self)

    def to_latex(self) -> str:
        """Return the tables in LaTeX, with booktabs: the best mean of each measure in bold, marks of significance."""
        return _FORMS.get("latex")(self)

    def to_html(self) -> str:
        """Return a self-contained page."""
        return _FORMS.get("html")(self)

    def is_significant(self, run: str, measure: str) -> bool:
        """Whether the corrected p is below 0.05."""
        return self.p_values[run][measure] < 1.0 - LEVEL

    def changes(self, run: str, measure: str) -> list[QueryChange]:
        """Return the change of every query of both runs, the largest gain first, the largest loss last."""
        query_ids, run_rows, baseline_rows = self._shared(run)
        before = self.results[self.baseline].vector(measure)[baseline_rows].tolist()
        after = self.results[run].vector(measure)[run_rows].tolist()
        changes = [QueryChange(*row) for row in zip(query_ids.tolist(), before, after, strict=True)]
        return sorted(changes, key=lambda change: (-change.difference, change.query_id))

    def extremes(self, run: str, measure: str, n: int) -> tuple[list[QueryChange], list[QueryChange]]:
        """Return the n queries that gained most and the n that lost most, at most, the largest change first."""
        changes = self.changes(run, measure)
        gained = [change for change in changes if change.difference > 0]
        lost = [change for change in changes if change.difference < 0]
        return gained[:n], sorted(lost, key=lambda change: (change.difference, change.query_id))[:n]

    def check_shared(self, run: str) -> None:
        """Refuse a run that shares fewer than two queries with the baseline."""
        if (n_shared := self.n_shared(run)) < 2:
            raise InvalidInputError(
                f"run {run}: expected at least two queries that {self.baseline} answers too, to compare them, got "
                f"{n_shared}. Evaluate both on the same queries, or one alone."
            )

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
    measures = parse_measures(measures)
    judgements = judgements_of(qrels, measures)
    results = {name: evaluate(judgements, run, measures, complete=complete) for name, run in runs.items()}
    return compare_results(results, baseline, test=test, correction=correction)


def compare_results(
    results: Mapping[str, EvaluationResult],
    baseline: str | None = None,
    *,
    test: str = DEFAULT_TEST,
    correction: str = DEFAULT_CORRECTION,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare runs that have been evaluated; arguments and errors are those of `compare` and `Comparison`."""
    if not results:
        raise InvalidInputError("comparison: expected at least one run, got none. Name one.")
    baseline = next(iter(results)) if baseline is None else baseline
    if baseline not in results:
        raise unknown_name("baseline", baseline, results)
    if test not in TESTS:
        raise unknown_name("test", test, TESTS)
    if samples < 100:
        raise InvalidInputError(f"samples: expected at least 100, got {samples}. Leave the default of {SAMPLES}.")
    corrected([], correction)  # refuses an unknown correction now, not when the first p-value is computed
    comparison = Comparison(results, baseline, test, correction, samples, seed)
    for run in comparison.systems:
        comparison.check_shared(run)
    return comparison


def moves(qrels: Qrels, before: Run, after: Run, query_id: str, n: int = 10) -> list[Move]:
    """Return the n most important changes of rank between two runs of a judged query.

    Relevant documents come first. Both groups are ordered by the change of the discount 1 / log2(1 + rank), which is 0
    for a document that is not retrieved. Documents with the same rank in both runs are left out.
    """
    labels = qrels[query_id]
    old, new = _ranks(before, query_id), _ranks(after, query_id)
    moves_of_query = [Move(doc, labels.get(doc), old.get(doc), new.get(doc)) for doc in {**old, **new}]
    changed = [move for move in moves_of_query if move.before != move.after]

    def importance(move: Move) -> tuple[bool, float, str]:
        return (move.label or 0) <= 0, -abs(_discount(move.after) - _discount(move.before)), move.doc_id

    return sorted(changed, key=importance)[:n]


def _discount(rank: int | None) -> float:
    return 0.0 if rank is None else float(1.0 / log2_of(1.0 + rank))


def _ranks(run: Run, query_id: str) -> dict[str, int]:
    """Return the rank of each document of a query, in trec_eval's order."""
    if query_id not in run:
        return {}
    rows = run.rows(query_id)
    doc_ids, scores = run.doc_ids[rows], run.scores[rows]
    order = trec_order(pointers([len(doc_ids)]), scores, doc_ids)
    return {doc_id: rank for rank, doc_id in enumerate(doc_ids[order].tolist(), start=1)}


MOVES = 6  # documents shown for each query


@dataclass(frozen=True)
class QueryDetail:
    """A query that gained or lost in a run, compared with the baseline.

    text   text of the topic, None without topics
    moves  the most important changes of rank
    """

    run: str
    measure: str
    change: QueryChange
    text: str | None
    moves: Sequence[Move]


def query_details(
    comparison: Comparison,
    n: int,
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]],
    topics: Mapping[str, str] | None = None,
) -> list[QueryDetail]:
    """Return, for each run, the n queries that gained most and the n that lost most under the first measure.

    runs    the compared runs, by the same names
    topics  texts by query id
    """
    measure, qrels, topics = comparison.measures[0], Qrels.of(qrels), topics or {}
    baseline = Run.of(runs[comparison.baseline])
    details = []
    for name in comparison.systems:
        run, (gained, lost) = Run.of(runs[name]), comparison.extremes(name, measure, n)
        for change in [*gained, *lost]:
            documents = moves(qrels, baseline, run, change.query_id, MOVES)
            details.append(QueryDetail(name, measure, change, topics.get(change.query_id), documents))
    return details


def moved_documents(details: Sequence[QueryDetail]) -> set[str]:
    """Return the ids of all documents in the details."""
    return {move.doc_id for detail in details for move in detail.moves}


CUTOFFS = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100)


@dataclass(frozen=True)
class RunCurves:
    """Curves of a run, averaged over the same queries and with the same options as its evaluation.

    precision   mean interpolated precision at each of RECALLS
    measure     name of the measure by cutoff, without its cutoff
    by_cutoff   mean of that measure at each of CUTOFFS
    """

    precision: tuple[float, ...]
    measure: str
    by_cutoff: tuple[float, ...]


def run_curves(qrels: Qrels | Mapping[str, Mapping[str, int]], run: Run, result: EvaluationResult) -> RunCurves:
    """Return the curves of an evaluated run, for the first measure of `result` with a cutoff, or nDCG."""
    qrels, options = Qrels.of(qrels), asdict(result.options)
    measure = next((kind for kind in result.kinds.values() if kind.cutoff is not None), parse_measure("nDCG@10"))
    points = [IPrec(recall=recall, rel=result.options.level) for recall in RECALLS]
    precision = evaluate(qrels, run, points, **options)
    cuts = [replace(measure, cutoff=cutoff) for cutoff in CUTOFFS]
    top = run if result.options.judged_only else run.take(run.trec_order()).head(CUTOFFS[-1])
    by_cutoff = evaluate(qrels, top, cuts, **options)
    return RunCurves(
        tuple(precision[point.name] for point in points),
        cuts[0].name.removesuffix(f"@{CUTOFFS[0]}"),
        tuple(by_cutoff[cut.name] for cut in cuts),
    )
