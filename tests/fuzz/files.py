"""Feed damaged files to every reader: each must give a record, or one of the package's errors in one line.

    python -m tests.fuzz.files [--minutes 1] [--inputs N] [--reader NAME ...] [--seed 0] [--jobs 2] [--findings FOLDER]
    python -m tests.fuzz.files --replay FILE
    python -m tests.fuzz.files --list

Seeds are real files and what the package writes; they are mutated by structure (tests/fuzz/mutations.py). A finding is
any other exception, a message of several lines, a warning, a process that ends, over 5 s, over 1 GB, or a record that
cannot be used or differs once written and read again (tests/fuzz/readers.py). Each is kept in FOLDER with its trace.
Ends with 1 where there are findings.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import logging
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

if TYPE_CHECKING:
    from tests.fuzz.readers import Reader

ROOT = Path(__file__).resolve().parents[2]

SLOWEST, STUCK = 5.0, 60.0  # seconds for one input: of the processor, and of the clock
MEMORY = 1 << 30  # bytes that an input may take beyond what the process had
LONGEST_MESSAGE = 5000  # characters
MOST_RESTARTS = 20
LARGEST_KEPT = 1 << 16  # bytes of an input that is mutated further
WARM_UP = 600.0  # seconds to read the seeds, kernels compiling meanwhile
_STATE = "6d"  # tried, accepted, refused, findings, when the present input began (0: none), whether seeds are done


class State:
    """Counts of a worker in memory that it shares with its parent."""

    names = ("tried", "accepted", "refused", "findings", "began", "warm")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, struct.calcsize(_STATE))

    def __getitem__(self, name: str) -> float:
        return float(struct.unpack(_STATE, self._memory[:])[self.names.index(name)])

    def __setitem__(self, name: str, value: float) -> None:
        offset = 8 * self.names.index(name)
        self._memory[offset : offset + 8] = struct.pack("d", value)

    def add(self, name: str) -> None:
        """Count one more."""
        self[name] = self[name] + 1


@dataclass
class Job:
    """One reader that is fuzzed, by one worker process after another."""

    name: str
    reader: Reader
    folder: Path
    findings: Path
    seed: int
    seconds: float = 60.0
    state: State = field(default_factory=State)
    pid: int = 0
    restarts: int = 0
    started: float = 0.0
    deadline: float = 0.0  # of the job; the time for seeds is not counted
    busy: tuple[float, float] = (0.0, 0.0)  # when the present input began, and the processor's seconds before it
    base_memory: float = 0.0

    @property
    def input(self) -> Path:
        """The file that holds the present input."""
        return self.folder / self.reader.name

    def keep(self, kind: str, where: str, text: str) -> None:
        """Keep the present input as a finding, once for each `where`; the shorter of two."""
        key = hashlib.sha256(f"{kind} {where}".encode()).hexdigest()[:10]
        finding = self.findings / f"{self.name}.{kind}-{key}{self.input.suffix}"
        self.state.add("findings")
        if finding.exists() and finding.stat().st_size <= self.input.stat().st_size:
            return
        self.findings.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.input, finding)
        command = f"python -m tests.fuzz.files --replay {finding}"
        finding.with_name(finding.name + ".log").write_text(f"{command}\n\n{text}\n", encoding="utf8", errors="replace")


def attempt(job: Job, data: bytes) -> str:
    """Feed one input to the reader and return the outcome as a short text; findings are kept."""
    job.input.write_bytes(data)
    job.state.add("tried")
    job.state["began"] = time.time()
    try:
        outcome, kind = _outcome(job)
    finally:
        job.state["began"] = 0.0
    job.state.add(kind) if kind in State.names else job.keep(kind, *outcome)
    return f"{kind} {outcome[0]}"


def _outcome(job: Job) -> tuple[tuple[str, str], str]:
    """Return (where, text) and kind: accepted, refused, or that of a finding."""
    from rerank.errors import RerankError

    try:
        record = job.reader.read(job.input)
    except RerankError as error:
        fault = _message_fault(str(error))
        if fault:
            return (f"{_where(error)} {fault}", f"{fault}: {str(error)[:LONGEST_MESSAGE]!r}"), "message"
        return (_where(error), ""), "refused"
    except Exception as error:
        return (_where(error), traceback.format_exc()), "error"
    try:
        job.reader.check(record, job.folder)
    except Exception as error:
        return (_where(error), traceback.format_exc()), "unusable"
    return ("", ""), "accepted"


def _message_fault(message: str) -> str | None:
    """Return what is wrong with the message of an error, if anything."""
    if len(message.splitlines()) != 1:
        return "a message of several lines"
    if len(message) > LONGEST_MESSAGE:
        return "a message that is too long"
    if not message.isprintable():
        return "a message with control characters"
    return None


def _where(error: BaseException) -> str:
    """Return the type of an error and its location: the innermost frames of the package."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}rerank{os.sep}" in frame.filename] or frames
    locations = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in own[-2:]]
    return f"{type(error).__name__} {' '.join(locations)}"


