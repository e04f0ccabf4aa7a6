"""What readers take: paths and open files; anything else is refused in one line."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import InvalidInputError

READERS = [
    rerank.read_run,
    rerank.read_qrels,
    rerank.read_topics,
    rerank.read_data,
    rerank.read_clicks,
    rerank.read_model,
    rerank.read_subtopic_qrels,
    rerank.read_preferences,
    rerank.read_documents,
]
CONTENT = '{"learner": ' + "[" * 5000


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("given", [5, None, b"x", 1.5, "a\0b", "a\nb", CONTENT, Path("a\0b"), object()])
def test_what_is_no_path_is_refused_in_one_line(read: Callable[[Any], Any], given: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"^path: expected .*, got .*\.") as fault:
        read(given)
    assert "\n" not in str(fault.value)
    assert len(str(fault.value)) < 500


def test_content_in_place_of_a_corpus_or_a_model_is_refused_in_one_line(tmp_path: Path) -> None:
    for call in (rerank.import_model, lambda text: rerank.Index.build(text, tmp_path / "index")):
        with pytest.raises(InvalidInputError, match=r"got '.*'. Name another, or write the content to a file"):
            call(CONTENT)


FILES = {
    "a.run": (rerank.read_run, "q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n"),
    "qrels.txt": (rerank.read_qrels, "q1 0 d1 1\n"),
    "topics.tsv": (rerank.read_topics, "q1\tgröße\n"),
    "docs.jsonl": (rerank.read_documents, '{"id": "1", "text": "größe"}\n'),
    "data.svm": (rerank.read_data, "1 qid:1 1:2\n0 qid:1 1:1\n"),
    "better.tsv": (rerank.read_preferences, "q1\ta\tb\n"),
    "log.csv": (rerank.read_clicks, "query,document,position,clicked\nq1,d1,1,1\nq1,d2,2,0\n"),
}


@pytest.mark.parametrize("name", FILES)
def test_open_files_are_read_as_their_paths(name: str, tmp_path: Path) -> None:
    read, content = FILES[name]
    path = tmp_path / name
    path.write_text(content, "utf8")
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(content.encode()))
    unnamed = io.StringIO(content)
    unnamed.name = name  # type: ignore[attr-defined]
    opened = [path.open(encoding="utf8"), path.open("rb"), packed.open("rb"), gzip.GzipFile(packed), unnamed]
    expected = shown(read(path))
    for file in opened:
        with file:
            assert shown(read(file)) == expected
    with pytest.raises(InvalidInputError, match=r"^file: expected one that can be read, got .*closed"):
        read(opened[0])


def shown(content: Any) -> str:
    return repr(list(content) if hasattr(content, "__next__") else content)
