"""Unions of candidates: their grammar, their order, and what stays missing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.features.extract import extract
from rerank.features.recipe import Recipe
from rerank.features.resolved_recipe import Records
from rerank.retrieval.base import SearchInputs
from rerank.retrieval.candidates import Candidates
from rerank.retrieval.union import search_union
from rerank.types import Run
from rerank.types.forward import ForwardIndex
from tests.features.collection import forward_index

DOCS = [f"d{number}" for number in range(9)]
QUERIES = {"q1": ["x"], "q2": ["y"]}
RUN = st.dictionaries(
    st.sampled_from(list(QUERIES)),
    st.dictionaries(st.sampled_from(DOCS), st.floats(-1e6, 1e6, width=32), min_size=1),
)


@pytest.fixture(scope="module")
def forward() -> ForwardIndex:
    return forward_index({doc: {"contents": ["x", "y"]} for doc in DOCS})


def _union(forward: ForwardIndex, runs: dict[str, Run], text: str) -> Run:
    inputs = SearchInputs(forward, list(QUERIES), list(QUERIES.values()), lambda k: Run.of({}), runs=runs)
    return search_union(inputs, Candidates.parse(text))


@settings(max_examples=60)
@given(RUN, RUN, RUN)
def test_union_keeps_the_first_source_and_adds_the_others_by_reciprocal_rank(
    first: dict[str, dict[str, float]], second: dict[str, dict[str, float]], third: dict[str, dict[str, float]]
) -> None:
    forward = forward_index({doc: {"contents": ["x", "y"]} for doc in DOCS})
    runs = {name: Run.of(run) for name, run in {"a": first, "b": second, "c": third}.items()}
    union = _union(forward, runs, "run:a,run:b:3,run:c")
    for query_id in QUERIES:
        ranked = {name: list(run[query_id]) if query_id in run else [] for name, run in runs.items()}
        ranked["b"] = ranked["b"][:3]
        scores = {  # as trec_eval compares them
            name: {doc: np.float32(runs[name][query_id][doc]) for doc in docs} for name, docs in ranked.items()
        }
        better = {
            name: {doc: sum(scores[name][other] > scores[name][doc] for other in docs) for doc in docs}
            for name, docs in ranked.items()
        }
        fused = {doc: sum(1 / (61 + better[name][doc]) for name in ("b", "c") if doc in better[name]) for doc in DOCS}
        added = sorted({*ranked["b"], *ranked["c"]} - {*ranked["a"]}, key=lambda doc: (fused[doc], doc), reverse=True)
        assert list(union[query_id]) == ranked["a"] + added
        scores = np.array(list(union[query_id].values()))
        assert scores[: len(ranked["a"])].tolist() == list(runs["a"][query_id].values() if ranked["a"] else [])
        of_added = scores[len(ranked["a"]) :].astype(np.float32)
        assert (of_added < scores[: len(ranked["a"])].min(initial=np.inf)).all()
        falls = [one > other for one, other in pairwise([fused[doc] for doc in added])]
        assert (np.diff(of_added) < 0).tolist() == falls
    order = union.trec_order()
    np.testing.assert_array_equal(union.scores[order], union.scores)


def test_scores_that_a_source_did_not_give_stay_missing(forward: ForwardIndex) -> None:
    runs = {"a": Run.of({"q1": {"d1": 3.0, "d2": 2.0}}), "b": Run.of({"q1": {"d2": 9.0, "d7": 8.0}})}
    union = _union(forward, runs, "run:a,run:b")
    data = extract(forward, QUERIES, union, Recipe(families=("run",)), records=Records(runs=union.sources))  # type: ignore[attr-defined]
    rows = {str(doc): row for row, doc in enumerate(data.doc_ids)}
    values = {name: {doc: data.column(name)[row] for doc, row in rows.items()} for name in data.feature_names}
    assert list(rows) == ["d1", "d2", "d7"]
    np.testing.assert_array_equal(list(values["run.a.score"].values()), [3.0, 2.0, np.nan])
    np.testing.assert_array_equal(list(values["run.b.rank"].values()), [np.nan, 1.0, 2.0])
    assert np.isfinite(list(values["run.score"].values())).all()


def test_runs_with_scores_that_are_not_finite_are_refused(forward: ForwardIndex) -> None:
    for score in (np.nan, np.inf, -np.inf):
        with pytest.raises(InvalidInputError, match="expected finite numbers in column score, got"):
            _union(forward, {"a": Run.of({"q1": {"d1": score, "d2": 1.0}})}, "run:a")


def test_runs_that_are_not_given_or_of_another_index_are_refused(forward: ForwardIndex) -> None:
    with pytest.raises(InvalidInputError, match="candidates: expected the run dense, got none"):
        _union(forward, {}, "run:dense.run")
    with pytest.raises(InvalidInputError, match="expected documents of the index in the run dense, got 'zz'"):
        _union(forward, {"dense": Run.of({"q1": {"zz": 1.0}})}, "run:dense.run")
    with pytest.raises(InvalidInputError, match="candidates: expected vectors for the source lsi, got none"):
        _union(forward, {}, "lsi:10")
    with pytest.raises(InvalidInputError, match="candidates: expected a history for the source history, got none"):
        _union(forward, {}, "history:10")
    with pytest.raises(InvalidInputError, match="candidates: expected an encoder for the source encoder, got none"):
        _union(forward, {}, "encoder:10")
