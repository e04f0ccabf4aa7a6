"""Candidates, features and new rankers of a study."""

from __future__ import annotations

from dataclasses import replace

from rerank.rankers.ranker import Ranker, ranker_class
from rerank.retrieval.candidates import Candidates
from rerank.retrieval.union import UnionRun
from rerank.types import Qrels, Run, Topics
from rerank.workflows.folds import FoldData
from rerank.workflows.index import Index
from rerank.workflows.study import RUN, Study
from rerank.workflows.train import TRAINED, among_first, sources_of


def study_candidates(index: Index, study: Study) -> Candidates:
    """Return the sources of a study's candidates."""
    return sources_of(index, study.candidates, study.k)


def study_features(index: Index, run: Run, topics: Topics, qrels: Qrels, study: Study) -> FoldData:
    """Return the features of all candidates, and which of these are trained on."""
    run = run.take(run.trec_order())
    trained = None if study.base == RUN else among_first(run, TRAINED)
    some = run.without_sources() if study.candidates is None and isinstance(run, UnionRun) else run
    data = index.features(some, topics, qrels, recipe=study.recipe)
    if trained is not None and data.retriever is not None:  # models rerank as many candidates as the study
        data = replace(data, retriever=replace(data.retriever, depth=study_candidates(index, study).k))
    return FoldData(data, trained)


def new_model(study: Study, ranker: str, base: str | Ranker | None) -> Ranker:
    """Return a ranker that is not fitted; the study's parameters are those of the study's ranker."""
    kind = ranker_class(ranker)
    shared = {"metric": study.metric, "random_state": study.random_state, "n_jobs": study.threads}
    accepted = {name: value for name, value in shared.items() if name in kind().get_params(deep=False)}
    parameters = study.parameters if ranker == study.ranker else {}
    return kind(base=base, **{**accepted, **parameters})


def learns_from_all(study: Study, ranker: str, n_queries: int) -> bool:
    """Return whether no training query is left to stop on; settings are compared on such queries."""
    if study.base == RUN or study.tune:
        return ranker_class(ranker).cross_validates
    return new_model(study, ranker, None).learns_from_all(n_queries)
