"""Plant faults in the package, one at a time, and say which of them the tests find.

Run: python -m tests.checks.planted_faults [--faults 60] [--seed 0] [--all] [-o faults.json]

Faults are drawn by the seed: as many of each area, each in another function. A fault is first run against the tests
of its own package. Those that are not found are planted together: of the first tier's tests, then with --all of the
second tier's, each one that fails is run again with each of the faults alone, which tells whose failure it is.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Area -> files of the package, as patterns.
AREAS = {
    "kernels": ("trees/*.py", "objectives/*.py", "features/families/*.py"),
    "measures": ("metrics/*.py", "evaluation/*.py"),
    "features": ("features/*.py", "vectors/*.py", "history/*.py", "retrieval/**/*.py"),
    "readers": ("files/*.py", "types/*.py"),
    "rankers": ("rankers/*.py",),
    "service": ("service/*.py",),
    "exchange": ("exchange/*.py",),
    "pipeline": ("index/*.py", "pipeline/*.py", "training/*.py", "experiments/*.py"),
}
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*"}
COMPARISON = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
LONGEST = 900.0  # seconds of one run of tests, after which a fault counts as found: the tests do not end


@dataclass
class Fault:
    """A change of the source: what stood in a place of a file, and what stands there now."""

    area: str
    path: str
    line: int
    start: int  # in characters from the beginning of the file
    end: int
    text: str
    kind: str
    found_by: str = ""

    def plant(self, root: Path) -> None:
        """Write the changed file."""
        path = root / self.path
        text = path.read_text("utf8")
        path.write_text(text[: self.start] + self.text + text[self.end :], "utf8")


def main() -> int:
    """Print a line for each fault and how many are found; return 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="run the second tier on what the first does not find, too")
    parser.add_argument("--plan", action="store_true", help="print the faults alone")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    faults = draw(options.faults, options.seed)
    if options.plan:
        _print(faults)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        work = Work(Path(folder) / "work")
        for fault in faults:
            fault.found_by = work.own_tests_find(fault)
            _print([fault])
        work.find_together([fault for fault in faults if not fault.found_by], "first tier", "not slow")
        if options.all:
            work.find_together([fault for fault in faults if not fault.found_by], "second tier", "slow")
    if options.output:
        options.output.write_text(json.dumps([asdict(fault) for fault in faults], indent=1), "utf8")
    _print([fault for fault in faults if fault.found_by.partition(":")[0] not in ("own", "first tier")])
    second = sum(fault.found_by.startswith("second tier") for fault in faults)
    first = sum(bool(fault.found_by) for fault in faults) - second
    print(f"{first} of {len(faults)} found by the first tier, {second} more by the second")
    return 0


def _print(faults: list[Fault]) -> None:
    for fault in faults:
        old = (ROOT / fault.path).read_text("utf8")[fault.start : fault.end].partition("\n")[0]
        place = f"{fault.path}:{fault.line}"
        print(
            f"{fault.area:9} {place:48} {fault.kind}: {old[:50]!r} -> {fault.text[:50]!r}  {fault.found_by}", flush=True
        )


