from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import rerank
from rerank.errors import InvalidInputError
from rerank.retrieval import fusion
from rerank.retrieval.fusion import fuse
from rerank.types import Run, query_rows
from tests.oracles.fusion import fused

METHODS = ("rrf", "combsum", "combmnz", "weighted")
NORMS = ("none", "minmax", "max", "sum", "zscore", "rank")
scores = st.integers(-4, 40).map(lambda number: number / 4)
words = st.text("aé0", min_size=1, max_size=10)
rankings = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(words, scores, min_size=1, max_size=6), min_size=1
)
several = st.lists(rankings, min_size=2, max_size=4)


def _assert_equal(actual: Run, expected: dict[str, dict[str, float]]) -> None:
    assert list(actual) == list(expected)
    for query_id, documents in expected.items():
        ours = actual[query_id]
        assert ours.keys() == documents.keys()
        assert [ours[doc] for doc in documents] == pytest.approx(list(documents.values()), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("norm", NORMS)
@settings(max_examples=25)
@given(runs=several, missing=st.sampled_from(["zero", "lowest"]))
def test_fuse_is_what_the_formulas_say(method: str, norm: str, runs: list, missing: str) -> None:
    if method == "rrf" and norm != "none":
        return
    if norm == "max":
        runs = [{query: {doc: abs(s) + 0.25 for doc, s in docs.items()} for query, docs in run.items()} for run in runs]
    weights = [0.5 + number for number in range(len(runs))] if method == "weighted" else None
    result = fuse(runs, method, norm=norm, weights=weights, missing=missing)
    _assert_equal(result, fused(runs, method, norm, weights, 60, missing))
    if norm == "minmax":  # equal scores by ascending id
        rows = list(zip(query_rows(result.query_ptr), -result.scores, result.doc_ids.tolist(), strict=True))
        assert rows == sorted(rows)
    else:
        assert np.array_equal(result.trec_order(), np.arange(result.n_rows))


@settings(max_examples=30)
@given(runs=several, batch=st.integers(1, 7))
def test_fuse_does_not_depend_on_how_queries_are_batched(runs: list, batch: int) -> None:
    whole = fuse(runs, "combmnz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion, "BATCH_ROWS", batch)
        parts = fuse(runs, "combmnz")
    assert parts.doc_ids.tolist() == whole.doc_ids.tolist()
    assert np.array_equal(parts.scores, whole.scores)


@settings(max_examples=30)
@given(runs=several, method=st.sampled_from(METHODS[:3]))
def test_fuse_does_not_depend_on_the_order_of_runs(runs: list, method: str) -> None:
    one, other = fuse(runs, method), fuse(runs[::-1], method)
    assert set(one) == set(other)
    for query_id in one:
        assert one[query_id] == pytest.approx(other[query_id], rel=1e-12, abs=1e-12)


def test_rrf_by_hand() -> None:
    result = rerank.fuse([{"q": {"a": 9.0, "b": 8.0}}, {"q": {"b": 0.2, "c": 0.1}}])
    assert result["q"] == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})
    assert result.doc_ids.tolist() == ["b", "a", "c"]
    assert result.name == "rrf"
    assert rerank.fuse([{"q": {"a": 9.0}}, {"q": {"a": 1.0}}], k=1)["q"] == {"a": 1.0}


def test_fused_run_can_be_cut() -> None:
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 3.0, "d": 1.0}}]
    result = fuse(runs, "combsum").head(2)
    assert result.doc_ids.tolist() == ["a", "b"]
    assert result.name == "combsum"