def work(job: Job, inputs: int | None) -> None:
    """Fuzz one reader, in a process of its own; never returns."""
    log = open(job.folder / "worker.log", "ab", buffering=0)  # noqa: SIM115
    for stream in (1, 2):
        os.dup2(log.fileno(), stream)
    faulthandler.enable(log)
    logging.getLogger("rerank").addHandler(logging.NullHandler())
    for category in (RuntimeWarning, UserWarning):
        warnings.simplefilter("error", category)
    seeds = [path.read_bytes() for path in sorted((job.folder / "seeds").iterdir())]
    for seed in seeds:
        job.input.write_bytes(seed)
        (_, text), kind = _outcome(job)
        if kind != "accepted":
            job.keep("seed", str(kind), f"a seed is not accepted: {kind}\n{text}")
    if not job.reader.java:
        resource.setrlimit(resource.RLIMIT_AS, (_virtual_memory() + MEMORY, resource.RLIM_INFINITY))
    job.state["warm"] = 1.0
    _mutate(job, seeds, job.deadline - time.time() if job.deadline else job.seconds, inputs)
    os._exit(0)


def _virtual_memory() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[0]) * mmap.PAGESIZE


def _mutate(job: Job, seeds: list[bytes], seconds: float, inputs: int | None) -> None:
    """Mutate seeds, and inputs whose outcome was new."""
    random = Random(f"{job.seed} {job.name} {job.restarts}")
    pool, known, end = list(seeds), set[str](), time.time() + seconds
    while time.time() < end and (inputs is None or job.state["tried"] < inputs):
        data = random.choice(pool)
        for _ in range(random.choice((1, 1, 1, 3))):
            data = job.reader.mutate(data, random)
        outcome = attempt(job, data)
        if outcome not in known and len(data) < LARGEST_KEPT:
            known.add(outcome)
            pool.append(data)


def fuzz(jobs: list[Job], inputs: int | None, at_once: int) -> None:
    """Run all jobs, some at a time, and start a worker again where one has died."""
    waiting, running = list(jobs), list[Job]()
    while waiting or running:
        while waiting and len(running) < at_once:
            job = waiting.pop(0)
            _start(job, inputs)
            running.append(job)
        time.sleep(0.05)
        for job in list(running):
            if _has_ended(job, inputs):
                running.remove(job)
                print(
                    f"{job.name}: {int(job.state['tried']):,} inputs, {int(job.state['findings'])} findings", flush=True
                )


def _start(job: Job, inputs: int | None) -> None:
    job.started, job.state["began"], job.state["warm"], job.base_memory = time.time(), 0.0, 0.0, 0.0
    sys.stdout.flush()
    job.pid = os.fork()
    if not job.pid:
        try:
            work(job, inputs)
        except BaseException:
            traceback.print_exc()
        os._exit(3)


def _has_ended(job: Job, inputs: int | None) -> bool:
    """Return whether a worker has ended; kill it if an input takes too much, and start another if it died."""
    pid, status = os.waitpid(job.pid, os.WNOHANG)
    fault = None if pid else _excess(job)
    if not pid and fault is None:
        return False
    if not pid:
        os.kill(job.pid, signal.SIGKILL)
        os.waitpid(job.pid, 0)
    elif status:
        fault = f"the process ended with {os.waitstatus_to_exitcode(status)}"
    if fault is None:
        return True
    log = (job.folder / "worker.log").read_text("utf8", errors="replace")[-4000:]
    job.keep("ended" if pid else "excess", _crash_place(log) if pid else fault.split(" ")[0], f"{fault}\n\n{log}")
    job.restarts += 1
    seconds_left = job.deadline - time.time()
    if job.restarts > MOST_RESTARTS or seconds_left <= 0 or (inputs is not None and job.state["tried"] >= inputs):
        return True
    _start(job, inputs)
    return False


def _crash_place(log: str) -> str:
    """Return the first frames of the package that faulthandler named."""
    locations = [line.strip() for line in log.splitlines() if line.strip().startswith("File ") and "/rerank/" in line]
    return " ".join(locations[-60:][:2])


