#!/usr/bin/env python
"""Time and memory of each step at growing sizes, and their growth relative to linear.

    scripts/bench_scale.py --parts documents --documents 50000 200000 [--shards 1 4] [--limit BYTES] [--folder FOLDER]
        [--output FILE]

Part `documents` (scripts/scale_documents.py): documents are made of sentences of the real collections and indexed, the
folder is opened, 1,000 real queries are searched (k = 1,000), and the first 100 documents of each get features and are
reranked. Each step is a process of its own; its peak memory is that of /proc: all resident pages (VmHWM), which include
mapped files, and the process's own (the greatest RssAnon seen). `growth` is the time of a size divided by that of the
size before it, divided by the ratio of the sizes: 1 is linear. `--limit` runs search, features and reranking again in a
control group of Linux with so much memory, which its cached files count in, and with no file cached before (as root).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench_common import machine
from tabulate import tabulate

SCRIPTS = Path(__file__).resolve().parent
CGROUPS = Path("/sys/fs/cgroup")
POLL = 0.02  # seconds between two looks at the memory of a step


def step(script: str, *arguments: str | Path | int, group: Path | None = None) -> dict[str, Any]:
    """Run one step as a process, in a control group if one is given; return its JSON, and its peak memory in bytes."""
    command = [sys.executable, str(SCRIPTS / script), *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        if group is not None:
            (group / "cgroup.procs").write_text(str(process.pid))
        peaks = {"VmHWM": 0, "RssAnon": 0}
        while process.poll() is None:
            for name, value in _memory(process.pid).items():
                peaks[name] = max(peaks[name], value)
            time.sleep(POLL)
        printed = process.stdout.read() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    return {**json.loads(printed.splitlines()[-1]), "resident": peaks["VmHWM"], "anonymous": peaks["RssAnon"]}


@contextmanager
def limited(n_bytes: int) -> Iterator[Path]:
    """Yield the folder of a control group with so much memory."""
    first_version = CGROUPS / "memory"
    parent, name = (first_version, "memory.limit_in_bytes") if first_version.exists() else (CGROUPS, "memory.max")
    group = parent / f"bench-scale-{os.getpid()}"
    group.mkdir()
    try:
        (group / name).write_text(str(n_bytes))
        yield group
    finally:
        group.rmdir()


def forget_files() -> None:
    """Have the system drop the files that it has cached."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3")


def _memory(pid: int) -> dict[str, int]:
    """Return the peak of the resident and the present anonymous memory of a process in bytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    values = dict(line.split(":", 1) for line in lines if ":" in line)
    return {name: 1024 * int(values[name].split()[0]) for name in ("VmHWM", "RssAnon") if name in values}


def documents(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Return a line for each step, number of shards and size."""
    lines: list[dict[str, Any]] = []
    for shards in options.shards:
        before: dict[str, dict[str, Any]] = {}
        for size in options.documents:
            index = folder / f"documents-{size}-{shards}"
            for name in ("index", "open", "search", "features", "rerank"):
                line = {"step": name, "shards": shards, "size": size}
                line |= step("scale_documents.py", name, index, size, shards)
                if name in before:
                    ratio = size / before[name]["size"]
                    line["growth"] = line["seconds"] / before[name]["seconds"] / ratio
                before[name] = line
                lines.append(line)
                print(_table([line]), file=sys.stderr, flush=True)
            for name in ("search", "features", "rerank") if options.limit else ():
                forget_files()
                with limited(options.limit) as group:
                    line = step("scale_documents.py", name, index, size, shards, group=group)
                lines.append({"step": f"{name}, limited", "shards": shards, "size": size, **line})
                print(_table(lines[-1:]), file=sys.stderr, flush=True)
    return lines


PARTS: dict[str, Callable[[argparse.Namespace, Path], list[dict[str, Any]]]] = {"documents": documents}


def _table(lines: Sequence[dict[str, Any]]) -> str:
    rows = [
        {
            "step": line["step"],
            "shards": line["shards"],
            "size": f"{line['size']:,}",
            "seconds": f"{line['seconds']:.2f}",
            "us each": f"{1e6 * line['seconds'] / line['size']:.1f}",
            "growth": f"{line['growth']:.2f}" if "growth" in line else "",
            "resident MB": f"{line['resident'] / 2**20:.0f}",
            "anonymous MB": f"{line['anonymous'] / 2**20:.0f}",
            "what": line.get("what", ""),
        }
        for line in lines
    ]
    return str(tabulate(rows, headers="keys", tablefmt="github", disable_numparse=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--documents", nargs="+", type=int, default=[50_000, 200_000])
    parser.add_argument("--shards", nargs="+", type=int, default=[4], help="0 is one Lucene index")
    parser.add_argument("--limit", type=int, help="bytes of memory in which steps run again")
    parser.add_argument("--folder", type=Path, help="where indexes are kept; a temporary folder by default")
    parser.add_argument("--output", type=Path, help="JSON file for the figures")
    options = parser.parse_args()
    about = machine()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        lines = [line for part in options.parts for line in PARTS[part](options, folder)]
    print(_table(lines))
    if options.output is not None:
        options.output.write_text(json.dumps({"machine": about, "lines": lines}, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
