"""The history: judged queries, what is learned from them, and which of them a query's features may use.

Judged queries are in folds. The features of a query that is in the history come from the queries outside its fold,
those of other queries from all. A fold holds whole groups of near-duplicate queries, so that no query learns from a
copy of itself. To leave out the query alone would not do: a document has one relevant query fewer where it is relevant
than for all other queries, which gives its label away.

History files (`rerank.runtime.store`): the arrays of `History.arrays`; `words` are the bytes of a JSON list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, shown
from rerank.features.near_duplicates import NEAR, word_idf
from rerank.files.lists import QrelsLike, TopicsLike, qrels_of, topics_of
from rerank.files.source import check_file
from rerank.history.base import IndexHistory
from rerank.history.judged import NEAREST, Judged, Key, Neighbours, heaviest_terms, nearest_documents
from rerank.runtime import store
from rerank.runtime.codec import Names, Plain, Record, Text, Whole, at, parse_json
from rerank.runtime.store import Fault, Kind, Stored, offsets
from rerank.runtime.threads import kernel_threads
from rerank.types import Ints, Qrels
from rerank.types.forward import ForwardIndex
from rerank.types.ids import ID_RULE, QUERY_RULE, Ids, first_broken
from rerank.types.ranking_data import MOST_LABEL, folds_of_groups

FOLDS = 20
MOST_FREQUENCY = 1 << 20  # of a word in a query
_JUDGED: dict[str, Stored] = {
    "query_ids": Stored(np.str_, ("n_queries",)),
    "words": Stored(np.uint8, ("n_word_bytes",)),
    "doc_ids": Stored(np.str_, ("n_docs",)),
    "query_words": Stored(np.int32, ("n_query_words",)),
    "freqs": Stored(np.int32, ("n_query_words",), 1, MOST_FREQUENCY),
    "word_ptr": offsets("n_queries", "n_query_words"),
    "docs": Stored(np.int32, ("n_judgements",), 0, "n_docs"),
    "labels": Stored(np.float32, ("n_judgements",), float(np.finfo(np.float32).tiny), MOST_LABEL),
    "doc_ptr": offsets("n_queries", "n_judgements"),
    "folds": Stored(np.int64, ("n_queries",), 0, FOLDS - 1),
    "near_docs": Stored(np.int32, ("n_docs", str(NEAREST)), -1, "n_docs"),
    "near_cosines": Stored(np.float32, ("n_docs", str(NEAREST)), 0.0, 1.001),
}


def _check(values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise for content that no history has."""
    judged = _judged(arrays)
    _check_ids("query_ids", arrays["query_ids"], allow_empty=False)
    _check_ids("doc_ids", arrays["doc_ids"], allow_empty=True)
    with at("query_words"):
        Stored(np.int32, ("n",), 0, len(judged.words) - 1).check_values(arrays["query_words"], {})
    for ptr, name in (("word_ptr", "query_words"), ("doc_ptr", "docs")):
        starts = np.zeros(len(arrays[name]) + 1, dtype=np.bool_)
        starts[arrays[ptr]] = True
        if ((np.diff(arrays[name]) <= 0) & ~starts[1:-1]).any():
            raise Fault(f"{name} that do not ascend")
    if list(judged.words) != sorted(judged.words):
        raise Fault("words that do not ascend")
    fold_of_key: dict[Key, int] = {}
    for key, fold in zip(judged.keys(), arrays["folds"].tolist(), strict=True):
        if fold_of_key.setdefault(key, fold) != fold:  # one of the queries would learn from the other
            raise Fault("folds that divide queries of the same terms")


KIND = Kind(
    "rerank history",
    1,
    "a history",
    "Learn it again (rerank history).",
    Record(
        {
            "terms": Whole(0, 2**31 - 2),
            "fingerprint": Plain(optional=False),
            "checksum": Text(16),
        }
    ),
    lambda values: _JUDGED,
    _check,
)


