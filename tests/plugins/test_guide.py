from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import write_collection

pytestmark = pytest.mark.slow("14 s: the guide, in processes")

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
SECTIONS = {"PyTerrier": "pyterrier", "LangChain": "langchain_core", "LlamaIndex": "llama_index"}
SECTIONS |= {"Pyserini": "pyserini", "Pyserini's LuceneSearcher": "torch", "ir_datasets": "ir_datasets"}
SECTIONS |= {"Haystack": "haystack", "rerankers": "rerankers", "Results of a vector store": "rerank"}


def section_of(page: str, name: str) -> str:
    """Return the text of a section of a guide."""
    return (GUIDES / page).read_text("utf8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def blocks(text: str, language: str = "py") -> list[str]:
    """Return the examples in a text."""
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a collection, in which the commands of the guide have made an index and a model."""
    path = tmp_path_factory.mktemp("guide")
    write_collection(path)
    (commands,) = blocks(section_of("plugins.md", "An index and a model"), "sh")
    script = f'rerank() {{ "{sys.executable}" -m rerank "$@"; }}\n{commands}'
    done = subprocess.run(["bash", "-euc", script], cwd=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return path


@pytest.mark.parametrize("section", SECTIONS)
def test_example_of_the_guide_runs(
    section: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(SECTIONS[section])
    examples = blocks(section_of("plugins.md", section))
    assert examples
    if section == "Pyserini's LuceneSearcher":  # Java, which runs here, keeps the folder of its start
        assert _printed_by_a_process(examples, folder)
        return
    monkeypatch.chdir(folder)
    for example in examples:
        exec(compile(example, section, "exec"), {})
    assert capsys.readouterr().out


def test_scorer_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("wordllama")
    for example in blocks(section_of("neural-scores.md", "Any scorer, as a run")):
        exec(compile(example, "neural-scores.md", "exec"), {})
    assert capsys.readouterr().out


def _printed_by_a_process(examples: list[str], folder: Path) -> str:
    environment = {**os.environ, "OPENAI_API_KEY": "unused"}  # Pyserini's import asks for one
    command = [sys.executable, "-c", "\n".join(examples)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
