"""Sources of candidates: the base class, what they are given, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rerank.runtime.registry import Registry
from rerank.types import Floats, Ints, Run, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.ids import Ids, id_array
from rerank.types.retriever import CONTENTS

if TYPE_CHECKING:
    from rerank.history.history import History
    from rerank.vectors.queries import Encoded
    from rerank.vectors.vectors import Vectors

Hits = tuple[Ints, Floats]  # document numbers and scores of one query, best first


@dataclass(frozen=True, eq=False)
class SearchInputs:
    """What sources are given.

    Parameters
    ----------
    forward : ForwardIndex
        Forward arrays of the index.
    query_ids : sequence of str
        Ids of the queries.
    query_terms : sequence of sequence of str
        Tokens of each query as the index's analyser makes them, repetitions included.
    bm25 : callable
        Returns the run of the k best documents by BM25.
    k1, b : float
        Parameters of BM25.
    field : str
        The field that is searched.
    vectors : Vectors, optional
        Vectors of the index.
    history : History, optional
        What was learned from judgements.
    encoded : Encoded, optional
        Vectors of an encoder for the queries and the documents.
    runs : mapping from str to Run
        Runs of other systems by name.
    threads : int, optional
        Number of threads; by default one per core.

    """

    forward: ForwardIndex
    query_ids: Sequence[str]
    query_terms: Sequence[Sequence[str]]
    bm25: Callable[[int], Run]
    k1: float = 0.9
    b: float = 0.4
    field: str = CONTENTS
    vectors: Vectors | None = None
    history: History | None = None
    encoded: Encoded | None = None
    runs: Mapping[str, Run] = dataclass_field(default_factory=dict)
    threads: int | None = None

    @cached_property
    def _bm25_runs(self) -> dict[int, Run]:
        return {}

    def bm25_run(self, k: int) -> Run:
        """Return the k best documents by BM25; a deeper run that was made before is cut."""
        deeper = min((depth for depth in self._bm25_runs if depth >= k), default=None)
        if deeper is None:
            self._bm25_runs[k] = self.bm25(k)
            deeper = k
        return self._bm25_runs[deeper].head(k)


class Source(ABC):
    """A retriever."""

    learned: ClassVar[bool] = False  # from judgements: a study retrieves in each fold from its training queries
    reads: ClassVar[tuple[str, ...]] = ()  # resources of the index: "vectors", "history", "encoder"

    @abstractmethod
    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query; raise InvalidInputError where an input is missing."""


_REGISTRY: Registry[Source] = Registry("source of candidates", "rerank.retrieval.sources")
known_sources = _REGISTRY.known
source = _REGISTRY.get
register = _REGISTRY.register_instance


def run_of(inputs: SearchInputs, hits: Iterator[Hits], name: str) -> Run:
    """Return the run of the hits of each query."""
    parts = list(hits)
    docs = np.concatenate([docs for docs, _ in parts]) if parts else np.empty(0, np.int64)
    scores = np.concatenate([scores for _, scores in parts]) if parts else np.empty(0)
    return Run(
        id_array(list(inputs.query_ids)),
        pointers([len(docs) for docs, _ in parts]),
        inputs.forward.doc_ids[docs],
        scores,
        name,
    )


def best_hits(docs: Ints, scores: Floats, doc_ids: Ids, k: int) -> Hits:
    """Return the k documents of the greatest scores, ties by document id, descending, as trec_eval orders them.

    docs, scores  (n,) document numbers and scores
    doc_ids       (n_docs,) ids of all documents
    """
    if len(docs) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        docs, scores = docs[kept], scores[kept]
    order = np.lexsort((doc_ids[docs], scores))[::-1][:k]
    return docs[order], scores[order]
