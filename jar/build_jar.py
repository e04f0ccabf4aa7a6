"""The build back end of lucene-rerank-jar (PEP 517): makes its wheel from the fat jar of Anserini that pyserini holds.

`pip install ./jar` in a checkout calls it. It downloads the source archive of pyserini that requirements.txt names,
with its checksum, and takes the fat jar out; nothing of pyserini is installed. The wheel holds the classes that
`rerank` reaches: those that its own Java classes and ENTRY_POINTS name, those that these name, and so on. A name counts
wherever a class file holds it as a text: as a class, in a signature, in an annotation, or as the argument of
Class.forName. What Java finds by other ways is added: services (META-INF/services), implementations of Lucene's
attributes (`Impl`), plugins of Log4j. The same fat jar gives the same bytes.

As a program, `build_jar.py FOLDER` puts the fat jar into a folder, for compare_jars.py.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
BRIDGE = HERE.parent / "rerank" / "lucene" / "java" / "rerank" / "lucene"
PACKAGE = "lucene_rerank_jar"
FAT_JAR = "pyserini/resources/jars/anserini-{}-fatjar.jar"
EPOCH = (1980, 1, 1, 0, 0, 0)
EPOCH_SECONDS = "315532800"

# What Java code beside the bridge calls (tests and benchmarks compare with it), and what IndexCollection finds by a
# name that it puts together: collections and generators.
ENTRY_POINTS = (
    "io/anserini/index/IndexCollection",
    "io/anserini/index/IndexReaderUtils",
    "io/anserini/index/SimpleIndexer",
    "io/anserini/search/SimpleSearcher",
    "io/anserini/collection/JsonCollection",
    "io/anserini/collection/TrecCollection",
    "io/anserini/index/generator/DefaultLuceneDocumentGenerator",
)
# Packages of Lucene that are there as a whole, for code that is not known here.
WHOLE_PACKAGES = {f"org/apache/lucene/{name}" for name in ("index", "search", "search/similarities", "store")}
# Named but never run: neural encoders with their native libraries, what only annotations and checks name, and formats
# of files that `rerank` gives neither Anserini nor Log4j (Zstandard, XZ, YAML).
LEFT_OUT = (
    "ai/",
    "com/fasterxml/jackson/dataformat/",
    "com/github/luben/",
    "com/google/",
    "jakarta/",
    "javax/",
    "org/jetbrains/",
    "org/jspecify/",
    "org/tukaani/",
    "org/yaml/",
)
# Folders of everything that may be inside; jar/NOTICE names each with its licence.
COMPONENTS = (
    "com/carrotsearch/hppc/",
    "com/fasterxml/jackson/",
    "com/twitter/twittertext/",
    "io/anserini/",
    "morfologik/",
    "org/apache/commons/",
    "org/apache/logging/",
    "org/apache/lucene/",
    "org/apache/tools/",
    "org/jsoup/",
    "org/kohsuke/args4j/",
    "org/slf4j/",
    "org/tartarus/snowball/",
    "topics/",
    "ua/net/nlp/",
)
LICENCES = (
    "LICENSE",
    "META-INF/FastDoubleParser-LICENSE",
    "META-INF/FastDoubleParser-ThirdParty-LICENSE",
    "META-INF/LICENSE.txt",
    "META-INF/NOTICE",
    "META-INF/NOTICE.txt",
    "META-INF/Schubfach-LICENSE",
    "morfologik/stemming/polish/polish.LICENSE.Polish.txt",
    "morfologik/stemming/polish/polish.LICENSE.txt",
)
SERVICES = "META-INF/services/"
LUCENE_SERVICES = f"{SERVICES}org.apache.lucene."  # of which an index or a user names one: codecs, analysis
VERSIONS = "META-INF/versions/"
PLUGINS = "META-INF/org/apache/logging/log4j/core/config/plugins/Log4j2Plugins.dat"
MANIFEST = "META-INF/MANIFEST.MF"
MULTI_RELEASE = b"Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n"
# Bytes of an entry of a class file's pool of constants, its tag included; a text (tag 1) has its length in it.
ENTRY_BYTES = {
    **dict.fromkeys((7, 8, 16, 19, 20), 3),
    15: 4,
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 5),
    5: 9,
    6: 9,
}
TEXT, DOUBLES = 1, (5, 6)  # numbers of 64 bits count as two entries
SIGNATURE = re.compile(r"L([\w$/-]+)[;<]")


class FatJar:
    """The fat jar: its classes, and its other files."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._archive = zipfile.ZipFile(path)
        self.close = self._archive.close
        names = sorted(name for name in self._archive.namelist() if not name.endswith("/"))
        self.classes: dict[str, list[str]] = {}  # the files of a class, one for each version of Java
        self.resources: list[str] = []
        for name in names:
            path_in_jar = name.split("/", 3)[3] if name.startswith(VERSIONS) else name
            if path_in_jar.endswith(".class") and not path_in_jar.startswith("META-INF/"):
                self.classes.setdefault(path_in_jar.removesuffix(".class"), []).append(name)
            else:
                self.resources.append(name)

    def read(self, name: str) -> bytes:
        return self._archive.read(name)

    def texts(self, name: str) -> set[str]:
        """All texts of a class's pools of constants."""
        return {text for file in self.classes[name] for text in pool_texts(self.read(file))}

    def providers(self, service: str) -> list[str]:
        """The classes that a file of META-INF/services names."""
        lines = (line.partition("#")[0].strip() for line in self.read(service).decode().splitlines())
        return [line for line in lines if line]


