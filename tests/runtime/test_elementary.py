"""exp and the logarithms against the decimals of the standard library, and their bytes, which are those of all CPUs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from decimal import Context, Decimal

import numba
import numpy as np
import pytest

from rerank.runtime.arithmetic import exp2_of, log2_of
from rerank.runtime.elementary import array_exp, array_log, array_log1p, array_log2, random_bits, softplus
from rerank.types import Floats

EXACT = Context(prec=60, Emin=-(10**6), Emax=10**6)
TINY, LARGEST = 5e-324, float(np.finfo(np.float64).max)
# Whoever changes a digest deletes the caches of all kernels, which do not see changes of rerank.runtime.elementary.
DIGESTS = {
    "exp": "4f0f48056a4549a2bf9560917d9aa21c2e94e2a0a57d874fefc9e9c00de6abf6",
    "log": "4598f7b601640a2830db8e98ce28a4f56c33757515de75730526e0696fde1b03",
    "log1p": "af5b42c2b72d64b8448aa806539a23e3bf4d3fb3c786ba5ca9a94fb5e38254f3",
    "log2": "ea65d34260cb6d396a01482b99ba597dee7f9456b61d60cb1fa7149805285ef0",
}


def _exponents() -> Floats:
    random = np.random.default_rng(1)
    edges = [0.0, -0.0, TINY, -TINY, 1e-9, -1e-9, 709.78271289338397, -708.4, -745.13321910194110, 0.34657359027997264]
    return np.concatenate([edges, random.uniform(-745, 709.7, 3000), random.uniform(-3, 3, 3000)])


def _positives() -> Floats:
    random = np.random.default_rng(2)
    near_one = 1.0 + np.ldexp(random.uniform(-1, 1, 2000), random.integers(-53, -2, 2000))
    edges = [TINY, 2.0**-1022, LARGEST, 1.0, 0.7071067811865476, 1.4142135623730951, 2.0 / 3.0]
    return np.concatenate([edges, near_one, np.ldexp(random.uniform(1, 2, 4000), random.integers(-1074, 1024, 4000))])


def _above_minus_one() -> Floats:
    random = np.random.default_rng(3)
    small = np.ldexp(random.uniform(-1, 1, 3000), random.integers(-60, 1, 3000))
    return np.concatenate([[-1.0 + 2.0**-53, 0.5, -0.25, LARGEST, TINY], small, _positives()])


def _log2(value: Decimal) -> Decimal:
    return EXACT.divide(EXACT.ln(value), EXACT.ln(Decimal(2)))


def _log1p(value: Decimal) -> Decimal:
    return (
        EXACT.ln(EXACT.add(1, value)) if abs(value) > 1e-30 else EXACT.subtract(value, EXACT.multiply(value, value) / 2)
    )


FUNCTIONS: dict[str, tuple[Callable[..., Floats], Callable[[Decimal], Decimal], Callable[[], Floats]]] = {
    "exp": (array_exp, EXACT.exp, _exponents),
    "log": (array_log, EXACT.ln, _positives),
    "log1p": (array_log1p, _log1p, _above_minus_one),
    "log2": (array_log2, _log2, _positives),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_are_less_than_an_ulp_from_the_exact_value(name: str) -> None:
    function, exact, values = FUNCTIONS[name]
    points = values()[::4]
    errors = []
    for point, result in zip(points.tolist(), function(points).tolist(), strict=True):
        true = exact(Decimal(point))
        errors.append(abs(EXACT.subtract(Decimal(result), true)) / Decimal(math.ulp(float(true))))
    assert max(errors) < 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_elementary_functions_give_the_bytes_of_every_machine(name: str) -> None:
    function, _, values = FUNCTIONS[name]
    assert hashlib.sha256(function(values()).astype("<f8").tobytes()).hexdigest() == DIGESTS[name]


def test_elementary_functions_have_exact_limits() -> None:
    inf, nan = np.inf, np.nan
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(array_exp([inf, -inf, nan, 709.79, 1e300, -745.14, -1e300, 0.0]),
                                      [inf, 0.0, nan, inf, inf, 0.0, 0.0, 1.0])  # fmt: skip
    for logarithm in (array_log, array_log2):
        np.testing.assert_array_equal(
            logarithm([0.0, -0.0, inf, nan, -1.0, -inf, 1.0]), [-inf, -inf, inf, nan, nan, nan, 0.0]
        )
    np.testing.assert_array_equal(
        array_log1p([-1.0, inf, nan, -2.0, -inf, 0.0, 5e-324]), [-inf, inf, nan, nan, nan, 0.0, 5e-324]
    )
    np.testing.assert_array_equal(array_log2(np.ldexp(1.0, np.arange(-1074, 1024))), np.arange(-1074, 1024))


def test_random_bits_are_those_of_splitmix64() -> None:
    """The first outputs of Vigna's splitmix64.c for the seed 1234567."""
    bits = numba.njit(lambda seed, number: random_bits(seed, number))  # Python cannot call a helper
    first = [int(bits(np.uint64(1234567), np.uint64(number))) for number in range(1, 4)]
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_arrays_keep_their_shape() -> None:
    values = np.arange(1.0, 7.0).reshape(2, 3)
    np.testing.assert_array_equal(array_exp(values.T), array_exp(values).T)
    assert array_log(2.0).shape == ()
    for shape in ((), (0,), (1,), (1, 1), (2, 3)):  # one number is no array for NumPy's float64 before 2.4
        assert (log2_of(np.full(shape, 8.0)) == np.full(shape, 3.0)).shape == shape
        assert (exp2_of(np.full(shape, 3.0)) == np.full(shape, 8.0)).shape == shape


def test_softplus_is_the_logarithm_of_one_and_an_exponential() -> None:
    values = np.array([-800.0, -30.0, -1.0, 0.0, 1.0, 30.0, 800.0])
    np.testing.assert_allclose(softplus(values), np.logaddexp(0.0, values), rtol=1e-15)
