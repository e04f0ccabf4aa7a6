"""An index whose searches, features and reranking are computed by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rerank.cluster.tables import MOST_ROWS, of_queries, query_parts
from rerank.cluster.worker import Job, OpenIndex
from rerank.errors import InvalidInputError
from rerank.features.extract import rows_without_features
from rerank.features.inputs import check_scores
from rerank.features.recipe import Recipe
from rerank.files.data import write_data
from rerank.files.source import file_mark
from rerank.files.topics import read_topics
from rerank.files.trec import read_run
from rerank.history.reading import load_history
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import load_model
from rerank.retrieval.union import UnionRun, parse_union, run_of_part
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.vectors.vectors import Vectors
from rerank.workflows.index import Index, check_topics, given_runs
from rerank.workflows.rerank import rerank

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster

MOST_ROWS_OF_FEATURES = 1 << 13  # of a part: its features are sent and written while workers compute the next ones


class ClusterIndex(Index):
    """An index that the workers of a cluster open; `Cluster.open` returns it.

    Parameters
    ----------
    cluster : Cluster
        The cluster.
    path, language : path, str or None
        As for `Index`: the same folder on this machine and on every worker.

    """

    def __init__(self, cluster: Cluster, path: str | Path, language: str | None = None) -> None:
        super().__init__(path, language)
        self.cluster = cluster
        self._files: list[tuple[Vectors, Path]] = []

    def features(self, run: Any, topics: Any, qrels: Any = None, **options: Any) -> RankingData:
        """Return the features of the query-document pairs of a run, see `Index.features`."""
        data, blocks = self._features(run, topics, qrels, **options)
        X = np.empty(data.X.shape, dtype=np.float32)
        first = 0
        for block in blocks:
            X[first : first + len(block)] = block
            first += len(block)
        return replace(data, X=X)

    def write_features(self, path: str | Path, run: Any, topics: Any, qrels: Any = None, **options: Any) -> None:
        """Write features to a file in batches, see `Index.write_features`."""
        data, blocks = self._features(run, topics, qrels, **options)
        write_data(data, path, blocks)

    def rerank(self, model: Any, topics: Any, run: Any = None, **options: Any) -> Run:
        """Return the top documents in the order of a model, see `rerank.rerank`."""
        model = model if isinstance(model, Ranker) else load_model(model)
        topics = read_topics(topics) if isinstance(topics, str | Path) else Topics.of(topics)
        candidates = read_run(run) if isinstance(run, str | Path) else None if run is None else Run.of(run)
        runs = {name: Run.of(other) for name, other in (options.pop("runs", None) or {}).items()}
        if options.get("union") is not None:
            runs = {**self._given_runs(options["union"], runs), **runs}
        if isinstance(options.get("first"), str | Path):
            options["first"] = load_model(options["first"])
        if isinstance(options.get("history"), str | Path):
            options["history"] = load_history(options["history"])
        base = options.pop("base", None)
        tables = {"topics": topics, "run": candidates, "runs": runs, "base": None if base is None else Run.of(base)}
        query_ids = list(topics if candidates is None else candidates)
        if candidates is not None:
            check_topics(candidates, topics)
        parts: list[Run] = list(self._map(rerank, {"model": model, **options}, tables, query_ids, "reranking"))
        return Run.joined(parts)

    def each(self, function: Callable[..., Any], shared: Any, items: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield function(shared, item) for each item, computed by the workers."""
        job = Job(_call, {"function": function, "shared": shared})
        yield from self.cluster.map(job, [partial(dict, item=item) for item in items], what)

    def read_vectors(self, given: Vectors | str | Path | None) -> Vectors | None:
        """Return vectors of the index, read if a file is given; see `Index.read_vectors`."""
        read = super().read_vectors(given)
        if isinstance(given, str | Path) and read is not None:
            self._files.append((read, Path(given)))
        return read

    def _search(self, topics: Topics, k: int, retriever: str, options: dict[str, Any]) -> Run:
        shared = {"k": k, "retriever": retriever, **options}
        parts: list[Run] = list(self._map(_search_of, shared, {"topics": topics}, list(topics), "searching"))
        return Run.joined(parts)

    def _search_union(self, topics: Topics, union: str, runs: Mapping[str, Run], options: dict[str, Any]) -> UnionRun:
        given = self._given_runs(union, runs)
        tables = {"topics": topics, "runs": given}
        shared = {"union": union, **options}
        parts: list[UnionRun] = list(self._map(Index.search_union, shared, tables, list(topics), "searching"))
        joined = UnionRun.joined(parts)
        return replace(joined, sources={**joined.sources, **given})  # also of queries without a topic

    def _given_runs(self, union: str, runs: Mapping[str, Run]) -> dict[str, Run]:
        """Return the runs of other systems as a union takes them, read where they are not given."""
        parts = [part for part in parse_union(union) if part.file is not None]
        read = {part.name: read_run(str(part.file)) for part in parts if part.name not in runs}
        return {part.name: run_of_part({**runs, **read}[part.name], part, self.forward) for part in parts}

    def _features(
        self, run: Any, topics: Any, qrels: Any, recipe: Recipe | None = None, runs: Any = None, **options: Any
    ) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
        """Return everything but the features, and the features part by part."""
        run, topics = Run.of(run), Topics.of(topics)
        check_topics(run, topics)
        others = given_runs(run, runs)
        run = run.take(run.trec_order())
        check_scores(run)
        bare = Run(run.query_ids, run.query_ptr, run.stored_ids, run.scores, run.name)
        tables = {"topics": topics, "run": bare, "runs": others}
        parts = self._map(_features_of, {"recipe": recipe, **options}, tables, list(run), "features", run)
        first = next(parts)
        judgements = None if qrels is None else Qrels.of(qrels)
        about = (first[name] for name in ("names", "recipe", "fingerprint"))
        data = rows_without_features(run, judgements, others, *about)
        return data, _blocks(first, parts)

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
        files = {}
        if shared.get("vectors") is not None:
            shared["vectors"] = self._vectors_file(shared["vectors"])
            files[str(shared["vectors"])] = file_mark(shared["vectors"])
        index = OpenIndex(str(self.path.resolve()), self.language, dict(self.forward.fingerprint))
        sizes = np.ones(len(query_ids)) if run is None else np.diff(run.query_ptr)
        most_rows = MOST_ROWS if run is None else MOST_ROWS_OF_FEATURES
        ranges = query_parts(sizes.astype(np.int64), len(self.cluster.workers()), most_rows)
        parts = [partial(_tables_of, tables, query_ids[part]) for part in ranges]
        if not parts:  # an error, or an empty result, that is the same here
            return iter([function(Index(self.path, self.language), **shared, **_tables_of(tables, []))])
        return self.cluster.map(Job(function, shared, index, files), parts, what)

    def _vectors_file(self, given: Any) -> Path:
        if isinstance(given, str | Path):
            return Path(given).resolve()
        for vectors, path in self._files:
            if vectors is given:
                return path.resolve()
        raise InvalidInputError(
            "vectors: expected the path of their file, which every worker reads, got Vectors. Save them, and pass the "
            "path."
        )


def _tables_of(tables: Mapping[str, Any], query_ids: Sequence[str]) -> dict[str, Any]:
    return {name: of_queries(table, query_ids) for name, table in tables.items()}


def _search_of(index: Index, topics: Topics, k: int, retriever: str, **options: Any) -> Run:
    return index._search(topics, k, retriever, options)  # without the warning of topics without hits


def _features_of(index: Index, run: Run, topics: Topics, runs: Mapping[str, Run], **options: Any) -> dict[str, Any]:
    """Return the features of a part as a dict, whose arrays Dask sends without copies."""
    data = index.features(run, topics, runs=runs, **options)
    return {
        "X": data.X,
        "names": data.feature_names,
        "recipe": data.recipe or {},
        "fingerprint": data.fingerprint or {},
    }


def _blocks(first: dict[str, Any], others: Iterator[dict[str, Any]]) -> Iterator[NDArray[np.float32]]:
    yield first["X"]
    for part in others:
        yield part["X"]


def _call(function: Callable[..., Any], shared: Any, item: Any) -> Any:
    return function(shared, item)
