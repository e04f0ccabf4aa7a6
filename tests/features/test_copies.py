"""Copies of a document under other ids have its features, and so its score, in every family."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.features.recipe import Recipe
from rerank.types import Run
from rerank.types.tie_order import scores_and_ranks

WORDS = [f"word{number}" for number in range(16)]


def test_copies_have_the_same_features_and_scores(tmp_path: Path) -> None:
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(5, 40))) for _ in range(60)]
    documents = [
        {"id": f"{copy}{number}", "title": " ".join(text.split()[:3]), "body": text}
        for copy in "dxa"
        for number, text in enumerate(texts)
        if copy == "d" or number % 4 == 0
    ]
    topics = {f"q{number}": " ".join(draw.sample(WORDS, 3)) for number in range(12)}
    qrels = {query: {f"d{draw.randrange(60)}": draw.choice([0, 1, 2]) for _ in range(8)} for query in topics}
    index = rerank.Index.build(documents, tmp_path / "index", vectors=True)
    index.learn_history(topics, qrels)
    model = rerank.train(index, topics, qrels, estimate=False).model
    union = index.search(topics, candidates="bm25:90,rm3:90,lsi:90")
    n_compared = 0
    for run in (index.search(topics, k=70), union):
        data = index.features(run, topics)
        scores = model.predict(index.features(run, topics, recipe=Recipe.from_dict(model.recipe_)))
        for query in data:
            rows = data.rows(query)
            by_text: dict[str, int] = {}
            for row in range(rows.start, rows.stop):
                first = by_text.setdefault(texts[int(str(data.doc_ids[row])[1:])], row)
                np.testing.assert_array_equal(data.X[row], data.X[first], err_msg=str(data.doc_ids[[row, first]]))
                assert scores[row] == scores[first]
                n_compared += row != first
    assert n_compared > 100


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([5.0, 1.0, 1.0, 0.5], [(5.0, 1), (1.0, 2), (1.0, 2), (0.5, 4)]),
        ([12.3457, 12.345699, 12.345698, 12.3453], [(12.3457, 1)] * 3 + [(12.3453, 4)]),
        ([0.0163934, 0.0163930, 0.0163926], [(0.0163934, 1), (0.0163930, 2), (0.0163926, 3)]),
        ([], []),
    ],
)
def test_ranks_of_equal_scores_are_equal_also_where_anserini_has_made_a_tie_a_sequence(scores, expected) -> None:
    run = Run.of({"q": {f"d{number}": score for number, score in enumerate(scores)}})
    table = scores_and_ranks(run.query_ptr, run.scores)
    np.testing.assert_allclose(table, np.reshape(expected, (-1, 2)), rtol=1e-7)
