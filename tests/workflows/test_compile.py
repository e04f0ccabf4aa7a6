"""Compiling ahead: the parts reach every kernel, with the types of its arguments, that a study calls."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from rerank.runtime import compile_hook
from rerank.runtime.threads import thread_count
from rerank.workflows import compile as ahead

# What a study calls, in a separate process: Numba's dispatchers list the types that their kernels were called with.
STUDY = """
import gc, json, sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from rerank.features.registry import index_family_names
from rerank.features.recipe import Recipe
from rerank.history.history import History
from rerank.rankers.lambdamart import LambdaMART
from rerank.workflows.compile import PARTS
from rerank.workflows.index import Index

def called():
    ours = [found for found in gc.get_objects() if isinstance(found, Dispatcher)]
    return {f"{found.__module__}.{found.__name__}{types}" for found in ours for types in found.signatures
            if found.__module__.startswith("rerank.")}

for compile_part in PARTS.values():
    compile_part()
ahead = called()
words = ["ranking", "queries", "documents", "indexes", "learning", "trees"]
texts = [f"{first} {second} of {third}" for first in words for second in words for third in words]
index = Index.build(({"id": f"d{n}", "contents": text} for n, text in enumerate(texts)), sys.argv[1])
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
def test_parts_compile_every_kernel_of_a_study(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUDY, str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    n_kernels, missed = json.loads(done.stdout.splitlines()[-1])
    assert n_kernels > 25
    assert missed == []


@pytest.mark.slow("4 s: processes")
def test_compile_kernels_runs_each_part_in_one_process_that_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    finished, ended = ahead._finished, []

    def recorded(processes: Iterable[BaseProcess]) -> Iterator[BaseProcess]:
        for process in finished(processes):
            ended.append(process)
            yield process

    monkeypatch.setattr(ahead, "_finished", recorded)
    ahead.compile_kernels()
    assert sorted(name for process in ended for name in process.name.split(", ")) == sorted(ahead.PARTS)
    assert len({process.pid for process in ended} - {os.getpid()}) == min(thread_count(None), len(ahead.PARTS))
    assert [process.exitcode for process in ended] == [0] * len(ended)


def test_compile_kernels_says_which_part_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"^compiling no such part: the process ended with exit code 1$"):
        ahead.compile_kernels(["no such part"])
    assert "KeyError: 'no such part'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("module", "parts"),
    [
        ("rerank.trees.bins", [("trees", "gradients and scores")]),
        ("rerank.features.families.letor", [("features of positions", "features of terms")]),
        ("rerank.trees.score", []),
        ("rerank.lucene.invert", []),
    ],
)
def test_first_kernel_of_a_package_has_the_rest_compiled_once(
    module: str, parts: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(ahead, "_UNCOMPILED", dict(ahead.PARTS_OF_MODULES))
    monkeypatch.setattr(ahead, "compile_kernels", asked.append)
    monkeypatch.setattr(ahead, "thread_count", lambda n_jobs: 2)
    ahead.compile_with(module)
    ahead.compile_with(module)
    assert asked == parts


def test_kernels_compile_one_by_one_where_no_process_can_be_started(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(parts: tuple[str, ...]) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(ahead, "_UNCOMPILED", dict(ahead.PARTS_OF_MODULES))
    monkeypatch.setattr(ahead, "compile_kernels", refuse)
    monkeypatch.setattr(ahead, "thread_count", lambda n_jobs: 2)
    with caplog.at_level(logging.INFO, "rerank"):
        ahead.compile_with("rerank.trees.bins")
    assert caplog.messages == ["kernels compile one by one: [Errno 11] Resource temporarily unavailable"]


def test_library_compiles_nothing_ahead() -> None:
    assert compile_hook.before_compilation is None
