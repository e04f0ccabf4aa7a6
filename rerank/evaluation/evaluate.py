"""Evaluation of runs against judgements, as trec_eval does it.

`reliability` checks whether the scores of a run are probabilities of relevance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log, shown
from rerank.files.beir import removes_query
from rerank.files.inputs import JudgementsLike, QrelsLike, RunLike, qrels_of, run_of, subtopic_qrels_of
from rerank.metrics.base import GEOMETRIC, LEAST_FACTOR, TEXT, TOTAL, Measure
from rerank.metrics.ranked_lists import RankedLists, SubtopicJudgements, ranks
from rerank.metrics.registry import parse_measure, parse_measures
from rerank.metrics.reliability import Reliability
from rerank.runtime.fields import COUNT, Flag, Number, read_at
from rerank.types import Floats, Ids, Ints, Qrels, Run, Shown, SubtopicQrels, counted, joined_rows, pointers, query_rows
from rerank.types.data_frames import new_frame
from rerank.types.ids import same_ids, warn_apart

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")
# Value of the measures' parameter `rounding` -> the version of trec_eval that rounds levels of recall in this way.
ROUNDED_BY = {"nearest": "trec_eval 10", "up": "trec_eval 9"}


@dataclass(frozen=True)
class EvalOptions:
    """Options of an evaluation, apart from the measures.

    Parameters
    ----------
    complete : bool
        Average over all judged queries; a query that is not in the run counts as an empty list (`trec_eval -c`). By
        default, average over the judged queries of the run.
    depth : int or None
        Number of top documents of each query that are evaluated; None is all (`trec_eval -M`).
    judged_only : bool
        Remove unjudged documents, and those with a negative label, before ranks are counted (`trec_eval -J`).
    level : int
        Smallest label that is relevant, for measures without their own `rel` (`trec_eval -l`).
    remove_query : bool
        Remove the document that has the id of the query before ranks are counted, as BEIR does.

    """

    complete: bool = False
    depth: int | None = None
    judged_only: bool = False
    level: int = 1
    remove_query: bool = False

    def __post_init__(self) -> None:
        for name in ("complete", "judged_only", "remove_query"):
            read_at(name, Flag(), getattr(self, name))
        read_at("depth", replace(COUNT, optional=True), self.depth)
        read_at("level", COUNT, self.level)


class _PerQuery(dict[str, dict[str, Any]]):
    """Values by the name of the measure and by query; a measure is also found by its other names."""

    def __init__(self, by_name: Mapping[str, dict[str, Any]], name_of: Callable[[object], str]) -> None:
        super().__init__(by_name)
        self._name_of = name_of

    def __missing__(self, measure: object) -> dict[str, Any]:
        return self[self._name_of(measure)]


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult(Shown):
    """Values of measures for one run.

    Parameters
    ----------
    run_name : str
        Name of the run.
    query_ids : ndarray of shape (n_queries,), dtype str
        The evaluated queries, sorted by id.
    values : mapping of str to ndarray of shape (n_queries,), dtype float64
        Value of each query, by the name of the measure.
    kinds : mapping of str to Measure
        The measures, by name.
    options : EvalOptions
        The options of the evaluation.
    texts : mapping of str to ndarray of shape (n_queries,), dtype str
        Text of each query, for measures that return text (trec_eval's relstring).

    """

    run_name: str
    query_ids: Ids
    values: Mapping[str, Floats]
    kinds: Mapping[str, Measure]
    options: EvalOptions = EvalOptions()
    texts: Mapping[str, Ids] = field(default_factory=dict)

    def __getitem__(self, measure: object) -> float:
        """Return the figure of a measure over the queries: their mean, or as `Measure.averaging` says."""
        name = self._name(measure)
        if name in self.texts:
            raise InvalidInputError(f"measure {name}: expected one that is a number, got one of texts. Read per_query.")
        return self.kinds[name].average(self.values[name])

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the measures. `dict(result)` gives their figures by name."""
        return iter(self.values)

    def keys(self) -> KeysView[str]:
        """Return the names of the measures."""
        return self.values.keys()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in the order in which they were requested."""
        return tuple(self.values)

    def to_frame(self, per_query: bool = True) -> Any:
        """Return a pandas DataFrame with a column for each measure."""
        if per_query:
            query_ids, columns = self.columns()
            return new_frame(columns, index=("query_id", query_ids.astype(object)))
        return new_frame({name: [self[name]] for name in self.measures}, index=("run", [self.run_name]))

    def columns(self) -> tuple[Ids, dict[str, NDArray[Any]]]:
        """Return the query ids and the values or texts of each measure, (n_queries,), by its name."""
        columns = {**self.values, **{name: texts.astype(object) for name, texts in self.texts.items()}}
        return self.query_ids, {name: columns[name] for name in self.kinds}

    def summary(self) -> str:
        """Return the name of the run, the number of queries and the figure of each measure."""
        parts = [
            counted(len(self.query_ids), "query", "queries"),
            *(f"{name} {self[name]:.4f}" for name in self.values),
        ]
        return f"EvaluationResult {shown(self.run_name)}: {', '.join(parts)}"

    def first_rows(self, n: int) -> tuple[list[str], list[list[Any]], int]:
        """Return the values of the first n queries."""
        query_ids, columns = self.columns()
        rows = zip(query_ids[:n].tolist(), *(values[:n].tolist() for values in columns.values()), strict=True)
        return ["query_id", *columns], [list(row) for row in rows], len(query_ids)

    @property
    def per_query(self) -> dict[str, dict[str, Any]]:
        """`per_query[measure][query id]` is one value, or text for measures that return text."""
        names = self.query_ids.tolist()
        columns = {**self.values, **self.texts}
        by_name = {name: dict(zip(names, values.tolist(), strict=True)) for name, values in columns.items()}
        return _PerQuery(by_name, self._name)

    def vector(self, measure: object) -> Floats:
        """Return a measure's values, (n_queries,) float64, in the order of `query_ids`."""
        return self.values[self._name(measure)]

    def _name(self, measure: object) -> str:
        if isinstance(measure, str) and measure in self.values:
            return measure
        name = parse_measure(measure, self.options.level).name
        if name not in self.kinds:
            raise InvalidInputError(
                f"measure: expected one of {', '.join(self.kinds)}, got {name}. Evaluate with this measure."
            )
        return name

    @property
    def policy(self) -> str:
        """The conventions of the evaluation in one line: those of trec_eval, and what the options change."""
        options = self.options
        queries = "all that are judged, a missing one counts 0" if options.complete else "judged and in the run"
        parts = ["as trec_eval", f"mean over {counted(len(self.query_ids), 'query', 'queries')}: {queries}"]
        if options.level > 1:
            parts.append(f"relevant = label of at least {options.level}, unless rel= says else")
        if options.remove_query:
            parts.append("the document with the id of the query is struck from the list")
        if options.judged_only:
            parts.append("unjudged documents are struck from the list")
        if options.depth is not None:
            parts.append(f"first {options.depth} documents of a query")
        for averaging, what in ((GEOMETRIC, f"geometric mean, at least {LEAST_FACTOR:.5f} each"), (TOTAL, "sum")):
            names = [name for name, kind in self.kinds.items() if kind.averaging == averaging and name in self.values]
            if names:
                parts.append(f"{what}: {', '.join(names)}")
        for rounding, version in ROUNDED_BY.items():
            symbols = {kind.symbol: None for kind in self.kinds.values() if getattr(kind, "rounding", "") == rounding}
            if symbols:
                parts.append(f"recall as {version} rounds it (rounding='{rounding}'): {', '.join(symbols)}")
        return "; ".join(parts)


def evaluate(
    qrels: JudgementsLike,
    run: RunLike,
    measures: Iterable[Any] = MEASURES,
    *,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    level: int = 1,
    remove_query: bool | None = None,
) -> EvaluationResult:
    """Evaluate a run against judgements, as trec_eval does.

    Parameters
    ----------
    qrels : Qrels, mapping, DataFrame or path
        Judgements: `{query id: {document id: label}}`, a data frame as `Qrels.from_frame` takes it, or their file; for
        measures of diversity (alpha_nDCG@10), `SubtopicQrels`, a data frame as it takes it, or their file.
    run : Run, mapping, DataFrame or path
        Ranking: `{query id: {document id: score}}`, a data frame as `Run.from_frame` takes it, or its run file. A query
        with an empty mapping counts 0.
    measures : iterable of str, Measure or measure of ir_measures
        Names as ir_measures or trec_eval write them, or objects (`nDCG @ 10` of ir_measures). A name may mean several
        measures (`P.5,10`, `all_trec`).
    complete, depth, judged_only, level, remove_query : as for `EvalOptions`
        The options of the evaluation; for `remove_query`, None is True where qrels are the path of a file of BEIR:
        below a folder with corpus.jsonl and queries.jsonl, or `irds:beir/NAME`.

    Returns
    -------
    EvaluationResult
        The values of each query and the figures over the queries.

    Raises
    ------
    InvalidInputError
        For an unknown measure, if the run has no judged query, and for judgements of subtopics where the measures
        need those of documents, or the reverse.

    """
    with_empty = isinstance(run, Mapping)
    run = run_of(run)
    options = EvalOptions(complete, depth, judged_only, level, removes_query(remove_query, qrels))
    parsed = {measure.name: measure for measure in parse_measures(measures, level)}
    if not parsed:
        raise InvalidInputError("measures: expected at least one, got none. Name e.g. nDCG@10.")
    judgements = judgements_of(qrels, parsed.values())
    if isinstance(judgements, SubtopicQrels):
        lists, query_ids = _subtopic_lists(judgements, run, options, with_empty)
    else:
        with_judged = any(measure.needs_judged for measure in parsed.values())
        lists, query_ids = ranked_lists(judgements, run, options, with_judged, with_empty)
    order = np.argsort(query_ids, kind="stable")
    values: dict[str, NDArray[Any]] = {name: measure.scores(lists)[order] for name, measure in parsed.items()}
    texts = {name: values.pop(name) for name, measure in parsed.items() if measure.averaging == TEXT}
    return EvaluationResult(run.name, query_ids[order], values, parsed, options, texts)


def judgements_of(qrels: JudgementsLike, measures: Iterable[Measure]) -> Qrels | SubtopicQrels:
    """Return judgements of the kind that the measures need, read from their file where a path is given."""
    kinds = {measure.asks_subtopics: measure.name for measure in measures}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"measures: expected all or none of subtopics, got {kinds[True]} and {kinds[False]}. Evaluate twice, each "
            "with its qrels."
        )
    return subtopic_qrels_of(qrels) if True in kinds else qrels_of(qrels)