def write_history(path: str | Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a history; the same content gives the same bytes."""
    if not str(path).endswith(".npz"):
        raise InvalidInputError(f"{path}: expected a name that ends in .npz, got another. Rename it.")
    store.write(path, KIND, about, arrays)


def _check_ids(name: str, ids: Ids, allow_empty: bool) -> None:
    """Raise unless there are ids; those of queries ascend, and those of documents may be empty."""
    broken = first_broken([text for text in ids.tolist() if text or not allow_empty])
    if broken is not None:
        raise Fault(f"{name} that are not {ID_RULE if allow_empty else QUERY_RULE} ({shown(broken)})")
    if not len(ids) or (not allow_empty and (ids[1:] <= ids[:-1]).any()):
        raise Fault(f"{name} that do not ascend" if len(ids) else f"no {name}")


def _judged(arrays: Mapping[str, NDArray[Any]]) -> Judged:
    """Return the judged queries of the arrays of a file."""
    names = ("query_ids", "word_ptr", "query_words", "freqs", "doc_ptr", "docs", "labels")
    with at("words"):
        words = Names(may_be_empty=True).read(parse_json(arrays["words"].tobytes()), {})
    return Judged(words=words, **{name: arrays[name] for name in names})


@dataclass(frozen=True, eq=False)
class History:
    """Judged queries of an index, and what features of similar queries are computed from.

    Parameters
    ----------
    judged : Judged
        The judged queries; documents are numbered as in `doc_ids`.
    folds : ndarray of shape (n_queries,) and dtype int64
        Fold of each query, from 0.
    neighbours : Neighbours
        The nearest documents of each document.
    doc_ids : ndarray of shape (n_docs,) and dtype str
        Ids of the documents of the index, empty for a deleted one.
    n_terms : int
        Number of terms of the index.
    fingerprint : mapping
        Fingerprint of the index, which includes its analyser.

    """

    judged: Judged
    folds: Ints
    neighbours: Neighbours
    doc_ids: Ids
    n_terms: int
    fingerprint: Mapping[str, Any]
    _bound: list[IndexHistory] = field(default_factory=list, init=False)

    @classmethod
    def learn(
        cls,
        index: Any,
        topics: TopicsLike,
        qrels: QrelsLike,
        *,
        threads: int | None = None,
    ) -> Self:
        """Learn from judged queries.

        Parameters
        ----------
        index : Index
            The index.
        topics : Topics, mapping, DataFrame or path
            The queries; those without judgements are ignored.
        qrels : Qrels, mapping, DataFrame or path
            Judgements; a document with a label above 0 is relevant, and only these are learned from.
        threads : int or None
            Number of threads; None is all cores. The result does not depend on it.

        Returns
        -------
        History
            The history.

        Raises
        ------
        InvalidInputError
            If no topic is judged, or the index holds no relevant document.

        """
        topics = topics_of(topics)
        qrels = qrels_of(qrels)
        query_ids = [query_id for query_id in topics if query_id in qrels]
        terms = index.searcher.analyze([topics[query_id] for query_id in query_ids]) if query_ids else []
        query_terms = dict(zip(query_ids, terms, strict=True))
        return cls.of_terms(index.forward, query_terms, qrels, threads=threads)

    @classmethod
    def of_terms(
        cls,
        forward: ForwardIndex,
        query_terms: Mapping[str, Sequence[str]],
        qrels: Qrels,
        *,
        threads: int | None = None,
    ) -> Self:
        """Learn from judged queries that are analysed already; parameters are those of `learn`.

        Parameters
        ----------
        forward : ForwardIndex
            Arrays of the index.
        query_terms : mapping of str to sequence of str
            Tokens of each query, by query id.
        qrels : Qrels
            Judgements of these queries.
        threads : int or None
            As for `learn`.

        Returns
        -------
        History
            The history.

        Raises
        ------
        InvalidInputError
            As `learn`.

        """
        judged = Judged.of(forward, query_terms, qrels)
        with kernel_threads(threads) as n_threads:
            neighbours = nearest_documents(heaviest_terms(forward, n_threads), len(forward.term_ptr) - 1, n_threads)
        groups = judged.near_duplicates(judged.unit_weights(word_idf(forward, judged.words)), NEAR)
        sizes = np.bincount(groups)
        shuffled = np.random.default_rng(0).permutation(len(sizes))
        folds = folds_of_groups(groups, shuffled[np.argsort(-sizes[shuffled], kind="stable")], FOLDS)
        return cls(judged, folds, neighbours, forward.doc_ids, len(forward.term_ptr) - 1, dict(forward.fingerprint))

    def of_queries(self, query_ids: Collection[str]) -> Self:
        """Return the history of some of its queries.

        Parameters
        ----------
        query_ids : collection of str
            Ids of the queries; those that the history does not have are ignored.

        Returns
        -------
        History
            The history without the other queries; each query stays in its fold.

        """
        chosen = np.flatnonzero(np.isin(self.judged.query_ids, list(query_ids)))
        return replace(self, judged=self.judged.select(chosen), folds=self.folds[chosen])

    @cached_property
    def checksum(self) -> str:
        """The first 16 digits of the SHA-256 of what was learned, in hexadecimal."""
        total = hashlib.sha256(json.dumps(self.fingerprint, sort_keys=True).encode())
        for name, array in self.arrays().items():
            total.update(f"{name} {array.dtype.str} {array.shape} ".encode())
            total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:16]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name, as a history file holds them.

        Returns
        -------
        dict of str to ndarray
            The arrays.

        """
        judged = self.judged
        return {
            "query_ids": judged.query_ids,
            "words": np.frombuffer(json.dumps(judged.words).encode(), dtype=np.uint8),
            "word_ptr": judged.word_ptr,
            "query_words": judged.query_words,
            "freqs": judged.freqs,
            "doc_ptr": judged.doc_ptr,
            "docs": judged.docs,
            "labels": judged.labels,
            "folds": self.folds,
            "near_docs": self.neighbours.docs,
            "near_cosines": self.neighbours.cosines,
            "doc_ids": self.doc_ids,
        }

    def save(self, path: str | Path) -> None:
        """Write the history as a .npz file, which holds no code.

        Parameters
        ----------
        path : str or Path
            The file; it is complete or missing.

        """
        about = {
            "terms": self.n_terms,
            "fingerprint": dict(self.fingerprint),
            "checksum": self.checksum,
        }
        write_history(path, about, self.arrays())

    def on(self, forward: ForwardIndex) -> IndexHistory:
        """Return the history on an index.

        The result is kept for the next call with the same index.

        Parameters
        ----------
        forward : ForwardIndex
            Arrays of the index.

        Returns
        -------
        IndexHistory
            The history with its documents numbered as in the index.

        Raises
        ------
        InvalidInputError
            If it was learned on an index of other text.

        """
        for bound in self._bound:
            if bound.forward is forward:
                return bound
        fingerprint = dict(forward.fingerprint)
        numbers = np.arange(len(self.doc_ids)) if np.array_equal(self.doc_ids, forward.doc_ids) else None
        if numbers is None:
            numbers = forward.doc_numbers(self.doc_ids)
        other = dict(self.fingerprint) != fingerprint or len(forward.term_ptr) - 1 != self.n_terms
        if other or (numbers[self.doc_ids != ""] < 0).any():
            names = [name for name in fingerprint if self.fingerprint.get(name) != fingerprint[name]]
            name = names[0] if names else "documents"
            raise InvalidInputError(
                f"history: expected the index that it was learned on ({name}: {shown(self.fingerprint.get(name))}), "
                f"got another ({name}: {shown(fingerprint.get(name))}). Learn a history on this index (rerank history)."
            )
        judged = self.judged
        neighbours = self.neighbours
        if not np.array_equal(numbers, np.arange(forward.n_docs)):
            judged = judged.renumbered(numbers)
            neighbours = neighbours.renumbered(numbers, forward.n_docs)
        bound = IndexHistory(judged, self.folds, neighbours, forward)
        self._bound[:] = [bound]
        return bound


def read_history(path: str | Path) -> History:
    """Read a history that `History.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    History
        The history.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        If it is no history, of another version, or damaged.

    """
    path = check_file(path, "a history (.npz)")
    about, arrays = store.read(path, KIND)
    history = History(
        judged=_judged(arrays),
        folds=arrays["folds"],
        neighbours=Neighbours(arrays["near_docs"], arrays["near_cosines"]),
        doc_ids=arrays["doc_ids"],
        n_terms=about["terms"],
        fingerprint=about["fingerprint"],
    )
    if history.checksum != about["checksum"]:
        raise KIND.error(path, f"content of checksum {history.checksum} in place of {about['checksum']!r}")
    return history
