"""Instructions of LLVM for kernels: vectors, and prefetching.

A vector has a fixed number of floats, so that a sum has the same order, and bytes, on every CPU.

If LLVM may reorder the terms of a sum, their order depends on the width of the CPU's vectors; if it may not, it adds
them one after the other, which is slow. A kernel with a vector of partial sums is fast and reproducible:

    total = same(0.0)
    for j in range(0, n, LANES):
        total = total + load(values, j) * same(factor)
    result = lane_sum(total)

Arrays have to be contiguous. A prefetch loads what a kernel reads next, where its rows are scattered in memory; it has
no effect on results. Numba's cache does not notice changes of this file: after a change, all caches have to be deleted.
`tests/oracles/intrinsics.py` has the functions in Python.
"""

import operator
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

intrinsic: Any = numba.extending.intrinsic  # kernels call such functions without `typing`, which Numba passes
LANES = 8  # float64: one register of AVX-512, two of AVX2, four of SSE2
LANES32 = 32  # float32: several registers, so that an addition need not wait for the previous one
LINE = 16  # values of 4 bytes in a cache line


class Lanes(types.Type):
    """The type of a vector: of LANES float64 or of LANES32 float32."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.count = LANES if dtype == types.float64 else LANES32
        super().__init__(f"Lanes({dtype}, {self.count})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    """A vector of LLVM."""

    def __init__(self, manager, lanes):
        element = manager.lookup(lanes.dtype).get_value_type()
        super().__init__(manager, lanes, ir.VectorType(element, lanes.count))  # type: ignore[no-untyped-call]


class _Elementwise(AbstractTemplate):
    """The type of an operation on vectors of one type."""

    def generic(self, args, keywords):
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


def _place(context, builder, array_type, array, index):
    """Return a pointer to the vector that starts at array[index], and the alignment of an element."""
    data = context.make_array(array_type)(context, builder, array)
    lanes = context.get_value_type(Lanes(array_type.dtype))
    place = builder.gep(data.data, [index])
    return builder.bitcast(place, lanes.as_pointer()), array_type.dtype.bitwidth // 8


@intrinsic
def load(typing, array, index):
    """Return the vector that starts at array[index], of a contiguous array."""

    def generate(context, builder, signature, arguments):
        place, align = _place(context, builder, signature.args[0], *arguments)
        return builder.load(place, align=align)

    return None if array.layout != "C" else (Lanes(array.dtype)(array, types.intp), generate)


@intrinsic
def store(typing, array, index, lanes):
    """Put a vector at array[index] and the elements after it."""

    def generate(context, builder, signature, arguments):
        place, align = _place(context, builder, signature.args[0], *arguments[:2])
        builder.store(arguments[2], place, align=align)
        return context.get_dummy_value()

    return None if array.layout != "C" else (types.void(array, types.intp, lanes), generate)


@intrinsic
def same(typing, value):
    """Return a vector that has the value in all elements."""

    def generate(context, builder, signature, arguments):
        lanes = context.get_value_type(signature.return_type)
        whole = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[0], ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), [0] * lanes.count)
        return builder.shuffle_vector(whole, whole, mask)

    return Lanes(value)(value), generate


@intrinsic
def positive(typing, lanes):
    """Return the larger of each element and 0."""

    def generate(context, builder, signature, arguments):
        zero = ir.Constant(arguments[0].type, [0.0] * signature.return_type.count)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zero), arguments[0], zero)

    return lanes(lanes), generate


@intrinsic
def absolute(typing, lanes):
    """Return the absolute values."""

    def generate(context, builder, signature, arguments):
        kind = signature.return_type
        value = arguments[0].type
        name = f"llvm.fabs.v{kind.count}f{kind.dtype.bitwidth}"
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(value, [value]), name), arguments
        )

    return lanes(lanes), generate


@intrinsic
def lane_sum(typing, lanes):
    """Return the sum of the elements: of both halves, then of both halves of these sums, and so on."""

    def generate(context, builder, signature, arguments):
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
def prefetch(typing, array, index):
    """Load the cache line of array[index], a value or the start of a row, without waiting; any index is valid."""

    def generate(context, builder, signature, arguments):
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
