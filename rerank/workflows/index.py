"""An index as users hold it: built or opened, searched, and asked for features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.recipe import Recipe
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.folder import check_index_folder
from rerank.lucene.postings import open_forward
from rerank.lucene.search import Searcher
from rerank.types import Qrels, RankingData, Run, Topics

if TYPE_CHECKING:
    from rerank.forward import ForwardIndex
    from rerank.rankers.ranker import Ranker


class Index:
    """A Lucene index, and beside it the forward arrays that features are computed from."""

    def __init__(self, path: str | Path) -> None:
        """Open an index folder: one of ours, or any that Anserini or Pyserini built.

        Raises IndexFolderError or MissingFileError where the folder is none. Java starts with the first
        search, not here.
        """
        self.path = Path(path)
        check_index_folder(self.path)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an index folder."""
        return cls(path)

    @classmethod
    def build(
        cls,
        documents: Iterable[Mapping[str, Any]] | str | Path,
        path: str | Path,
        *,
        fields: Iterable[str] | None = None,
        threads: int | None = None,
        overwrite: bool = False,
    ) -> Self:
        """Build an index and open it.

        documents  mappings with `id` and text fields (or `contents`), or the path of a corpus: JSONL
                   (plain or .gz, a file or a folder of them) or TREC SGML
        path       the new folder; it appears whole or not at all
        fields     text fields to index by themselves beside `contents`; all of them by default
        """
        if isinstance(documents, str | Path):
            from rerank.files.corpus import corpus_format, read_documents

            if corpus_format(documents) == "trec":
                build_index_from_sgml(documents, path, threads=threads, overwrite=overwrite)
                return cls(path)
            documents = read_documents(documents)
        build_index(documents, path, fields=fields, threads=threads, overwrite=overwrite)
        return cls(path)

    @cached_property
    def forward(self) -> ForwardIndex:
        """The forward arrays, memory-mapped; made now where the index has none yet."""
        return open_forward(self.path)

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene side; starts Java."""
        return Searcher(self.path)

    def search(
        self,
        topics: Topics | Mapping[str, str],
        k: int = 1000,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        threads: int | None = None,
    ) -> Run:
        """Return BM25's k best documents of every topic: Anserini's hits, scores and order."""
        return self.searcher.search(Topics.of(topics), k=k, k1=k1, b=b, threads=threads)

    def features(
        self,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        threads: int | None = None,
    ) -> RankingData:
        """Return the features of the run's query-document pairs, with labels where qrels are given.

        runs  other runs (dense, neural, another engine's), by name: their scores and ranks become features
        """
        from rerank.features.extract import extract

        run, topics = Run.of(run), Topics.of(topics)
        missing = [query_id for query_id in run if query_id not in topics]
        if missing:
            raise InvalidInputError(
                f"run: expected a topic for every query, found none for {missing[0]!r} ({len(missing)} such queries in "
                "all); give the topics that the run was made for."
            )
        query_ids = list(run)
        terms = self.searcher.analyze([topics[query_id] for query_id in query_ids])
        return extract(
            self.forward,
            dict(zip(query_ids, terms, strict=True)),
            run,
            recipe,
            None if qrels is None else Qrels.of(qrels),
            runs={name: Run.of(other) for name, other in (runs or {}).items()},
            threads=threads,
        )

    def check_model(self, model: Ranker) -> None:
        """Refuse a model whose features were made on another index; raises ModelMismatchError."""
        theirs, ours = model.fingerprint_, dict(self.forward.fingerprint)
        if theirs is None or dict(theirs) == ours:
            return
        differing = [key for key in ours if theirs.get(key) != ours[key]]
        key = differing[0] if differing else next(iter(theirs))
        raise ModelMismatchError(
            f"{self.path}: expected the index that the model was trained on ({key}: {theirs.get(key)}), found another "
            f"({key}: {ours.get(key)}); train on this index, or allow it (other_index=True, --other-index)."
        )

    def close(self) -> None:
        """Let go of the Lucene reader."""
        if "searcher" in self.__dict__:
            self.searcher.close()
            del self.__dict__["searcher"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
