"""The union of the documents of several sources.

The documents of the first source come first, in its order and with its scores. Documents that only others hold follow
in the order of the sum over these sources of 1 / (60 + rank) (reciprocal rank fusion), ties by document id,
descending; their scores go on below the lowest of the first source in steps of 2^-19 of the greatest score of the
query.

References
----------
Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion).

"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.metrics.ranked_lists import ranks
from rerank.retrieval.base import SearchInputs, source
from rerank.retrieval.candidates import Candidates, Part
from rerank.retrieval.fusion import RRF_K, reciprocal_ranks
from rerank.retrieval.pool import QueryRows, pooled
from rerank.types import ForwardIndex, Ids, Ints, Run, id_array, pointers, sort_keys
from rerank.types.ids import id_texts
from rerank.types.order import scores_and_ranks

_STEP = 2.0**-19  # between scores of documents that only others hold, by the greatest score of the query


@dataclass(frozen=True, eq=False, repr=False)
class UnionRun(Run):
    """A run that is the union of others; features and models are given the others with it.

    Parameters
    ----------
    sources : mapping from str to Run
        The runs by name. `Index.features` takes them as other runs: score, rank and membership in each are features,
        missing where the run does not hold the document.
    best_ranks : ndarray of shape (n_rows,), int64
        The best rank of each document in any of the runs, from 1, as they were found.

    """

    sources: Mapping[str, Run] = dataclass_field(default_factory=dict)
    best_ranks: Ints = dataclass_field(default_factory=lambda: np.empty(0, np.int64))

    def places(self) -> Ints:
        """Return the best rank of each document in any of the runs, which may be that of several of a query."""
        return self.best_ranks

    def take(self, order: Ints) -> Self:
        """Return the run with its rows in another order, see `Run.take`."""
        return replace(super().take(order), best_ranks=self.best_ranks[order])

    def without_sources(self) -> Run:
        """Return the documents and their scores alone.

        Returns
        -------
        Run
            The run; its sources give no features.

        """
        return Run(self.query_ids, self.query_ptr, self.doc_ids, self.scores, self.name)

    def without_own(self) -> Self:
        """Return the run and its sources without the document that has the id of its query, see `Run.without_own`."""
        sources = {name: run.without_own() for name, run in self.sources.items()}
        return replace(super().without_own(), sources=sources)

    @classmethod
    def joined(cls, runs: Sequence[Self]) -> Self:
        """Return the queries of several unions of the same sources as one, see `Run.joined`."""
        sources = {name: Run.joined([run.sources[name] for run in runs]) for name in runs[0].sources}
        return replace(
            super().joined(runs), sources=sources, best_ranks=np.concatenate([run.best_ranks for run in runs])
        )

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        names = self.query_ids[queries].tolist()
        sources = {name: run.select(run.query_numbers(names)) for name, run in self.sources.items()}
        return {**super()._selected(queries, rows), "sources": sources, "best_ranks": self.best_ranks[rows]}


def search_union(inputs: SearchInputs, candidates: Candidates) -> UnionRun:
    """Return the union of the documents of each source."""
    runs = {part.name: _search(inputs, part) for part in candidates.sources}
    query_ids = id_array(list(inputs.query_ids))
    united = _united([run.select(run.query_numbers(query_ids.tolist())) for run in runs.values()], query_ids)
    return replace(united, name=candidates.tag, sources=runs)


def _search(inputs: SearchInputs, part: Part) -> Run:
    if part.file is None:
        return source(part.name).search(inputs, part.k or 0)
    if part.name not in inputs.runs:
        raise InvalidInputError(
            f"candidates: expected the run {part.name}, got none. Name its file (run:FILE), or bind it to the index "
            f"(index.using(runs={{{part.name!r}: run}}))."
        )
    return run_of_part(inputs.runs[part.name], part, inputs.forward)


def run_of_part(run: Run, part: Part, forward: ForwardIndex) -> Run:
    """Return the documents of another system's run that a union takes; refuse those that the index does not hold."""
    run.check_finite()
    run = run.take(run.trec_order())
    run = run if part.k is None else run.head(part.k)
    unknown = np.flatnonzero(forward.doc_numbers(run.doc_ids) < 0)
    if len(unknown):
        raise InvalidInputError(
            f"candidates: expected documents of the index in the run {part.name}, got "
            f"{shown(str(run.doc_ids[unknown[0]]))}. Use a run of this index."
        )
    return run


def _united(runs: Sequence[Run], query_ids: Ids) -> UnionRun:
    """Return the documents of the first run, and behind them others in the order of their reciprocal rank fusion."""
    by_rank = [replace(run, scores=scores_and_ranks(run.query_ptr, run.scores)[:, 1]) for run in runs[1:]]
    pool = pooled([QueryRows.of(run, query_ids) for run in (runs[0], *by_rank)], 0, len(query_ids), lowest=True)
    is_added = pool.ranks[0] == 0  # whose score is the lowest of the first run, or 0
    fused = reciprocal_ranks(np.where((pool.ranks[1:] > 0) & is_added, pool.scores[1:], 0.0), RRF_K)
    place = np.where(is_added, len(is_added), pool.ranks[0])
    order = np.lexsort((*(~key for key in sort_keys(pool.doc_ids)), -fused, place, pool.query))
    query = pool.query[order]
    is_added = is_added[order]
    query_ptr = pointers(np.bincount(query, minlength=len(query_ids)))
    greatest = np.ones(len(query_ids))
    np.maximum.at(greatest, pool.query, np.abs(pool.scores[0]))
    begins = np.append(True, (np.diff(fused[order]) != 0.0) | ~is_added[:-1] | (np.diff(query) != 0))[: len(query)]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(query)), 0))  # of equal ones
    number = ranks(query_ptr)[first] + 1 - np.bincount(query, ~is_added, len(query_ids))[query]
    scores = pool.scores[0, order] - greatest[query] * _STEP * np.where(is_added, number, 0.0)
    best_ranks = np.where(pool.ranks > 0, pool.ranks, pool.ranks.max(initial=1)).min(axis=0)[order]
    return UnionRun(query_ids, query_ptr, id_texts(pool.doc_ids[order]), scores, best_ranks=best_ranks)
