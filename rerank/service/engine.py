"""The index and the models, and the computation of many requests together; one thread calls it.

A model as it is served: what it needs of a request's candidates, checked once, when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from rerank.clicks.interleaving import interleave
from rerank.errors import InvalidInputError, ModelMismatchError, check_known, log
from rerank.explanation.explain import feature_meanings
from rerank.features.recipe import Recipe
from rerank.features.text_bm25 import bm25_scores
from rerank.index.bound_model import BoundModel, Scored
from rerank.index.collection import Collection
from rerank.index.index import Index
from rerank.index.text_collection import model_for_texts
from rerank.index.texts import (
    Matcher,
    QueryTexts,
    TextOptions,
    chosen_fields,
    document_passages,
    excerpt,
    position_ids,
    stored_fields,
    text_features,
    text_passages,
    texts_of_queries,
    texts_of_rows,
)
from rerank.rankers.bases import UNSUPERVISED, CandidateRunBase
from rerank.rankers.calibration import Probabilities
from rerank.rankers.cutoff import Cutoff
from rerank.retrieval.candidates import DEPTH, Candidates
from rerank.retrieval.union import UnionRun
from rerank.runtime.codec import finite
from rerank.service.bodies import Job, RerankAnswer, RerankJob, SearchJob, json_bytes
from rerank.service.querylog import QueryLog
from rerank.service.settings import (
    BM25_NAME,
    ServiceError,
    Settings,
    internal,
    name_of,
    too_late,
    unknown,
    unusable,
)
from rerank.types import Floats, Ints, RankingData, Run, Topics, pointers
from rerank.types.ids import QUERY, id_array
from rerank.types.order import position_order, trec_order
from rerank.types.retriever import BM25, CONTENTS, Passage, Retriever

STRONGEST = 6  # features that explain a document
START = "start: BM25"  # what explanations call the scores that a model starts from


@dataclass(frozen=True, eq=False)
class Ranking:
    """A model, or BM25 alone, under the name that requests use.

    Parameters
    ----------
    name : str
        Its name.
    bound : BoundModel or None
        The model on the index; None is BM25 alone.
    explains : bool
        Whether the model has contributions.
    meanings : mapping of str to str
        What each of its features says, in words.
    checksum : str
        Checksum of the model's file; empty without a file.

    """

    name: str
    bound: BoundModel | None = None
    explains: bool = False
    meanings: Mapping[str, str] = field(default_factory=dict)
    checksum: str = ""

    @property
    def candidates(self) -> Candidates:
        """Where the candidates come from."""
        return Candidates() if self.bound is None else self.bound.candidates

    @property
    def reads_runs(self) -> bool:
        """Whether features are the scores of several sources, which are known of a search's documents alone."""
        return self.bound is not None and bool(self.bound.recipe.runs)

    @property
    def is_calibrated(self) -> bool:
        """Whether scores have probabilities."""
        return self.bound is not None and self.bound.model.calibration_ is not None

    @property
    def is_union(self) -> bool:
        """Whether the candidates come from another source than BM25."""
        return not self.candidates.is_single or self.candidates.sources[0].name != BM25

    def described(self) -> dict[str, Any]:
        """Return the entry of /models; the highest label is that of the judgements that the model holds, 2 without."""
        history = None if self.bound is None else self.bound.model.history_
        labels = () if history is None else (label for own in history.labels for label in own)
        return {
            "id": self.name,
            "object": "model",
            "ranker": "bm25" if self.bound is None else self.bound.model.kind,
            "features": 0 if self.bound is None else int(self.bound.model.n_features_in_),
            "highest_label": max(1, int(max(labels, default=2))),
            "explains": self.explains,
            "calibrated": self.is_calibrated,
            "checksum": self.checksum,
        }


def opened_collection(settings: Settings) -> Collection:
    """Return the index, or what the served model holds of that of its training."""
    if settings.index is not None:
        return Index.open(settings.index)
    return model_for_texts(settings.model or UNSUPERVISED).index


