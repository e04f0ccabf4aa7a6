"""A function to call before a kernel compiles; not in `kernels`, so that setting it does not import Numba."""

from __future__ import annotations

from collections.abc import Callable

before_compilation: Callable[[str], None] | None = None  # called with the module of the kernel
