"""exp and logarithms that give the same bytes on every CPU, for what goes into models, features and runs.

NumPy, LLVM and the C library choose other algorithms by CPU type, whose last digits differ. The functions below take
additions, multiplications and divisions of float64 alone, in a fixed order, and are less than 1 ulp from the true
value; their limits are exact: overflow is infinity, underflow goes through the subnormal numbers to 0, and the
logarithm of 0 is -inf and that of a negative number NaN.

Kernels of every file call `exp`, `log`, `log1p` and `log2`; Python calls the functions named array_*. Numba's cache
does not see changes of this file, so that after one all caches have to be deleted; `tests/runtime/test_elementary.py`
has a digest of the results.

References
----------
The methods and constants are those of FreeBSD's msun: e_exp.c, e_log.c, s_log1p.c and e_log2.c.
Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro/SunSoft, a Sun Microsystems,
Inc. business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this
notice is preserved.

"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rerank.runtime.kernels import helper, kernel

Floats = NDArray[np.float64]
_INVERSE_LN2 = 1.44269504088896338700e00
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has 32 zero bits at its end
_INVERSE_HIGH, _INVERSE_LOW = 1.44269504072144627571e00, 1.67517131648865118353e-10  # of 1 / ln 2
_P1, _P2, _P3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_P4, _P5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_L1, _L2, _L3 = 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01
_L4, _L5, _L6 = 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01

_ROUNDER = 1.5 * 2.0**52  # x + _ROUNDER is rounded to an integer, which is in the last bits
_ROUNDER_BITS = np.float64(_ROUNDER).view(np.int64)
_LEAST_NORMAL = 2.0**-1022
_BIAS = np.int64(1023)
_FRACTION_BITS = np.int64(52)
_FRACTION = np.int64(2**52 - 1)
_HIGH = np.int64(-(2**32))  # the upper half of a float64
_SQRT_HALF = np.int64(0x3FE6A09E << 32)  # bits of the square root of 1/2, a little below it
_ONE = np.int64(0x3FF << 52)


@helper()
def exp(x):  # type: ignore[no-untyped-def]
    """Return e^x of a float64."""
    near = x if x < 710.0 else 710.0  # of which e^x is infinite; NaN, too, until the last line
    near = near if near > -746.0 else -746.0  # and here 0
    shifted = near * _INVERSE_LN2 + _ROUNDER
    power, whole = np.float64(shifted).view(np.int64) - _ROUNDER_BITS, shifted - _ROUNDER
    high, low = near - whole * _LN2_HIGH, whole * _LN2_LOW
    r = high - low
    rr = r * r
    c = r - rr * (_P1 + rr * (_P2 + rr * (_P3 + rr * (_P4 + rr * _P5))))
    result = 1.0 + (r * c / (2.0 - c) - low + high)
    half = power >> np.int64(1)  # 2^power may be out of range where the result is not
    result *= np.int64((half + _BIAS) << _FRACTION_BITS).view(np.float64)
    result *= np.int64((power - half + _BIAS) << _FRACTION_BITS).view(np.float64)
    return result if x == x else x


@helper()
def _reduced(x):  # type: ignore[no-untyped-def]
    """Return (k, f) with x = 2^k (1 + f) of a positive normal x, 1 + f from sqrt(1/2) to sqrt(2)."""
    bits = np.float64(x).view(np.int64) + (_ONE - _SQRT_HALF)
    power = (bits >> _FRACTION_BITS) - _BIAS
    return power, np.int64((bits & _FRACTION) + _SQRT_HALF).view(np.float64) - 1.0


@helper()
def _remainder(f):  # type: ignore[no-untyped-def]
    """Return log(1 + f) - f + f^2 / 2 of an f that `_reduced` returns."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd, even = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7))), w * (_L2 + w * (_L4 + w * _L6))
    return s * (0.5 * f * f + (even + odd))


