"""`rerank compile`."""

from __future__ import annotations

import logging
import time

import click


@click.command("compile", short_help="compile the kernels now")
def command() -> None:
    """Compile the kernels of features, LambdaMART and scoring on all cores, once on a machine.

    They compile by themselves where a verb needs them; an image or a server is ready sooner with this done before.
    NUMBA_CACHE_DIR says where they are kept, by default beside the package or, where that cannot be written, in the
    user's cache.
    """
    from rerank.workflows.compile import compile_kernels

    start = time.perf_counter()
    compile_kernels()
    logging.getLogger("rerank").info("kernels are compiled (%.1f s).", time.perf_counter() - start)
