"""The examples in README.md and in the documentation: where they are, the files they use, how they are run."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from tests.tiny import FILLER, WORDS
from tests.warm import ask, write_shim

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^\./(scripts/\S+)", re.MULTILINE)
INSTALLATION = re.compile(r"^pip install ", re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each example on a page.

    What calls the repository's own scripts or installs the package is left out: .ci/clean_room.py runs README's.
    """
    examples = FENCE.findall(page.read_text("utf8"))
    return [(language, text) for language, text in examples if not (SCRIPT.search(text) or INSTALLATION.search(text))]


class Examples:
    """Runs examples in a folder: bash runs a command line, one warm process all `rerank` commands and programs."""

    def __init__(self, folder: Path) -> None:
        self._address = folder / "socket"
        self._bin = folder / "bin"
        self._bin.mkdir()
        write_shim(self._bin / "rerank", self._address)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self._address))
            server.listen()
            command = [sys.executable, "-m", "tests.warm", str(server.fileno())]
            self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[server.fileno()])

    def run(self, language: str, text: str, folder: Path) -> str:
        """Return the output of an example; AssertionError with its messages where it fails."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            if language == "python":
                code = ask(self._address, folder, text, out.fileno(), err.fileno())
            else:
                path = os.pathsep.join([str(self._bin), str(Path(sys.executable).parent), os.environ["PATH"]])
                program = ["bash", "-euo", "pipefail", "-c", text]
                variables = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
                done = subprocess.run(program, cwd=folder, env=variables, stdout=out, stderr=err, timeout=300)
                code = done.returncode
            output, messages = (_text(file) for file in (out, err))
        assert code == 0, f"{text}\n{messages}"
        assert "Traceback" not in messages, f"{text}\n{messages}"
        return output

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf8")


def write_collection(folder: Path, n_docs: int = 160, n_topics: int = 75) -> None:
    """Write docs, topics, texts and qrels: relevant are documents with both of a topic's words in the title."""
    draw = random.Random(0)
    titles = [(draw.choice(WORDS), draw.choice(FILLER)) for _ in range(n_docs)]
    pairs = draw.sample(sorted(set(titles)), n_topics)
    with open(folder / "docs.jsonl", "w") as file:
        for number, title in enumerate(titles):
            body = " ".join([*draw.choices(WORDS + FILLER, k=2), *(f"w{draw.randrange(300)}" for _ in range(10))])
            file.write(json.dumps({"id": f"d{number}", "title": " ".join(title), "body": body}) + "\n")
    topics = [f"q{number}\t{' '.join(pair)}\n" for number, pair in enumerate(pairs)]
    (folder / "topics.tsv").write_text("".join(topics))
    judged = itertools.product(enumerate(pairs), enumerate(titles))
    lines = [f"q{query} 0 d{doc} 1\n" for (query, pair), (doc, title) in judged if pair == title]
    (folder / "qrels.txt").write_text("".join(lines))
    texts = [{"qid": f"q{number}", "id": "t1", "text": " ".join(pair)} for number, pair in enumerate(pairs)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
