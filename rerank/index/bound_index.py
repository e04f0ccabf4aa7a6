"""An opened index with its resources: search and features."""

from __future__ import annotations

from collections.abc import Callable, Collection as Names, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, check_known, first_names, log, shown
from rerank.features.near_duplicates import query_groups
from rerank.features.recipe import Recipe
from rerank.files.beir import OWN_DOCUMENTS, n_own_documents
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike, qrels_of, run_of, topics_of
from rerank.files.irds import data_set_name
from rerank.files.trec import read_run
from rerank.history.history import History
from rerank.history.judged import IndexHistory, UnnamedHistory
from rerank.index.collection import Collection
from rerank.index.input_checks import check_topics, log_judged
from rerank.index.model_checks import check_model, model_recipe
from rerank.index.opened_index import OpenedIndex
from rerank.index.resources import (
    HISTORY,
    LANGUAGE,
    SCORER,
    VECTORS,
    Resources,
    bound_scorer,
    kept_text,
    named_runs,
    needed_resources,
    resource_folder,
    resource_name,
)
from rerank.lucene.documents import stored_text
from rerank.lucene.folder import open_commit
from rerank.lucene.search import Searcher, check_hits
from rerank.lucene.shards import index_folders
from rerank.lucene.texts import TextAnalyser
from rerank.retrieval.base import SearchInputs, source
from rerank.retrieval.candidates import Candidates
from rerank.retrieval.union import search_union
from rerank.types import BM25, CONTENTS, ForwardIndex, Ints, Passages, Qrels, RankingData, Run, Topics
from rerank.types.ids import QUERY
from rerank.types.labels import labelled_data
from rerank.types.retriever import K1, B
from rerank.types.statistics import Statistics
from rerank.types.vocabulary import find_terms
from rerank.vectors.encoder import Encoder
from rerank.vectors.query_vectors import Encoded
from rerank.vectors.scorer import Scorer
from rerank.vectors.vectors import ENCODER, LSI, Vectors

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker

MOST_POSTINGS_OF_HISTORY = 1 << 23  # up to which the nearest documents of each document are found unasked
_FILES = {"vectors": VECTORS, "history": HISTORY}
FEWEST_WORDS = 20  # of queries whose language is judged


