"""`rerank compile`."""

from __future__ import annotations

import logging
import time

import click


@click.command("compile", short_help="compile the kernels now")
def command() -> None:
    """Compile the kernels of features, LambdaMART and scoring in parallel; needed once on a machine.

    Kernels also compile when a verb needs them; compiling them in advance, e.g. in an image, makes the first use
    faster. They are cached in NUMBA_CACHE_DIR, by default beside the package or, if that folder cannot be written, in
    the user's cache. An archive of Java's classes, with which Java starts faster, is made in RERANK_CACHE.
    """
    from rerank.workflows.compile import compile_kernels

    start = time.perf_counter()
    compile_kernels()
    logging.getLogger("rerank").info("kernels are compiled (%.1f s).", time.perf_counter() - start)
