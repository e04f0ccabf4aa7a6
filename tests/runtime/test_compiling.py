"""Kernels are compiled where no folder can be written for their code, and where that of an older version is found."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import CompileResultCacheImpl

from rerank.runtime import kernels


def _fill_doubled(values, out):  # type: ignore[no-untyped-def]
    for index in range(len(values)):
        out[index] = 2.0 * values[index]


def test_kernel_is_compiled_when_no_folder_can_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    monkeypatch.setattr(_fill_doubled, "__module__", "rerank.tried")  # only kernels of the package are announced
    monkeypatch.setattr(kernels._Announcer, "announced", False)
    kernels.announce_compiling.cache_clear()
    kernels.announce_compiling()
    out = np.zeros(3)
    kernels.kernel()(_fill_doubled)(np.arange(3.0), out)
    assert out.tolist() == [0.0, 2.0, 4.0]
    assert "kernels: expected a folder for compiled code that can be written, got none" in caplog.text
    assert "Name one by NUMBA_CACHE_DIR" in caplog.text


MODULE = """
from typing import NamedTuple

from rerank.runtime.kernels import kernel


class {name}(NamedTuple):
    factor: float


@kernel()
def fill(given, out):
    out[:] = given.factor


def value():
    out = np.zeros(1)
    fill({name}(3.0), out)
    return out[0]
"""


def test_kernel_is_compiled_again_when_a_class_of_its_arguments_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("Before", "AfterIt"):
        (tmp_path / "of_kernel.py").write_text("import numpy as np\n" + MODULE.format(name=name))
        sys.modules.pop("of_kernel", None)
        importlib.invalidate_caches()
        assert importlib.import_module("of_kernel").value() == 3.0
