"""Plots of fitted rankers."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.mark.parametrize("kind", [rerank.LambdaMART, rerank.RankBoost, rerank.RankSVM])
def test_importance_is_plotted_for_the_best_features(kind, train) -> None:
    model = kind(**{"n_estimators": 5} if "n_estimators" in kind().get_params() else {}).fit(train)
    axes = rerank.plot_importance(model, max_num_features=3)
    best = np.argsort(model.feature_importances_, kind="stable")[-3:]
    assert [bar.get_width() for bar in axes.patches] == model.feature_importances_[best].tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == [model.feature_names_[k] for k in best]
    assert rerank.plot_importance(model, ax=axes) is axes


def test_metric_is_plotted_by_iteration(train, valid) -> None:
    model = rerank.LambdaMART(n_estimators=5, metric="AP").fit(train, eval_set=valid)
    axes = rerank.plot_metric(model)
    assert axes.lines[0].get_ydata().tolist() == model.evals_result_["valid"]["AP"]
    assert axes.lines[1].get_xdata()[0] == model.best_iteration_
    assert axes.get_ylabel() == "AP"


def test_plots_that_cannot_be_are_refused(train) -> None:
    model = rerank.RankNet(n_epochs=1, hidden_units=2).fit(train)
    with pytest.raises(InvalidInputError, match="model: expected one with feature_importances_, got RankNet"):
        rerank.plot_importance(model)
    with pytest.raises(InvalidInputError, match="model: expected one trained with validation data, got none"):
        rerank.plot_metric(model)
    for plot in (rerank.plot_importance, rerank.plot_metric):
        with pytest.raises(InvalidInputError, match="LambdaMART: expected a fitted model"):
            plot(rerank.LambdaMART())
        with pytest.raises(InvalidInputError, match="model: expected a ranker, got int"):
            plot(3)
