"""Prefetching of what a kernel reads next, for kernels whose rows are scattered in memory.

A prefetch has no effect on results, so a kernel in Numba's cache that has an older one is right. `tests/oracles/
intrinsics.py` has `prefetch` in Python.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 16  # values of 4 bytes in a cache line


@intrinsic
def _prefetch(typing, array, index):  # type: ignore[no-untyped-def]
    """Load the cache line of array[index], a value or the start of a row, without waiting for it; any index will do."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array_type, index_type = signature.args
        data = context.make_array(array_type)(context, builder, arguments[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        stride = cgutils.unpack_tuple(builder, data.strides, array_type.ndim)[0]
        offset = builder.mul(stride, context.cast(builder, arguments[1], index_type, types.intp))
        address = builder.gep(builder.bitcast(data.data, byte), [offset])
        shape = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        builder.call(function, [address, word(0), word(3), word(1)])  # read access, nearest cache, data
        return context.get_dummy_value()

    return types.void(array, index), generate


prefetch: Any = _prefetch  # typed as a kernel calls it: without `typing`, which Numba passes
