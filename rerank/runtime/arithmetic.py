"""exp and log2 of ordinary numbers with the same bytes on every CPU, in Python; Numba compiles them for kernels.

NumPy, LLVM and the C library choose algorithms by CPU type, whose last digits differ. The functions below use only
additions, multiplications and divisions of float64, in a fixed order, and are less than 1 ulp from the true value.
`rerank.runtime.elementary` has the functions for numbers of any size.

References
----------
The methods and constants are those of FreeBSD's msun: e_exp.c, e_log.c, s_log1p.c and e_log2.c.
Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved. Developed at SunPro/SunSoft, a Sun Microsystems,
Inc. business. Permission to use, copy, modify, and distribute this software is freely granted, provided that this
notice is preserved.

"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # the first has 32 zero bits at its end
L1 = 6.666666666666735130e-01
L2 = 3.999999999940941908e-01
L3 = 2.857142874366239149e-01
L4 = 2.222219843214978396e-01
L5 = 1.818357216161805012e-01
L6 = 1.531383769920937332e-01
L7 = 1.479819860511658591e-01
ONE = np.int64(0x3FF << 52)
FRACTION_BITS = np.int64(52)
FRACTION = np.int64(2**52 - 1)
BIAS = np.int64(1023)
SQRT_HALF = np.int64(0x3FE6A09E << 32)  # bits of the square root of 1/2, a little below it
_LN2 = 0.6931471805599453
_INVERSE_LN2 = 1.44269504088896338700e00
_INVERSE_HIGH, _INVERSE_LOW = 1.44269504072144627571e00, 1.67517131648865118353e-10  # of 1 / ln 2
_P1 = 1.66666666666666019037e-01
_P2 = -2.77777777770155933842e-03
_P3 = 6.61375632143793436117e-05
_P4 = -1.65339022054652515390e-06
_P5 = 4.13813679705723846039e-08
_ROUNDER = 1.5 * 2.0**52  # adding it rounds x to an integer, which the last bits of the sum hold
_ROUNDER_BITS = np.float64(_ROUNDER).view(np.int64)
_HIGH = np.int64(-(2**32))  # the upper half of a float64


def exp(x: Any) -> Any:
    """Return e^x of a float64 or an array of them, from -746 to 710."""
    shifted = x * _INVERSE_LN2 + _ROUNDER
    power = np.float64(shifted).view(np.int64) - _ROUNDER_BITS
    whole = shifted - _ROUNDER
    high = x - whole * LN2_HIGH
    low = whole * LN2_LOW
    r = high - low
    rr = r * r
    c = r - rr * (_P1 + rr * (_P2 + rr * (_P3 + rr * (_P4 + rr * _P5))))
    result = 1.0 + (r * c / (2.0 - c) - low + high)
    half = power >> np.int64(1)  # 2^power may be out of range where the result is not
    result *= np.int64((half + BIAS) << FRACTION_BITS).view(np.float64)
    return result * np.int64((power - half + BIAS) << FRACTION_BITS).view(np.float64)


def log2(x: Any, more: float = 0.0) -> Any:
    """Return `more` plus the logarithm to base 2 of a positive float64 or an array of them, none subnormal.

    It is exact for powers of 2.
    """
    bits = np.float64(x).view(np.int64) + (ONE - SQRT_HALF)
    f = np.int64((bits & FRACTION) + SQRT_HALF).view(np.float64) - 1.0  # x = 2^whole (1 + f)
    whole = np.float64((bits >> FRACTION_BITS) - BIAS) + more
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    half_square = 0.5 * f * f
    series = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6))
    high = np.int64(np.float64(f - half_square).view(np.int64) & _HIGH).view(np.float64)
    low = f - high - half_square + s * (half_square + series)
    large = high * _INVERSE_HIGH
    small = (low + high) * _INVERSE_LOW + low * _INVERSE_HIGH
    total = whole + large
    return small + (whole - total + large) + total


def log2_of(values: ArrayLike) -> Floats:
    """Return log2 of each value, positive and not subnormal; an array of their shape."""
    return _of_each(log2, np.asarray(values, np.float64))


def exp2_of(values: ArrayLike) -> Floats:
    """Return 2^x of each value, an array of their shape; exact for integers."""
    numbers = np.asarray(values, np.float64)
    whole = np.floor(numbers)
    return np.asarray(np.ldexp(_of_each(exp, (numbers - whole) * _LN2), whole.astype(np.int64)), np.float64)


def _of_each(function: Callable[[Any], Any], numbers: Floats) -> Floats:
    """Return a function's value of each number, an array of their shape.

    An array of one number is passed as a number: `np.float64` converts it before NumPy 2.4, with a warning.
    """
    values = function(numbers.item() if numbers.size == 1 else numbers)
    return np.asarray(values, np.float64).reshape(numbers.shape)


def powers(base: float, exponents: NDArray[np.integer[Any]]) -> Floats:
    """Return a number to the power of integers of at least 0, an array of their shape, by repeated squaring."""
    rest = np.array(exponents, np.int64)
    square = np.float64(base)
    result = np.ones(np.shape(exponents))
    while rest.any():
        result = np.where(rest & 1, result * square, result)
        rest = rest >> 1
        square = square * square
    return result
