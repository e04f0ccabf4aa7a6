"""Unions of candidates: their grammar, their order, and what stays missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import InvalidInputError
from rerank.features.extract import Records, extract
from rerank.features.recipe import Recipe
from rerank.retrieval.base import Candidates, Part, SearchInputs, search_union
from rerank.types import Run
from rerank.types.forward import ForwardIndex
from rerank.types.retriever import Retriever
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


def test_unions_are_read_and_become_tags() -> None:
    candidates = Candidates.parse("bm25:1000, rm3:50,run:some/dense.run:20,run:other.txt")
    assert candidates.sources == (
        Part("bm25", 1000),
        Part("rm3", 50),
        Part("dense", 20, "some/dense.run"),
        Part("other", None, "other.txt"),
    )
    assert candidates.tag == "union:bm25:1000,rm3:50,run:dense:20,run:other"
    for each in (candidates, replace(candidates, k1=1.2, b=0.75, field="the title")):
        again = Candidates.of_retriever(Retriever.of_tag(each.tag))
        assert again is not None
        assert (again.tag, again.k1, again.b, again.field) == (each.tag, each.k1, each.b, each.field)


def test_parameters_of_bm25_are_written_as_in_a_tag() -> None:
    candidates = Candidates.parse("bm25-k1=1.2-b=0.75-field=title:100,rm3:50", k1=2.0)
    assert (candidates.k1, candidates.b, candidates.field) == (1.2, 0.75, "title")
    assert [(part.name, part.k) for part in candidates.sources] == [("bm25", 100), ("rm3", 50)]
    assert Candidates.parse("rm3-k1=1.2-b=0.75", 20) == Candidates.parse("rm3", 20, k1=1.2, b=0.75)
    assert Candidates.parse("run:a-k1=1.2-b=0.75/dense.run").k1 == 0.9
    with pytest.raises(InvalidInputError, match=r"^candidates: expected one k1 and b for all sources, got \(1\.0, "):
        Candidates.parse("bm25-k1=1-b=1,rm3-k1=2-b=1")


def test_candidates_of_one_source_have_its_depth() -> None:
    assert Candidates.parse("rm3").k == 1000
    assert Candidates.parse("rm3", 20).at_depth(30).sources == (Part("rm3", 30),)
    assert Candidates.of_retriever(Retriever.bm25(1.2, 0.75, "title")) == Candidates(k1=1.2, b=0.75, field="title")
    assert Candidates.of_retriever(Retriever("lsi-dimensions=400", depth=7)) == Candidates((Part("lsi", 7),))
    assert Candidates.of_retriever(Retriever("another system")) is None
    assert Candidates.parse("run:dense.run").k is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected sources with their depths, got ''"),
        ("lsa:10", "expected a known name, got 'lsa'. Did you mean 'lsi'?"),
        ("rm3:x", "expected rm3 with its depth, got 'rm3:x'"),
        ("rm3:1e3", "expected rm3 with its depth"),
        ("rm3:5,rm3:6", "expected each source once, got 'rm3' twice"),
        ("run:", "expected run:FILE with a file name of letters and digits"),
        ("run:bm25.run", "other than a source's, got 'run:bm25.run'"),
        ("bm25,run:dense.npy", "expected run:FILE with a run, got vectors ('dense.npy'). Make a run of them in Python"),
        ("run:a.run,run:b/a.txt", "expected each source once, got 'a' twice"),
    ],
)
def test_unions_that_name_what_is_not_there_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^candidates: ") as refused:
        Candidates.parse(text)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


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
