"""The fuzzer finds planted faults, and a short run finds none in this package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("77 s: processes")

ROOT = Path(__file__).resolve().parents[1]
FUZZ = ("-m", "tests.fuzz.files")

# Readers with one fault each, fuzzed as the package's are.
FAULTS = """
import os, sys, time, warnings
from pathlib import Path
from tests.fuzz import files as fuzz
from tests.fuzz.readers import Reader
from rerank.errors import InvalidInputError

fuzz.SLOWEST = 0.5

def read(fault):
    def reader(path):
        if path.read_bytes() == b"seed":
            return
        fault()
    return reader

def refuse():
    raise InvalidInputError("expected one line, found one")

def refuse_in_lines():
    raise InvalidInputError("expected one line,\\nfound two")

def refuse_beyond_print():
    raise InvalidInputError("found \\ud800")

def spin():
    while True:
        pass

faults = {{
    "refuses": refuse,
    "raises": lambda: 1 // 0,
    "lines": refuse_in_lines,
    "prints": refuse_beyond_print,
    "warns": lambda: warnings.warn("overflow", RuntimeWarning),
    "ends": os.abort,
    "hangs": spin,
    "grows": lambda: bytearray(2 << 30),
}}
jobs = []
for name, fault in faults.items():
    folder = Path({folder!r}) / name
    (folder / "seeds").mkdir(parents=True)
    (folder / "seeds" / "0").write_bytes(b"seed")
    reader = Reader(lambda work: [b"seed"], read(fault), lambda record, folder: None, "input.txt")
    jobs.append(fuzz.Job(name, reader, folder, Path({folder!r}) / "findings", 1, 60.0))
fuzz.MOST_RESTARTS = 1
fuzz.fuzz(jobs, 3, 2)
sys.exit(fuzz._report(jobs, Path({folder!r}) / "findings"))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("faults")
    program = FAULTS.format(folder=str(folder))
    return run("-c", program), folder / "findings"


def test_every_kind_of_fault_is_found_and_kept(faults: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, findings = faults
    assert done.returncode == 1, done.stderr
    kinds = {path.name.split("-")[0] for path in findings.glob("*.log")}
    assert kinds == {
        "raises.error",
        "lines.message",
        "prints.message",
        "warns.error",
        "ends.ended",
        "hangs.excess",
        "grows.error",
    }


def test_findings_say_how_they_are_replayed(faults: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    (log,) = faults[1].glob("raises.*.log")
    kept = log.with_name(log.name.removesuffix(".log"))
    assert log.read_text("utf8").startswith(f"python -m tests.fuzz.files --replay {kept}\n")
    assert "ZeroDivisionError" in log.read_text("utf8")
    assert kept.read_bytes() != b"seed"


def test_kept_input_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "qrels.error-0.txt").write_text("q1 0 d1\n", "utf8")
    done = run(*FUZZ, "--replay", str(tmp_path / "qrels.error-0.txt"))
    assert (done.returncode, "refused FileFormatError" in done.stdout) == (0, True), done.stderr


def test_short_run_finds_nothing_in_any_reader(tmp_path: Path) -> None:
    done = run(*FUZZ, "--inputs", "60", "--seed", "1", "--findings", str(tmp_path / "findings"))
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.strip().splitlines()[-1].split()
    assert last[0] == "all"
    assert int(last[2].replace(",", "")) > 100  # accepted: written again and used
