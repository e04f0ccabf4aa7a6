"""An archive of the Java classes that searches load, which halves the time that Java takes to start.

Java's class data sharing maps the archive, and does not read and verify thousands of classes of Anserini's jar. Java
ignores an archive that is damaged, or was made by another Java or for another jar (`-Xshare:auto`).
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rerank.errors import RerankError
from rerank.lucene.java_parts import find_jar, find_java, has_jnius
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.store import file_state


def archive_options(java: Path, jar: Path) -> list[str]:
    """Return the options with which Java uses the archive; none if it has not been made."""
    archive = archive_path(java, jar)
    if not archive.is_file():
        return []
    return [
        f"-XX:SharedArchiveFile={archive}",
        "-Xshare:auto",
        "-XX:+VerifySharedSpaces",
        "-Xlog:disable",  # Java would report on stdout that it ignores an archive
        "-Xlog:all=error:stderr",
    ]


def archive_path(java: Path, jar: Path) -> Path:
    """Return the path of the archive in the cache folder, another one for each state of Java and the jar."""
    state = [1, str(java), *file_state(java / "release"), str(jar), *file_state(jar)]
    return cache_folder() / f"java-{hashlib.sha256(repr(state).encode()).hexdigest()[:32]}.jsa"


def make_archive(java: Path, jar: Path) -> None:
    """Make the archive: one process notes the classes that a search loads, another writes them."""
    archive = archive_path(java, jar)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        classes = Path(folder) / "classes"
        part = Path(folder) / "archive"
        program = "import sys; from rerank.lucene.build import load_classes; load_classes(*sys.argv[1:])"
        _run([sys.executable, "-c", program, str(classes), folder])
        dump = ["-Xshare:dump", f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={part}"]
        _run([str(java / "bin" / "java"), *dump, "-Xlog:disable", "-cp", str(jar)])
        os.replace(part, archive)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, encoding="utf8", errors="replace", check=False)
    if done.returncode != 0:
        line = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise RerankError(f"Java: expected an archive of its classes, got: {line}. Java starts more slowly without it.")


def make_class_archive() -> None:
    """Make the archive with which Java starts faster, unless it exists, or Java or Anserini is missing."""
    java = find_java()
    jar = find_jar()
    if java is not None and jar is not None and has_jnius() and not archive_path(java, jar).exists():
        make_archive(java, jar)
