"""An open index is that of one commit: what is opened later is of that commit or refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rerank
from rerank.errors import IndexFolderError, MissingFileError

TOPICS = {"q": "word0"}
CHANGED = (
    r"^[^\n]*index: expected the index as it was opened, got another one, as it has changed since\. Open it again\.$"
)


def documents(step: int) -> list[dict[str, Any]]:
    return [{"id": f"d{number}", "contents": f"word{number * step % 4} heat"} for number in range(12)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rerank.Index.build(documents(1), tmp_path / "index").close()
    return tmp_path / "index"


def features(index: rerank.Index) -> Any:
    return index.features({"q": {"d0": 1.0, "d1": 2.0}}, TOPICS).X


@pytest.mark.parametrize("shards", [None, 2])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda index: None, lambda index: index.search(TOPICS)),
        (lambda index: None, lambda index: index.forward),
        (lambda index: index.search(TOPICS), features),
        (lambda index: index.forward, features),
        (lambda index: features(index), lambda index: pickle.loads(pickle.dumps(index)).search(TOPICS)),
        (lambda index: None, lambda index: index.text_features("word0", ["word0 heat"])),
    ],
)
def test_parts_that_are_opened_after_the_index_was_built_anew_are_refused(
    path: Path, shards: int | None, first: Callable[[Any], Any], second: Callable[[Any], Any]
) -> None:
    with rerank.Index.open(path) as index:
        first(index)
        rerank.Index.build(documents(3), path, overwrite=True, shards=shards).close()
        with pytest.raises(IndexFolderError, match=CHANGED):
            second(index)
    with rerank.Index.open(path) as index:
        first(index)
        second(index)


def test_parts_that_are_open_stay_those_of_the_old_index(path: Path) -> None:
    with rerank.Index.open(path) as index:
        run, before = index.search(TOPICS), features(index)
        rerank.Index.build(documents(3), path, overwrite=True).close()
        assert index.search(TOPICS)["q"] == run["q"]
        assert features(index).tobytes() == before.tobytes()


def test_index_that_was_removed_is_refused(path: Path) -> None:
    index = rerank.Index.open(path)
    path.rename(path.with_name("elsewhere"))
    with pytest.raises(MissingFileError, match="expected a folder with a Lucene index, got nothing there"):
        index.search(TOPICS)
