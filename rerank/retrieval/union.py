"""The union of candidates of several sources.

The documents of the first source come first, in its order and with its scores. Documents that only others hold follow
in the order of the sum over these sources of 1 / (60 + rank) (reciprocal rank fusion), ties by document id, descending;
their scores go on below the lowest of the first source in steps of 2^-20 of the greatest score of the query.

References
----------
Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion).

"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.features.extract import check_scores
from rerank.retrieval.base import Candidates, Part, SearchInputs, source
from rerank.types import Ints, Run, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.ids import id_array

_CONSTANT = 60  # of reciprocal rank fusion
_STEP = 2.0**-20


@dataclass(frozen=True, eq=False, repr=False)
class UnionRun(Run):
    """A run that is the union of others; features and models are given the others with it.

    Parameters
    ----------
    sources : mapping from str to Run
        The runs by name. `Index.features` takes them as other runs: score, rank and membership in each are features,
        missing where the run does not hold the document.

    """

    sources: Mapping[str, Run] = field(default_factory=dict)

    def without_sources(self) -> Run:
        """Return the documents and their scores alone.

        Returns
        -------
        Run
            The run; its sources give no features.

        """
        return Run(self.query_ids, self.query_ptr, self.doc_ids, self.scores, self.name)

    @classmethod
    def joined(cls, runs: Sequence[Self]) -> Self:
        """Return the queries of several unions of the same sources as one, see `Run.joined`."""
        sources = {name: Run.joined([run.sources[name] for run in runs]) for name in runs[0].sources}
        return replace(super().joined(runs), sources=sources)

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        names = self.query_ids[queries].tolist()
        sources = {name: run.select(run.query_numbers(names)) for name, run in self.sources.items()}
        return {**super()._selected(queries, rows), "sources": sources}


def search_union(inputs: SearchInputs, candidates: Candidates) -> UnionRun:
    """Return the union of the documents of each source."""
    runs = {part.name: _search(inputs, part) for part in candidates.sources}
    lists = [dict(run.items()) for run in runs.values()]
    merged = [_merged([of_run.get(query_id, {}) for of_run in lists]) for query_id in inputs.query_ids]
    return UnionRun(
        query_ids=id_array(list(inputs.query_ids)),
        query_ptr=pointers([len(docs) for docs, _ in merged]),
        doc_ids=id_array([doc for docs, _ in merged for doc in docs]),
        scores=np.array([score for _, scores in merged for score in scores], dtype=np.float64),
        name=candidates.tag,
        sources=runs,
    )


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
    check_scores(run)
    run = run.take(run.trec_order())
    run = run if part.k is None else run.head(part.k)
    unknown = np.flatnonzero(forward.doc_numbers(run.doc_ids) < 0)
    if len(unknown):
        raise InvalidInputError(
            f"candidates: expected documents of the index in the run {part.name}, got "
            f"{shown(str(run.doc_ids[unknown[0]]))}. Use a run of this index."
        )
    return run


def _merged(lists: Sequence[Mapping[str, float]]) -> tuple[list[str], list[float]]:
    """Return the documents and scores of one query: those of the first list, then others by reciprocal rank fusion."""
    first, *others = lists
    fused = dict[str, float]()
    for docs in others:
        for rank, doc in enumerate(docs, start=1):
            if doc not in first:
                fused[doc] = fused.get(doc, 0.0) + 1.0 / (_CONSTANT + rank)
    added = sorted(fused, key=lambda doc: (fused[doc], doc), reverse=True)
    scores = list(first.values())
    lowest = min(scores, default=0.0)
    step = max([1.0, *map(abs, scores)]) * _STEP
    return [*first, *added], scores + [lowest - step * number for number in range(1, len(added) + 1)]
