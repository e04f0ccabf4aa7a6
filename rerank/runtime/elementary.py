"""exp, logarithms, dot products and random bits, the same on every CPU, for what goes into models, features and runs.

NumPy, LLVM and the C library choose algorithms by CPU type, whose last digits differ. The functions below use only
additions, multiplications and divisions of float64, in a fixed order, and are less than 1 ulp from the true value.
Their limits are exact: overflow is infinity, underflow goes through the subnormal numbers to 0, the logarithm of 0 is
-inf, and the logarithm of a negative number is NaN.

Kernels of every file call `exp`, `log`, `log1p`, `log2`, `dot` and `random_bits`; Python calls the functions named
array_*. Numba's cache does not notice changes of this file: after a change, all caches have to be deleted.
`tests/runtime/test_elementary.py` has digests of the results.

`rerank.runtime.arithmetic` has exp and log2 for Python without Numba, and names the source of the methods.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from rerank.runtime import arithmetic
from rerank.runtime.arithmetic import (
    BIAS,
    FRACTION,
    FRACTION_BITS,
    L1,
    L2,
    L3,
    L4,
    L5,
    L6,
    L7,
    LN2_HIGH,
    LN2_LOW,
    ONE,
    SQRT_HALF,
    Floats,
)
from rerank.runtime.kernels import helper, kernel
from rerank.runtime.llvm import LANES32, lane_sum, load, same

_LEAST_NORMAL = 2.0**-1022
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_exp = helper()(arithmetic.exp)
_log2 = helper()(arithmetic.log2)


@helper()
def exp(x):
    """Return e^x of a float64."""
    near = x if x < 710.0 else 710.0  # e^710 is infinite; also in place of NaN, which the last line returns
    result = _exp(near if near > -746.0 else -746.0)  # e^-746 is 0
    return result if x == x else x


@helper()
def _reduced(x):
    """Return (k, f) with x = 2^k (1 + f) of a positive normal x, 1 + f from sqrt(1/2) to sqrt(2)."""
    bits = np.float64(x).view(np.int64) + (ONE - SQRT_HALF)
    power = (bits >> FRACTION_BITS) - BIAS
    return power, np.int64((bits & FRACTION) + SQRT_HALF).view(np.float64) - 1.0


@helper()
def _remainder(f):
    """Return log(1 + f) - f + f^2 / 2 for an f that `_reduced` returns."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = z * (L1 + w * (L3 + w * (L5 + w * L7)))
    even = w * (L2 + w * (L4 + w * L6))
    return s * (0.5 * f * f + (even + odd))


@helper()
def _limit(x):
    """Return the logarithm of 0, infinity, NaN or a negative number."""
    return -np.inf if x == 0.0 else (x if x > 0.0 or x != x else np.nan)


@helper()
def log(x):
    """Return the natural logarithm of a float64."""
    if not 0.0 < x < np.inf:
        return _limit(x)
    power, f = _reduced(x if x >= _LEAST_NORMAL else x * 2.0**54)
    whole = np.float64(power if x >= _LEAST_NORMAL else power - np.int64(54))
    return _remainder(f) + whole * LN2_LOW - 0.5 * f * f + f + whole * LN2_HIGH


@helper()
def log1p(x):
    """Return log(1 + x) of a float64."""
    if not -1.0 < x < np.inf:
        return _limit(x + 1.0)
    total = 1.0 + x
    power, f = _reduced(total)
    lost = 0.0  # what the result lacks because 1 + x was rounded
    if power == 0:
        f = x
    elif power < 54:
        lost = (1.0 - (total - x) if power >= 2 else x - (total - 1.0)) / total
    whole = np.float64(power)
    return _remainder(f) + (whole * LN2_LOW + lost) - 0.5 * f * f + f + whole * LN2_HIGH


@helper()
def log2(x):
    """Return the logarithm to base 2 of a float64, exact for powers of 2."""
    if not 0.0 < x < np.inf:
        return _limit(x)
    return _log2(x, 0.0) if x >= _LEAST_NORMAL else _log2(x * 2.0**54, -54.0)


@helper()
def dot(left, right):
    """Return the dot product of two vectors of float32, a float32."""
    whole = left.shape[0] // LANES32 * LANES32
    total = same(np.float32(0.0))
    for i in range(0, whole, LANES32):
        total = total + load(left, i) * load(right, i)
    result = lane_sum(total)
    for i in range(whole, left.shape[0]):
        result += left[i] * right[i]
    return result


@helper()
def random_bits(seed, number):
    """Return 64 random bits for a seed and a number, all uint64: output `number` of SplitMix64."""
    bits = seed + number * _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@kernel()
def _fill_exp(values, out):
    """Fill out (n,) float64 with e^x of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = exp(values[i])


@kernel()
def _fill_log(values, out):
    """Fill out (n,) float64 with the natural logarithms of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log(values[i])


@kernel()
def _fill_log1p(values, out):
    """Fill out (n,) float64 with log(1 + x) of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log1p(values[i])


@kernel()
def _fill_log2(values, out):
    """Fill out (n,) float64 with the logarithms to base 2 of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log2(values[i])


def _of_arrays(fill: Callable[[Floats, Floats], None]) -> Callable[[ArrayLike], Floats]:
    """Return the function of arrays of any shape whose values a kernel fills in."""

    def filled(values: ArrayLike) -> Floats:
        numbers = np.asarray(values, np.float64)
        out = np.empty(numbers.size)
        fill(np.ascontiguousarray(numbers).ravel(), out)
        return out.reshape(numbers.shape)

    return filled


array_exp = _of_arrays(_fill_exp)
array_log = _of_arrays(_fill_log)
array_log1p = _of_arrays(_fill_log1p)
array_log2 = _of_arrays(_fill_log2)


def softplus(values: ArrayLike) -> Floats:
    """Return log(1 + e^x) of each value, an array of their shape."""
    numbers = np.asarray(values, np.float64)
    total: Floats = np.maximum(numbers, 0.0) + array_log1p(array_exp(-np.abs(numbers)))
    return total
