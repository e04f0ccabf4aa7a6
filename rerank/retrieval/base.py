"""Sources of candidates: the base class, what they are given, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field
from typing import ClassVar

import numpy as np

from rerank.history.judged import IndexHistory
from rerank.runtime.registry import Registry
from rerank.types import CONTENTS, Floats, ForwardIndex, Ids, Ints, Run, id_array, pointers
from rerank.types.retriever import K1, B
from rerank.vectors.query_vectors import Encoded
from rerank.vectors.vectors import Vectors

_REGISTRY: Registry[Source] = Registry("source of candidates", "rerank.retrieval.sources", of_instances=True)
known_sources = _REGISTRY.known
source = _REGISTRY.get
register = _REGISTRY.register


@dataclass(frozen=True, eq=False)
class Hits:
    """Documents that a source found, by number.

    Parameters
    ----------
    query_ptr : ndarray of shape (n_queries + 1,), int64
        Rows of query q: [query_ptr[q], query_ptr[q + 1]), in trec_eval's order.
    docs : ndarray of shape (n_rows,), int64
        Document numbers, as in the forward arrays.
    scores : ndarray of shape (n_rows,), float64
        Scores.
    name : str
        Name of the run, see `Run.retriever`.

    """

    query_ptr: Ints
    docs: Ints
    scores: Floats
    name: str

    @classmethod
    def joined(cls, parts: Iterable[tuple[Ints, Floats]], name: str) -> Hits:
        """Return the document numbers and scores of each query, see `best_hits`, as one object."""
        parts = list(parts)
        docs = np.concatenate([np.empty(0, np.int64), *(docs for docs, _ in parts)])
        scores = np.concatenate([np.empty(0), *(scores for _, scores in parts)])
        return cls(pointers([len(docs) for docs, _ in parts]), docs, scores, name)

    def run(self, query_ids: Ids, doc_ids: Ids) -> Run:
        """Return the run of the queries of these ids; doc_ids (n_docs,) are those of all documents."""
        return Run(query_ids, self.query_ptr, doc_ids[self.docs], self.scores, self.name)


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
    history : IndexHistory, optional
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
    k1: float = K1
    b: float = B
    field: str = CONTENTS
    vectors: Vectors | None = None
    history: IndexHistory | None = None
    encoded: Encoded | None = None
    runs: Mapping[str, Run] = dataclass_field(default_factory=dict)
    threads: int | None = None


class Source(ABC):
    """A retriever."""

    learned: ClassVar[bool] = False  # from judgements: a study retrieves in each fold from its training queries
    reads: ClassVar[tuple[str, ...]] = ()  # resources of the index: "vectors", "history", "encoder"

    @abstractmethod
    def hits(self, inputs: SearchInputs, k: int) -> Hits:
        """Return the k best documents of each query; raise InvalidInputError where an input is missing."""

    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the run of `hits`."""
        return self.hits(inputs, k).run(id_array(list(inputs.query_ids)), inputs.forward.doc_ids)


def best_hits(docs: Ints, scores: Floats, k: int, places: Ints | None = None) -> tuple[Ints, Floats]:
    """Return the k documents of the greatest scores, ties by document id, descending, as trec_eval orders them.

    docs, scores  (n,) document numbers and scores
    places        (n_docs,) of the documents by id; None where their numbers ascend with the ids
    """
    if len(docs) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        near = np.flatnonzero(scores >= least)
        docs = docs[near]
        scores = scores[near]
    order = np.lexsort((docs if places is None else places[docs], scores))[::-1][:k]
    return docs[order], scores[order]
