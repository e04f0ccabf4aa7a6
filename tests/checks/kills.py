"""Kill every verb that writes at many moments: no incomplete output may be left, and a rerun completes the work.

    python -m tests.checks.kills [--moments 200] [--verb NAME ...] [--seed 0] [--jobs 2] [--no-mounts]

Half of the moments are drawn over the time that a verb takes, half over its changes of files (before each file that is
opened for writing, renamed or removed). After each kill -9: what stands under the final name is nothing, what stood
there before, or whole; the same command then ends well, with the bytes of a run that nobody disturbed, and leaves no
temporary file. Then: files that may not grow and disks that are full at many sizes, folders that are read-only (both on
small mounts, which need root; else file sizes are limited), and two builds of one index at once. Ends with 1 where
anything is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tabulate import tabulate

from tests.checks import ROOT
from tests.examples import write_collection

LONGEST = 600.0  # seconds of one command
PROVENANCE = ".provenance.json"  # holds dates: what is compared are its labels
CHANGING = {"verified.json", "lucene.json"}  # times of files
JUDGES = """
def judge(query, text):
    return sum(word in text.split() for word in query.split())
"""
KILLER = """
import os, signal, sys
path, count, last = os.environ["CHECK_KILLS_FOLDER"], 0, int(os.environ.get("CHECK_KILLS_AT", "0"))
def see(event, arguments):
    global count
    if event == "open":
        if not isinstance(arguments[2], int) or not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
    elif event not in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink"):
        return
    if not str(arguments[0]).startswith(path):
        return
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    if not last:
        with os.fdopen(os.open(os.environ["CHECK_KILLS_COUNT"], os.O_WRONLY | os.O_APPEND), "w") as file:
            file.write(".")
if __import__("multiprocessing").parent_process() is None:
    sys.addaudithook(see)