def pool_texts(content: bytes) -> Iterator[str]:
    """Yield the texts of a class file's pool of constants."""
    number, position = 1, 10
    while number < int.from_bytes(content[8:10], "big"):
        tag = content[position]
        if tag == TEXT:
            end = position + 3 + int.from_bytes(content[position + 1 : position + 3], "big")
            yield content[position + 3 : end].decode("utf8", "replace")
            position = end
        else:
            position += ENTRY_BYTES[tag]
        number += 1 + (tag in DOUBLES)


def plugin_classes(content: bytes) -> Iterator[str]:
    """Yield the classes in Log4j's list of plugins: for each category its name, and each plugin's key, class, name."""
    stream = io.BytesIO(content)

    def number(size: int) -> int:
        return int.from_bytes(stream.read(size), "big")

    for _ in range(number(4)):
        stream.read(number(2))
        for _ in range(number(4)):
            _, name, _ = (stream.read(number(2)).decode() for _ in range(3))
            yield name
            stream.read(2)  # two flags


def slashed(name: str) -> str:
    return name.replace(".", "/")


def reached_classes(jar: FatJar) -> tuple[set[str], set[str]]:
    """Return all classes that are reached, and all texts in them."""
    texts: set[str] = set()
    reached: set[str] = set()
    services = [name for name in jar.resources if name.startswith(SERVICES)]
    waiting = [*ENTRY_POINTS, *map(slashed, plugin_classes(jar.read(PLUGINS)))]
    waiting += [name for name in jar.classes if folder(name) in WHOLE_PACKAGES]
    waiting += [slashed(name.removeprefix(SERVICES)) for name in services if name.startswith(LUCENE_SERVICES)]
    for path in BRIDGE.glob("*.class"):
        waiting += named(pool_texts(path.read_bytes()))
    while waiting:
        name = waiting.pop()
        if name in reached or name not in jar.classes or name.startswith(LEFT_OUT):
            continue
        reached.add(name)
        own = jar.texts(name)
        texts |= own
        waiting += [*named(own), f"{name}Impl"]
        for service in services:
            if service == SERVICES + name.replace("/", "."):
                waiting += map(slashed, jar.providers(service))
    missing = set(ENTRY_POINTS) - reached
    if missing:
        sys.exit(f"fat jar: expected Anserini's entry points, got none of: {', '.join(sorted(missing))}. Correct them.")
    return reached, texts


def named(texts: Iterable[str]) -> list[str]:
    """Return what may be names of classes in texts: names with slashes or dots, and those in signatures."""
    names: list[str] = []
    for text in texts:
        names += [text, slashed(text), *SIGNATURE.findall(text)]
    return names


def needed_resources(jar: FatJar, reached: set[str], texts: set[str]) -> list[str]:
    """Return the files beside a reached class, and those beside a file that one names from the jar's root."""
    own = [name for name in jar.resources if not name.startswith("META-INF/") and "/" in name]
    folders = {folder(name) for name in reached} | {
        folder(name) for name in own if name in texts or f"/{name}" in texts
    }
    return [name for name in own if folder(name) in folders]


