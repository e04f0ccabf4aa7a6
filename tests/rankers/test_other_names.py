from __future__ import annotations

import inspect

import pytest

import rerank
from rerank.errors import UnknownParameterError
from rerank.rankers.other_names import ELSEWHERE, SAME
from rerank.rankers.registry import known_rankers


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        (
            "objective",
            "lambdarank",
            "The objective is the measure: metric=, e.g. 'nDCG@10'; another loss is another ranker",
        ),
        ("eval_at", [5], "The cut-off is part of the measure: metric='nDCG@5' in place of eval_at=5."),
        ("label_gain", [0, 1, 3], "Gains are part of the measure: metric=\"nDCG(dcg='exp-log2')@10\" has LightGBM's"),
        ("verbose", -1, r"What is logged follows Python's logging (logging.getLogger('rerank')): leave it out."),
        ("verbosity", -1, "What is logged follows"),
        ("n_iter_no_change", 5, "Its name here is early_stopping_rounds."),
        ("boosting_type", "gbdt", "Trees are boosted as gbdt"),
        ("importance_type", "gain", "feature_importances_ are total gains, as importance_type='gain': leave it out."),
        ("callbacks", [], "Pass it to fit: fit(..., callbacks=[function])."),
        ("eta", 0.1, "Its name here is learning_rate."),
        ("tree_method", "hist", "Trees grow by leaves on bins, on the CPU: leave it out."),
        ("n_round", 10, "Its name here is n_estimators."),
        ("num_leafs", 10, "Did you mean 'num_leaves'?"),
    ],
)
def test_unknown_parameters_of_other_libraries_say_what_to_use_here(name: str, value: object, hint: str) -> None:
    with pytest.raises(UnknownParameterError) as raised:
        rerank.LambdaMART(**{name: value})
    message = str(raised.value)
    assert message.startswith(f"LambdaMART: expected a known parameter, got '{name}'. {hint}")
    assert "\n" not in message
    with pytest.raises(UnknownParameterError, match="expected a known parameter"):
        rerank.LambdaMART().set_params(**{name: value})


def test_hints_name_what_there_is() -> None:
    parameters = {name for kind in known_rankers().values() for name in inspect.signature(kind).parameters}
    assert set(SAME) <= parameters
    names = [name for text in (*SAME.values(), *ELSEWHERE) for name in text.split()]
    assert sorted(names) == sorted(set(names))
    known = set(inspect.signature(rerank.LambdaMART).parameters)
    assert not known & set(names)
    with pytest.raises(UnknownParameterError, match=r"got 'num_boost_round'\. Known: C, base"):
        rerank.RankSVM(num_boost_round=3)  # a ranker without trees


def test_lightgbms_own_parameters_are_known_or_have_a_hint() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    for name in inspect.signature(lightgbm.LGBMRanker).parameters:
        if name == "kwargs" or name in inspect.signature(rerank.LambdaMART).parameters:
            continue
        with pytest.raises(UnknownParameterError) as raised:
            rerank.LambdaMART(**{name: None})
        assert "Did you mean" not in str(raised.value)
        assert "Known:" not in str(raised.value)


def test_measures_that_hints_name_are_measures() -> None:
    for name in ("nDCG(dcg='exp-log2')@10", "nDCG@5"):
        model = rerank.LambdaMART(metric=name).fit([[1.0], [2.0]] * 4, [0, 1] * 4, qid=[1, 1, 2, 2, 3, 3, 4, 4])
        assert model.metric == name
