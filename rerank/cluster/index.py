"""An index whose searches, features and reranking are computed by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.cluster.worker import Job, OpenIndex
from rerank.errors import InvalidInputError
from rerank.features.extract import check_scores, rows_without_features
from rerank.features.recipe import Recipe
from rerank.files.data import write_data
from rerank.files.lists import qrels_of, run_of, topics_of
from rerank.files.source import file_mark
from rerank.index.bound import HISTORY, VECTORS, check_topics, runs_beside, stored_encoder
from rerank.index.index import Index
from rerank.pipeline.applying import applied_model
from rerank.pipeline.rerank import rerank
from rerank.rankers.ranker import fitted_model
from rerank.retrieval.base import Candidates
from rerank.retrieval.union import UnionRun, run_of_part
from rerank.training.folds import groups_of_topics
from rerank.types import Ints, RankingData, Run, Topics

PARTS_PER_WORKER = 4  # so that workers end at similar times
MOST_QUERIES = 1024  # of a part
MOST_ROWS = 1 << 13  # of a part: its features are sent and written while workers compute the next ones


class ClusterIndex(Index):
    """An index that the workers of a cluster open; `Cluster.open` returns it.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    path, language, **resources : path, str or None, and others
        As for `Index`: the same folder on this machine and on every worker, and so are files of resources.

    """

    def __init__(self, cluster: Any, path: str | Path, language: str | None = None, **resources: Any) -> None:
        super().__init__(path, language, **resources)
        self.cluster = cluster

    def features(self, run: Any, topics: Any, qrels: Any = None, *, recipe: Recipe | None = None) -> RankingData:
        """Return the features of the query-document pairs of a run, see `Index.features`."""
        data, blocks = self._features(run, topics, qrels, recipe)
        return replace(data, X=np.concatenate(list(blocks)))

    def write_features(
        self, path: str | Path, run: Any, topics: Any, qrels: Any = None, *, recipe: Recipe | None = None
    ) -> None:
        """Write features to a file in batches, see `Index.write_features`."""
        data, blocks = self._features(run, topics, qrels, recipe)
        write_data(data, path, blocks)

    def rerank(self, model: Any, topics: Any, run: Any = None, *, base: Any = None, **options: Any) -> Run:
        """Return the top documents in the order of a model, see `rerank.rerank`."""
        model = applied_model(model, self, union=run is None)
        topics = topics_of(topics)
        candidates = None if run is None else run_of(run)
        if options.get("first") is not None:
            options["first"] = fitted_model(options["first"])
        if candidates is not None:
            check_topics(candidates, topics)
        tables = {"topics": topics, "run": candidates, "base": None if base is None else run_of(base)}
        query_ids = list(topics if candidates is None else candidates)
        return Run.joined(list(self._map(rerank, {"model": model, **options}, tables, query_ids, "reranking")))

    def each(self, function: Callable[..., Any], shared: object, items: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield function(shared, item) for each item, computed by the workers."""
        job = Job(_call, {"function": function, "shared": shared})
        yield from self.cluster.map(job, [partial(dict, item=item) for item in items], what)

    def retrieve(self, topics: Topics, candidates: Candidates) -> Run:
        """Return the documents of candidates, see `Index.retrieve`."""
        runs = self.runs_of(candidates)
        others = {
            part.name: run_of_part(runs[part.name], part, self.forward) for part in candidates.sources if part.file
        }
        tables = {"topics": topics, "runs": {**self.runs, **others}}
        parts: list[Any] = list(
            self._map(Index.retrieve, {"candidates": candidates}, tables, list(topics), "searching")
        )
        if candidates.is_single:
            return Run.joined(parts)
        joined = UnionRun.joined(parts)
        return replace(joined, sources={**joined.sources, **others})  # also of queries without a topic

    def _features(
        self, run: Any, topics: Any, qrels: Any, recipe: Recipe | None
    ) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
        """Return everything but the features, and the features part by part."""
        run = run_of(run)
        topics = topics_of(topics)
        check_topics(run, topics)
        others = runs_beside(run, self)
        run = run.take(run.trec_order())
        check_scores(run)
        bare = Run(run.query_ids, run.query_ptr, run.stored_ids, run.scores, run.name)
        tables = {"topics": topics, "run": bare, "runs": others}
        parts = self._map(_features_of, {"recipe": recipe}, tables, list(run), "features", run)
        X, *about = next(parts)
        judgements = None if qrels is None else qrels_of(qrels)
        data = rows_without_features(run, judgements, others, *about)
        if judgements is not None:
            judged = Topics({query_id: topics[query_id] for query_id in run})
            data = replace(data, query_groups=groups_of_topics(self, judged))
        return data, chain([X], (part[0] for part in parts))

    def _map(
        self,
        function: Callable[..., Any],
        shared: dict[str, Any],
        tables: Mapping[str, Any],
        query_ids: Sequence[str],
        what: str,
        run: Run | None = None,
    ) -> Iterator[Any]:
        """Yield the results of a function for parts of the queries, in order.

        shared  arguments of all parts
        tables  arguments of which each part has its queries
        run     whose rows are the work
        """
        index = self._on_workers()
        if "runs" not in tables:
            tables = {**tables, "runs": self.runs}
        sizes = np.ones(len(query_ids)) if run is None else np.diff(run.query_ptr)
        most = MOST_QUERIES if run is None else MOST_ROWS
        ranges = query_parts(sizes.astype(np.int64), len(self.cluster.workers()), most)
        parts = [partial(_tables_of, tables, query_ids[part]) for part in ranges]
        job = Job(partial(_on_index, function=function), shared, index)
        yield from self.cluster.map(job, parts, what)

    def _on_workers(self) -> OpenIndex:
        """Return how workers open the index; they read files themselves, a history and an encoder are sent."""
        vectors = self._bound.vectors
        if not (vectors is None or isinstance(vectors, bool | str | Path)):
            raise InvalidInputError(
                "vectors: expected the path of their file, which every worker reads, got Vectors. Save them, and pass "
                "the path."
            )
        if isinstance(vectors, str | Path):
            vectors = Path(vectors).resolve()
        history = self._bound.history
        own = [self.resources / name for name, resource in ((VECTORS, vectors), (HISTORY, history)) if resource is None]
        files = [vectors] if isinstance(vectors, Path) else []
        marks = {str(file): file_mark(file) for file in (*files, *(file for file in own if file.is_file()))}
        options = {
            "vectors": vectors,
            "history": self.history if isinstance(history, str | Path) else history,
            "encoder": stored_encoder(self._opened.commit) if self._bound.encoder is None else self._bound.encoder,
            "check_models": self.check_models,
        }
        return OpenIndex(str(self.path.resolve()), self.language, dict(self.forward.fingerprint), marks, options)


