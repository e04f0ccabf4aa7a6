"""User-defined measures."""

from __future__ import annotations

import numpy as np
import pytest

import rerank
from rerank.errors import InvalidInputError
from rerank.metrics.registry import parse_measure
from rerank.types import pointers
from tests.metrics.test_measures import joined, lists
from tests.oracles import measures as oracle


def average_precision(ranked_labels, ideal_labels) -> float:
    return oracle.ap(list(ranked_labels), list(ideal_labels))


class Satisfaction:
    def score(self, ranked_labels, ideal_labels) -> float:
        return oracle.rr(list(ranked_labels), list(ideal_labels), 5)


@pytest.mark.parametrize(("function", "name"), [(average_precision, "AP"), (Satisfaction(), "RR@5")])
def test_custom_measure_has_the_values_and_deltas_of_its_twin(function, name) -> None:
    ranked, twin, measure = joined(*lists(0, n_queries=12)), parse_measure(name), parse_measure(function)
    np.testing.assert_allclose(measure.scores(ranked), twin.scores(ranked), rtol=1e-12)
    sizes = np.diff(ranked.query_ptr)
    out_ptr = pointers(np.minimum(sizes, 7) * sizes)
    deltas, expected = np.empty(out_ptr[-1]), np.empty(out_ptr[-1])
    measure.fill_swap_deltas(ranked, deltas, out_ptr)
    twin.fill_swap_deltas(ranked, expected, out_ptr)
    np.testing.assert_allclose(deltas, expected, atol=1e-12)


def test_custom_measure_has_the_name_of_its_function_or_class() -> None:
    assert parse_measure(average_precision).name == "average_precision"
    assert parse_measure(Satisfaction()).name == "Satisfaction"


def test_custom_measure_evaluates_a_run() -> None:
    qrels, run = {"q": {"a": 1, "b": 2}}, {"q": {"c": 3.0, "a": 2.0}}
    assert rerank.evaluate(qrels, run, [average_precision])["average_precision"] == 0.25


@pytest.mark.parametrize("value", [None, "high", float("nan"), [1.0, 2.0]])
def test_custom_measure_that_gives_no_number_is_refused(value) -> None:
    with pytest.raises(InvalidInputError, match=r"expected a finite number from score\(ranked_labels, ideal_labels\)"):
        parse_measure(lambda ranked_labels, ideal_labels: value).score([1, 0], [1])


@pytest.mark.parametrize("value", [3, None, Satisfaction, object()])
def test_other_values_are_refused_as_measures(value) -> None:
    with pytest.raises(InvalidInputError, match="measure: expected a name such as 'nDCG@10', a measure, or a function"):
        parse_measure(value)
