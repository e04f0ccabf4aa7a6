"""Instructions of LLVM for kernels: vectors, and prefetching.

A vector has a fixed number of floats, so that a sum has the same order, and bytes, on every CPU.

LLVM adds the terms of a loop in an order that depends on the width of the CPU's vectors if it may reorder them, and
one after the other, which is slow, if it may not. A kernel that keeps as many partial sums as a `Lanes` has is as fast
as the first and as reproducible as the second:

    total = same(0.0)
    for j in range(0, n, LANES):
        total = total + load(values, j) * same(factor)
    result = lane_sum(total)

Arrays have to be contiguous. A prefetch loads what a kernel reads next, where its rows are scattered in memory; it has
no effect on results. Numba's cache does not see changes of this file, which none of the functions below is likely to
need. `tests/oracles/intrinsics.py` has them in Python.

exp, logarithms, dot products and random bits, the same on every CPU, for what goes into models, features and runs.

NumPy, LLVM and the C library choose other algorithms by CPU type, whose last digits differ. The functions below take
additions, multiplications and divisions of float64 alone, in a fixed order, and are less than 1 ulp from the true
value; their limits are exact: overflow is infinity, underflow goes through the subnormal numbers to 0, and the
logarithm of 0 is -inf and that of a negative number NaN.

Kernels of every file call `exp`, `log`, `log1p`, `log2`, `dot` and `random_bits`; Python calls the functions named
array_*. Numba's cache does not see changes of this file, so that after one all caches have to be deleted;
`tests/runtime/test_elementary.py` has digests of the results.

`rerank.runtime.arithmetic` has exp and log2 for Python without Numba, and the source of the methods.

Products of dense arrays whose sums have one order: the same bits on every processor, with any number of threads.

NumPy's `@`, `dot` and `linalg` call BLAS, which chooses the order of its sums, and fused operations, by the processor.
"""

import operator
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model
from numpy.typing import ArrayLike, NDArray

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
from rerank.runtime.threads import in_threads

intrinsic: Any = numba.extending.intrinsic  # kernels call such functions without `typing`, which Numba passes
LANES = 8  # float64: one register of AVX-512, two of AVX2, four of SSE2
LANES32 = 32  # float32: several registers, so that an addition need not wait for the previous one
LINE = 16  # values of 4 bytes in a cache line
_LEAST_NORMAL = 2.0**-1022
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_exp = helper()(arithmetic.exp)
_log2 = helper()(arithmetic.log2)
BLOCK = 1 << 12  # rows whose products are summed before they are added to those of the others
GRAM_COLUMNS = 32  # of the left side at a time: their sums stay in the processor's cache
FEW = 1 << 19  # multiplications for which threads are not worth their start


class Lanes(types.Type):
    """The type of a vector: of LANES float64 or of LANES32 float32."""

    def __init__(self, dtype):  # type: ignore[no-untyped-def]
        self.dtype = dtype
        self.count = LANES if dtype == types.float64 else LANES32
        super().__init__(f"Lanes({dtype}, {self.count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """A vector of LLVM."""

    def __init__(self, manager, lanes):  # type: ignore[no-untyped-def]
        element = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.count))  # type: ignore[no-untyped-call]


class _Elementwise(AbstractTemplate):
    """The type of an operation on vectors of one type."""

    def generic(self, args, keywords):  # type: ignore[no-untyped-def]
        if isinstance(args[0], Lanes) and all(other == args[0] for other in args):
            return signature(args[0], *args)
        return None


def _operation(method: str) -> Any:
    """Return what lowers an operation to a method of the builder."""
    return lambda context, builder, signature, arguments: getattr(builder, method)(*arguments)


for _operator, _method in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    infer_global(_operator)(type("_Template", (_Elementwise,), {}))
    lower_builtin(_operator, Lanes, Lanes)(_operation(_method))


def _place(context, builder, array_type, array, index):  # type: ignore[no-untyped-def]
    """Return a pointer to the vector that starts at array[index], and the alignment of an element."""
    data = context.make_array(array_type)(context, builder, array)
    lanes = context.get_value_type(Lanes(array_type.dtype))
    place = builder.gep(data.data, [index])
    return builder.bitcast(place, lanes.as_pointer()), array_type.dtype.bitwidth // 8


@intrinsic
def load(typing, array, index):  # type: ignore[no-untyped-def]
    """Return the vector that starts at array[index], of a contiguous array."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place, align = _place(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=align)

    return None if array.layout != "C" else (Lanes(array.dtype)(array, types.intp), generate)


@intrinsic
def store(typing, array, index, lanes):  # type: ignore[no-untyped-def]
    """Put a vector at array[index] and the elements after it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        place, align = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=align)
        return context.get_dummy_value()

    return None if array.layout != "C" else (types.void(array, types.intp, lanes), generate)


@intrinsic
def same(typing, value):  # type: ignore[no-untyped-def]
    """Return a vector whose elements are all the value."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        lanes = context.get_value_type(signature.return_type)
        whole = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), [0] * lanes.count)
        return builder.shuffle_vector(whole, whole, mask)

    return Lanes(value)(value), generate


