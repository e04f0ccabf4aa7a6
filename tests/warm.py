"""Commands and programs of examples, run one after the other in one process that keeps the package, Java and kernels.

A `rerank` command as a process of its own costs 20 to 40 times the same call in a process that has run one before.
Run: python -m tests.warm DESCRIPTOR, of a socket that listens
"""

from __future__ import annotations

import json
import os
import socket
import sys
import traceback
from pathlib import Path

# What `rerank` is on the PATH of an example: it hands its arguments, folder and streams to the process at the socket.
# `serve`, which an example stops, and commands that start the processes of a cluster remain processes of their own.
# The second line is a command of the shell and a text of Python: a first line cannot name a path with blanks.
SHIM = """#!/bin/sh
'''exec' "{python}" -SE "$0" "$@" #'''
import array, json, os, socket, sys
if "serve" in sys.argv[1:2] or "--cluster" in sys.argv:
    os.execv({python!r}, [{python!r}, "-m", "rerank", *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as process:
    process.connect({address!r})
    request = json.dumps({{"folder": os.getcwd(), "arguments": sys.argv[1:]}}).encode()
    streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    process.sendmsg([len(request).to_bytes(4, "big")], streams)
    process.sendall(request)
    sys.exit(int(process.recv(8) or b"1"))
"""


def write_shim(path: Path, address: Path) -> None:
    """Write the `rerank` command whose process listens at the address."""
    path.write_text(SHIM.format(python=sys.executable, address=str(address)), "utf8")
    path.chmod(0o755)


def ask(address: Path, folder: Path, program: str, out: int, err: int) -> int:
    """Run a Python program in the process at the address; return its exit code."""
    request = json.dumps({"folder": str(folder), "program": program}).encode()
    with socket.socket(socket.AF_UNIX) as process, open(os.devnull) as empty:
        process.connect(str(address))
        socket.send_fds(process, [len(request).to_bytes(4, "big")], [empty.fileno(), out, err])
        process.sendall(request)
        return int(process.recv(8) or b"1")


def answer(descriptor: int) -> None:
    """Answer requests until the process is ended."""
    own = [os.dup(stream) for stream in range(3)]
    with socket.socket(fileno=descriptor) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                size, streams, _, _ = socket.recv_fds(connection, 4, 3)
                request = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
                _connect(streams)
                code = _run(request)
                _connect(own)
                connection.sendall(str(code).encode())
            for stream in streams:
                os.close(stream)


def _connect(streams: list[int]) -> None:
    """Make these file descriptors standard input, output and error; a stream knows whether it is a pipe."""
    sys.stdout.flush()
    sys.stderr.flush()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdout = open(1, "w", encoding="utf8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf8", closefd=False, buffering=1)  # noqa: SIM115


def _run(request: dict[str, object]) -> int:
    """Run a command or a program in its folder; return the exit code."""
    from rerank.cli.main import run

    os.chdir(str(request["folder"]))
    sys.path.insert(0, str(request["folder"]))
    before = set(sys.modules)
    try:
        if "program" in request:
            exec(compile(str(request["program"]), "example", "exec"), {"__name__": "__main__"})
            return 0
        return run([str(argument) for argument in request["arguments"]])  # type: ignore[attr-defined]
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1
    finally:  # modules of the folder are not those of the next one
        sys.path.remove(str(request["folder"]))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(request["folder"])):
                del sys.modules[name]


if __name__ == "__main__":
    answer(int(sys.argv[1]))