@helper()
def _limit(x):  # type: ignore[no-untyped-def]
    """Return the logarithm of 0, infinity, NaN or a negative number."""
    return -np.inf if x == 0.0 else (x if x > 0.0 or x != x else np.nan)


@helper()
def log(x):  # type: ignore[no-untyped-def]
    """Return the natural logarithm of a float64."""
    if not 0.0 < x < np.inf:
        return _limit(x)
    power, f = _reduced(x if x >= _LEAST_NORMAL else x * 2.0**54)
    whole = np.float64(power if x >= _LEAST_NORMAL else power - np.int64(54))
    return _remainder(f) + whole * _LN2_LOW - 0.5 * f * f + f + whole * _LN2_HIGH


@helper()
def log1p(x):  # type: ignore[no-untyped-def]
    """Return log(1 + x) of a float64."""
    if not -1.0 < x < np.inf:
        return _limit(x + 1.0)
    total = 1.0 + x
    power, f = _reduced(total)
    lost = 0.0  # what rounding 1 + x took from the result
    if power == 0:
        f = x
    elif power < 54:
        lost = (1.0 - (total - x) if power >= 2 else x - (total - 1.0)) / total
    whole = np.float64(power)
    return _remainder(f) + (whole * _LN2_LOW + lost) - 0.5 * f * f + f + whole * _LN2_HIGH


@helper()
def log2(x):  # type: ignore[no-untyped-def]
    """Return the logarithm to base 2 of a float64, exact for powers of 2."""
    if not 0.0 < x < np.inf:
        return _limit(x)
    power, f = _reduced(x if x >= _LEAST_NORMAL else x * 2.0**54)
    whole = np.float64(power if x >= _LEAST_NORMAL else power - np.int64(54))
    half_square = 0.5 * f * f
    high = np.int64(np.float64(f - half_square).view(np.int64) & _HIGH).view(np.float64)
    low = f - high - half_square + _remainder(f)
    large, small = high * _INVERSE_HIGH, (low + high) * _INVERSE_LOW + low * _INVERSE_HIGH
    total = whole + large
    return small + (whole - total + large) + total


@kernel()
def _fill_exp(values, out):  # type: ignore[no-untyped-def]
    """Fill out (n,) float64 with e^x of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = exp(values[i])


@kernel()
def _fill_log(values, out):  # type: ignore[no-untyped-def]
    """Fill out (n,) float64 with the natural logarithms of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log(values[i])


@kernel()
def _fill_log1p(values, out):  # type: ignore[no-untyped-def]
    """Fill out (n,) float64 with log(1 + x) of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log1p(values[i])


@kernel()
def _fill_log2(values, out):  # type: ignore[no-untyped-def]
    """Fill out (n,) float64 with the logarithms to base 2 of values (n,) float64."""
    for i in range(values.shape[0]):
        out[i] = log2(values[i])


def array_exp(values: ArrayLike) -> Floats:
    """Return e^x of each value, an array of their shape."""
    return _filled(_fill_exp, values)


def array_log(values: ArrayLike) -> Floats:
    """Return the natural logarithm of each value, an array of their shape."""
    return _filled(_fill_log, values)


def array_log1p(values: ArrayLike) -> Floats:
    """Return log(1 + x) of each value, an array of their shape."""
    return _filled(_fill_log1p, values)


def array_log2(values: ArrayLike) -> Floats:
    """Return the logarithm to base 2 of each value, an array of their shape."""
    return _filled(_fill_log2, values)


def softplus(values: ArrayLike) -> Floats:
    """Return log(1 + e^x) of each value, an array of their shape."""
    given = np.asarray(values, np.float64)
    total: Floats = np.maximum(given, 0.0) + array_log1p(array_exp(-np.abs(given)))
    return total


def _filled(fill: Callable[[Floats, Floats], None], values: ArrayLike) -> Floats:
    """Return what the kernel makes of the values, an array of their shape."""
    given = np.asarray(values, np.float64)
    out = np.empty(given.size)
    fill(np.ascontiguousarray(given).ravel(), out)
    return out.reshape(given.shape)
