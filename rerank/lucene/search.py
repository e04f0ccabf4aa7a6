"""BM25 search in a Lucene index with the hits, scores and order of Anserini, many queries in one call of Java."""

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, RerankError, check_known, shown
from rerank.lucene.analysis import Analyser
from rerank.lucene.arrays import ids_from_bytes
from rerank.lucene.commits import damaged_lucene
from rerank.lucene.folder import check_commit, open_commit
from rerank.lucene.languages import chosen_language
from rerank.lucene.requests import ask, ask_json, closed_index, open_index
from rerank.runtime.progress import track
from rerank.runtime.threads import cores
from rerank.types import Ids, Retriever, Run, Topics, id_array, pointers

_BATCH = 2048
_FEW_QUERIES = 64  # whose terms come with their hits, since features are likely to ask for them
_FEW_IDS = 2000
MOST_K1 = 1e9  # with a larger one, Lucene's float32 scores are 0
_MOST_IDS = 1 << 20  # of all documents that are kept in memory


class Searcher(Analyser, AbstractContextManager["Searcher"]):
    """An open Lucene index; close it after use, or use it in a `with` block.

    Parameters
    ----------
    folder : str or Path
        Folder of the index, or of its shards: these are searched as one index, with the statistics of all of them.
    language : str, optional
        Code of the analyser, needed only for an index that Anserini built in another language than English.
    commit : str, optional
        The commit that the index must have, from `open_commit`.

    Raises
    ------
    MissingFileError
        If there is no such folder.
    IndexFolderError
        If Lucene cannot read the index, a file is damaged, or the index has another commit.
    InvalidInputError
        If the language is unknown, or differs from the one stored in the index.

    """

    def __init__(self, folder: str | Path, language: str | None = None, commit: str | None = None) -> None:
        self.folder = Path(folder)
        if commit is None:
            commit = open_commit(self.folder)
        check_commit(self.folder, commit)
        opened = open_index(self.folder)
        self._handle: int | None = opened["handle"]
        self._n_docs: int = sum(opened["sizes"])
        try:
            check_commit(self.folder, commit)
            stored = opened.get("fields")
            super().__init__(chosen_language(opened, language), None if stored is None else tuple(json.loads(stored)))
        except RerankError:
            self.close()
            raise
        self._terms: dict[str, list[str]] = {}  # of the queries of the last search, if these were few

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index; closing it twice is allowed."""
        handle = self._handle
        self._handle = None
        if handle is not None:
            ask_json("close", handle=handle)

    def search(
        self,
        topics: Mapping[str, str],
        k: int = 1000,
        k1: float = 0.9,
        b: float = 0.4,
        threads: int | None = None,
        field: str = "contents",
    ) -> Run:
        """Return the k best documents of each topic by BM25, as Anserini's SimpleSearcher.batch_search does.

        Ties are broken by ascending document id, including those at rank k. Scores are rounded to 4 decimals, and
        each further document of a tie has 1e-6 less (Anserini's ScoreTiesAdjusterReranker), so that ordering by score
        gives the same order, as far as float32 distinguishes the scores.

        Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; Lucene's BM25Similarity.
        """
        topics = Topics.of(topics)
        check_hits(k)
        if not 0 <= k1 <= MOST_K1:
            raise InvalidInputError(f"k1: expected a number from 0 to {MOST_K1:g}, got {shown(k1)}. Pass e.g. 0.9.")
        if not 0 <= b <= 1:
            raise InvalidInputError(f"b: expected a number from 0 to 1, got {shown(b)}. Pass e.g. 0.4.")
        parameters = {
            **self._request(),
            "k": int(k),
            "k1": k1,
            "b": b,
            "threads": java_threads(threads),
            "field": field,
        }
        check_known("field", field, self._fields)
        texts = list(topics.texts.values())
        batches = track(range(0, len(texts), _BATCH), "searching")
        parts = [self._search(texts[first : first + _BATCH], parameters) for first in batches]
        counts, numbers, scores = map(np.concatenate, zip(*parts, strict=True))
        return Run(
            id_array(list(topics)),
            pointers(counts),
            self._ids_of(numbers),
            scores.astype(np.float64),
            str(Retriever.bm25(k1, b, field)),
        )

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text; those of queries of the last search, if these were few, are known."""
        known = self._terms
        if all(text in known for text in texts):
            return [list(known[text]) for text in texts]
        return super().analyze(texts)

    def documents(self, numbers: Sequence[int]) -> list[str | None]:
        """Return documents by Lucene number as they were indexed (JSON or SGML); None where the index stores none."""
        return ask_json("raw", **self._request(), documents=[int(n) for n in numbers])  # type: ignore[no-any-return]

    def statistics(self) -> dict[str, Any]:
        """Return Lucene's counts: documents, deleted ones, segments, and documents, tokens, postings of each field."""
        return ask_json("statistics", at_once=True, **self._request())  # type: ignore[no-any-return]

    @cached_property
    def doc_ids(self) -> Ids:
        """Ids by Lucene document number; a deleted document has the empty id."""
        return self._ids(ask("doc_ids", **self._request()))

    def _search(self, queries: list[str], parameters: dict[str, Any]) -> tuple[NDArray[Any], ...]:
        """Return the number of hits of each query, and their document numbers and scores, from one call of Java."""
        few = len(queries) <= _FEW_QUERIES
        answer = ask(
            "search", at_once=len(queries) == 1, **parameters, language=self.language, queries=queries, terms=few
        )
        counts = np.frombuffer(answer, np.int32, len(queries))
        n_rows = int(counts.sum())
        offset = 4 * len(queries)
        numbers = np.frombuffer(answer, np.int32, n_rows, offset)
        scores = np.frombuffer(answer, np.float32, n_rows, offset + 4 * n_rows)
        if few:
            self._terms = dict(zip(queries, json.loads(bytes(answer[offset + 8 * n_rows :])), strict=True))
        return counts, numbers, scores

    def _ids_of(self, numbers: NDArray[np.int32]) -> Ids:
        """Return the ids of hits; of a large index, the ids of other documents are not read."""
        if len(numbers) and numbers.max() >= self._n_docs:
            raise damaged_lucene(self.folder, f"document {numbers.max()} of {self._n_docs}")
        if self._n_docs <= _MOST_IDS:
            return self.doc_ids[numbers]
        distinct, index = np.unique(numbers, return_inverse=True)
        answer = ask("ids", at_once=len(distinct) <= _FEW_IDS, **self._request(), documents=distinct.tolist())
        return self._ids(answer)[index]

    def _ids(self, answer: memoryview) -> Ids:
        count = int(np.frombuffer(answer, np.int32, 1)[0])
        try:
            return ids_from_bytes(answer[4 + 4 * count :], np.frombuffer(answer, np.int32, count, 4))
        except UnicodeDecodeError as error:
            raise damaged_lucene(self.folder, "ids that are no UTF-8") from error

    @cached_property
    def _fields(self) -> tuple[str, ...]:
        return tuple(self.statistics()["fields"])

    def _request(self) -> dict[str, Any]:
        """Return the parameters that every request about this index has."""
        if self._handle is None:
            raise closed_index(self.folder)
        return {"handle": self._handle, "index": str(self.folder)}


def _is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 1 that Java's int holds."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return is_number and bool(1 <= value < 2**31 and value == int(value))


def check_hits(k: int) -> None:
    """Refuse a number of hits that is not a whole number from 1."""
    if not _is_count(k):
        raise InvalidInputError(f"k: expected a whole number of hits from 1, got {shown(k)}. Pass e.g. 1000.")


def java_threads(threads: int | None) -> int:
    """Return a number of threads for Java: one per core for None."""
    if threads is None:
        return cores()
    if not _is_count(threads):
        raise InvalidInputError(
            f"threads: expected a whole number from 1, got {shown(threads)}. Leave it out for one a core."
        )
    return int(threads)
