"""The union of candidates of several sources.

A union is written `bm25:1000,rm3:1000,lsi:200,run:dense.run:500`: names of sources, each with its number of documents;
a run of another system is `run:FILE`, with a number or whole; its name is that of the file without extensions.

The documents of the first source come first, in its order and with its scores. Documents that only others hold follow
in the order of the sum over these sources of 1 / (60 + rank) (reciprocal rank fusion), ties by document id, descending;
their scores go on below the lowest of the first source in steps of 2^-20 of the greatest score of the query.

References
----------
Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion).

"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Self

import numpy as np

from rerank.errors import InvalidInputError, shown, unknown_name
from rerank.features.inputs import check_scores
from rerank.retrieval.base import SearchInputs, known_sources, source
from rerank.types import Ints, Run, pointers
from rerank.types.forward import ForwardIndex
from rerank.types.ids import id_array

FILE = "run"
PREFIX = "union:"
_CONSTANT = 60  # of reciprocal rank fusion
_STEP = 2.0**-20
_NUMBER = re.compile(r"[1-9]\d{0,8}")
_REMEDY = "Write e.g. bm25:1000,rm3:1000,run:dense.run."


@dataclass(frozen=True)
class Part:
    """One source of a union.

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

    @classmethod
    def joined(cls, runs: Sequence[Self]) -> Self:
        """Return the queries of several unions of the same sources as one, see `Run.joined`."""
        sources = {name: Run.joined([run.sources[name] for run in runs]) for name in runs[0].sources}
        return replace(super().joined(runs), sources=sources)

    def _selected(self, queries: Ints, rows: Ints) -> dict[str, Any]:
        names = self.query_ids[queries].tolist()
        sources = {name: run.select(run.query_numbers(names)) for name, run in self.sources.items()}
        return {**super()._selected(queries, rows), "sources": sources}


def parse_union(text: str) -> tuple[Part, ...]:
    """Return the parts of a union."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidInputError(f"union: expected sources with their numbers, got {shown(text)}. {_REMEDY}")
    parts = tuple(_part(item.strip()) for item in text.split(","))
    names = [part.name for part in parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"union: expected each source once, got {shown(twice)} twice. Rename or drop one.")
    return parts


def _part(text: str) -> Part:
    name, colon, rest = text.partition(":")
    if name == FILE:
        file, _, number = rest.rpartition(":")
        if not file or not _NUMBER.fullmatch(number):
            file, number = rest, ""
        run_name = PurePath(file).name.split(".")[0]
        if not run_name.isidentifier() or run_name in known_sources():
            raise InvalidInputError(
                f"union: expected run:FILE with a file name of letters and digits, other than a source's, got "
                f"{shown(text)}. Rename the file."
            )
        return Part(run_name, int(number) if number else None, file)
    if name not in known_sources():
        raise unknown_name("union", name, [*known_sources(), FILE])
    if not colon or not _NUMBER.fullmatch(rest):
        raise InvalidInputError(f"union: expected {name} with its number of documents, got {shown(text)}. {_REMEDY}")
    return Part(name, int(rest))


def tag_of(parts: Sequence[Part]) -> str:
    """Return the tag of the run of a union: one word."""
    return PREFIX + ",".join(map(str, parts))


def union_of_tag(tag: str) -> tuple[Part, ...] | None:
    """Return the union that a run's tag describes, None for another tag."""
    return parse_union(tag.removeprefix(PREFIX)) if tag.startswith(PREFIX) else None


def search_union(inputs: SearchInputs, parts: Sequence[Part]) -> UnionRun:
    """Return the union of the documents of each source."""
    runs = {part.name: _search(inputs, part) for part in parts}
    merged = [_merged([_of_query(run, query_id) for run in runs.values()]) for query_id in inputs.query_ids]
    return UnionRun(
        query_ids=id_array(list(inputs.query_ids)),
        query_ptr=pointers([len(docs) for docs, _ in merged]),
        doc_ids=id_array([doc for docs, _ in merged for doc in docs]),
        scores=np.array([score for _, scores in merged for score in scores], dtype=np.float64),
        name=tag_of(parts),
        sources=runs,
    )


def _search(inputs: SearchInputs, part: Part) -> Run:
    if part.file is None:
        return source(part.name).search(inputs, part.k or 0)
    if part.name not in inputs.runs:
        raise InvalidInputError(
            f"union: expected the run {part.name}, got none. Give it (runs={{{part.name!r}: run}}, run:FILE)."
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
            f"union: expected documents of the index in the run {part.name}, got "
            f"{shown(str(run.doc_ids[unknown[0]]))}. Use a run of this index."
        )
    return run


def _of_query(run: Run, query_id: str) -> tuple[list[str], list[float]]:
    if query_id not in run:
        return [], []
    rows = run.rows(query_id)
    return run.doc_ids[rows].tolist(), run.scores[rows].tolist()


def _merged(lists: Sequence[tuple[list[str], list[float]]]) -> tuple[list[str], list[float]]:
    """Return the documents and scores of one query: those of the first list, then others by reciprocal rank fusion."""
    docs, scores = lists[0]
    held, fused = set(docs), dict[str, float]()
    for others, _ in lists[1:]:
        for rank, doc in enumerate(others, start=1):
            if doc not in held:
                fused[doc] = fused.get(doc, 0.0) + 1.0 / (_CONSTANT + rank)
    added = sorted(fused, key=lambda doc: (fused[doc], doc), reverse=True)
    lowest = min(scores, default=0.0)
    step = max(1.0, *(abs(score) for score in scores)) * _STEP if scores else _STEP
    return docs + added, scores + [lowest - step * number for number in range(1, len(added) + 1)]