RUNS = [{"q": {"a": 1.0}}, {"q": {"a": -2.0, "b": -3.0}}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": RUNS[:1]}, "runs: expected at least two to fuse, got 1. Name more runs."),
        ({"method": "rff"}, "method: expected a known name, got 'rff'. Did you mean 'rrf'?"),
        ({"method": "combsum", "norm": "min-max"}, "norm: expected a known name, got 'min-max'. Did you mean"),
        ({"missing": "nil"}, "missing: expected a known name, got 'nil'. Known: lowest, zero."),
        ({"norm": "sum"}, "norm: expected none beside rrf, which uses ranks alone, got sum. Drop it."),
        ({"method": "combsum", "norm": ""}, "norm: expected a known name, got ''"),
        ({"missing": ""}, "missing: expected a known name, got ''"),
        ({"k": True}, "k: expected a number above 0, got True. The paper has 60."),
        ({"k": 0}, "k: expected a number above 0, got 0. The paper has 60."),
        ({"method": "weighted"}, "weights: expected them for the method weighted and no other, got none."),
        ({"weights": [1, 1]}, "weights: expected them for the method weighted and no other, got some for rrf."),
        (
            {"method": "weighted", "weights": [1.0]},
            "weights: expected a finite number for each of 2 runs, got [1.0]. Give one weight a run.",
        ),
        (
            {"method": "combsum", "norm": "max"},
            "norm: expected a best score above 0 in every query for max, got -2. Use minmax.",
        ),
        ({"method": "best"}, "qrels: expected them for the method best and no other, got none. Pass"),
        ({"qrels": {"q": {"a": 1}}}, "qrels: expected them for the method best and no other, got some for rrf."),
        (
            {"runs": [*RUNS, RUNS[0]], "method": "best", "qrels": {"q": {"a": 1}}},
            "runs: expected two for the method best, got 3. Fuse two at a time.",
        ),
        (
            {"method": "best", "missing": "zero", "qrels": {"q": {"a": 1}}},
            "missing: expected lowest beside best, got zero. Drop it.",
        ),
        ({"method": "best", "qrels": {"z": {"a": 1}}}, "qrels: expected judgements of a query of the runs, got none"),
        (
            {"runs": [{"q": {"a": float("nan")}}, RUNS[0]]},
            "run: expected finite numbers in column score, got nan at document 'a'",
        ),
        ({"runs": [{}, {}]}, "runs: expected rows, got none in any run. Name runs with rows."),
        ({"runs": None}, "runs: expected a list of runs, got NoneType. Pass [run, run]."),
        ({"runs": {"a": RUNS[0], "b": RUNS[1]}}, "runs: expected a list of runs, got dict. Pass [run, run]."),
        ({"runs": "a.run"}, "runs: expected a list of runs, got str. Pass [run, run]."),
        ({"method": ["rrf"]}, "method: expected a known name, got"),
        ({"k": None}, "k: expected a number above 0, got None. The paper has 60."),
        ({"method": "weighted"}, "weights: expected them for the method weighted and no other, got none. Give one"),
        ({"method": "weighted", "weights": "1,2"}, "weights: expected a finite number for each of 2 runs, got '1,2'."),
        ({"method": "weighted", "weights": 0.5}, "weights: expected a finite number for each of 2 runs, got 0.5."),
        ({"method": "weighted", "weights": [[1, 2], 1]}, "weights: expected a finite number for each of 2 runs, got"),
        ({"method": "weighted", "weights": [0.5, None]}, "weights: expected a finite number for each of 2 runs, got"),
        ({"method": "weighted", "weights": {"a": 1, "b": 2}}, "weights: expected a finite number for each of 2 runs"),
        ({"method": "weighted", "weights": [0, 0]}, "weights: expected one that is not 0, got none. Give the better"),
    ],
)
def test_fuse_refuses(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        fuse(**{"runs": RUNS, **arguments})
    assert str(error.value).startswith(message)


def _judged(runs: list) -> dict[str, dict[str, int]]:
    """Label every third document of the united runs 2, the others 0."""
    pools = {query: sorted({doc for run in runs for doc in run.get(query, {})}) for run in runs for query in run}
    return {query: {doc: 2 * (position % 3 == 0) for position, doc in enumerate(docs)} for query, docs in pools.items()}


@settings(max_examples=30)
@given(runs=st.lists(rankings, min_size=2, max_size=2), norm=st.sampled_from([None, "none", "minmax", "zscore"]))
def test_best_is_the_weighted_sum_that_its_log_names(runs: list, norm: str | None) -> None:
    qrels = _judged(runs)
    message: list[tuple] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fusion.log, "info", lambda text, *arguments: message.append(arguments))
        result = fuse(runs, "best", norm=norm, qrels=qrels, metric="AP")
    alpha, _, low, high, metric, value, *weights, chosen = message[-1]
    assert 0 <= low <= alpha <= high <= 1
    assert (metric, weights, chosen) == ("AP", [alpha, 1 - alpha], norm or "none")
    again = fuse(runs, "weighted", weights=weights, norm=chosen, missing="lowest")
    assert again.doc_ids.tolist() == result.doc_ids.tolist()
    assert np.array_equal(again.scores, result.scores)
    if chosen == "none":  # else scores may tie as float32 in one of the two and not in the other
        assert rerank.evaluate(qrels, result, ["AP"])["AP"] == pytest.approx(value, abs=1e-12)


