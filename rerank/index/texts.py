"""Texts: features of those that no index holds, excerpts of stored ones, and the passages that fit a query best."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection as Names, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, log, shown, unknown_name
from rerank.features.extract import doc_numbers, extract
from rerank.features.families.passages import MAX, N_COLUMNS, field_spans, fill_passages
from rerank.features.match import gather_candidates, match
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.features.text_bm25 import bm25_scores
from rerank.files.corpus import of_hit
from rerank.files.rows import joined_parts
from rerank.files.source import hits_of
from rerank.index.bound import BoundIndex
from rerank.index.checks import check_topics
from rerank.index.collection import Collection
from rerank.index.resources import needed_resources
from rerank.lucene.documents import stored_fields as stored_fields, stored_text
from rerank.lucene.text_documents import DocumentReader, ReadDocument, TextDocument, check_characters
from rerank.lucene.texts import UnusableTextError
from rerank.types import Floats, Ints, RankingData, Run, Topics, pointers, query_rows
from rerank.types.data_frames import HEADERS, frame_rows, is_frame, is_missing, plain_name
from rerank.types.ids import ID_RULE, QUERY, first_broken, id_array
from rerank.types.retriever import CONTENTS, K1, UNNAMED, B, Passage, Passages, Retriever
from rerank.vectors.query_vectors import Encoded

MOST_TEXTS = 1 << 20  # of one call
TITLES = ("title", "name", "headline")  # fields, the first that there is
# Attributes of answers that have the hits: of Elasticsearch's client, Qdrant, Weaviate, and elasticsearch.dsl.
_AS_DICT = "to_dict"
_HOLDS = ("body", "points", "objects", _AS_DICT)
_COLUMNS = {"ids": "id", "documents": "text", "metadatas": "metadata"}  # of Chroma's answers
_BATCH_ROWS, _BATCH_CHARACTERS = 1 << 16, 1 << 25  # of the texts whose arrays are in memory at once


@dataclass(frozen=True)
class TextOptions:
    """How texts become features: see `Index.text_features`."""

    plain_field: str | None = None
    recipe: Recipe | None = None
    retriever: Retriever = field(default_factory=lambda: Retriever.bm25(K1, B))
    needed: Names[str] | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs whose scores are features."""
        return () if self.recipe is None else self.recipe.runs or ()


@dataclass(frozen=True, eq=False)
class QueryTexts:
    """Queries and the documents of each, and where each document comes from, for errors.

    Parameters
    ----------
    topics : Topics
        The queries.
    documents : mapping from str to mapping from str to str or mapping
        Documents by query id and document id.
    run : Run, optional
        Scores of the documents, row by row; without it, BM25.
    have_ids : bool
        Whether the documents were given with ids, which may be those of documents of the index.
    locations : mapping from (str, str) to str, optional
        Where the document of a query id and document id is, for errors.

    """

    topics: Topics
    documents: Mapping[str, Mapping[str, Any]]
    run: Run | None = None
    have_ids: bool = True
    locations: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def location(self, query_id: str, doc_id: str) -> str:
        """Return where a document is."""
        of_query = "" if query_id == QUERY else f"query {query_id!r}, "
        return self.locations.get((query_id, doc_id), f"documents: {of_query}{doc_id}")

    def read(self, reader: DocumentReader, query_id: str, doc_id: str) -> ReadDocument:
        """Return a document as a reader reads it; an error says where it is."""
        try:
            return reader.read(doc_id, self.documents[query_id][doc_id])
        except InvalidInputError as error:
            raise InvalidInputError(f"{self.location(query_id, doc_id)}: {error}") from None


def texts_of_queries(query: str | Mapping[str, str], documents: Any, scores: Any = None) -> QueryTexts:
    """Return the arguments of `Index.text_features` as records; raises InvalidInputError."""
    if isinstance(query, str):
        if not query.strip():
            raise InvalidInputError(f"query: expected text, got {shown(query)}. Write the query.")
        query = {QUERY: query}
        documents = {QUERY: documents}
        scores = None if scores is None else {QUERY: scores}
        of_query = "documents"
    else:
        of_query = "documents of query {!r}"
    topics = Topics.of(query)
    if not isinstance(documents, Mapping):
        raise InvalidInputError(
            f"documents: expected a mapping by query id for several queries, got {type(documents).__name__}. "
            "Pass the documents of each query."
        )
    by_query = {str(name): listed(texts, of_query.format(str(name))) for name, texts in documents.items()}
    unknown = [query_id for query_id in by_query if query_id not in topics]
    if unknown:
        raise InvalidInputError(
            f"documents: expected queries of the topics, got {shown(unknown[0])}. Give the text of every query."
        )
    named = {query_id: _named(by_query.get(query_id, ()), of_query.format(query_id)) for query_id in topics}
    total = sum(map(len, named.values()))
    if total > MOST_TEXTS:
        raise InvalidInputError(f"documents: expected at most {MOST_TEXTS:,} texts, got {total:,}. Give them in parts.")
    have_ids = all(isinstance(of_query, Mapping) for of_query in by_query.values())
    return QueryTexts(topics, named, None if scores is None else _run_of(named, scores), have_ids)


