"""The index as users see it: build, open, search, compute features."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
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
from rerank.lucene.shards import index_folders
from rerank.retrieval.candidates import Candidates
from rerank.runtime.output import whole_file
from rerank.runtime.progress import track
from rerank.types import Qrels, RankingData, Run, Topics
from rerank.types.ids import QUERY
from rerank.types.retriever import BM25, CONTENTS, K1, B
from rerank.workflows.fingerprints import fingerprint_differences
from rerank.workflows.resources import (
    HISTORY,
    VECTORS,
    Needs,
    Resources,
    encoder_file,
    named_runs,
    resource_folder,
    stored_encoder,
)

if TYPE_CHECKING:
    from rerank.history.history import History
    from rerank.lucene.texts import TextAnalyser
    from rerank.rankers.ranker import Ranker
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
    vectors : Vectors, path, False or None
        Vectors of the index, or their file, for features of meaning and the source lsi; None is those that
        `rerank vectors` keeps with the index, False is none.
    history : History, path, False or None
        What is learned from judgements, or its file, for learned features and the source history; None is that which
        `rerank history` keeps with the index. Features of queries that it was learned from are out of fold.
    encoder : callable, str, False or None
        A function from a list of n texts to an array of shape (n, dimensions), or `module:function`: the cosine of
        query and document is a feature, and encoder is a source. Vectors of all documents are computed once and kept
        in a file of the cache folder (`$RERANK_CACHE`). None is the encoder that `rerank vectors` keeps.
    runs : mapping of str to Run, mapping or DataFrame, or None
        Runs of other systems by name (e.g. dense or neural); their scores and ranks become features.
    threads : int or None
        Number of threads; None is all cores. Results do not depend on it.
    check_models : bool
        Whether models that were trained on another index are refused.

    Raises
    ------
    IndexFolderError, MissingFileError
        If the folder is not an index, or a file in it is damaged.

    Notes
    -----
    Lucene's files are compared with their checksums when they are opened the first time, and again after they change.
    An index that is built anew while it is open is refused where it would be read again: open it again.

    """

    def __init__(
        self,
        path: str | Path,
        language: str | None = None,
        *,
        vectors: Vectors | str | Path | bool | None = None,
        history: History | str | Path | bool | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        threads: int | None = None,
        check_models: bool = True,
    ) -> None:
        self.path, self.language, self.threads, self.check_models = Path(path), language, threads, check_models
        self._opened = _Opened(self.path, language, open_commit(self.path))
        self._given = Resources(vectors, history, encoder, named_runs(runs))

    @classmethod
    def open(cls, path: str | Path, language: str | None = None, **options: Any) -> Self:
        """Open an index folder; see the parameters of the class.

        Parameters
        ----------
        path, language, **options : path, str or None, and others
            As for the class.

        Returns
        -------
        Index
            The index.

        """
        return cls(path, language, **options)

    def using(
        self,
        *,
        vectors: Vectors | str | Path | bool | None = None,
        history: History | str | Path | bool | None = None,
        encoder: Encoder | str | Callable[[list[str]], Any] | bool | None = None,
        runs: Mapping[str, Run | Mapping[str, Mapping[str, float]]] | None = None,
        threads: int | None = None,
        check_models: bool | None = None,
    ) -> Self:
        """Return the same opened index with other resources; None keeps what is bound.

        Parameters
        ----------
        vectors, history, encoder, runs, threads, check_models : as for the class
            What is bound.

        Returns
        -------
        Index
            The index, which shares the Lucene reader and the forward arrays: closing one closes both.

        """
        other = copy(self)
        for name, given in (("vectors", vectors), ("history", history), ("encoder", encoder)):
            if given is not None:
                other.__dict__.pop(name, None)
        other._given = Resources(
            self._given.vectors if vectors is None else vectors,
            self._given.history if history is None else history,
            self._given.encoder if encoder is None else encoder,
            self.runs if runs is None else named_runs(runs),
        )
        other.threads = self.threads if threads is None else threads
        other.check_models = self.check_models if check_models is None else check_models
        return other

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

    @cached_property
    def vectors(self) -> Vectors | None:
        """The vectors of the index; None if it has none."""
        from rerank.vectors.vectors import Vectors

        given = self._given.vectors
        if given is None and (self.resources / VECTORS).is_file():
            given = self.resources / VECTORS
        if given is None or isinstance(given, bool):
            return None
        return given if isinstance(given, Vectors) else Vectors.read(given, self)

    @cached_property
    def history(self) -> History | None:
        """What is learned from judgements; None if nothing is."""
        given = self._given.history
        if given is None and (self.resources / HISTORY).is_file():
            given = self.resources / HISTORY
        if given is None or isinstance(given, bool):
            return None
        if not isinstance(given, str | Path):
            return given
        from rerank.history.reading import load_history

        return load_history(given)

    @cached_property
    def encoder(self) -> Encoder | None:
        """The encoder of texts; None if there is none."""
        given = self._given.encoder
        given = stored_encoder(self._opened.commit) if given is None else given
        if given is None or isinstance(given, bool):
            return None
        from rerank.vectors.encoder import Encoder

        return Encoder.of(given)

    @property
    def runs(self) -> Mapping[str, Run]:
        """Runs of other systems, by name."""
        return self._given.runs

    def learn_vectors(self, *, dimensions: int | None = None, encoder: str | None = None) -> None:
        """Learn vectors of terms and documents, and keep them with the index; see `Vectors.learn`.

        Parameters
        ----------
        dimensions : int or None
            Number of dimensions of latent semantic indexing; None is 400.
        encoder : str or None
            `module:function`, an encoder whose name is kept as well, for this user: vectors of all documents are
            computed now. None is no encoder from now on.

        """
        from rerank.vectors.encoder import Encoder
        from rerank.vectors.vectors import Vectors

        bound = None if encoder is None else Encoder.of(encoder)
        options = {} if dimensions is None else {"dimensions": dimensions}
        vectors = Vectors.learn(self, **options, threads=self.threads)
        self.resources.mkdir(parents=True, exist_ok=True)
        vectors.save(self.resources / VECTORS)
        for name in ("vectors", "encoder"):
            self.__dict__.pop(name, None)
        name_file = encoder_file(self._opened.commit)
        if bound is None:
            name_file.unlink(missing_ok=True)
            return
        self._opened.encode(bound, self.document_texts)
        with whole_file(name_file) as file:
            file.write(f"{bound.name}\n")

    def learn_history(
        self,
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]],
        *,
        folds: int = 20,
        near: float = 0.8,
        random_state: int = 0,
    ) -> None:
        """Learn from judgements what features of other queries can use, and keep it with the index; see `History`.

        Parameters
        ----------
        topics, qrels : Topics and Qrels, or mappings
            The judged queries and their judgements.
        folds, near, random_state : int, float and int
            As for `History.learn`.

        """
        from rerank.history.history import History

        options = {"folds": folds, "near": near, "random_state": random_state, "threads": self.threads}
        learned = History.learn(self, topics, qrels, **options)  # type: ignore[arg-type]
        self.resources.mkdir(parents=True, exist_ok=True)
        learned.save(self.resources / HISTORY)
        self.__dict__.pop("history", None)

    def search(
        self,
        topics: Topics | Mapping[str, str] | str,
        k: int = 1000,
        *,
        candidates: Candidates | str = BM25,
        k1: float = K1,
        b: float = B,
        field: str = CONTENTS,
    ) -> Run:
        """Return the top k documents of every topic: Anserini's hits, scores and order for BM25.

        Documents of the first of several sources come first, in its order and with its scores. Those that only others
        found follow by reciprocal rank fusion, with falling scores below.

        Parameters
        ----------
        topics : Topics, mapping, DataFrame or str
            The topics; a str is one query, whose id is "query".
        k : int
            Number of documents of each topic, and of each source without a depth of its own.
        candidates : Candidates or str
            The sources: "bm25"; "rm3" (BM25 of the query expanded by BM25's first 10 documents), "rocchio", "lsi"
            (latent semantic indexing), "history" (documents judged relevant to similar queries), "encoder", or several
            with their depths: `bm25:1000,rm3:1000,lsi:200`. Another system's run is `run:NAME:500` for a run of the
            index, or `run:FILE:500`; all of it without a number.
        k1, b : float
            Parameters of BM25, where `candidates` is a str.
        field : str
            The indexed field to search; `contents` is the whole document.

        Returns
        -------
        Run
            Its name, which becomes the tag of a run file, contains k1, b and the field; see `Run.retriever`. A topic
            without hits has no rows, which a run file cannot represent: a warning is logged. Of several sources, a
            `UnionRun` with `sources`, the runs by name, whose scores and ranks become features; missing where a
            document comes from others only.

        Raises
        ------
        InvalidInputError
            If the candidates name what is not there.

        """
        check_hits(k)
        if not isinstance(candidates, Candidates):
            candidates = Candidates.parse(candidates, k, k1=k1, b=b, field=field)
        run = self.retrieve(_topics(topics), candidates)
        without = run.query_ids[np.diff(run.query_ptr) == 0].tolist()
        if without:
            text = "Topics without hits, which a run file cannot contain: %d of %d (%s%s)."
            _log.warning(text, len(without), len(run), ", ".join(without[:3]), ", ..." if len(without) > 3 else "")
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
            The documents.

        """
        options = {"k1": candidates.k1, "b": candidates.b, "field": candidates.field, "threads": self.threads}
        first = candidates.sources[0]
        if candidates.is_single and first.name == BM25:
            return self.searcher.search(topics, k=first.k or 0, **options)  # type: ignore[arg-type]
        from rerank.retrieval.base import SearchInputs, source
        from rerank.retrieval.union import search_union

        if candidates.field not in self.forward.fields:
            raise unknown_name("field", candidates.field, self.forward.fields)
        reads = {name for part in candidates.sources if part.file is None for name in source(part.name).reads}
        inputs = SearchInputs(
            forward=self.forward,
            query_ids=list(topics),
            query_terms=self.searcher.analyze(list(topics.texts.values())),
            bm25=lambda k: self.searcher.search(topics, k=k, **options),  # type: ignore[arg-type]
            encoded=self._encoded(topics) if "encoder" in reads else None,
            vectors=self.vectors if "vectors" in reads else None,
            history=self.history if "history" in reads else None,
            runs=self.runs_of(candidates),
            **options,  # type: ignore[arg-type]
        )
        if candidates.is_single:
            return source(first.name).search(inputs, first.k or 0)
        return search_union(inputs, candidates)

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
        from rerank.files.trec import read_run

        others = {part.name: part.file for part in candidates.sources if part.file is not None}
        return {name: self.runs[name] if name in self.runs else read_run(file) for name, file in others.items()}

    def features(
        self,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
    ) -> RankingData:
        """Return the features of the query-document pairs of a run.

        Parameters
        ----------
        run : Run, mapping or DataFrame
            The query-document pairs. The runs of a `UnionRun` become features, as the index's `runs` do.
        topics : Topics, mapping or DataFrame
            Topics of all queries of the run.
        qrels : Qrels, mapping, DataFrame or None
            Judgements, for labels.
        recipe : Recipe or None
            The features; None is the default recipe, with features of all resources of the index.

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

        return extract(**self._extraction(run, topics, qrels, recipe))

    def some_features(
        self, needed: Collection[str] | None, run: Run, topics: Topics, *, recipe: Recipe | None = None
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

        return extract(**self._extraction(run, topics, None, recipe), needed=needed)

    def write_features(
        self,
        path: str | Path,
        run: Run | Mapping[str, Mapping[str, float]],
        topics: Topics | Mapping[str, str],
        qrels: Qrels | Mapping[str, Mapping[str, int]] | None = None,
        *,
        recipe: Recipe | None = None,
    ) -> None:
        """Write features to a file in batches, so that memory does not grow with the number of queries.

        Parameters
        ----------
        path : path
            File name that ends in .npz, .parquet, .svm or .txt (the latter two also with .gz).
        run, topics, qrels, recipe : as for `features`
            The pairs, their labels and their features.

        """
        from rerank.features.extract import extract_blocks
        from rerank.files.data import write_data

        data, blocks = extract_blocks(**self._extraction(run, topics, qrels, recipe))
        write_data(data, path, blocks)

    def _extraction(self, run: Any, topics: Any, qrels: Any, recipe: Recipe | None) -> dict[str, Any]:
        """Return the arguments of `extract`."""
        from rerank.features.inputs import Records

        run, topics = Run.of(run), Topics.of(topics)
        check_topics(run, topics)
        query_ids = list(run)
        terms = self.searcher.analyze([topics[query_id] for query_id in query_ids])
        needs = Needs.of(recipe)
        texts = {query_id: topics[query_id] for query_id in query_ids}
        return {
            "forward": self.forward,
            "query_terms": dict(zip(query_ids, terms, strict=True)),
            "run": run,
            "recipe": recipe,
            "qrels": None if qrels is None else Qrels.of(qrels),
            "records": Records(
                runs=runs_beside(run, self),
                documents=self.stored_documents,
                vectors=self.vectors if needs.vectors else None,
                history=self.history if needs.history else None,
                encoded=self._encoded(texts) if needs.encoder else None,
            ),
            "threads": self.threads,
        }

    def _encoded(self, texts: Mapping[str, str]) -> Encoded | None:
        """Return the vectors of the encoder for queries and documents; None without one."""
        if self.encoder is None:
            return None
        from rerank.vectors.queries import Encoded

        stored = self._opened.encode(self.encoder, self.document_texts)
        return Encoded(self.encoder.name, stored.documents, stored.queries(texts))

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

    def text_features(
        self,
        query: str | Mapping[str, str],
        documents: Any,
        *,
        scores: Any = None,
        field: str = CONTENTS,
        recipe: Recipe | None = None,
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

        return text_features(self, given_texts(query, documents, scores), TextOptions(field, recipe))

    def rerank_texts(
        self,
        model: Ranker,
        query: str,
        documents: Any,
        k: int | None = None,
        *,
        scores: Any = None,
        field: str = CONTENTS,
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
        from rerank.workflows.texts import check_k, given_texts, rank_texts, ranked_texts

        check_k(k)
        if not isinstance(query, str):
            raise InvalidInputError(f"query: expected text, got {type(query).__name__}. Pass one query at a time.")
        documents = documents if isinstance(documents, Mapping | str) else list(documents)
        given = given_texts(query, documents, scores)
        return ranked_texts(rank_texts(self, model, given, field), documents, k)

    def check_model(self, model: Ranker) -> None:
        """Raise ModelMismatchError for a model whose features were computed on another index, unless it is allowed.

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
        if not self.check_models or trained_on is None or dict(trained_on) == fingerprint:
            return
        name, trained, value = next(fingerprint_differences("", dict(trained_on), fingerprint))
        raise ModelMismatchError(
            f"{self.path}: expected the index that the model was trained on ({name}: {trained}), got another "
            f"({name}: {value}). Train on this index, or allow it (Index.open(..., check_models=False), --other-index)."
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
        """Pickle the index by its path, commit and resources: another process opens it."""
        state = {name: value for name, value in self.__dict__.items() if name in _PICKLED}
        return Index, (self.path.resolve(), self.language), {**state, "path": self.path.resolve()}

    def close(self) -> None:
        """Close the Lucene reader."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True, eq=False)
class _Opened:
    """What is opened once for an index, whatever its resources are."""

    path: Path
    language: str | None
    commit: str

    @cached_property
    def forward(self) -> ForwardIndex:
        """The forward arrays."""
        forward = open_forward(self.path, commit=self.commit)
        if self.language is None:
            return forward
        return replace(forward, fingerprint={**forward.fingerprint, "language": self.language})

    @cached_property
    def searcher(self) -> Searcher:
        """The Lucene searcher."""
        return Searcher(self.path, self.language, self.commit)

    @cached_property
    def text_analyser(self) -> TextAnalyser:
        """What makes forward arrays of texts."""
        from rerank.lucene.texts import TextAnalyser

        return TextAnalyser(self.forward, self.searcher.language)

    @cached_property
    def _encoded(self) -> dict[str, EncodedDocuments]:
        return {}

    def encode(self, encoder: Encoder, texts: Callable[[Ints], list[str]]) -> EncodedDocuments:
        """Return the vectors of all documents by an encoder, with the encoder for queries."""
        from rerank.vectors.encoder import encoded_documents

        if encoder.name not in self._encoded:
            self._encoded[encoder.name] = encoded_documents(encoder, self.forward, texts)
        return replace(self._encoded[encoder.name], encoder=encoder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what identifies the index."""
        return _Opened, (self.path.resolve(), self.language, self.commit)

    def close(self) -> None:
        """Close the Lucene reader."""
        if "searcher" in self.__dict__:
            self.searcher.close()
            del self.__dict__["searcher"]


_PICKLED = ("path", "language", "threads", "check_models", "_opened", "_given")


def _topics(topics: Any) -> Topics:
    """Return topics; text is one query."""
    return Topics.of({QUERY: topics} if isinstance(topics, str) else topics)


def is_index(folder: Path) -> bool:
    """Return whether a path is the folder of an index, or of the shards of one."""
    return folder.is_dir() and bool(index_folders(folder))


def check_topics(run: Run, topics: Topics) -> None:
    """Refuse a run with a query that has no topic."""
    missing = [query_id for query_id in run if query_id not in topics]
    if missing:
        raise InvalidInputError(
            f"run: expected a topic for every query, got none for {missing[0]!r} ({len(missing)} such queries in "
            "all). Give the topics that the run was made for."
        )


def runs_beside(run: Run, index: Index) -> dict[str, Run]:
    """Return the runs whose scores become features of another: those of a union, and those of the index."""
    return {**getattr(run, "sources", {}), **index.runs}
