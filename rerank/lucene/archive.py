"""An archive of the Java classes that searches load, which halves the time that Java takes to start.

Java's class data sharing maps the archive, and does not read and verify thousands of classes of Anserini's jar. Java
ignores an archive that is damaged, or was made by another Java or for another jar (`-Xshare:auto`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rerank.errors import RerankError
from rerank.runtime.cache import cache_folder, file_state

_FORMAT = 1
_PROGRAM = "import sys; from rerank.lucene.class_list import load_classes; load_classes(*sys.argv[1:])"


def archive_options(java: Path, jar: Path) -> list[str]:
    """Return the options with which Java uses the archive; none if it has not been made."""
    archive = archive_path(java, jar)
    if not archive.is_file():
        return []
    # Java would report on stdout that it ignores an archive.
    logs = ["-Xlog:disable", "-Xlog:all=error:stderr"]
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-XX:+VerifySharedSpaces", *logs]


def archive_path(java: Path, jar: Path) -> Path:
    """Return the path of the archive in the cache folder, another one for each state of Java and the jar."""
    state = [_FORMAT, str(java), *file_state(java / "release"), str(jar), *file_state(jar)]
    return cache_folder() / f"java-{hashlib.sha256(repr(state).encode()).hexdigest()[:32]}.jsa"


def make_archive(java: Path, jar: Path) -> None:
    """Make the archive: one process notes the classes that a search loads, another writes them."""
    archive = archive_path(java, jar)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        classes, part = Path(folder) / "classes", Path(folder) / "archive"
        _run([sys.executable, "-c", _PROGRAM, str(classes), folder])
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={part}"]
        _run([str(java / "bin" / "java"), *dump, "-Xlog:disable", "-cp", str(jar)])
        os.replace(part, archive)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        line = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise RerankError(f"Java: expected an archive of its classes, got: {line}. Java starts more slowly without it.")
