"""An index whose searches, features and reranking are computed by the workers of a cluster, and what runs on these.

The process of a worker opens an index once, and does one task at a time with all of its threads.
"""

import asyncio
import pickle
import platform
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, ModelMismatchError, RerankError
from rerank.features.extract import rows_without_features
from rerank.features.families.functions import FUNCTIONS
from rerank.features.recipe import Recipe
from rerank.files.inputs import qrels_of, run_of, topics_of
from rerank.files.source import file_mark
from rerank.index.bound_index import runs_of_features
from rerank.index.index import Index
from rerank.index.input_checks import check_topics
from rerank.index.resources import HISTORY, SCORER, VECTORS, resource_name
from rerank.index.unsupervised import applied_model
from rerank.lucene.java_parts import anserini_version
from rerank.pipeline.rerank import rerank
from rerank.retrieval.candidates import Candidates
from rerank.retrieval.union import UnionRun, run_of_part
from rerank.runtime.threads import at_most_threads
from rerank.types import RankingData, Run, Topics
from rerank.types.forward import fingerprint_differences
from rerank.vectors.vectors import ENCODER
from rerank.version import __version__

PARTS_PER_WORKER = 4  # so that workers end at similar times
MOST_QUERIES = 1024  # of a part
MOST_ROWS = 1 << 13  # of a part, about: its features are sent and written while workers compute the next ones

_one_task = threading.Lock()  # parallel kernels of several threads may abort the process
_indexes: dict[tuple[str, str | None], Index] = {}


