"""Overlap of training and test queries, against its definition."""

from __future__ import annotations

import random
import re
from collections import Counter
from math import log, sqrt
from pathlib import Path

import numpy as np
import pytest

from rerank.doctor import Finding, examine, nearest_queries, read_sources


def cosine(left: str, right: str, texts: list[str]) -> float:
    counts = [Counter(re.findall(r"\w+", text.lower())) for text in (left, right)]

    def idf(word: str) -> float:
        return log((1 + len(texts)) / sum(word in re.findall(r"\w+", text.lower()) for text in texts))

    weights = [{word: (1 + log(n)) * idf(word) for word, n in count.items()} for count in counts]
    norms = [sqrt(sum(weight**2 for weight in of_text.values())) for of_text in weights]
    dot = sum(weight * weights[1].get(word, 0.0) for word, weight in weights[0].items())
    return dot / (norms[0] * norms[1]) if dot else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_nearest_queries_are_those_of_the_definition(seed: int) -> None:
    draw = random.Random(seed)
    texts = [
        " ".join(draw.choices(["Alpha", "beta", "gamma", "DELTA", "epsilon", "zeta"], k=draw.randint(0, 4)))
        for _ in range(12)
    ]
    train, test = texts[:7], texts[7:]
    words = [[re.findall(r"\w+", text.lower()) for text in part] for part in (train, test)]
    values, nearest = nearest_queries(*words)
    table = np.array([[cosine(left, right, texts) for right in train] for left in test])
    np.testing.assert_allclose(values, table.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(table[np.arange(len(test)), nearest], values, atol=1e-12)


def test_no_training_queries_are_near_none() -> None:
    assert nearest_queries([], [["a"]])[0].tolist() == [0.0]


def found(folder: Path, files: dict[str, str], kinds: list[tuple[str | None, str]]) -> list[Finding]:
    for name, content in files.items():
        (folder / name).write_text(content)
    return examine(read_sources([(kind, folder / name) for kind, name in kinds]))


FILES = {
    "topics.tsv": "q1\theat flow in pipes\nq2\twing lift\nq3\tpipes: heat flow in pipes\nq4\tlayers\nq5\theat flow\n",
    "train.txt": "q1 0 d1 1\nq1 0 d2 1\nq2 0 d5 1\nq2 0 d6 0\n",
    "test.txt": "q3 0 d8 1\nq4 0 d5 2\n",
}
KINDS: list[tuple[str | None, str]] = [(None, "topics.tsv"), ("train", "train.txt"), ("test", "test.txt")]


def test_near_duplicates_of_training_queries_are_warnings(tmp_path: Path) -> None:
    words, relevant = found(tmp_path, FILES, KINDS)
    assert (words.severity, words.path, words.count) == ("warning", f"{tmp_path}/topics.tsv", 1)
    assert words.message.startswith(f"query 'q3' is near 'q1' of {tmp_path}/topics.tsv (cosine of the words 0.")
    assert words.message.endswith("; 1 of 2 queries have a cosine of 0.8 or more")
    assert relevant.severity == "warning"
    assert relevant.message == (
        f"query 'q4' is near 'q2' of {tmp_path}/train.txt (cosine of the relevant documents 1.00); "
        "1 of 2 queries have a cosine of 0.8 or more"
    )


def test_topics_of_training_and_test_may_be_two_files(tmp_path: Path) -> None:
    lines = FILES["topics.tsv"].splitlines(keepends=True)
    files = {"a.tsv": "".join(lines[:2]), "b.tsv": "".join(lines[2:4])}
    [finding] = found(tmp_path, files, [("train", "a.tsv"), ("test", "b.tsv")])
    assert finding.message.startswith("query 'q3' is near 'q1'")
    assert found(tmp_path, files, [("train", "a.tsv"), (None, "b.tsv")]) == []


def test_queries_that_are_judged_for_both_are_an_error(tmp_path: Path) -> None:
    files = {**FILES, "test.txt": "q1 0 d9 1\nq4 0 d7 1\n"}
    [finding] = found(tmp_path, files, KINDS)
    assert (finding.severity, finding.count) == ("error", 1)
    assert finding.message == f"query 'q1' is in {tmp_path}/train.txt too"
