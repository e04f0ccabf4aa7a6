"""Check what a release uploads: check_release.py FOLDER, with both wheels and the source archive; needs twine.

Names, contents and licences of each, that PyPI can show its description, and that the versions agree.
"""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = {".py", ".typed", ".java", ".class", ".sha256", ".xml", ".properties", ".css", ".html", ".js"}
JAR = {".py", ".jar"}
BESIDE = {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "SECURITY.md", "MANIFEST.in"}
BESIDE |= {"pyproject.toml", "setup.cfg", "PKG-INFO"}


def expect(truth: object, message: str) -> None:
    if not truth:
        sys.exit(f"check_release: {message}")


def check_wheel(path: Path, package: str, endings: set[str], licence: str) -> str:
    """Check the files of a wheel and its licence; return its version."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        headers = email.message_from_bytes(archive.read(metadata))
    about, inside = metadata.split("/")[0], [name for name in names if name.startswith(f"{package}/")]
    expect(all(name.startswith((f"{package}/", f"{about}/")) for name in names), f"{path.name}: other folders: {names}")
    others = [name for name in inside if Path(name).suffix not in endings]
    expect(not others, f"{path.name}: files of other kinds: {others}")
    expect(headers["License-Expression"] == licence, f"{path.name}: licence {headers['License-Expression']}")
    listed = headers.get_all("License-File") or []
    expect("LICENSE" in listed, f"{path.name}: no LICENSE in {listed}")
    missing = [name for name in listed if f"{about}/licenses/{name}" not in names]
    expect(not missing, f"{path.name}: licences that are not inside: {missing}")
    return str(headers["Version"])


def check_source(path: Path, wheel: Path) -> None:
    """The archive holds the wheel's files of the package, what describes it, and nothing else."""
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()} - {""}
    with zipfile.ZipFile(wheel) as built:
        wanted = {name for name in built.namelist() if name.startswith("rerank/")}
    expect(wanted <= names, f"{path.name}: without {sorted(wanted - names)[:5]}")
    others = {name for name in names - wanted - BESIDE if "." in name and ".egg-info" not in name}
    expect(not others, f"{path.name}: also holds {sorted(others)[:5]}")
    expect(names >= BESIDE, f"{path.name}: without {sorted(BESIDE - names)}")


def main() -> None:
    folder = Path(sys.argv[1])
    (wheel,), (jar,), (source,) = (
        list(folder.glob(pattern)) for pattern in ("lucene_rerank-*.whl", "lucene_rerank_jar-*.whl", "*.tar.gz")
    )
    version = check_wheel(wheel, "rerank", PACKAGE, "Apache-2.0")
    project = tomllib.loads((ROOT / "jar" / "pyproject.toml").read_text("utf8"))["project"]
    expect(check_wheel(jar, "lucene_rerank_jar", JAR, project["license"]) == project["version"], f"{jar.name}: version")
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf8"), re.MULTILINE)
    expect(cited and cited[1] == version, f"CITATION.cff: expected version {version}")
    check_source(source, wheel)
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", wheel, jar, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stdout + done.stderr)
    print(f"version {version}, jar {project['version']}: contents, licences and descriptions are as they must be")


if __name__ == "__main__":
    main()