def _named(documents: Any, what: str) -> dict[str, Any]:
    """Return the documents of a query by id."""
    if isinstance(documents, Mapping):
        named = {str(doc_id): document for doc_id, document in documents.items()}
        broken = first_broken(named)
        if broken is not None:
            raise InvalidInputError(f"{what}: expected ids {ID_RULE}, got {shown(broken)}. Rename it.")
        if len(named) < len(documents):
            raise InvalidInputError(f"{what}: expected each id once, got one again as text. Rename one of the two.")
    else:
        texts = list(documents)
        named = dict(zip(position_ids(len(texts)), texts, strict=True))
    if not named:
        raise InvalidInputError(f"{what}: expected at least one text, got none. Pass the texts to rank.")
    return named


def listed(documents: Any, what: str = "documents") -> Any:
    """Return documents by id as they are, and others as a list: rows of a data frame, fields of hits and objects."""
    if is_frame(documents):
        rows = frame_rows(documents)
        _check_one_query(rows)
        return [{name: value for name, value in row.items() if not is_missing(value)} for row in rows]
    found = _hits_in(documents)
    if isinstance(found, Mapping):
        return {doc_id: of_hit(document) for doc_id, document in found.items()}
    if isinstance(found, str) or not isinstance(found, Iterable):
        raise InvalidInputError(
            f"{what}: expected a list of texts, or a mapping of them by id, got {type(found).__name__}. Pass a list."
        )
    return [each if isinstance(each, str) else of_hit(each) for each in found]


def _hits_in(documents: Any) -> Any:
    """Return the hits in the whole answer of a search engine or vector store; other documents as they are."""
    name = next((name for name in _HOLDS if hasattr(documents, name)), None)
    answer = documents if name is None else getattr(documents, name)
    answer = answer() if callable(answer) else answer
    if not isinstance(answer, Mapping):
        return _of_one_query(answer)
    if isinstance(answer.get("ids"), list) and _COLUMNS.keys() <= answer.keys():
        columns = {_COLUMNS[name]: _of_one_query(answer[name]) for name in _COLUMNS if answer[name] is not None}
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    hits = hits_of(answer)
    if any(hit is answer for hit in hits):
        return documents if name == _AS_DICT else answer  # a column of pandas has it, too
    return hits


def _of_one_query(hits: Any) -> Any:
    """Return the hits of the only query, where a store answers several at once."""
    if not isinstance(hits, list) or not hits or not all(isinstance(each, list) for each in hits):
        return hits
    if len(hits) > 1:
        raise InvalidInputError(
            f"documents: expected the hits of one query, got those of {len(hits)}. Pass those of each with its query."
        )
    return hits[0]


