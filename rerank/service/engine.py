"""The index and the models, and the computation of many requests together; one thread calls it.

A model as it is served: what it needs of a request's candidates, checked once, when it is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.interleaving import interleave
from rerank.errors import InvalidInputError, ModelMismatchError, unknown_name
from rerank.features.match import bm25_scores
from rerank.features.recipe import Recipe
from rerank.index.index import Index
from rerank.index.passages import Matcher, chosen_fields, document_passages, excerpt, stored_fields
from rerank.index.texts import GivenTexts, TextOptions, given_texts, position_ids, text_features
from rerank.pipeline.applying import (
    Cutoff,
    check_candidates,
    check_index,
    model_candidates,
    model_recipe,
    unsupervised_model,
)
from rerank.rankers.calibration import Probabilities
from rerank.rankers.ranker import Ranker
from rerank.rankers.store import read_model
from rerank.rankers.warm_start import CandidateRunBase, check_retrievers
from rerank.retrieval.base import DEPTH, Candidates, run_names
from rerank.retrieval.union import UnionRun
from rerank.service.jobs import Job, RerankAnswer, RerankJob, SearchJob, check_finite, json_bytes
from rerank.service.querylog import Logged, QueryLog
from rerank.service.settings import (
    BM25_NAME,
    ServiceError,
    Settings,
    internal,
    large_answer,
    name_of,
    too_late,
    unknown,
    unusable,
)
from rerank.types import RankingData, Run, Topics, pointers
from rerank.types.ids import Floats, Ints, id_array, joined_rows, position_order, trec_order
from rerank.types.passages import Passage
from rerank.types.retriever import BM25, CONTENTS, Retriever

STRONGEST = 6  # features that explain a document
START = "start: BM25"  # what explanations call the scores that a model starts from


@dataclass(frozen=True, eq=False)
class Ranking:
    """A model, or BM25 alone, under the name that requests use.

    Parameters
    ----------
    name : str
        Its name.
    model : Ranker or None
        The model.
    recipe : Recipe or None
        Its features.
    candidates : Candidates
        Where the candidates come from.
    explains : bool
        Whether the model has contributions.
    checksum : str
        Checksum of the model's file; empty without a file.

    """

    name: str
    model: Ranker | None = None
    recipe: Recipe | None = None
    candidates: Candidates = field(default_factory=Candidates)
    explains: bool = False
    checksum: str = ""

    @property
    def needs_index(self) -> str:
        """What the features need that is known of documents of the index alone; empty if texts can be ranked."""
        if self.recipe is not None and self.recipe.history is not None:
            return "a history"
        return "several runs" if self.reads_runs else ""

    @property
    def reads_runs(self) -> bool:
        """Whether features are the scores of several sources."""
        return self.recipe is not None and bool(self.recipe.runs)

    @property
    def is_calibrated(self) -> bool:
        """Whether scores have probabilities."""
        return self.model is not None and self.model.calibration_ is not None

    @property
    def is_union(self) -> bool:
        """Whether the candidates come from another source than BM25."""
        return not self.candidates.is_single or self.candidates.sources[0].name != BM25

    def described(self) -> dict[str, Any]:
        """Return the entry of /models."""
        kind = "bm25" if self.model is None else self.model.kind
        n_features = 0 if self.model is None else int(self.model.n_features_in_)
        described = {"id": self.name, "object": "model", "ranker": kind, "features": n_features}
        more = {"explains": self.explains, "calibrated": self.is_calibrated, "checksum": self.checksum}
        return {**described, **more}


def bm25_ranking() -> Ranking:
    """Return BM25 with Anserini's parameters."""
    return Ranking(BM25_NAME)


def load_rankings(settings: Settings, index: Index) -> list[Ranking]:
    """Return the served model and the others, read and checked; raises RerankError where one cannot be served."""
    named = {name_of(path): path for path in settings.others}
    taken = {BM25_NAME, settings.served_name, *settings.model_names} & set(named)
    if taken or len(named) < len(settings.others):
        raise InvalidInputError(
            f"models: expected files of different names, got {', '.join(map(str, settings.others))} beside "
            f"{BM25_NAME} and {settings.served_name}. Rename one: requests name models by their files."
        )
    served = {settings.served_name: settings.model, **named}
    return [_load_ranking(index, name, path) for name, path in served.items()]