def _subtopic_lists(qrels: SubtopicQrels, run: Run, options: EvalOptions, with_empty: bool) -> tuple[RankedLists, Ids]:
    """Return lists and query ids as `ranked_lists` does, with the judgements of subtopics."""
    documents, numbers = qrels.numbered()
    lists, query_ids = ranked_lists(documents, run, options, False, with_empty)
    judgements, judged_ptr = qrels.rows_of(query_ids)
    position = np.empty(qrels.n_rows, dtype=np.int64)
    position[judgements] = np.arange(len(judgements))
    ranked = np.flatnonzero(lists.labels > 0)  # the labels are numbers of documents
    first = np.searchsorted(numbers, lists.labels[ranked], "left")
    pairs, pair_ptr = joined_rows(first, np.searchsorted(numbers, lists.labels[ranked], "right") - first)
    _, name = np.unique(qrels.subtopics, return_inverse=True)
    subtopics = (query_rows(qrels.query_ptr) * qrels.n_rows + name)[judgements]
    judged = numbers[judgements], subtopics, qrels.labels[judgements]
    rows = np.repeat(ranked, np.diff(pair_ptr))
    return replace(lists, subtopics=SubtopicJudgements(rows, position[pairs], judged_ptr, *judged)), query_ids


def ranked_lists(
    qrels: Qrels, run: Run, options: EvalOptions, with_judged: bool, with_empty: bool = False
) -> tuple[RankedLists, Ids]:
    """Return the labels of the judged queries' documents in trec_eval's order, and the ids of those queries.

    with_judged  whether the lists also say which documents are judged
    with_empty   whether a query of the run without documents is evaluated; no run file holds such a query
    """
    run.check_finite()
    answered = np.array([query_id in qrels for query_id in run], dtype=np.bool_)
    if not with_empty:
        answered &= np.diff(run.query_ptr) > 0
    if not answered.any():
        fault = (
            f"run {run.name}: expected a query that is judged, got none (run has {next(iter(run), 'no query')!r}, "
            f"qrels have {next(iter(qrels), 'no query')!r}). {same_ids(run, qrels)}"
        )
        if not options.complete or not len(qrels):
            raise InvalidInputError(fault)
        log.warning("%s All queries count 0.", fault)
    elif not answered.all():
        warn_apart(f"run {run.name}", run, qrels)
    if len(qrels.labels) and qrels.labels.max() <= 0:
        log.warning("qrels: expected a document with a label above 0, got none. Check the order of the columns.")
    run = run.without_own() if options.remove_query else run
    ordered, known = _ranked_labels(qrels, run, with_judged or options.judged_only)
    evaluated, counts = _evaluated_rows(run.query_ptr, answered, ordered, known, options)
    if evaluated is not None:
        ordered = ordered[evaluated]
        known = None if known is None else known[evaluated]
    query_ids = run.query_ids[answered]
    counts = counts[answered]
    if options.complete:
        present = set(query_ids.tolist())
        missing = [query_id for query_id in qrels if query_id not in present]
        query_ids = np.concatenate([query_ids, np.array(missing, dtype=np.str_)])
        counts = np.concatenate([counts, np.zeros(len(missing), dtype=np.int64)])
    zeros = qrels.count(0, query_ids) if with_judged else None
    return RankedLists(ordered, pointers(counts), *qrels.ideal(query_ids), known, zeros), query_ids


