"""Sources of candidates: the base class, what they are given, their registry, and the union of several.

Where candidates come from: sources with their depths, and the parameters of BM25.

Written `bm25:1000,rm3:1000,lsi:200,run:dense.run:500`: names of sources, each with its number of documents; a run of
another system is `run:FILE`, with a number or whole; its name is that of the file without extensions. BM25's k1
and b follow the name of a source as in the tag of a run, `bm25-k1=1.2-b=0.75:1000`, and hold for all sources.

In a union, the documents of the first source come first, in its order and with its scores. Documents that only others
hold follow in the order of the sum over these sources of 1 / (60 + rank) (reciprocal rank fusion), ties by document id,
descending; their scores go on below the lowest of the first source in steps of 2^-19 of the greatest score of the
query.

References
----------
Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion).

"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from pathlib import PurePath
from typing import Any, ClassVar, Self

import numpy as np

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.history.judged import IndexHistory
from rerank.metrics.base import ranks
from rerank.retrieval.fusion import RRF_K, reciprocal_ranks
from rerank.retrieval.pool import QueryRows, pooled
from rerank.runtime.registry import Registry
from rerank.types import BM25, CONTENTS, Floats, ForwardIndex, Ids, Ints, Retriever, Run, id_array, pointers, sort_keys
from rerank.types.ids import id_texts
from rerank.types.order import scores_and_ranks
from rerank.types.retriever import K1, B, bm25_parameters, bm25_suffix
from rerank.vectors.query_vectors import Encoded
from rerank.vectors.vectors import Vectors

Hits = tuple[Ints, Floats]  # document numbers and scores of one query, best first
_REGISTRY: Registry[Source] = Registry("source of candidates", "rerank.retrieval.sources", of_instances=True)
known_sources = _REGISTRY.known
source = _REGISTRY.get
register = _REGISTRY.register
DEPTH = 1000
_STEP = 2.0**-19  # between scores of documents that only others hold, by the greatest score of the query
FILE = "run"
_UNION = "union:"
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_REMEDY = "Write e.g. bm25:1000,rm3:1000,run:dense.run."


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
    bm25_runs : dict from int to Run
        Runs of `bm25` that were made, by their k.

    """

    forward: ForwardIndex
    query_ids: Sequence[str]
    query_terms: Sequence[Sequence[str]]
    bm25: Callable[[int], Run]
    k1: float = 0.9
    b: float = 0.4
    field: str = CONTENTS
    vectors: Vectors | None = None
    history: IndexHistory | None = None
    encoded: Encoded | None = None
    runs: Mapping[str, Run] = dataclass_field(default_factory=dict)
    threads: int | None = None
    bm25_runs: dict[int, Run] = dataclass_field(default_factory=dict)

    def bm25_run(self, k: int) -> Run:
        """Return the k best documents by BM25; a deeper run that was made before is cut."""
        deeper = min((depth for depth in self.bm25_runs if depth >= k), default=None)
        if deeper is None:
            self.bm25_runs[k] = self.bm25(k)
            deeper = k
        return self.bm25_runs[deeper].head(k)


class Source(ABC):
    """A retriever."""

    learned: ClassVar[bool] = False  # from judgements: a study retrieves in each fold from its training queries
    reads: ClassVar[tuple[str, ...]] = ()  # resources of the index: "vectors", "history", "encoder"

    @abstractmethod
    def search(self, inputs: SearchInputs, k: int) -> Run:
        """Return the k best documents of each query; raise InvalidInputError where an input is missing."""


def run_of_hits(query_ids: Sequence[str] | Ids, doc_ids: Ids, hits: Iterable[Hits], name: str) -> Run:
    """Return the run of the hits of each query.

    doc_ids  (n_docs,) ids of all documents
    """
    parts = list(hits)
    docs = np.concatenate([np.empty(0, np.int64), *(docs for docs, _ in parts)])
    scores = np.concatenate([np.empty(0), *(scores for _, scores in parts)])
    return Run(id_array(list(query_ids)), pointers([len(docs) for docs, _ in parts]), doc_ids[docs], scores, name)


def best_hits(docs: Ints, scores: Floats, doc_ids: Ids, k: int) -> Hits:
    """Return the k documents of the greatest scores, ties by document id, descending, as trec_eval orders them.

    docs, scores  (n,) document numbers and scores
    doc_ids       (n_docs,) ids of all documents
    """
    if len(docs) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        near = np.flatnonzero(scores >= least)
        docs = docs[near]
        scores = scores[near]
    order = np.lexsort((doc_ids[docs], scores))[::-1][:k]
    return docs[order], scores[order]


