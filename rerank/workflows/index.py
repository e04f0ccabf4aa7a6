"""An index as users hold it: built or opened, searched, and asked for features."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.features.recipe import Recipe
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.folder import check_index_folder
from rerank.lucene.postings import open_forward
from rerank.lucene.search import Searcher
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.retriever import CONTENTS

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker
    from rerank.types.forward import ForwardIndex

_log = logging.getLogger("rerank")


class Index:
    """A Lucene index, and beside it the forward arrays that features are computed from."""

    def __init__(self, path: str | Path, language: str | None = None) -> None:
        """Open an index folder: one of ours, or any that Anserini or Pyserini built.

        language  code of the analyser that Anserini built it with; an index of ours notes it itself
        Raises IndexFolderError or MissingFileError where the folder is none. Java starts with the first
        search, not here.
        """
        self.path, self._language = Path(path), language
        check_index_folder(self.path)

    @classmethod
    def open(cls, path: str | Path, language: str | None = None) -> Self:
        """Open an index folder."""
        return cls(path, language)

    @classmethod
    def build(
        cls,
        documents: Iterable[Mapping[str, Any]] | str | Path,
        path: str | Path,
        *,
        fields: Iterable[str] | None = None,
        numbers: Iterable[str] | None = None,
        language: str = "en",
        encoding: str = "utf-8",
        threads: int | None = None,
        overwrite: bool = False,
    ) -> Self:
        """Build an index and open it.

        documents  mappings with `id` and text fields (or `contents`), or the path of a corpus: JSONL
                   (plain or .gz, a file or a folder of them) or TREC SGML
        path       the new folder; it appears whole or not at all
        fields     text fields to index by themselves beside `contents`; all of them by default
        numbers    fields whose numbers become features; all that hold numbers by default
        language   code of the analyser, as in Anserini's `-language`
        encoding   of the text of a corpus, e.g. `latin-1` for old TREC collections; it extends ASCII
        """
        if isinstance(documents, str | Path):
            from rerank.files.corpus import corpus_format, read_documents

            if corpus_format(documents) == "trec":
                if fields is not None or numbers is not None:
                    raise InvalidInputError(
                        f"{documents}: expected JSONL where fields or numbers are named, got TREC SGML, whose one "
                        "field is contents. Leave them out (--fields, --numbers)."
                    )
                build_index_from_sgml(
                    documents, path, threads=threads, overwrite=overwrite, language=language, encoding=encoding
                )
                return cls(path)
            fields = None if fields is None else list(fields)
            documents = read_documents(documents, fields, others=True, encoding=encoding)
        build_index(
            documents, path, fields=fields, threads=threads, overwrite=overwrite, numbers=numbers, language=language
        )
        return cls(path)

    @cached_property
    def forward(self) -> ForwardIndex:
        """The forward arrays, memory-mapped; made now where the index has none yet."""
        forward = open_forward(self.path)
        if self._language is None:
            return forward
        return replace(forward, fingerprint={**forward.fingerprint, "language": self._language})

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene side; starts Java."""
        return Searcher(self.path, self._language)

    def search(
        self,
        topics: Topics | Mapping[str, str],
        k: int = 1000,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        field: str = CONTENTS,
        threads: int | None = None,
    ) -> Run:
        """Return BM25's k best documents of every topic: Anserini's hits, scores and order.

        field  the indexed field that is searched; `contents` is the whole document
        The run's name tells k1, b and the field: `run.retriever`, and the tag of a file. A topic without hits has no
        rows, and a run file cannot hold it: a warning is logged.
        """
        run = self.searcher.search(Topics.of(topics), k=k, k1=k1, b=b, field=field, threads=threads)
        without = run.query_ids[np.diff(run.query_ptr) == 0].tolist()
        if without:
            text = "Topics without hits, which the run file does not hold: %d of %d (%s%s)."
            _log.warning(text, len(without), len(run), ", ".join(without[:3]), ", ..." if len(without) > 3 else "")
        return run

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

        return extract(**self._extraction(run, topics, qrels, recipe, runs, threads))

    def write_features(
        self,
        path: str | Path,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        threads: int | None = None,
    ) -> None:
        """Write the features to a file, batch by batch: memory does not grow with the number of queries.

        path  ends in .npz, or .svm or .txt (also with .gz); the other arguments are those of `features`
        """
        from rerank.features.extract import extract_blocks
        from rerank.files.data import write_data

        data, blocks = extract_blocks(**self._extraction(run, topics, qrels, recipe, runs, threads))
        write_data(data, path, blocks)

    def _extraction(
        self, run: Any, topics: Any, qrels: Any, recipe: Recipe | None, runs: Any, threads: int | None
    ) -> dict[str, Any]:
        """Return the arguments of `extract`, as records."""
        run, topics = Run.of(run), Topics.of(topics)
        missing = [query_id for query_id in run if query_id not in topics]
        if missing:
            raise InvalidInputError(
                f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
                "all). Give the topics that the run was made for."
            )
        query_ids = list(run)
        terms = self.searcher.analyze([topics[query_id] for query_id in query_ids])
        return {
            "forward": self.forward,
            "query_terms": dict(zip(query_ids, terms, strict=True)),
            "run": run,
            "recipe": recipe,
            "qrels": None if qrels is None else Qrels.of(qrels),
            "runs": {name: Run.of(other) for name, other in (runs or {}).items()},
            "documents": self.searcher.documents,
            "threads": threads,
        }

    def check_model(self, model: Ranker) -> None:
        """Refuse a model whose features were made on another index; raises ModelMismatchError."""
        theirs, ours = model.fingerprint_, dict(self.forward.fingerprint)
        if theirs is None or dict(theirs) == ours:
            return
        part, trained, found = next(_differences("", dict(theirs), ours))
        raise ModelMismatchError(
            f"{self.path}: expected the index that the model was trained on ({part}: {trained}), got another "
            f"({part}: {found}). Train on this index, or allow it (other_index=True, --other-index)."
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


def _differences(part: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts in which two fingerprints differ, by dotted name, with both values."""
    for key in dict.fromkeys((*ours, *theirs)):
        name, one, other = f"{part}{key}", theirs.get(key), ours.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differences(f"{name}.", one, other)
        elif one != other:
            yield name, one, other
