"""The Java virtual machine of the process, which the first request starts."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rerank.errors import RerankError
from rerank.lucene.class_archive import archive_options
from rerank.lucene.java_parts import (
    JAR_VARIABLE,
    JAVA_VERSION,
    anserini_jar,
    find_jar,
    has_jnius,
    java_home,
    missing_parts,
    release_file,
)
from rerank.runtime.memory import free_addresses

VECTOR_MODULE = "jdk.incubator.vector"
JAVA_PACKAGE = "rerank.lucene"
LARGE = 64 << 20  # bytes of an index, or of documents to index
_LITTLE_MEMORY = ("-XX:+UseSerialGC", "-Xmn32m")  # garbage is collected after every 32 MB
# Java compiles a method once and quickly: most processes that search a small index end before more than that pays.
_BRIEF = (*_LITTLE_MEMORY, "-XX:TieredStopAtLevel=1")
STEADY = (*_LITTLE_MEMORY, "-XX:TieredStopAtLevel=4")  # for long-running processes, whose methods pay for both
_LEAST_HEAP = 64 << 20  # bytes
_BESIDE_HEAP = 1200 << 20  # that Java reserves beside its heap with these options: code, and memory of its threads
_SMALL = ("-XX:+UseSerialGC", "-XX:CompressedClassSpaceSize=64m", "-XX:ReservedCodeCacheSize=64m")
_options: list[str] = []
_lock = threading.Lock()
_bridge: Bridge | None = None
CLASS_PATH = Path(__file__).parent / "java"


class Bridge:
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
        """Return the thread of Java that works on a request."""
        return self._call(self._start, self._byte_buffer.wrap(request))

    def answer(self, thread: Any) -> bytes:
        """Return the answer of a thread that has ended."""
        return bytes(self._call(self._answer, thread).tostring())

    def answer_now(self, request: bytes) -> bytes:
        """Return the answer to a request, computed on the thread of the caller."""
        return bytes(self._call(self._answer_now, self._byte_buffer.wrap(request)).tostring())

    def _call(self, handle: Any, argument: Any) -> Any:
        arguments = self._array_list(1)
        arguments.add(argument)
        return handle.invokeWithArguments(arguments)


def start_java(size: int = 0) -> Bridge:
    """Return the bridge to the Java of this process, which is started unless it runs already.

    size  bytes of what it is started for: from LARGE on, Java compiles the methods that are used often a second time
    Raises RerankError if Java or Anserini is missing.
    """
    global _bridge
    with _lock:
        if _bridge is None:
            _bridge = Bridge(_jnius(size < LARGE))
        if _bridge.process != os.getpid():
            raise RerankError(
                "Java: expected the process that started it, got one forked from it, where Java is dead. "
                "Start processes with multiprocessing's 'spawn'."
            )
        return _bridge


def _jnius(is_brief: bool) -> Any:
    """Import pyjnius, which starts the JVM with the right Java and class path."""
    config = sys.modules.get("jnius_config")
    starts = config is None or not config.vm_running  # other code in the process may have started it
    if starts:
        _start_jvm(is_brief)
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
            f"got none. Call rerank before other Java code, or put {find_jar()} on its class path."
        ) from error
    return jnius


def _start_jvm(is_brief: bool) -> None:
    java = java_home()
    jar = anserini_jar()
    if not has_jnius():
        raise missing_parts()
    import jnius_config

    jnius_config.add_classpath(str(jar))
    if not re.search(rf'^MODULES="(.* )?{re.escape(VECTOR_MODULE)}[ "]', release_file(java), re.MULTILINE):
        # Pyserini asks for the module, and Java would end the process.
        asked = f"--add-modules={VECTOR_MODULE}"
        jnius_config.set_options(*(option for option in jnius_config.get_options() if option != asked))
    jnius_config.add_options(
        "-Xrs",  # Python handles signals (Ctrl-C)
        "-Xss8m",  # else Java ends the stack of the thread that starts it after 1 MB, and OpenBLAS needs more there
        *_memory_options(),
        *archive_options(java, jar),
        *(_BRIEF if is_brief else ()),
        *_options,  # of equal options, the last holds
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
