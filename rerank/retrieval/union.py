"""The union of the documents of several sources.

The documents of the first source come first, in its order and with its scores. Documents that only others hold follow
in the order of the sum over these sources of 1 / (60 + rank) (reciprocal rank fusion), ties by document id,
descending. Their scores go on below the lowest score of the first source, in steps of 2^-19 of the query's greatest
score.

References
----------
Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion).

"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.metrics.ranked_lists import ranks
from rerank.retrieval.base import Hits, SearchInputs, source
from rerank.retrieval.candidates import Candidates, Part
from rerank.retrieval.fusion import RRF_K, rrf_scores
from rerank.runtime.kernels import kernel
from rerank.types import Floats, ForwardIndex, Ids, Ints, Run, id_array, pointers, query_rows
from rerank.types.tie_order import scores_and_ranks

_STEP = 2.0**-19  # between scores of documents that only other sources hold, as a share of the query's greatest score


@dataclass(frozen=True, eq=False, repr=False)
class UnionRun(Run):
    """A run that is the union of other runs, which it holds for features and models.

    Parameters
    ----------
    sources : mapping from str to Run
        The runs by name. `Index.features` takes them as other runs: score, rank and membership in each are features,
        missing where the run does not hold the document.
    best_ranks : ndarray of shape (n_rows,), int64
        The best rank, from 1, of each document in any of the runs as they were retrieved.

    """

    sources: Mapping[str, Run] = dataclass_field(default_factory=dict)
    best_ranks: Ints = dataclass_field(default_factory=lambda: np.empty(0, np.int64))

    def places(self) -> Ints:
        """Return the best rank of each document in any of the runs; several documents of a query may have the same."""
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
        return replace(super().without_own(), sources={name: run.without_own() for name, run in self.sources.items()})

    def each_once(self) -> Self:
        """Return the run and its sources with the first row of each document of a query, see `Run.each_once`."""
        once = super().each_once()
        if once is self:  # no source has a document twice
            return self
        return replace(once, sources={name: run.each_once() for name, run in self.sources.items()})

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
    query_ids = id_array(list(inputs.query_ids))
    doc_ids = inputs.forward.doc_ids
    hits = []
    runs = {}
    for part in candidates.sources:
        if part.file is None:
            hits.append(source(part.name).hits(inputs, part.k or 0))
            runs[part.name] = hits[-1].run(query_ids, doc_ids)
        else:
            if part.name not in inputs.runs:
                raise InvalidInputError(
                    f"candidates: expected the run {part.name}, got none. Name its file (run:FILE), or bind it to the "
                    f"index (index.using(runs={{{part.name!r}: run}}))."
                )
            runs[part.name] = run_of_part(inputs.runs[part.name], part, inputs.forward)
            hits.append(_hits_of_run(runs[part.name], query_ids, inputs.forward))
    return replace(_united(hits, query_ids, doc_ids), name=candidates.tag, sources=runs)


def run_of_part(run: Run, part: Part, forward: ForwardIndex) -> Run:
    """Return the documents of another system's run that a union takes; refuse documents that are not in the index."""
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


def _hits_of_run(run: Run, query_ids: Ids, forward: ForwardIndex) -> Hits:
    """Return a run's documents of some queries, none for a query that the run lacks."""
    own = run.select(run.query_numbers(query_ids.tolist()))
    counts = np.zeros(len(query_ids), np.int64)
    counts[np.isin(query_ids, own.query_ids)] = np.diff(own.query_ptr)
    return Hits(pointers(counts), forward.doc_numbers(own.doc_ids), own.scores, own.name)