@dataclass(frozen=True)
class Part:
    """One source of candidates.

    Parameters
    ----------
    name : str
        Name of the source, or of the run.
    k : int or None
        Number of documents; None is all of a run.
    file : str or None
        File of a run.

    """

    name: str
    k: int | None
    file: str | None = None

    def __str__(self) -> str:
        """Return the part as the tag of a run has it: with the name of a run, not its file."""
        return f"{'' if self.file is None else FILE + ':'}{self.name}{'' if self.k is None else f':{self.k}'}"


@dataclass(frozen=True)
class Candidates:
    """Sources of the candidates of a ranking. A model stores those that it was trained with.

    Parameters
    ----------
    sources : sequence of Part
        The sources with their depths; documents of the first one come first.
    k1, b : float
        Parameters of BM25.
    field : str
        The field that is searched; `contents` is the whole document.

    """

    sources: tuple[Part, ...] = (Part(BM25, DEPTH),)
    k1: float = K1
    b: float = B
    field: str = CONTENTS

    @classmethod
    def parse(cls, text: str, k: int = DEPTH, *, k1: float = K1, b: float = B, field: str = CONTENTS) -> Self:
        """Return the candidates that a text describes.

        Parameters
        ----------
        text : str
            Sources with their depths, e.g. `bm25:1000,rm3:1000,lsi:200,run:dense.run`, and parameters of BM25, e.g.
            `bm25-k1=1.2-b=0.75:1000,rm3:1000`.
        k : int
            Depth of the sources without one. A run without a depth is used whole.
        k1, b, field : float, float and str
            As for the class, where the text has no parameters.

        Returns
        -------
        Candidates
            The candidates.

        Raises
        ------
        InvalidInputError
            If the text names an unknown source, or one twice, or has different parameters of BM25.

        """
        if not isinstance(text, str) or not text.strip():
            raise InvalidInputError(f"candidates: expected sources with their depths, got {shown(text)}. {_REMEDY}")
        items, pairs = zip(*(_parameters(item.strip()) for item in text.split(",")), strict=True)
        parts = tuple(_part(item, k) for item in items)
        names = [part.name for part in parts]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInputError(
                f"candidates: expected each source once, got {shown(twice)} twice. Rename or drop one."
            )
        parameters = {pair for pair in pairs if pair is not None}
        if len(parameters) > 1:
            raise InvalidInputError(
                f"candidates: expected one k1 and b for all sources, got {' and '.join(sorted(map(str, parameters)))}. "
                "Write them once."
            )
        return cls(parts, *next(iter(parameters), (k1, b, field)))

    @classmethod
    def of_retriever(cls, retriever: Retriever | None) -> Self | None:
        """Return the candidates that a retriever found; None for another system's.

        Parameters
        ----------
        retriever : Retriever or None
            What a run or a model says of its candidates.

        Returns
        -------
        Candidates or None
            The candidates.

        """
        if retriever is None:
            return None
        depth = retriever.depth or DEPTH
        if retriever.k1 is not None and retriever.b is not None:
            return cls((Part(BM25, depth),), retriever.k1, retriever.b, retriever.field)
        if retriever.name.startswith(_UNION):
            text, dash, _ = retriever.name.removeprefix(_UNION).partition("-")
            k1, b, field = bm25_parameters(retriever.name[len(_UNION) + len(text) :] if dash else "")
            return cls.parse(text, k1=k1, b=b, field=field)
        name = retriever.name.partition("-")[0]
        return cls((Part(name, depth),)) if name in known_sources() else None

    @property
    def k(self) -> int | None:
        """Depth of the only source; None for several, all of whose documents are reranked."""
        return self.sources[0].k if self.is_single else None

    @property
    def is_single(self) -> bool:
        """Whether there is one source, which is no run."""
        return len(self.sources) == 1 and self.sources[0].file is None

    @property
    def is_learned(self) -> bool:
        """Whether a source is learned from judgements."""
        return any(source(part.name).learned for part in self.sources if part.file is None)

    def at_depth(self, k: int) -> Self:
        """Return the candidates with another depth of the only source; several sources keep theirs.

        Parameters
        ----------
        k : int
            The depth.

        Returns
        -------
        Candidates
            The candidates.

        """
        return replace(self, sources=(replace(self.sources[0], k=k),)) if self.is_single else self

    @property
    def tag(self) -> str:
        """The tag of the run of several sources: one word, of which `of_retriever` makes the candidates again."""
        parameters = bm25_suffix(self.k1, self.b, self.field)
        return f"{_UNION}{self}{'' if parameters == bm25_suffix(K1, B, CONTENTS) else parameters}"

    def __str__(self) -> str:
        """Return the sources with their depths, as `parse` reads them but for the files of runs."""
        return ",".join(map(str, self.sources))