"""


@dataclass(frozen=True)
class Verb:
    """A command; `{in}` is the folder of inputs, `{out}` that of outputs.

    outputs  final names in {out}
    before   words of the command and what replaces them in an earlier run, whose outputs exist already
    """

    command: str
    outputs: tuple[str, ...]
    before: tuple[str, str] | None = None


JUDGE = "judge {in}/index {in}/topics.tsv -k 6 --judge judges:judge -o {out}/labels.txt"
JUDGED = ("labels.txt", "labels.txt.provenance.json")
INDEX = "--threads 1 index {in}/docs.jsonl -o {out}/index"
RETRIEVE = "retrieve {in}/index {in}/topics.tsv -k 20 -o {out}/a.run"
FEATURES = "{in}/topics.tsv {in}/bm25.run --qrels {in}/qrels.txt -o {out}/"
STUDY = "experiment {in}/index {in}/topics.tsv {in}/qrels.txt -k 20 -p n_estimators=3 --folds 3 -o {out}/study"
VERBS = {
    "index": Verb(INDEX, ("index",)),
    "index --overwrite": Verb(f"{INDEX} --overwrite", ("index",), ("docs.jsonl", "others.jsonl")),
    "retrieve": Verb(RETRIEVE, ("a.run",)),
    "retrieve, again": Verb(RETRIEVE, ("a.run",), ("20", "10")),
    "arrays on first use": Verb("features {out}/bare " + FEATURES + "data.npz", ("data.npz", "bare/rerank")),
    "features": Verb("features {in}/index " + FEATURES + "data.npz", ("data.npz",)),
    "features as text": Verb("features {in}/index " + FEATURES + "data.svm.gz", ("data.svm.gz",)),
    "train": Verb("train {in}/data.npz -p n_estimators=5 -o {out}/model.json", ("model.json",)),
    "rank": Verb("rank {in}/model.json {in}/data.npz -o {out}/b.run", ("b.run",)),
    "rerank": Verb("rerank {in}/index {in}/model.json {in}/topics.tsv -k 20 -o {out}/b.run", ("b.run",)),
    "evaluate": Verb("evaluate {in}/qrels.txt {in}/bm25.run {in}/other.run -o {out}/table.txt", ("table.txt",)),
    "report": Verb("evaluate {in}/qrels.txt {in}/bm25.run {in}/other.run -o {out}/page.html", ("page.html",)),
    "fuse": Verb("fuse {in}/bm25.run {in}/other.run -o {out}/fused.run.gz", ("fused.run.gz",)),
    "experiment": Verb(STUDY, ("study",)),
    "judge": Verb(JUDGE, JUDGED),
    "judge, again": Verb(JUDGE, JUDGED, ("-k 6", "-k 3")),
    "compile": Verb("compile", ()),
}
WRONG = ("half-written", "rerun fails", "bytes differ", "left over")


class Bench:
    """Inputs, and commands that run on them in folders of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.inputs = folder, folder / "in"
        self.inputs.mkdir()
        (folder / "site").mkdir()
        (folder / "site" / "sitecustomize.py").write_text(KILLER, "utf8")
        write_collection(self.inputs)
        documents = (self.inputs / "docs.jsonl").read_text("utf8").splitlines(keepends=True)
        (self.inputs / "others.jsonl").write_text("".join(documents[::2]), "utf8")
        (self.inputs / "judges.py").write_text(JUDGES, "utf8")
        for verb in ("index", "retrieve", "features", "train"):
            self.run(VERBS[verb], self.inputs, check=True)
            if verb == "retrieve":
                (self.inputs / "a.run").rename(self.inputs / "bm25.run")
        lines = [line.split() for line in (self.inputs / "bm25.run").read_text("utf8").splitlines()]
        other = [f"{q} Q0 {doc} {rank} {1 / (1 + int(rank)) + len(doc):.6f} other\n" for q, _, doc, rank, *_ in lines]
        (self.inputs / "other.run").write_text("".join(other), "utf8")

    def words(self, verb: Verb, out: Path, before: bool = False) -> list[str]:
        """Return the command line of a verb."""
        text = verb.command.replace(*verb.before) if before and verb.before else verb.command
        filled = [word.replace("{in}", str(self.inputs)).replace("{out}", str(out)) for word in text.split()]
        return [sys.executable, "-m", "rerank", "-q", *filled]

    def start(
        self, verb: Verb, out: Path, *, before: bool = False, kill_at: int | None = None, **popen: object
    ) -> subprocess.Popen[str]:
        """Start a verb; kill_at 0 counts its changes of files, another number kills it before that change."""
        paths = [str(ROOT), str(self.inputs)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "RERANK_CACHE": str(out / "cache")}
        if verb is VERBS["compile"]:
            environment["NUMBA_CACHE_DIR"] = str(out / "numba")
        if kill_at is not None:
            environment["PYTHONPATH"] = os.pathsep.join((str(self.folder / "site"), *paths))
            environment |= {"CHECK_KILLS_FOLDER": f"{out}{os.sep}", "CHECK_KILLS_AT": str(kill_at)}
            environment["CHECK_KILLS_COUNT"] = str(self.folder / f"{out.name}.count")
            (self.folder / f"{out.name}.count").touch()
        return subprocess.Popen(
            self.words(verb, out, before),
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=out,
            **popen,  # type: ignore[call-overload]
        )

    def run(self, verb: Verb, out: Path, *, check: bool = False, **how: object) -> tuple[int, str]:
        """Run a verb to its end; return exit code and stderr."""
        process = self.start(verb, out, **how)  # type: ignore[arg-type]
        try:
            _, errors = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, errors = process.communicate()
            return 124, "took too long"
        if check and process.returncode:
            sys.exit(f"kills: {verb.command}: {errors}")
        return process.returncode, errors

    def fresh(self, name: str, verb: Verb) -> Path:
        """Return a new folder for outputs, with what a verb changes there."""
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if "{out}/bare" in verb.command:
            shutil.copytree(self.inputs / "index", out / "bare", ignore=shutil.ignore_patterns("rerank"))
        if verb.before:
            self.run(verb, out, check=True, before=True)
        return out