@intrinsic
def positive(typing, lanes):  # type: ignore[no-untyped-def]
    """Return the larger of each element and 0."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        zero = ir.Constant(arguments[0].type, [0.0] * signature.return_type.count)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), arguments[0], zero)

    return lanes(lanes), generate


@intrinsic
def absolute(typing, lanes):  # type: ignore[no-untyped-def]
    """Return the absolute values."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = signature.return_type
        value = arguments[0].type
        name = f"llvm.fabs.v{kind.count}f{kind.dtype.bitwidth}"
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(value, [value]), name), arguments
        )

    return lanes(lanes), generate


@intrinsic
def lane_sum(typing, lanes):  # type: ignore[no-untyped-def]
    """Return the sum of the elements: of both halves, then of both halves of these sums, and so on."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        whole = arguments[0]
        count = signature.args[0].count
        while count > 1:
            count //= 2
            halves = [
                ir.Constant(ir.VectorType(ir.IntType(32), count), list(range(first, first + count)))
                for first in (0, count)
            ]
            whole = builder.fadd(*(builder.shuffle_vector(whole, whole, half) for half in halves))
        return builder.extract_element(whole, ir.Constant(ir.IntType(32), 0))

    return lanes.dtype(lanes), generate


@intrinsic
def prefetch(typing, array, index):  # type: ignore[no-untyped-def]
    """Load the cache line of array[index], a value or the start of a row, without waiting for it; any index will do."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array_type, index_type = signature.args
        data = context.make_array(array_type)(context, builder, arguments[0])
        byte = ir.IntType(8).as_pointer()
        word = ir.IntType(32)
        stride = cgutils.unpack_tuple(builder, data.strides, array_type.ndim)[0]
        offset = builder.mul(stride, context.cast(builder, arguments[1], index_type, types.intp))
        address = builder.gep(builder.bitcast(data.data, byte), [offset])
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        builder.call(function, [address, word(0), word(3), word(1)])  # read access, nearest cache, data
        return context.get_dummy_value()

    return types.void(array, index), generate


@helper()
def exp(x):  # type: ignore[no-untyped-def]
    """Return e^x of a float64."""
    near = x if x < 710.0 else 710.0  # of which e^x is infinite; NaN, too, until the last line
    result = _exp(near if near > -746.0 else -746.0)  # and here 0
    return result if x == x else x


@helper()
def _reduced(x):  # type: ignore[no-untyped-def]
    """Return (k, f) with x = 2^k (1 + f) of a positive normal x, 1 + f from sqrt(1/2) to sqrt(2)."""
    bits = np.float64(x).view(np.int64) + (ONE - SQRT_HALF)
    power = (bits >> FRACTION_BITS) - BIAS
    return power, np.int64((bits & FRACTION) + SQRT_HALF).view(np.float64) - 1.0


@helper()
def _remainder(f):  # type: ignore[no-untyped-def]
    """Return log(1 + f) - f + f^2 / 2 of an f that `_reduced` returns."""
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = z * (L1 + w * (L3 + w * (L5 + w * L7)))
    even = w * (L2 + w * (L4 + w * L6))
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
    return _remainder(f) + whole * LN2_LOW - 0.5 * f * f + f + whole * LN2_HIGH


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
    return _remainder(f) + (whole * LN2_LOW + lost) - 0.5 * f * f + f + whole * LN2_HIGH


@helper()
def log2(x):  # type: ignore[no-untyped-def]
    """Return the logarithm to base 2 of a float64, exact for powers of 2."""
    if not 0.0 < x < np.inf:
        return _limit(x)
    return _log2(x, 0.0) if x >= _LEAST_NORMAL else _log2(x * 2.0**54, -54.0)


@helper()
def dot(left, right):  # type: ignore[no-untyped-def]
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
def random_bits(seed, number):  # type: ignore[no-untyped-def]
    """Return 64 random bits for a seed and a number, all uint64: output `number` of SplitMix64."""
    bits = seed + number * _GOLDEN
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


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


def _of_arrays(fill: Callable[[Floats, Floats], None]) -> Callable[[ArrayLike], Floats]:
    """Return the function whose values a kernel fills in, of arrays of any shape."""

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


def array_dot(left: Floats, right: NDArray[Any]) -> float:
    """Return the sum of the products of two vectors."""
    return float((left * right).sum())