def _parameters(item: str) -> tuple[str, tuple[float, float, str] | None]:
    """Return a source without BM25's parameters in its name, and these as k1, b and field; None where it has none."""
    name, colon, depth = item.partition(":")
    source, dash, rest = name.partition("-")
    retriever = Retriever.of_tag(f"{BM25}-{rest}")
    if not dash or retriever.k1 is None or retriever.b is None:
        return item, None
    return f"{source}{colon}{depth}", (retriever.k1, retriever.b, retriever.field)


def _part(text: str, k: int) -> Part:
    name, colon, rest = text.partition(":")
    if name == FILE:
        file, _, number = rest.rpartition(":")
        if not file or not _NUMBER.fullmatch(number):
            file = rest
            number = ""
        if PurePath(file).suffix == ".npy":
            raise InvalidInputError(
                f"candidates: expected run:FILE with a run, got vectors ({shown(file)}). Make a run of them in Python: "
                "rerank.nearest_run(documents, queries), rerank.write_run."
            )
        run_name = PurePath(file).name.split(".")[0]
        if not run_name.isidentifier() or run_name in known_sources():
            raise InvalidInputError(
                f"candidates: expected run:FILE with a file name of letters and digits, other than a source's, got "
                f"{shown(text)}. Rename the file."
            )
        return Part(run_name, int(number) if number else None, file)
    if name not in known_sources():
        raise unknown_name("candidates", name, [*known_sources(), FILE])
    if colon and not _NUMBER.fullmatch(rest):
        raise InvalidInputError(f"candidates: expected {name} with its depth, got {shown(text)}. {_REMEDY}")
    return Part(name, int(rest) if colon else k)


@dataclass(frozen=True, eq=False, repr=False)
class UnionRun(Run):
    """A run that is the union of others; features and models are given the others with it.

    Parameters
    ----------
    sources : mapping from str to Run
        The runs by name. `Index.features` takes them as other runs: score, rank and membership in each are features,
        missing where the run does not hold the document.

    """

    sources: Mapping[str, Run] = dataclass_field(default_factory=dict)

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
        sources = {name: run.without_own() for name, run in self.sources.items()}
        return replace(super().without_own(), sources=sources)

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
    query_ids = id_array(list(inputs.query_ids))
    united = _united([run.select(run.query_numbers(query_ids.tolist())) for run in runs.values()], query_ids)
    return UnionRun(query_ids, united.query_ptr, united.doc_ids, united.scores, candidates.tag, sources=runs)


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


def _united(runs: Sequence[Run], query_ids: Ids) -> Run:
    """Return the documents of the first run, and behind them others in the order of their reciprocal rank fusion."""
    by_rank = [replace(run, scores=scores_and_ranks(run.query_ptr, run.scores)[:, 1]) for run in runs[1:]]
    pool = pooled([QueryRows.of(run, query_ids) for run in (runs[0], *by_rank)], 0, len(query_ids), lowest=True)
    is_added = pool.ranks[0] == 0  # whose score is the lowest of the first run, or 0
    fused = reciprocal_ranks(np.where((pool.ranks[1:] > 0) & is_added, pool.scores[1:], 0.0), RRF_K)
    place = np.where(is_added, len(is_added), pool.ranks[0])
    order = np.lexsort((*(~key for key in sort_keys(pool.doc_ids)), -fused, place, pool.query))
    query = pool.query[order]
    is_added = is_added[order]
    query_ptr = pointers(np.bincount(query, minlength=len(query_ids)))
    greatest = np.ones(len(query_ids))
    np.maximum.at(greatest, pool.query, np.abs(pool.scores[0]))
    begins = np.append(True, (np.diff(fused[order]) != 0.0) | ~is_added[:-1] | (np.diff(query) != 0))[: len(query)]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(query)), 0))  # of equal ones
    number = ranks(query_ptr)[first] + 1 - np.bincount(query, ~is_added, len(query_ids))[query]
    scores = pool.scores[0, order] - greatest[query] * _STEP * np.where(is_added, number, 0.0)
    return Run(query_ids, query_ptr, id_texts(pool.doc_ids[order]), scores)