def contents(path: Path) -> dict[str, str]:
    """Return the digest of each file at a path, by name: of an index, and of its arrays.

    Temporary files are left out: whether one is left over is checked after the rerun.
    """
    if path.is_file():
        content = path.read_bytes()
        if path.name.endswith(PROVENANCE):
            judges = json.loads(content)["judges"]
            content = json.dumps({name: share["labels"] for name, share in judges.items()}).encode()
        return {path.name: _digest(content)}
    results = {}
    for file in sorted(path.rglob("*")):
        name = str(file.relative_to(path))
        if not file.is_file() or file.name in CHANGING or _is_lucene(file) or _is_temporary(file.name):
            continue
        content = file.read_bytes()
        if file.name == "forward.npz":  # the commit holds Lucene's random ids
            with np.load(file) as arrays:
                about = {**json.loads(arrays["about"].tobytes()), "commit": ""}
                parts = [arrays[name].tobytes() for name in sorted(arrays.files) if name != "about"]
            content = json.dumps(about).encode() + b"".join(parts)
        results[name] = _digest(content)
    return results


def _is_lucene(file: Path) -> bool:
    """Return whether a file is Lucene's, which hold random ids and times."""
    return file.name == "write.lock" or file.name.startswith(("segments_", "_")) or file.suffix in (".si", ".cfs")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def all_contents(out: Path, verb: Verb) -> dict[str, dict[str, str]]:
    """Return the contents of those outputs that are there."""
    return {name: contents(out / name) for name in verb.outputs if (out / name).exists()}


def stale(out: Path) -> list[str]:
    """Return the names of temporary files below a folder."""
    return [str(path.relative_to(out)) for path in out.rglob("*") if _is_temporary(path.name)]


def _is_temporary(name: str) -> bool:
    return name.startswith(".") and ".part" in name


