"""The time of every reader of text is in proportion to its input; a reader whose time is not is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("7 s: processes")

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ("-m", "tests.fuzz.complexity")
TOKENS = ("<top ", "<!--", "<DOCNO>", "a.")

# Readers whose work is counted in place of seconds, as it is of the package's.
PLANTED = """
from pathlib import Path
from tests.fuzz import complexity
from tests.fuzz.readers import Reader

work = [0.0]
complexity.clock = lambda: work[0]

def linear(path):
    work[0] += 1e-6 * len(path.read_bytes())

def quadratic(path):
    work[0] += 1e-6 * len(path.read_bytes()) + 1e-11 * len(path.read_bytes()) ** 2

for read in (linear, quadratic):
    reader = Reader(lambda work: [b""], read, lambda record, folder: None)
    found = complexity.growth(reader, Path({path!r}), lambda size: b"x" * size, 1 << 19, 0.02)
    print(read.__name__, found.quadratic)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def test_readers_of_text_take_time_in_proportion_to_repeated_tokens() -> None:
    tokens = [word for token in TOKENS for word in ("--token", token)]
    done = run(*SCRIPT, "--text", "--most", "65536", "--seconds", "0.2", *tokens)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"10 readers, {len(TOKENS)} tokens: 0 quadratic"


def test_quadratic_reader_is_found(tmp_path: Path) -> None:
    done = run("-c", PLANTED.format(path=str(tmp_path / "input")))
    assert done.stdout.split() == ["linear", "False", "quadratic", "True"], done.stderr
