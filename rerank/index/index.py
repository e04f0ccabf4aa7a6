"""The index as users see it: build, open, learn resources, and all that an opened index does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self

from rerank.errors import InvalidInputError, RerankError, log
from rerank.features.recipe import Recipe
from rerank.files.corpus import corpus_format, read_documents
from rerank.files.inputs import QrelsLike, RunLike, TopicsLike, run_of, topics_of
from rerank.history.history import History
from rerank.index.bound_index import BoundIndex
from rerank.index.resources import HISTORY, LANGUAGE, PASSAGES, SCORER, VECTORS, name_file
from rerank.lucene.arrays import stored_forward
from rerank.lucene.build import build_index, build_index_from_sgml
from rerank.runtime.output import write_text
from rerank.types import CONTENTS, Passages, RankingData, counted
from rerank.types.retriever import Passage
from rerank.vectors.encoder import Encoder
from rerank.vectors.scorer import Scorer
from rerank.vectors.vectors import ENCODER, Vectors

# By default, vectors are learned for collections within these bounds. Fewer documents hardly tell 400 dimensions
# apart; more postings take longer than about 40 s on two cores (`benchmarks vectors`).
LEAST_DOCUMENTS = 1000
MOST_POSTINGS_OF_VECTORS = 1 << 21


class Index(BoundIndex):
    """A Lucene index with the forward arrays from which features are computed.

    Parameters
    ----------
    path : path
        Folder of an index that `Index.build`, Anserini or Pyserini built, or a folder of several such indexes, which
        are then used as the shards of one. Java starts with the first search.
    language : str or None
        Language code of the analyser that Anserini built the index with. Not needed for indexes of this package, which
        store it, nor after `rerank index INDEX --language`.
    vectors : Vectors, path, False or None
        Vectors of the index, or their file, for the features of meaning and the source lsi. None uses those that
        `rerank vectors` stored with the index; False uses none.
    history : History, path, False or None
        History, or its file, for features of similar judged queries and the source history. None uses the one that
        `rerank history` stored with the index; False uses none. Features of the judged queries themselves are computed
        out of fold.
    encoder : callable, str, False or None
        Function that takes a list of n texts and returns an array of shape (n, dimensions), or a name:
        `sentence-transformers:NAME`, `model2vec:NAME`, `onnx:FOLDER`, `wordllama` or `module:function`. It adds the
        cosine of query and document as a feature, and the source encoder. The vectors of all documents are computed
        once and stored in the cache folder (`$RERANK_CACHE`). None uses the encoder that `rerank vectors` stored; False
        uses none.
    scorer : Scorer, callable, str, False or None
        Slow scorer, such as a cross-encoder, of the first documents of a model: a function of a query and a list of n
        texts that returns n numbers, `module:function`, or `cross-encoder:NAME` of sentence-transformers.
        `rerank.train` learns how many documents it scores. None uses the scorer that `rerank index INDEX --scorer`
        stored; False uses none.
    runs : mapping of str to Run, mapping, DataFrame or path, or None
        Runs of other systems by name (e.g. dense or neural). Their scores and ranks become features.
    threads : int or None
        Number of threads; None uses all cores. Results do not depend on it.
    check_models : bool
        Whether to refuse models that were trained on another index.
    remove_query : bool
        Whether to leave the document that has the id of the query out of the candidates. Where topics are documents of
        the collection, as in ArguAna, each finds itself first. A list that had the document is then shorter by one.

    Raises
    ------
    IndexFolderError, MissingFileError
        If the folder is not an index, or a file in it is damaged.

    Notes
    -----
    Lucene's files are compared with their checksums when they are opened the first time, and again after they change.
    An index that is built anew while it is open is refused where it would be read again: open it again.

    """

    def __repr__(self) -> str:
        """Return one line; without counts where the index has no forward arrays yet."""
        try:
            forward = stored_forward(self.path, self._opened.commit)
        except (RerankError, OSError):  # to show an index, nothing is computed and nothing raised
            forward = None
        if forward is None:
            return f"Index {self.path}: nothing read yet"
        resources = [name for name in ("vectors", "history", "encoder") if getattr(self, name) is not None]
        learned = f", with {', '.join(resources)}" if resources else ""
        return f"Index {self.path}: {counted(forward.n_docs, 'document')} of {', '.join(forward.fields)}{learned}"

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
        vectors: bool | None = None,
    ) -> Self:
        """Build an index and open it.

        Parameters
        ----------
        documents : iterable of mapping, mapping by id, or path
            Mappings with `id` (or `_id`, `pid`, `docid`, `doc_id`, `docno`) and text fields (or `contents`); a mapping
            from ids to texts or mappings; or the path of a corpus: JSONL (plain or .gz, a file or a folder of files),
            TREC SGML, or `irds:NAME`, a data set of ir_datasets.
        path : path
            The new folder. After an error it does not exist, unless the error occurred while vectors were learned: then
            the index is complete but without vectors.
        fields : iterable of str or None
            Text fields to index separately, in addition to `contents`; None for all.
        numbers : iterable of str or None
            Numeric fields to store as features; None for all.
        language : str
            Language code of the analyser, as in Anserini's `-language`.
        encoding : str
            Encoding of a corpus, e.g. `latin-1` for old TREC collections; it must extend ASCII.
        threads : int or None
            Number of threads; None for all cores.
        overwrite : bool
            Whether to replace an existing index.
        shards : int or None
            Number of shards: Lucene indexes in subfolders, to which documents are assigned by a hash of their id. None
            for a single index. Runs, features and models are identical for any number of shards.
        vectors : bool or None
            Whether to learn vectors, see `learn_vectors`. None learns them if the collection is large enough for them
            and this takes less than a minute.

        Returns
        -------
        Index
            The new index, opened.

        Raises
        ------
        InvalidInputError, FileFormatError, IndexFolderError
            If a document cannot be indexed, or the folder cannot be written.

        """
        options: dict[str, Any] = {"threads": threads, "overwrite": overwrite, "language": language, "shards": shards}
        if isinstance(documents, str | Path) and corpus_format(documents) == "trec":
            if fields is not None or numbers is not None:
                raise InvalidInputError(
                    f"{documents}: expected JSONL where fields or numbers are named, got TREC SGML, whose one field is "
                    "contents. Leave them out (--fields)."
                )
            build_index_from_sgml(documents, path, encoding=encoding, **options)
        else:
            if isinstance(documents, str | Path):
                fields = None if fields is None else list(fields)
                documents = read_documents(documents, fields, others=True, encoding=encoding)
            build_index(documents, path, fields=fields, numbers=numbers, **options)
        return cls(path)._with_vectors(vectors, threads)

    def _with_vectors(self, learned: bool | None, threads: int | None) -> Self:
        """Return the index; vectors are learned if asked for, or if None where the size is within the bounds."""
        n_postings = len(self.forward.fields[CONTENTS].terms)
        if learned is None:
            learned = self.forward.n_docs >= LEAST_DOCUMENTS and n_postings <= MOST_POSTINGS_OF_VECTORS
            if n_postings > MOST_POSTINGS_OF_VECTORS:
                log.info(
                    "%s: no vectors were learned, as this may take more than a minute; `rerank vectors` learns them.",
                    self.path,
                )
        if learned:
            self.using(threads=threads).learn_vectors()
        return self

    def keep_language(self) -> None:
        """Store the language that the index was opened with, so that it does not have to be given again."""
        _keep(self.resources / LANGUAGE, self.searcher.language)  # the searcher has checked it

    def keep_scorer(self, scorer: Scorer | str | None) -> None:
        """Store the name of a slow scorer for this user; None removes a stored one.

        Parameters
        ----------
        scorer : Scorer, str or None
            `cross-encoder:NAME` or `module:function`, as for the class, or a scorer of such a name.

        Raises
        ------
        InvalidInputError
            If there is no such function, or no model of this name on this machine.

        """
        self._read[SCORER].clear()
        _keep(name_file(SCORER, self.path, self._opened.commit), None if scorer is None else Scorer.of(scorer).name)

    def keep_passages(self, passages: Passages | str) -> None:
        """Keep with the index how its documents are cut into passages.

        From then on, the default recipe has the family `passages`, and each result comes with its best passage.

        Parameters
        ----------
        passages : Passages or str
            Window and stride in words, e.g. "200/100".

        Raises
        ------
        InvalidInputError
            If the stride is not from 1 to the window, or the window above 100,000.

        """
        _keep(self.resources / PASSAGES, str(passages if isinstance(passages, Passages) else Passages.parse(passages)))
        self._opened.__dict__.pop("passages", None)

    def best_passages(self, run: RunLike, topics: TopicsLike) -> list[Passage]:
        """Return the passage that fits the query best, of each document of a run.

        Parameters
        ----------
        run : Run, mapping, DataFrame or path
            The query-document pairs.
        topics : Topics, mapping, DataFrame or path
            Topics of all queries of the run.

        Returns
        -------
        list of Passage
            For each row of the run, the passage of greatest BM25 of the field that holds over half of the words of the
            index's `contents`, or of `contents` where none does; the first passage where none holds a word of the
            query. Passages are those that the index keeps (`keep_passages`), otherwise of 200 words, a new one every
            100.

        Raises
        ------
        InvalidInputError
            If a query has no topic, or the index has no such document, keeps no documents or has no positions.

        """
        from rerank.index.best_passages import run_passages

        return run_passages(self, run_of(run), topics_of(topics))

    def text_passages(self, query: str, documents: Any, *, field: str | None = None) -> list[Passage]:
        """Return the passage that fits a query best, of each of some texts; the index need not hold the texts.

        Parameters
        ----------
        query : str
            The query.
        documents : iterable or mapping
            The texts, as for `text_features`.
        field : str, optional
            The field whose passages are meant, and which a str fills; by default as for `text_features`.

        Returns
        -------
        list of Passage
            The passages, see `best_passages`, in the order of the documents.

        Raises
        ------
        InvalidInputError
            As `text_features` does; or if the index has no positions.

        """
        from rerank.index.best_passages import text_passages

        return text_passages(self, query, documents, field)

    def learn_vectors(self, *, dimensions: int | None = None, encoder: str | None = None) -> None:
        """Learn vectors of terms and documents, and store them with the index; see `Vectors.learn`.

        Parameters
        ----------
        dimensions : int or None
            Number of dimensions of latent semantic indexing; None for 400.
        encoder : str or None
            Name of the encoder, as for the class. The vectors of all documents are computed now, and the name is stored
            for this user. None: no encoder; a stored one is removed.

        """
        bound = None if encoder is None else Encoder.of(encoder)
        options = {} if dimensions is None else {"dimensions": dimensions}
        vectors = Vectors.learn(self, **options, threads=self.threads)
        self.resources.mkdir(parents=True, exist_ok=True)
        vectors.save(self.resources / VECTORS)
        for name in ("vectors", "encoder"):
            self._read[name].clear()
        if bound is not None:
            self._opened.encode(bound, self.document_texts)
        _keep(name_file(ENCODER, self.path, self._opened.commit), None if bound is None else bound.name)

    def learn_history(self, topics: TopicsLike, qrels: QrelsLike) -> None:
        """Store judged queries with the index, to compute features of similar queries from them; see `History`.

        Parameters
        ----------
        topics, qrels : Topics and Qrels, mappings, DataFrames or paths
            The judged queries and their judgements, or their files.

        """
        learned = History.learn(self, topics, qrels)
        self.resources.mkdir(parents=True, exist_ok=True)
        learned.save(self.resources / HISTORY)
        self._read["history"].clear()

    def text_features(
        self,
        query: str | Mapping[str, str],
        documents: Any,
        *,
        scores: Any = None,
        field: str | None = None,
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
            document ids are "0", "1" and so on, a data frame with a row for each text and a column for each field, or a
            mapping by document id. For several queries, a mapping from query id to one of these. A text has at most
            2^24 characters. Objects of stores have it as `page_content`, `text`, `content`, `body`, `document`,
            `passage` or `chunk`, where that is no field; of their other members, those that are fields are read.
        scores : array-like or mapping, optional
            A first-stage score of each text: in the order of the list, or by document id; for several queries, a
            mapping from query id to these, or a Run. By default BM25 over `contents` with k1 0.9 and b 0.4, as
            `search` computes it. Features of the run and of the query's first documents depend on it.
        field : str, optional
            The field of a document that is a str. Its first sentence or line, of at most 200 characters, is its title
            where the index has titles, and the str's other fields are empty. The `contents` of a document that gives
            none are its fields, joined as the build of the index joins them: so the `contents` of a str of another
            field are that str. By default the field that holds over half of the words of the index's `contents`, or
            `contents` where none does.
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
        their document and collection frequencies are 1, as are those of terms in a field where no document has them. A
        query term has these frequencies if it is in the field of one of the query's texts; otherwise it is unknown, as
        for documents of the index. A user's function over documents is given the document as the index would store it.

        """
        from rerank.index.query_texts import texts_of_queries
        from rerank.index.texts import TextOptions, text_features

        return text_features(self, texts_of_queries(query, documents, scores), TextOptions(field, recipe))

    def rerank_texts(
        self,
        model: Any,
        query: str,
        documents: Any,
        k: int | None = None,
        *,
        scores: Any = None,
        field: str | None = None,
        cutoff: Any = None,
    ) -> list[Any]:
        """Rank texts, which need not be in the index, with a model.

        Parameters
        ----------
        model : model or str
            The model, or the path of its file.
        query : str
            The query's text.
        documents : sequence
            Texts, or documents of fields.
        k, scores, field, cutoff : as for `rerank.rerank_texts`
            Number of texts to return, first-stage scores, field of a str, and least probabilities.

        Returns
        -------
        list of RankedText
            The texts, best first.

        """
        from rerank.index.bound_model import BoundModel
        from rerank.index.query_texts import listed

        bound = BoundModel.of(self, model, union=False)
        return bound.rerank_texts(query, listed(documents), k, scores, field, cutoff)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the index by its path, commit and resources: another process opens it."""
        state = {name: getattr(self, name) for name in ("language", "threads", "check_models", "_opened", "_bound")}
        return Index, (self.path.resolve(), self.language), {**state, "path": self.path.resolve()}


def _keep(file: Path, text: str | None) -> None:
    """Write a text as the one line of a file; None removes the file."""
    if text is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, f"{text}\n")


@contextmanager
def opened(index: Index | str | Path) -> Iterator[Index]:
    """Yield an index; one that is opened from its folder is closed after the block."""
    with nullcontext(index) if isinstance(index, Index) else Index.open(index) as found:
        yield found
