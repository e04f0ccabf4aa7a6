"""Training from clicks: labels for the queries of a log, from a click model and from the features.

With few impressions, the clicks of a document say little of it, and those of documents with like features say more. Its
label is the mean of its value given both: with c clicks, e expected of a document of value 1 (impressions times their
examination), and the prediction r(x) of regression trees that have not seen the query, which counts as m impressions,

    (c + m r(x)) / (e + m)

A document that was never shown has c = e = 0: its label is r(x). Without such rows models learn nothing of what stands
below the log's lists. With few queries r is too rough for that, and only what was shown is learned from
(docs/benchmarks.md).

Without features r is the same for all documents, and a document that was shown at the bottom alone, where nobody looks,
seems better than one that many have skipped.

References
----------
T. Joachims, A. Swaminathan and T. Schnabel, Unbiased Learning-to-Rank with Biased Feedback, WSDM 2017 (c / e).
X. Wang, N. Golbandi, M. Bendersky, D. Metzler and M. Najork, Position Bias Estimation for Unbiased Learning to Rank in
Personal Search, WSDM 2018 (values from a regression on features).

"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rerank.clicks.cells import Cells, matched_pairs
from rerank.clicks.estimates import PRIOR, ClickEstimates, estimate_clicks
from rerank.clicks.examination import examination
from rerank.clicks.record import Clicks
from rerank.errors import InvalidInputError, log
from rerank.features.extract import scores_in
from rerank.rankers.mart import MART
from rerank.runtime.progress import InProcess
from rerank.training.cross_validation import FoldData, FoldTraining, cross_validated
from rerank.training.folds import FOLDS, LEAST_QUERIES, assign_folds
from rerank.training.tuning import fit_best
from rerank.types import Floats, RankingData
from rerank.types.query_folds import groups_of_queries

FEW_CLICKS = 500  # a model of the clicks of 96 searches of nfcorpus ranked worse than BM25 (docs/benchmarks.md)
MANY_QUERIES = 300  # with as many, documents never shown are learned from, too: 500 of nfcorpus gain by it, 100 lose
LABEL_TREES: dict[str, Any] = {"n_estimators": 50, "num_leaves": 8}  # clicks are few: larger trees learn their noise
EM_TREES: dict[str, Any] = {"n_estimators": 15, "num_leaves": 7, "learning_rate": 0.2}
ROUNDS, STEPS = 8, 200  # of regression EM: fits of the trees, and steps of theta after each
GUESS, LEAST = 0.2, 1e-3  # first value of gamma; how near gamma may come to 0 and 1, and theta to 1
ONE_THREAD = 50_000  # rows below which several threads wait more than they work


def click_labels(estimates: ClickEstimates, data: RankingData, *, prior: float = PRIOR) -> RankingData:
    """Return the rows of the queries of a log, with labels made of their clicks and features.

    Parameters
    ----------
    estimates : ClickEstimates
        What a click model says of the log.
    data : RankingData
        Features of query-document pairs, with the query ids of the log.
    prior : float
        Number of impressions that the prediction from the features counts as.

    Returns
    -------
    RankingData
        The rows of the log's queries, of fewer than 300 queries those that were shown, with the labels (c + prior r(x))
        / (e + prior), see the module; of fewer than ten queries, with the values of the click model.

    Raises
    ------
    InvalidInputError
        If no row was shown, or prior is not between 0 and 1e9.

    """
    if not 0.0 < prior < 1e9:
        raise InvalidInputError(f"prior: expected a number above 0 and below 1e9, got {prior!r}. Give another.")
    shown = estimates.shown(data)[0]
    if len(shown) < LEAST_QUERIES:
        return shown
    logged = data.select(data.query_numbers(shown.query_ids.tolist())) if len(shown) >= MANY_QUERIES else shown
    pairs, seen = estimates.matches(logged)
    clicks = estimates.clicks[pairs]
    exposures = estimates.exposures[pairs]
    is_shown = np.zeros(logged.n_rows, dtype=np.bool_)
    is_shown[seen] = True
    weights = np.ones(logged.n_rows)
    weights[seen] = exposures
    rates = np.zeros(logged.n_rows)
    rates[seen] = np.divide(clicks, exposures, out=np.zeros(len(seen)), where=exposures > 0.0)
    rows = replace(logged, labels=rates, row_weights=weights, ideal_labels=None, ideal_ptr=None)
    folds = assign_folds(shown, FOLDS, 0, groups=dict(zip(shown, groups_of_queries(shown).tolist(), strict=True)))
    trees = partial(fit_best, MART(**LABEL_TREES, n_jobs=_threads(shown)), None)
    _, _, run = cross_validated(
        InProcess(), FoldTraining(FoldData(rows, is_shown), folds, trees, learns_from_all=True), "labels"
    )
    labels = np.maximum(scores_in(run, rows)[:, 0], 0.0)
    labels[seen] = (clicks + prior * labels[seen]) / (exposures + prior)
    return replace(logged, labels=labels, ideal_labels=None, ideal_ptr=None)


def _threads(rows: RankingData) -> int | None:
    """Return the parameter n_jobs for training on some rows; None is all threads."""
    return 1 if rows.n_rows < ONE_THREAD else None


def estimate_with_features(
    clicks: Clicks, data: RankingData, model: str = "pbm", *, prior: float = PRIOR
) -> ClickEstimates:
    """Estimate from clicks how good each document is, with features where the log alone does not tell.

    Parameters
    ----------
    clicks : Clicks
        The log.
    data : RankingData
        Features of query-document pairs, with the query ids of the log.
    model, prior : as for `estimate_clicks`
        The click model, and its smoothing.

    Returns
    -------
    ClickEstimates
        As of `estimate_clicks`. For `pbm`, the examination of positions that no clicked document was moved to comes
        from regression EM: of documents with like features, those at positions that are looked at have more clicks.

    """
    cells = Cells.of(clicks)
    of_log = examination(cells)
    theta = _regressed_examination(clicks, cells, data) if model == "pbm" and of_log.is_assumed.any() else None
    if theta is not None:
        n_assumed = np.count_nonzero(of_log.is_assumed)
        log.info("clicks: examination of %d positions is estimated from the features", n_assumed)
        theta = np.where(of_log.is_assumed, theta, of_log.theta)
    return estimate_clicks(clicks, model, prior=prior, theta=theta)


def _regressed_examination(clicks: Clicks, cells: Cells, data: RankingData) -> Floats | None:
    """Return the examination of each position, 1 at the first, by regression EM; None with too few queries.

    With theta of the position and gamma of the pair, P(examined | no click) = theta (1 - gamma) / (1 - theta gamma) and
    P(attractive | no click) = gamma (1 - theta) / (1 - theta gamma); theta is the mean of clicks and the first, and
    gamma the prediction of clicks and the second by a few trees on the features (Wang et al., WSDM 2018).
    """
    pairs, rows = matched_pairs(data, clicks.query_ids, clicks.doc_ids, cells.query, cells.document)
    weights = cells.by_pair(cells.impressions)[pairs]
    shown = replace(data.of_rows(rows), ideal_labels=None, ideal_ptr=None, row_weights=weights)
    shown = shown.select(np.diff(shown.query_ptr) > 0)
    if len(shown) < LEAST_QUERIES:
        return None
    own = cells.select(np.isin(cells.pair, pairs))
    missed = own.impressions - own.clicks
    impressions = np.maximum(own.by_place(own.impressions), 1.0)
    theta = np.minimum(examination(own).theta, 1.0)
    gamma = np.full(cells.n_pairs, GUESS)
    model = MART(**EM_TREES, n_jobs=_threads(shown))
    for _ in range(ROUNDS):
        of_cell = theta[own.place]
        of_pair = gamma[own.pair]
        attractive = own.clicks + missed * of_pair * (1.0 - of_cell) / (1.0 - of_cell * of_pair)
        labels = own.by_pair(attractive)[pairs] / weights
        predicted = model.fit(replace(shown, labels=labels)).predict(shown)
        gamma[pairs] = np.clip(predicted, LEAST, 1.0 - LEAST)
        for _ in range(STEPS):
            of_cell = theta[own.place]
            of_pair = gamma[own.pair]
            examined = own.clicks + missed * of_cell * (1.0 - of_pair) / (1.0 - of_cell * of_pair)
            theta = np.clip(own.by_place(examined) / impressions, 0.0, 1.0 - LEAST)
    return np.asarray(theta / theta[np.argmax(theta > 0.0)], dtype=np.float64)


def labelled_by_clicks(clicks: Clicks, data: RankingData) -> tuple[RankingData, RankingData]:
    """Return the rows to learn from, with labels of `click_labels`, and those shown, with values of the click model."""
    estimates = estimate_with_features(clicks, data)
    shown = estimates.shown(data)[0]
    log.info("clicks: %d of %d pairs of the log are candidates", shown.n_rows, len(estimates))
    n_clicks = int(clicks.clicked.sum())
    if n_clicks < FEW_CLICKS:
        log.warning(
            "clicks: %d of them: a model of fewer than %d can rank worse than the log's ranker. Collect more first.",
            n_clicks,
            FEW_CLICKS,
        )
    return click_labels(estimates, data), shown
