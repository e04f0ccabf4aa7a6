"""Requests to Java: a request is JSON, an answer bytes (see java/rerank/lucene/Bridge.java)."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError, InvalidInputError
from rerank.lucene.commits import damaged_lucene, size_of_files
from rerank.lucene.jvm import Bridge, start_java
from rerank.lucene.shards import check_alike, index_folders
from rerank.runtime.output import FULL, WRITE_ERRORS

_STEP_MS = 100  # milliseconds between two checks for Ctrl-C
_HEADER = 8  # bytes of the status before an answer; the first byte is 0 unless the request failed
_DAMAGES = ("IndexNotFoundException", "CorruptIndexException", "NoSuchFileException", "EOFException")


class JavaError(RuntimeError):
    """An exception of Java that is no error of the user's."""


def ask(op: str, on_wait: Callable[[], None] | None = None, *, at_once: bool = False, **parameters: Any) -> memoryview:
    """Return Java's answer to a request, as bytes.

    Java works on a thread of its own, so that Ctrl-C interrupts it; KeyboardInterrupt is raised when Java has stopped.
    """
    bridge = start_java()
    # Lucene would end a text at a lone surrogate, which is replaced.
    request = json.dumps({"op": op, **parameters}, ensure_ascii=False).encode("utf8", "replace")
    answer = memoryview(bridge.answer_now(request) if at_once else _wait(bridge, request, on_wait))
    if answer[0]:
        raise java_error(json.loads(bytes(answer[_HEADER:])), {"op": op, **parameters})
    return answer[_HEADER:]


def ask_json(op: str, on_wait: Callable[[], None] | None = None, *, at_once: bool = False, **parameters: Any) -> Any:
    """Return Java's answer to a request whose answer is JSON; see `ask`."""
    return json.loads(bytes(ask(op, on_wait, at_once=at_once, **parameters)))


def open_index(folder: Path) -> dict[str, Any]:
    """Open an index, or all its shards as one index.

    Returns the `handle`, which the request `close` releases, the language and the fields that the index stores, and
    `sizes`, the number of documents of each shard.
    """
    shards = index_folders(folder)
    start_java(sum(map(size_of_files, shards)))
    opened = []
    try:
        for shard in shards:
            # an absolute path: Java keeps the working directory of its start
            opened.append(ask_json("open", index=str(shard), path=str(shard.absolute())))
        index: dict[str, Any] = {**opened[0], "sizes": [shard["documents"] for shard in opened]}
        if shards != (folder,):
            check_alike(folder, shards, opened)
            index |= ask_json("join", index=str(folder), handles=[shard["handle"] for shard in opened])
        return index
    except BaseException:
        for shard in opened:
            ask_json("close", handle=shard["handle"])
        raise


def _wait(bridge: Bridge, request: bytes, on_wait: Callable[[], None] | None) -> bytes:
    """Return the answer to a request, which runs on a thread of Java; `on_wait` is called while it runs."""
    thread = bridge.start(request)
    try:
        while thread.isAlive():
            thread.join(_STEP_MS)
            if on_wait is not None:
                on_wait()
    except BaseException:
        thread.interrupt()
        while thread.isAlive():
            thread.join(_STEP_MS)
        bridge.answer(thread)
        raise
    return bridge.answer(thread)


def java_error(report: dict[str, str], parameters: dict[str, Any]) -> Exception:
    """Return the error for an exception of Java; a full disk is an OSError."""
    name = report["class"].rpartition(".")[2]
    message = " ".join(report["message"].split())
    codes = WRITE_ERRORS if name in ("IOException", "FileSystemException") else FULL
    of_disk = next((code for code in codes if os.strerror(code) in message), None)
    if of_disk is not None:
        return OSError(of_disk, os.strerror(of_disk))
    index = parameters.get("index", "index")
    if message == "the index is closed" or "AlreadyClosedException" in f"{name} {message}":  # another thread closed it
        return closed_index(index)
    # Java reports an unknown codec, or a version in the future, as an IllegalArgumentException.
    is_newer = "codecs.Codec" in message or "is in the future" in message
    if name == "IndexFormatTooNewException" or is_newer:
        return IndexFolderError(
            f"{index}: expected an index that the installed Lucene can read, got one of a newer Lucene. "
            "Install a newer lucene-rerank-jar (an installed pyserini's jar comes first: name the newer one in "
            "ANSERINI_JAR), or build the index anew."
        )
    if name == "IndexFormatTooOldException":
        return IndexFolderError(
            f"{index}: expected an index that the installed Lucene can read, got one of an older Lucene. "
            "Build the index anew."
        )
    if name == "InvalidPathException":
        return IndexFolderError(
            f"{index}: expected a path that the locale can write, got one that Java cannot read. Set LC_ALL=C.UTF-8."
        )
    if "Anserini did not build this index" in message:
        return IndexFolderError(
            f"{index}: expected an index that Anserini built, got one whose documents have no field 'id'. "
            "Build the index with `rerank index` or Pyserini."
        )
    if parameters.get("op") == "join" and message.startswith("cannot change field"):
        return IndexFolderError(
            f"{index}: expected shards whose fields are indexed alike, got others ({message}). Build all shards with "
            "the same options."
        )
    if parameters.get("op") == "open" or name in _DAMAGES:
        return damaged_lucene(index, message if name in _DAMAGES else f"{name}: {message}")
    return JavaError(f"{report['class']}: {message}")


def closed_index(index: object) -> InvalidInputError:
    """Return the error for work on an index that was closed."""
    return InvalidInputError(f"{index}: expected an open index, got a closed one. Open it again.")
