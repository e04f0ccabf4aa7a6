"""The index and the models, and the computation of many requests together; one thread calls it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rerank.errors import InvalidInputError, unknown_name
from rerank.features.candidate_scores import bm25_scores
from rerank.features.recipe import Recipe
from rerank.service.faults import ServiceError, internal, too_late, unknown, unusable
from rerank.service.jobs import Hit, Job, RerankAnswer, RerankJob, SearchJob
from rerank.service.querylog import QueryLog
from rerank.service.ranking import Ranking, bm25_ranking, explains, load_ranking, some_rows, strongest_features
from rerank.service.settings import BM25_NAME, Settings
from rerank.service.stored import Matcher, chosen_fields, excerpt, stored_fields
from rerank.types import RankingData, Run, Topics, pointers
from rerank.types.ids import id_array
from rerank.types.retriever import CONTENTS, Retriever
from rerank.vectors.vectors import Vectors
from rerank.workflows.index import Index
from rerank.workflows.texts import GivenTexts, TextOptions, given_texts, text_features

log = logging.getLogger("rerank")
_WARM_ROWS = 50


class Engine:
    """Answers jobs.

    Parameters
    ----------
    settings : Settings
        The files and options.

    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.index = Index.open(settings.index, settings.language)
        self.rankings: dict[str, Ranking] = {}
        self._vectors: Vectors | None = None
        self._log = None if settings.log_queries is None else QueryLog(settings.log_queries, settings.log_features)

    def open(self) -> None:
        """Open the index and the model, and answer a first request of each kind, so that all kernels are compiled."""
        self.index.searcher  # noqa: B018  # starts Java
        if self.settings.text_field not in self.index.forward.fields:
            raise unknown_name("text-field", self.settings.text_field, self.index.forward.fields)
        self._vectors = self.index.read_vectors(self.settings.vectors)
        bm25 = bm25_ranking()
        self.rankings = {BM25_NAME: self.warmed(bm25)}
        self.take(self.warmed(self.load()))

    def load(self) -> Ranking:
        """Read the served model again; it is not served yet, and no kernel runs. Raises RerankError."""
        return load_ranking(self.settings, self.index, self._vectors)

    def take(self, ranking: Ranking) -> None:
        """Serve a ranking from now on, in exchange for the one of its name."""
        self.rankings = {**self.rankings, ranking.name: ranking}

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the text fields and numbers that documents may have."""
        return (*self.index.forward.fields, *self.index.forward.numbers)

    def warmed(self, ranking: Ranking) -> Ranking:
        """Return a ranking that has answered requests of each kind; raises RerankError where it cannot."""
        query = self._frequent_terms()
        run = self._search({"q": query, "other": query.split()[0]}, _WARM_ROWS, ranking)
        given = given_texts({"q": query, "r": query}, {"q": ["a text", query], "r": [query]})
        if ranking.model is None:
            self._text_scores(given, ranking)
            return ranking
        data = self._features(run, {"q": query, "other": query}, ranking)
        ranking.model.predict(data)
        ranking.model.predict(some_rows(data, np.arange(1)))
        self._text_scores(given, ranking)
        return replace(ranking, explains=explains(ranking, some_rows(data, np.arange(min(3, data.n_rows)))))

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    def answer(self, jobs: Sequence[Job]) -> None:
        """Set `answer` or `fault` of each job; jobs that share a model are computed together."""
        groups: dict[tuple[type, str], list[Any]] = {}
        for job in jobs:
            try:
                self._check(job)
            except ServiceError as fault:
                job.fault = fault
            else:
                groups.setdefault((type(job), job.model), []).append(job)
        for (kind, _), group in groups.items():
            self._answer_group(kind, group)

    def _answer_group(self, kind: type, group: list[Any]) -> None:
        """Answer jobs together; after an error one by one, so that only those fail that cause it."""
        compute = self._answer_searches if kind is SearchJob else self._answer_reranks
        try:
            compute(group)
        except Exception as error:
            if len(group) > 1:
                for job in group:
                    self._answer_group(kind, [job])
                return
            group[0].fault = _fault(error, group[0])

    def _check(self, job: Job) -> None:
        """Refuse a job that names what the index or the model does not have."""
        if job.model not in self.rankings:
            raise unknown(404, "body.model", job.model, self.rankings)
        if isinstance(job, SearchJob):
            ranking = self.rankings[job.model]
            if job.explain and not ranking.explains:
                raise ServiceError(
                    422, "body.explain", "a model with contributions", f"{ranking.name}, which has none",
                    "Leave explain out, or serve a model of trees.",
                )  # fmt: skip
            for number, name in enumerate(job.fields):
                if name not in self.field_names:
                    raise unknown(422, f"body.fields[{number}]", name, self.field_names)

    def _search(self, queries: Mapping[str, str], k: int, ranking: Ranking) -> Run:
        k1, b, field = ranking.bm25
        return self.index.searcher.search(Topics(queries), k=k, k1=k1, b=b, field=field, threads=self.settings.threads)

    def _answer_searches(self, jobs: list[SearchJob]) -> None:
        """Answer searches with one ranking."""
        ranking = self.rankings[jobs[0].model]
        names = [[f"{n}:{name}" for name in job.queries] for n, job in enumerate(jobs)]
        topics = {f"{n}:{name}": text for n, job in enumerate(jobs) for name, text in job.queries.items()}
        run = self._candidates(topics, [job.candidates for job in jobs for _ in job.queries], ranking)
        if all(job.is_late() for job in jobs):
            raise too_late()
        shown = self._log is not None or any(job.explain for job in jobs)
        data, scored = self._scored(ranking, topics, run, shown)
        marked = [name for own, job in zip(names, jobs, strict=True) if job.marks_words for name in own]
        terms = self._terms({name: topics[name] for name in marked})
        for own, job in zip(names, jobs, strict=True):
            ranked = [_Ranked(run, scored, data, name, job.k) for name in own]
            hits = self._hits(job, ranking, ranked, [terms.get(name, frozenset()) for name in own])
            job.answer = dict(zip(job.queries, hits, strict=True))
        if self._log is not None:  # last: where a job fails, the others are answered again
            for own, job in zip(names, jobs, strict=True):
                self._log.write(job, {name: topics[name] for name in own}, run, data)

    def _candidates(self, topics: Mapping[str, str], wanted: list[int], ranking: Ranking) -> Run:
        """Return BM25's documents of each query, as many as wanted: one search for all of each number."""
        names = list(topics)
        parts = {
            k: self._search(
                {name: topics[name] for name, own in zip(names, wanted, strict=True) if own == k}, k, ranking
            )
            for k in dict.fromkeys(wanted)
        }
        if len(parts) == 1:
            return next(iter(parts.values()))
        rows = [parts[k].rows(name) for name, k in zip(names, wanted, strict=True)]
        doc_ids = np.concatenate([parts[k].doc_ids[own] for own, k in zip(rows, wanted, strict=True)])
        scores = np.concatenate([parts[k].scores[own] for own, k in zip(rows, wanted, strict=True)])
        query_ptr = pointers([own.stop - own.start for own in rows])
        return Run(id_array(names), query_ptr, doc_ids, scores, next(iter(parts.values())).name)

    def _terms(self, topics: Mapping[str, str]) -> dict[str, frozenset[str]]:
        """Return the terms of some queries, which may be none."""
        terms = self.index.searcher.analyze(list(topics.values())) if topics else []
        return dict(zip(topics, map(frozenset, terms), strict=True))

    def _scored(
        self, ranking: Ranking, topics: Mapping[str, str], run: Run, all_features: bool = False
    ) -> tuple[RankingData | None, Run]:
        """Return the features of the candidates, if there is a model and a candidate, and the reordered candidates.

        Features that the model does not read may be NaN, unless `all_features`.
        """
        if ranking.model is None or not run.n_rows:
            return None, run
        data = self._features(run, topics, ranking, None if all_features else ranking.model.features_read())
        return data, ranking.model.rank(data)

    def _features(
        self, run: Run, topics: Mapping[str, str], ranking: Ranking, needed: frozenset[str] | None = None
    ) -> RankingData:
        options: dict[str, Any] = {"recipe": ranking.recipe, "vectors": self._vectors, "threads": self.settings.threads}
        return self.index.some_features(needed, run, Topics(topics), **options)

    def _hits(
        self, job: SearchJob, ranking: Ranking, ranked: Sequence[_Ranked], terms: Sequence[frozenset[str]]
    ) -> list[list[Hit]]:
        """Return the hits of each query of a job."""
        hits = [each.hits() for each in ranked]
        if job.explain:
            hits = [
                [hit._replace(features=why) for hit, why in zip(own, each.features(ranking), strict=True)]
                for own, each in zip(hits, ranked, strict=True)
            ]
        if job.fields:
            hits = self._with_fields(job, hits, terms)
        return hits

    def _with_fields(self, job: SearchJob, hits: list[list[Hit]], terms: Sequence[frozenset[str]]) -> list[list[Hit]]:
        """Add stored fields, as excerpts and with matches where these are asked for."""
        stored = self.stored(dict.fromkeys(hit.doc_id for own in hits for hit in own))
        chosen = {doc_id: chosen_fields(document, job.fields) for doc_id, document in stored.items()}
        matcher = None
        if job.marks_words:
            texts = (text for document in chosen.values() for text in document.values() if isinstance(text, str))
            matcher = Matcher(self.index.searcher.analyze, texts)
        return [
            [_with_texts(job, hit, chosen[hit.doc_id], matcher, own_terms) for hit in own]
            for own, own_terms in zip(hits, terms, strict=True)
        ]

    def stored(self, doc_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the stored fields of documents of the index by id."""
        names = list(doc_ids)
        numbers = self.index.forward.doc_numbers(id_array(names)).tolist() if names else []
        raw = self.index.searcher.documents(numbers) if numbers else []
        return {name: stored_fields(text) for name, text in zip(names, raw, strict=True)}

    def _answer_reranks(self, jobs: list[RerankJob]) -> None:
        """Answer rerank requests with one ranking: those over texts together, those over ids together."""
        ranking = self.rankings[jobs[0].model]
        texts = [job for job in jobs if job.doc_ids is None]
        if texts:
            given = given_texts(
                {str(n): job.query for n, job in enumerate(texts)},
                {str(n): job.documents for n, job in enumerate(texts)},
            )
            run = self._text_scores(replace(given, locations=_locations(texts)), ranking)
            for n, job in enumerate(texts):
                rows = run.rows(str(n))
                job.answer = RerankAnswer([int(each) for each in run.doc_ids[rows]], run.scores[rows].tolist())
        for job in jobs:
            if job.doc_ids is not None:
                job.answer = self._rank_ids(job, job.doc_ids, ranking)

    def _text_scores(self, given: GivenTexts, ranking: Ranking) -> Run:
        """Return texts in the order of a ranking."""
        k1, b, field = ranking.bm25
        recipe = _BM25_ONLY if ranking.recipe is None else ranking.recipe
        options = TextOptions(
            self.settings.text_field,
            recipe,
            retriever=Retriever.bm25(k1, b, field),
            vectors=self._vectors,
            needed=None if ranking.model is None else ranking.model.features_read(),
            threads=self.settings.threads,
        )
        data = text_features(self.index, given, options)
        return data.run(data.base_scores) if ranking.model is None else ranking.model.rank(data)  # type: ignore[arg-type]

    def _rank_ids(self, job: RerankJob, doc_ids: Sequence[str], ranking: Ranking) -> RerankAnswer:
        """Return documents of the index in the order of a ranking."""
        forward, ids = self.index.forward, id_array(list(doc_ids))
        numbers = forward.doc_numbers(ids)
        if (numbers < 0).any():
            missing = int(np.argmax(numbers < 0))
            raise ServiceError(
                404, f"body.documents[{missing}].id", "a document of the index", repr(doc_ids[missing]),
                "Send its text, or leave it out.",
            )  # fmt: skip
        terms = self.index.searcher.analyze([job.query])
        k1, b, field = ranking.bm25
        query_ptr = pointers([len(ids)])
        scores = bm25_scores(forward, terms, query_ptr, numbers, field, Recipe(bm25_k1=k1, bm25_b=b))
        run = Run(id_array(["q"]), query_ptr, ids, scores, str(Retriever.bm25(k1, b, field)))
        run = run.take(run.trec_order())
        _, ranked = self._scored(ranking, {"q": job.query}, run)
        position = {name: number for number, name in enumerate(doc_ids)}
        texts = None
        if job.with_texts:
            stored = self.stored(doc_ids)
            texts = [_whole_text(stored[name]) for name in doc_ids]
        return RerankAnswer([position[name] for name in ranked.doc_ids.tolist()], ranked.scores.tolist(), texts)

    def _frequent_terms(self) -> str:
        """Return a query with hits: words that the analyser keeps, from documents of the index."""
        forward = self.index.forward
        frequent = np.argsort(-forward.fields[CONTENTS].doc_freq.astype(np.int64), kind="stable")[:8].tolist()
        return " ".join(forward.term(number) for number in frequent) or "query"


class _Ranked:
    """The documents of one query, in BM25's and in the model's order."""

    def __init__(self, run: Run, scored: Run, data: RankingData | None, name: str, k: int) -> None:
        candidates, own = run.rows(name), scored.rows(name)
        self._ids = scored.doc_ids[own][:k].tolist()
        self._scores = scored.scores[own][:k].tolist()
        ids = run.doc_ids[candidates].tolist()
        self._rank = {doc_id: rank for rank, doc_id in enumerate(ids, start=1)}
        self._bm25 = dict(zip(ids, run.scores[candidates].tolist(), strict=True))
        self._data, self._first = data, 0 if data is None else candidates.start

    def hits(self) -> list[Hit]:
        """Return the best documents."""
        return [
            Hit(doc_id, score, self._rank[doc_id], self._bm25[doc_id])
            for doc_id, score in zip(self._ids, self._scores, strict=True)
        ]

    def features(self, ranking: Ranking) -> list[list[dict[str, Any]]]:
        """Return the strongest features of each of them."""
        if self._data is None:
            return [[] for _ in self._ids]
        rows = self._first + np.array([self._rank[doc_id] - 1 for doc_id in self._ids], dtype=np.int64)
        return strongest_features(ranking, some_rows(self._data, rows))


_BM25_ONLY = Recipe(families=("document",))


def _locations(jobs: Sequence[RerankJob]) -> dict[tuple[str, str], str]:
    """Return where documents with fields are in the bodies, for errors: plain texts have been checked."""
    return {
        (str(n), str(number)): f"body.documents[{number}]"
        for n, job in enumerate(jobs)
        for number, document in enumerate(job.documents)
        if not isinstance(document, str)
    }


def _with_texts(
    job: SearchJob, hit: Hit, document: Mapping[str, Any], matcher: Matcher | None, terms: frozenset[str]
) -> Hit:
    """Return a hit with its fields."""
    if matcher is None:
        return hit._replace(fields=document)
    cut = {
        name: excerpt(text, matcher.spans(text, terms), job.excerpt)
        for name, text in document.items()
        if isinstance(text, str)
    }
    fields = {name: cut[name][0] if name in cut else value for name, value in document.items()}
    return hit._replace(fields=fields, matches={name: cut[name][1] for name in cut} if job.highlight else None)


def _whole_text(document: Mapping[str, Any]) -> str | None:
    """Return the text of a stored document."""
    text = document.get(CONTENTS)
    return text if isinstance(text, str) else None


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