def _ranked_labels(qrels: Qrels, run: Run, with_judged: bool) -> tuple[Floats, NDArray[np.bool_] | None]:
    """Return the label of every row in trec_eval's order, and whether it is judged (None without `with_judged`)."""
    labels, judged = qrels.lookup(run.query_ids, run.query_ptr, run.stored_ids)
    if run.n_rows and not judged.any() and any(query_id in qrels for query_id in run):
        log.warning(
            "run %s: expected documents that are judged, got none (run has %s, qrels have %s). %s",
            run.name,
            *(shown(str(ids[0])) for ids in (run.doc_ids, qrels.doc_ids)),
            same_ids(run.doc_ids.tolist(), qrels.doc_ids.tolist(), "document"),
        )
    order = run.trec_order()
    return labels[order].astype(np.float64), judged[order] if with_judged else None


def _evaluated_rows(
    query_ptr: Ints, answered: NDArray[np.bool_], labels: Floats, judged: NDArray[np.bool_] | None, options: EvalOptions
) -> tuple[NDArray[np.bool_] | None, Ints]:
    """Return which rows are evaluated, (n_rows,) bool or None for all, and their number in each query, (n_queries,)."""
    counts = np.diff(query_ptr)
    if answered.all() and options.depth is None and not options.judged_only:
        return None, counts
    evaluated = np.repeat(answered, counts)
    if options.depth is not None:
        evaluated &= ranks(query_ptr) < options.depth
    if options.judged_only and judged is not None:
        evaluated &= judged & (labels >= 0)
    return evaluated, np.bincount(query_rows(query_ptr)[evaluated], minlength=len(counts))