@dataclass(frozen=True)
class OpenIndex:
    """The index of a job: its folder on every worker, and what it must have there.

    fingerprint  of its forward arrays
    files        of its resources: `file_mark` by path
    options      of `Index.using`
    """

    path: str
    language: str | None
    fingerprint: Mapping[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def index(self) -> Index:
        """The index with its resources, which this process opens once."""
        for path, mark in self.files.items():
            if file_mark(path) != mark:
                raise ModelMismatchError(
                    f"{path}: expected the same file as on the client, got another. Copy it to every worker, or name a "
                    "file that all of them share."
                )
        expected = dict(self.fingerprint)
        key = (self.path, self.language)
        index = _indexes.get(key)
        if index is None or dict(index.forward.fingerprint) != expected:  # perhaps built anew meanwhile
            index = _indexes[key] = Index.open(self.path, self.language)
            _ = index.searcher  # opened now, with the commit of the forward arrays
        opened = dict(index.forward.fingerprint)
        if opened != expected:
            name, value, got = next(fingerprint_differences("", expected, opened))
            raise ModelMismatchError(
                f"{self.path}: expected the same index as on the client ({name}: {value}), got another ({name}: "
                f"{got}). Copy the index to every worker, or name a folder that all of them share."
            )
        return index.using(**self.options)


def run_task(packed: bytes, arguments: bytes) -> Any:
    """Return what a job makes of the arguments of a task, or the error of its input, which Dask would try again."""
    from distributed import get_worker

    with _one_task, at_most_threads(int(get_worker().state.nthreads)):
        try:
            return _job(packed)(pickle.loads(arguments))
        except RerankError as error:
            return error


@lru_cache(maxsize=4)
def _job(packed: bytes) -> Callable[[Any], Any]:
    """Return a job, with the user's functions defined; the same one for all of its tasks."""
    job: Callable[[Any], Any]
    job, functions = pickle.loads(packed)
    FUNCTIONS.clear()
    FUNCTIONS.update(functions)
    return job


async def state(packed: bytes) -> tuple[dict[str, str], Exception | None]:
    """Return the versions of this process, and the error of an index that it lacks; the worker answers meanwhile."""
    try:
        await asyncio.to_thread(lambda: getattr(pickle.loads(packed), "index", None))
    except Exception as error:
        return environment(), error
    return environment(), None


def environment() -> dict[str, str]:
    """Return the versions that results may depend on, those of this process."""
    try:
        anserini = anserini_version()
    except RerankError:
        anserini = "none"
    return {
        "rerank": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": version("numpy"),
        "numba": version("numba"),
        "Anserini": anserini,
    }


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

    def features(
        self, run: Any, topics: Any, qrels: Any = None, *, recipe: Recipe | None = None, model: Any = None
    ) -> RankingData:
        """Return the features of the query-document pairs of a run, see `Index.features`."""
        index, recipe = self._of_model(recipe, model)
        topics = topics_of(topics)
        judgements = None if qrels is None else qrels_of(qrels)
        data, blocks = index._feature_blocks(run, topics, recipe)
        data = replace(data, X=np.concatenate(list(blocks)))
        return data if judgements is None else self._labelled(data, judgements, topics)

    def rerank(self, model: Any, topics: Any, run: Any = None, *, base: Any = None, **options: Any) -> Run:
        """Return the top documents in the order of a model, see `rerank.rerank`."""
        model = applied_model(model, self, union=run is None)
        topics = topics_of(topics)
        candidates = None if run is None else run_of(run)
        if candidates is not None:
            check_topics(candidates, topics)
        tables = {"topics": topics, "run": candidates, "base": None if base is None else run_of(base)}
        query_ids = list(topics if candidates is None else candidates)
        return Run.joined(list(self._map(rerank, {"model": model, **options}, tables, query_ids, "reranking")))

    def map_items(self, function: Callable[..., Any], shared: object, items: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield function(shared, item) for each item, computed by the workers."""
        yield from self.cluster.map(partial(function, shared), items, len(items), what)

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

    def _feature_blocks(
        self, run: Any, topics: Topics, recipe: Recipe | None
    ) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
        """Return everything but the features and labels, and the features part by part, as workers compute them."""
        run = run_of(run)
        check_topics(run, topics)
        others = runs_of_features(run, self)
        run = run.take(run.trec_order())
        run.check_finite()
        bare = Run(run.query_ids, run.query_ptr, run.stored_ids, run.scores, run.name)
        tables = {"topics": topics, "run": bare, "runs": others}
        parts = self._map(_features_of, {"recipe": recipe}, tables, list(run), "features", run)
        X, names, of_features, fingerprint = next(parts)
        data = rows_without_features(run, others, names, of_features, fingerprint)
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
        tables = {"runs": self.runs, **tables}
        parts = query_parts(len(query_ids), 0 if run is None else run.n_rows, len(self.cluster.workers()))
        arguments = (of_queries(tables, query_ids[part]) for part in parts)
        yield from self.cluster.map(partial(_on_index, index, function, shared), arguments, len(parts), what, index)

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
        bound = {name: getattr(self._bound, name) for name in (ENCODER, SCORER)}
        options = {
            **{
                name: resource_name(name, self.path, self._opened.commit) if of_name is None else of_name
                for name, of_name in bound.items()
            },
            "vectors": vectors,
            "history": self.history if isinstance(history, str | Path) else history,
            "check_models": self.check_models,
            "remove_query": self.remove_query,
        }
        return OpenIndex(str(self.path.resolve()), self.language, dict(self.forward.fingerprint), marks, options)


def query_parts(n_queries: int, n_rows: int, n_workers: int) -> list[slice]:
    """Return ranges of about as many queries, in order; one empty range without queries."""
    n_parts = max(PARTS_PER_WORKER * n_workers, -(-n_queries // MOST_QUERIES), -(-n_rows // MOST_ROWS))
    bounds = np.unique(np.arange(n_parts + 1) * n_queries // n_parts).tolist()
    return [slice(*part) for part in pairwise(bounds)] or [slice(0)]


def of_queries(table: Any, query_ids: Sequence[str]) -> Any:
    """Return the rows of some queries of a table: topics, qrels, a run, a mapping from names to tables, or None."""
    if table is None:
        return None
    if isinstance(table, Topics):
        return Topics({query_id: table[query_id] for query_id in query_ids if query_id in table})
    if isinstance(table, Mapping):
        return {name: of_queries(part, query_ids) for name, part in table.items()}
    return table.select(table.query_numbers(query_ids))


def _on_index(
    opened: OpenIndex, function: Callable[..., Any], shared: Mapping[str, Any], tables: Mapping[str, Any]
) -> Any:
    """Return the function's result for an index with its runs, and the rows of tables, of some queries."""
    index = opened.index.using(runs=tables["runs"])
    return function(index, **shared, **{name: table for name, table in tables.items() if name != "runs"})


def _features_of(index: Index, run: Run, topics: Topics, recipe: Recipe | None) -> tuple[Any, ...]:
    """Return the features of a part, their names, the recipe and the fingerprint of the index."""
    data = index.features(run, topics, recipe=recipe)
    return data.X, data.feature_names, data.recipe or {}, data.fingerprint or {}