def _check_one_query(rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse the rows of a frame that has documents of several queries."""
    for name in (name for name in (rows[0] if rows else ()) if plain_name(name) in HEADERS):
        n_queries = len({str(row[name]) for row in rows})
        if n_queries > 1:
            raise InvalidInputError(
                f"documents: expected those of one query, got rows of {n_queries} ({name}). Rank those of each by "
                "themselves, e.g. of frame.groupby."
            )


def position_ids(n: int) -> list[str]:
    """Return the ids of n texts without ids: their positions, of equal length so that ties keep the order."""
    return [f"{number:0{len(str(n - 1))}}" for number in range(n)]


def _run_of(documents: Mapping[str, Mapping[str, Any]], scores: Any) -> Run:
    """Return a run of the documents; refuse scores that are not one finite number for each."""
    name = scores.name if isinstance(scores, Run) else UNNAMED
    if not isinstance(scores, Run | Mapping):
        raise InvalidInputError(f"scores: expected a mapping by query id, got {type(scores).__name__}. Pass one.")
    by_query = {str(query_id): of_query for query_id, of_query in scores.items()}
    columns: list[Floats] = []
    for query_id, named in documents.items():
        of_query = by_query.get(query_id, ())
        if isinstance(of_query, Mapping):
            of_query = {str(doc_id): score for doc_id, score in of_query.items()}
            of_query = [of_query.get(doc_id, np.nan) for doc_id in named]
        try:
            column = np.asarray(of_query, dtype=np.float64)
        except (TypeError, ValueError):
            column = np.empty(0)
        if column.shape != (len(named),) or not np.isfinite(column).all():
            raise InvalidInputError(
                f"scores: expected a finite number for each of the {len(named)} texts of query {query_id!r}, got "
                f"{'others' if column.shape == (len(named),) else len(column.ravel())}. Pass one for each."
            )
        columns.append(column)
    return _run(documents, np.concatenate(columns), name)


def _run(documents: Mapping[str, Mapping[str, Any]], scores: Floats, name: str) -> Run:
    """Return the rows of all queries in the order in which they were given."""
    doc_ids = id_array([doc_id for named in documents.values() for doc_id in named])
    return Run(id_array(list(documents)), pointers([len(named) for named in documents.values()]), doc_ids, scores, name)


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
    """Return what reads the texts of a call."""
    field = options.plain_field or index.main_field
    titles = [name for name in TITLES if name in index.forward.fields and field not in (CONTENTS, *TITLES)]
    return DocumentReader(index.forward, index.analyser.joined_fields, field, options.runs, *titles[:1])


def _batches(query_texts: QueryTexts, reader: DocumentReader) -> Iterator[dict[str, dict[str, ReadDocument]]]:
    """Yield the documents of whole queries, read, about as many as are in memory at once."""
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
    run = _run(
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
        records=_records(index, batch, query_texts, options),
        needed=options.needed,
        threads=index.threads,
    )


def _records(
    index: Collection,
    batch: Mapping[str, Mapping[str, ReadDocument]],
    query_texts: QueryTexts,
    options: TextOptions,
) -> Records:
    """Return what features need beside the texts of some queries."""
    documents = [document for named in batch.values() for document in named.values()]
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
    """Return the runs whose scores the documents have as numbers, by name."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    for query_id, documents in batch.items():
        for doc_id, document in documents.items():
            for name, score in document.run_scores.items():
                scores.setdefault(name, {}).setdefault(query_id, {})[doc_id] = float(score)
    return {name: replace(Run.of(scores[name]), name=name) for name in names if name in scores}


def _warn_of_empty_fields(index: Collection, documents: Sequence[ReadDocument], needed: Names[str]) -> None:
    """Log a warning, once for an index, of fields that a model reads and no document fills."""
    read = {name.rpartition(".")[2] for name in needed} & (index.forward.fields.keys() - {CONTENTS})
    empty = sorted(read.difference(*(document.document.texts for document in documents)) - index.warned_of)
    if empty:
        index.warned_of.update(empty)
        log.warning(
            "texts: none has the field %s, whose features the model reads. Pass it, too, where there is such text.",
            " or ".join(empty),
        )


def _encoded(index: Collection, documents: Sequence[ReadDocument], queries: Mapping[str, str]) -> Encoded | None:
    """Return the vectors of an encoder for queries and texts, each as the index would store it; None without one."""
    encoder = index.encoder
    if encoder is None:
        return None
    of_queries = encoder.encode_queries(list(queries.values()))
    vectors = encoder.encode(_stored_texts(index, documents), of_queries.shape[1])
    return Encoded(encoder.name, vectors, dict(zip(queries, of_queries, strict=True)))


def _stored_texts(index: Collection, documents: Iterable[ReadDocument]) -> list[str]:
    """Return the text of each document, as that of one that the index stores."""
    joined_fields = index.analyser.joined_fields
    return [stored_text(document.json(), index.forward.fields, joined_fields) for document in documents]


def texts_of_rows(
    index: Collection, query_texts: QueryTexts, options: TextOptions, run: Run | RankingData, rows: Ints
) -> list[str]:
    """Return the texts of some rows of a run of texts, as those of documents that the index stores."""
    reader = _reader(index, options)
    query_ids = run.query_ids[query_rows(run.query_ptr)[rows]].tolist()
    pairs = zip(query_ids, run.doc_ids[rows].tolist(), strict=True)
    return _stored_texts(index, (query_texts.read(reader, query_id, doc_id) for query_id, doc_id in pairs))


_WORD = re.compile(r"\w+(?:['’]\w+)*")
Spans = list[list[int]]
_AT_ONCE = 256  # texts in memory


def chosen_fields(document: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those of the fields that the document has; lists of texts are joined."""
    chosen = {name: document[name] for name in names if name in document}
    return {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in chosen.items()}


def title_and_body(document: Mapping[str, Any]) -> tuple[str, str]:
    """Return the title of a document in one line, and the longest of its other texts; "" where it has none."""
    texts = {name: text for name, text in document.items() if isinstance(text, str)}
    title = next((name for name in TITLES if name in texts), "")
    body = max((text for name, text in texts.items() if name not in ("id", title)), key=len, default="")
    return one_line(texts.get(title, "")), body


def marked(text: str, spans: Spans) -> str:
    """Return a text in one line, with asterisks around its matches."""
    for begin, end in reversed(spans):
        text = f"{text[:begin]}*{text[begin:end]}*{text[end:]}"
    return one_line(text)


def one_line(text: str) -> str:
    """Return a text in one line, with blanks for what a terminal would not print."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def marked_excerpts(index: BoundIndex, query: str, texts: Sequence[str], longest: int) -> list[str]:
    """Return the part of each text, of at most `longest` characters, that has most words of a query, marked."""
    terms = frozenset(index.searcher.analyze([query])[0])
    matcher = Matcher(index.searcher.analyze, texts)
    return [marked(*excerpt(text, matcher.spans(text, terms), longest)) for text in texts]


class Matcher:
    """Finds the words of a text that the index's analyser maps to a term of the query.

    Parameters
    ----------
    analyse : callable
        Returns the terms of each text, see `Searcher.analyze`.
    texts : iterable of str
        All texts that will be asked about: their words are analysed in one call.

    """

    def __init__(self, analyse: Callable[[Sequence[str]], list[list[str]]], texts: Iterable[str]) -> None:
        words = sorted({word.casefold() for text in texts for word in _WORD.findall(text)})
        self._terms = dict(zip(words, map(frozenset, analyse(words)), strict=True)) if words else {}

    def spans(self, text: str, terms: frozenset[str]) -> Spans:
        """Return `[begin, end)` of each word, in characters, that has a term of the query."""
        spans: Spans = []
        for word in _WORD.finditer(text):
            own = self._terms[word.group().casefold()]
            if own <= terms and own:
                spans.append([word.start(), word.end()])
            elif own & terms:
                spans += _parts(word, own & terms)
        return spans


def _parts(word: re.Match[str], terms: frozenset[str]) -> Spans:
    """Return the parts of a run of letters that are terms, as in languages without spaces."""
    text = word.group().casefold()
    marked = set[int]()
    for term in terms:
        for part in re.finditer(f"(?={re.escape(term)})", text):
            marked.update(range(part.start(), part.start() + len(term)))
    if not marked or len(text) != len(word.group()):
        return [[word.start(), word.end()]]
    begins = sorted(number for number in marked if number - 1 not in marked)
    ends = sorted(number + 1 for number in marked if number + 1 not in marked)
    return [[word.start() + begin, word.start() + end] for begin, end in zip(begins, ends, strict=True)]


_SENTENCE = re.compile(r"[.?!]\s+")  # between two
_LEFT_OUT = "… ", " …"  # before an excerpt that begins in a sentence, and after one that ends before the text


def excerpt(text: str, spans: Spans, longest: int) -> tuple[str, Spans]:
    """Return the part of a text, of at most `longest` characters, that has most matches, and the matches in it.

    The part starts at the start of a sentence if there is one near the matches. "…" marks text that is left out.
    """
    if not longest or len(text) <= longest:
        return text, spans
    before, after = _LEFT_OUT if longest > 8 else ("", "")
    size = longest - len(before + after)
    margin = size // 8
    begins = [begin for begin, _ in spans]
    ends = [end for _, end in spans]
    starts = [0, *(_sentence(text, begin, size // 2, margin) for begin in begins)]
    counts = [bisect_right(ends, start + size) - bisect_left(begins, start) for start in starts]
    first = starts[max(range(len(starts)), key=lambda number: (counts[number], _begins_sentence(text, starts[number])))]
    if first > len(text) - size:
        found = _SENTENCE.search(text, len(text) - size, first)
        first = found.end() if found else len(text) - size
    if _begins_sentence(text, first):
        before = ""
    elif text[first - 1] != " ":  # not in the middle of a word
        space = text.find(" ", first, first + margin + 1)
        first = space + 1 if space >= 0 else first
    last = first + size
    if last < len(text):
        space = text.rfind(" ", last - margin, last)
        last = space if space >= 0 else last
    cut = f"{before}{text[first:last]}{after if last < len(text) else ''}"
    moved = len(before) - first
    return cut, [[begin + moved, end + moved] for begin, end in spans if first <= begin and end <= last]


def _sentence(text: str, place: int, most: int, margin: int) -> int:
    """Return where the sentence of a place begins, or a margin before the place where that is more than `most`."""
    ends = [found.end() for found in _SENTENCE.finditer(text, max(0, place - most), place)]
    return ends[-1] if ends else max(0, place - margin)


def _begins_sentence(text: str, place: int) -> bool:
    return place == 0 or re.search(r"[.?!]\s+$", text[max(0, place - 4) : place]) is not None


def run_passages(index: BoundIndex, run: Run, topics: Topics) -> list[Passage]:
    """Return the best passage of each row of a run; see `Index.best_passages`."""
    check_topics(run, topics)
    numbers = doc_numbers(index.forward, run)
    return [
        passage
        for query_id in run
        for passage in document_passages(index, topics[query_id], numbers[run.rows(query_id)])
    ]


def document_passages(index: BoundIndex, query: str, numbers: Ints) -> list[Passage]:
    """Return the best passage of each of some documents of the index, by number, for a query."""
    (terms,), field = index.analyser.analyze([query]), index.main_field
    return [
        passage
        for part in _text_parts(numbers)
        for passage in _best(index, terms, stored_texts(index, part, field), field)
    ]


def stored_texts(index: BoundIndex, numbers: Ints, field: str) -> list[str]:
    """Return a field of documents of the index, by number, with blanks for NUL; refuse an index without documents."""
    if field == CONTENTS:
        texts = index.document_texts(numbers)
    else:
        documents = [stored_fields(raw) for raw in index.kept_documents(numbers)]
        texts = [str(chosen_fields(document, [field]).get(field, "")) for document in documents]
    return [text.replace("\0", " ") for text in texts]


def text_passages(index: Collection, query: str, documents: Any, field: str | None) -> list[Passage]:
    """Return the best passage of each text; see `Index.text_passages`."""
    field = field or index.main_field
    query_texts = texts_of_queries(query, documents)
    reader = DocumentReader(index.forward, index.analyser.joined_fields, field)
    (terms,), (named,) = index.analyser.analyze([query]), query_texts.documents.values()
    (query_id,) = query_texts.topics
    read = [query_texts.read(reader, query_id, doc_id).document for doc_id in named]
    texts = [document.contents if field == CONTENTS else document.texts.get(field, "") for document in read]
    try:
        return [passage for part in _text_parts(texts) for passage in _best(index, terms, part, field)]
    except UnusableTextError:
        for doc_id, text in zip(named, texts, strict=True):
            check_characters({field: text}, query_texts.location(query_id, doc_id))
        raise


def _text_parts(items: Any) -> Iterator[Any]:
    return (items[first : first + _AT_ONCE] for first in range(0, len(items), _AT_ONCE))


def _best(index: Collection, terms: Sequence[str], texts: list[str], field: str) -> list[Passage]:
    """Return the best passage of each text for the terms of a query."""
    if index.forward.fields[field].positions is None:
        raise InvalidInputError(
            f"{index.path}: expected positions of {field}, which passages are found by, got an index without. Index "
            "with positions (-storePositions)."
        )
    sizes = index.passages or Passages()
    n_texts = len(texts)
    documents = [TextDocument({field: text}, ()) for text in texts]
    forward = index.text_analyser.index(documents, id_array(position_ids(n_texts)), {}, index.threads)
    query_ptr = np.array([0, n_texts], dtype=np.int64)
    rows = np.arange(n_texts)
    block = match(gather_candidates(forward, [terms], query_ptr, rows, np.zeros(n_texts)), forward.fields[field])
    columns = np.empty((n_texts, N_COLUMNS), dtype=np.float32)
    first = fill_passages(block, Recipe(), sizes, columns) * sizes.stride
    spans = field_spans(forward.fields[field])
    last = np.minimum(first + sizes.window, spans)
    scores = np.nan_to_num(columns[:, MAX]).tolist()
    places = index.analyser.places(texts, first.tolist(), last.tolist())
    passages = []
    for row, (text, (begin, end)) in enumerate(zip(texts, places, strict=True)):
        begin = 0 if first[row] == 0 else begin
        end = len(text) if last[row] == spans[row] else end
        passages.append(Passage(text[begin:end], scores[row], begin, end))
    return passages
