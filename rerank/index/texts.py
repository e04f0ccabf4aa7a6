"""Features of texts that the index does not hold, computed as those of its documents."""

from collections.abc import Collection as Names, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.features.extract import extract
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.features.text_bm25 import bm25_scores
from rerank.files.rows import joined_parts
from rerank.index.collection import Collection
from rerank.index.query_texts import QueryTexts, run_of_rows
from rerank.index.resources import needed_resources
from rerank.lucene.documents import stored_text
from rerank.lucene.text_documents import DocumentReader, ReadDocument, check_characters
from rerank.lucene.texts import UnusableTextError
from rerank.types import Ints, RankingData, Run, query_rows
from rerank.types.retriever import CONTENTS, K1, B, Retriever
from rerank.vectors.query_vectors import Encoded

TITLES = ("title", "name", "headline")  # names of fields; the first that a document or index has is its title
_BATCH_ROWS, _BATCH_CHARACTERS = 1 << 16, 1 << 25  # texts, and their characters, whose arrays are in memory at once


@dataclass(frozen=True)
class TextOptions:
    """How texts become features: see `Index.text_features`.

    plain_field  field of a text that is given as a str; None is the index's main field
    retriever    what scores the texts where no scores are given
    needed       names of the features to compute; None is all
    """

    plain_field: str | None = None
    recipe: Recipe | None = None
    retriever: Retriever = field(default_factory=lambda: Retriever.bm25(K1, B))
    needed: Names[str] | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs whose scores are features."""
        return () if self.recipe is None else self.recipe.runs or ()


def text_features(index: Collection, query_texts: QueryTexts, options: TextOptions) -> RankingData:
    """Return the features of texts, batch by batch of queries; see `Index.text_features`."""
    forward = index.forward
    if query_texts.run is None and options.retriever.field not in forward.fields:
        raise unknown_name("field", options.retriever.field, forward.fields)
    reader = _reader(index, options)
    terms = dict(zip(query_texts.topics, index.analyser.analyze(list(query_texts.topics.values())), strict=True))
    parts = [_batch_features(index, terms, batch, query_texts, options) for batch in _batches(query_texts, reader)]
    return parts[0] if len(parts) == 1 else joined_parts(parts)


def _reader(index: Collection, options: TextOptions) -> DocumentReader:
    """Return the reader of a call's texts."""
    field = options.plain_field or index.main_field
    titles = [name for name in TITLES if name in index.forward.fields and field not in (CONTENTS, *TITLES)]
    return DocumentReader(index.forward, index.analyser.joined_fields, field, options.runs, *titles[:1])


def _batches(query_texts: QueryTexts, reader: DocumentReader) -> Iterator[dict[str, dict[str, ReadDocument]]]:
    """Yield documents as they are read, by query id and document id: whole queries, about as many as fit in a batch."""
    batch: dict[str, dict[str, ReadDocument]] = {}
    n_rows = n_characters = 0
    for query_id, documents in query_texts.documents.items():
        batch[query_id] = read = {doc_id: query_texts.read(reader, query_id, doc_id) for doc_id in documents}
        if not any(document.document.texts for document in read.values()):
            keys = shown(", ".join(map(str, next(iter(documents.values())))))
            raise InvalidInputError(
                f"documents: expected text, got none in {keys}. Pass texts, or mappings of fields with text."
            )
        n_rows += len(documents)
        n_characters += sum([sum(map(len, document.document.texts.values())) for document in read.values()])
        if n_rows >= _BATCH_ROWS or n_characters >= _BATCH_CHARACTERS:
            yield batch
            batch = {}
            n_rows = 0
            n_characters = 0
    if batch:
        yield batch


