"""Check that the tracked files work on every machine: `python tests/checks/tracked.py [FOLDER]`, with git alone.

No link leaves the repository, no file is one that .gitignore names, no file holds an absolute path of a machine.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

LINK = "120000"  # the mode of a link in git's index
# Folders of users and of work on Linux, macOS and Windows; what follows is a name.
MACHINE_PATH = re.compile(rb"(?<![\w.~$}/-])(?:/(?:tmp|root|home|work|Users)/|[A-Z]:\\Users\\)\w[^\s\"'`)]*")


def faults(root: Path) -> list[str]:
    """Return a line for each fault of the files that git tracks in a folder."""
    entries = [entry.partition("\t") for entry in _git(root, "ls-files", "-s", "-z")]
    links = [name for mode, _, name in entries if mode.startswith(LINK)]
    files = [name for mode, _, name in entries if not mode.startswith(LINK) and (root / name).is_file()]
    found = [
        f"{name}: a link to {os.readlink(root / name)}, outside of the repository"
        for name in links
        if _leaves(root, name)
    ]
    found += [
        f"{name}: tracked, though .gitignore names it" for name in _git(root, "ls-files", "-ciz", "--exclude-standard")
    ]
    for name in files:
        content = (root / name).read_bytes()
        if b"\0" not in content:
            found += [f"{name}: the path of a machine, {path.decode()}" for path in MACHINE_PATH.findall(content)]
    return found


def _leaves(root: Path, name: str) -> bool:
    """Whether a link leads out of the folder."""
    return not (root / name).resolve().is_relative_to(root.resolve())


def _git(root: Path, *command: str) -> list[str]:
    done = subprocess.run(["git", "-C", root, *command], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name]


def main() -> None:
    """Print the faults; exit with 1 where there are any."""
    found = faults(Path(*sys.argv[1:] or ["."]))
    print("\n".join(found) or "tracked files: no link outwards, nothing ignored, no path of a machine")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