def folder(name: str) -> str:
    return name.rpartition("/")[0]


def slim_files(jar: FatJar) -> dict[str, bytes]:
    """Return the files of the slim jar by name."""
    reached, texts = reached_classes(jar)
    names = [file for name in reached for file in jar.classes[name]] + needed_resources(jar, reached, texts)
    files = {name: jar.read(name) for name in (*names, PLUGINS)}
    for service in jar.resources:
        if service.startswith(SERVICES) and slashed(service.removeprefix(SERVICES)) in reached:
            providers = [name for name in jar.providers(service) if slashed(name) in reached]
            files[service] = "".join(f"{name}\n" for name in providers).encode()
    unknown = sorted(name for name in (*reached, *names) if not name.startswith((*COMPONENTS, VERSIONS)))
    if unknown:
        sys.exit(
            f"fat jar: expected files of the components in jar/NOTICE, got {unknown[0]} too. Add its licence there."
        )
    return files


def write_jar(path: Path, files: dict[str, bytes]) -> None:
    """Write a jar without compression, which the wheel compresses as a whole, and from which Java loads faster."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in [(MANIFEST, MULTI_RELEASE), *sorted(files.items())]:
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content)


def build_wheel(wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None) -> str:
    """Make the wheel in a folder and return its name, as PEP 517 asks; it takes no settings."""
    from setuptools import build_meta

    if not BRIDGE.is_dir():
        sys.exit(f"lucene-rerank-jar: expected to be built in a checkout of rerank, got no {BRIDGE}. Build it there.")
    target, before = os.path.abspath(wheel_directory), os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        jar = FatJar(download_fat_jar(Path(name)))
        source = Path(name) / "source"
        write_source(source, jar)
        os.environ["SOURCE_DATE_EPOCH"] = EPOCH_SECONDS
        os.chdir(source)
        try:
            return str(build_meta.build_wheel(target))
        finally:
            os.chdir(before)
            jar.close()


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Refuse a source archive, which would lack the Java classes of `rerank` that say what is needed."""
    sys.exit("lucene-rerank-jar: expected a wheel to be asked for, got a source archive. Run `pip wheel ./jar`.")


def download_fat_jar(folder: Path) -> Path:
    """Put the fat jar of the pyserini in requirements.txt into a folder and return its path."""
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--ignore-requires-python", "--require-hashes")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, "-r", HERE / "requirements.txt"]
    if subprocess.run(command, check=False).returncode:
        sys.exit("lucene-rerank-jar: expected to download pyserini by pip, got the error above. Check the network.")
    wanted = FAT_JAR.format(version().partition(".post")[0])
    with tarfile.open(next(folder.glob("pyserini-*.tar.gz"))) as archive:
        member = next((one for one in archive if one.name.endswith(f"/{wanted}")), None)
        content = None if member is None else archive.extractfile(member)
        if content is None:
            sys.exit(f"{archive.name}: expected {wanted}, of the version in jar/pyproject.toml, got none. Correct one.")
        path = folder / wanted.rpartition("/")[2]
        with content, open(path, "wb") as file:
            shutil.copyfileobj(content, file)
    return path


def version() -> str:
    """Return the version in pyproject.toml."""
    return str(tomllib.loads((HERE / "pyproject.toml").read_text("utf8"))["project"]["version"])


def write_source(source: Path, jar: FatJar) -> None:
    """Write what setuptools makes the wheel of: the slim jar, licences, and the files of this folder."""
    (source / "licenses").mkdir(parents=True)
    for file in ("pyproject.toml", "README.md", "NOTICE", f"{PACKAGE}/__init__.py"):
        (source / file).parent.mkdir(exist_ok=True)
        shutil.copyfile(HERE / file, source / file)
    shutil.copyfile(HERE.parent / "LICENSE", source / "LICENSE")
    for file in LICENCES:
        (source / "licenses" / file.replace("/", ".")).write_bytes(jar.read(file))
    write_jar(source / PACKAGE / jar.name.replace("-fatjar", ""), slim_files(jar))
    for path in source.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)  # the wheel notes the modes of files


if __name__ == "__main__":
    print(download_fat_jar(Path(sys.argv[1])))