def _load_ranking(index: Index, name: str, path: Path | None) -> Ranking:
    model = unsupervised_model(index) if path is None else read_model(path)
    recipe = model_recipe(model)
    candidates = model_candidates(model)
    check_index(index, model)
    file = next(iter(run_names(candidates.sources)), None)
    if file is not None:
        raise ModelMismatchError(
            f"{path}: expected candidates that the service can retrieve, got the run {file}. Train a model "
            "without the run."
        )
    others = set(recipe.runs) - ({part.name for part in candidates.sources} if not candidates.is_single else set())
    if others:
        raise ModelMismatchError(
            f"{path}: expected a model whose features the service can compute, got one that needs the scores "
            f"of other runs ({', '.join(sorted(others))}). Train one without."
        )
    checksum = "" if path is None else sha256(path.read_bytes()).hexdigest()[:16]
    ranking = Ranking(name, model, recipe, candidates, checksum=checksum)
    if not ranking.is_union:
        check_candidates(model, Retriever.bm25(candidates.k1, candidates.b, candidates.field), {}, None, "model")
    return ranking


def explains(ranking: Ranking, data: RankingData) -> bool:
    """Return whether the model has contributions: nets and ensembles have none."""
    try:
        return ranking.model is not None and len(strongest_features(ranking, data)) == data.n_rows
    except InvalidInputError:
        return False


def strongest_features(ranking: Ranking, data: RankingData) -> list[list[dict[str, Any]]]:
    """Return the features that add or take most of each row's score, the strongest first.

    Where the model starts from BM25's scores, they are the feature START.
    """
    model = ranking.model
    if model is None:
        return [[] for _ in range(data.n_rows)]
    contributions = model.contributions(data)
    names = [*map(str, model.feature_names_), START]
    columns = {name: number for number, name in enumerate(data.feature_names)}
    values: list[NDArray[Any]] = [data.X[:, columns[name]] for name in names[:-1]]
    starts = isinstance(model.base_, CandidateRunBase) and data.base_scores is not None
    contributions[:, -1] = data.base_scores if starts else 0.0
    values.append(contributions[:, -1])
    strongest = np.argsort(-np.abs(contributions), axis=1, kind="stable")[:, :STRONGEST]
    return [
        [
            {"feature": names[j], "value": _finite(float(values[j][row])), "contribution": float(contributions[row, j])}
            for j in chosen
            if contributions[row, j] != 0.0
        ]
        for row, chosen in enumerate(strongest.tolist())
    ]


def _finite(value: float) -> float | None:
    """Return a feature's value for JSON, which has no NaN: a missing value is null."""
    return value if np.isfinite(value) else None


log = logging.getLogger("rerank")
_WARM_ROWS = 50
_AT_ONCE = 50  # stored documents


