"""The environment of the scripts: `.venv`, with pinned packages, made by the Python that runs them.

As a program, `environment.py NAME ...` installs the sets of packages NAME and prints the path of the environment's
Python. `$RERANK_VENV` names another folder. Only pip is used, and no Java has to be there.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info < (3, 11):  # before anything that an older Python cannot do
    sys.exit(
        "scripts: expected Python 3.11 or later, got {}.{}. Name a newer one, as in `python3.12 scripts/demo`.".format(
            *sys.version_info
        )
    )

ROOT = Path(__file__).resolve().parents[1]
SETS = {"package": ROOT / "scripts" / "requirements.txt", "test": ROOT / "scripts" / "requirements-test.txt"}
WINDOWS = os.name == "nt"


class Environment:
    """A virtual environment; `folder` is .venv of the checkout, or $RERANK_VENV."""

    def __init__(self):
        self.folder = Path(os.environ.get("RERANK_VENV") or ROOT / ".venv")
        self.programs = self.folder / ("Scripts" if WINDOWS else "bin")
        self.python = self.programs / ("python.exe" if WINDOWS else "python")
        self._changing = self.folder / ".changing"  # there while packages are installed: an interrupted run leaves it

    def install(self, *names):
        """Install sets of packages, each once for a state of its files; `package` installs this checkout, too."""
        missing = [name for name in names if self._changing.exists() or not self._has(name)]
        if not missing:
            return
        self._make()
        self._changing.touch()
        for name in missing:
            print(f"Installing pinned packages ({name}) ...", file=sys.stderr)
            checkout = ["--editable", ROOT] if name == "package" else []
            self._pip("install", "--no-compile", "--no-deps", "-r", SETS[name], *checkout)
            self._stamp(name).write_text(state(name), "utf8")
        self._changing.unlink()

    def run(self, program, *arguments):
        """Become a program of the environment."""
        command = [str(self.programs / program), *arguments]
        if WINDOWS:  # where a process cannot become another one
            sys.exit(subprocess.call(command))
        os.execv(command[0], command)

    def _has(self, name):
        stamp = self._stamp(name)
        return self.python.exists() and stamp.exists() and stamp.read_text("utf8") == state(name)

    def _stamp(self, name):
        return self.folder / f".installed-{name}"

    def _make(self):
        """Make the folder unless it is a whole environment."""
        if self._changing.exists():
            shutil.rmtree(self.folder)
        if self.python.exists():
            return
        if os.path.lexists(self.folder):
            end(f"{self.folder}: expected an environment, got something without {self.python.name}. Delete it.")
        if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
            end("expected Python's modules venv and ensurepip, got none. Install them (Debian: python3-venv).")
        print(f"Making {self.folder} ...", file=sys.stderr)
        try:
            self.folder.mkdir(parents=True)
        except OSError as error:
            end(
                f"{self.folder}: expected a folder that can be made, got: {error.strerror}. Set RERANK_VENV to another."
            )
        self._changing.touch()
        subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)

    def _pip(self, *arguments):
        command = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            lines = [line.strip() for line in done.stderr.splitlines()]
            said = next((line for line in lines if line.startswith("ERROR: ")), " ".join(lines))
            end(f"expected pip to install packages, got: {said.rstrip('.')}. Check the network and pip's settings.")


def state(name):
    """Return a checksum of the files that say what a set of packages is."""
    return hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + SETS[name].read_bytes()).hexdigest()


def end(message):
    sys.exit(f"scripts: {message}")


if __name__ == "__main__":
    environment = Environment()
    environment.install(*sys.argv[1:])
    print(environment.python)
