"""`rerank compile`."""

from __future__ import annotations

import logging
import time

import click


@click.command("compile", short_help="compile the kernels now")
def command() -> None:
    """Compile all kernels (features, training, scoring), once per machine.

    A verb compiles the kernels that it needs when it first runs; compiling them in advance, e.g. in a container image,
    makes that first run faster. Kernels are cached in the folder NUMBA_CACHE_DIR, by default next to the package or,
    if that is read-only, in the user's cache. An archive of Java classes that shortens the start of Java is written to
    the folder RERANK_CACHE.
    """
    from rerank.pipeline.compile import compile_kernels

    start = time.perf_counter()
    compile_kernels()
    logging.getLogger("rerank").info("kernels are compiled (%.1f s).", time.perf_counter() - start)