def _batch_features(
    index: Collection,
    terms: Mapping[str, Sequence[str]],
    batch: Mapping[str, Mapping[str, ReadDocument]],
    query_texts: QueryTexts,
    options: TextOptions,
) -> RankingData:
    """Return the features of the documents of some queries."""
    documents = [document for named in batch.values() for document in named.values()]
    if options.needed is not None:
        _warn_of_empty_fields(index, documents, options.needed)
    run = run_of_rows(
        batch, np.zeros(len(documents)), str(options.retriever) if query_texts.run is None else query_texts.run.name
    )
    numbers = {
        name: np.array([document.numbers.get(name, np.nan) for document in documents], dtype=np.float64)
        for name in index.forward.numbers
    }
    try:
        texts = index.text_analyser.index(
            [document.document for document in documents], run.doc_ids, numbers, index.threads
        )
    except UnusableTextError:
        for row, query in zip(documents, query_rows(run.query_ptr).tolist(), strict=True):
            check_characters(row.document.texts, query_texts.location(str(run.query_ids[query]), row.doc_id))
        raise
    if query_texts.run is None:
        tokens = [terms[query_id] for query_id in run]
        scores = bm25_scores(texts, tokens, run.query_ptr, np.arange(run.n_rows), options.retriever)
    else:
        scores = np.concatenate([query_texts.run.scores[query_texts.run.rows(query_id)] for query_id in batch])
    run = replace(run, scores=scores)
    order = run.trec_order()
    return extract(
        replace(texts, rows=order),
        terms,
        run.take(order),
        options.recipe,
        records=_records(index, batch, documents, query_texts, options),
        needed=options.needed,
        threads=index.threads,
    )


def _records(
    index: Collection,
    batch: Mapping[str, Mapping[str, ReadDocument]],
    documents: Sequence[ReadDocument],
    query_texts: QueryTexts,
    options: TextOptions,
) -> Records:
    """Return what the features of a batch need apart from its texts: runs, documents, vectors and so on."""
    needs = needed_resources(options.recipe)
    return Records(
        runs={**index.runs, **_runs_of_texts(batch, options.runs)},
        documents=lambda numbers: [documents[number].json() for number in numbers.tolist()],
        vectors=index.vectors if "vectors" in needs else None,
        history=index.text_history(query_texts.have_ids) if "history" in needs else None,
        encoded=_encoded(index, documents, {name: query_texts.topics[name] for name in batch})
        if "encoder" in needs
        else None,
        passages=index.passages,
    )


def _runs_of_texts(batch: Mapping[str, Mapping[str, ReadDocument]], names: Names[str]) -> dict[str, Run]:
    """Return the runs, by name, whose scores are numbers of the documents."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for query_id, documents in batch.items():
        for doc_id, document in documents.items():
            for name, score in document.run_scores.items():
                scores.setdefault(name, {}).setdefault(query_id, {})[doc_id] = float(score)
    return {name: replace(Run.of(scores[name]), name=name) for name in names if name in scores}


def _warn_of_empty_fields(index: Collection, documents: Sequence[ReadDocument], needed: Names[str]) -> None:
    """Log a warning, once for an index, of fields that a model reads and that no document fills."""
    read = {name.rpartition(".")[2] for name in needed} & (index.forward.fields.keys() - {CONTENTS})
    empty = sorted(read.difference(*(document.document.texts for document in documents)) - index.warned_of)
    if empty:
        index.warned_of.update(empty)
        log.warning(
            "texts: none has the field %s, whose features the model reads. Pass it, too, where there is such text.",
            " or ".join(empty),
        )


def _encoded(index: Collection, documents: Sequence[ReadDocument], queries: Mapping[str, str]) -> Encoded | None:
    """Return the encoder's vectors of queries, and of texts as the index would store them; None without an encoder."""
    encoder = index.encoder
    if encoder is None:
        return None
    of_queries = encoder.encode_queries(list(queries.values()))
    vectors = encoder.encode(_stored_texts(index, documents), of_queries.shape[1])
    return Encoded(encoder.name, vectors, dict(zip(queries, of_queries, strict=True)))


def _stored_texts(index: Collection, documents: Iterable[ReadDocument]) -> list[str]:
    """Return the text of each document, as the index would store it."""
    joined_fields = index.analyser.joined_fields
    return [stored_text(document.json(), index.forward.fields, joined_fields) for document in documents]


def texts_of_rows(
    index: Collection, query_texts: QueryTexts, options: TextOptions, run: Run | RankingData, rows: Ints
) -> list[str]:
    """Return the texts of some rows of a run of texts, as the index would store them."""
    reader = _reader(index, options)
    query_ids = run.query_ids[query_rows(run.query_ptr)[rows]].tolist()
    pairs = zip(query_ids, run.doc_ids[rows].tolist(), strict=True)
    return _stored_texts(index, (query_texts.read(reader, query_id, doc_id) for query_id, doc_id in pairs))
