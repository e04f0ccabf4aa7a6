"""`rerank search` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rerank
from tests.cli.conftest import Command


def test_search_prints_the_unsupervised_hits_and_those_of_a_model_with_the_words_that_matched(
    command: Command, world: Path
) -> None:
    query = next(iter(rerank.read_topics(world / "topics.tsv").values()))
    with rerank.Index.open(world / "index") as index:
        hits = {
            (): rerank.rerank(index, "unsupervised", {"query": query})["query"],
            ("model.json",): rerank.rerank(index, world / "model.json", {"query": query})["query"],
        }
    for model, expected in hits.items():
        done = command("search", "index", *model, *query.split(), "-k", "3")
        assert done.code == 0
        assert done.err.startswith("" if model else "rerank: unsupervised: sum of bm25_bursty.contents, bm25_")
        rows = [line.split() for line in done.out.splitlines() if line[4:6] == " " * 2 or line[:3].strip().isdigit()]
        assert [(row[2], float(row[1])) for row in rows] == [
            (doc_id, round(score, 4)) for doc_id, score in list(expected.items())[:3]
        ]
    assert any(f"*{word}*" in done.out for word in query.split())


def test_search_without_hits_says_so(command: Command) -> None:
    assert command("search", "index", "nowhereword").out == "no hits\n"
    assert command("search", "nothing", "amber").code == 2
    done = command("search", "index", "modle.json", "amber")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rerank: modle.json: expected a model file, got nothing there. Check the path.\n"


def test_search_with_a_model_and_without_words_is_refused(command: Command) -> None:
    done = command("search", "index", "model.json")
    assert (done.code, done.out) == (2, "")
    assert done.err == "rerank: WORDS: expected a query after model.json, got no word. Write its words.\n"
    assert command("search", "index", "package.json").out == "no hits\n"


def test_search_prints_the_best_passage_where_the_index_keeps_passages(command: Command, tmp_path: Path) -> None:
    words = " ".join(f"word{number}" for number in range(400))
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text(json.dumps({"id": "a", "title": "A title", "body": f"{words} amber {words}"}) + "\n")
    index = str(tmp_path / "index")
    assert command("index", str(corpus), "-o", index, "--passages", "40/20").code == 0
    done = command("search", index, "amber")
    title, passage = done.out.splitlines()
    assert title.split()[2:] == ["a", "A", "title"]
    assert passage.split() == [*words.split()[-20:], "*amber*", *words.split()[:19]]


@pytest.mark.parametrize("text", ["200/0", "0/100", "x", "100/200"])
def test_index_refuses_wrong_passages_before_it_builds(command: Command, tmp_path: Path, text: str) -> None:
    done = command("index", "corpus.jsonl", "-o", str(tmp_path / "index"), "--passages", text)
    assert done.code == 2
    assert done.err == (
        "rerank: passages: expected words of a window and words from one to the next, 1 <= STRIDE <= WINDOW <= "
        f"100,000, got '{text}'. Write WINDOW/STRIDE, e.g. 200/100.\n"
    )
    assert not (tmp_path / "index").exists()
