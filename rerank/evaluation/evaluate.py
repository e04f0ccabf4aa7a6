"""Runs against judgements, as trec_eval measures them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from rerank.errors import InvalidInputError
from rerank.ids import Ids
from rerank.metrics.base import Measure, RankedLists
from rerank.metrics.registry import parse_measure
from rerank.types import Floats, Qrels, Run, pointers

MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@1000")


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """Figures of one run.

    query_ids  (n_queries,) the queries that count, by id
    values     by measure's name: (n_queries,) float64, in the order of query_ids
    complete   whether judged queries that the run lacks count, with 0
    """

    run_name: str
    query_ids: Ids
    values: Mapping[str, Floats]
    complete: bool

    def __getitem__(self, measure: str) -> float:
        """Return a measure's mean over the queries."""
        return float(self.vector(measure).mean())

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, as asked for."""
        return tuple(self.values)

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """`per_query[measure][query id]` is one figure."""
        names = self.query_ids.tolist()
        return {name: dict(zip(names, values.tolist(), strict=True)) for name, values in self.values.items()}

    def vector(self, measure: str) -> Floats:
        """Return a measure's values, (n_queries,) float64, in the order of `query_ids`."""
        name = measure if measure in self.values else parse_measure(measure).name
        if name not in self.values:
            raise InvalidInputError(
                f"measure {name}: expected one of {', '.join(self.values)}; evaluate with it to have it."
            )
        return self.values[name]

    @property
    def policy(self) -> str:
        """One line that says what these figures rest on."""
        which = "all that are judged, a missing one counts 0" if self.complete else "judged and in the run"
        return (
            "as trec_eval: order by score, then document id, descending; unjudged = not relevant; nDCG gain = label "
            f"(2^label - 1 where exp-log2); no relevant document = 0; mean over {len(self.query_ids)} queries: {which}"
        )


def evaluate(
    qrels: Qrels | Mapping[str, Mapping[str, int]],
    run: Run | Mapping[str, Mapping[str, float]],
    measures: Iterable[str | Measure] = MEASURES,
    *,
    complete: bool = False,
) -> EvaluationResult:
    """Measure a run.

    measures  names as ir_measures or trec_eval write them
    complete  mean over all judged queries, 0 for one that the run lacks (`trec_eval -c`); otherwise over the
              queries that both hold, as trec_eval's default
    Raises InvalidInputError for an unknown measure, and where run and judgements share no query.
    """
    qrels, run = Qrels.of(qrels), Run.of(run)
    parsed = [parse_measure(measure) for measure in measures]
    if not parsed:
        raise InvalidInputError("measures: expected at least one, found none; name e.g. nDCG@10.")
    lists, query_ids = ranked_lists(qrels, run)
    if not len(query_ids):
        raise InvalidInputError(
            f"run {run.name}: expected a query that is judged, found none (run has {next(iter(run), 'no query')!r}, "
            f"qrels have {next(iter(qrels), 'no query')!r}); check that both name queries alike."
        )
    values = {measure.name: measure.scores(lists) for measure in parsed}
    if complete:
        answered = set(query_ids.tolist())
        missing = np.array([query_id for query_id in qrels if query_id not in answered], dtype=np.str_)
        query_ids = np.concatenate([query_ids, missing])
        values = {name: np.concatenate([found, np.zeros(len(missing))]) for name, found in values.items()}
    order = np.argsort(query_ids, kind="stable")
    return EvaluationResult(
        run.name, query_ids[order], {name: found[order] for name, found in values.items()}, complete
    )


def ranked_lists(qrels: Qrels, run: Run) -> tuple[RankedLists, Ids]:
    """Return the labels of the judged queries' documents in trec_eval's order, and those queries' ids."""
    bad = np.flatnonzero(~np.isfinite(run.scores))
    if len(bad):
        raise InvalidInputError(
            f"run {run.name}: expected finite scores, found {run.scores[bad[0]]} for document {run.doc_ids[bad[0]]}; "
            "score it or leave it out."
        )
    labels, _ = qrels.lookup(run.query_ids, run.query_ptr, run.stored_ids)
    ordered = labels[run.trec_order()].astype(np.float64)
    counts = np.diff(run.query_ptr)
    # A query without a row is not in the run: no file could hold it.
    judged = np.array([query_id in qrels for query_id in run], dtype=np.bool_) & (counts > 0)
    kept = ordered if judged.all() else ordered[np.repeat(judged, counts)]
    query_ids = run.query_ids[judged]
    ideal_labels, ideal_ptr = qrels.ideal(query_ids)
    return RankedLists(kept, pointers(counts[judged]), ideal_labels, ideal_ptr), query_ids
