"""A process that lacks what Windows lacks: every module is imported, and what needs no Java writes and reads files.

`python -X warn_default_encoding -m tests.runtime.windows FOLDER`. No signal SIGHUP, no flock, no limit of open files. A
file that this process has open or mapped can be neither renamed nor removed, and text has an encoding that is named.
"""

import contextlib
import os
import signal
import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

GONE = ("fcntl", "resource")


def _place(path: str | bytes, folder: int) -> str:
    """Return the path of a file, which may be given in an open folder, without links in its folder."""
    parent, name = os.path.split(os.fsdecode(path))
    return os.path.join(os.path.realpath(parent if folder == -1 else f"/proc/self/fd/{folder}"), name)


def _is_used(path: str) -> bool:
    """Return whether this process has a file, or one in a folder, open or mapped."""
    used = [line.split(maxsplit=5)[5].rstrip("\n") for line in open("/proc/self/maps", encoding="utf8") if "/" in line]  # noqa: SIM115
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            used.append(os.readlink(f"/proc/self/fd/{number}"))
    return any((name == path and not os.path.isdir(path)) or name.startswith(f"{path}/") for name in used)


def _refuse(event: str, given: tuple[object, ...]) -> None:
    """Refuse to rename and remove what is used, and to rename to a folder that exists."""
    if event not in ("os.rename", "os.remove"):
        return
    is_move = event == "os.rename"
    paths = [_place(given[0], given[2 if is_move else 1])]  # type: ignore[arg-type]
    if is_move:
        paths.append(_place(given[1], given[3]))  # type: ignore[arg-type]
    if any(map(_is_used, paths)) or (is_move and os.path.isdir(paths[1])):
        raise PermissionError(13, "used by a process", paths[0])


def _modules() -> list[str]:
    import rerank

    root = Path(rerank.__file__).parent
    files = (path.relative_to(root.parent).with_suffix("").parts for path in root.rglob("*.py"))
    return sorted(".".join(parts).removesuffix(".__init__") for parts in files if parts[-1] != "__main__")


def import_all() -> int:
    """Import all modules but those of plugins whose frameworks are not installed; return their number."""
    n_imported = 0
    for name in _modules():
        try:
            import_module(name)
            n_imported += 1
        except ModuleNotFoundError as error:
            if str(error.name).partition(".")[0] in ("rerank", *GONE):
                raise
    return n_imported


def work(folder: Path) -> None:
    """Train on arrays, store, evaluate, and replace each file and folder once."""
    import rerank
    from rerank.errors import InvalidInputError
    from rerank.experiments.study import staged_output
    from rerank.files.topics import write_topics
    from rerank.runtime.mapped_rows import temporary_array
    from rerank.runtime.output import replace_folder, staged_folder

    X = np.arange(96, dtype=np.float32).reshape(48, 2) % 7
    labels = X[:, 0] > 3
    queries = np.arange(6).astype(str)
    docs = np.array([f"d{row}" for row in range(48)])
    data = rerank.RankingData(queries, np.arange(0, 49, 8), docs, X, ("a", "b"), labels.astype(np.float64))
    for _ in range(2):
        rerank.LambdaMART(n_estimators=2).fit(data).save(folder / "model.json")
        for name in ("data.svm", "data.svm.gz", "data.npz"):
            rerank.write_data(data, folder / name)
        read = rerank.read_data(folder / "data.npz")
        run = rerank.read_model(folder / "model.json").rank(read)
        rerank.write_run(run, folder / "wärm.run")
        rerank.write_qrels({"0": {"dä": 1}}, folder / "qrels.txt")
        write_topics({"0": "wärm"}, folder / "topics.tsv")
        rerank.evaluate(rerank.read_qrels(folder / "qrels.txt"), rerank.read_run(folder / "wärm.run"), ["AP"])
        with staged_folder(folder / "built", partial(replace_folder, foreign=lambda _: ()), InvalidInputError) as new:
            (new / "part.txt").write_bytes(b"part\n")
        with staged_output(folder / "study", "last.txt") as new:
            (new / "last.txt").write_bytes(b"last\n")
    assert temporary_array((3, 4), np.float32, "rows").sum() == 0.0
    assert not [path for path in folder.rglob("*") if ".part" in path.name]


def serve(folder: Path) -> None:
    """Append to the log of queries, and refuse several processes in one line."""
    from rerank.errors import InvalidInputError
    from rerank.service import server
    from rerank.service.querylog import Appender, LoggedLines, folder_key
    from rerank.service.settings import Settings

    assert folder_key(folder / "log") == folder_key(folder / "log")
    entry = [
        LoggedLines("events.jsonl", b'{"query_id":"1"}\n'),
        LoggedLines("features.svm", b"1 qid:1 1:2\n", b"# header\n"),
    ]
    (folder / "log" / "events.jsonl").write_bytes(b"left by a process that was kil")
    appender = Appender(folder / "log")
    assert all(appender.put(entry).result(5.0) for _ in range(2))
    appender.close()
    for lines in entry:
        assert (folder / "log" / lines.name).read_bytes() == lines.header + 2 * lines.content
    server.bound_socket("127.0.0.1", 0).close()
    server._allow_files()
    server._at_hangup(None)
    try:
        server.serve(Settings(folder, workers=2))
    except InvalidInputError as error:
        assert "expected 1 on Windows, got 2" in str(error)  # noqa: PT017
    else:
        raise AssertionError("two workers")


if __name__ == "__main__":
    sys.modules |= dict.fromkeys(GONE)  # type: ignore[arg-type]
    del signal.SIGHUP, os.O_NONBLOCK, os.O_CLOEXEC, os.posix_fallocate
    n_modules = import_all()
    warnings.filterwarnings("error", category=EncodingWarning, module=r"rerank\b")
    sys.addaudithook(_refuse)
    work(Path(sys.argv[1]))
    if find_spec("fastapi"):
        serve(Path(sys.argv[1]))
    sys.stdout.write(f"{n_modules}\n")
