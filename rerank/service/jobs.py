"""Requests and answers as plain records, so that requests can be computed together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

_LONG_QUERY = 256  # characters
NORMAL_CANDIDATES = 100  # that a model reorders where a request does not say


@dataclass(eq=False)
class Job:
    """A request whose body has been checked.

    Parameters
    ----------
    model : str
        The name of a ranking.
    request_id : str
        The request's id, for logs.
    deadline : float
        Value of `time.monotonic()` after which nobody waits for the answer.

    """

    model: str
    request_id: str = ""
    deadline: float = float("inf")
    dropped: bool = field(default=False, init=False)  # nobody waits any more
    answer: Any = field(default=None, init=False)
    fault: Exception | None = field(default=None, init=False)

    @property
    def rows(self) -> int:
        """The job's size: query-document pairs that the kernels compute, more for long queries."""
        raise NotImplementedError

    def is_late(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self.dropped or time.monotonic() > self.deadline


@dataclass(eq=False)
class SearchJob(Job):
    """A request of /search.

    Parameters
    ----------
    queries : mapping from str to str
        The queries by id.
    k, candidates : int
        Number of documents to return, and of BM25's documents to reorder.
    fields : sequence of str
        Fields of the documents to return.
    excerpt : int
        Longest text of a field; 0 is all of it.
    highlight, explain : bool
        Whether to return the words of the query, and the strongest features.

    """

    queries: Mapping[str, str] = field(default_factory=dict)
    k: int = 10
    candidates: int = NORMAL_CANDIDATES
    fields: Sequence[str] = ()
    excerpt: int = 0
    highlight: bool = False
    explain: bool = False

    @property
    def marks_words(self) -> bool:
        """Whether the words of the query are looked for in the fields."""
        return bool(self.fields) and (self.highlight or self.excerpt > 0)

    @property
    def rows(self) -> int:
        """Query-document pairs, weighted."""
        return self.candidates * sum(map(_weight, self.queries.values()))


@dataclass(eq=False)
class RerankJob(Job):
    """A request of /rerank.

    Parameters
    ----------
    values : mapping from str to object
        The values of the body, which the form of the answer depends on.
    query : str
        The query.
    documents : sequence of str or mapping
        Texts, or fields of the index by name.
    doc_ids : sequence of str, optional
        Documents of the index instead.
    with_texts : bool
        Whether the texts of documents of the index are wanted.
    count : int, optional
        Number of documents to return; all by default.

    """

    values: Mapping[str, Any] = field(default_factory=dict)
    query: str = ""
    documents: Sequence[str | Mapping[str, Any]] = ()
    doc_ids: Sequence[str] | None = None
    with_texts: bool = False
    count: int | None = None

    @property
    def rows(self) -> int:
        """Query-document pairs, weighted; a text, which is analysed as well, counts as four documents of the index."""
        return _weight(self.query) * (len(self.doc_ids) if self.doc_ids is not None else 4 * len(self.documents))


def _weight(query: str) -> int:
    """Return how many times as long as with a short query the features of a document take."""
    return 1 + len(query) // _LONG_QUERY


@dataclass(frozen=True)
class RerankAnswer:
    """The documents of a /rerank request, best first.

    Parameters
    ----------
    order : list of int
        Number of each document in the request.
    scores : list of float
        The score of each.
    texts : dict, optional
        The texts of the documents that are returned, by their numbers, where the index has them.

    """

    order: list[int]
    scores: list[float]
    texts: Mapping[int, str] | None = None