def load_rankings(settings: Settings, index: Collection) -> list[Ranking]:
    """Return the served model and the others, read and checked; raises RerankError where one cannot be served."""
    named = {name_of(path): path for path in settings.others}
    taken = {BM25_NAME, settings.served_name, *settings.model_names} & set(named)
    if taken or len(named) < len(settings.others):
        raise InvalidInputError(
            f"models: expected files of different names, got {', '.join(map(str, settings.others))} beside "
            f"{BM25_NAME} and {settings.served_name}. Rename one: requests name models by their files."
        )
    return [_load_ranking(index, name, path) for name, path in {settings.served_name: settings.model, **named}.items()]


def _load_ranking(index: Collection, name: str, path: Path | None) -> Ranking:
    bound = BoundModel.of(index, path or UNSUPERVISED)
    candidates = bound.candidates
    own = set() if candidates.is_single else {part.name for part in candidates.sources}
    others = {
        *(part.name for part in candidates.sources if part.file is not None),
        *(set(bound.recipe.runs or ()) - own),
    }
    if others:
        raise ModelMismatchError(
            f"{path}: expected a model whose candidates and features the service can compute, got one that needs "
            f"other runs ({', '.join(sorted(others))}). Train one without."
        )
    checksum = "" if path is None else sha256(path.read_bytes()).hexdigest()[:16]
    ranking = Ranking(name, bound, checksum=checksum)
    if not ranking.is_union:
        bound.check_candidates(bound.text_options().retriever, {}, what="model")
    return ranking


