"""`rerank search` as a user runs it."""

from __future__ import annotations

from pathlib import Path

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
        assert done.err.startswith("" if model else "rerank: unsupervised: sum of bm25.contents, rm3_10.contents, ")
        rows = [line.split() for line in done.out.splitlines() if line[4:6] == " " * 2 or line[:3].strip().isdigit()]
        assert [(row[2], float(row[1])) for row in rows] == [
            (doc_id, round(score, 4)) for doc_id, score in list(expected.items())[:3]
        ]
    assert any(f"*{word}*" in done.out for word in query.split())


def test_search_without_hits_says_so(command: Command) -> None:
    assert command("search", "index", "nowhereword").out == "no hits\n"
    assert command("search", "nothing", "amber").code == 2