class Kills:
    """Kills one verb at many moments."""

    def __init__(self, bench: Bench, name: str, seed: int) -> None:
        self.bench, self.name, self.verb = bench, name, VERBS[name]
        self.tally, self.notes = Counter[str](), list[str]()
        self.draw = random.Random(f"{seed} {name}")
        out = bench.fresh(f"{_plain(name)}-whole", self.verb)
        self.earlier = all_contents(out, self.verb)
        code, errors = bench.run(self.verb, out, kill_at=0)  # warm, and counts the changes
        self.n_changes = len((bench.folder / f"{out.name}.count").read_text("ascii"))
        if code:
            sys.exit(f"kills: {name}: {errors}")
        self.whole = all_contents(out, self.verb)
        out = bench.fresh(f"{_plain(name)}-timed", self.verb)
        start = time.perf_counter()
        bench.run(self.verb, out, check=True)
        self.seconds = time.perf_counter() - start
        if all_contents(out, self.verb) != self.whole:
            self.notes.append("two undisturbed runs differ")

    def at(self, number: int, of: int) -> None:
        """Kill at the moment `number` of `of`: a change of files, or a time."""
        out = self.bench.fresh(f"{_plain(self.name)}-{number}", self.verb)
        n_by_change = min(of // 2, 2 * self.n_changes)
        if number < n_by_change:
            change = self.n_changes - number * self.n_changes // n_by_change  # the last ones are of the final names
            process = self.bench.start(self.verb, out, kill_at=change)
            self.tally["by change"] += 1
            process.communicate()
            moment = f"change {change} of {self.n_changes}"
        else:
            share = (number - n_by_change + self.draw.random()) / (of - n_by_change)
            process = self.bench.start(self.verb, out)
            self.tally["by time"] += 1
            time.sleep(self.seconds * share)
            moment = f"{self.seconds * share:.2f} s of {self.seconds:.2f}"
        with _no_process():
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.tally["killed"] += process.returncode == -signal.SIGKILL
        self._look(out, moment)
        shutil.rmtree(out)

    def _look(self, out: Path, moment: str) -> None:
        """See what the kill left, and run the command again."""
        for name, there in all_contents(out, self.verb).items():
            if not self._fits(name, there):
                self._note("half-written", moment, name)
        is_study = (out / "study" / "settings.json").exists()  # whole: nothing replaces it
        code, errors = (0, "") if is_study else self.bench.run(self._rerun(out), out)
        if code:
            self._note("rerun fails", moment, f"{code}: {errors[-300:]}")
        elif all_contents(out, self.verb) != self.whole:
            self._note("bytes differ", moment, "")
        if left := stale(out):
            self._note("left over", moment, str(left[:3]))

    def _note(self, fault: str, moment: str, text: str) -> None:
        self.tally[fault] += 1
        self.notes.append(f"{moment}: {fault} {text}")

    def _fits(self, name: str, there: dict[str, str]) -> bool:
        """Return whether an output is whole: a study is, file by file, once it has its settings."""
        whole, earlier = self.whole.get(name), self.earlier.get(name)
        if name == "study":
            if "settings.json" in there:
                return there in (whole, earlier)
            return all(digest in (_of(whole, part), _of(earlier, part)) for part, digest in there.items())
        return there in (whole, earlier)

    def _rerun(self, out: Path) -> Verb:
        """Return the command of the rerun: an index that became whole before the kill must be overwritten."""
        if self.name == "index" and (out / "index").exists():
            return VERBS["index --overwrite"]
        return self.verb


def _of(files: dict[str, str] | None, part: str) -> str | None:
    return (files or {}).get(part)


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


@contextmanager
def _no_process() -> Iterator[None]:
    """Let what has ended be ended."""
    try:
        yield
    except ProcessLookupError:
        return


# Disks that are full, folders that are read-only, two builds at once


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    """Yield a folder on a disk of its own of so many bytes."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True, capture_output=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def can_mount(folder: Path) -> bool:
    """Return whether this process may mount."""
    try:
        with small_disk(folder / "try", 1 << 16):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def refused_well(code: int, errors: str, out: Path, verb: Verb) -> str | None:
    """Return what is wrong after a command that the system refused: one line of error, exit code 2, nothing left."""
    lines = [line for line in errors.splitlines() if ", got: " in line]  # warnings of the work come before it
    if code != 2:
        return f"ends with {code}: {errors[-400:]}"
    if len(lines) != 1:
        return f"{len(lines)} lines: {errors[-400:]}"
    there = [name for name in verb.outputs if (out / name).exists() and not name.startswith("study")]
    return f"left: {there + stale(out)}" if there + stale(out) else None


def full_disk(bench: Bench, mounts: bool, shares: Sequence[float]) -> Iterator[list[object]]:
    """Yield how each verb does where files may not grow, and on full disks, at some shares of what it needs."""
    for name, verb in VERBS.items():
        if verb.before or not verb.outputs or name == "arrays on first use":
            continue
        out = bench.fresh("needs", verb)
        bench.run(verb, out, check=True)
        sizes = [path.stat().st_size for path in out.rglob("*") if path.is_file()]
        faults: list[str] = []
        tried = 0
        for share in shares:
            limit = max(int(max(sizes) * share), 64)  # semaphores of other packages need 32
            target = bench.fresh("limited", verb)
            code, errors = bench.run(verb, target, preexec_fn=_limit(limit))
            faults += filter(None, [refused_well(code, errors, target, verb)])
            tried += 1
            if mounts:
                with small_disk(bench.folder / "disk", max(int(sum(sizes) * share) & -4096, 4096)) as disk:
                    code, errors = bench.run(verb, disk)
                    if code:  # an index needs less in the end than the folder's files: what fits is right too
                        faults += filter(None, [refused_well(code, errors, disk, verb)])
                tried += 1
        yield [name, tried, len(faults), *faults[:2]]


def _limit(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def read_only(bench: Bench) -> Iterator[list[object]]:
    """Yield how each verb does where its folder cannot be written."""
    for name, verb in VERBS.items():
        if verb.before or not verb.outputs or name == "arrays on first use":
            continue
        with small_disk(bench.folder / "disk", 1 << 20) as disk:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
            code, errors = bench.run(verb, disk)
            fault = refused_well(code, errors, disk, verb)
        yield [name, 1, int(fault is not None), *([fault] if fault else [])]


def together(bench: Bench, rounds: int) -> Iterator[list[object]]:
    """Yield how two builds of one index, of different documents, end: one wins or is refused, and none is mixed."""
    first, second = VERBS["index"], Verb(VERBS["index"].command.replace("docs.jsonl", "others.jsonl"), ("index",))
    for overwrite in (False, True):
        verbs = [Verb(verb.command + " --overwrite" * overwrite, verb.outputs) for verb in (first, second)]
        wholes = []
        for verb in verbs:
            out = bench.fresh("alone", verb)
            bench.run(verb, out, check=True)
            wholes.append(all_contents(out, verb))
        faults, won = [], [0, 0]
        for _ in range(rounds):
            out = bench.fresh("together", first)
            processes = [bench.start(verb, out) for verb in verbs]
            ends = [(process.communicate()[1], process.returncode) for process in processes]
            there = all_contents(out, first)
            codes = [code for _, code in ends]
            if there not in wholes:
                faults.append("the index is mixed or missing")
            elif 0 not in codes or any(code not in (0, 2) for code in codes):
                faults.append(f"exit codes {codes}: {ends[0][0][-200:]} {ends[1][0][-200:]}")
            elif codes[wholes.index(there)] != 0:
                faults.append("the index of the build that was refused is there")
            elif stale(out):
                faults.append(f"left over: {stale(out)[:3]}")
            else:
                won[wholes.index(there)] += 1
        name = "two builds at once" + ", --overwrite" * overwrite
        yield [f"{name} (won {won[0]} : {won[1]})", rounds, len(faults), *faults[:2]]


def main() -> None:
    """Kill, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=200, help="for all verbs together")
    parser.add_argument("--verb", action="append", choices=list(VERBS), help="one verb; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="commands at a time")
    parser.add_argument("--no-mounts", action="store_true", help="limit sizes of files alone, mount nothing")
    parser.add_argument("--kills-only", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as scratch:
        bench = Bench(Path(scratch))
        wrong = _report_kills(bench, given)
        if not given.kills_only:
            wrong += _report_refusals(bench, not given.no_mounts and can_mount(bench.folder))
    sys.exit(min(wrong, 1))


def _report_kills(bench: Bench, given: argparse.Namespace) -> int:
    names = given.verb or list(VERBS)
    share = max(given.moments // len(names), 1)
    kills = [Kills(bench, name, given.seed) for name in names]
    with ThreadPoolExecutor(given.jobs) as pool:
        moments = [(kill, number) for number in range(share) for kill in kills]
        for _ in pool.map(lambda moment: moment[0].at(moment[1], share), moments):
            pass
    columns = ("by time", "by change", "killed", *WRONG)
    rows = [[kill.name, kill.seconds, *(kill.tally[column] for column in columns)] for kill in kills]
    total = ["all", *(sum(row[position] for row in rows) for position in range(1, len(rows[0])))]
    print(tabulate([*rows, total], headers=["verb", "s", *columns], floatfmt=".1f"), flush=True)
    notes = [f"{kill.name}: {note}" for kill in kills for note in kill.notes]
    print("\n".join(notes))
    return len(notes)


def _report_refusals(bench: Bench, mounts: bool) -> int:
    wrong = _print("Files that may not grow" + ", full disks" * mounts, full_disk(bench, mounts, (0.0, 0.5, 0.9)))
    if mounts:
        wrong += _print("Read-only folders", read_only(bench))
    return wrong + _print("Two builds of one index", together(bench, 5))


def _print(what: str, lines: Iterable[list[object]]) -> int:
    """Print a table of (name, tried, wrong, texts of some faults), the texts below it; return how many were wrong."""
    rows = list(lines)
    print(f"\n{tabulate([row[:3] for row in rows], headers=[what, 'tried', 'wrong'])}", flush=True)
    for row in rows:
        for fault in row[3:]:
            print(f"{row[0]}: {fault}")
    return sum(int(str(row[2])) for row in rows)


if __name__ == "__main__":
    main()
