"""The codec of dataclasses: values come back as they were, faults are named by their path."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import numpy as np
import pytest

from rerank.runtime.codec import plain, restored
from rerank.runtime.fields import Array, SchemaError, Whole
from rerank.types import Floats, Ints

Number = TypeVar("Number")


class Alias(Generic[Number]):
    """What NDArray is in NumPy 2.5: a name with the type of the numbers as its one argument."""


@dataclass(frozen=True, eq=False)
class Inner:
    values: Annotated[Floats, Array(low=0.0)]
    numbers: Ints


@dataclass(frozen=True, eq=False)
class Outer:
    name: str
    share: float
    count: Annotated[int, Whole(1, 9)]
    parts: list[Inner]
    tables: dict[str, dict[str, float]]
    inner: Inner | None = None

    def check(self) -> None:
        if len(self.parts) > 2:
            raise SchemaError("up to 2 parts", str(len(self.parts)), path="parts")


def example() -> Outer:
    part = Inner(np.array([0.1, 2.0]), np.array([3, -4]))
    return Outer("a", 0.5, 3, [part, part], {"x": {"y": 1.5}}, part)


def test_dataclass_comes_back_with_the_types_of_its_annotations() -> None:
    again = restored(Outer, json.loads(json.dumps(plain(example()))))
    assert plain(again) == plain(example())
    assert again.parts[1].numbers.dtype == np.int64
    assert again.inner.values.dtype == np.float64


def test_arrays_are_read_where_numpys_annotation_has_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.runtime.codec._ARRAY", Alias)  # as with NumPy 2.5 on Python 3.12
    assert restored(Alias[np.float64], [1, 2.5]).dtype == np.float64


def test_field_with_a_default_may_be_missing() -> None:
    stored = plain(example())
    del stored["inner"]
    assert restored(Outer, stored).inner is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "name: expected text"),
        ({"count": 10}, "count: expected 1 to 9, got 10"),
        ({"share": True}, "share: expected a number"),
        ({"parts": [{"values": [0.5, -1.0], "numbers": []}]}, r"parts\[0\]\.values\[1\]: expected a number from 0"),
        ({"parts": [{"values": [], "numbers": [0.5]}]}, r"parts\[0\]\.numbers\[0\]: expected a whole number, got 0\.5"),
        ({"tables": {"x": {"y": "z"}}}, r"tables\.x\.y: expected a number"),
        ({"inner": []}, "inner: expected an object"),
        ({"more": 1}, "expected keys name, share, count"),
        ({"parts": [plain(example())["inner"]] * 3}, "parts: expected up to 2 parts, got 3"),
    ],
)
def test_fault_is_named_by_its_path(change: dict, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        restored(Outer, {**plain(example()), **change})


def test_numpys_scalars_are_plain_numbers() -> None:
    values = plain({"n": np.int64(3), "x": [np.float32(0.5), np.bool_(True)], "of": np.array(2)})
    assert json.dumps(values) == '{"n": 3, "x": [0.5, true], "of": 2}'