def strongest_features(
    bound: BoundModel, scored: Scored, rows: Ints, meanings: Mapping[str, str]
) -> list[list[dict[str, Any]]]:
    """Return the features that add or take most of the scores of some rows of what was scored, the strongest first.

    Where the model starts from BM25's scores, they are the feature START.
    """
    data = scored.data
    contributions = bound.contributions(scored, rows)
    starts = isinstance(bound.model.base_, CandidateRunBase) and data.base_scores is not None
    contributions[:, -1] = data.base_scores[rows] if starts else 0.0  # type: ignore[index]
    names = [*map(str, bound.model.feature_names_), START]
    columns = {name: number for number, name in enumerate(data.feature_names)}
    values = np.column_stack([data.X[rows][:, [columns[name] for name in names[:-1]]], contributions[:, -1]])
    strongest = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :STRONGEST]
    return [
        [
            {
                "feature": names[j],
                "meaning": meanings.get(names[j], ""),
                "value": finite(float(values[row, j])),
                "contribution": float(contributions[row, j]),
            }
            for j in chosen
            if contributions[row, j] != 0.0
        ]
        for row, chosen in enumerate(strongest.tolist())
    ]


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
        self.rankings: dict[str, Ranking] = {}
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
        self.rankings = {BM25_NAME: self.warmed(Ranking(BM25_NAME))}
        self.take(load_rankings(self.settings, self.collection))
        self.examples = self._titles() if isinstance(self.collection, Index) else []

    def _titles(self) -> list[str]:
        """Return the titles, or else the first words of the texts, of three documents: queries to begin with."""
        spread = np.linspace(0, len(self.index.forward.doc_ids) - 1, 5)[1:-1].astype(np.int64)
        documents = map(stored_fields, self.index.stored_documents(spread))
        texts = [str(document.get("title") or document.get(self.text_field) or "") for document in documents]
        return list(dict.fromkeys(excerpt(" ".join(text.split()), [], 100)[0] for text in texts if text.strip()))

    def take(self, rankings: Sequence[Ranking]) -> None:
        """Serve rankings from now on, the first under all its names; raises RerankError where one cannot be."""
        first, *others = map(self.warmed, rankings)
        names = self.settings.model_names or (first.name,)
        named = [replace(first, name=name) for name in names] + others
        self.rankings = self.rankings | {ranking.name: ranking for ranking in named}

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the text fields and numbers that documents may have."""
        return (*self.collection.forward.fields, *self.collection.forward.numbers)

    def warmed(self, ranking: Ranking) -> Ranking:
        """Return a ranking that has answered requests of each kind; raises RerankError where it cannot."""
        forward = self.collection.forward
        frequent = np.argsort(-forward.fields[CONTENTS].doc_freq.astype(np.int64), kind="stable")[:8].tolist()
        query = " ".join(map(forward.term, frequent)) or "query"
        topics = {"q": query, "other": query.split()[0]}
        if not ranking.reads_runs:
            text = dict.fromkeys(forward.fields.keys() - {CONTENTS}, query) or query
            texts = texts_of_queries({"q": query, "r": query}, {"q": {"1": text, "2": "a text"}, "r": {"1": text}})
            self._text_scores(texts, ranking)
        if not isinstance(self.collection, Index):
            return ranking
        run = self._search(topics, _WARM_ROWS, ranking)
        if ranking.bound is not None and isinstance(run, UnionRun):
            ranking.bound.check_candidates(run.retriever, run.sources, what="union")
        if ranking.bound is None:
            return ranking
        data = ranking.bound.features(run, Topics(topics), whole=True)
        scored = ranking.bound.scored(data)
        ranking.bound.scored(data.of_rows([0]))
        with suppress(InvalidInputError):  # nets and ensembles have no contributions
            meanings = {name: words for name, (words, *_) in feature_meanings(ranking.bound.recipe).items()}
            strongest_features(ranking.bound, scored, np.arange(min(3, data.n_rows)), meanings)
            return replace(ranking, explains=True, meanings=meanings)
        return ranking

    def close(self) -> None:
        """Close the index, and write what the log has."""
        if isinstance(self.collection, Index):
            self.collection.close()
        if self.log is not None:
            self.log.close()

    def answer(self, jobs: Sequence[Job]) -> None:
        """Set `answer` or `fault` of each job; those of the same rankings and depth are computed together."""
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
        """Refuse a job that names what the index or a model, by name, does not have, or an index that is missing."""
        if not isinstance(job, RerankJob) or job.doc_ids is not None:
            _ = self.index
        for name in job.named:
            if name not in self.rankings:
                raise unknown(404, job.place, name, self.rankings)
            ranking = self.rankings[name]
            if job.body.cutoff is not None and not ranking.is_calibrated:
                raise ServiceError(
                    422, "body.min_score" if job.body.cutoff.min_score else "body.abstain", "a calibrated model",
                    f"{name}, which is not",
                    "Leave it out, or serve a model of `rerank train INDEX TOPICS QRELS` with enough judged queries.",
                )  # fmt: skip
            if isinstance(job, RerankJob) and ranking.reads_runs:
                raise ServiceError(
                    422, "body.model", "a model of BM25's candidates", f"{name}, whose features need several runs",
                    "Use /search, or name another model.",
                )  # fmt: skip
            if isinstance(job, SearchJob) and job.body.explain and not ranking.explains:
                raise ServiceError(
                    422, "body.explain", "a model with contributions", f"{name}, which has none",
                    "Leave explain out, or serve a model of trees.",
                )  # fmt: skip
        if isinstance(job, SearchJob):
            for number, field in enumerate(job.body.fields):
                if field not in self.field_names:
                    raise unknown(422, f"body.fields[{number}]", field, self.field_names)

    def _search(self, topics: Mapping[str, str], k: int, ranking: Ranking) -> Run:
        """Return the candidates of each query: BM25's top k, or those of several sources."""
        depth = (ranking.candidates.k or DEPTH) if ranking.is_union else k
        return self.index.retrieve(Topics(topics), ranking.candidates.at_depth(depth))

    def _answer_searches(self, jobs: list[SearchJob]) -> None:
        """Answer searches with one ranking, or with two that share each list."""
        rankings = [self.rankings[name] for name in jobs[0].models]
        topics = {f"{n}:{name}": text for n, job in enumerate(jobs) for name, text in job.queries.items()}
        whole = self.log is not None or any(job.body.explain for job in jobs)
        sides = []
        for ranking in rankings:
            run = self._search(topics, jobs[0].candidates, ranking)
            _drop_late(jobs)
            sides.append(_scored(ranking, topics, run, jobs[0], whole))
        numbered = enumerate(topics)
        for job in jobs:
            own = dict(islice(numbered, len(job.queries)))
            try:
                self._finish_search(job, own, rankings, sides)
            except ServiceError as fault:  # of this job alone
                job.fault = fault

    def _finish_search(
        self, job: SearchJob, own: Mapping[int, str], rankings: Sequence[Ranking], sides: Sequence[_Scored]
    ) -> None:
        """Set the answer of a search, and what the log gets where it is sent.

        own  numbers of its queries in the runs, and their names there
        """
        results = []
        attributes = []
        promised = sides[0].promised if len(sides) == 1 else None
        for number, (query_id, query) in zip(own, job.queries.items(), strict=True):
            _drop_late([job])
            hits, credited = _shown(job, query, rankings, sides, number)
            likely = {} if promised is None else {"probability": float(promised.lists[number])}
            results.append({"query_id": query_id, "query": query, **likely, "hits": hits})
            attributes.append(credited | {"checksums": {ranking.name: ranking.checksum for ranking in rankings}})
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
                        size += len(passage.text)
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
            fields = document | {name: text for name, (text, _) in cut.items()}
            matches = {"matches": {name: spans for name, (_, spans) in cut.items()}} if body.highlight else {}
            entries.append({"fields": fields, **matches})
        return entries

    def _numbers(self, doc_ids: Sequence[str]) -> Ints:
        """Return the numbers of documents of the index, -1 for another one."""
        return self.index.forward.doc_numbers(id_array(list(doc_ids)))

    def _stored(self, doc_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Return the stored fields of documents of the index."""
        return [stored_fields(text) for text in self.index.stored_documents(self._numbers(doc_ids))]

    def _answer_reranks(self, jobs: list[RerankJob]) -> None:
        """Answer rerank requests with one ranking: those over texts together, those over ids one by one."""
        ranking = self.rankings[jobs[0].models[0]]
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
            scored = self._text_scores(replace(to_rank, locations=locations), ranking, texts[0])
            for n, job in enumerate(texts):
                self._finish_rerank(job, scored, n, scored.run.doc_ids[scored.run.rows(str(n))].astype(np.int64))
        for job in jobs:
            if job.doc_ids is not None:
                _drop_late([job])
                scored = self._id_scores(job, job.doc_ids, ranking)
                position = {name: number for number, name in enumerate(job.doc_ids)}
                names = scored.run.doc_ids[scored.rows].tolist()
                self._finish_rerank(job, scored, 0, np.array([position[name] for name in names], np.int64))

    def _finish_rerank(self, job: RerankJob, scored: _Scored, query: int, positions: Ints) -> None:
        """Set the answer: likely documents by falling score, equal scores by their positions (n,) in the request."""
        first = int(scored.run.query_ptr[query])
        rows = first + position_order(positions, scored.scores[first : first + len(positions)])
        rows = scored.likely(query, rows, job.body.cutoff)
        check_finite(scored.scores[rows])
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
        self._check_size(sum(len(passage.text) for passage in passages), "body.return_passages")
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

    def _text_scores(self, texts: QueryTexts, ranking: Ranking, job: Job | None = None) -> _Scored:
        """Return texts with the scores of a ranking, and without a cutoff of the job, of the model's last stage."""
        bound = ranking.bound
        if bound is None:
            options = TextOptions(self.text_field, Recipe(families=("document",)))
            return _first_stage(_text_run(text_features(self.collection, texts, options)))
        options = bound.text_options(self.text_field)
        data = text_features(bound.index, texts, options)
        run = _text_run(data)
        stored = partial(texts_of_rows, self.collection, texts, options, run)
        return _model_scores(bound, run, data, np.arange(run.n_rows), job, texts.topics, stored)

    def _id_scores(self, job: RerankJob, doc_ids: Sequence[str], ranking: Ranking) -> _Scored:
        """Return documents of the index with the scores of a ranking."""
        numbers = self._numbers(doc_ids)
        if (numbers < 0).any():
            missing = int(np.argmax(numbers < 0))
            raise ServiceError(
                404, f"body.documents[{missing}].id", "a document of the index", repr(doc_ids[missing]),
                "Send its text, or leave it out.",
            )  # fmt: skip
        terms = self.index.searcher.analyze([job.body.query])
        bm25 = ranking.candidates
        query_ptr = pointers([len(numbers)])
        retriever = Retriever.bm25(bm25.k1, bm25.b, bm25.field)
        scores = bm25_scores(self.index.forward, terms, query_ptr, numbers, retriever)
        run = Run(id_array([QUERY]), query_ptr, id_array(list(doc_ids)), scores, str(retriever))
        topics = {QUERY: job.body.query}
        return _scored(ranking, topics, run.take(run.trec_order()), job, chosen=True)


@dataclass(frozen=True, eq=False)
class _Scored:
    """Candidates of some queries with their new scores and new order.

    model     what the model makes of those that are reranked, with their features; None is BM25 alone
    rows      row in `run` of each row of `scores`, which have trec_eval's order
    order     rows of `scores` of each query, best first
    promised  probabilities of relevance, where the model is calibrated
    """

    run: Run
    model: Scored | None
    rows: Ints
    scores: Floats
    order: Ints
    promised: Probabilities | None = None

    @property
    def data(self) -> RankingData | None:
        """The reranked candidates with their features."""
        return None if self.model is None else self.model.data

    @property
    def query_ptr(self) -> Ints:
        """Where the rows of each query begin and end in `scores`."""
        return self.run.query_ptr if self.model is None else self.model.data.query_ptr

    @property
    def slow(self) -> Floats | None:
        """Scores of the scorer of a last stage; NaN where it was not called."""
        return None if self.model is None else self.model.slow

    def likely(self, query: int, rows: Ints, cutoff: Cutoff | None) -> Ints:
        """Return those of some rows of a query, best first, that are likely enough."""
        if cutoff is None or self.promised is None:
            return rows
        if self.promised.lists[query] < cutoff.abstain:
            return rows[:0]
        return rows[self.promised.documents[rows] >= cutoff.min_score]

    def hits(self, job: SearchJob, query: int, ranking: Ranking) -> list[dict[str, Any]]:
        """Return the best documents of a query, by its number, as objects; ValueError where a score is not finite."""
        start = int(self.run.query_ptr[query])
        first, end = self.query_ptr[query : query + 2].tolist()
        rows = self.likely(query, self.order[first : min(first + job.body.k, end)], job.body.cutoff)
        missing = job.body.k - len(rows)
        others = self._others(query, missing) if missing > 0 and job.body.cutoff is None else rows[:0]
        of_run = np.append(self.rows[rows], others)
        lowest = self.scores[rows[-1]] if len(rows) else 0.0
        scores = np.append(self.scores[rows], lowest - np.arange(1, len(others) + 1))
        bm25 = self.run.scores[of_run]
        check_finite(scores)
        check_finite(bm25)
        columns = zip(
            self.run.doc_ids[of_run].tolist(), scores.tolist(), (of_run - start).tolist(), bm25.tolist(), strict=True
        )
        hits: list[dict[str, Any]] = [
            {"rank": place, "id": doc_id, "score": score, "bm25": {"rank": rank + 1, "score": first}}
            for place, (doc_id, score, rank, first) in enumerate(columns, start=1)
        ]
        if self.promised is not None:
            for hit, probability in zip(hits, self.promised.documents[rows].tolist(), strict=False):
                hit["probability"] = probability
        if self.slow is not None:
            for hit, value in zip(hits, self.slow[rows].tolist(), strict=False):
                hit["scorer"] = finite(value)
        if job.body.explain and self.model is not None and ranking.bound is not None:
            strongest = strongest_features(ranking.bound, self.model, rows, ranking.meanings)
            for hit, features in zip(hits, strongest, strict=False):
                hit["features"] = features
        return hits

    def _others(self, query: int, k: int) -> Ints:
        """Return the rows in `run` of the first k documents of a query that were not reranked."""
        rows = np.arange(*self.run.query_ptr[query : query + 2])
        rows = np.setdiff1d(rows, self.rows, assume_unique=True)
        return rows[np.argsort(self.run.places()[rows], kind="stable")][:k]


def _shown(
    job: SearchJob, query: str, rankings: Sequence[Ranking], sides: Sequence[_Scored], number: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the hits for a query: of the job's ranking, or of both in one list; and how the log credits clicks."""
    lists = [side.hits(job, number, ranking) for side, ranking in zip(sides, rankings, strict=True)]
    if len(lists) == 1:
        assigned = {} if job.named == job.models else {"assigned": ",".join(job.named)}
        return lists[0], {"ranker": rankings[0].name, **assigned}
    seed = job.seed(query)
    first, second = ([hit["id"] for hit in hits] for hits in lists)
    made = interleave(first, second, job.body.k, random=seed)
    by_id = [{hit["id"]: hit for hit in hits} for hits in lists]
    hits = [
        {**(by_id[side].get(doc_id) or by_id[1 - side][doc_id]), "rank": place}
        for place, (doc_id, side) in enumerate(zip(made.documents, made.sides, strict=True), start=1)
    ]
    return hits, {
        "rankers": [ranking.name for ranking in rankings],
        "sides": made.sides,
        "credits": made.credits,
        "seed": seed,
    }


def check_finite(scores: Floats) -> None:
    """Raise ValueError unless all scores are finite: JSON has no other numbers, and orjson would write null."""
    if not np.isfinite(scores).all():
        raise ValueError("scores: expected finite values, got others. Check the model.")


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield a sequence in parts, so that few documents are in memory at a time."""
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]


def _drop_late(jobs: Sequence[Job]) -> None:
    """Raise ServiceError if nobody waits for any of the jobs."""
    if all(job.is_late() for job in jobs):
        raise too_late()


def _scored(
    ranking: Ranking, topics: Mapping[str, str], run: Run, job: Job, whole: bool = False, chosen: bool = False
) -> _Scored:
    """Return candidates with the new scores and order of a ranking, and without a cutoff of the job, of its last stage.

    whole   whether features that the model does not read are computed, too, which are NaN otherwise
    chosen  whether the client has chosen the documents
    """
    if ranking.bound is None or not run.n_rows:
        return _first_stage(run)
    is_head = run.among_first(ranking.bound.depth(None, run) if isinstance(run, UnionRun) else run.n_rows)
    data = ranking.bound.features(run, Topics(topics), is_head, whole=whole)
    return _model_scores(ranking.bound, run, data, np.flatnonzero(is_head), job, topics, chosen=chosen)


def _first_stage(run: Run) -> _Scored:
    """Return candidates in the order of their own scores."""
    order = trec_order(run.query_ptr, run.scores, run.stored_ids)
    return _Scored(run, None, np.arange(run.n_rows), run.scores, order)


def _text_run(data: RankingData) -> Run:
    """Return texts with their first-stage scores."""
    return Run(data.query_ids, data.query_ptr, data.stored_ids, data.base_scores)  # type: ignore[arg-type]


def _model_scores(
    bound: BoundModel,
    run: Run,
    data: RankingData,
    rows: Ints,
    job: Job | None,
    topics: Mapping[str, str],
    texts: Callable[[Ints], list[str]] | None = None,
    chosen: bool = False,
) -> _Scored:
    """Return documents with a model's scores, and those of its last stage for a job without a cutoff.

    rows    as in _Scored
    texts   returns the texts of rows of the data, which were handed over; None are documents of the index
    chosen  whether the client has chosen the documents
    """
    scored = bound.scored(data)
    is_calibrated = bound.model.calibration_ is not None
    promised = bound.probabilities(scored, chosen or texts is not None) if is_calibrated else None
    if job is not None and job.body.cutoff is None:
        scored = bound.reordered(scored, topics, texts)
    return _Scored(run, scored, rows, scored.scores, scored.order, promised)


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