def reliability(qrels: QrelsLike, run: RunLike, *, target: float = 1) -> Reliability:
    """Compare a run of probabilities with judgements.

    Parameters
    ----------
    qrels : Qrels, mapping, DataFrame or path
        Judgements. A document without one is not relevant; queries without one are left out.
    run : Run, mapping, DataFrame or path
        Documents whose scores are probabilities of relevance, as `rerank(..., cutoff=Cutoff())` returns them.
    target : float
        Smallest label of a relevant document.

    Returns
    -------
    Reliability
        Promised and observed shares of relevant documents, Brier score and expected calibration error.

    Raises
    ------
    InvalidInputError
        If no query is judged, a score is not from 0 to 1, or the target is no number.

    """
    target = read_at("target", Number(), target)
    qrels = qrels_of(qrels)
    run = run_of(run)
    judged = run.select(np.flatnonzero([query_id in qrels for query_id in run]))
    if not judged.n_rows:
        raise InvalidInputError(f"run: expected documents of judged queries, got none. {same_ids(run, qrels)}")
    labels = [qrels[query_id].get(doc_id, 0) for query_id in judged for doc_id in judged[query_id]]
    return Reliability.of(np.array(labels) >= target, judged.scores)


def log_absent(level: int, text: str, absent: Mapping[str, int], n_judged: int) -> None:
    """Log the runs that lack judged queries; runs that lack the same number of queries share a line.

    text    a format of the names of the runs, the number of queries that they lack, and the number of judged queries
    absent  number of judged queries that each run lacks
    """
    for number in dict.fromkeys(filter(None, absent.values())):
        names = ", ".join(name for name, of_run in absent.items() if of_run == number)
        log.log(level, text, names, number, n_judged)