class Engine:
    """Answers jobs.

    Parameters
    ----------
    settings : Settings
        The files and options.

    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.index = Index.open(settings.index, threads=settings.threads, check_models=not settings.other_index)
        self.rankings: dict[str, Ranking] = {}
        self.log = None if settings.log_queries is None else QueryLog(settings)

    @cached_property
    def text_field(self) -> str:
        """The field that plain texts fill."""
        return self.settings.text_field or self.index.main_field

    def open(self) -> None:
        """Open the index and the model, and answer a first request of each kind, so that all kernels are compiled."""
        self.index.searcher  # noqa: B018  # starts Java
        if self.text_field not in self.index.forward.fields:
            raise unknown_name("text-field", self.text_field, self.index.forward.fields)
        bm25 = bm25_ranking()
        self.rankings = {BM25_NAME: self.warmed(bm25)}
        self.take(list(map(self.warmed, self.load())))

    def load(self) -> list[Ranking]:
        """Read all models again; they are not served yet, and no kernel runs. Raises RerankError."""
        return load_rankings(self.settings, self.index)

    def take(self, rankings: Sequence[Ranking]) -> None:
        """Serve rankings from now on, the first under all its names."""
        first, *others = rankings
        names = self.settings.model_names or (first.name,)
        named = [replace(first, name=name) for name in names] + others
        self.rankings = self.rankings | {ranking.name: ranking for ranking in named}

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the text fields and numbers that documents may have."""
        return (*self.index.forward.fields, *self.index.forward.numbers)

    def run_names(self, model: str) -> tuple[str, ...]:
        """Return the names of the runs whose scores a ranking reads, which texts may have as numbers."""
        recipe = self.rankings[model].recipe if model in self.rankings else None
        return () if recipe is None else recipe.runs or ()

    def warmed(self, ranking: Ranking) -> Ranking:
        """Return a ranking that has answered requests of each kind; raises RerankError where it cannot."""
        query = self._frequent_terms()
        run = self._search({"q": query, "other": query.split()[0]}, _WARM_ROWS, ranking)
        if ranking.model is not None and isinstance(run, UnionRun):
            made = {name: each.retriever for name, each in run.sources.items() if each.retriever is not None}
            check_retrievers(ranking.model, run.retriever, made, "union")
        given = given_texts({"q": query, "r": query}, {"q": ["a text", query], "r": [query]})
        if ranking.model is None:
            self._text_scores(given, ranking)
            return ranking
        data = self._features(run, {"q": query, "other": query}, ranking)
        ranking.model.predict(data)
        ranking.model.predict(data.of_rows([0]))
        if not ranking.needs_index:
            self._text_scores(given, ranking)
        return replace(ranking, explains=explains(ranking, data.of_rows(np.arange(min(3, data.n_rows)))))

    def close(self) -> None:
        """Close the index, and write what the log has."""
        self.index.close()
        if self.log is not None:
            self.log.close()

    def answer(self, jobs: Sequence[Job]) -> None:
        """Set `answer` or `fault` of each job; jobs that share a model are computed together."""
        groups: dict[tuple[type, tuple[str, ...]], list[Any]] = {}
        for job in jobs:
            try:
                place, names = job.named
                for name in names:
                    self._check(job, place, name)
            except ServiceError as fault:
                job.fault = fault
            else:
                groups.setdefault((type(job), job.models), []).append(job)
        for (kind, _), group in groups.items():
            self._answer_group(kind, group)

    def _answer_group(self, kind: type, group: list[Any]) -> None:
        """Answer jobs together; after an error one by one, so that only those fail that cause it."""
        compute = self._answer_searches if kind is SearchJob else self._answer_reranks
        try:
            _drop_late(group)
            compute(group)
        except Exception as error:
            if len(group) > 1:
                for job in group:
                    self._answer_group(kind, [job])
                return
            group[0].fault = _fault(error, group[0])

    def _check(self, job: Job, place: str, name: str) -> None:
        """Refuse a job that names what the index or a model, by name, does not have."""
        if name not in self.rankings:
            raise unknown(404, place, name, self.rankings)
        ranking = self.rankings[name]
        if job.cutoff is not None and not ranking.is_calibrated:
            raise ServiceError(
                422, "body.min_score" if job.cutoff.min_score else "body.abstain", "a calibrated model",
                f"{ranking.name}, which is not",
                "Leave it out, or serve a model of `rerank train INDEX TOPICS QRELS` with enough judged queries.",
            )  # fmt: skip
        if isinstance(job, RerankJob) and (ranking.reads_runs or (job.doc_ids is None and ranking.needs_index)):
            raise ServiceError(
                422, "body.model",
                "a model of BM25's candidates" if ranking.reads_runs else "ids of documents of the index",
                f"{ranking.name}, whose features need {ranking.needs_index}", "Use /search, or name another model.",
            )  # fmt: skip
        if isinstance(job, SearchJob):
            if job.explain and not ranking.explains:
                raise ServiceError(
                    422, "body.explain", "a model with contributions", f"{ranking.name}, which has none",
                    "Leave explain out, or serve a model of trees.",
                )  # fmt: skip
            for number, name in enumerate(job.fields):
                if name not in self.field_names:
                    raise unknown(422, f"body.fields[{number}]", name, self.field_names)

    def _search(self, queries: Mapping[str, str], k: int, ranking: Ranking) -> Run:
        """Return the candidates of each query: BM25's top k, or those of several sources."""
        return self.index.retrieve(Topics(queries), ranking.candidates.at_depth(k))

    def _answer_searches(self, jobs: list[SearchJob]) -> None:
        """Answer searches with one ranking, or with two that share each list."""
        rankings = [self.rankings[name] for name in jobs[0].models]
        names = [[f"{n}:{name}" for name in job.queries] for n, job in enumerate(jobs)]
        topics = {f"{n}:{name}": text for n, job in enumerate(jobs) for name, text in job.queries.items()}
        sides = [self._searched(jobs, topics, ranking) for ranking in rankings]
        marked = [name for own, job in zip(names, jobs, strict=True) if job.marks_words for name in own]
        terms = self._terms({name: topics[name] for name in marked})
        wanted = [(job.k, job.cutoff) for job in jobs for _ in job.queries]
        ranked = zip(*(_best(side, wanted) for side in sides), strict=True)
        for own, job in zip(names, jobs, strict=True):
            best = [(text, next(ranked)) for text in job.queries.values()]
            try:
                lists = list(_shown_lists(job, rankings, best))
                told = [] if self.log is None else self._logged(job, lists)
                job.answer = self._results(job, lists, [terms.get(name, frozenset()) for name in own], told)
            except ServiceError as fault:  # of this job alone
                job.fault = fault
                continue
            if self.log is not None:
                ids = {name: each.query_id for name, each in zip(own, told, strict=True)}
                job.entry = self.log.entry(job, told, ids, sides[0].run, sides[0].data)

    def _searched(self, jobs: Sequence[SearchJob], topics: Mapping[str, str], ranking: Ranking) -> _Scored:
        """Return the candidates of all queries of some jobs with the scores and order of a ranking."""
        run = self._candidates(topics, [job.candidates for job in jobs for _ in job.queries], ranking)
        _drop_late(jobs)
        return self._scored(ranking, topics, run, self.log is not None or any(job.explain for job in jobs))

    def _logged(self, job: SearchJob, lists: Sequence[ShownList]) -> list[Logged]:
        """Return the queries of a job as the log has them."""
        ids = self.log.names(job).values() if self.log is not None else ()
        checksums = {name: self.rankings[name].checksum for name in job.models}
        assigned = {"assigned": job.assigned} if job.assigned else {}
        return [
            Logged(query_id, text, each.doc_ids(), {**each.credited(), "checksums": checksums, **assigned})
            for query_id, text, each in zip(ids, job.queries.values(), lists, strict=True)
        ]

    def _candidates(self, topics: Mapping[str, str], wanted: list[int], ranking: Ranking) -> Run:
        """Return BM25's documents of each query, as many as wanted: one search for all of each number."""
        names = list(topics)
        if ranking.is_union:
            return self._search(topics, ranking.candidates.k or DEPTH, ranking)
        parts = {
            k: self._search(
                {name: topics[name] for name, own in zip(names, wanted, strict=True) if own == k}, k, ranking
            )
            for k in dict.fromkeys(wanted)
        }
        if len(parts) == 1:
            return next(iter(parts.values()))
        run = Run.joined(list(parts.values()))
        return run.select(run.query_numbers(names))

    def _terms(self, topics: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """Return the terms of some queries, which may be none."""
        terms = self.index.searcher.analyze(list(topics.values())) if topics else []
        return dict(zip(topics, map(frozenset, terms), strict=True))

    def _scored(
        self, ranking: Ranking, topics: Mapping[str, str], run: Run, all_features: bool = False, given: bool = False
    ) -> _Scored:
        """Return the candidates with their new scores and order.

        Features that the model does not read may be NaN, unless `all_features`.

        given  whether the client has chosen the documents
        """
        if ranking.model is None or not run.n_rows:
            return _Scored(run, None, np.arange(run.n_rows), run.scores, np.arange(run.n_rows))
        data = self._features(run, topics, ranking, None if all_features else ranking.model.features_read())
        return _scored_rows(ranking, run, data, run.trec_order(), given)

    def _features(
        self, run: Run, topics: Mapping[str, str], ranking: Ranking, needed: frozenset[str] | None = None
    ) -> RankingData:
        return self.index.some_features(needed, run, Topics(topics), recipe=ranking.recipe)

    def _results(
        self, job: SearchJob, lists: Sequence[ShownList], terms: Sequence[frozenset[str]], told: Sequence[Logged]
    ) -> bytes:
        """Return the results of a job as a JSON list; raises ServiceError where they are too large or too late."""
        results: list[dict[str, Any]] = []
        size = 0
        tokens = [] if self.log is None else [{"token": self.log.token(each.query_id, each.doc_ids)} for each in told]
        for (query_id, text), each, own_terms in zip(job.queries.items(), lists, terms, strict=True):
            hits = each.hits
            doc_ids = each.doc_ids()
            for names, part in _parts(doc_ids, hits) if job.fields else ():
                for hit, entry in zip(part, self._fields(job, names, own_terms), strict=True):
                    hit |= entry
                    size += len(json_bytes(entry))
                self._check_size(size, "body.fields")
            for names, part in _parts(doc_ids, hits) if job.passage else ():
                _drop_late([job])
                for hit, passage in zip(part, self._passages(text, names), strict=True):
                    hit["passage"] = passage._asdict()
                    size += len(passage.text)
                self._check_size(size, "body.passage")
            token = tokens[len(results)] if tokens else {}
            results.append({"query_id": query_id, "query": text, **each.answered, **token, "hits": hits})
        return json_bytes(results)

    def _check_size(self, size: int, place: str) -> None:
        """Refuse an answer of more bytes than the limit."""
        if size > self.settings.limits.answer_bytes:
            raise large_answer(place, self.settings.limits.answer_bytes)

    def _fields(self, job: SearchJob, names: Sequence[str], terms: frozenset[str]) -> list[dict[str, Any]]:
        """Return stored fields of some hits, as excerpts and with matches where these are asked for."""
        _drop_late([job])
        chosen = [chosen_fields(document, job.fields) for document in self.stored(names).values()]
        matcher = None
        if job.marks_words:
            texts = (text for document in chosen for text in document.values() if isinstance(text, str))
            matcher = Matcher(self.index.searcher.analyze, texts)
        return [_texts(job, document, matcher, terms) for document in chosen]

    def stored(self, doc_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the stored fields of documents of the index by id."""
        names = list(doc_ids)
        numbers = self.index.forward.doc_numbers(id_array(names)).tolist() if names else []
        raw = self.index.stored_documents(numbers) if numbers else []
        return {name: stored_fields(text) for name, text in zip(names, raw, strict=True)}

    def _passages(self, query: str, doc_ids: Sequence[str]) -> list[Passage]:
        """Return the best passages of documents of the index."""
        return document_passages(self.index, query, self.index.forward.doc_numbers(id_array(list(doc_ids))))

    def _with_passages(self, job: RerankJob, answer: RerankAnswer) -> RerankAnswer:
        """Return an answer with the best passages of the documents that are returned, where these are wanted."""
        wanted = answer.order[: job.count] if job.passages else []
        if not wanted:
            return answer
        if job.doc_ids is None:
            texts = [job.documents[number] for number in wanted]
            passages = self.index.text_passages(job.query, texts, field=self.text_field)
        else:
            passages = self._passages(job.query, [job.doc_ids[number] for number in wanted])
        self._check_size(sum(len(passage.text) for passage in passages), "body.return_passages")
        return replace(answer, passages=dict(zip(wanted, passages, strict=True)))

    def _answer_reranks(self, jobs: list[RerankJob]) -> None:
        """Answer rerank requests with one ranking: those over texts together, those over ids together."""
        ranking = self.rankings[jobs[0].model]
        texts = [job for job in jobs if job.doc_ids is None]
        if texts:
            given = given_texts(
                {str(n): job.query for n, job in enumerate(texts)},
                {str(n): job.documents for n, job in enumerate(texts)},
            )
            scored = self._text_scores(replace(given, locations=_locations(texts)), ranking)
            for n, job in enumerate(texts):
                positions = scored.run.doc_ids[scored.run.rows(str(n))].astype(np.int64)
                job.finish(self._with_passages(job, _ordered(scored, n, positions, job.cutoff)))
        for job in jobs:
            if job.doc_ids is not None:
                _drop_late([job])
                job.finish(self._with_passages(job, self._rank_ids(job, job.doc_ids, ranking)))

    def _text_scores(self, given: GivenTexts, ranking: Ranking) -> _Scored:
        """Return texts with the scores of a ranking."""
        trained = ranking.candidates
        recipe = _BM25_ONLY if ranking.recipe is None else ranking.recipe
        options = TextOptions(
            self.text_field,
            recipe,
            Retriever.bm25(trained.k1, trained.b, trained.field),
            None if ranking.model is None else ranking.model.features_read(),
        )
        data = text_features(self.index, given, options)
        run = Run(data.query_ids, data.query_ptr, data.stored_ids, data.base_scores)  # type: ignore[arg-type]
        return _scored_rows(ranking, run, data, np.arange(run.n_rows), texts=True)

    def _rank_ids(self, job: RerankJob, doc_ids: Sequence[str], ranking: Ranking) -> RerankAnswer:
        """Return documents of the index in the order of a ranking."""
        forward = self.index.forward
        ids = id_array(list(doc_ids))
        numbers = forward.doc_numbers(ids)
        if (numbers < 0).any():
            missing = int(np.argmax(numbers < 0))
            raise ServiceError(
                404, f"body.documents[{missing}].id", "a document of the index", repr(doc_ids[missing]),
                "Send its text, or leave it out.",
            )  # fmt: skip
        terms = self.index.searcher.analyze([job.query])
        bm25 = ranking.candidates
        query_ptr = pointers([len(ids)])
        scores = bm25_scores(forward, terms, query_ptr, numbers, bm25.field, Recipe(bm25_k1=bm25.k1, bm25_b=bm25.b))
        run = Run(id_array(["q"]), query_ptr, ids, scores, str(Retriever.bm25(bm25.k1, bm25.b, bm25.field)))
        run = run.take(run.trec_order())
        scored = self._scored(ranking, {"q": job.query}, run, given=True)
        position = {name: number for number, name in enumerate(doc_ids)}
        names = run.doc_ids[scored.rows].tolist()
        answer = _ordered(scored, 0, np.array([position[name] for name in names], np.int64), job.cutoff)
        return replace(answer, texts=self._whole_texts(job, doc_ids, answer.order)) if job.with_texts else answer

    def _whole_texts(self, job: RerankJob, doc_ids: Sequence[str], order: Sequence[int]) -> dict[int, str]:
        """Return the stored texts of the documents that are returned, by their numbers in the request."""
        wanted = list(order[: job.count])
        size = 0
        texts: dict[int, str] = {}
        for numbers, names in _parts(wanted, [doc_ids[number] for number in wanted]):
            _drop_late([job])
            for number, document in zip(numbers, self.stored(names).values(), strict=True):
                text = document.get(CONTENTS)
                texts[number] = text if isinstance(text, str) else ""
                size += len(texts[number].encode("utf-8", "replace"))
            self._check_size(size, "body.return_documents")
        return texts

    def _frequent_terms(self) -> str:
        """Return a query with hits: words that the analyser keeps, from documents of the index."""
        forward = self.index.forward
        frequent = np.argsort(-forward.fields[CONTENTS].doc_freq.astype(np.int64), kind="stable")[:8].tolist()
        return " ".join(forward.term(number) for number in frequent) or "query"


@dataclass(frozen=True, eq=False)
class _Scored:
    """Candidates of some queries with their features, new scores and new order.

    rows      row in `run` of each row of `data` and `scores`, which have trec_eval's order
    order     rows of `scores` of each query, best first
    promised  probabilities of relevance, where the model is calibrated
    """

    run: Run
    data: RankingData | None
    rows: Ints
    scores: Floats
    order: Ints
    promised: Probabilities | None = None

    def likely(self, query: int, rows: Ints, cutoff: Cutoff | None) -> Ints:
        """Return those of some rows of a query, best first, that are likely enough."""
        if cutoff is None or self.promised is None:
            return rows
        if self.promised.lists[query] < cutoff.abstain:
            return rows[:0]
        return rows[self.promised.documents[rows] >= cutoff.min_score]


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The best documents of one query.

    query  its number
    rows  their rows in `scored.scores`, best first
    ranks  their ranks among BM25's documents, from 0
    """

    scored: _Scored
    query: int
    rows: Ints
    ranks: Ints

    def answered(self) -> dict[str, float]:
        """Return the probability of any relevant document, where the model is calibrated."""
        promised = self.scored.promised
        return {} if promised is None else {"probability": float(promised.lists[self.query])}

    def hits(self) -> list[dict[str, Any]]:
        """Return the hits as objects; ValueError where a score is not finite."""
        scores = self.scored.scores[self.rows]
        bm25 = self.scored.run.scores[self.scored.rows[self.rows]]
        check_finite(scores)
        check_finite(bm25)
        columns = zip(self.names(), scores.tolist(), self._promised(), self.ranks.tolist(), bm25.tolist(), strict=True)
        return [
            {"rank": place, "id": doc_id, "score": score, **promised, "bm25": {"rank": rank + 1, "score": first}}
            for place, (doc_id, score, promised, rank, first) in enumerate(columns, start=1)
        ]

    def _promised(self) -> list[dict[str, float]]:
        """Return the probability of each of them, where the model is calibrated."""
        promised = self.scored.promised
        if promised is None:
            return [{} for _ in self.rows]
        return [{"probability": value} for value in promised.documents[self.rows].tolist()]

    def names(self) -> list[str]:
        """Return the ids of the documents."""
        names: list[str] = self.scored.run.doc_ids[self.scored.rows[self.rows]].tolist()
        return names

    def features(self, ranking: Ranking) -> list[list[dict[str, Any]]]:
        """Return the strongest features of each of them."""
        data = self.scored.data
        return [[] for _ in self.rows] if data is None else strongest_features(ranking, data.of_rows(self.rows))


@dataclass(frozen=True, eq=False)
class ShownList:
    """The hits that are shown for one query, and how clicks on them are credited.

    hits      as objects of the answer
    rankers   names of the rankings
    answered  what the answer has beside the hits
    sides     the number in `rankers` of each hit's, and `credits` of a click on it; empty where there is one ranking
    seed      of the chance in the list
    """

    hits: list[dict[str, Any]]
    rankers: Sequence[str]
    answered: Mapping[str, float] = field(default_factory=dict)
    sides: Sequence[int] = ()
    credits: Sequence[float] = ()
    seed: int | None = None

    def doc_ids(self) -> list[str]:
        """Return the ids of the documents."""
        return [hit["id"] for hit in self.hits]

    def credited(self) -> dict[str, Any]:
        """Return how the hits were ranked, as the log has it."""
        if self.seed is None:
            return {"ranker": self.rankers[0]}
        return {"rankers": self.rankers, "sides": self.sides, "credits": self.credits, "seed": self.seed}


def _shown_lists(
    job: SearchJob, rankings: Sequence[Ranking], best: Iterable[tuple[str, Sequence[_Ranked]]]
) -> Iterator[ShownList]:
    """Yield the list for each query, with its best documents by each ranking, as long as somebody waits."""
    for query, ranked in best:
        _drop_late([job])
        yield shown_list(job, query, rankings, ranked)


def shown_list(job: SearchJob, query: str, rankings: Sequence[Ranking], ranked: Sequence[_Ranked]) -> ShownList:
    """Return the list for a query of a job: that of its ranking, or one of the documents of both."""
    lists = [each.hits() for each in ranked]
    if job.explain:
        for hits, ranking, each in zip(lists, rankings, ranked, strict=True):
            for hit, why in zip(hits, each.features(ranking), strict=True):
                hit["features"] = why
    names = [ranking.name for ranking in rankings]
    if job.comparison is None:
        return ShownList(lists[0], names, ranked[0].answered())
    seed, (first, second) = job.comparison.seed(query), [each.names() for each in ranked]
    made = interleave(first, second, job.k, random=seed)
    by_id = [{hit["id"]: hit for hit in hits} for hits in lists]
    hits = [
        {**(by_id[side].get(doc_id) or by_id[1 - side][doc_id]), "rank": place}
        for place, (doc_id, side) in enumerate(zip(made.documents, made.sides, strict=True), start=1)
    ]
    return ShownList(hits, names, {}, made.sides, made.credits, seed)


def _best(scored: _Scored, wanted: Sequence[tuple[int, Cutoff | None]]) -> Iterator[_Ranked]:
    """Yield the best documents of each query, as many as wanted and likely enough."""
    run = scored.run
    starts = scored.run.query_ptr[:-1]
    positions, ptr = joined_rows(starts, np.minimum(np.diff(run.query_ptr), [count for count, _ in wanted]))
    rows = scored.order[positions]
    for query, (_, cutoff) in enumerate(wanted):
        likely = scored.likely(query, rows[ptr[query] : ptr[query + 1]], cutoff)
        yield _Ranked(scored, query, likely, scored.rows[likely] - starts[query])


def _parts(first: Sequence[Any], second: Sequence[Any]) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Yield two sequences in parts of equal lengths, so that few documents are in memory at a time."""
    for start in range(0, len(first), _AT_ONCE):
        yield first[start : start + _AT_ONCE], second[start : start + _AT_ONCE]


def _drop_late(jobs: Sequence[Job]) -> None:
    """Raise ServiceError if nobody waits for any of the jobs."""
    if all(job.is_late() for job in jobs):
        raise too_late()


def _scored_rows(ranking: Ranking, run: Run, data: RankingData, rows: Ints, texts: bool) -> _Scored:
    """Return candidates, or texts that were handed over, with the scores of a ranking; `rows` as in _Scored."""
    if ranking.model is None:
        scores = run.scores[rows]
        promised = None
    else:
        scores = np.asarray(ranking.model.predict(data), np.float64)
        calibration = ranking.model.calibration_
        promised = None if calibration is None else calibration.probabilities(data, scores, texts)
    return _Scored(run, data, rows, scores, trec_order(data.query_ptr, scores, data.stored_ids), promised)


def _ordered(scored: _Scored, query: int, positions: Ints, cutoff: Cutoff | None) -> RerankAnswer:
    """Return likely documents of a query by falling score, equal scores by their positions (n,) in the request."""
    first = int(scored.run.query_ptr[query])
    rows = first + position_order(positions, scored.scores[first : first + len(positions)])
    rows = scored.likely(query, rows, cutoff)
    promised = scored.promised
    probabilities = None if promised is None else promised.documents[rows].tolist()
    return RerankAnswer(positions[rows - first].tolist(), scored.scores[rows].tolist(), probabilities)


_BM25_ONLY = Recipe(families=("document",))


def _locations(jobs: Sequence[RerankJob]) -> dict[tuple[str, str], str]:
    """Return where documents with fields are in the bodies, for errors: plain texts have been checked."""
    return {
        (str(n), name): f"body.documents[{number}]"
        for n, job in enumerate(jobs)
        for number, (name, document) in enumerate(zip(position_ids(len(job.documents)), job.documents, strict=True))
        if not isinstance(document, str)
    }


def _texts(
    job: SearchJob, document: Mapping[str, Any], matcher: Matcher | None, terms: frozenset[str]
) -> dict[str, Any]:
    """Return the fields of a hit, and its matches where they are asked for."""
    if matcher is None:
        return {"fields": document}
    cut = {
        name: excerpt(text, matcher.spans(text, terms), job.excerpt)
        for name, text in document.items()
        if isinstance(text, str)
    }
    fields = {name: cut[name][0] if name in cut else value for name, value in document.items()}
    return {"fields": fields, **({"matches": {name: cut[name][1] for name in cut}} if job.highlight else {})}


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
