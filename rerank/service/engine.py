"""The index and its served models, and the computation of many requests together; one thread calls it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from rerank.errors import InvalidInputError, check_known, log
from rerank.explanation.explain import feature_meanings
from rerank.features.recipe import Recipe
from rerank.features.text_bm25 import bm25_scores
from rerank.index.best_passages import document_passages, text_passages
from rerank.index.excerpts import Matcher, chosen_fields, excerpt
from rerank.index.index import Index
from rerank.index.query_texts import QueryTexts, position_ids, texts_of_queries
from rerank.index.texts import TextOptions, text_features, texts_of_rows
from rerank.lucene.documents import stored_fields
from rerank.retrieval.candidates import DEPTH
from rerank.retrieval.union import UnionRun
from rerank.service.bodies import Job, RerankAnswer, RerankJob, SearchJob, json_bytes
from rerank.service.querylog import QueryLog
from rerank.service.ranked_candidates import (
    RankedCandidates,
    check_finite_scores,
    first_stage,
    ranked,
    scored_by_model,
    shown_hits,
    text_run,
)
from rerank.service.served_models import ServedModel, load_models, opened_collection, strongest_features
from rerank.service.settings import BM25_NAME, ServiceError, Settings, internal, too_late, unknown, unusable
from rerank.types import Ints, Run, Topics, pointers
from rerank.types.ids import QUERY, id_array
from rerank.types.retriever import CONTENTS, Passage, Retriever
from rerank.types.tie_order import position_order

_WARM_ROWS = 50
_AT_ONCE = 50  # stored documents
Item = TypeVar("Item")


class Engine:
    """Answers jobs.

    Parameters
    ----------
    settings : Settings
        The files and options.

    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.collection = opened_collection(settings).using(threads=settings.threads)
        if (scorer := self.collection.scorer) is not None:
            self.collection = self.collection.using(scorer=replace(scorer, seconds=settings.limits.deadline / 2))
        self.served_models: dict[str, ServedModel] = {}
        self.log = None if settings.log_queries is None else QueryLog(settings)

    @property
    def index(self) -> Index:
        """The index, whose documents are searched; ServiceError where there is none."""
        if not isinstance(self.collection, Index):
            raise ServiceError(
                404, "service", "an index to search", "a model alone",
                "Send texts to /rerank, or start the service with an index.",
            )  # fmt: skip
        return self.collection

    def open(self) -> None:
        """Open the index and the model, and answer a first request of each kind, so that all kernels are compiled."""
        self.collection.analyser  # noqa: B018  # starts Java
        self.text_field = self.settings.text_field or self.collection.main_field  # which plain texts fill
        check_known("text-field", self.text_field, self.collection.forward.fields)
        self.served_models = {BM25_NAME: self.warmed(ServedModel(BM25_NAME))}
        self.take(load_models(self.settings, self.collection))
        self.examples = self._titles() if isinstance(self.collection, Index) else []

    def _titles(self) -> list[str]:
        """Return the titles, or else the first words of the texts, of three documents: queries to begin with."""
        spread = np.linspace(0, len(self.index.forward.doc_ids) - 1, 5)[1:-1].astype(np.int64)
        documents = map(stored_fields, self.index.stored_documents(spread))
        texts = [str(document.get("title") or document.get(self.text_field) or "") for document in documents]
        return list(dict.fromkeys(excerpt(" ".join(text.split()), [], 100)[0] for text in texts if text.strip()))

    def take(self, served_models: Sequence[ServedModel]) -> None:
        """Serve models from now on, the first under all its names; raises RerankError where one cannot be served."""
        first, *others = map(self.warmed, served_models)
        names = self.settings.model_names or (first.name,)
        named = [replace(first, name=name) for name in names] + others
        self.served_models = self.served_models | {served.name: served for served in named}

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the text fields and numbers that documents may have."""
        return (*self.collection.forward.fields, *self.collection.forward.numbers)

    def warmed(self, served: ServedModel) -> ServedModel:
        """Return a served model that has answered requests of each kind; raises RerankError where it cannot."""
        forward = self.collection.forward
        frequent = np.argsort(-forward.fields[CONTENTS].doc_freq.astype(np.int64), kind="stable")[:8].tolist()
        query = " ".join(map(forward.term, frequent)) or "query"
        topics = {"q": query, "other": query.split()[0]}
        if not served.reads_runs:
            text = dict.fromkeys(forward.fields.keys() - {CONTENTS}, query) or query
            texts = texts_of_queries({"q": query, "r": query}, {"q": {"1": text, "2": "a text"}, "r": {"1": text}})
            self._text_scores(texts, served)
        if not isinstance(self.collection, Index):
            return served
        run = self._search(topics, _WARM_ROWS, served)
        if served.bound is not None and isinstance(run, UnionRun):
            served.bound.check_candidates(run.retriever, run.sources, what="union")
        if served.bound is None:
            return served
        data = served.bound.features(run, Topics(topics), whole=True)
        scored = served.bound.scored(data)
        served.bound.scored(data.of_rows([0]))
        with suppress(InvalidInputError):  # nets and ensembles have no contributions
            meanings = {name: words for name, (words, *_) in feature_meanings(served.bound.recipe).items()}
            strongest_features(served.bound, scored, np.arange(min(3, data.n_rows)), meanings)
            return replace(served, explains=True, meanings=meanings)
        return served

    def close(self) -> None:
        """Close the index, and write what the log has."""
        if isinstance(self.collection, Index):
            self.collection.close()
        if self.log is not None:
            self.log.close()

    def answer(self, jobs: Sequence[Job]) -> None:
        """Set `answer` or `fault` of each job; jobs of the same served models and depth are computed together."""
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for job in jobs:
            try:
                self._check(job)
            except ServiceError as fault:
                job.fault = fault
            else:
                depth = job.candidates if isinstance(job, SearchJob) else None
                groups.setdefault((job.models, job.body.cutoff is None, depth), []).append(job)
        for (*_, depth), group in groups.items():
            self._answer_group(self._answer_reranks if depth is None else self._answer_searches, group)

    def _answer_group(self, compute: Callable[[list[Any]], None], group: list[Any]) -> None:
        """Answer jobs together; after an error one by one, so that only those fail that cause it."""
        try:
            _drop_late(group)
            compute(group)
        except Exception as error:
            if len(group) > 1:
                for job in group:
                    self._answer_group(compute, [job])
                return
            group[0].fault = _fault(error, group[0])

    def _check(self, job: Job) -> None:
        """Refuse a job that needs an index, a model, an ability of a model or a field that is not there."""
        if not isinstance(job, RerankJob) or job.doc_ids is not None:
            _ = self.index
        for name in job.named:
            if name not in self.served_models:
                raise unknown(404, job.place, name, self.served_models)
            served = self.served_models[name]
            if job.body.cutoff is not None and not served.is_calibrated:
                raise ServiceError(
                    422, "body.min_score" if job.body.cutoff.min_score else "body.abstain", "a calibrated model",
                    f"{name}, which is not",
                    "Leave it out, or serve a model of `rerank train INDEX TOPICS QRELS` with enough judged queries.",
                )  # fmt: skip
            if isinstance(job, RerankJob) and served.reads_runs:
                raise ServiceError(
                    422, "body.model", "a model of BM25's candidates", f"{name}, whose features need several runs",
                    "Use /search, or name another model.",
                )  # fmt: skip
            if isinstance(job, SearchJob) and job.body.explain and not served.explains:
                raise ServiceError(
                    422, "body.explain", "a model with contributions", f"{name}, which has none",
                    "Leave explain out, or serve a model of trees.",
                )  # fmt: skip
        if isinstance(job, SearchJob):
            for number, field in enumerate(job.body.fields):
                if field not in self.field_names:
                    raise unknown(422, f"body.fields[{number}]", field, self.field_names)

    def _search(self, topics: Mapping[str, str], k: int, served: ServedModel) -> Run:
        """Return the candidates of each query: BM25's top k, or those of several sources."""
        depth = (served.candidates.k or DEPTH) if served.is_union else k
        return self.index.retrieve(Topics(topics), served.candidates.at_depth(depth))

    def _answer_searches(self, jobs: list[SearchJob]) -> None:
        """Answer searches with one served model, or with two that share each list."""
        served_models = [self.served_models[name] for name in jobs[0].models]
        topics = {f"{n}:{name}": text for n, job in enumerate(jobs) for name, text in job.queries.items()}
        whole = self.log is not None or any(job.body.explain for job in jobs)
        sides = []
        for served in served_models:
            run = self._search(topics, jobs[0].candidates, served)
            _drop_late(jobs)
            sides.append(ranked(served, topics, run, jobs[0], whole))
        numbered = enumerate(topics)
        for job in jobs:
            own = dict(islice(numbered, len(job.queries)))
            try:
                self._finish_search(job, own, served_models, sides)
            except ServiceError as fault:  # of this job alone
                job.fault = fault

    def _finish_search(
        self,
        job: SearchJob,
        own: Mapping[int, str],
        served_models: Sequence[ServedModel],
        sides: Sequence[RankedCandidates],
    ) -> None:
        """Set the answer of a search, and the entry of the log that is written when it is sent.

        own  numbers of its queries in the runs, and their names there
        """
        results = []
        attributes = []
        promised = sides[0].promised if len(sides) == 1 else None
        for number, (query_id, query) in zip(own, job.queries.items(), strict=True):
            _drop_late([job])
            hits, credited = shown_hits(job, query, served_models, sides, number)
            likely = {} if promised is None else {"probability": float(promised.lists[number])}
            results.append({"query_id": query_id, "query": query, **likely, "hits": hits})
            attributes.append(credited | {"checksums": {served.name: served.checksum for served in served_models}})
        self._add_documents(job, results)
        if self.log is not None:
            known = list(zip(results, attributes, strict=True))
            job.entry = self.log.entry(job, known, list(own.values()), sides[0].run, sides[0].data)
        job.answer = json_bytes(results)

    def _add_documents(self, job: SearchJob, results: Sequence[dict[str, Any]]) -> None:
        """Add stored fields and passages to the hits, where these are asked for; refuse an answer that is too large."""
        marks = bool(job.body.fields) and (job.body.highlight or job.body.excerpt > 0)
        terms = self.index.searcher.analyze(list(job.queries.values())) if marks else [()] * len(results)
        size = 0
        for result, of_query in zip(results, terms, strict=True):
            for part in _parts(result["hits"] if job.body.fields or job.body.passage else ()):
                _drop_late([job])
                doc_ids = [hit["id"] for hit in part]
                if job.body.fields:
                    for hit, entry in zip(part, self._fields(job, doc_ids, frozenset(of_query)), strict=True):
                        hit |= entry
                        size += len(json_bytes(entry))
                    self._check_size(size, "body.fields")
                if job.body.passage:
                    passages = document_passages(self.index, result["query"], self._numbers(doc_ids))
                    for hit, passage in zip(part, passages, strict=True):
                        hit["passage"] = passage._asdict()
                        size += len(json_bytes(hit["passage"]))
                    self._check_size(size, "body.passage")

    def _check_size(self, size: int, place: str) -> None:
        """Refuse an answer of more bytes than the limit."""
        most = self.settings.limits.answer_bytes
        if size > most:
            raise ServiceError(
                413, place, f"documents of at most {most} bytes", "more",
                "Ask for fewer documents, or for an excerpt of each.",
            )  # fmt: skip

    def _fields(self, job: SearchJob, doc_ids: Sequence[str], terms: frozenset[str]) -> list[dict[str, Any]]:
        """Return stored fields of some hits, as excerpts and with matches where these are asked for."""
        body = job.body
        documents = [chosen_fields(document, body.fields) for document in self._stored(doc_ids)]
        if not (body.highlight or body.excerpt):
            return [{"fields": document} for document in documents]
        texts = [{name: text for name, text in document.items() if isinstance(text, str)} for document in documents]
        matcher = Matcher(self.index.searcher.analyze, (text for own in texts for text in own.values()))
        entries = []
        for document, own in zip(documents, texts, strict=True):
            cut = {name: excerpt(text, matcher.spans(text, terms), body.excerpt) for name, text in own.items()}
            matches = {"matches": {name: spans for name, (_, spans) in cut.items()}} if body.highlight else {}
            entries.append({"fields": document | {name: text for name, (text, _) in cut.items()}, **matches})
        return entries

    def _numbers(self, doc_ids: Sequence[str]) -> Ints:
        """Return the numbers of documents of the index, -1 for another one."""
        return self.index.forward.doc_numbers(id_array(list(doc_ids)))

    def _stored(self, doc_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the stored fields of documents of the index."""
        return [stored_fields(text) for text in self.index.stored_documents(self._numbers(doc_ids))]

    def _answer_reranks(self, jobs: list[RerankJob]) -> None:
        """Answer rerank requests with one served model: those over texts together, those over ids one by one."""
        served = self.served_models[jobs[0].models[0]]
        texts = [job for job in jobs if job.doc_ids is None]
        if texts:
            to_rank = texts_of_queries(
                {str(n): job.body.query for n, job in enumerate(texts)},
                {str(n): job.documents for n, job in enumerate(texts)},
            )
            locations = {  # for errors of documents with fields: plain texts have been checked
                (str(n), name): f"body.documents[{number}]"
                for n, job in enumerate(texts)
                for number, name in enumerate(position_ids(len(job.documents)))
            }
            scored = self._text_scores(replace(to_rank, locations=locations), served, texts[0])
            for n, job in enumerate(texts):
                self._finish_rerank(job, scored, n, scored.run.doc_ids[scored.run.rows(str(n))].astype(np.int64))
        for job in jobs:
            if job.doc_ids is not None:
                _drop_late([job])
                scored = self._id_scores(job, job.doc_ids, served)
                position = {name: number for number, name in enumerate(job.doc_ids)}
                names = scored.run.doc_ids[scored.rows].tolist()
                self._finish_rerank(job, scored, 0, np.array([position[name] for name in names], np.int64))

    def _finish_rerank(self, job: RerankJob, scored: RankedCandidates, query: int, positions: Ints) -> None:
        """Set the answer: likely documents by falling score, equal scores by their positions (n,) in the request."""
        first = int(scored.run.query_ptr[query])
        rows = first + position_order(positions, scored.scores[first : first + len(positions)])
        rows = scored.likely(query, rows, job.body.cutoff)
        check_finite_scores(scored.scores[rows])
        promised = scored.promised if scored.slow is None else None  # probabilities are in the model's order
        probabilities = None if promised is None else promised.documents[rows].tolist()
        order = positions[rows - first].tolist()
        returned = order[: job.body.count]
        job.answer = RerankAnswer(
            order,
            scored.scores[rows].tolist(),
            probabilities,
            None if job.doc_ids is None or not job.body.return_documents else self._whole_texts(job, returned),
            self._passages_of(job, returned) if job.body.return_passages and returned else {},
        )

    def _passages_of(self, job: RerankJob, numbers: Sequence[int]) -> dict[int, Passage]:
        """Return the best passages of documents, by their numbers in the request."""
        if job.doc_ids is None:
            texts = [job.documents[number] for number in numbers]
            passages = text_passages(self.collection, job.body.query, texts, self.text_field)
        else:
            doc_ids = [job.doc_ids[number] for number in numbers]
            passages = document_passages(self.index, job.body.query, self._numbers(doc_ids))
        self._check_size(len(json_bytes(passages)), "body.return_passages")
        return dict(zip(numbers, passages, strict=True))

    def _whole_texts(self, job: RerankJob, numbers: Sequence[int]) -> dict[int, str]:
        """Return the stored texts of documents of the index, by their numbers in the request."""
        size = 0
        texts: dict[int, str] = {}
        for part in _parts(numbers):
            _drop_late([job])
            documents = self._stored([job.doc_ids[number] for number in part])  # type: ignore[index]
            for number, document in zip(part, documents, strict=True):
                text = document.get(CONTENTS)
                texts[number] = text if isinstance(text, str) else ""
                size += len(texts[number].encode("utf-8", "replace"))
            self._check_size(size, "body.return_documents")
        return texts

    def _text_scores(self, texts: QueryTexts, served: ServedModel, job: Job | None = None) -> RankedCandidates:
        """Return texts with the scores of a served model; its last stage scores, too, where the job has no cutoff."""
        bound = served.bound
        if bound is None:
            options = TextOptions(self.text_field, Recipe(families=("document",)))
            return first_stage(text_run(text_features(self.collection, texts, options)))
        options = bound.text_options(self.text_field)
        data = text_features(bound.index, texts, options)
        run = text_run(data)
        stored = partial(texts_of_rows, self.collection, texts, options, run)
        return scored_by_model(bound, run, data, np.arange(run.n_rows), job, texts.topics, stored)

    def _id_scores(self, job: RerankJob, doc_ids: Sequence[str], served: ServedModel) -> RankedCandidates:
        """Return documents of the index with the scores of a served model."""
        numbers = self._numbers(doc_ids)
        if (numbers < 0).any():
            missing = int(np.argmax(numbers < 0))
            raise ServiceError(
                404, f"body.documents[{missing}].id", "a document of the index", repr(doc_ids[missing]),
                "Send its text, or leave it out.",
            )  # fmt: skip
        terms = self.index.searcher.analyze([job.body.query])
        bm25 = served.candidates
        query_ptr = pointers([len(numbers)])
        retriever = Retriever.bm25(bm25.k1, bm25.b, bm25.field)
        scores = bm25_scores(self.index.forward, terms, query_ptr, numbers, retriever)
        run = Run(id_array([QUERY]), query_ptr, id_array(list(doc_ids)), scores, str(retriever))
        return ranked(served, {QUERY: job.body.query}, run.take(run.trec_order()), job, chosen=True)


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield a sequence in parts, so that few documents are in memory at a time."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def _drop_late(jobs: Sequence[Job]) -> None:
    """Raise ServiceError if nobody waits for any of the jobs."""
    if all(job.is_late() for job in jobs):
        raise too_late()


def _fault(error: Exception, job: Job) -> ServiceError:
    """Return what the client is told; what it cannot have caused is logged with its trace."""
    if isinstance(error, ServiceError):
        return error
    if isinstance(error, InvalidInputError):
        return unusable(error)
    if isinstance(error, MemoryError):
        log.error("request %s: out of memory", job.request_id)
        return too_late()
    log.error("request %s failed", job.request_id, exc_info=error)
    return internal()
