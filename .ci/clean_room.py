"""Run README's commands, as they are printed, where nothing of this machine can help.

    python3 .ci/clean_room.py                 on this Python
    python3 .ci/clean_room.py --python 3.12   on another one of the PATH or of ~/.pyenv
    python3 .ci/clean_room.py --find 3.12     print the path of that Python
    python3 .ci/clean_room.py STEP ...        then these steps of .ci/run, of which `tests` is README's ./scripts/test

The commit that is checked out is unpacked, without git, into a new folder with a blank and an umlaut in its name. HOME
is empty, PATH has the system's folders and the Pythons alone, and no other variable is set but those by which pip finds
the network. README's own collection (docs.jsonl, topics.tsv, qrels.txt) is a small one.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WINDOWS = os.name == "nt"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# How the network is reached, what the steps read, and what Windows needs to start a program.
KEPT = ("PIP_INDEX_URL", "PIP_CERT", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "CI", "RERANK_TEST_DATA")
KEPT_ON_WINDOWS = ("SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE")
COLLECTION = "import pathlib, tests.examples; tests.examples.write_collection(pathlib.Path())"


def find_python(version: str) -> Path | None:
    """Return the path of an installed Python of a version such as 3.12, None where there is none."""
    on_path = shutil.which(f"python{version}")
    candidates = [Path(on_path)] if on_path else []
    candidates += sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    ask = "import sys; print('%d.%d' % sys.version_info[:2], sys.executable)"
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", ask], capture_output=True, text=True, check=False)
        found, _, path = done.stdout.strip().partition(" ")
        if done.returncode == 0 and found == version:
            return Path(path)
    return None


class CleanRoom:
    """A folder with the commit, an empty HOME, and links to Pythons."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.checkout = folder / "räum 1" / "rerank"
        self.checkout.mkdir(parents=True)
        with tempfile.TemporaryFile() as file:
            subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], stdout=file, check=True)
            file.seek(0)
            subprocess.run(["tar", "-x", "-C", self.checkout], stdin=file, check=True)  # tarfile's differs by version
        home, links = folder / "home", folder / "bin"
        home.mkdir()
        if WINDOWS:
            path = f"{python.parent};{os.environ['PATH']}"
        else:
            links.mkdir()
            (links / "python3").symlink_to(python)
            for version in VERSIONS:
                if (found := find_python(version)) is not None:
                    (links / f"python{version}").symlink_to(found)
            path = f"{links}:/usr/sbin:/usr/bin:/sbin:/bin"
        kept = [*KEPT, *(name.lower() for name in KEPT), *(KEPT_ON_WINDOWS if WINDOWS else ())]
        self.variables = {name: os.environ[name] for name in kept if name in os.environ}
        self.variables |= {"HOME": str(home), "PATH": path, **({"USERPROFILE": str(home)} if WINDOWS else {})}

    def bash(self, script: str) -> None:
        """Run a script in the checkout; end with its exit code where it fails."""
        command = ["bash", "-euo", "pipefail", "-c", script]
        code = subprocess.run(command, cwd=self.checkout, env=self.variables, check=False).returncode
        if code:
            sys.exit(code)

    def megabytes(self, name: str) -> int:
        """Return the size of a folder of the checkout, where it is one."""
        return sum(path.lstat().st_size for path in (self.checkout / name).rglob("*")) // 10**6


def readme_script(readme: Path, leave_out: str | None) -> str:
    """Return a README's blocks as one script, which says how long each takes; lines that begin with `leave_out` go."""
    script = ["checkout=$PWD"]
    for number, (language, text) in enumerate(BLOCK.findall(readme.read_text("utf8")), 1):
        lines = [line for line in text.splitlines() if leave_out is None or not line.startswith(leave_out)]
        if not lines:
            continue
        body = "\n".join(lines).replace("env/bin/activate", "env/Scripts/activate" if WINDOWS else "env/bin/activate")
        if language == "python":
            body = f"python - <<'END_OF_BLOCK'\n{body}\nEND_OF_BLOCK"
        said = shlex.quote(f"README, block {number} ({lines[0]})")
        script += ['cd "$checkout"; started=$SECONDS', body, f"echo {said}: $((SECONDS - started)) s"]
    return "\n".join(script)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", metavar="VERSION")
    parser.add_argument("--find", metavar="VERSION")
    parser.add_argument("steps", nargs="*", metavar="STEP")
    given = parser.parse_args()
    version = given.find or given.python
    python = Path(sys.executable).resolve() if version is None else find_python(version)
    if python is None:
        sys.exit(f"clean_room: expected Python {version} on the PATH or in ~/.pyenv, got none. Install it.")
    if given.find:
        print(python)
        return
    with tempfile.TemporaryDirectory(prefix="rerank-", ignore_cleanup_errors=True) as folder:
        room = CleanRoom(Path(folder), python)
        started = time.monotonic()
        room.bash(f"python3 -c {shlex.quote(COLLECTION)}")
        room.bash(readme_script(room.checkout / "README.md", "./scripts/test" if given.steps else None))
        sizes = ", ".join(f"{name} {room.megabytes(name)} MB" for name in ("env", ".venv"))
        print(f"README, {python}: {time.monotonic() - started:.0f} s; {sizes}", flush=True)
        if given.steps:
            room.bash(f".ci/run --here {shlex.join(given.steps)}")


if __name__ == "__main__":
    main()
