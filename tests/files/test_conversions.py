"""The programs of jq in docs/file-formats.md, on files as the tools write them."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rerank.files.trec import read_qrels

PAGE = Path(__file__).resolve().parents[2] / "docs" / "file-formats.md"
PROGRAMS = re.findall(r"`jq (-\w+) '([^`]*)'", PAGE.read_text().replace("\\|", "|"))
WORKBENCH = {"judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": "1", "rating": "2.0"}]}]}
OF_LABELS = {"name": "red shoes", "relevant_documents": {"3": ["1", "2"], "2": ["7"]}}
OF_DOCUMENTS = {"name": "blue", "relevant_documents": {"1": {"gain": 3}, "9": {"gain": 2}}}
OF_QUEPID = {"placeholders": {"$query": "star trek"}, "relevant_documents": {"1": ["193"]}}

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


def _converted(word: str, text: str) -> str:
    (program,) = (program for program in PROGRAMS if word in program[1])
    return subprocess.run(["jq", *program], input=text, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("word", "content", "labels"),
    [
        (".requests", {"requests": [{"id": "a b", "ratings": [{"_id": "1", "rating": 3}]}]}, {"a_b": {"1": 3}}),
        ("judgmentRatings", WORKBENCH, {"red_shoes": {"1": 2}}),
        ("judgmentRatings", {"hits": {"hits": [{"_source": WORKBENCH}]}}, {"red_shoes": {"1": 2}}),
        (
            "query_groups",
            {"topics": [{"query_groups": [OF_LABELS, OF_DOCUMENTS]}]},
            {"red_shoes": {"1": 3, "2": 3, "7": 2}, "blue": {"1": 3, "9": 2}},
        ),
        ("query_groups", {"queries": [OF_QUEPID]}, {"star_trek": {"193": 1}}),
    ],
)
def test_judgements_of_other_tools_become_qrels(tmp_path: Path, word: str, content: object, labels: dict) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(_converted(word, json.dumps(content)))
    assert {query: dict(of_query) for query, of_query in read_qrels(path).items()} == labels


@pytest.mark.parametrize(
    ("word", "text", "documents"),
    [
        ('split("', "d1\ta title\ta text\n", [{"id": "d1", "contents": "a title a text"}]),
        (
            "$a[]",
            '{"index": {"_id": "1"}}\n{"body": "a"}\n{"create": {"_id": "2"}}\n{"body": "b"}\n',
            [{"body": "a", "id": "1"}, {"body": "b", "id": "2"}],
        ),
    ],
)
def test_collections_of_other_tools_become_documents(word: str, text: str, documents: list[object]) -> None:
    assert list(map(json.loads, _converted(word, text).splitlines())) == documents
