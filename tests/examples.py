"""The examples in README.md and in the documentation: where they are, the files they use, how they are run."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

from tests.workflows.tiny import FILLER, WORDS

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^\./(scripts/\S+)", re.MULTILINE)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return language and text of each example on a page; calls of the repository's own scripts are left out."""
    return [(language, text) for language, text in FENCE.findall(page.read_text("utf8")) if not SCRIPT.search(text)]


def run_block(language: str, text: str, folder: Path) -> str:
    """Run an example in a folder and return its output; AssertionError with its messages where it fails."""
    program = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        program, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    assert "Traceback" not in done.stderr, f"{text}\n{done.stderr}"
    return done.stdout


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
