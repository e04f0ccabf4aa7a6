"""Candidates of requests in the order of a served model, and the hits of the answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rerank.clicks.interleaving import interleave
from rerank.index.bound_model import BoundModel, Scored
from rerank.rankers.calibration import Probabilities
from rerank.rankers.cutoff import Cutoff
from rerank.retrieval.union import UnionRun
from rerank.runtime.codec import finite
from rerank.service.bodies import Job, SearchJob
from rerank.service.served_models import ServedModel, strongest_features
from rerank.types import Floats, Ints, RankingData, Run, Topics


@dataclass(frozen=True, eq=False)
class RankedCandidates:
    """Candidates of some queries with their new scores and new order.

    run       the candidates, with the scores of their retrieval
    model     the reranked candidates with their features and the model's scores; None is BM25 alone
    rows      row in `run` of each row of `scores`
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
        """Scores of the slow scorer of the last stage; NaN where it was not called."""
        return None if self.model is None else self.model.slow

    def likely(self, query: int, rows: Ints, cutoff: Cutoff | None) -> Ints:
        """Return those of some rows of a query, best first, that are likely enough."""
        if cutoff is None or self.promised is None:
            return rows
        if self.promised.lists[query] < cutoff.abstain:
            return rows[:0]
        return rows[self.promised.documents[rows] >= cutoff.min_score]

    def hits(self, job: SearchJob, query: int, served: ServedModel) -> list[dict[str, Any]]:
        """Return the best documents of a query, given by number, as objects; ValueError where a score is not finite."""
        start = int(self.run.query_ptr[query])
        first, end = self.query_ptr[query : query + 2].tolist()
        rows = self.likely(query, self.order[first : min(first + job.body.k, end)], job.body.cutoff)
        missing = job.body.k - len(rows)
        others = self._others(query, missing) if missing > 0 and job.body.cutoff is None else rows[:0]
        of_run = np.append(self.rows[rows], others)
        lowest = self.scores[rows[-1]] if len(rows) else 0.0
        scores = np.append(self.scores[rows], lowest - np.arange(1, len(others) + 1))
        bm25 = self.run.scores[of_run]
        check_finite_scores(scores)
        check_finite_scores(bm25)
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
        if job.body.explain and self.model is not None and served.bound is not None:
            strongest = strongest_features(served.bound, self.model, rows, served.meanings)
            for hit, features in zip(hits, strongest, strict=False):
                hit["features"] = features
        return hits

    def _others(self, query: int, k: int) -> Ints:
        """Return the rows in `run` of the first k documents of a query that were not reranked."""
        rows = np.arange(*self.run.query_ptr[query : query + 2])
        rows = np.setdiff1d(rows, self.rows, assume_unique=True)
        return rows[np.argsort(self.run.places()[rows], kind="stable")][:k]


def shown_hits(
    job: SearchJob, query: str, served_models: Sequence[ServedModel], sides: Sequence[RankedCandidates], number: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the hits of a query, of one served model or two interleaved, and what the log needs to credit clicks."""
    lists = [side.hits(job, number, served) for side, served in zip(sides, served_models, strict=True)]
    if len(lists) == 1:
        assigned = {} if job.named == job.models else {"assigned": ",".join(job.named)}
        return lists[0], {"ranker": served_models[0].name, **assigned}
    seed = job.seed(query)
    first, second = ([hit["id"] for hit in hits] for hits in lists)
    made = interleave(first, second, job.body.k, random=seed)
    by_id = [{hit["id"]: hit for hit in hits} for hits in lists]
    hits = [
        {**(by_id[side].get(doc_id) or by_id[1 - side][doc_id]), "rank": place}
        for place, (doc_id, side) in enumerate(zip(made.documents, made.sides, strict=True), start=1)
    ]
    return hits, {
        "rankers": [served.name for served in served_models],
        "sides": made.sides,
        "credits": made.credits,
        "seed": seed,
    }


def check_finite_scores(scores: Floats) -> None:
    """Raise ValueError unless all scores are finite: JSON has no other numbers, and orjson would write null."""
    if not np.isfinite(scores).all():
        raise ValueError("scores: expected finite values, got others. Check the model.")


def ranked(
    served: ServedModel, topics: Mapping[str, str], run: Run, job: Job, whole: bool = False, chosen: bool = False
) -> RankedCandidates:
    """Return candidates with the scores and order of a model; its last stage is applied to a job without a cut-off.

    whole   whether features that the model does not read are computed, too; otherwise they are NaN
    chosen  whether the client has chosen the documents
    """
    if served.bound is None or not run.n_rows:
        return first_stage(run)
    is_head = run.among_first(served.bound.depth(None, run) if isinstance(run, UnionRun) else run.n_rows)
    data = served.bound.features(run, Topics(topics), is_head, whole=whole)
    return scored_by_model(served.bound, run, data, np.flatnonzero(is_head), job, topics, chosen=chosen)


def first_stage(run: Run) -> RankedCandidates:
    """Return candidates in the order of their own scores."""
    return RankedCandidates(run, None, np.arange(run.n_rows), run.scores, run.trec_order())


def text_run(data: RankingData) -> Run:
    """Return texts with their first-stage scores."""
    return Run(data.query_ids, data.query_ptr, data.stored_ids, data.base_scores)  # type: ignore[arg-type]


def scored_by_model(
    bound: BoundModel,
    run: Run,
    data: RankingData,
    rows: Ints,
    job: Job | None,
    topics: Mapping[str, str],
    texts: Callable[[Ints], list[str]] | None = None,
    chosen: bool = False,
) -> RankedCandidates:
    """Return documents with a model's scores; its last stage is applied for a job without a cut-off.

    rows    as in RankedCandidates
    texts   returns the texts of rows of the data that the request holds; None where they are documents of the index
    chosen  whether the client has chosen the documents
    """
    scored = bound.scored(data)
    promised = None if bound.model.calibration_ is None else bound.probabilities(scored, chosen or texts is not None)
    if job is not None and job.body.cutoff is None:
        scored = bound.reordered(scored, topics, texts)
    return RankedCandidates(run, scored, rows, scored.scores, scored.order, promised)
