"""Decimal numbers in text, parsed by NumPy eight bytes at a time.

word     eight bytes of text as one number, the first byte lowest
windows  the word that begins at each byte of a text
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.types import Floats, Ints
from rerank.types.ids import Words

_BYTE, _EACH, _HIGH = np.uint64(0xFF), np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_PAIRS = np.uint64(0x000000FF000000FF)
_TENS = np.array([10**count for count in range(9)], dtype=np.uint64)
_POWERS = np.array([10.0**power for power in range(20)])


def parse_decimals(
    windows: Words, starts: Ints, lengths: Ints, whole_numbers: bool
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return numbers of the form `[-]digits[.digits]` with at most 19 digits.

    Shapes: starts, lengths int64 (n,); numbers (n,); parsed bool (n,).
    """
    first = windows[starts]
    negative = (first & _BYTE) == ord("-")
    if negative.any():
        starts, lengths = starts + negative, lengths - negative
        first = windows[starts]
    dot = first ^ _EACH * np.uint64(ord("."))
    dot = (dot - _EACH) & ~dot & _HIGH  # the lowest set bit marks the first dot
    whole = np.minimum(np.bitwise_count(~dot & (dot - np.uint64(1))) >> 3, lengths)
    decimals = np.maximum(lengths - whole - 1, 0)
    digits, not_digits = _digits(first, whole)
    for offset in range(0, min(int(decimals.max()), 24), 8):
        count = np.clip(decimals - offset, 0, 8)
        more, not_digits_either = _digits(windows[starts + whole + (1 + offset)], count)
        digits = digits * _TENS[count] + more
        not_digits |= not_digits_either
    parsed = (not_digits == 0) & (whole + decimals > 0) & (whole + decimals < 20)
    if whole_numbers:
        return np.where(negative, -digits.astype(np.int64), digits.astype(np.int64)), parsed & (lengths == whole)
    parsed &= (whole < 8) | (lengths == whole)
    values, certain = _quotients(digits * parsed, np.minimum(decimals, 19))
    return np.negative(values, out=values, where=negative), parsed & certain


def _quotients(digits: Words, decimals: Ints) -> tuple[Floats, NDArray[np.bool_]]:
    """Return digits / 10**decimals as float64, rounded once, and where that is certain.

    10**decimals is exact, and so are digits below 2**53: one division then rounds correctly (Clinger 1990, How to read
    floating point numbers accurately). Others are divided in double-double arithmetic (Dekker 1971); a quotient that
    may be halfway between two float64 is not certain.
    """
    quotients, certain = digits / _POWERS[decimals], np.ones(len(digits), dtype=np.bool_)
    large = np.flatnonzero(digits >> np.uint64(53))
    if len(large):
        upper, power, quotient = digits[large].astype(np.float64), _POWERS[decimals[large]], quotients[large]
        lower = (digits[large] - upper.astype(np.uint64)).view(np.int64)
        product, (high, low), (power_high, power_low) = quotient * power, _halves(quotient), _halves(power)
        error = ((high * power_high - product) + high * power_low + low * power_high) + low * power_low
        rest = ((upper - product) - error + lower) / power
        quotients[large] = quotient + rest
        certain[large] = quotient + rest * (1 - 1e-9) == quotient + rest * (1 + 1e-9)
    return quotients, certain


def _halves(numbers: Floats) -> tuple[Floats, Floats]:
    """Return the upper and lower 26 bits of float64 numbers (Veltkamp's split)."""
    scaled = numbers * float((1 << 27) + 1)
    upper = scaled - (scaled - numbers)
    return upper, numbers - upper


def _digits(word: Words, count: Ints) -> tuple[Words, Words]:
    """Return the number in the first `count` bytes of each word, and a mask that is not 0 where a byte is no digit.

    One multiplication joins pairs of digits, another pairs of pairs (Lemire 2018, Quickly parsing eight digits).
    """
    digits = (word ^ _EACH * np.uint64(ord("0"))) << (64 - 8 * count).astype(np.uint64)
    not_digits = (digits + _EACH * np.uint64(0x7F - 9)) & _HIGH
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    upper = (digits >> np.uint64(16)) & _PAIRS
    digits &= _PAIRS
    digits *= np.uint64(100 + (1000000 << 32))
    digits += upper * np.uint64(1 + (10000 << 32))
    digits >>= np.uint64(32)
    return digits, not_digits
