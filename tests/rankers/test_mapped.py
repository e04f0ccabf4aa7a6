"""Training from features in a memory-mapped file: the same model as in memory, byte for byte."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rerank.errors import InvalidInputError, UnknownParameterError
from rerank.rankers.registry import ranker_class
from rerank.rankers.training_context import TrainingContext, parse_bytes
from rerank.runtime.mapped_rows import RowFile
from rerank.types import RankingData

SMALL = {"n_estimators": 12, "num_leaves": 8, "n_jobs": 2}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cold": ("lambdamart", {}),
    "drawn": ("lambdamart", {"subsample": 0.6, "colsample_bytree": 0.6}),
    "line search": ("lambdamart", {"step": "line-search"}),
    "from a run": ("lambdamart", {"base": "run"}),
    "drawn by gradient": ("lambdamart", {"data_sample_strategy": "mvs", "subsample": 0.4}),
    "from a feature": ("lambdamart", {"base": "feature:f0", "subsample": 0.7}),
    "least squares": ("mart", {"split": "least-squares"}),
    "averaged": ("gbrank", {"subsample": 0.6}),
    "not trees": ("ranksvm", {}),
    "weak rankers": ("rankboost", {}),
}


def mapped(data: RankingData) -> RankingData:
    """Return the data with features in a memory-mapped file."""
    file = RowFile("rows")
    for block in np.array_split(data.X, 7):
        file.append(block)
    return replace(data, X=file.finish(data.n_features))


def _model(name: str, **parameters: Any) -> Any:
    learner = ranker_class(name)
    known = {key: value for key, value in SMALL.items() if key in learner.parameter_fields}
    return learner(**known, **parameters)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("watched", [True, False])
def test_model_of_mapped_data_equals_that_in_memory(variant: str, watched: bool, train, valid) -> None:
    name, parameters = VARIANTS[variant]
    valid = replace(valid, X=valid.X.copy())
    valid.X[::3, 0] = 50.0
    if parameters.get("base") != "feature:f0":
        valid.X[::5, 0] = np.nan  # missing where no training row is
    here = _model(name, **parameters).fit(train, eval_set=valid if watched else None)
    there = _model(name, **parameters).fit(mapped(train), eval_set=mapped(valid) if watched else None)
    assert here.to_dict() == there.to_dict()


def test_warm_start_from_a_model_of_fewer_features_reads_mapped_data(train) -> None:
    columns = [3, 0, 1]
    names = tuple(train.feature_names[column] for column in columns)
    inner = _model("mart").fit(replace(train, X=np.ascontiguousarray(train.X[:, columns]), feature_names=names))
    here, there = (_model("lambdamart", base=inner).fit(data) for data in (train, mapped(train)))
    assert here.to_dict() == there.to_dict()
    np.testing.assert_array_equal(here.predict(train), there.predict(mapped(train)))


def test_model_does_not_depend_on_the_memory(train, valid) -> None:
    free = _model("lambdamart").fit(train, eval_set=valid)
    capped = _model("lambdamart").fit(mapped(train), eval_set=mapped(valid), memory="6GB")
    assert free.to_dict() == capped.to_dict()


def test_memory_that_is_too_little_is_refused_with_what_is_needed(train) -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"^memory: expected at least \d+MB for [\d,]+ rows x 8 features .*, got 1,000,000 bytes",
    ):
        _model("lambdamart").fit(train, memory="1MB")


def test_memory_is_refused_by_a_ranker_without_trees(train) -> None:
    with pytest.raises(UnknownParameterError, match=r"^memory: expected a ranker of boosted trees, got RankSVM"):
        _model("ranksvm").fit(train, memory="1GB")


@pytest.mark.parametrize(
    ("size", "n_bytes"), [(7, 7), ("4GB", 4 * 10**9), ("1.5 GiB", 3 << 29), ("200mb", 200 * 10**6), ("12", 12)]
)
def test_sizes_are_read(size: Any, n_bytes: int) -> None:
    assert parse_bytes(size) == n_bytes


@pytest.mark.parametrize("size", ["", "GB", "-1GB", "4 parsecs", "0MB", True, None, 1.5, "1e9", "nan"])
def test_other_sizes_are_refused(size: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^memory: expected a size such as 4GB"):
        parse_bytes(size)


def test_plan_maps_rows_that_do_not_fit_and_refuses_what_cannot_be_mapped() -> None:
    size, codes = (10_000_000, 136, 0, 31), 10_000_000 * 144
    with pytest.raises(InvalidInputError, match="10,000,000 rows x 136 features") as error:
        TrainingContext(memory=1, resident=200_000_000).storage(*size)
    least = int(re.search(r"\(([\d,]+) bytes\)", str(error.value))[1].replace(",", ""))

    def is_mapped(memory: int | None) -> bool:
        return TrainingContext(memory=memory, resident=200_000_000).storage(*size).mapped

    assert not is_mapped(None)
    assert not is_mapped(least + codes)
    assert is_mapped(least + codes - 1)
    assert is_mapped(least)
    with pytest.raises(InvalidInputError, match="10,000,000 rows x 136 features"):
        is_mapped(least - 1)
