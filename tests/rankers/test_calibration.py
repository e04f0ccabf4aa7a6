"""Probabilities of scores: their order, what they promise, their storage, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.metrics.reliability import Reliability
from rerank.rankers.calibration import COVERED, DESCRIBED, OutOfFold, Scale, ScoredLists, in_order_of
from rerank.rankers.probability_map import MANY, LogisticMap, _isotonic, logistic
from rerank.runtime.codec import plain
from rerank.types import query_rows
from rerank.types.tie_order import trec_order

N_DOCUMENTS = 30


def world(n_queries: int, seed: int = 0, labels: bool = True) -> rerank.RankingData:
    """Queries whose documents are relevant with a known probability, the logistic function of what features say."""
    random = np.random.default_rng(seed)
    n_rows = n_queries * N_DOCUMENTS
    X = random.normal(size=(n_rows, 4)).astype(np.float32)
    ease = np.repeat(random.normal(size=n_queries), N_DOCUMENTS)
    X[:, 3] = ease
    relevant = random.random(n_rows) < logistic(2.0 * X[:, 0] + X[:, 1] + ease - 2.5)
    return rerank.RankingData(
        np.array([f"q{number}" for number in range(n_queries)]),
        np.arange(0, n_rows + 1, N_DOCUMENTS),
        np.array([f"d{number:02}" for number in range(N_DOCUMENTS)] * n_queries),
        X,
        ("a", "b", "c", "ease"),
        relevant.astype(np.float64) if labels else None,
    )


def out_of_fold(data: rerank.RankingData, scores: np.ndarray, predictors: tuple[str, ...] = ("ease",)) -> OutOfFold:
    lists = ScoredLists.of(data, Scale.of(scores).measured(scores), predictors)
    return OutOfFold(lists, np.arange(len(data)) % 5, data.labels > 0, 1.0, predictors)


@pytest.fixture(scope="module")
def model() -> rerank.LambdaMART:
    data = world(200)
    trained = rerank.LambdaMART(n_estimators=20, num_leaves=8).fit(data)
    unseen = world(200, 1)
    scored = out_of_fold(unseen, trained.predict(unseen))
    trained.calibration_ = scored.fit(Scale.of(trained.predict(data)), trained.checksum(), scored)
    return trained


def test_probabilities_of_unseen_queries_are_what_is_observed(model: rerank.LambdaMART) -> None:
    data = world(300, 2)
    probabilities = model.probabilities(data)
    found = Reliability.of(data.labels > 0, probabilities.documents)
    assert found.error < 0.03
    assert found.brier < np.mean((data.labels.mean() - data.labels) ** 2)
    assert model.calibrated().reliability.error < 0.03
    answered = np.add.reduceat(data.labels, data.query_ptr[:-1]) > 0
    assert probabilities.lists[answered].mean() > probabilities.lists[~answered].mean()


def test_calibrated_order_is_that_of_the_model_with_its_ties(model: rerank.LambdaMART) -> None:
    data = world(50, 3)
    scores = model.predict(data)
    ordered = model.probabilities(data).documents
    before, after = model.rank(data), data.run(ordered)
    assert (before.doc_ids == after.doc_ids).all()
    keys = scores.astype(np.float32)
    for query in range(len(data)):
        rows = data.rows(f"q{query}")
        equal = np.equal.outer(keys[rows], keys[rows])
        np.testing.assert_array_equal(equal, np.equal.outer(*[ordered[rows].astype(np.float32)] * 2))


def test_order_is_kept_for_any_scores_and_probabilities() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        sizes = random.integers(0, 12, 6)
        query_ptr = np.concatenate([[0], np.cumsum(sizes)])
        scores = random.choice([-1e30, -1.0, 0.0, 1e-30, 1.0, 1.0 + 1e-12, 2.0], query_ptr[-1])
        names = np.array([f"d{number}" for number in range(query_ptr[-1])])
        given = random.choice([1e-6, 0.2, 0.5, 1.0 - 1e-6], query_ptr[-1])
        ordered = in_order_of(scores, query_ptr, given)
        np.testing.assert_array_equal(trec_order(query_ptr, ordered, names), trec_order(query_ptr, scores, names))
        assert ((ordered > 0.0) & (ordered <= np.float32(1.0 - 1e-6))).all()


def test_probabilities_do_not_fall_with_the_score_in_both_forms_of_the_map() -> None:
    for n_queries in (30, 400):
        data = world(n_queries, 4)
        for scores in (data.column("a"), np.random.default_rng(0).normal(size=data.n_rows)):  # the latter say nothing
            documents = out_of_fold(data, scores, ()).fit(Scale(0.0, 1.0), "").candidates.documents
            assert (len(documents.margins) > 0) == (data.labels.sum() >= MANY)
            assert (documents.coefficients[:3] >= 0.0).all()
            rising = np.zeros((1000, len(documents.coefficients) - 1))
            rising[:, :3] = np.linspace(-9, 9, 1000)[:, None]
            assert (np.diff(documents.probabilities(rising)) >= 0.0).all()


def test_blocks_whose_smoothed_shares_fall_are_one() -> None:
    """One lowest row that is not relevant, whose share of half a row is 1/4, lifts no others."""
    margins = np.repeat([-5.0, 0.0, 1.0], [1, 1000, 1000])
    positive = np.repeat([False, True, False, True, False], [1, 20, 980, 600, 400])
    points, shares = _isotonic(margins, positive)
    np.testing.assert_allclose(shares, [20.5 / 1002, 600.5 / 1001])
    np.testing.assert_allclose(points, [-5.0 / 1001, 1.0])


def test_coefficients_are_those_of_scikit_learn_where_no_bound_holds() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(0)
    inputs = random.normal(size=(500, 3))
    positive = random.random(500) < logistic(inputs @ [1.0, 0.5, -0.7] - 0.3)
    found = LogisticMap.fit(inputs, positive, 2).coefficients
    expected = linear_model.LogisticRegression(C=1.0, tol=1e-10).fit(inputs, positive)
    np.testing.assert_allclose(found, [*expected.coef_[0], expected.intercept_[0]], atol=1e-5)
    bounded = LogisticMap.fit(inputs, positive, 3).coefficients  # the third would be negative: it is left out
    alone = linear_model.LogisticRegression(C=1.0, tol=1e-10).fit(inputs[:, :2], positive)
    np.testing.assert_allclose(bounded, [*alone.coef_[0], 0.0, alone.intercept_[0]], atol=1e-5)


def test_calibration_is_stored_with_the_model_and_refused_in_another(model: rerank.LambdaMART, tmp_path: Path) -> None:
    path, data = tmp_path / "model.json", world(20, 5, labels=False)
    model.save(path)
    loaded = rerank.read_model(path)
    for one, other in zip(model.probabilities(data), loaded.probabilities(data), strict=True):
        np.testing.assert_array_equal(one, other)
    assert str(loaded.calibration_) == str(model.calibration_)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert "ease" in loaded.features_read()
    stored = json.loads(path.read_text())
    for change, message in (
        ({"feature_names": ["a", "b", "other", "ease"]}, "calibration: expected that of the model"),
        ({"calibration": {**stored["calibration"], "predictors": ["x"]}}, "expected features of the model, got 'x'"),
        ({"calibration": {**stored["calibration"], "checksum": "0"}}, "got that of 0. Train the model again"),
    ):
        path.write_text(json.dumps({**stored, **change}))
        with pytest.raises(FileFormatError, match=message):
            rerank.read_model(path)


def test_lists_of_few_documents_are_read_as_texts() -> None:
    """Each by itself: those beside it do not matter."""
    data, unseen = world(200), world(200, 1)
    trained = rerank.LambdaMART(n_estimators=20, num_leaves=8).fit(data)
    scale = Scale.of(trained.predict(data))
    scored = out_of_fold(unseen, trained.predict(unseen))
    rare = replace(scored, relevant=scored.relevant & (np.arange(len(scored.relevant)) % 3 == 0))
    trained.calibration_ = scored.fit(scale, trained.checksum(), rare)
    few, many = world(3, 2), world(3, 3)
    kept = np.flatnonzero(np.arange(few.n_rows) % N_DOCUMENTS < DESCRIBED)
    few = replace(
        few,
        query_ptr=np.arange(4) * DESCRIBED,
        doc_ids=few.doc_ids[kept],
        X=few.X[kept],
        labels=None,
        query_ids=["a", "b", "c"],
    )
    many = replace(many, labels=None)
    both = replace(
        many,
        query_ids=np.concatenate([few.query_ids, many.query_ids]),
        query_ptr=np.concatenate([few.query_ptr, few.query_ptr[-1] + many.query_ptr[1:]]),
        doc_ids=np.concatenate([few.doc_ids, many.doc_ids]),
        X=np.concatenate([few.X, many.X]),
    )
    alone = trained.probabilities(few)
    np.testing.assert_array_equal(alone.documents, trained.probabilities(few, texts=True).documents)
    assert (trained.probabilities(many, texts=True).documents < trained.probabilities(many).documents).mean() > 0.9
    for part, joined in zip(
        zip(alone, trained.probabilities(many), strict=True), trained.probabilities(both), strict=True
    ):
        np.testing.assert_array_equal(np.concatenate(part), joined)


DAMAGE = {
    "n_relevant": 0,
    "scale.deviation": 0.0,
    "scale.mean": None,
    "target": "1",
    "folds": 1,
    "candidates.documents.coefficients": [1.0],
    "candidates.documents.margins": [0.0, 0.0],
    "texts.lists.shares": [2.0],
    "reliability.brier": 2.0,
    "reliability.counts": [-1],
    "candidates.standardizer.means": [],
}


@pytest.mark.parametrize("place", DAMAGE)
def test_damaged_calibration_is_refused_with_its_place(model: rerank.LambdaMART, place: str, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    stored = json.loads((tmp_path / "model.json").read_text())
    *keys, last = place.split(".")
    part = stored["calibration"]
    for key in keys:
        part = part[key]
    part[last] = DAMAGE[place]
    (tmp_path / "model.json").write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=rf"calibration\.{place.split('.')[0]}.*: expected .*, got .*") as error:
        rerank.read_model(tmp_path / "model.json")
    assert "\n" not in str(error.value)


def test_model_that_is_fitted_again_has_no_calibration(model: rerank.LambdaMART) -> None:
    again = rerank.LambdaMART(n_estimators=20, num_leaves=8).fit(world(30))
    again.calibration_ = model.calibration_
    again.fit(world(30))
    with pytest.raises(ModelMismatchError, match="expected one with calibrated scores, got one without") as error:
        again.probabilities(world(5))
    assert "rerank train INDEX TOPICS QRELS" in str(error.value)


def test_scores_of_another_scale_have_the_same_probabilities() -> None:
    data = world(100, 6)
    scores = data.X[:, 0].astype(np.float64)
    calibration = out_of_fold(data, 1000.0 * scores - 7.0).fit(Scale.of(scores), "")
    one = calibration.probabilities(data, scores).documents
    other = replace(calibration, scale=Scale.of(8.0 * scores)).probabilities(data, 8.0 * scores).documents
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_fewer_than_twenty_answered_queries_are_refused_with_the_number() -> None:
    data = world(19)
    with pytest.raises(InvalidInputError, match="expected at least 20 queries with relevant documents") as error:
        out_of_fold(data, data.column("a")).fit(Scale(0.0, 1.0), "")
    assert "Judge more queries" in str(error.value)


def test_lists_without_documents_and_missing_predictors_have_probabilities(model: rerank.LambdaMART) -> None:
    data = world(3, 7)
    empty = replace(
        data, query_ids=np.array(["q0", "q1", "q2", "q3"]), query_ptr=np.append(data.query_ptr, data.n_rows)
    )
    missing = replace(empty, X=np.full_like(empty.X, np.nan))
    for some in (empty, missing):
        documents, lists = model.probabilities(some)
        assert ((documents > 0.0) & (documents < 1.0)).all()
        assert lists[3] == 0.0
        assert (lists[:3] > 0.0).all()


def test_documents_without_a_term_of_the_query_are_as_likely_as_such_candidates_at_most() -> None:
    data = world(200)
    names = ("a", "b", COVERED, "ease")
    scores = data.column("a").astype(np.float64)
    is_low = scores < -0.5
    data = replace(
        data, X=np.where(np.arange(4) == 2, ~is_low[:, None], data.X).astype(np.float32), feature_names=names
    )
    scored = out_of_fold(data, scores, (COVERED,))
    scale = Scale.of(scores)
    calibration = scored.fit(scale, "")
    most = calibration.candidates.unmatched
    assert most is not None
    nearest = float(np.float32(most))  # probabilities are compared as float32
    share = data.labels[is_low].mean()
    assert most == pytest.approx(share, abs=1 / is_low.sum())
    rows = data.of_rows(np.arange(3 * N_DOCUMENTS))
    none = replace(rows, X=np.where(np.arange(4) == 2, 0.0, rows.X).astype(np.float32))
    documents, lists = calibration.probabilities(none, np.full(none.n_rows, scores.max()))
    assert documents.max() == nearest
    assert (lists <= N_DOCUMENTS * most).all()
    one = none.X.copy()
    one[0, 2] = 1.0  # the first document of the first query has a term
    first = replace(none, X=one)
    above = calibration.probabilities(first, np.linspace(3.0, 0.0, none.n_rows)).documents
    assert above[0] > nearest >= above[1]
    below = calibration.probabilities(first, np.linspace(0.0, 3.0, none.n_rows)).documents
    assert (below[1:N_DOCUMENTS] > nearest).any()  # the model knows more than the terms


def test_lists_without_their_relevant_documents_are_those_of_the_others() -> None:
    data = world(6, 8)
    lists, relevant = ScoredLists.of(data, data.column("a"), ("ease",)), data.labels > 0
    rows = np.flatnonzero(~relevant)
    kept = ScoredLists.of(data.of_rows(rows), data.column("a")[rows], ("ease",))
    np.testing.assert_array_equal(lists.without(relevant).described(), kept.described())
    described = lists.described()
    for query in range(6):
        scores = np.sort(lists.scores[query_rows(lists.query_ptr) == query])[::-1][:20]
        expected = [scores[0], scores[0] - scores[1], scores.mean(), scores.std(), np.log1p(20)]
        np.testing.assert_allclose(described[query, :5], expected)
        assert described[query, 5] == described[query, 6] == data.X[data.query_ptr[query], 3]


def test_probability_of_lists_is_learned_from_emptied_ones_of_other_folds() -> None:
    data = world(100, 9)
    scored = out_of_fold(data, data.column("a"))
    answered = np.flatnonzero(scored._has_relevant())
    lists = scored.lists.without(scored.relevant).select(answered)
    kept = replace(scored, lists=lists, fold=scored.fold[answered], relevant=np.zeros(len(lists.scores), np.bool_))
    stripped = replace(scored, stripped=kept)
    scale = Scale.of(data.column("a"))
    assert plain(stripped.fit(scale, "").candidates) == plain(scored.fit(scale, "").candidates)
    rest = stripped._rest(2)
    assert set(rest.fold) == set(rest.stripped.fold) == {0, 1, 3, 4}
    lower = replace(kept, lists=replace(lists, scores=lists.scores - 100.0))
    told = replace(scored, stripped=lower).fit(scale, "").candidates
    assert told.probabilities(scored.lists)[1].mean() > 0.95  # their scores alone tell the stripped ones


def test_logistic_keeps_the_order_and_has_no_overflow() -> None:
    assert logistic(np.array([-1e300, 0.0, 1e300])).tolist() == [0.0, 0.5, 1.0]
    margins = np.arange(-300, 300) / 10
    assert (np.diff(logistic(margins)) >= 0.0).all()
    assert np.abs(logistic(-margins) + logistic(margins) - 1.0).max() < 1e-15
