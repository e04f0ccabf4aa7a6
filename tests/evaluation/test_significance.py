"""Tests and corrections against SciPy's, and intervals against its bootstrap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from rerank.errors import InvalidInputError
from rerank.evaluation.significance import (
    CORRECTIONS,
    TESTS,
    bootstrap_intervals,
    corrected,
    paired_differences,
    randomisation_p_values,
)
from rerank.types.intervals import percentile_shares


def differences(n_queries: int, n_columns: int = 3, seed: int = 0) -> np.ndarray:
    """Columns whose means differ from 0 by more and more; some queries are tied."""
    random = np.random.default_rng(seed)
    drawn = random.normal(size=(n_queries, n_columns)) + 0.15 * np.arange(n_columns)
    drawn[random.random(drawn.shape) < 0.2] = 0.0
    return drawn


def test_tests_equal_scipys() -> None:
    columns = differences(80)
    for column, actual in zip(columns.T, paired_differences(columns, samples=200), strict=True):
        expected = stats.ttest_rel(column, np.zeros(80))
        assert (actual.t, actual.p_values["t"]) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-12)
        assert actual.p_values["wilcoxon"] == stats.wilcoxon(column).pvalue
        assert actual.effect_size == pytest.approx(column.mean() / column.std(ddof=1), rel=1e-12)
        assert actual.difference == pytest.approx(column.mean())
        assert (actual.wins, actual.ties, actual.losses) == (
            (column > 0).sum(),
            (column == 0).sum(),
            (column < 0).sum(),
        )
        assert set(actual.p_values) == set(TESTS)


def wilcoxon_over_all_signs(column: np.ndarray) -> float:
    """Two-sided p-value: twice the smaller share of the signs whose positive ranks sum to as little, or as much."""
    changed = column[column != 0.0]
    ranks = stats.rankdata(np.abs(changed))
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign) for signs in product(*[(0, 1)] * len(ranks))
    ]
    observed = ranks[changed > 0.0].sum()
    return min(1.0, 2.0 * min(np.mean(np.array(sums) <= observed), np.mean(np.array(sums) >= observed)))


@pytest.mark.parametrize("n_queries", [1, 2, 3, 6, 9, 13])
def test_wilcoxon_of_few_queries_with_ties_equals_all_signs(n_queries: int) -> None:
    columns = np.round(differences(n_queries, seed=n_queries), 0)
    columns[0] = 1.0, -1.0, 2.0  # no column is 0
    for column, actual in zip(columns.T, paired_differences(columns, samples=2), strict=True):
        assert actual.p_values["wilcoxon"] == pytest.approx(wilcoxon_over_all_signs(column), rel=1e-12)


@pytest.mark.parametrize("n_queries", [14, 33, 50])
def test_wilcoxon_of_different_differences_equals_scipys_exact_test(n_queries: int) -> None:
    column = np.random.default_rng(n_queries).normal(0.2, size=(n_queries, 1))
    (found,) = paired_differences(column, samples=2)
    assert found.p_values["wilcoxon"] == pytest.approx(stats.wilcoxon(column[:, 0], method="exact").pvalue, rel=1e-12)


@pytest.mark.parametrize("n_unchanged", [42, 43, 100])  # 50, 51 and 108 queries, 50 being the most of the exact test
def test_wilcoxon_of_few_changed_queries_does_not_depend_on_the_unchanged_ones(n_unchanged: int) -> None:
    changed = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, -0.15])[:, None]
    (few,) = paired_differences(changed, samples=2)
    (all_of_them,) = paired_differences(np.vstack([changed, np.zeros((n_unchanged, 1))]), samples=2)
    assert all_of_them.p_values["wilcoxon"] == few.p_values["wilcoxon"]


@pytest.mark.parametrize("n_queries", [2, 5, 10, 13])
def test_randomisation_over_all_patterns_equals_scipys(n_queries: int) -> None:
    columns = np.round(differences(n_queries), 1)  # patterns that tie with the one observed
    actual = randomisation_p_values(columns)
    for column, p_value in zip(columns.T, actual, strict=True):
        expected = stats.permutation_test(
            (column,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
        )
        assert p_value == pytest.approx(expected.pvalue, abs=1e-12)


def test_randomisation_over_drawn_patterns_is_near_scipys() -> None:
    columns = differences(80)
    for column, p_value in zip(columns.T, randomisation_p_values(columns), strict=True):
        expected = stats.permutation_test(
            (column,), np.mean, permutation_type="samples", n_resamples=9999, vectorized=True, random_state=1
        ).pvalue
        assert p_value == pytest.approx(expected, abs=5 * np.sqrt(2 * expected * (1 - expected) / 9999) + 2e-4)


def test_randomisation_is_never_certain_where_patterns_are_drawn() -> None:
    assert randomisation_p_values(np.ones((100, 1)), samples=999)[0] == 1 / 1000


@pytest.mark.parametrize("n_queries", [7, 150])
def test_bootstrap_equals_scipys_of_the_same_draws(n_queries: int) -> None:
    columns = differences(n_queries)
    low, high = bootstrap_intervals(columns, samples=2000, seed=5)
    below, above = percentile_shares(n_queries)
    for number, column in enumerate(columns.T):
        expected = stats.bootstrap(
            (np.sort(column),),
            np.mean,
            n_resamples=2000,
            confidence_level=above - below,
            method="percentile",
            random_state=np.random.default_rng(5),
        ).confidence_interval
        assert (low[number], high[number]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_figures_do_not_depend_on_what_else_is_compared() -> None:
    columns = differences(300, 5)
    together, alone = paired_differences(columns, 500), paired_differences(columns[:, 3:4], 500)
    assert together[3].p_values == alone[0].p_values
    assert (together[3].low, together[3].high) == pytest.approx((alone[0].low, alone[0].high), abs=1e-14)


def test_order_of_queries_has_no_effect_and_that_of_systems_none_on_p_values() -> None:
    columns = differences(100)
    (low, high), p_values = bootstrap_intervals(columns, samples=500), randomisation_p_values(columns, 500)
    shuffled = np.random.default_rng(1).permutation(columns)
    assert np.array_equal(bootstrap_intervals(shuffled, samples=500), (low, high))
    assert randomisation_p_values(shuffled, 500).tolist() == p_values.tolist()
    assert randomisation_p_values(-columns, 500).tolist() == p_values.tolist()


def test_seed_decides_the_samples() -> None:
    columns = differences(100)
    assert paired_differences(columns, 500, seed=1) == paired_differences(columns, 500, seed=1)
    assert paired_differences(columns, 500, seed=1) != paired_differences(columns, 500, seed=2)


def test_equal_differences_tie_whatever_their_last_digits_are() -> None:
    """0.3 - 0.2, 0.6 - 0.5 and 0.1 - 0 are one rank, and no difference is none."""
    noisy = np.array([0.3 - 0.2, 0.6 - 0.5, 0.1, 0.2 - 0.3, 0.5 - 0.4, (0.1 + 0.2) - 0.3] * 5)
    (found,) = paired_differences(noisy[:, None])
    exact = np.round(noisy, 3)
    assert (found.wins, found.ties, found.losses) == (20, 5, 5)
    (same,) = paired_differences(exact[:, None])
    assert found.p_values["wilcoxon"] == same.p_values["wilcoxon"]
    (equal,) = paired_differences(np.array([0.3 - 0.2, 0.6 - 0.5, 0.1, 0.8 - 0.7, 0.9 - 0.8])[:, None])
    assert (equal.t, equal.p_values["t"]) == (np.inf, 0.0)


def test_equal_systems_do_not_differ() -> None:
    (result,) = paired_differences(np.zeros((5, 1)))
    assert (result.difference, result.t, result.effect_size, result.ties) == (0.0, 0.0, 0.0, 5)
    assert result.p_values == {"t": 1.0, "wilcoxon": 1.0, "randomisation": 1.0}


def test_a_constant_difference_has_no_variance_to_test_against() -> None:
    (result,) = paired_differences(np.full((8, 1), -0.25))
    assert (result.t, result.effect_size, result.p_values["t"]) == (-np.inf, -np.inf, 0.0)
    assert result.p_values["randomisation"] == 2 / 2**8
    assert (result.low, result.high) == (-0.25, -0.25)


def test_one_query_is_no_evidence() -> None:
    only = paired_differences(np.array([[0.3]]))[0]
    assert only.difference == pytest.approx(0.3)
    assert only.p_values == {"t": 1.0, "wilcoxon": 1.0, "randomisation": 1.0}


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "none"])
def test_corrections_leave_their_argument_as_it_is(correction: str) -> None:
    p_values = np.array([0.04, 0.01, 0.03])
    corrected(p_values, correction)
    assert p_values.tolist() == [0.04, 0.01, 0.03]


def test_holm_and_bonferroni_by_hand() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert corrected(p_values, "holm") == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert corrected(p_values, "bonferroni") == pytest.approx([0.04, 0.16, 0.12, 0.02])
    assert corrected(p_values, "bh") == pytest.approx(stats.false_discovery_control(p_values))
    assert corrected(p_values, "none") == p_values


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("seed", range(20))
def test_corrections_keep_order_and_bounds(correction: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    p_values = random.random(random.integers(1, 12)) ** 3
    result = np.array(corrected(p_values.tolist(), correction))
    assert ((result >= p_values) & (result <= 1.0)).all()
    assert (result <= np.array(corrected(p_values.tolist(), "bonferroni")) + 1e-15).all()
    assert (np.diff(result[np.argsort(p_values)]) >= 0).all()
    assert corrected([], correction) == []


def test_unknown_corrections_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"correction: expected a known name, got 'holms'\. Did you mean"):
        corrected([0.5], "holms")