class BoundIndex(Collection):
    """An opened index with its resources; see `rerank.index.index.Index`."""

    def __init__(
        self,
        path: str | Path,
        language: str | None = None,
        *,
        vectors: Vectors | str | Path | bool | None = None,
        history: History | str | Path | bool | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None,
        scorer: Scorer | str | Callable[[str, list[str]], Any] | bool | None = None,
        runs: Mapping[str, RunLike] | None = None,
        threads: int | None = None,
        check_models: bool = True,
        remove_query: bool = False,
    ) -> None:
        if not isinstance(path, str | Path):
            raise InvalidInputError(
                f"index: expected an index or its folder, got {shown(repr(path))}. Arguments are in the order index, "
                "model, topics, run."
            )
        bound = Resources(vectors, history, encoder, named_runs(runs), bound_scorer(scorer), remove_query)
        super().__init__(Path(path), bound, threads, check_models)
        commit = open_commit(self.path)
        if language is None:
            what = "the code of a language, got another text. Run `rerank index INDEX --language`."
            language = kept_text(
                resource_folder(self.path, commit) / LANGUAGE, what, lambda text: text.isascii() and text.isalnum()
            )
        self.language = language
        self._opened = OpenedIndex(self.path, self.language, commit)

    @property
    def forward(self) -> ForwardIndex:
        """The forward arrays, memory-mapped; they are made now if the index has none."""
        return self._opened.forward

    @property
    def searcher(self) -> Searcher:
        """The Lucene searcher; starts Java."""
        return self._opened.searcher

    @property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts that the index does not hold; starts Java."""
        return self._opened.text_analyser

    @property
    def resources(self) -> Path:
        """The folder of what `rerank vectors` and `rerank history` learn."""
        return resource_folder(self.path, self._opened.commit)

    @property
    def passages(self) -> Passages | None:
        """The passages that `keep_passages` keeps with the index; None without."""
        return self._opened.passages

    analyser = searcher

    def statistics(self, model: Ranker) -> Statistics | None:
        """Return what a model needs of the index for texts, which `rerank.train` stores with it; starts Java.

        Parameters
        ----------
        model : Ranker
            A fitted model with features of this index.

        Returns
        -------
        Statistics or None
            The statistics, with vectors of terms where the model needs them. None, which is logged, for a model with
            features of an encoder, an index of more than 2^20 terms, and vectors of more than 32 MB.

        """
        needs = needed_resources(model_recipe(model))
        vectors = self.vectors if "vectors" in needs else None
        statistics = None
        if ENCODER not in needs:
            space = None if vectors is None else vectors.spaces[LSI]
            learned = () if space is None else (space.term_vectors, space.query_map)
            statistics = Statistics.of(self.forward, self.searcher.joined_fields, *learned)
        if statistics is None:
            why = "its features need the encoder" if ENCODER in needs else "terms or their vectors are too many"
            log.info("statistics: the model holds none, since %s: texts are ranked with the index.", why)
        return statistics

    def _kept(self, name: str) -> Path | str | None:
        """Return a file of the index's resources, or the name of the encoder or scorer; None if there is none."""
        if name in (ENCODER, SCORER):
            return resource_name(name, self.path, self._opened.commit)
        file = self.resources / _FILES[name]
        return file if file.is_file() else None

    @property
    def learns_history(self) -> bool:
        """Whether training learns a history: `history` is not False, and the index is not too large."""
        n_postings = len(self.forward.fields[CONTENTS].terms) if CONTENTS in self.forward.fields else 0
        return self._bound.history is not False and 0 < n_postings <= MOST_POSTINGS_OF_HISTORY

    def index_history(self) -> IndexHistory | None:
        """Return the history with the documents' numbers and neighbours; None if nothing is learned.

        Returns
        -------
        IndexHistory or None
            The history on this index.

        """
        return None if self.history is None else self.history.on(self.forward, self._opened.neighbours)

    def text_history(self, have_ids: bool) -> IndexHistory | UnnamedHistory | None:
        """Return the history for features of texts.

        Parameters
        ----------
        have_ids : bool
            Whether texts were given with ids, which may be those of documents of the index.

        Returns
        -------
        IndexHistory, UnnamedHistory or None
            The history, whose features are missing without ids; None if nothing is learned.

        """
        history = self.index_history() if have_ids else None
        return super().text_history(have_ids) if history is None else replace(history, of_texts=True)

    @property
    def remove_query(self) -> bool:
        """Whether the document that has the id of the query is left out of candidates."""
        return self._bound.remove_query

    def candidates_of(self, run: RunLike) -> Run:
        """Return a run of candidates; with `remove_query`, without documents that have the ids of their queries.

        Parameters
        ----------
        run : Run, mapping, DataFrame or path
            The candidates.

        Returns
        -------
        Run
            The candidates to rank; one line is logged where documents that remain have the ids of their queries.

        """
        run = run_of(run)
        if self.remove_query:
            return run.without_own()
        n_own = 0 if "own documents" in self.warned_of else n_own_documents(run)
        if n_own:
            self.warned_of.add("own documents")
            log.info(OWN_DOCUMENTS, n_own, len(run), "are candidates", "remove_query=True, --remove-query")
        return run

    def search(
        self,
        topics: TopicsLike,
        k: int = 1000,
        *,
        candidates: Candidates | str = BM25,
        k1: float = K1,
        b: float = B,
        field: str = CONTENTS,
    ) -> Run:
        """Retrieve the top k documents of every topic; BM25 gives the same hits, scores and order as Anserini.

        If there are several sources, the documents of the first one come first, in its order and with its scores. The
        documents that only other sources found follow, ordered by reciprocal rank fusion, with lower scores.

        Parameters
        ----------
        topics : Topics, mapping, DataFrame, Path or str
            The topics, or their file; a str that names no file is one query, whose id is "query".
        k : int
            Number of documents per topic, from each source whose depth is not given.
        candidates : Candidates or str
            The sources: "bm25"; "rm3" (BM25 of the query expanded by BM25's first 10 documents), "lsi"
            (latent semantic indexing), "history" (documents judged relevant to similar queries), "encoder", or several
            with their depths: `bm25:1000,rm3:1000,lsi:200`. Another system's run is `run:NAME:500` for a run of the
            index, or `run:FILE:500`; all of it without a number. k1 and b may follow a name: `bm25-k1=1.2-b=0.75:1000`.
        k1, b : float
            Parameters of BM25, where `candidates` is a str without them.
        field : str
            The indexed field to search; `contents` is the whole document.

        Returns
        -------
        Run
            The documents. The name of the run, which becomes the tag in a file, contains k1, b and the field; see
            `Run.retriever`. A topic without hits has no rows; as a run file cannot represent it, a warning is logged.
            With several sources, the result is a `UnionRun`, whose `sources` are the runs by name. Their scores and
            ranks become features, which are missing for documents that the source did not find.

        Raises
        ------
        InvalidInputError
            If a source of the candidates does not exist.

        """
        check_hits(k)
        if not isinstance(candidates, Candidates):
            candidates = Candidates.parse(candidates, k, k1=k1, b=b, field=field)
        is_query = isinstance(topics, str) and not data_set_name(topics) and not Path(topics).is_file()
        run = self.candidates_of(self.retrieve(topics_of({QUERY: topics} if is_query else topics), candidates))
        without = run.query_ids[np.diff(run.query_ptr) == 0].tolist()
        if without:
            log.warning(
                "Topics without hits, which a run file cannot contain: %d of %d (%s).",
                len(without),
                len(run),
                first_names(without),
            )
        return run

    def retrieve(self, topics: Topics, candidates: Candidates) -> Run:
        """Return what `search` does, without a warning of topics without hits.

        Parameters
        ----------
        topics : Topics
            The topics.
        candidates : Candidates
            The sources.

        Returns
        -------
        Run
            The documents, each id once in a query.

        """
        options: dict[str, Any] = {
            "k1": candidates.k1,
            "b": candidates.b,
            "field": candidates.field,
            "threads": self.threads,
        }
        first = candidates.sources[0]
        depth = first.k or 0
        bm25 = cache(lambda k: self.searcher.search(topics, k=k, **options))
        if first.name == BM25:  # before the analysis below: a search keeps the terms of few queries
            run = bm25(depth)
            if candidates.is_single:
                return self._each_once(run)
        check_known("field", candidates.field, self.forward.fields)
        reads = {name for part in candidates.sources if part.file is None for name in source(part.name).reads}
        inputs = SearchInputs(
            forward=self.forward,
            query_ids=list(topics),
            bm25=bm25,
            query_terms=self.searcher.analyze(list(topics.texts.values())),
            encoded=self._encoded(topics) if "encoder" in reads else None,
            vectors=self.vectors if "vectors" in reads else None,
            history=self.index_history() if "history" in reads else None,
            runs=self.runs_of(candidates),
            **options,
        )
        return self._each_once(
            source(first.name).search(inputs, depth) if candidates.is_single else search_union(inputs, candidates)
        )

    def _each_once(self, run: Run) -> Run:
        """Return a run with each id once in a query; warn where documents of the index have the same id."""
        once = run.each_once()
        if once.n_rows < run.n_rows:
            self.warn_once(
                f"{self.path}: expected an id for each document, got hits with the same id: the first of them counts. "
                "Build the index with each id once; `rerank doctor` names them."
            )
        return once

    def runs_of(self, candidates: Candidates) -> dict[str, Run]:
        """Return the runs of other systems among candidates: those that are bound, and others read from their files.

        Parameters
        ----------
        candidates : Candidates
            The candidates.

        Returns
        -------
        dict of str to Run
            The runs by name.

        """
        others = {part.name: part.file for part in candidates.sources if part.file is not None}
        return {name: self.runs[name] if name in self.runs else read_run(file) for name, file in others.items()}

    def features(
        self,
        run: RunLike,
        topics: TopicsLike,
        qrels: QrelsLike | None = None,
        *,
        recipe: Recipe | None = None,
        model: Ranker | str | Path | None = None,
    ) -> RankingData:
        """Return the features of the query-document pairs of a run.

        Parameters
        ----------
        run : Run, mapping, DataFrame or path
            The query-document pairs. The sources of a `UnionRun` become features, like the `runs` of the index.
        topics : Topics, mapping, DataFrame or path
            Topics of all queries of the run.
        qrels : Qrels, mapping, DataFrame, path or None
            Judgements, for labels.
        recipe : Recipe or None
            The features. None for the default recipe, which includes the features of all resources of the index.
        model : Ranker, path or None
            In place of a recipe, a model of this index, or its file: the features are those of its training, with the
            history that it holds.

        Returns
        -------
        RankingData
            The queries in the order of the run, the rows of a query in trec_eval's order.

        Raises
        ------
        InvalidInputError
            If a query has no topic, a document is not in the index, or the history was learned on another index.
        ModelMismatchError
            If the model was trained on another index, or has no recipe.

        """
        from rerank.features.extract import extract

        index, recipe = self._of_model(recipe, model)
        topics = topics_of(topics)
        judgements = None if qrels is None else qrels_of(qrels)
        inputs = index._extraction(run, topics, recipe)
        words = {term for terms in inputs["query_terms"].values() for term in terms}
        n_known = np.count_nonzero(find_terms(self.forward, [word.encode() for word in words]) >= 0)
        if len(words) >= FEWEST_WORDS and n_known < len(words) / 2:  # e.g. since the queries' language is another
            log.warning(
                "topics: the index has %d of their %d words. Are they in the language of the documents and its "
                "analyser?",
                n_known,
                len(words),
            )
        data = extract(**inputs)
        return data if judgements is None else self._labelled(data, judgements, topics)

    def _labelled(self, data: RankingData, qrels: Qrels, topics: Topics) -> RankingData:
        """Return data with labels and groups of near duplicates; warn where queries have no judgements."""
        without = [query_id for query_id in data if query_id not in qrels]
        if without:
            log.warning(
                "qrels: %d of %d queries have no judgements, e.g. %s: all their documents get label 0. Leave them out.",
                len(without),
                len(data),
                without[0],
            )
        groups = query_groups(self.forward, self.searcher.analyze([topics[query_id] for query_id in data]))
        return replace(labelled_data(data, qrels), query_groups=groups)

    def _of_model(self, recipe: Recipe | None, model: Ranker | str | Path | None) -> tuple[Self, Recipe | None]:
        """Return the index with the history of a model, and its recipe; without a model, both as they are."""
        if model is None:
            return self, recipe
        from rerank.rankers.ranker import fitted_model

        if recipe is not None:
            raise InvalidInputError("recipe: expected none beside a model, which has its own, got one. Leave one out.")
        return check_model(self, fitted_model(model))

    def some_features(
        self, needed: Names[str] | None, run: Run, topics: Topics, *, recipe: Recipe | None = None
    ) -> RankingData:
        """Return what `features` does, in which features that are not `needed` may be NaN, e.g. to score with a model.

        Parameters
        ----------
        needed : collection of str or None
            Names of features, e.g. `model.features_read()`; None is all.
        run, topics, recipe : as for `features`
            The pairs and their features.

        Returns
        -------
        RankingData
            The same columns as those of `features`.

        """
        from rerank.features.extract import extract

        return extract(**self._extraction(run, topics, recipe), needed=needed)

    def write_features(
        self,
        path: str | Path,
        run: RunLike,
        topics: TopicsLike,
        qrels: QrelsLike | None = None,
        *,
        recipe: Recipe | None = None,
        model: Ranker | str | Path | None = None,
    ) -> None:
        """Compute features and write them to a file in batches; memory does not grow with the number of queries.

        Parameters
        ----------
        path : path
            File name that ends in .npz, .parquet, .svm or .txt (the latter two also with .gz).
        run, topics, qrels, recipe, model : as for `features`
            The pairs, their labels and their features.

        """
        from rerank.files.data import write_data

        index, recipe = self._of_model(recipe, model)
        topics = topics_of(topics)
        judgements = None if qrels is None else qrels_of(qrels)
        data, blocks = index._feature_blocks(run, topics, recipe)
        if judgements is not None:
            log_judged(data, judgements)
            data = self._labelled(data, judgements, topics)
        write_data(data, path, blocks)

    def _feature_blocks(
        self, run: RunLike, topics: Topics, recipe: Recipe | None
    ) -> tuple[RankingData, Iterator[NDArray[np.float32]]]:
        """Return everything but the features and labels, and the features block by block."""
        from rerank.features.extract import extract_blocks

        return extract_blocks(**self._extraction(run, topics, recipe))

    def _extraction(self, run: RunLike, topics: Topics, recipe: Recipe | None) -> dict[str, Any]:
        """Return the arguments of `extract`."""
        from rerank.features.resolved_recipe import Records

        run = run_of(run)
        check_topics(run, topics)
        texts = {query_id: topics[query_id] for query_id in run}
        terms = self.searcher.analyze(list(texts.values()))
        needs = needed_resources(recipe)
        return {
            "forward": self.forward,
            "query_terms": dict(zip(texts, terms, strict=True)),
            "run": run,
            "recipe": recipe,
            "records": Records(
                runs=runs_of_features(run, self),
                documents=self.stored_documents,
                vectors=self.vectors if "vectors" in needs else None,
                history=self.index_history() if "history" in needs else None,
                encoded=self._encoded(texts) if "encoder" in needs else None,
                passages=self.passages,
            ),
            "threads": self.threads,
        }

    def _encoded(self, texts: Mapping[str, str]) -> Encoded | None:
        """Return the vectors of the encoder for queries and documents; None without one."""
        if self.encoder is None:
            return None
        documents = self._opened.encode(self.encoder, self.document_texts)
        queries = self.encoder.encode_queries(list(texts.values()), documents.shape[1])
        return Encoded(self.encoder.name, documents, dict(zip(texts, queries, strict=True)))

    def encoded_documents(self) -> NDArray[np.float32]:
        """Return the encoder's vectors of all documents, which are computed now where there are none.

        Returns
        -------
        ndarray of shape (n_docs, dimensions), dtype float32
            The vectors, by document number.

        """
        encoded = self._encoded({})
        if encoded is None:
            raise InvalidInputError("index: expected an encoder, got none. Bind one (Index.open(..., encoder=...)).")
        return encoded.documents

    def stored_documents(self, numbers: Sequence[int] | Ints) -> list[str | None]:
        """Return documents by number as they were indexed (JSON or SGML), None if the index does not store them.

        Parameters
        ----------
        numbers : sequence of int, or ndarray of shape (n,) and dtype int64
            Document numbers of the forward arrays.

        Returns
        -------
        list of str or None
            The documents.

        """
        return self.searcher.documents(self.forward.lucene_docs[np.asarray(numbers, dtype=np.int64)].tolist())

    def document_texts(self, numbers: Ints) -> list[str]:
        """Return the text of documents by number: `contents`, or their fields joined as the index build joins them.

        Parameters
        ----------
        numbers : ndarray of shape (n,) and dtype int64
            Document numbers.

        Returns
        -------
        list of str
            The texts.

        Raises
        ------
        InvalidInputError
            If the index does not keep its documents.

        """
        joined = self.searcher.joined_fields
        return [stored_text(text, self.forward.fields, joined) if text else "" for text in self.kept_documents(numbers)]

    def kept_documents(self, numbers: Ints) -> list[str]:
        """Return documents by number as they were indexed; empty for a deleted one.

        Parameters
        ----------
        numbers : ndarray of shape (n,) and dtype int64
            Document numbers.

        Returns
        -------
        list of str
            The documents.

        Raises
        ------
        InvalidInputError
            If the index does not keep its documents.

        """
        stored = self.stored_documents(numbers)
        doc_ids = self.forward.doc_ids[numbers].tolist()
        missing = [doc_id for doc_id, text in zip(doc_ids, stored, strict=True) if text is None]
        if any(missing):  # a deleted document has the empty id
            raise InvalidInputError(
                f"{self.path}: expected an index that keeps its documents, got none for {missing[0]!r}. Index with raw "
                "documents (-storeRaw)."
            )
        return [text or "" for text in stored]

    def close(self) -> None:
        """Close the Lucene reader."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def is_index(folder: Path) -> bool:
    """Return whether a path is the folder of an index, or of the shards of one."""
    return folder.is_dir() and bool(index_folders(folder))


def runs_of_features(run: Run, index: BoundIndex) -> dict[str, Run]:
    """Return the runs whose scores become features of another: those of a union, and those of the index."""
    return {**getattr(run, "sources", {}), **index.runs}
