"""Rankers as estimators of scikit-learn, which is imported by these tests and not by the package."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from rerank.errors import InvalidInputError
from rerank.rankers.ensemble import Ensemble
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import known_rankers, ranker_class
from tests.rankers.conftest import ranking_data

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils import get_tags  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

OWN_WORDS = "the error is raised, in this package's words"
EXPECTED_FAILURES = {
    "check_complex_data": OWN_WORDS,
    "check_dtype_object": OWN_WORDS,
    "check_estimators_empty_data_messages": OWN_WORDS,
    "check_fit2d_1sample": OWN_WORDS,
    "check_n_features_in_after_fitting": "ModelMismatchError, which is no ValueError, names the missing features",
    "check_requires_y_none": OWN_WORDS,
}
SMALL = {
    "n_estimators": 3,
    "max_iter": 10,
    "n_epochs": 2,
    "hidden_units": 4,
    "n_folds": 2,
    "members": "lambdamart(n_estimators=2), logisticregression(max_iter=5)",
}
DATA = ranking_data(3, n_queries=24)
QID = np.repeat(np.arange(len(DATA)), np.diff(DATA.query_ptr))
X, Y = np.nan_to_num(DATA.X), DATA.labels


class TwoQueries:
    """A ranker for checks that pass no queries: the rows are divided into two."""

    def fit(self, X: Any, y: Any = None, **arguments: Any) -> Any:
        return super().fit(X, y, **_with_queries(y, arguments))  # type: ignore[misc]

    def score(self, X: Any, y: Any = None, **arguments: Any) -> Any:
        return super().score(X, y, **_with_queries(y, arguments))  # type: ignore[misc]


def _with_queries(y: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return arguments if y is None else {"qid": 2 * np.arange(len(y)) // max(len(y), 1), **arguments}


for _name, _kind in known_rankers().items():  # module attributes, so that pickle finds them
    globals()[f"TwoQueries_{_name}"] = type(f"TwoQueries_{_name}", (TwoQueries, _kind), {"__module__": __name__})


def _small(kind: type[Ranker]) -> Ranker:
    known = kind().get_params()
    return kind(**{name: value for name, value in SMALL.items() if name in known})


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.slow("9 s: scikit-learn's checks")
@pytest.mark.parametrize("name", ["ensemble", "lambdamart", "lambdarank", "logisticregression", "rankboost", "ranksvm"])
def test_ranker_passes_the_checks_of_scikit_learn(name: str, caplog) -> None:
    caplog.set_level(logging.CRITICAL, logger="rerank")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(_small(globals()[f"TwoQueries_{name}"]), on_fail=None, on_skip=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert {check: error for check, error in failed.items() if check not in EXPECTED_FAILURES} == {}
    assert sum(result["status"] == "passed" for result in results) > 30


@pytest.mark.parametrize("name", known_rankers())
def test_clone_and_pickle_keep_what_they_should(name: str) -> None:
    model = _small(ranker_class(name)).fit(X, Y, qid=QID)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "base_")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_search_without_requests_says_how_queries_are_passed_on() -> None:
    search = GridSearchCV(_small(LambdaMART), {"num_leaves": [4]}, cv=GroupKFold(2), refit=False)
    with pytest.warns(UserWarning, match=r"set_fit_request\(qid=True\)\.set_score_request\(qid=True\)"):
        search.fit(X, Y, qid=QID, groups=QID)


def test_clone_keeps_a_fitted_base_and_requests_and_copies_members(routing) -> None:
    base = _small(LambdaMART).fit(X, Y, qid=QID)
    model = LambdaMART(base=base, n_estimators=2).set_fit_request(qid=True)
    copy = clone(model)
    assert copy.base is base
    assert copy.get_metadata_routing().fit.requests["qid"] is True
    copy.set_fit_request(qid=False)
    assert model.get_metadata_routing().fit.requests["qid"] is True
    np.testing.assert_array_equal(copy.fit(X, Y, qid=QID).predict(X), model.fit(X, Y, qid=QID).predict(X))
    ensemble = Ensemble([LambdaMART()])
    assert clone(ensemble).members[0] is not ensemble.members[0]


def test_cross_validation_passes_the_queries_on(routing) -> None:
    model = LambdaMART(n_estimators=5).set_fit_request(qid=True).set_score_request(qid=True)
    scores = cross_val_score(model, X, Y, cv=GroupKFold(3), params={"qid": QID, "groups": QID})
    assert scores.shape == (3,)
    for (train, test), score in zip(GroupKFold(3).split(X, Y, QID), scores, strict=True):
        own = LambdaMART(n_estimators=5).fit(X[train], Y[train], qid=QID[train])
        assert own.score(X[test], Y[test], qid=QID[test]) == score


def test_grid_search_finds_the_best_parameters(routing) -> None:
    model = LambdaMART(n_estimators=8).set_fit_request(qid=True).set_score_request(qid=True)
    grid = {"num_leaves": [2, 8], "min_child_samples": [5, 10**6]}
    search = GridSearchCV(model, grid, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    assert search.best_params_["min_child_samples"] == 5
    assert search.best_score_ > search.cv_results_["mean_test_score"].min()
    assert search.predict(X).shape == Y.shape
    with pytest.raises(InvalidInputError, match=r"expected a known parameter, got 'num_leafs'. Did you mean 'num_leav"):
        GridSearchCV(model, {"num_leafs": [2]}, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)


def test_pipeline_passes_the_queries_on(routing) -> None:
    model = LambdaMART(n_estimators=4).set_fit_request(qid=True).set_score_request(qid=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y, qid=QID)
    assert 0.0 < pipeline.score(X, Y, qid=QID) <= 1.0


def test_requests_are_refused_for_unknown_arguments_and_without_routing(routing) -> None:
    with pytest.raises(TypeError, match=r"LambdaMART\.set_fit_request: expected a known parameter, got 'qjd'. Did you"):
        LambdaMART().set_fit_request(qjd=True)
    with (
        sklearn.config_context(enable_metadata_routing=False),
        pytest.raises(RuntimeError, match="set_score_request: expected metadata routing to be enabled"),
    ):
        LambdaMART().set_score_request(qid=True)


def test_tags_say_what_is_taken() -> None:
    tags = get_tags(LambdaMART())
    assert (tags.input_tags.sparse, tags.input_tags.allow_nan, tags.target_tags.required) == (True, True, True)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_sparse_features_give_the_same_model(kind) -> None:
    sparse = LambdaMART(n_estimators=3).fit(kind(X), Y, qid=QID, eval_set=(kind(X), Y, QID))
    dense = LambdaMART(n_estimators=3).fit(X, Y, qid=QID, eval_set=(X, Y, QID))
    np.testing.assert_array_equal(sparse.predict(kind(X)), dense.predict(X))
    assert sparse.score(kind(X), Y, qid=QID) == dense.score(X, Y, qid=QID)


def test_unfitted_ranker_is_known_as_such() -> None:
    model = LambdaMART(n_estimators=2)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for error in (NotFittedError, InvalidInputError):
        with pytest.raises(error, match="LambdaMART: expected a fitted model"):
            model.predict(X)
    assert not hasattr(model, "feature_importances_")
    check_is_fitted(model.fit(X, Y, qid=QID))


@pytest.mark.slow("3 s: processes")
def test_package_trains_and_predicts_without_scikit_learn() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import numpy as np, rerank\n"
        "X = np.random.default_rng(0).normal(size=(80, 3)); y = (X[:, 0] > 0).astype(int); qid = np.arange(80) // 10\n"
        "model = rerank.Ensemble('lambdamart(n_estimators=2), logisticregression', n_folds=2).fit(X, y, qid=qid)\n"
        "assert model.score(X, y, qid=qid) > 0.5\n"
        "from rerank.training.tuning import search_space\n"
        "assert len(search_space(rerank.LambdaMART())) > 4\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_set_params_replaces_an_estimator_before_its_parameters() -> None:
    base = LambdaMART(num_leaves=5)
    ranker = LambdaMART().set_params(base__num_leaves=7, base=base)
    assert ranker.base is base
    assert base.num_leaves == 7
    with pytest.raises(InvalidInputError, match=r"base__C: expected an estimator as base, got 'run'\. Set base\."):
        LambdaMART(base="run").set_params(base__C=1.0)
