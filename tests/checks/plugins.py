"""Run the tests of plugins and of the service with the real frameworks and clients, in an environment made here.

    python -m tests.checks.plugins [--environment FOLDER] [--keep] [--whole-pyserini]

`--whole-pyserini` installs Pyserini with all its dependencies, PyTorch included, and runs the tests that need them;
without it, Pyserini is installed without dependencies. Its jar goes before that of lucene-rerank-jar, which
.ci/check_wheel.py tries alone.

The package and its jar are installed from wheels of this checkout, so that entry points are tested, too; frameworks
come from the package index that pip is set up with. A test that is skipped because its framework is missing is a
failure here.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.checks import ROOT

FRAMEWORKS = ("pyterrier", "ir-datasets", "langchain", "llamaindex", "haystack", "rerankers", "service")
EXTRAS = (*FRAMEWORKS, "wordllama", "onnx", "exchange")
CLIENTS = ("cohere", "langchain-cohere", "httpx")  # of the service
TORCH = "torch==2.13.0"
WHOLE = ("test_pyserini_whole.py", "LuceneSearcher")  # tests that need all of Pyserini
PYSERINI = {True: "pyserini==1.6.0", False: "pyserini==2.4.0"}  # whether Python is older than 3.12


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """Run a command and return its output; end with its messages where it fails."""
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command[:4]))}: exit {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def run_tests(python: Path, scratch: Path, whole_pyserini: bool) -> str:
    """Run tests and examples of plugins and the service's clients outside the checkout; return the report."""
    tests = scratch / "tests"
    for name in ("plugins", "service"):
        shutil.copytree(ROOT / "tests" / name, tests / name)
    for name in ("files/test_irds.py", "vectors/test_encoders_by_name.py"):
        shutil.copy(ROOT / "tests" / name, tests / "plugins")
    for file in (ROOT / "tests").glob("*.py"):  # what several folders of tests share
        if file.name != "conftest.py" and not file.name.startswith("test_"):
            shutil.copy(file, tests)
    shutil.copytree(ROOT / "docs" / "guides", scratch / "docs" / "guides")
    files = tests / "plugins", tests / "service" / "test_clients.py"
    # test_lightgbm.py runs with all tests: it needs no framework
    left_out: list[str | Path] = ["--ignore", tests / "plugins" / "test_lightgbm.py"]
    left_out += [] if whole_pyserini else ["--ignore", tests / "plugins" / WHOLE[0], "-k", f"not {WHOLE[1]}"]
    return run(python, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *files, *left_out, folder=scratch)


def main() -> None:
    """Make the environment, install the wheel with the frameworks, and run the tests outside the checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environment", type=Path, help="folder of the environment; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="do not delete the environment")
    parser.add_argument("--whole-pyserini", action="store_true", help="install and test all of Pyserini, with PyTorch")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        environment = given.environment or Path(scratch) / "environment"
        python = environment / "bin" / "python"
        if not python.exists():
            run(sys.executable, "-m", "venv", environment)
        run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", scratch, ROOT, ROOT / "jar")
        wheel = next(Path(scratch).glob("lucene_rerank-*.whl"))
        packages = [f"lucene-rerank[{','.join(EXTRAS)}] @ {wheel.as_uri()}", "pytest", "pandas", *CLIENTS]
        pyserini = PYSERINI[sys.version_info < (3, 12)]
        if given.whole_pyserini:
            packages += [TORCH, pyserini]
        run(python, "-m", "pip", "install", "-q", "--find-links", scratch, *packages)
        if not given.whole_pyserini:
            run(python, "-m", "pip", "install", "-q", "--no-deps", pyserini)
        report = run_tests(python, Path(scratch), given.whole_pyserini)
        print(report)
        if given.environment and not given.keep:
            shutil.rmtree(environment)
    skipped = [line for line in report.splitlines() if line.startswith("SKIPPED") and "RERANK_TEST_" not in line]
    if skipped:
        sys.exit("plugins: expected every framework, got skipped tests. Install the frameworks above.")
    print(f"{', '.join(EXTRAS)}, {pyserini}: {report.splitlines()[-1]}")


if __name__ == "__main__":
    main()
