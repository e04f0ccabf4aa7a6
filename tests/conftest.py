"""Fixtures for all tests: the location of the real data."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

# Processes that test at once share the cores: threads that wait sleep. Both libraries read this when they are loaded.
os.environ.setdefault("GOMP_SPINCOUNT", "0")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Examples take as long as a busy machine needs.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-machine")


def pytest_configure(config: pytest.Config) -> None:
    """Have Ctrl-C interrupt the tests and what they start even in a shell's background, which ignores it.

    Without Numba's compiler, Python code replaces the functions that are written in LLVM's language, and numbers are
    NumPy's, which warn of overflow.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        from tests.oracles import intrinsics

        intrinsics.install()
        config.addinivalue_line("filterwarnings", "ignore::RuntimeWarning")  # in other threads, too
        np.seterr(all="ignore")
    numba.set_num_threads(1)  # of kernels that are called without `kernel_threads`
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip a test that takes long without Numba's compiler, where trees are grown line by line."""
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return (yield)
    signal.signal(signal.SIGALRM, lambda *_: pytest.skip("takes long without Numba's compiler"))
    signal.alarm(LONGEST_WITHOUT_COMPILER)
    try:
        return (yield)
    finally:
        signal.alarm(0)


pytest_runtest_setup = pytest_runtest_call  # fixtures, too
LONGEST_WITHOUT_COMPILER = int(os.environ.get("LONGEST_WITHOUT_COMPILER", "5"))  # seconds
BY_FILE = ("tests/training", "tests/experiments")
LAST = ("index", "pipeline", "training", "experiments", "explanation")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Run the tests of a package in one process, which makes its indexes and compiles its kernels once.

    Those of training and experiments, which take long, are divided by file. `--dist` chooses another way.
    """
    if config.option.dist != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Folders(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return nodeid if folder == "tests" else file if folder in BY_FILE else folder

    config.option.loadscopereorder = False
    return Folders(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the package that takes longest and end with those that use the others, whose kernels exist by then."""
    places = {"rankers": -1, **dict.fromkeys(LAST, 1), "cli": 2, "test_pages.py": 3}
    items.sort(key=lambda item: places.get(item.nodeid.split("/")[1].partition("::")[0], 0))


def pytest_collection_finish() -> None:
    """Keep what was collected out of later garbage collections, which would look at 8,000 tests each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections (`$RERANK_TEST_DATA` or ../shared/data); skips where it is missing."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RERANK_TEST_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}; set RERANK_TEST_DATA to run this test")
    return folder
