"""BM25 over a Lucene index: the hits, scores and order of Anserini, many queries in one crossing."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, unknown_name
from rerank.lucene.arrays import ids_from_bytes
from rerank.lucene.folder import check_index_folder, damaged_lucene
from rerank.lucene.jvm import ask, ask_json, open_index
from rerank.lucene.language import chosen_language
from rerank.lucene.progress import Progress, stage
from rerank.types import Run, Topics, pointers
from rerank.types.ids import Ids, id_array
from rerank.types.retriever import Retriever

_BATCH = 2048
_FEW_TEXTS = 16


class Searcher:
    """An open Lucene index that answers queries; close it, or use it in a `with` block.

    Raises MissingFileError or IndexFolderError where the folder holds no index that Lucene can read.
    """

    def __init__(self, folder: str | Path, language: str | None = None) -> None:
        """Open an index; `language` is asked for only where an index that Anserini built is not English.

        Raises InvalidInputError for an unknown language, or another one than the index notes.
        """
        self.folder = check_index_folder(folder)
        opened = open_index(self.folder)
        self._handle: int | None = opened["handle"]
        try:
            self.language = chosen_language(opened, language)
        except InvalidInputError:
            self.close()
            raise
        self._doc_ids: Ids | None = None

    def __enter__(self) -> Searcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the index back; closing twice does no harm."""
        handle, self._handle = self._handle, None
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
        progress: Progress = None,
    ) -> Run:
        """Return the k best documents of each topic by BM25, as Anserini's SimpleSearcher.batch_search does.

        topics    {query id: text}
        k         hits at most per topic
        k1, b     BM25's parameters: k1 >= 0, 0 <= b <= 1 (Robertson and Zaragoza 2009; Lucene's variant)
        threads   Java threads; None for one a core
        field     the indexed field to search; `contents` is the whole document
        Ties are broken by ascending document id, also at the cut. Scores are rounded to 4 decimals, and each
        further document of a tie gets 1e-6 less (Anserini's ScoreTiesAdjusterReranker), so that a tool that
        orders by score finds this order, as far as float32 can tell the scores apart. A topic without hits
        stays, with no rows. The run's name tells k1, b and the field, see `Run.retriever`.
        """
        topics = Topics.of(topics)
        parameters = self._parameters(k, k1, b, threads, field)
        texts, parts = list(topics.texts.values()), []
        with stage(progress, "searching", len(texts)) as done:
            for first in range(0, len(texts), _BATCH):
                parts.append(_search(texts[first : first + _BATCH], parameters))
                done(min(first + _BATCH, len(texts)))
        counts, numbers, scores = map(np.concatenate, zip(*parts, strict=True))
        if len(numbers) and numbers.max() >= len(self.doc_ids):
            raise damaged_lucene(self.folder, f"document {numbers.max()} of {len(self.doc_ids)}")
        return Run(
            id_array(list(topics)),
            pointers(counts),
            self.doc_ids[numbers],
            scores.astype(np.float64),
            str(Retriever.bm25(k1, b, field)),
        )

    def analyze(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, as the index's analyzer (that of its language) cuts it."""
        few = len(texts) <= _FEW_TEXTS
        terms: list[list[str]] = ask_json("analyze", at_once=few, texts=list(texts), language=self.language)
        return terms

    def documents(self, numbers: Sequence[int]) -> list[str | None]:
        """Return documents by number as they were indexed (JSON or SGML), None where the index does not keep them."""
        found: list[str | None] = ask_json("raw", **self._asked(), documents=[int(n) for n in numbers])
        return found

    def statistics(self) -> dict[str, Any]:
        """Return Lucene's counts: documents, deleted, segments, and per field documents, tokens, postings."""
        counts: dict[str, Any] = ask_json("statistics", at_once=True, **self._asked())
        return counts

    @property
    def doc_ids(self) -> Ids:
        """Ids by Lucene document number, fetched once; a deleted document has the empty id."""
        if self._doc_ids is None:
            answer = ask("doc_ids", **self._asked())
            count = int(np.frombuffer(answer, np.int32, 1)[0])
            try:
                self._doc_ids = ids_from_bytes(answer[4 + 4 * count :], np.frombuffer(answer, np.int32, count, 4))
            except UnicodeDecodeError as error:
                raise damaged_lucene(self.folder, "ids that are no UTF-8") from error
        return self._doc_ids

    def _parameters(self, k: int, k1: float, b: float, threads: int | None, field: str) -> dict[str, Any]:
        if k != int(k) or not 1 <= k < 2**31:
            raise InvalidInputError(f"k: expected a whole number of hits from 1, got {k}. The usual k is 1000.")
        if not (math.isfinite(k1) and k1 >= 0):
            raise InvalidInputError(f"k1: expected a number from 0, got {k1}. The usual k1 is 0.9.")
        if not 0 <= b <= 1:
            raise InvalidInputError(f"b: expected a number from 0 to 1, got {b}. The usual b is 0.4.")
        asked, workers = self._asked(), java_threads(threads)
        if field not in self._fields:
            raise unknown_name("field", field, self._fields)
        return {**asked, "k": int(k), "k1": k1, "b": b, "threads": workers, "field": field, "language": self.language}

    @cached_property
    def _fields(self) -> tuple[str, ...]:
        return tuple(self.statistics()["fields"])

    def _asked(self) -> dict[str, Any]:
        """Return what every question about this index names."""
        if self._handle is None:
            raise InvalidInputError(f"{self.folder}: expected an open index, got a closed one. Open it again.")
        return {"handle": self._handle, "index": str(self.folder)}


def _search(queries: list[str], parameters: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return hits per query, and all their document numbers and scores, of one crossing."""
    answer = ask("search", at_once=len(queries) == 1, **parameters, queries=queries)
    counts = np.frombuffer(answer, np.int32, len(queries))
    rows, place = int(counts.sum()), 4 * len(queries)
    numbers = np.frombuffer(answer, np.int32, rows, place)
    return counts, numbers, np.frombuffer(answer, np.float32, rows, place + 4 * rows)


def java_threads(threads: int | None) -> int:
    """Return a number of threads for Java: one a core for None."""
    if threads is None:
        return os.cpu_count() or 1
    if threads != int(threads) or threads < 1:
        raise InvalidInputError(f"threads: expected a whole number from 1, got {threads}. Leave it out for one a core.")
    return int(threads)
