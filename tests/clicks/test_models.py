"""Click models against their definitions, and against the users that made the log."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.users import Users, attractions, simulate_clicks
from rerank.clicks.cells import Cells
from rerank.clicks.estimates import ClickEstimates, estimate_clicks
from rerank.clicks.examination import examination
from rerank.clicks.models import MODELS, attractiveness
from rerank.clicks.record import Clicks, preference_pairs
from rerank.errors import InvalidInputError
from rerank.types import Qrels, RankingData, Run, query_rows
from tests.oracles import clicks as oracles

Judged = tuple[Run, Qrels]


def _values(estimates: ClickEstimates) -> dict[tuple[str, str], float]:
    queries, docs = estimates.query_ids[estimates.query], estimates.doc_ids[estimates.document]
    return {(q, d): v for q, d, v in zip(queries.tolist(), docs.tolist(), estimates.values.tolist(), strict=True)}


@pytest.mark.parametrize("model", ["cascade", "dependent", "coec", "ctr"])
@pytest.mark.parametrize("prior", [0.5, 10.0])
def test_models_are_as_defined(model: str, prior: float, judged: Judged) -> None:
    clicks = simulate_clicks(*judged, Users("dependent"), passes=3, spread=2.0)
    expected = (
        oracles.rates(list(oracles.impressions(clicks)), prior)
        if model == "ctr"
        else getattr(oracles, model)(clicks, prior)
    )
    assert _values(estimate_clicks(clicks, model, prior=prior)) == pytest.approx(expected)


def test_attractiveness_maximises_the_posterior(judged: Judged) -> None:
    cells = Cells.of(simulate_clicks(*judged, passes=5, spread=2.0))
    theta = Users().examination(10)
    values, _ = attractiveness(cells, theta[cells.place], 3.0)
    mean = cells.clicks.sum() / (cells.impressions @ theta[cells.place])
    for pair in range(0, cells.n_pairs, 397):
        of_pair = np.flatnonzero(cells.pair == pair)
        missed = np.repeat(theta[cells.place[of_pair]], (cells.impressions - cells.clicks)[of_pair].astype(int))
        expected = oracles.posterior(int(cells.clicks[of_pair].sum()), missed.tolist(), 3.0, mean)
        assert values[pair] == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("eta", [0.0, 0.5, 1.0, 2.0])
def test_examination_is_that_of_the_users(eta: float, judged: Judged) -> None:
    users = Users(eta=eta)
    clicks = simulate_clicks(*judged, users, passes=60, spread=2.0, seed=1)
    theta = users.examination(10)
    assert np.abs(examination(Cells.of(clicks)).theta - theta / theta[0]).mean() < 0.03


def test_attractiveness_approaches_that_of_the_users_with_its_error(judged: Judged) -> None:
    run, qrels = judged
    clicks = simulate_clicks(run, qrels, passes=100, spread=3.0)
    estimates = estimate_clicks(clicks, prior=1.0)
    truth = Run(run.query_ids, run.query_ptr, run.doc_ids, attractions(qrels, run, 0.1) * Users().examination(1))
    true = np.array([truth[query][doc] for query, doc in _values(estimates)])
    often = estimates.impressions >= 50
    z = (estimates.values - true)[often] / estimates.errors[often]
    assert np.abs(z < 1.96).mean() > 0.9
    assert abs(z.mean()) < 0.3
    assert 0.7 < z.std() < 1.3


def test_positions_between_which_nothing_moved_are_told_of(judged: Judged) -> None:
    clicks = simulate_clicks(*judged, passes=5, depth=4)
    estimates = estimate_clicks(clicks)
    assert estimates.examination is not None
    rates = np.bincount(clicks.position, clicks.clicked)[1:] / np.bincount(clicks.position)[1:]
    np.testing.assert_allclose(estimates.examination, rates / rates[0])
    assert estimates.notes[0].startswith("position 2 to 4: no clicked document was shown there and at position 1: ")


def test_few_clicks_and_queries_seen_once_are_told_of() -> None:
    clicks = Clicks.from_rows(["a"] * 5, ["d1", "d2", "d2", "d1", "d3"], [1, 2, 1, 2, 3], [1, 0, 0, 1, 0])
    notes = estimate_clicks(clicks).notes
    assert "position 2: examination rests on fewer than 30 clicks of documents that moved." in notes
    assert "position 3: no clicks: examination is 0." in notes
    once = Clicks.from_rows(["a", "b"], ["d1", "d1"], [1, 1], [1, 0])
    assert "2 of 2 queries were seen once: their values are mostly the prior." in estimate_clicks(once).notes


def test_labels_are_steps_of_the_values(judged: Judged) -> None:
    estimates = estimate_clicks(simulate_clicks(*judged, passes=4, spread=1.0))
    grades = estimates.grades(3)
    for grade in (1, 2, 3):
        best = estimates.values >= np.quantile(estimates.values, 1 - 0.5**grade)
        np.testing.assert_array_equal(grades >= grade, best & (estimates.clicks > 0))
    qrels = estimates.to_qrels()
    assert qrels.n_rows == len(estimates)
    graded = dict(zip(_values(estimates), estimates.grades().tolist(), strict=True))
    assert qrels["q3"] == {doc: grade for (query, doc), grade in graded.items() if query == "q3"}


def test_rows_that_were_shown_are_labelled_with_their_values(judged: Judged) -> None:
    run, _ = judged
    estimates = estimate_clicks(simulate_clicks(*judged, passes=2, spread=1.0).select(np.arange(900)))
    query = np.append(run.query_ids[query_rows(run.query_ptr)], ["q0", "unknown"])
    docs = np.append(run.doc_ids, ["unknown", "d1"])
    data = RankingData.from_frame(pd.DataFrame({"query_id": query, "doc_id": docs, "f": np.arange(len(docs))}))
    labelled, numbers = estimates.shown(data)
    values, queries = _values(estimates), labelled.query_ids[query_rows(labelled.query_ptr)]
    assert labelled.labels is not None
    pairs = zip(queries.tolist(), labelled.doc_ids.tolist(), strict=True)
    assert dict(zip(pairs, labelled.labels.tolist(), strict=True)) == values
    assert estimates.values[numbers].tolist() == labelled.labels.tolist()
    assert [docs[int(row)] for row in labelled.X[:, 0]] == labelled.doc_ids.tolist()
    with pytest.raises(InvalidInputError, match=r"data: expected rows that the log showed, got none"):
        estimates.shown(data.of_rows([0]).select([len(data) - 1]))


def test_what_cannot_be_estimated_is_refused(judged: Judged) -> None:
    unclicked = Clicks.from_rows(["a"], ["d1"], [1], [0])
    with pytest.raises(InvalidInputError, match=r"clicks: expected at least one click, got none"):
        estimate_clicks(unclicked)
    clicks = Clicks.from_rows(["two words", "b"], ["d1", "d1"], [1, 1], [1, 0])
    with pytest.raises(InvalidInputError, match=r"labels: expected queries with ids, got the text 'two words'"):
        estimate_clicks(clicks).to_qrels()
    with pytest.raises(InvalidInputError, match=r"grades: expected 1 to 20, got 0"):
        estimate_clicks(clicks).grades(0)
    with pytest.raises(InvalidInputError, match=r"grades: expected a whole number from 1 to 20, got 2\.5"):
        estimate_clicks(clicks).grades(2.5)
    with pytest.raises(InvalidInputError, match=r"click model: expected a known name, got 'pbmm'"):
        estimate_clicks(clicks, "pbmm")
    with pytest.raises(InvalidInputError, match=r"theta: expected it for the model pbm alone, got it for ctr"):
        estimate_clicks(clicks, "ctr", theta=[1.0])
    with pytest.raises(InvalidInputError, match=r"prior: expected 0 to 1e\+09, got -1"):
        estimate_clicks(clicks, prior=-1.0)
    with pytest.raises(InvalidInputError, match=r"prior: expected a number from 0 to 1e\+09, got 'x'"):
        estimate_clicks(clicks, prior="x")
    with pytest.raises(InvalidInputError, match=r"theta: expected 1 numbers from 0, one for each position, got inf\."):
        estimate_clicks(clicks, theta=[float("inf")])


def test_preferences_are_clicks_below_what_was_skipped(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    clicks = simulate_clicks(*judged, passes=6, spread=2.0)
    monkeypatch.setattr("rerank.clicks.record.PAIRS_AT_ONCE", 1000)
    pairs, totals = preference_pairs(clicks)
    counts = oracles.skipped(clicks)
    expected = {}
    for (query, better, worse), count in counts.items():
        reverse = counts.get((query, worse, better), 0)
        if count > reverse:
            expected[query, better, worse] = ((count + 0.5) / (count + reverse + 1), count + reverse)
    columns = pairs.query_ids, pairs.better, pairs.worse, pairs.probabilities, totals
    assert {
        (q, b, w): (p, n) for q, b, w, p, n in zip(*(column.tolist() for column in columns), strict=True)
    } == expected
    with pytest.raises(InvalidInputError, match=r"clicks: expected clicks below documents that were skipped"):
        preference_pairs(Clicks.from_rows(["a"], ["d1"], [1], [1]))


def test_every_model_is_tested() -> None:
    assert set(MODELS) == {"cascade", "dependent", "coec", "ctr", "pbm"}