def product(left: NDArray[Any], right: Floats) -> Floats:
    """Return left (n, p), float32 or float64, times right (p,) or (p, q) float64: (n,) or (n, q) float64."""
    out = np.empty((len(left), *right.shape[1:]))

    def fill(rows: slice) -> None:
        if right.ndim == 1:
            _fill_dots(left[rows], right, out[rows])
        else:
            _fill_cross_product(left[rows].T, right, out[rows])

    _in_blocks(fill, len(left), left.shape[1] * max(out[:1].size, 1))
    return out


def cross_product(left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """Return left' (p, n) times right (n, q), (p, q) float64; both are float32 or float64."""
    parts = np.empty((-(-len(left) // BLOCK), left.shape[1], right.shape[1]))
    _in_blocks(
        lambda rows: _fill_cross_product(left[rows], right[rows], parts[rows.start // BLOCK]),
        len(left),
        left.shape[1] * right.shape[1],
    )
    return parts.sum(axis=0)  # type: ignore[no-any-return]


def gram(inputs: Floats, weights: Floats) -> Floats:
    """Return inputs' (p, n) times weights (n,) times inputs (n, p), (p, p) float64: half of it is computed."""
    n_columns = inputs.shape[1]
    out = np.empty((n_columns, n_columns))

    def fill(columns: slice) -> None:
        left = inputs[:, columns] * weights[:, None]
        part = np.empty((left.shape[1], n_columns - columns.start))
        _fill_cross_product(left, inputs[:, columns.start :].copy(), part)
        out[columns, columns.start :], out[columns.start :, columns] = part, part.T

    _in_blocks(fill, n_columns, len(inputs) * n_columns, GRAM_COLUMNS)
    return out


def inverse(matrix: Floats) -> Floats:
    """Return the inverse of a symmetric positive definite matrix (n, n)."""
    out = matrix.copy()
    _invert(out)
    return out


def _in_blocks(task: Callable[[slice], None], n_rows: int, work: int, step: int = BLOCK) -> None:
    """Do the task for each block of rows, on several threads where there are many multiplications, `work` a row."""
    blocks = [slice(first, min(first + step, n_rows)) for first in range(0, n_rows, step)]
    in_threads(task, blocks, numba.get_num_threads() if n_rows * work > FEW else 1)


@kernel()
def _fill_dots(left, right, out):  # type: ignore[no-untyped-def]
    """Fill out (n,) with left (n, p) times right (p,); eight sums at a time."""
    size = right.shape[0]
    whole = size - size % 8
    for row in range(left.shape[0]):
        a = 0.0
        b = 0.0
        c = 0.0
        d = 0.0
        e = 0.0
        f = 0.0
        g = 0.0
        h = 0.0
        for i in range(0, whole, 8):
            a += left[row, i] * right[i]
            b += left[row, i + 1] * right[i + 1]
            c += left[row, i + 2] * right[i + 2]
            d += left[row, i + 3] * right[i + 3]
            e += left[row, i + 4] * right[i + 4]
            f += left[row, i + 5] * right[i + 5]
            g += left[row, i + 6] * right[i + 6]
            h += left[row, i + 7] * right[i + 7]
        for i in range(whole, size):
            a += left[row, i] * right[i]
        out[row] = ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel()
def _fill_cross_product(left, right, out):  # type: ignore[no-untyped-def]
    """Fill out (p, q) with left' (p, n) times right (n, q)."""
    n_rows = left.shape[0]
    whole = n_rows - n_rows % 4
    out[:] = 0.0
    for row in range(0, whole, 4):
        for i in range(left.shape[1]):
            a = left[row, i]
            b = left[row + 1, i]
            c = left[row + 2, i]
            d = left[row + 3, i]
            for k in range(right.shape[1]):
                out[i, k] += (a * right[row, k] + b * right[row + 1, k]) + (
                    c * right[row + 2, k] + d * right[row + 3, k]
                )
    for row in range(whole, n_rows):
        for i in range(left.shape[1]):
            for k in range(right.shape[1]):
                out[i, k] += left[row, i] * right[row, k]


@kernel()
def _invert(matrix):  # type: ignore[no-untyped-def]
    """Replace a symmetric positive definite matrix (n, n) by its inverse: Gauss and Jordan's steps in place."""
    size = matrix.shape[0]
    for step in range(size):
        pivot = 1.0 / matrix[step, step]
        matrix[step, step] = 1.0
        for k in range(size):
            matrix[step, k] *= pivot
        for row in range(size):
            if row != step:
                factor = matrix[row, step]
                matrix[row, step] = 0.0
                for k in range(size):
                    matrix[row, k] -= factor * matrix[step, k]
