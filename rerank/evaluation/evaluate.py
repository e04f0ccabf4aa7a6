"""Runs against judgements, as trec_eval measures them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError
from rerank.metrics.base import GEOMETRIC, LEAST, TEXT, TOTAL, Measure
from rerank.metrics.lists import ranks
from rerank.metrics.registry import parse_measure, parse_measures
from rerank.metrics.structures import RankedLists
from rerank.types import Floats, Ints, Qrels, Run, pointers, query_rows
from rerank.types.ids import Ids
from rerank.types.ordering import trec_moves

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")


@dataclass(frozen=True)
class Rules:
    """What is measured, beside the measures.

    complete     mean over all judged queries: one that the run lacks counts as an empty list (`trec_eval -c`);
                 otherwise over the queries that both hold, as trec_eval's default
    depth        documents of a query that count, from the top; None: all (`trec_eval -M`)
    judged_only  unjudged documents are struck from the list, and what stands below moves up (`trec_eval -J`); so are
                 those with a negative label
    level        least label that is relevant, where a measure does not name its own (`trec_eval -l`)
    """

    complete: bool = False
    depth: int | None = None
    judged_only: bool = False
    level: int = 1

    def __post_init__(self) -> None:
        for name, value in (("depth", self.depth), ("level", self.level)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise InvalidInputError(f"{name}: expected a whole number of at least 1, got {value!r}.")


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Figures of one run.

    query_ids  (n_queries,) the queries that count, by id
    values     by measure's name: (n_queries,) float64, in the order of query_ids
    kinds      the measures by name
    texts      by name, (n_queries,) text, for what is no figure (trec_eval's relstring)
    """

    run_name: str
    query_ids: Ids
    values: Mapping[str, Floats]
    kinds: Mapping[str, Measure]
    rules: Rules = Rules()
    texts: Mapping[str, Ids] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> float:
        """Return a measure's figure over the queries: their mean, or as the measure has it (`Measure.averaging`)."""
        name = self._name(measure)
        return self.kinds[name].average(self.values[name])

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, as asked for."""
        return tuple(self.values)

    @property
    def per_query(self) -> dict[str, dict[str, Any]]:
        """`per_query[measure][query id]` is one figure, or text where that is what the measure gives."""
        names, found = self.query_ids.tolist(), {**self.values, **self.texts}
        return {name: dict(zip(names, values.tolist(), strict=True)) for name, values in found.items()}

    def vector(self, measure: str) -> Floats:
        """Return a measure's values, (n_queries,) float64, in the order of `query_ids`."""
        return self.values[self._name(measure)]

    def _name(self, measure: str) -> str:
        name = measure if measure in self.values else parse_measure(measure).name
        if name not in self.values:
            raise InvalidInputError(
                f"measure {name}: expected one of {', '.join(self.values)}. Evaluate with it to have it."
            )
        return name

    @property
    def policies(self) -> dict[str, str]:
        """What these figures rest on, by subject."""
        rules, n_queries = self.rules, len(self.query_ids)
        queries = "all that are judged, a missing one counts 0" if rules.complete else "judged and in the run"
        unjudged = "struck from the list" if rules.judged_only else "not relevant"
        found = {
            "order": "by score, then document id, descending",
            "relevant": f"label of at least {rules.level}, unless rel= says else",
            "unjudged": unjudged + ", so is a negative label",
            "gain": "nDCG gain = label (2^label - 1 where exp-log2), unless gains= says else",
            "no relevant document": "0",
            "queries": f"mean over {n_queries} queries: {queries}",
        }
        if rules.depth is not None:
            found["depth"] = f"first {rules.depth} documents of a query"
        for averaging, what in ((GEOMETRIC, f"geometric mean, at least {LEAST:.5f} each"), (TOTAL, "sum")):
            names = [name for name, kind in self.kinds.items() if kind.averaging == averaging and name in self.values]
            if names:
                found[what] = ", ".join(names)
        return found

    @property
    def policy(self) -> str:
        """One line that says what these figures rest on."""
        parts = [_clause(subject, policy) for subject, policy in self.policies.items()]
        return "as trec_eval: " + "; ".join(parts)


