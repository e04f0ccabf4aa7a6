"""Kernels are compiled also where no folder can be written for their code."""

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
