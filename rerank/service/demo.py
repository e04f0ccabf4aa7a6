"""The embedded collection with a model, made once and kept in the cache folder."""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
from pathlib import Path

from rerank.rankers.lambdamart import LambdaMART
from rerank.runtime.cache import cache_folder
from rerank.version import __version__
from rerank.workflows.demo import library_collection
from rerank.workflows.index import Index

log = logging.getLogger("rerank")
_TRAINED, _VALIDATED = 1200, 300  # topics
_CANDIDATES = 100


def demo_files(folder: Path | None = None) -> tuple[Path, Path]:
    """Return the index and the model of the embedded collection; they are made if they are not there."""
    folder = _demo_folder() if folder is None else folder
    index, model = folder / "index", folder / "demo.json"
    if not model.is_file():
        log.info("making the demo's index and model in %s (only the first time) ...", folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".demo-", dir=folder.parent))
        try:
            _make(made)
            if folder.exists():
                shutil.rmtree(folder)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return index, model


def _make(folder: Path) -> None:
    """Index the docstrings of the standard library, and train LambdaMART on some of its topics."""
    collection = library_collection()
    with Index.build(collection.documents, folder / "index") as index:
        names = list(collection.topics)[: _TRAINED + _VALIDATED]
        topics = {name: collection.topics[name] for name in names}
        data = index.features(index.search(topics, k=_CANDIDATES), topics, collection.qrels)
    train, valid = data.select(range(_TRAINED)), data.select(range(_TRAINED, len(data)))
    model = LambdaMART(n_estimators=200, metric="RR@10", base="run", colsample_bytree=0.3, early_stopping_rounds=30)
    model.fit(train, eval_set=valid)
    model.save(folder / "demo.json")


def _demo_folder() -> Path:
    """Return the folder in the cache folder, one for each version of Python and of this package."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    return cache_folder() / f"demo-{__version__}-python-{python}"
