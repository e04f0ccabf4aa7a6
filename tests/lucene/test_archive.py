"""The archive of Java's classes: valid, used, and ignored where it is damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerank.lucene.class_archive import archive_options, archive_path, make_archive
from rerank.lucene.java_parts import anserini_jar, java_home

pytestmark = pytest.mark.slow("23 s: processes")

SEARCH = """
import sys
from rerank.lucene import jvm
from rerank.lucene.requests import ask_json
jvm.add_options(*sys.argv[1:])
print(ask_json("analyze", texts=["Searching Words"], language="en"))
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RERANK_CACHE", str(tmp_path_factory.mktemp("cache") / "with space"))
        java, jar = java_home(), anserini_jar()
        assert archive_options(java, jar) == []
        make_archive(java, jar)
        yield archive_path(java, jar)


def _search(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", SEARCH, *options], capture_output=True, text=True, check=False)


def test_java_starts_with_the_archive(archive: Path, tmp_path: Path) -> None:
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]
    log = tmp_path / "log"
    done = _search(f"-Xlog:class+load:file={log}")
    assert done.stdout == "[['search', 'word']]\n"
    assert done.returncode == 0
    loaded = [line for line in log.read_text("utf8").splitlines() if "io.anserini" in line]
    assert loaded
    assert all("shared objects file" in line for line in loaded)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_damaged_archive_is_ignored(archive: Path, damage: str) -> None:
    content = archive.read_bytes()
    middle = len(content) // 2
    damaged = {"cut": content[:middle], "changed": content[:middle] + b"x" * 4096 + content[middle + 4096 :]}
    whole = archive.with_name("whole")
    os.replace(archive, whole)
    try:
        archive.write_bytes(damaged.get(damage, b""))
        done = _search()
    finally:
        os.replace(whole, archive)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[['search', 'word']]\n", "")
