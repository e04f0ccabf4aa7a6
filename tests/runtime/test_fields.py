"""Arrays of stored numbers: what does not fit its type is refused, whatever its size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from rerank.runtime.fields import Array, Field, Number, SchemaError, Whole

EXTREMES = (
    0,
    1,
    -1,
    2**31 - 1,
    2**31,
    -(2**31),
    -(2**31) - 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    10**30,
    10**400,
    -(10**400),
)
NUMBERS = st.one_of(
    st.sampled_from(EXTREMES), st.integers(), st.floats(), st.booleans(), st.text(max_size=2), st.none()
)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
@given(values=st.lists(NUMBERS, max_size=4))
def test_array_is_read_exactly_or_refused(dtype: Any, values: list[Any]) -> None:
    try:
        array = Array(dtype).read(values)
    except SchemaError:
        return
    assert array.dtype == dtype
    assert np.isfinite(array).all()
    expected = np.array(values, dtype=np.float64 if array.dtype.kind == "f" else object)
    np.testing.assert_array_equal(array, expected.astype(dtype))
    if array.dtype.kind == "i":
        assert array.tolist() == values


@pytest.mark.parametrize("field", [Array(), Number(), Whole(0, 10)])
@given(values=st.lists(NUMBERS, max_size=4), many=st.booleans())
def test_field_is_read_or_refused_when_a_number_is_extreme(field: Field, values: list[Any], many: bool) -> None:
    value = values if many or not values else values[0]
    try:
        read = field.read(value)
    except SchemaError:
        return
    np.testing.assert_array_equal(np.array(read, dtype=np.float64), np.array(value, dtype=np.float64))