def query_parts(sizes: Ints, n_workers: int, most: int) -> list[slice]:
    """Return ranges of whole queries of about equal work, in order; one empty range without queries.

    sizes  (n_queries,) rows of each query
    most   rows of a range, beside those of its last query
    """
    if not len(sizes):
        return [slice(0)]
    ends = np.cumsum(np.maximum(sizes, 1))
    rows = min(max(int(ends[-1]) // (PARTS_PER_WORKER * n_workers), 1), most)
    starts = np.flatnonzero(np.diff((ends - 1) // rows)) + 1
    return [slice(first, last) for first, last in pairwise([0, *starts.tolist(), len(sizes)])]


def of_queries(table: Any, query_ids: Sequence[str]) -> Any:
    """Return the rows of some queries of a table: topics, qrels, a run, a mapping from names to runs, or None."""
    if table is None:
        return None
    if isinstance(table, Topics):
        return Topics({query_id: table[query_id] for query_id in query_ids if query_id in table})
    if isinstance(table, Mapping):
        return {name: of_queries(run, query_ids) for name, run in table.items()}
    return table.select(table.query_numbers(query_ids))


def _tables_of(tables: Mapping[str, Any], query_ids: Sequence[str]) -> dict[str, Any]:
    return {name: of_queries(table, query_ids) for name, table in tables.items()}


def _on_index(index: Index, function: Callable[..., Any], runs: Mapping[str, Run], **arguments: Any) -> Any:
    """Return the function's result for an index with the runs of some queries."""
    return function(index.using(runs=runs), **arguments)


def _features_of(index: Index, run: Run, topics: Topics, recipe: Recipe | None) -> tuple[Any, ...]:
    """Return the features of a part, their names, the recipe and the fingerprint of the index."""
    data = index.features(run, topics, recipe=recipe)
    return data.X, data.feature_names, data.recipe or {}, data.fingerprint or {}


def _call(function: Callable[..., Any], shared: object, item: object) -> Any:
    return function(shared, item)
