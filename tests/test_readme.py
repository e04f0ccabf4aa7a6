"""Every command and every example in README.md runs, in order, on files that bear the names given there."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workflows.tiny import FILLER, WORDS

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SCRIPT = re.compile(r"^\./(scripts/\S+)", re.MULTILINE)
README = (ROOT / "README.md").read_text("utf8")
BLOCKS = [(language, text) for language, text in FENCE.findall(README) if not SCRIPT.search(text)]


def write_collection(folder: Path, n_docs: int = 160, n_topics: int = 75) -> None:
    """Write docs.jsonl, topics.tsv and qrels.txt: relevant are documents with both of a topic's words in the title."""
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("readme")
    write_collection(made)
    return made


def test_readme_has_examples_in_both_languages() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "python"}


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_readme_block_runs(number: int, folder: Path) -> None:
    language, text = BLOCKS[number]
    program = [sys.executable, "-c", text] if language == "python" else ["bash", "-euo", "pipefail", "-c", text]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        program, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_readme_names_scripts_that_are_there() -> None:
    named = SCRIPT.findall(README)
    assert {"scripts/demo", "scripts/test"} <= set(named)
    for script in named:
        assert os.access(ROOT / script, os.X_OK), script