def test_best_without_a_norm_is_what_combine_finds() -> None:
    runs = [{"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"a": 1.0, "b": 4.0, "d": 3.0}}]
    qrels = {"q": {"b": 2, "a": 1, "d": 0}}
    best = rerank.combine(*runs, qrels, "nDCG@3")
    result = fuse(runs, "best", qrels=qrels, metric="nDCG@3")
    assert result.doc_ids.tolist() == best.run.doc_ids.tolist()
    assert result.scores == pytest.approx(best.run.scores, rel=1e-6)
    assert fuse(runs, "best", qrels=qrels).head(1).doc_ids.tolist() == ["b"]


def test_runs_that_cannot_be_what_was_meant_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    equal = rerank.Run.of({name: {"a": 1.0, "b": 1.0} for name in ("q", "r")})
    rerank.fuse([RUNS[0], equal])
    rerank.fuse([RUNS[0], {"q": {"a": 1.0, "b": 1.0}}])
    rerank.fuse([RUNS[0], {name: {"a": 1.0} for name in ("q", "r")}])
    weights = (each for each in (0.5, 0.5))
    assert rerank.fuse(RUNS[:2], "weighted", weights=weights).n_rows  # type: ignore[arg-type]
    rerank.fuse([RUNS[0], {"another": {"a": 1.0, "b": 0.5}}])
    rerank.fuse([RUNS[0], {"q": {"a": 1.0}}])
    assert [message.partition(":")[0] for message in caplog.messages] == [f"run {equal.name}", "runs"]
    assert "expected scores that differ within a query" in caplog.messages[0]
    assert "expected queries that two of them hold, got none" in caplog.messages[1]


def test_queries_that_are_written_in_two_ways_are_named(caplog: pytest.LogCaptureFixture) -> None:
    def run(*query_ids: str) -> dict[str, dict[str, float]]:
        return {query_id: {"a": 2.0, "b": 1.0} for query_id in query_ids}

    qrels = {query_id: {"b": 1} for query_id in ("7", "12")}
    rerank.fuse([run("07", "12"), run("7", "12")])
    rerank.combine(run("07", "12"), run("07", "12"), qrels)
    rerank.learn_fusion([run("07", "12"), run("07", "12")], qrels, judged=False)
    assert [message.partition(" differ")[0] for message in caplog.messages if "differ in zeros" in message] == [
        "run rerank: '7' and '07'",
        "runs: '07' and '7'",
        "runs: '07' and '7'",
    ]


@pytest.mark.parametrize(
    ("norm", "value"), [("minmax", 1.0), ("zscore", 1.0), ("sum", 0.5), ("rank", 1.0), ("max", 1.0)]
)
def test_the_only_hit_of_a_run_counts_more_than_no_hit(norm: str, value: float) -> None:
    one = {"q": {"exact": 9.7}, "p": {"a": 3.0, "b": 3.0}}
    other = {"q": {"x": 0.9, "y": 0.86, "z": 0.5}, "p": {"c": 0.8, "a": 0.7, "d": 0.1}}
    fused = fuse([one, other], "weighted", norm=norm, weights=[1.0, 0.0])
    assert fused["q"]["exact"] == (1.0 if norm == "sum" else value)
    assert fused["q"]["z"] == 0.0
    if norm != "rank":
        assert [fused["p"][doc] for doc in ("a", "b")] == [value, value]


def test_min_max_is_that_of_opensearch() -> None:
    # opensearch-project/neural-search, MinMaxScoreNormalizationTechnique, weights of .5 and .5
    one = {"q": {"exact": 9.7}, "p": {"a": 3.0, "b": 3.0}}
    other = {"q": {"x": 0.9, "y": 0.86, "z": 0.5}, "p": {"c": 0.8, "a": 0.7, "d": 0.1}}
    fused = fuse([one, other], "weighted", norm="minmax", weights=[0.5, 0.5])
    assert fused["q"] == pytest.approx({"exact": 0.5, "x": 0.5, "y": 0.45, "z": 0.0})
    assert list(fused["q"]) == ["exact", "x", "y", "z"]
    assert fused["p"] == pytest.approx({"a": 0.5 + 0.3 / 0.7, "b": 0.5, "c": 0.5, "d": 0.0})
    assert list(fused["p"]) == ["a", "b", "c", "d"]


def test_scores_beyond_float32_are_refused() -> None:
    with pytest.raises(
        InvalidInputError, match=r"expected finite scores \(as float32\), got -1\.7976931348623157e\+308"
    ):
        fuse([{"q": {"a": -1.7976931348623157e308, "b": 1.0}}, {"q": {"a": 1.0}}], "combsum")


@settings(max_examples=30)
@given(runs=several, data=st.data(), method=st.sampled_from(["rrf", "combsum", "combmnz"]))
def test_the_order_in_which_runs_are_named_changes_nothing(runs: list, data: st.DataObject, method: str) -> None:
    one, other = fuse(runs, method), fuse(data.draw(st.permutations(runs)), method)
    assert {query: one[query] for query in one} == {query: other[query] for query in other}
