"""Compiling ahead reaches every kernel, with the types of its arguments, that a study calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# What a study calls, in a separate process: Numba's dispatchers list the types that their kernels were called with.
STUDY = """
import gc, json, sys
from pathlib import Path
import numpy as np
from numba.core.dispatcher import Dispatcher
from rerank.features.family import index_family_names
from rerank.features.recipe import Recipe
from rerank.history.history import History
from rerank.rankers.lambdamart import LambdaMART
from rerank.cli.compile import compile_features, compile_training
from rerank.index.index import Index

def called():
    ours = [found for found in gc.get_objects() if isinstance(found, Dispatcher)]
    return {f"{found.__module__}.{found.__name__}{types}" for found in ours for types in found.signatures
            if found.__module__.startswith("rerank.")}

compile_training()
compile_features(Path(sys.argv[1]) / "compiled")
ahead = called()
words = ["ranking", "queries", "documents", "indexes", "learning", "trees"]
texts = [f"{first} {second} of {third}" for first in words for second in words for third in words]
index = Index.build(({"id": f"d{n}", "contents": text} for n, text in enumerate(texts)), f"{sys.argv[1]}/index")
topics = {f"q{n}": text for n, text in enumerate(texts[::8])}
qrels = {query_id: {f"d{n}": n % 3 for n in range(len(texts))} for query_id in topics}
history = History.learn(index, topics, qrels)
index.using(history=history).features(index.search(topics, 200), topics, qrels)
data = index.features(index.search(topics, 200), topics, qrels, recipe=Recipe(families=index_family_names()))
model = LambdaMART(n_estimators=3, base="feature:bm25.contents").fit(data, eval_set=data)
model.rank(data)
X = np.concatenate([data.X] * 2)
cold = LambdaMART(n_estimators=3).fit(X, np.concatenate([data.labels] * 2), qid=np.arange(len(X)) // 50)
cold.predict(X[:1])
print(json.dumps([len(ahead), sorted(called() - ahead)]))
"""


@pytest.mark.slow("8 s: processes")
def test_compile_reaches_every_kernel_of_a_study(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUDY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    n_kernels, missed = json.loads(done.stdout.splitlines()[-1])
    assert n_kernels > 25
    assert missed == []


@pytest.mark.slow("6 s: processes")
def test_compile_leaves_nothing_of_its_index_in_the_cache(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rerank", "-q", "compile"]
    subprocess.run(command, env={**os.environ, "RERANK_CACHE": str(tmp_path)}, check=True, timeout=300)
    assert {path.suffix for path in tmp_path.iterdir()} <= {".jsa"}
