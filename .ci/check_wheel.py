"""Try the wheel in an empty environment: check_wheel.py [--smoke | --lowest] PYTHON WHEEL; the jar's is beside it.

The core first, without Java: a model of arrays, the time to import, the time of `rerank -h`. Then the
command that the error message names, after which `pip check` finds nothing, an index, and the tests of everything
about Lucene, without pyserini.
--smoke leaves the tests out. --lowest installs the lowest version that pyproject.toml allows of each dependency of the
core, and tries that alone, with the tests of arrays.
"""

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/lucene", "tests/pipeline/test_rerank.py")
TESTS_OF_ARRAYS = (  # those that need no other package
    "tests/evaluation/test_evaluate.py",
    "tests/evaluation/test_significance.py",
    "tests/metrics/test_swaps.py",
    "tests/metrics/test_trec_measures.py",
    "tests/objectives",
    "tests/runtime/test_elementary.py",
    "tests/runtime/test_sums.py",
    "tests/trees",
)
TEST_PACKAGES = ("pytest", "pytest-xdist", "hypothesis", "rank-bm25", "ir-measures", "pytrec-eval-terrier")
IMPORT_LIMIT, HELP_LIMIT = 0.1, 0.3  # seconds of the processor: a busy machine stretches those of the clock
IMPORT = """
import time
clock, processor = time.perf_counter(), time.process_time()
import rerank
print(time.perf_counter() - clock, time.process_time() - processor)
"""
DOCUMENTS = '{"id": "a", "title": "heat flow"}\n{"id": "b", "title": "wing shock"}\n'
ARRAYS = """
import numpy as np
import rerank

random = np.random.default_rng(0)
X, qid = random.normal(size=(2000, 5)), np.repeat(np.arange(50), 40)  # 40 documents for each of 50 queries
y = (X[:, 0] + random.normal(size=2000)).clip(0).astype(int)
model = rerank.LambdaMART(n_estimators=50).fit(X[:1600], y[:1600], qid=qid[:1600])
assert model.predict(X[1600:]).shape == (400,)
"""
SEARCH = """
import rerank
assert "site-packages" in rerank.__file__
index = rerank.Index.open("index")
run = index.search({"q": "heat"}, k=10)
data = index.features(run, {"q": "heat"}, {"q": {"a": 1}})
assert list(run["q"]) == ["a"] and data.X.shape[0] == 1, run["q"]
"""


class Environment:
    """A new virtual environment, and a folder to work in."""

    def __init__(self, python: str, folder: Path, wheels: Path) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self.home = folder / "env"
        subprocess.run([python, "-m", "venv", self.home], check=True)
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "JAVA_HOME")}
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        links = f"{wheels} {kept.get('PIP_FIND_LINKS', '')}"
        self.variables = {**kept, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_FIND_LINKS": links}

    def run(self, *command: str | Path, expected: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [shutil.which(str(command[0]), path=self.variables["PATH"]) or command[0], *command[1:]],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != expected:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}expected {expected}: {done.returncode}")
        return done

    def gigabytes(self) -> float:
        return sum(path.lstat().st_size for path in self.home.rglob("*")) / 1e9


def check_core(env: Environment) -> str:
    """Train a model of arrays and measure what starting costs."""
    size = env.gigabytes()
    env.run("python", "-c", ARRAYS)
    imports = [tuple(map(float, env.run("python", "-c", IMPORT).stdout.split())) for _ in range(5)]
    helps = [seconds(env, "rerank", "-h") for _ in range(5)]
    (importing, import_work), (helping, help_work) = (map(min, zip(*times, strict=True)) for times in (imports, helps))
    message = f"import {importing:.3f} s ({import_work:.3f} of the processor), -h {helping:.2f} s ({help_work:.2f})"
    if import_work > IMPORT_LIMIT or help_work > HELP_LIMIT:
        sys.exit(f"expected at most {IMPORT_LIMIT} and {HELP_LIMIT} s of the processor, got: {message}")
    return f"core {size:.2f} GB, {message}"


def check_lucene(env: Environment) -> str:
    """Install what the error about missing parts names, then index and search."""
    (env.folder / "docs.jsonl").write_text(DOCUMENTS)
    index = ("rerank", "--quiet", "index", "docs.jsonl", "-o", "index")
    message = env.run(*index, expected=2).stderr
    command = re.fullmatch(r"rerank: Lucene: expected .*\. Run `(pip install .*)` in a checkout of rerank\.\n", message)
    if command is None:
        sys.exit(f"expected one line that says what to install, got: {message}")
    env.run("bash", "-c", f"cd {shlex.quote(str(ROOT))} && {command.group(1)}")
    env.run("pip", "check")
    env.run(*index)
    env.run("python", "-c", SEARCH)
    return f"with Lucene {env.gigabytes():.2f} GB"


def check_tests(env: Environment, tests: tuple[str, ...] = TESTS) -> str:
    """Run tests on the installed package, those that need Lucene by default."""
    for name in ("tests", "benchmarks", "scripts"):
        shutil.copytree(ROOT / name, env.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", env.folder)
    env.run("pip", "install", "-q", "-c", ROOT / "scripts" / "requirements-test.txt", *TEST_PACKAGES)
    done = env.run("python", "-m", "pytest", "-n", "2", *tests)
    return done.stdout.strip().splitlines()[-1]


def seconds(env: Environment, *command: str) -> tuple[float, float]:
    """Return the seconds that a command takes by the clock, and of the processor."""
    clock, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    env.run(*command)
    clock, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lowest() -> list[str]:
    """Return the core's dependencies, each at its lowest version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    return [dependency.replace(">=", "==") for dependency in project["dependencies"]]


def main() -> None:
    *option, python, name = sys.argv[1:]
    wheel = Path(name).absolute()
    with tempfile.TemporaryDirectory() as folder:
        env = Environment(python, Path(folder), wheel.parent)
        env.run("pip", "install", "-q", *(lowest() if option == ["--lowest"] else []), wheel)
        of_arrays = partial(check_tests, tests=TESTS_OF_ARRAYS)
        checks = {"--lowest": [check_core, of_arrays], "--smoke": [check_core, check_lucene]}.get(
            "".join(option), [check_core, check_lucene, check_tests]
        )
        print("; ".join(check(env) for check in checks))


if __name__ == "__main__":
    main()
