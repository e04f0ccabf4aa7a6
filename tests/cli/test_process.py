"""What only a process of its own shows: start-up, signals, pipes, and that kernels compile once on a machine."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Command, tree

SCRIPT = str(Path(sys.executable).parent / "rerank")
COMMAND = shlex.quote(SCRIPT)
HEAVY = ("numba", "llvmlite", "jnius", "sklearn", "scipy", "numpy")


def _run(arguments: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,  # of a process that hangs
        check=False,
    )


def _loaded(verbs: list[list[str]], folder: Path) -> list[str]:
    """Return the heavy modules that a process holds after these commands."""
    code = (
        f"import json, sys; from rerank.cli.main import run; codes = [run(verb) for verb in {verbs!r}]; "
        f"print('\\n' + json.dumps([codes, sorted(set({HEAVY!r}) & set(sys.modules))]))"
    )
    done = _run([sys.executable, "-c", code], folder)
    codes, modules = json.loads(done.stdout.splitlines()[-1])
    assert set(codes) == {0}, done.stderr
    return modules


def test_help_loads_nothing_heavy(world: Path) -> None:
    from rerank.cli.main import VERBS

    assert _loaded([["-h"], *([verb, "-h"] for verb in VERBS)], world) == []


@pytest.mark.parametrize(
    "verb",
    [
        ["evaluate", "qrels.txt", "bm25.run"],
        ["fuse", "bm25.run", "bm25.run", "-o", "{folder}/fused.run"],
        ["doctor", "--qrels", "qrels.txt", "--run", "bm25.run"],
    ],
    ids=["evaluate", "fuse", "doctor"],
)
def test_verbs_over_files_start_without_numba_and_java(world: Path, tmp_path: Path, verb: list[str]) -> None:
    loaded = _loaded([[part.format(folder=tmp_path) for part in verb]], world)
    assert set(loaded) <= {"numpy"}


@pytest.mark.parametrize("program", [[SCRIPT], [sys.executable, "-m", "rerank"]], ids=["script", "module"])
def test_process_says_done_or_whose_fault_it_is(program: list[str], world: Path) -> None:
    good = _run([*program, "evaluate", "qrels.txt", "bm25.run", "-m", "AP"], world)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("run")
    before = tree(world)
    for arguments, message in (
        (["evaluate", "qrels.txt", "none.run"], "none.run: expected a run file, got nothing there. Check the path."),
        (["retrieve", "none", "topics.tsv", "-o", "out"], "none: expected a folder with a Lucene index, got nothing"),
        (["train", "data.npz", "-o", "out", "--metric", "ndgc"], "measure: expected a known name, got 'ndgc'"),
    ):
        bad = _run([*program, *arguments], world)
        assert (bad.returncode, bad.stdout) == (2, "")
        assert bad.stderr.startswith(f"rerank: {message}")
        assert bad.stderr.count("\n") == 1
    assert tree(world) == before


def test_message_is_written_once_when_a_library_configures_logging(tmp_path: Path) -> None:
    code = (
        "import logging; from rerank.cli.main import _log_to_stderr; from rerank.errors import log\n"
        "with _log_to_stderr(logging.INFO): logging.basicConfig(level=logging.INFO); log.info('once')"
    )
    assert _run([sys.executable, "-c", code], tmp_path).stderr == "rerank: once\n"


@pytest.mark.slow("3 s: processes")
def test_broken_pipe_is_no_fault(world: Path, tmp_path: Path) -> None:
    lines = [f"q{query} Q0 d{doc} 1 {-doc}.0 x\n" for query in range(10) for doc in range(3000)]
    (tmp_path / "long.run").write_text("".join(lines))
    command = f"{COMMAND} evaluate {world}/qrels.txt long.run -m AP -m P@1 -m P@2 -m P@3 --per-query --format json"
    for line in (f"{command} | head -1; echo ${{PIPESTATUS[0]}}", f"{command} | true; echo ${{PIPESTATUS[0]}}"):
        done = _run(["bash", "-c", line], tmp_path)
        assert done.stderr == ""
        assert done.stdout.splitlines()[-1] == "0"
    many = _run(["bash", "-c", f"{COMMAND} -q rank model.json data.npz -o - | head -1; echo ${{PIPESTATUS[0]}}"], world)
    assert many.stderr == ""
    assert many.stdout.splitlines()[-1] == "0"


@pytest.mark.skipif(os.name != "posix", reason="a shell closes them")
def test_closed_streams_are_no_fault(world: Path, tmp_path: Path) -> None:
    command = f"{COMMAND} evaluate qrels.txt bm25.run -o"
    for closed, name in (("", "open"), ("<&-", "in"), (">&-", "out"), ("2>&-", "err"), ("<&- >&- 2>&-", "none")):
        done = _run(["bash", "-c", f"{command} {tmp_path / name} {closed}"], world)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
        assert (tmp_path / name).read_text() == (tmp_path / "open").read_text()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_stdout_is_said(world: Path) -> None:
    done = _run(["bash", "-c", f"{COMMAND} evaluate qrels.txt bm25.run > /dev/full"], world)
    assert done.returncode == 2
    assert (
        done.stderr
        == "rerank: stdout: expected an output that can be written, got: No space left on device. Write elsewhere.\n"
    )


def test_files_may_come_by_pipes(world: Path) -> None:
    plain = _run([SCRIPT, "evaluate", "qrels.txt", "bm25.run", "--format", "json"], world)
    piped = _run(["bash", "-c", f"cat bm25.run | {COMMAND} evaluate <(cat qrels.txt) /dev/stdin --format json"], world)
    assert piped.stderr == ""
    figures = [next(iter(json.loads(done.stdout)["runs"].values()), None) for done in (plain, piped)]
    assert figures[0] == figures[1]


def test_stdout_is_utf8_in_any_locale(world: Path, tmp_path: Path) -> None:
    run = os.fsdecode(b"caf\xe9.run")
    (tmp_path / run).write_text("q0 Q0 é 1 1.0 naïve\n", "utf8")
    (tmp_path / "qrels.txt").write_text("q0 0 é 1\n", "utf8")
    for arguments in (["fuse", run, run, "-o", "-"], ["evaluate", "qrels.txt", run]):
        done = subprocess.run(
            [SCRIPT, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert (b"caf\xe9.run" if arguments[0] == "evaluate" else "é".encode()) in done.stdout


@pytest.mark.slow("2 s: processes")
def test_stdout_that_grows_too_large_is_said(world: Path, tmp_path: Path) -> None:
    line = f"ulimit -f 1; {COMMAND} -q rank model.json data.npz -o - > {tmp_path / 'out'}"
    done = _run(["bash", "-c", line], world)
    assert done.returncode == 2
    assert (
        done.stderr == "rerank: stdout: expected an output that can be written, got: File too large. Write elsewhere.\n"
    )


@pytest.mark.slow("3 s: processes")
@pytest.mark.skipif(sys.platform != "linux", reason="limits of addresses are Linux's")
def test_java_starts_where_addresses_are_limited_and_says_so_where_they_are_too_few(world: Path) -> None:
    """As the queues of clusters limit jobs; Java alone would reserve several GB, or end the process."""
    commands = [
        f"ulimit -v {size}; {COMMAND} -q retrieve index topics.tsv -o - | head -1" for size in (2_500_000, 1_000_000)
    ]
    enough, too_few = (_run(["bash", "-c", command], world) for command in commands)
    assert (enough.stdout[:1] != "", enough.stderr) == (True, "")
    assert "memory: expected 1,328 MB of addresses for Java, got" in too_few.stderr
    assert "Raise the limit (ulimit -v)." in too_few.stderr


def _interrupt(arguments: list[str], folder: Path, is_due: Callable[[int], bool]) -> tuple[int, str]:
    """Send Ctrl-C once `is_due` holds for the process; return its exit code and its words."""
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 60
        while not is_due(process.pid) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    finally:
        process.kill()
    assert out == ""
    return process.returncode, err


@pytest.mark.slow("2 s: processes")
def test_ctrl_c_leaves_no_half_index(tmp_path: Path) -> None:
    (tmp_path / "big.jsonl").write_text(
        "".join(json.dumps({"id": f"d{number}", "body": f"word{number} " * 20}) + "\n" for number in range(200_000))
    )
    output = tmp_path / "out"
    output.mkdir()
    done = _interrupt([SCRIPT, "index", "big.jsonl", "-o", "out/index"], tmp_path, lambda _: any(output.iterdir()))
    assert done == (130, "rerank: interrupted\n")
    assert list(output.iterdir()) == []


@pytest.mark.slow("2 s: processes")
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to see what a process has loaded")
def test_ctrl_c_leaves_no_half_model(world: Path, tmp_path: Path) -> None:
    def has_loaded_numba(process: int) -> bool:
        return "llvmlite" in Path(f"/proc/{process}/maps").read_text() and not time.sleep(1.5)

    shutil.copy(world / "data.npz", tmp_path)
    before = tree(tmp_path)
    arguments = [
        SCRIPT,
        "-q",
        "train",
        "data.npz",
        "-o",
        "model.json",
        "-p",
        "n_estimators=1000000",
        "-p",
        "num_leaves=4",
    ]
    assert _interrupt(arguments, tmp_path, has_loaded_numba) == (130, "rerank: interrupted\n")
    assert tree(tmp_path) == before


@pytest.mark.slow("47 s: processes")
def test_kernels_compile_once_on_a_machine_and_this_is_said(world: Path, tmp_path: Path) -> None:
    message = "rerank: compiling kernels, once on this machine (up to a minute) ...\n"
    arguments = [SCRIPT, "train", "data.npz", "-o", str(tmp_path / "m.json"), *SMALL]
    first = _run(arguments, world, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    compiled = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nb[ci]")}
    second = _run(arguments, world, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert first.returncode == second.returncode == 0
    assert first.stderr.count(message) == 1
    assert compiled
    assert "compiling" not in second.stderr
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nb[ci]")} == compiled


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            RecursionError("maximum recursion depth exceeded"),
            1,
            "internal error: expected calls that end, got: maximum",
        ),
        (
            MemoryError("Unable to allocate 22.\nGiB"),
            2,
            "memory: expected enough for the input, got: Unable to allocate",
        ),
        (MemoryError(), 2, "memory: expected enough for the input, got: none left. Give less"),
    ],
)
def test_what_no_verb_catches_is_one_line(
    error: Exception, code: int, words: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise error

    monkeypatch.setattr("rerank.files.inputs.read_qrels", fails)
    done = command("evaluate qrels.txt bm25.run")
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1)
    assert done.err.startswith(f"rerank: {words}")