def evaluate(
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    run: Run | Mapping[str, Mapping[str, float]],
    measures: Iterable[str | Measure] = MEASURES,
    *,
    complete: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
    level: int = 1,
) -> EvaluationResult:
    """Measure a run.

    measures  names as ir_measures or trec_eval write them; one may stand for several (`P.5,10`, `all_trec`)
    complete, depth, judged_only, level  see `Rules`
    Raises InvalidInputError for an unknown measure, and where run and judgements share no query.
    """
    qrels, run, rules = Qrels.of(qrels), Run.of(run), Rules(complete, depth, judged_only, level)
    parsed = {measure.name: measure for measure in parse_measures(measures, level)}
    if not parsed:
        raise InvalidInputError("measures: expected at least one, got none. Name e.g. nDCG@10.")
    lists, query_ids = ranked_lists(qrels, run, rules, any(measure.needs_judged for measure in parsed.values()))
    order = np.argsort(query_ids, kind="stable")
    found: dict[str, NDArray[Any]] = {name: measure.scores(lists)[order] for name, measure in parsed.items()}
    texts = {name: found.pop(name) for name, measure in parsed.items() if measure.averaging == TEXT}
    return EvaluationResult(run.name, query_ids[order], found, parsed, rules, texts)


def ranked_lists(qrels: Qrels, run: Run, rules: Rules, with_judged: bool) -> tuple[RankedLists, Ids]:
    """Return the labels of the judged queries' documents in trec_eval's order, and those queries' ids.

    with_judged  tell which documents are judged, too
    """
    _check_scores(run)
    ordered, known = _ranked_labels(qrels, run, with_judged or rules.judged_only)
    # A query without a row is not in the run: no file could hold it.
    answered = np.array([query_id in qrels for query_id in run], dtype=np.bool_) & (np.diff(run.query_ptr) > 0)
    if not answered.any():
        raise InvalidInputError(
            f"run {run.name}: expected a query that is judged, got none (run has {next(iter(run), 'no query')!r}, "
            f"qrels have {next(iter(qrels), 'no query')!r}). Check that both name queries alike."
        )
    kept, counts = _kept(run.query_ptr, answered, ordered, known, rules)
    if kept is not None:
        ordered, known = ordered[kept], None if known is None else known[kept]
    query_ids, counts = run.query_ids[answered], counts[answered]
    if rules.complete:
        found = set(query_ids.tolist())
        missing = [query_id for query_id in qrels if query_id not in found]
        query_ids = np.concatenate([query_ids, np.array(missing, dtype=np.str_)])
        counts = np.concatenate([counts, np.zeros(len(missing), dtype=np.int64)])
    zeros = qrels.count(0, query_ids) if with_judged else None
    return RankedLists(ordered, pointers(counts), *qrels.ideal(query_ids), known, zeros), query_ids


def _ranked_labels(qrels: Qrels, run: Run, with_judged: bool) -> tuple[Floats, NDArray[np.bool_] | None]:
    """Return the label of every row in trec_eval's order, and whether it is judged (None where nobody asks)."""
    labels, judged = np.zeros(run.n_rows), np.zeros(run.n_rows if with_judged else 0, dtype=np.bool_)
    rows, mine = qrels.matches(run.query_ids, run.query_ptr, run.stored_ids)
    labels[rows] = qrels.labels[mine]
    if with_judged:
        judged[rows] = True
    places, moved = trec_moves(run.query_ptr, run.scores, run.stored_ids)
    for column in (labels, judged) if with_judged else (labels,):
        column[places] = column[moved]
    return labels, judged if with_judged else None


def _kept(
    query_ptr: Ints, answered: NDArray[np.bool_], labels: Floats, judged: NDArray[np.bool_] | None, rules: Rules
) -> tuple[NDArray[np.bool_] | None, Ints]:
    """Return which rows count (None: all) and how many those are of each query."""
    counts = np.diff(query_ptr)
    if answered.all() and rules.depth is None and not rules.judged_only:
        return None, counts
    kept = np.repeat(answered, counts)
    if rules.depth is not None:
        kept &= ranks(query_ptr) < rules.depth
    if rules.judged_only and judged is not None:
        kept &= judged & (labels >= 0)
    return kept, np.bincount(query_rows(query_ptr)[kept], minlength=len(counts))


def _check_scores(run: Run) -> None:
    bad = np.flatnonzero(~np.isfinite(run.scores))
    if len(bad):
        raise InvalidInputError(
            f"run {run.name}: expected finite scores, got {run.scores[bad[0]]} for document {run.doc_ids[bad[0]]}. "
            "Score it or leave it out."
        )


def _clause(subject: str, policy: str) -> str:
    plain = subject in ("gain", "queries", "depth")
    return policy if plain else f"{subject} {policy}" if subject == "order" else f"{subject} = {policy}"