def _processor_seconds(pid: int) -> float:
    try:
        parts = Path(f"/proc/{pid}/stat").read_text("utf8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def _excess(job: Job) -> str | None:
    """Return which limit an input exceeds, None if none."""
    began = job.state["began"]
    if not job.state["warm"]:
        return "seeds take too long" if time.time() - job.started > WARM_UP else None
    job.deadline = job.deadline or time.time() + job.seconds
    if began and job.busy[0] != began:
        job.busy = (began, _processor_seconds(job.pid))
    waited = time.time() - began if began else 0.0
    if waited > STUCK or (waited > SLOWEST and _processor_seconds(job.pid) - job.busy[1] > SLOWEST):
        return f"seconds: more than {SLOWEST:g}"
    try:
        memory = int(Path(f"/proc/{job.pid}/statm").read_text("ascii").split()[1]) * mmap.PAGESIZE
    except (OSError, IndexError):
        return None
    job.base_memory = job.base_memory or memory
    most = MEMORY * (3 if job.reader.java else 1)
    return f"memory: {memory - job.base_memory:,} bytes more" if memory - job.base_memory > most else None


def in_child(function: Callable[[], Any]) -> None:
    """Do some work in a process of its own, so that this one starts neither threads nor Java."""
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            function()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit("fuzz: making seeds failed")


def prepare(names: list[str], work_folder: Path, options: argparse.Namespace) -> list[Job]:
    """Return the jobs, their seeds made."""
    from tests.fuzz.readers import READERS, build_base_index

    if any(map(_needs_index, names)):
        in_child(lambda: build_base_index(work_folder))
    seconds = 60 * options.minutes * min(options.jobs, len(names)) / len(names)
    jobs = []
    for name in names:
        folder = work_folder / name
        (folder / "seeds").mkdir(parents=True)
        job = Job(name, READERS[name], folder, options.findings, options.seed, seconds)
        in_child(lambda job=job: _write_seeds(job))
        jobs.append(job)
    return jobs


def _needs_index(name: str) -> bool:
    """Return whether a reader uses the base index, whose building starts Java."""
    return not name.startswith(("qrels", "run", "topics"))


def _write_seeds(job: Job) -> None:
    for number, seed in enumerate(job.reader.seeds(job.folder.parent)):
        (job.folder / "seeds" / f"{number:03d}").write_bytes(seed)


def replay(file: Path) -> int:
    """Feed a kept input to its reader in this process, and print the outcome."""
    from tests.fuzz.readers import READERS, build_base_index

    name = file.name.split(".")[0]
    with tempfile.TemporaryDirectory() as scratch:
        if _needs_index(name):
            in_child(lambda: build_base_index(Path(scratch)))
        job = Job(name, READERS[name], Path(scratch) / name, Path(scratch) / "findings", 0)
        job.folder.mkdir()
        job.input.write_bytes(file.read_bytes())
        (where, text), kind = _outcome(job)
    print(f"{file}: {kind} {where}\n{text}")
    return int(kind not in ("accepted", "refused"))


def main() -> None:
    """Fuzz and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0, help="of the whole run, for all readers")
    parser.add_argument("--inputs", type=int, help="for each reader, at most")
    parser.add_argument(
        "--reader", action="append", metavar="NAME", help="one reader, or all whose names begin so; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="readers at a time")
    parser.add_argument("--findings", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--replay", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true", help="print the readers' names")
    options = parser.parse_args()
    import numba.np.linalg  # noqa: F401 - once, not in each of the processes that are forked
    import scipy.stats  # noqa: F401

    from tests.fuzz.readers import READERS

    if options.replay:
        sys.exit(replay(options.replay))
    names = [name for name in READERS if not options.reader or name.startswith(tuple(options.reader))]
    if options.list or not names:
        print("\n".join(READERS))
        sys.exit(0 if options.list else 2)
    with tempfile.TemporaryDirectory() as scratch:
        jobs = prepare(names, Path(scratch), options)
        fuzz(jobs, options.inputs, options.jobs)
    sys.exit(_report(jobs, options.findings))


def _report(jobs: list[Job], findings: Path) -> int:
    columns = ("tried", "accepted", "refused", "findings")
    rows = [[job.name, *(int(job.state[name]) for name in columns), job.restarts] for job in jobs]
    total = ["all", *(sum(row[column] for row in rows) for column in range(1, 6))]
    print(tabulate([*rows, total], headers=["reader", *columns, "restarts"], intfmt=","))
    finding = [path for path in sorted(findings.glob("*.log")) if path.name.split(".")[0] in {job.name for job in jobs}]
    if total[4]:
        for path in finding:
            lines = path.read_text("utf8").strip().splitlines()
            print(f"{lines[0]}\n    {lines[-1][:300]}")
    return int(total[4] > 0)


if __name__ == "__main__":
    main()
