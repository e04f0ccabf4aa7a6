"""Laws of every registered measure under swaps: |delta| as measured anew, and which way is up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ap import AP
from rerank.metrics.base import Measure
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.recomputed import fill_by_recomputing
from rerank.metrics.registry import parse_measure
from rerank.objectives.lambdarank import BlockLambdaRankObjective, LambdaRankObjective, lambdarank_for
from rerank.types import pointers
from tests.metrics.examples import EXAMPLES
from tests.metrics.test_measures import NAMES, joined, lists

DEPTHS = (1, 4, 100)
EVERY = sorted({*NAMES, *EXAMPLES})
TRAINABLE = [name for name in EVERY if parse_measure(name).trainable]


@dataclass(frozen=True)
class Swaps:
    """1,000 lists, some longer than every cutoff, and one list for each swap of ranks i < j of list `query`."""

    whole: RankedLists
    query: np.ndarray
    i: np.ndarray
    j: np.ndarray
    swapped: RankedLists


@pytest.fixture(scope="module")
def swaps() -> Swaps:
    short, long = lists(3, n_queries=900, longest=12), lists(4, n_queries=100, longest=30)
    ranked, ideal = (few + many for few, many in zip(short, long, strict=True))
    result, after, ideals = [], [], []
    for q, labels in enumerate(ranked):
        for i in range(len(labels)):
            for j in range(i + 1, len(labels)):
                one = labels.copy()
                one[[i, j]] = one[[j, i]]
                result.append((q, i, j))
                after.append(one)
                ideals.append(ideal[q])
    return Swaps(joined(ranked, ideal), *np.array(result).T, joined(after, ideals))


def deltas(measure: Measure, lists: RankedLists, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """All blocks, and where each begins."""
    sizes = np.diff(lists.query_ptr)
    out_ptr = pointers(np.minimum(sizes, depth) * sizes)
    out = np.full(out_ptr[-1], np.nan)
    swap = measure.swap_weights(lists)
    if swap is None:
        measure.fill_swap_deltas(lists, out, out_ptr)
        return out, out_ptr
    for q, (first, last) in enumerate(pairwise(lists.query_ptr.tolist())):
        gains, discounts = swap.gains[first:last], swap.discounts[: last - first]
        gaps = np.abs(np.subtract.outer(gains, gains) * np.subtract.outer(discounts, discounts))
        out[out_ptr[q] : out_ptr[q + 1]] = np.triu(gaps * swap.inverse_norms[q])[:depth].ravel()
    return out, out_ptr


def train(measure: Measure, lists: RankedLists) -> LambdaRankObjective | BlockLambdaRankObjective:
    rest = (np.ones(lists.n_queries), 1.0, 30, True)
    return lambdarank_for(measure, lists, *rest)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", TRAINABLE)
def test_swap_deltas_equal_recomputing_after_the_swap(name: str, depth: int, swaps: Swaps) -> None:
    measure = parse_measure(name)
    out, out_ptr = deltas(measure, swaps.whole, depth)
    change = np.abs(measure.scores(swaps.swapped) - measure.scores(swaps.whole)[swaps.query])
    n = np.diff(swaps.whole.query_ptr)[swaps.query]
    upper = swaps.i < depth
    result = out[(out_ptr[swaps.query] + swaps.i * n + swaps.j)[upper]]
    np.testing.assert_allclose(result, change[upper], rtol=0, atol=1e-12)
    assert not np.isnan(out).any()


@pytest.mark.parametrize("name", TRAINABLE)
def test_a_document_has_no_delta_with_itself_or_its_equal(name: str, swaps: Swaps) -> None:
    out, out_ptr = deltas(parse_measure(name), swaps.whole, 100)
    for q, (first, last) in enumerate(zip(swaps.whole.query_ptr[:-1], swaps.whole.query_ptr[1:], strict=True)):
        labels = swaps.whole.labels[first:last]
        block = out[out_ptr[q] : out_ptr[q + 1]].reshape(len(labels), len(labels))
        assert not block[np.equal.outer(labels, labels)].any()


@pytest.mark.parametrize("name", TRAINABLE)
def test_a_better_document_that_rises_never_lowers_a_measure(name: str, swaps: Swaps) -> None:
    measure = parse_measure(name)
    labels, first = swaps.whole.labels, swaps.whole.query_ptr[swaps.query]
    rises = labels[first + swaps.j] > labels[first + swaps.i]
    change = measure.scores(swaps.swapped) - measure.scores(swaps.whole)[swaps.query]
    assert change[rises].min() >= -1e-12


@pytest.mark.parametrize("name", EVERY)
def test_a_measure_can_be_trained_for_or_says_why_not(name: str, swaps: Swaps) -> None:
    measure = parse_measure(name)
    if not measure.trainable:
        with pytest.raises(InvalidInputError, match="expected a measure that can be trained for, got"):
            train(measure, swaps.whole)
    else:
        assert deltas(measure, swaps.whole, 100)[0].any()
        assert train(measure, swaps.whole)


@pytest.mark.parametrize("name", ["nDCG@5", "AP", "RR@3", "ERR@5", "PairAccuracy"])
def test_brute_force_equals_the_formula(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rerank.metrics.recomputed.LABELS_AT_ONCE", 50)
    whole, measure = joined(*lists(5, n_queries=40)), parse_measure(name)
    for depth in DEPTHS:
        out, out_ptr = deltas(measure, whole, depth)
        anew = np.full_like(out, np.nan)
        fill_by_recomputing(measure.scores, whole, anew, out_ptr)
        np.testing.assert_allclose(out, anew, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["AP", "RR", "ERR", "nERR", "AUC", "PairAccuracy"])
def test_swap_deltas_of_a_long_list_stay_exact(name: str) -> None:
    """Hundreds of relevant documents: the chance that a reader gets so far falls below the smallest number."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 5, 700).astype(float)
    whole = joined([labels], [np.sort(labels[labels > 0])[::-1]])
    measure = parse_measure(name)
    block = deltas(measure, whole, 700)[0].reshape(700, 700)
    for i, j in np.sort(random.integers(0, 700, (300, 2))):
        after = labels.copy()
        after[[i, j]] = after[[j, i]]
        change = abs(measure.score(after, whole.ideal_labels) - measure.score(labels, whole.ideal_labels))
        assert block[i, j] == pytest.approx(change, abs=1e-12)


class Judged(AP):
    """A measure that asks more than labels."""

    @property
    def trainable(self) -> bool:
        return False


def test_training_for_a_measure_that_asks_more_than_labels_is_refused(swaps: Swaps) -> None:
    with pytest.raises(InvalidInputError, match="expected a measure that can be trained for, got Judged, which needs"):
        train(Judged(), swaps.whole)
