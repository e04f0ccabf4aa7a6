"""The index as users see it: build, open, search, compute features."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rerank.errors import InvalidInputError, ModelMismatchError, unknown_name
from rerank.features.recipe import Recipe
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.lucene.folder import open_commit
from rerank.lucene.postings import open_forward
from rerank.lucene.search import Searcher, check_hits
from rerank.runtime.progress import track
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.retriever import BM25, CONTENTS
from rerank.workflows.fingerprints import fingerprint_differences

if TYPE_CHECKING:
    from rerank.history.history import History
    from rerank.lucene.texts import TextAnalyser
    from rerank.rankers.ranker import Ranker
    from rerank.retrieval.base import SearchInputs
    from rerank.retrieval.union import UnionRun
    from rerank.types import Ints
    from rerank.types.forward import ForwardIndex
    from rerank.vectors.encoder import EncodedDocuments, Encoder
    from rerank.vectors.queries import Encoded
    from rerank.vectors.vectors import Vectors
    from rerank.workflows.texts import RankedText

_log = logging.getLogger("rerank")


class Index:
    """A Lucene index with the forward arrays from which features are computed.

    Parameters
    ----------
    path : path
        Folder of an index that `Index.build`, Anserini or Pyserini built, or of several such indexes, which are then
        the shards of one. Java starts with the first search.
    language : str or None
        Code of the analyser with which Anserini built the index; indexes of this package store it.

    Raises
    ------
    IndexFolderError, MissingFileError
        If the folder is not an index, or a file in it is damaged.

    Notes
    -----
    Lucene's files are compared with their checksums when they are opened the first time, and again after they change.
    An index that is built anew while it is open is refused where it would be read again: open it again.

    """

    def __init__(self, path: str | Path, language: str | None = None) -> None:
        self.path, self.language = Path(path), language
        self._commit = open_commit(self.path)

    @classmethod
    def open(cls, path: str | Path, language: str | None = None) -> Self:
        """Open an index folder; see the parameters of the class.

        Parameters
        ----------
        path, language : str or Path, str or None
            As for the class.

        Returns
        -------
        Index
            The index.

        """
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
        shards: int | None = None,
    ) -> Self:
        """Build an index and open it.

        Parameters
        ----------
        documents : iterable of mapping, or path
            Mappings with `id` and text fields (or `contents`), or the path of a corpus: JSONL (plain or .gz, a file or
            a folder of files), TREC SGML, or `irds:NAME`, a data set of ir_datasets.
        path : path
            The new folder. After an error, it is not there.
        fields : iterable of str or None
            Text fields that are indexed separately, in addition to `contents`; None is all.
        numbers : iterable of str or None
            Numeric fields that become features; None is all.
        language : str
            Code of the analyser, as in Anserini's `-language`.
        encoding : str
            Encoding of a corpus, e.g. `latin-1` for old TREC collections; it must extend ASCII.
        threads : int or None
            Number of threads; None is all cores.
        overwrite : bool
            Whether to replace an existing index.
        shards : int or None
            Number of Lucene indexes over which the documents are split, by a hash of their id, in subfolders; None is
            one, which is the folder itself. Runs, features and models do not depend on it, bit for bit.

        Returns
        -------
        Index
            The new index, opened.

        Raises
        ------
        InvalidInputError, FileFormatError, IndexFolderError
            For documents that cannot be indexed, and a folder that cannot be written.

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
                    documents, path, threads, overwrite, language=language, encoding=encoding, shards=shards
                )
                return cls(path)
            fields = None if fields is None else list(fields)
            documents = read_documents(documents, fields, others=True, encoding=encoding)
        build_index(
            documents,
            path,
            fields=fields,
            threads=threads,
            overwrite=overwrite,
            numbers=numbers,
            language=language,
            shards=shards,
        )
        return cls(path)

    @cached_property
    def forward(self) -> ForwardIndex:
        """The forward arrays, memory-mapped; they are made now if the index has none."""
        forward = open_forward(self.path, commit=self._commit)
        if self.language is None:
            return forward
        return replace(forward, fingerprint={**forward.fingerprint, "language": self.language})

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene searcher; starts Java."""
        return Searcher(self.path, self.language, self._commit)

    @cached_property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts that the index does not hold; starts Java."""
        from rerank.lucene.texts import TextAnalyser

        return TextAnalyser(self.forward, self.searcher.language)

    def search(
        self,
        topics: Topics | Mapping[str, str],
        k: int = 1000,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        field: str = CONTENTS,
        retriever: str = BM25,
        vectors: Vectors | str | Path | None = None,
        history: History | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> Run:
        """Return BM25's top k documents of every topic: Anserini's hits, scores and order.

        Parameters
        ----------
        topics : Topics, mapping or DataFrame
            The topics.
        k : int
            Number of documents of each topic.
        k1, b : float
            Parameters of BM25.
        field : str
            The indexed field to search; `contents` is the whole document.
        retriever : str
            Another retriever in place of BM25: "rm3" (BM25 of the query expanded by BM25's first 10 documents),
            "rocchio", "lsi" (latent semantic indexing), "history" (documents judged relevant to similar queries), or
            "encoder".
        vectors : Vectors, path or None
            Vectors of the index, or their file, for `lsi`.
        history : History, path or None
            History of judgements, or its file, for `history`.
        encoder : callable, str or None
            An encoder of texts, see `features`, for the retriever `encoder`.
        threads : int or None
            Number of threads; None is all cores.

        Returns
        -------
        Run
            Its name, which becomes the tag of a run file, contains k1, b and the field; see `Run.retriever`. A topic
            without hits has no rows, which a run file cannot represent: a warning is logged.

        """
        options: dict[str, Any] = {"k1": k1, "b": b, "field": field, "threads": threads}
        if retriever != BM25:
            options |= {"vectors": vectors, "history": history, "encoder": encoder}
        run = self._search(Topics.of(topics), k, retriever, options)
        without = run.query_ids[np.diff(run.query_ptr) == 0].tolist()
        if without:
            text = "Topics without hits, which a run file cannot contain: %d of %d (%s%s)."
            _log.warning(text, len(without), len(run), ", ".join(without[:3]), ", ..." if len(without) > 3 else "")
        return run

    def _search(self, topics: Topics, k: int, retriever: str, options: dict[str, Any]) -> Run:
        """Return the top k documents of a retriever."""
        if retriever == BM25:
            return self.searcher.search(topics, k=k, **options)
        from rerank.retrieval.base import source

        check_hits(k)
        return source(retriever).search(self._search_inputs(topics, **options), k)

    def search_union(
        self,
        topics: Topics | Mapping[str, str],
        union: str,
        *,
        k1: float = 0.9,
        b: float = 0.4,
        field: str = CONTENTS,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        vectors: Vectors | str | Path | None = None,
        history: History | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> UnionRun:
        """Return the union of the documents that several retrievers find for every topic.

        Documents of the first retriever come first, in its order and with its scores. Those that only others found
        follow by reciprocal rank fusion, with falling scores below.

        Parameters
        ----------
        topics : Topics, mapping or DataFrame
            The topics.
        union : str
            Retrievers, each with its number of documents: `bm25:1000,rm3:1000,lsi:200`; another system's run is
            `run:NAME:500` or `run:FILE:500`, all of it without a number.
        k1, b, field : as for `search`
            Parameters of BM25, and the field to search.
        runs : mapping of str to Run, mapping or DataFrame, or None
            Runs of other systems by name; those that the union names and that are not given are read from their file.
        vectors : Vectors, path or None
            Vectors of the index, or their file, for `lsi`.
        history : History, path or None
            History of judgements, or its file, for `history`.
        encoder : callable, str or None
            An encoder of texts, see `features`, for the retriever `encoder`.
        threads : int or None
            Number of threads; None is all cores.

        Returns
        -------
        UnionRun
            A run with `sources`, the runs by name, whose scores and ranks become features; missing where a document
            comes from others only.

        Raises
        ------
        InvalidInputError
            If the union names what is not there.

        """
        from rerank.files.trec import read_run
        from rerank.retrieval.union import parse_union

        parts = parse_union(union)
        given = {name: Run.of(run) for name, run in (runs or {}).items()}
        others = {part.name: part.file for part in parts if part.file and part.name not in given}
        given |= {name: read_run(file) for name, file in others.items()}
        options: dict[str, Any] = {"k1": k1, "b": b, "field": field, "threads": threads}
        options |= {"vectors": vectors, "history": history, "encoder": encoder}
        return self._search_union(Topics.of(topics), union, given, options)

    def _search_union(self, topics: Topics, union: str, runs: Mapping[str, Run], options: dict[str, Any]) -> UnionRun:
        """Return the union of candidates; `runs` holds all runs that it names."""
        from rerank.retrieval.union import parse_union, search_union

        return search_union(replace(self._search_inputs(topics, **options), runs=runs), parse_union(union))

    def _search_inputs(
        self, topics: Topics, vectors: Any, encoder: Any, history: Any = None, **options: Any
    ) -> SearchInputs:
        """Return what sources of candidates are given; the options are those of BM25."""
        from rerank.retrieval.base import SearchInputs

        if options["field"] not in self.forward.fields:
            raise unknown_name("field", options["field"], self.forward.fields)
        return SearchInputs(
            forward=self.forward,
            query_ids=list(topics),
            query_terms=self.searcher.analyze(list(topics.texts.values())),
            bm25=lambda k: self.searcher.search(topics, k=k, **options),
            encoded=self._encoded(encoder, topics),
            **options,
            **self._records(vectors, history=history),
        )

    def features(
        self,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        vectors: Vectors | str | Path | None = None,
        history: History | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> RankingData:
        """Return the features of the query-document pairs of a run.

        Parameters
        ----------
        run : Run, mapping or DataFrame
            The query-document pairs. The runs of a `UnionRun` become features, as `runs` do.
        topics : Topics, mapping or DataFrame
            Topics of all queries of the run.
        qrels : Qrels, mapping, DataFrame or None
            Judgements, for labels.
        recipe : Recipe or None
            The features; None is the default recipe.
        runs : mapping of str to Run, mapping or DataFrame, or None
            Other runs (e.g. dense or neural), by name; their scores and ranks become features.
        vectors : Vectors, path or None
            Vectors of the index, or their file; features of meaning need them.
        history : History, path or None
            What is learned from judgements (`rerank.History.learn`), or its file; learned features need it. Those of
            queries that it was learned from are out of fold.
        encoder : callable, str or None
            A function from a list of n texts to an array of shape (n, dimensions), or `module:function`: the cosine of
            query and document is a feature. Vectors of all documents are computed once and kept in a file of the cache
            folder (`$RERANK_CACHE`).
        threads : int or None
            Number of threads; None is all cores.

        Returns
        -------
        RankingData
            The queries in the order of the run, the rows of a query in trec_eval's order.

        Raises
        ------
        InvalidInputError
            If a query has no topic, a document is not in the index, or the history was learned on another index.

        """
        from rerank.features.extract import extract

        beside = {"vectors": vectors, "history": history, "encoder": encoder, "threads": threads}
        return extract(**self._extraction(run, topics, qrels, recipe, runs, **beside))

    def some_features(
        self,
        needed: Collection[str] | None,
        run: Run,
        topics: Topics,
        *,
        recipe: Recipe | None = None,
        runs: Any = None,
        **beside: Any,
    ) -> RankingData:
        """Return what `features` does, in which features that are not `needed` may be NaN, e.g. to score with a model.

        Parameters
        ----------
        needed : collection of str or None
            Names of features, e.g. `model.features_read()`; None is all.
        run, topics, recipe, runs, **beside : as for `features`
            The pairs and their features.

        Returns
        -------
        RankingData
            The same columns as those of `features`.

        """
        from rerank.features.extract import extract

        return extract(**self._extraction(run, topics, None, recipe, runs, **beside), needed=needed)

    def write_features(
        self,
        path: str | Path,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        vectors: Vectors | str | Path | None = None,
        history: History | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> None:
        """Write features to a file in batches, so that memory does not grow with the number of queries.

        Parameters
        ----------
        path : path
            File name that ends in .npz, .parquet, .svm or .txt (the latter two also with .gz).
        run, topics, qrels, recipe, runs, vectors, history, encoder, threads : as for `features`
            The pairs, their labels and their features.

        """
        from rerank.features.extract import extract_blocks
        from rerank.files.data import write_data

        beside = {"vectors": vectors, "history": history, "encoder": encoder, "threads": threads}
        data, blocks = extract_blocks(**self._extraction(run, topics, qrels, recipe, runs, **beside))
        write_data(data, path, blocks)

    def _extraction(
        self,
        run: Any,
        topics: Any,
        qrels: Any = None,
        recipe: Recipe | None = None,
        runs: Any = None,
        encoder: Any = None,
        threads: Any = None,
        **learned: Any,
    ) -> dict[str, Any]:
        """Return the arguments of `extract`; `learned` are vectors and history."""
        from rerank.features.inputs import Records

        run, topics = Run.of(run), Topics.of(topics)
        check_topics(run, topics)
        query_ids = list(run)
        terms = self.searcher.analyze([topics[query_id] for query_id in query_ids])
        return {
            "forward": self.forward,
            "query_terms": dict(zip(query_ids, terms, strict=True)),
            "run": run,
            "recipe": recipe,
            "qrels": None if qrels is None else Qrels.of(qrels),
            "records": Records(
                runs=given_runs(run, runs),
                documents=self.stored_documents,
                encoded=self._encoded(encoder, {query_id: topics[query_id] for query_id in query_ids}),
                **self._records(**learned),
            ),
            "threads": threads,
        }

    def _encoded(self, given: Any, texts: Mapping[str, str]) -> Encoded | None:
        """Return the vectors of an encoder for queries and documents; None for None."""
        if given is None:
            return None
        from rerank.vectors.encoder import Encoder, encoded_documents
        from rerank.vectors.queries import Encoded

        encoder = Encoder.of(given)
        if encoder.name not in self._encoded_documents:
            documents = encoded_documents(encoder, self.forward, self.document_texts)
            self._encoded_documents[encoder.name] = documents
        stored = replace(self._encoded_documents[encoder.name], encoder=encoder)
        return Encoded(encoder.name, stored.documents, stored.queries(texts))

    @cached_property
    def _encoded_documents(self) -> dict[str, EncodedDocuments]:
        """Vectors of the documents by encoder, opened."""
        return {}

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
        from rerank.lucene.documents import stored_text

        stored, doc_ids = self.stored_documents(numbers), self.forward.doc_ids[numbers]
        missing = [doc_id for doc_id, text in zip(doc_ids.tolist(), stored, strict=True) if text is None]
        if any(missing):  # a deleted document has the empty id
            raise InvalidInputError(
                f"{self.path}: expected an index that keeps its documents, got none for {missing[0]!r}. Index with raw "
                "documents (-storeRaw)."
            )
        joined = self.searcher.joined_fields
        return ["" if text is None else stored_text(text, self.forward.fields, joined) for text in stored]

    def _records(self, vectors: Vectors | str | Path | None = None, **others: Any) -> dict[str, Any]:
        """Return what is given beside the runs, read from its files, and the other arguments."""
        if isinstance(others.get("history"), str | Path):
            from rerank.history.reading import load_history

            others["history"] = load_history(others["history"])
        return {"vectors": self.read_vectors(vectors), **others}

    def read_vectors(self, given: Vectors | str | Path | None) -> Vectors | None:
        """Return vectors of the index, read if a file is given; None for None.

        Parameters
        ----------
        given : Vectors, path or None
            Vectors, or their file.

        Returns
        -------
        Vectors or None
            The vectors.

        """
        if given is None:
            return None
        from rerank.vectors.vectors import Vectors

        return given if isinstance(given, Vectors) else Vectors.read(given, self)

    def text_features(
        self,
        query: str | Mapping[str, str],
        documents: Any,
        *,
        scores: Any = None,
        field: str = CONTENTS,
        recipe: Recipe | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        vectors: Vectors | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> RankingData:
        """Return the features of texts that the index does not hold.

        Texts are analysed as the index's documents are, and statistics of the collection are those of the index: the
        features of a document that the index holds are those that `features` computes, bit for bit.

        Parameters
        ----------
        query : str or mapping from str to str
            The query; or several, by query id.
        documents : iterable or mapping
            The texts of the query, at most 2^20, each a str, or a mapping from the names of the index's fields to text
            (or lists of text, which are joined by spaces) and from the names of its numbers to numbers. A list, whose
            document ids are "0", "1" and so on, or a mapping by document id. For several queries, a mapping from
            query id to such a list or mapping. A text has at most 2^24 characters.
        scores : array-like or mapping, optional
            A first-stage score of each text: in the order of the list, or by document id; for several queries, a
            mapping from query id to these, or a Run. By default BM25 over `contents` with k1 0.9 and b 0.4, as
            `search` computes it. Features of the run and of the query's first documents depend on it.
        field : str, default="contents"
            The field of a document that is a str. Its other fields are empty. Where a document has no `contents` of
            its own, they are its fields joined as the index build joins them: so those of a str of another field are
            the same text.
        recipe : Recipe, optional
            Fields, families and parameters; by default every field, the default families and parameters.
        runs : mapping from str to Run or mapping, optional
            Other runs by name, whose scores and ranks become features; the id of a query given as str is "query".
        vectors : Vectors or path, optional
            Vectors of the index, or their file; features of meaning need them.
        encoder : callable or str, optional
            An encoder, see `features`; it is called with the texts.
        threads : int, optional
            Number of threads; by default one per core. The result does not depend on it, bit for bit.

        Returns
        -------
        RankingData
            The queries in the given order, the rows of a query in trec_eval's order (score, then document id, both
            descending).

        Raises
        ------
        InvalidInputError
            If a query or all documents are missing, a document is neither text nor a mapping, has a field that the
            index does not have, or text with NUL or lone surrogates, or a limit is exceeded.

        Notes
        -----
        Terms that no document of the index holds are numbered beyond its vocabulary; so that all features are finite,
        they have document and collection frequency 1, in a field that no document of the index holds them in as well.
        A query term has these frequencies if it is in the field of one of the query's texts; otherwise it is unknown,
        as it is to documents of the index. A user's function over documents is given the document as the index would
        store it.

        """
        from rerank.workflows.texts import TextOptions, given_texts, text_features

        others = {name: Run.of(run) for name, run in (runs or {}).items()}
        records = self._records(vectors=vectors, encoder=encoder_of(encoder), threads=threads)
        options = TextOptions(field, recipe, others, **records)
        return text_features(self, given_texts(query, documents, scores), options)

    def rerank_texts(
        self,
        model: Ranker,
        query: str,
        documents: Any,
        k: int | None = None,
        *,
        scores: Any = None,
        field: str = CONTENTS,
        other_index: bool = False,
        vectors: Vectors | str | Path | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | None = None,
        threads: int | None = None,
    ) -> list[RankedText]:
        """Return texts that the index does not hold in a model's order.

        Parameters
        ----------
        model : Ranker
            A model trained on features of this index.
        query : str
            The query.
        documents : as for `text_features`
            The texts.
        k : int, optional
            Number of texts to return; all by default.
        scores, field : as for `text_features`
            First-stage scores and the field of a str; without scores, BM25 has the k1, b and field of the model's
            training.
        other_index : bool, default=False
            Apply a model whose features were computed on another index.
        vectors : Vectors or path, optional
            Vectors of the index, or their file, if the model was trained with them.
        encoder : callable or str, optional
            The encoder that the model was trained with.
        threads : int, optional
            Number of threads; by default one per core.

        Returns
        -------
        list of RankedText
            Pairs `(document, score)` in descending order of the score, equal scores in the order of the given texts.
            `document` is the number in the given list, from 0, or the key of the mapping.

        Raises
        ------
        ModelMismatchError
            If model and index do not belong together.
        InvalidInputError
            As `text_features` does; or if k is not a number from 1.

        """
        from rerank.workflows.texts import TextOptions, check_k, given_texts, rank_texts, ranked_texts

        check_k(k)
        if not isinstance(query, str):
            raise InvalidInputError(f"query: expected text, got {type(query).__name__}. Pass one query at a time.")
        documents = documents if isinstance(documents, Mapping | str) else list(documents)
        given = given_texts(query, documents, scores)
        options = TextOptions(field, **self._records(vectors=vectors, encoder=encoder_of(encoder), threads=threads))
        return ranked_texts(rank_texts(self, model, given, options, other_index=other_index), documents, k)

    def check_model(self, model: Ranker) -> None:
        """Raise ModelMismatchError for a model whose features were computed on another index.

        Parameters
        ----------
        model : Ranker
            A fitted model.

        Raises
        ------
        ModelMismatchError
            If its features were computed on another index.

        """
        trained_on, fingerprint = model.fingerprint_, dict(self.forward.fingerprint)
        if trained_on is None or dict(trained_on) == fingerprint:
            return
        name, trained, value = next(fingerprint_differences("", dict(trained_on), fingerprint))
        raise ModelMismatchError(
            f"{self.path}: expected the index that the model was trained on ({name}: {trained}), got another "
            f"({name}: {value}). Train on this index, or allow it (other_index=True, --other-index)."
        )

    def each(self, function: Callable[[Any, Any], Any], shared: Any, items: Sequence[Any], what: str) -> Iterator[Any]:
        """Yield function(shared, item) for each item, in order: here one after the other, or by a cluster's workers.

        Parameters
        ----------
        function : callable
            A function of two arguments.
        shared : object
            First argument.
        items : sequence
            Second arguments.
        what : str
            What the progress bar says.

        Yields
        ------
        object
            The results.

        """
        yield from (function(shared, item) for item in track(items, what, len(items)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the index by its path and commit: another process opens it."""
        return Index, (self.path.resolve(), self.language), {"_commit": self._commit}

    def close(self) -> None:
        """Close the Lucene reader."""
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


def encoder_of(given: Encoder | str | Callable[[list[str]], Any] | None) -> Encoder | None:
    """Return an encoder, found by its name or made of a callable; None for None."""
    if given is None:
        return None
    from rerank.vectors.encoder import Encoder

    return Encoder.of(given)


def check_topics(run: Run, topics: Topics) -> None:
    """Refuse a run with a query that has no topic."""
    missing = [query_id for query_id in run if query_id not in topics]
    if missing:
        raise InvalidInputError(
            f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
            "all). Give the topics that the run was made for."
        )


def given_runs(run: Run, runs: Mapping[str, Any] | None) -> dict[str, Run]:
    """Return the runs whose scores become features of another: those of a union, and those that are given."""
    return {name: Run.of(other) for name, other in ({**getattr(run, "sources", {}), **(runs or {})}).items()}