def _united(hits: Sequence[Hits], query_ids: Ids, doc_ids: Ids) -> UnionRun:
    """Return the documents of the first source, and behind them others in the order of their fused ranks."""
    docs, rows, query_ptr = _pooled(hits, len(doc_ids))
    query = query_rows(query_ptr)
    is_added = rows[0] < 0
    places = _of_rows([ranks(found.query_ptr) + 1 for found in hits], rows)
    tied = _of_rows([scores_and_ranks(found.query_ptr, found.scores)[:, 1] for found in hits[1:]], rows[1:])
    fused = np.where(is_added, rrf_scores(tied, RRF_K), 0.0)
    order = np.lexsort((-docs, -fused, places[0], is_added, query))
    is_added = is_added[order]
    begins = np.append(True, (np.diff(fused[order]) != 0.0) | ~is_added[:-1] | (np.diff(query) != 0))[: len(query)]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(query)), 0))  # of equal ones
    number = ranks(query_ptr)[first] + 1 - np.diff(hits[0].query_ptr)[query]
    own = np.append(hits[0].scores, 0.0)[rows[0, order]]
    least, greatest = _extremes(hits[0])
    scores = np.where(is_added, least[query] - greatest[query] * _STEP * number, own)
    best_ranks = np.where(places > 0, places, places.max(initial=1)).min(axis=0)[order]
    return UnionRun(query_ids, query_ptr, doc_ids[docs[order]], scores, best_ranks=best_ranks)


def _of_rows(values: Sequence[NDArray[Any]], rows: Ints) -> NDArray[Any]:
    """Return the values of the rows of each source, (n_sources, n_documents); 0 where a source lacks the document."""
    found = [np.append(own, own.dtype.type(0))[of] for own, of in zip(values, rows, strict=True)]
    return np.array(found).reshape(rows.shape)


def _extremes(hits: Hits) -> tuple[Floats, Floats]:
    """Return the lowest score of each query, 0 without documents, and its greatest absolute score, at least 1."""
    filled = np.flatnonzero(np.diff(hits.query_ptr))
    lowest, greatest = np.zeros(len(hits.query_ptr) - 1), np.ones(len(hits.query_ptr) - 1)
    if len(filled):
        starts = hits.query_ptr[filled]
        lowest[filled] = np.minimum.reduceat(hits.scores, starts)
        greatest[filled] = np.maximum(np.maximum.reduceat(np.abs(hits.scores), starts), 1.0)
    return lowest, greatest


def _pooled(hits: Sequence[Hits], n_docs: int) -> tuple[Ints, Ints, Ints]:
    """Return the documents that any source has found, query by query.

    Returns document numbers, the row of each in each source, (n_sources, n_documents), -1 for none, and query_ptr.
    """
    query_ptrs = np.array([found.query_ptr for found in hits])
    query_ptrs += pointers(query_ptrs[:, -1])[:-1, None]
    found = np.concatenate([found.docs for found in hits])
    docs = np.empty(len(found), np.int64)
    rows = np.full((len(hits), len(found)), -1)
    query_ptr = np.zeros(query_ptrs.shape[1], np.int64)
    _pool(query_ptrs, found, np.zeros(n_docs, np.int64), docs, rows, query_ptr)
    return docs[: query_ptr[-1]], rows[:, : query_ptr[-1]], query_ptr


@kernel()
def _pool(query_ptrs, found, slots, docs, rows, query_ptr):
    """Fill `docs`, `rows` and `query_ptr`, see `_pooled`.

    query_ptrs  (n_sources, n_queries + 1) rows of each query in `found`, the documents of all sources
    slots       (n_docs,) work space, 0 before: by document number, 1 + the last place of the document in `docs`
    """
    n_docs = 0
    for query in range(len(query_ptr) - 1):
        for number in range(len(query_ptrs)):
            for row in range(query_ptrs[number, query], query_ptrs[number, query + 1]):
                doc = found[row]
                if slots[doc] <= query_ptr[query]:
                    docs[n_docs] = doc
                    n_docs += 1
                    slots[doc] = n_docs
                rows[number, slots[doc] - 1] = row - query_ptrs[number, 0]
        query_ptr[query + 1] = n_docs
