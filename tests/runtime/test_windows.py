"""What needs no Java works without what Windows lacks; `tests/runtime/windows.py` is the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow("10 s: a process that imports every module")
def test_modules_load_and_files_are_written_without_what_windows_lacks(tmp_path: Path) -> None:
    program = [sys.executable, "-X", "warn_default_encoding", "-m", "tests.runtime.windows", str(tmp_path)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
    texts = [path for path in tmp_path.rglob("*") if path.suffix in (".json", ".run", ".txt", ".tsv", ".svm", ".jsonl")]
    assert len(texts) == 9
    assert [path for path in texts if b"\r" in path.read_bytes()] == []
