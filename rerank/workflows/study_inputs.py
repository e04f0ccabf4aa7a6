"""What a study is made of: an index with topics and judgements, or data with labels; and runs of other systems."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np

from rerank.errors import InvalidInputError, shown
from rerank.files.data import read_data
from rerank.files.records import QrelsLike, RunLike, TopicsLike, qrels_of, topics_of
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.workflows.folds import groups_by_id, groups_of_topics, logged_groups
from rerank.workflows.index import Index
from rerank.workflows.resources import named_runs
from rerank.workflows.study import NO_BASE, SYSTEMS, UNSUPERVISED, Study
from rerank.workflows.train import judged_queries

SourceLike = Index | RankingData | str | Path | Sequence[str | Path]
OF_INDEX = ("k", "candidates", "recipe", "learn_history")  # settings of a study of an index alone
FIRST = 10  # documents of a query of which a warning tells
_log = logging.getLogger("rerank")


@dataclass(frozen=True, eq=False)
class StudyInputs:
    """The inputs of a study, checked.

    topics      of an index; None for data
    qrels       judgements as they were given; None where they are the labels of the data
    judgements  those of the queries of the study alone, in the order of these
    runs        of other systems, by name, of the queries of the study
    """

    source: Index | RankingData
    topics: Topics | None
    qrels: Qrels | None
    judgements: Qrels
    runs: Mapping[str, Run]

    @classmethod
    def of(
        cls,
        source: Index | RankingData,
        topics: TopicsLike | None,
        qrels: QrelsLike | None,
        runs: Mapping[str, RunLike] | None = None,
    ) -> Self:
        """Return the inputs; an index needs topics and judgements, data neither."""
        given = None if qrels is None else qrels_of(qrels)
        if isinstance(source, RankingData):
            if topics is not None:
                raise InvalidInputError("topics: expected none beside data, got some. Leave them out.")
            source, judgements = _judged_data(source, given)
            judged = _judged_runs(runs, judgements)
            if given is None:
                _warn_of_others(judged, source)
            return cls(source, None, given, judgements, judged)
        if topics is None or given is None:
            missing = "topics" if topics is None else "qrels"
            raise InvalidInputError(
                f"{missing}: expected {missing} beside an index, got none. Pass both, or pass data."
            )
        every = topics_of(topics)
        judgements = judged_queries(every, given)[1]
        return cls(source, every, given, judgements, _judged_runs(runs, judgements))

    @property
    def judged(self) -> Topics:
        """The judged topics of an index."""
        topics = self.topics or Topics({})
        return Topics({query_id: topics[query_id] for query_id in self.judgements if query_id in topics})

    @property
    def index(self) -> Index | None:
        """The index; None for data."""
        return None if isinstance(self.source, RankingData) else self.source

    def groups(self) -> dict[str, int]:
        """Return the group of near duplicates of each judged query."""
        if isinstance(self.source, RankingData):
            return groups_by_id(self.source)
        judged = self.judged
        return logged_groups(judged, groups_of_topics(self.source, judged))

    def study(self, study: Study) -> Study:
        """Return the study with its base; refuse settings of an index for data, and names of runs that are taken."""
        if isinstance(self.source, RankingData):
            defaults = {each.name: each.default for each in fields(Study)}
            other = next((name for name in OF_INDEX if getattr(study, name) != defaults[name]), None)
            if other is not None:
                raise InvalidInputError(
                    f"{other}: expected none for data, whose candidates are given, got some. Leave it out."
                )
            study = study.starting(NO_BASE, self.source.feature_names)
        else:
            study = study.starting(UNSUPERVISED)
        taken = [name.lower() for name in (*SYSTEMS, UNSUPERVISED, *study.trained, *self.runs)]
        name = next((name for name in self.runs if taken.count(name.lower()) > 1), None)
        if name is not None:
            raise InvalidInputError(
                f"runs: expected names that no other system has, in any case, got {name}. Rename it."
            )
        return study


@contextmanager
def opened_source(source: SourceLike, topics: object) -> Iterator[Index | RankingData]:
    """Yield the index of a folder, where there are topics, or the data of files; both may be given as they are."""
    if isinstance(source, Index | RankingData):
        yield source
    elif topics is not None and isinstance(source, str | Path):
        with Index.open(source) as index:
            yield index
    else:
        yield read_data(source)


def _judged_data(data: RankingData, qrels: Qrels | None) -> tuple[RankingData, Qrels]:
    """Return the data of judged queries, and their judgements: the labels where no others are given."""
    if qrels is None:
        return data, label_qrels(data)
    if data.labels is None:
        raise InvalidInputError("data: expected labels to train on, got none. Make the data with qrels.")
    judged = [number for number, query_id in enumerate(data) if query_id in qrels]
    if not judged:
        raise InvalidInputError(
            f"qrels: expected judgements of the queries of the data, got none (a query is {shown(next(iter(data), ''))}"
            "). Check that both use the same query ids."
        )
    if len(judged) < len(data):
        _log.info("data: %d of %d queries have no judgements and are left out.", len(data) - len(judged), len(data))
        data = data.select(np.array(judged))
    return data, Qrels.of({query_id: qrels[query_id] for query_id in data})


def label_qrels(data: RankingData) -> Qrels:
    """Return the labels of data as judgements.

    Relevant documents that were not retrieved, of which data know the labels alone, have ids that no run has.
    """
    ideal, ideal_ptr = data.ideal()
    labels = data.labels if data.labels is not None else np.empty(0)
    if not (labels == np.rint(labels)).all():
        raise InvalidInputError("data: expected labels that are whole numbers, got others. Give qrels.")
    judged = {}
    for number, (query_id, rows) in enumerate(_rows_of_queries(data)):
        own = labels[rows].astype(np.int64).tolist()
        best = Counter(ideal[ideal_ptr[number] : ideal_ptr[number + 1]].astype(np.int64).tolist())
        others = enumerate((best - Counter(own)).elements(), 1)
        judged[query_id] = dict(zip(data.doc_ids[rows].tolist(), own, strict=True))
        judged[query_id] |= {f"(not retrieved {place})": label for place, label in others}
    return Qrels.of(judged)


def _warn_of_others(runs: Mapping[str, Run], data: RankingData) -> None:
    """Log which runs have documents whose labels the data do not know."""
    for name, run in runs.items():
        known = {query_id: set(data.doc_ids[rows].tolist()) for query_id, rows in _rows_of_queries(data)}
        first = {query_id: list(run[query_id])[:FIRST] for query_id in run}
        others = sum(doc_id not in known[query_id] for query_id, docs in first.items() for doc_id in docs)
        if others:
            text = (
                "run %s: %d of the first %d documents of its queries are not in the data and count as not relevant: "
                "give the judgements (qrels=), or study the index."
            )
            _log.warning(text, name, others, sum(map(len, first.values())))


def _rows_of_queries(data: RankingData) -> Iterator[tuple[str, slice]]:
    """Yield each query of data with its rows."""
    for number, query_id in enumerate(data):
        yield query_id, slice(int(data.query_ptr[number]), int(data.query_ptr[number + 1]))


def _judged_runs(runs: Mapping[str, RunLike] | None, judgements: Qrels) -> dict[str, Run]:
    """Return the judged queries of runs; log how many of these a run lacks."""
    judged = {}
    for name, run in named_runs(runs).items():
        names = [query_id for query_id in judgements if query_id in run]
        if len(names) < len(judgements):
            text = "run %s: no documents for %d of %d judged queries, which count as 0."
            _log.warning(text, name, len(judgements) - len(names), len(judgements))
        judged[name] = run.select(run.query_numbers(names))
    return judged
