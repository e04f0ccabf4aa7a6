"""Whoever computes a model's features makes the same checks of the model on the index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import InvalidInputError, ModelMismatchError
from rerank.index import model_checks
from tests.tiny import Tiny

Use = Callable[[rerank.Index, Any, rerank.Run, dict[str, str], Path], Any]
USES: dict[str, Use] = {
    "rerank": lambda index, model, run, topics, folder: rerank.rerank(index, model, topics, run),
    "features": lambda index, model, run, topics, folder: index.features(run, topics, model=model),
    "write_features": lambda index, model, run, topics, folder: index.write_features(
        folder / "data.npz", run, topics, model=model
    ),
}


@pytest.fixture(params=USES)
def use(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    return lambda *arguments: USES[request.param](*arguments, tmp_path)


def test_model_is_refused_when_the_index_lacks_its_history(
    index: rerank.Index, collection: Tiny, use: Callable[..., Any]
) -> None:
    bare, run = index.using(history=False), index.search(collection.topics, k=20)
    learned = index.using(history=rerank.History.learn(index, collection.topics, collection.qrels))
    data = learned.features(run, collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(data)
    assert data.recipe is not None
    expected = rf"model: expected the history of checksum {data.recipe['history']}, which it was .*, got none\. Learn"
    with pytest.raises(ModelMismatchError, match=expected):
        use(bare, model, run, collection.topics)
    use(learned, model, run, collection.topics)


def test_checks_of_resources_are_made_wherever_a_model_meets_an_index(
    index: rerank.Index, collection: Tiny, use: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = index.search(collection.topics, k=20)
    data = index.features(run, collection.topics, collection.qrels)
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(data)

    def refuse(*_: Any) -> None:
        raise InvalidInputError("resources: refused")

    monkeypatch.setattr(model_checks, "check_index_resources", refuse)
    with pytest.raises(InvalidInputError, match="resources: refused"):
        use(index, model, run, collection.topics)