class Work:
    """A copy of the repository, in which faults are planted and tests run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, names.split("\0")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copy2(ROOT / name, root / name)

    @contextmanager
    def planted(self, faults: list[Fault]) -> Iterator[None]:
        """Plant faults, the last of a file first, so that the places of the others stay what they are."""
        before = {fault.path: (self.root / fault.path).read_bytes() for fault in faults}
        for fault in sorted(faults, key=lambda fault: -fault.start):
            fault.plant(self.root)
        try:
            yield
        finally:
            for path, content in before.items():
                (self.root / path).write_bytes(content)

    def own_tests_find(self, fault: Fault) -> str:
        """Return the first test of the fault's package that fails, "" for none."""
        start = time.perf_counter()
        with self.planted([fault]):
            failed = self.failures(["-x", "--dist", "loadfile", "-m", "not slow", f"tests/{Path(fault.path).parts[1]}"])
        return f"own: {failed[0]} ({time.perf_counter() - start:.0f} s)" if failed else ""

    def find_together(self, faults: list[Fault], tier: str, marks: str) -> None:
        """Enter the test that finds each of the faults which the tests of a tier find."""
        while faults:
            with self.planted(faults):
                failed = self.failures(["-m", marks, "tests"])
            found = False
            for fault in faults:
                with self.planted([fault]):
                    alone = self.failures(["-x", "-m", marks, *failed]) if failed else []
                if alone:
                    fault.found_by = f"{tier}: {alone[0]}"
                    found = True
            if not found:
                return
            faults = [fault for fault in faults if not fault.found_by]

    def failures(self, arguments: list[str]) -> list[str]:
        """Return the names of the tests that fail, or why pytest gave none."""
        command = [sys.executable, "-m", "pytest", "-n", "2", "-rfE", "--tb=no", *arguments]
        variables = {**os.environ, "PYTHONPATH": str(self.root)}
        variables.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of modules would be compiled again in each run
        try:
            done = subprocess.run(
                command, cwd=self.root, env=variables, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return ["tests do not end"]
        lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        names = list(dict.fromkeys(line.partition(" ")[2].partition(" - ")[0] for line in lines))  # may have blanks
        return names or ([f"pytest ends with {done.returncode}"] if done.returncode not in (0, 5) else [])


def draw(count: int, seed: int) -> list[Fault]:
    """Return faults, as many of each area, no two in one function."""
    shuffle = random.Random(seed)
    pools = []
    for area, patterns in AREAS.items():
        paths = sorted({path for pattern in patterns for path in (ROOT / "rerank").glob(pattern)})
        pool = [fault for path in paths for fault in _faults_of(area, path)]
        shuffle.shuffle(pool)
        pools.append(_kinds_in_turns(pool))
    faults: list[Fault] = []
    functions: set[tuple[str, str]] = set()
    while len(faults) < count and any(pools):
        for pool in pools:
            while pool and len(faults) < count:
                function, fault = pool.pop()
                if (fault.path, function) not in functions:
                    functions.add((fault.path, function))
                    faults.append(fault)
                    break
    return faults


def _kinds_in_turns(pool: list[tuple[str, Fault]]) -> list[tuple[str, Fault]]:
    """Return the faults in an order in which the kinds take turns."""
    counts: Counter[str] = Counter()
    keys = []
    for _, fault in pool:
        counts[fault.kind] += 1
        keys.append((-counts[fault.kind], fault.kind))
    return [pool[number] for number in sorted(range(len(pool)), key=lambda number: keys[number])]


def _faults_of(area: str, path: Path) -> Iterator[tuple[str, Fault]]:
    """Yield the possible faults of a file, each with the function that it is in."""
    text = path.read_text("utf8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode("utf8")))
    content = text.encode("utf8")

    def place(line: int, column: int) -> int:
        return len(content[: starts[line - 1] + column].decode("utf8"))

    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        compiled = any(
            "kernel(" in ast.unparse(line) or "helper(" in ast.unparse(line) for line in function.decorator_list
        )
        if (area == "kernels") != compiled:
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                for first, last, new, kind in _changes(node, text, place):
                    fault = Fault(area, str(path.relative_to(ROOT)), node.lineno, first, last, new, kind)  # type: ignore[attr-defined]
                    yield function.name, fault


def _changes(node: ast.AST, text: str, place: object) -> Iterator[tuple[int, int, str, str]]:
    """Yield (start, end, new text, kind) for each fault that a node of the tree can have."""
    at = place  # type: ignore[assignment]

    def between(left: ast.expr, right: ast.expr, old: str, new: str) -> Iterator[tuple[int, int]]:
        first = at(left.end_lineno, left.end_col_offset)  # type: ignore[operator]
        last = at(right.lineno, right.col_offset)  # type: ignore[operator]
        found = text.find(old, first, last)
        if found >= 0:
            yield found, found + len(old)

    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        old = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}[type(node.op)]
        if not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
            for first, last in between(node.left, node.right, old, ""):
                yield first, last, ARITHMETIC[type(node.op)], "arithmetic"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISON:
        signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        for first, last in between(node.left, node.comparators[0], signs[type(node.ops[0])], ""):
            yield first, last, COMPARISON[type(node.ops[0])], "comparison"
    elif isinstance(node, ast.Constant) and type(node.value) is int and node.value in (0, 1, 2):
        first, last = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)  # type: ignore[operator]
        yield first, last, str(node.value + 1), "off by one"
    elif isinstance(node, ast.If) and any(isinstance(line, ast.Raise) for line in node.body):
        test = node.test
        first, last = at(test.lineno, test.col_offset), at(test.end_lineno, test.end_col_offset)  # type: ignore[operator]
        yield first, last, "False", "dropped check"


if __name__ == "__main__":
    sys.exit(main())
