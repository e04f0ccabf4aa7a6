"""Lucene's one-byte lengths, idf, vector norms."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import numpy as np
import pytest

from rerank.features.statistics import cached_by_field, inverse_document_frequency, lucene_lengths, vector_norms
from rerank.types.forward import FieldArrays
from tests.features.collection import forward_index
from tests.oracles.features import lucene_length


def test_lucene_lengths_equal_small_float() -> None:
    near_steps = [2**power + offset for power in range(5, 31) for offset in (-1, 0, 1, 23, 24, 25)]
    lengths = np.array([*range(5000), *near_steps, 2**31 - 1], dtype=np.int32)
    assert lucene_lengths(lengths).tolist() == [lucene_length(length) for length in lengths.tolist()]


def test_lucene_lengths_are_exact_up_to_forty() -> None:
    lengths = np.arange(43, dtype=np.int32)
    assert lucene_lengths(lengths).tolist() == [*range(41), 40, 42]


def test_idf_is_zero_when_no_document_holds_the_term() -> None:
    assert inverse_document_frequency([0, 3], 3).tolist() == [0.0, pytest.approx(np.log(1 + 0.5 / 3.5))]


def test_what_is_kept_with_a_field_is_computed_once_when_threads_ask_at_once() -> None:
    field, asked = forward_index({"d1": {"title": ["a"]}}).fields["title"], Barrier(4)
    computed = []

    @cached_by_field
    def slowly(field: FieldArrays) -> object:
        computed.append(field)
        sleep(0.05)
        return object()

    def ask(_: int) -> object:
        asked.wait()
        return slowly(field)

    with ThreadPoolExecutor(4) as pool:
        assert len(set(map(id, pool.map(ask, range(4))))) == 1
    assert computed == [field]


def test_vector_norms_are_kept_with_the_field() -> None:
    field = forward_index({"d1": {"title": ["a", "a", "b"]}, "d2": {"title": []}}).fields["title"]
    norms = vector_norms(field)
    assert norms.tolist() == [pytest.approx(np.log(1 + 0.5 / 1.5) * np.sqrt(5)), 0.0]
    assert vector_norms(field) is norms
