"""A training that was killed goes on from its checkpoint to the same model, byte for byte."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError, RerankError, UnknownParameterError
from rerank.files.data import write_data
from rerank.rankers import checkpoint as checkpoints
from rerank.rankers.checkpoint import Checkpoint, read_checkpoint
from rerank.rankers.ranker import ranker_class
from rerank.rankers.training import TrainingOptions, TrainingProgress
from rerank.runtime import container
from rerank.runtime.codec import plain
from tests.rankers.conftest import ranking_data

SMALL: dict[str, Any] = {"n_estimators": 12, "num_leaves": 6, "n_jobs": 1}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cold": ("lambdamart", {}),
    "drawn": ("lambdamart", {"subsample": 0.6, "colsample_bytree": 0.6}),
    "drawn by gradient": ("lambdamart", {"data_sample_strategy": "mvs", "subsample": 0.4}),
    "random splits": ("lambdamart", {"extra_trees": True, "colsample_bytree": 0.6}),
    "line search": ("lambdamart", {"step": "line-search", "subsample": 0.6}),
    "from a run": ("lambdamart", {"base": "run"}),
    "random loss": ("mart", {"objective": "xe-ndcg"}),
    "averaged": ("gbrank", {"subsample": 0.6}),
    "kept pairs": ("gbrank", {"keep_pairs": True}),
    "stops early": ("lambdamart", {"learning_rate": 3.0, "early_stopping_rounds": 2}),
}


class Interrupted(KeyboardInterrupt):
    pass


def _interrupt_after(n_trees: int) -> Any:
    def callback(progress: TrainingProgress) -> None:
        if progress.iteration == n_trees:
            raise Interrupted

    return callback


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("watched", [True, False])
def test_interrupted_training_goes_on_to_the_same_model(variant: str, watched: bool, train, valid, tmp_path) -> None:
    name, parameters = VARIANTS[variant]
    learner, state = ranker_class(name), tmp_path / "state"
    given = {"eval_set": valid} if watched else {}
    whole = learner(**SMALL, **parameters).fit(train, **given)
    seen: list[int] = []
    for n_trees in (1, 2, 5, 9):
        interrupt = _interrupt_after(n_trees)
        try:
            learner(**SMALL, **parameters).fit(
                train,
                **given,
                training=TrainingOptions(checkpoint=Checkpoint(state, 0.0)),
                callbacks=[interrupt, lambda p: seen.append(p.iteration)],
            )
        except Interrupted:
            assert len(read_checkpoint(state)["forest"].node_ptr) == n_trees  # the trees before this one
    resumed = learner(**SMALL, **parameters).fit(train, **given, training=TrainingOptions(checkpoint=state))
    assert resumed.to_dict() == whole.to_dict()
    assert not state.exists()
    assert variant == "stops early" or len(set(seen)) == len(seen), "no tree was grown twice"


def test_checkpoint_of_the_caller_is_left_to_it(train, tmp_path) -> None:
    state = Checkpoint(tmp_path / "state", 0.0)
    whole = ranker_class("mart")(**SMALL).fit(train, training=TrainingOptions(checkpoint=state))
    assert state.path.exists()
    again = ranker_class("mart")(**SMALL).fit(train, training=TrainingOptions(checkpoint=state))
    assert again.to_dict() == whole.to_dict()
    state.remove()
    assert not state.path.exists()


@pytest.fixture
def unfinished(train, valid, tmp_path) -> Path:
    """A checkpoint of a training of which 5 trees are done."""
    path = tmp_path / "state"
    with pytest.raises(Interrupted):
        ranker_class("lambdamart")(**SMALL).fit(
            train,
            eval_set=valid,
            training=TrainingOptions(checkpoint=Checkpoint(path, 0.0)),
            callbacks=[_interrupt_after(6)],
        )
    return path


def test_checkpoint_of_another_training_is_refused(unfinished: Path, train, valid, monkeypatch) -> None:
    flipped = train.X.copy()
    flipped[0, 0] = -flipped[0, 0]
    labels = train.labels.copy()
    labels[np.argmax(labels == 0)] = 1
    other_valid = valid.X.copy()
    other_valid[3, 3] = 7.0
    names = (*train.feature_names[:-1], "other")
    cases = [
        ("lambdamart", {"num_leaves": 7}, train, valid, "other parameters"),
        ("lambdamart", {"n_estimators": 13}, train, valid, "other parameters"),
        ("mart", {}, train, valid, "another ranker"),
        ("lambdamart", {}, replace(train, X=flipped), valid, "other training data"),
        ("lambdamart", {}, replace(train, labels=labels), valid, "other training data"),
        ("lambdamart", {}, replace(train, weights=np.full(len(train), 2.0)), valid, "other training data"),
        ("lambdamart", {"base": "run"}, train, valid, "other validation data"),
        ("lambdamart", {}, train, replace(valid, X=other_valid), "other validation data"),
        ("lambdamart", {}, train, None, "other validation data"),
        ("lambdamart", {}, replace(train, feature_names=names), replace(valid, feature_names=names), "other features"),
    ]
    before = unfinished.read_bytes()
    for name, parameters, data, watched, message in cases:
        with pytest.raises(
            ModelMismatchError, match=rf"expected a checkpoint of this training, got one with {message}\. "
        ):
            ranker_class(name)(**{**SMALL, **parameters}).fit(
                data, eval_set=watched, training=TrainingOptions(checkpoint=unfinished)
            )
    monkeypatch.setattr(checkpoints, "__version__", "0.0.0")
    with pytest.raises(ModelMismatchError, match=r"expected a checkpoint of version 0\.0\.0 of the package, got "):
        ranker_class("lambdamart")(**SMALL).fit(train, eval_set=valid, training=TrainingOptions(checkpoint=unfinished))
    assert unfinished.read_bytes() == before


def test_threads_may_differ(unfinished: Path, train, valid) -> None:
    whole = ranker_class("lambdamart")(**SMALL).fit(train, eval_set=valid)
    resumed = ranker_class("lambdamart")(**{**SMALL, "n_jobs": 2}).fit(
        train, eval_set=valid, training=TrainingOptions(checkpoint=unfinished)
    )
    assert plain(resumed.forest_) == plain(whole.forest_)


def test_damaged_checkpoint_is_refused_in_one_line(unfinished: Path, train, valid) -> None:
    content, chance = unfinished.read_bytes(), random.Random(0)
    damaged = [content[: int(len(content) * share)] for share in (0.0, 0.3, 0.99)]
    first, last = content.index(b'{"format"'), content.rindex(b"}")
    for _ in range(40):
        copy = bytearray(content)
        copy[chance.randrange(first, last)] ^= 1 << chance.randrange(8)
        damaged.append(bytes(copy))
    damaged += [b"{}", b"[1]\n2\n", b"\xff\xfe", content.replace(b"rerank checkpoint", b"rerank history   ")]
    for bad in damaged:
        unfinished.write_bytes(bad)
        with pytest.raises(RerankError) as caught:
            ranker_class("lambdamart")(**SMALL).fit(
                train, eval_set=valid, training=TrainingOptions(checkpoint=unfinished)
            )
        assert isinstance(caught.value, FileFormatError)
        assert str(caught.value).startswith(f"{unfinished}: expected ")
        assert "\n" not in str(caught.value)


def test_well_formed_checkpoint_that_is_wrong_is_refused(unfinished: Path, train, valid) -> None:
    """A checksum alone does not make a checkpoint: its values are checked, too."""
    with np.load(unfinished) as loaded:
        stored = json.loads(loaded["about"].tobytes())
    del stored["format"], stored["version"]
    wrong = [
        {"history": [*stored["history"], 0.5]},
        {"forest": {**stored["forest"], "feature": [8] * len(stored["forest"]["feature"])}},
        {"about": None},
        {"forest": {**stored["forest"], "left": stored["forest"]["right"]}},
        {"more": 1},
    ]
    for members in wrong:
        container.write(unfinished, checkpoints.KIND, {**stored, **members}, {})
        with pytest.raises(FileFormatError) as caught:
            ranker_class("lambdamart")(**SMALL).fit(
                train, eval_set=valid, training=TrainingOptions(checkpoint=unfinished)
            )
        assert "\n" not in str(caught.value)


def test_checkpoint_that_cannot_be_written_is_refused_before_training(train, tmp_path) -> None:
    with pytest.raises(RerankError, match="expected a folder to write into"):
        ranker_class("mart")(**SMALL).fit(train, training=TrainingOptions(checkpoint=tmp_path / "none" / "state"))
    with pytest.raises(FileFormatError, match="expected a checkpoint of `rerank train`, got a folder"):
        ranker_class("mart")(**SMALL).fit(train, training=TrainingOptions(checkpoint=tmp_path))
    with pytest.raises(InvalidInputError, match="expected seconds of at least 0"):
        Checkpoint(tmp_path / "state", -1.0)
    with pytest.raises(UnknownParameterError, match=r"^checkpoint: expected a ranker of boosted trees"):
        ranker_class("ranknet")().fit(train, training=TrainingOptions(checkpoint=tmp_path / "state"))


def test_time_between_checkpoints_grows_with_the_time_to_write_one(train, tmp_path) -> None:
    state = Checkpoint(tmp_path / "state", 1000.0)
    ranker_class("mart")(**SMALL).fit(train, training=TrainingOptions(checkpoint=state))
    assert len(read_checkpoint(state.path)["forest"].node_ptr) == 1  # that of the beginning


@pytest.mark.slow("12 s: processes")
def test_training_that_is_killed_at_any_moment_goes_on_to_the_same_model(tmp_path: Path) -> None:
    """`kill -9` of a real process, until one is quick enough to end."""
    write_data(ranking_data(5, 300, 12), tmp_path / "train.npz")
    write_data(ranking_data(6, 40, 12), tmp_path / "valid.npz")
    code_of_training = (
        "import sys, rerank\n"
        "state = rerank.Checkpoint(sys.argv[2], 0.0) if sys.argv[2:] else None\n"
        "model = rerank.LambdaMART(n_estimators=150, subsample=0.7, num_leaves=8, n_jobs=1)\n"
        "valid, options = rerank.read_data('valid.npz'), rerank.TrainingOptions(checkpoint=state)\n"
        "model.fit(rerank.read_data('train.npz'), eval_set=valid, training=options).save(sys.argv[1])\n"
        "if state is not None: state.remove()\n"
    )

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", code_of_training, *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE)

    first = time.monotonic()
    assert start("whole.json").wait(300) == 0
    seconds, chance, kills = time.monotonic() - first, random.Random(3), 0
    for _ in range(60):
        process = start("model.json", "state")
        moment = chance.uniform(0.3, 1.1) * seconds
        try:
            code = process.wait(moment if kills < 6 else 300)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            kills += 1
            assert not (tmp_path / "model.json").exists() or kills
            continue
        assert code == 0, process.stderr and process.stderr.read()
        break
    assert (tmp_path / "model.json").read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "train.npz", "valid.npz", "whole.json"]
