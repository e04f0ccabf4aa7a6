"""Which documents to judge, by people or by a function of the user's, and the qrels that grow with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.files.inputs import TopicsLike, topics_of
from rerank.files.provenance import Share, provenance_file, read_provenance, write_provenance
from rerank.files.trec import read_qrels, write_qrels
from rerank.index.default_candidates import default_candidates
from rerank.index.index import Index
from rerank.metrics.discounted import DCG
from rerank.pipeline.rerank import rerank
from rerank.rankers.bases import UNSUPERVISED
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.registry import exception_text, named_function
from rerank.runtime.store import read_note, write_note
from rerank.types.retriever import BM25

POOL_DEPTH = 10  # documents of each run and query
_GREATEST = 2**31 - 1  # of a label


def pool(index: Index, topics: TopicsLike, k: int = POOL_DEPTH) -> dict[str, list[str]]:
    """Return the documents of each query to judge: the first k of each source of the index, and of its bound runs.

    Sources are those that need no judgements, and the unsupervised ranking.
    A document comes the earlier the more BM25, the unsupervised ranking and the bound runs disagree on it: the greatest
    difference between its discounts in two of them, 1 / log2(1 + rank), and 0 where a ranking does not hold it. This
    difference times the document's gain is what it adds to the difference between the DCG of the two rankings. Of
    documents with equal differences, the one with the better rank comes first, then the one with the smaller id.

    B. Carterette, J. Allan and R. Sitaraman, Minimal Test Collections for Retrieval Evaluation, SIGIR 2006.
    """
    topics = topics_of(topics)
    retrieved = index.search(topics, candidates=default_candidates(index))
    own = {**retrieved.sources, UNSUPERVISED: rerank(index, UNSUPERVISED, topics, retrieved)}  # type: ignore[attr-defined]
    taken = next((name for name in index.runs if name in own), None)
    if taken is not None:
        raise InvalidInputError(f"runs: expected names other than {', '.join(own)}, got {taken!r}. Rename the run.")
    runs = {name: run.take(run.trec_order()) for name, run in {**own, **index.runs}.items()}
    compared = [name for name in runs if name in (BM25, UNSUPERVISED) or name in index.runs]
    documents = {}
    for query_id in topics:
        orders = {
            name: run.doc_ids[run.rows(query_id)].tolist() if query_id in run else [] for name, run in runs.items()
        }
        pooled = {doc_id for order in orders.values() for doc_id in order[:k]}
        discounts = [
            dict(zip(orders[name], DCG().discount_of(np.arange(len(orders[name]))).tolist(), strict=True))
            for name in compared
        ]

        def disagreement(doc_id: str, discounts: list[dict[str, float]] = discounts) -> tuple[float, float, str]:
            """Return the key by which the documents of a query are sorted: the most disagreement comes first."""
            of_document = [of_run.get(doc_id, 0.0) for of_run in discounts]
            return min(of_document) - max(of_document), -max(of_document), doc_id

        documents[query_id] = sorted(pooled, key=disagreement)
    return documents


@dataclass(frozen=True, eq=False)
class Judge:
    """A function of the user's from the text of a query and that of a document to a label.

    Parameters
    ----------
    name : str
        `module:function`. Labels are cached by it: a function that changes needs another name.
    function : callable
        Takes two str, returns a whole number of at least 0.

    """

    name: str
    function: Callable[[str, str], Any]

    @classmethod
    def of(cls, function: str | Callable[[str, str], Any]) -> Judge:
        """Return the judge of a callable, or of `module:function`; raises InvalidInputError."""
        return cls(*named_function("judge", function, "from the texts of a query and a document to a label"))

    def label(self, query: tuple[str, str], document: tuple[str, str]) -> int:
        """Return the label of a document for a query, each given as id and text; known ones are read from the cache."""
        key = hashlib.sha256(json.dumps([self.name, query[1], document[1]]).encode()).hexdigest()
        note = cache_folder() / "labels" / f"{key}.json"
        label = read_note(note)
        if not isinstance(label, int):
            label = self._called(query, document)
            write_note([note], label)
        return label

    def _called(self, query: tuple[str, str], document: tuple[str, str]) -> int:
        """Return the function's label of a document for a query, as `label` takes them; refuse what is no label."""
        try:
            label = self.function(query[1], document[1])
        except Exception as error:
            raise self._fault(query[0], document[0], exception_text(error)) from error
        if isinstance(label, bool) or not isinstance(label, Integral) or not 0 <= int(label) <= _GREATEST:
            raise self._fault(query[0], document[0], shown(label))
        return int(label)

    def _fault(self, query_id: str, doc_id: str, got: str) -> InvalidInputError:
        return InvalidInputError(
            f"judge {self.name}: expected a whole number of at least 0 for query {shown(query_id)} and document "
            f"{shown(doc_id)}, got {got}. Correct the function."
        )


def read_labels(path: Path) -> dict[str, dict[str, int]]:
    """Return the labels of a qrels file by query and document."""
    qrels = read_qrels(path)
    return {query_id: qrels[query_id] for query_id in qrels}


class Judgements:
    """Judgements that are added to a qrels file, which may exist, with their provenance.

    Parameters
    ----------
    path : path
        The qrels file.

    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        exists = self.path.exists()
        self.labels = read_labels(self.path) if exists else {}
        self._shares = read_provenance(self.path, self._n_labels()) if exists else {}

    def label(self, query_id: str, doc_id: str) -> int | None:
        """Return the label of a document; None if there is none."""
        return self.labels.get(query_id, {}).get(doc_id)

    def add(self, query_id: str, doc_id: str, label: int, judge: str) -> None:
        """Add a label, or replace one of the same judge, which is counted once."""
        share = self._shares.get(judge, Share(0, ""))
        is_new = self.label(query_id, doc_id) is None
        self._shares[judge] = Share(share.labels + is_new, datetime.now(UTC).isoformat(timespec="seconds"))
        self.labels.setdefault(query_id, {})[doc_id] = label

    def save(self) -> None:
        """Write both files; the provenance first, so that no label of a function is without it."""
        write_provenance(self.path, self._shares, self._n_labels())
        try:
            write_qrels(self.labels, self.path)
        except BaseException:
            if not self.path.exists():
                provenance_file(self.path).unlink(missing_ok=True)
            raise

    def _n_labels(self) -> int:
        return sum(map(len, self.labels.values()))
