"""Model files are input: whatever is changed in one, it is refused in one line or it can be applied."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.rankers.lambdamart import LambdaMART
from rerank.rankers.ranker import Ranker, read_model
from rerank.rankers.registry import known_rankers, ranker_class
from rerank.types import RankingData
from rerank.types.retriever import Retriever
from tests.rankers.conftest import model_from_dict, ranking_data

DATA = ranking_data(1, n_queries=8)
WHOLE = math.inf, -math.inf, math.nan
HOSTILE: list[Any] = [
    *(None, True, False, "x", "", "\ud800", 0, -1, -5, 1, 7, 0.5, 1e-320, 1e30, -1e308, 1e308, 10**6, 10**30, -(2**63)),
    *(2**31, 10**400, *WHOLE, [], {}, [0], [None], [[]], [[[[1.0]]]], {"x": 1}, ["x"], [1e308], [-1], [10**30]),
]
SMALL: dict[str, Any] = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 2, "n_epochs": 2, "hidden_units": 2}
SMALL["members"] = "lambdamart(n_estimators=2, num_leaves=3), logisticregression(max_iter=5)"
VARIANTS = [(name, {}) for name in known_rankers()] + [("ensemble", {"second": "boosted"})]
EDITS = 120  # of each ranker


def _fitted(name: str, **more: Any) -> Ranker:
    known = ranker_class(name)().get_params()
    given = {key: value for key, value in {**SMALL, **more}.items() if key in known}
    return ranker_class(name)(**given).fit(DATA, eval_set=DATA)


@pytest.fixture(scope="session", params=VARIANTS, ids=lambda variant: "-".join([variant[0], *variant[1].values()]))
def stored(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A model's JSON, started from a feature or from a model that starts from one."""
    name, more = request.param
    inner = LambdaMART(n_estimators=2, num_leaves=3, base="feature:f0").fit(DATA)
    model = _fitted(name, base=inner, **more)
    model.recipe_, model.fingerprint_ = {"fields": ["title"]}, {"documents": 3}
    model.retriever_, model.run_retrievers_ = Retriever.bm25(0.9, 0.4), {"dense": Retriever("dense-v1")}
    return json.loads(json.dumps(model.to_dict()))


def _containers(value: Any) -> Iterator[Any]:
    """Yield every object and list, however deep."""
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _edited(stored: dict[str, Any], pick: random.Random, value: Any = ..., n_edits: int = 1) -> dict[str, Any]:
    """Return a copy with values replaced, taken out or added; a long list is as likely as a short one."""
    edited = copy.deepcopy(stored)
    for _ in range(n_edits):
        inside = pick.choice([each for each in _containers(edited)] or [edited])
        position = pick.choice(list(inside) if isinstance(inside, dict) else range(len(inside))) if inside else None
        how = pick.choice(["put", "put", "put", "drop", "add"]) if value is ... else "put"
        new = copy.deepcopy(pick.choice(HOSTILE) if value is ... else value)
        if how == "add" or position is None:
            inside.update({"new": new}) if isinstance(inside, dict) else inside.append(new)
        elif how == "drop":
            del inside[position]
        else:
            inside[position] = new
    return edited


def _assert_refused_or_usable(stored: Any, data: RankingData = DATA) -> bool:
    """Read a model; True where it was refused."""
    try:
        model = model_from_dict(stored)
    except InvalidInputError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "expected" in refusal
        assert len(refusal.splitlines()) == 1
        assert len(refusal) < 1000
        return True
    try:
        scores = model.predict(data, init_score=np.zeros(data.n_rows))
    except ModelMismatchError:  # another recipe, or other names of features
        scores = np.zeros(0)
    assert np.isfinite(scores).all()
    written = json.dumps(model.to_dict(), allow_nan=False)
    assert json.dumps(model_from_dict(json.loads(written)).to_dict()) == written
    return False


def test_a_model_as_it_was_written_is_read(stored) -> None:
    assert not _assert_refused_or_usable(stored)


def test_any_value_in_place_of_any_other_is_refused_or_can_be_used(stored) -> None:
    pick, refused = random.Random(0), 0
    for number in range(EDITS):
        refused += _assert_refused_or_usable(_edited(stored, pick, HOSTILE[number % len(HOSTILE)]))
    assert refused > EDITS // 3


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n_edits=st.integers(1, 4))
def test_any_edits_are_refused_or_can_be_used(stored, seed: int, n_edits: int) -> None:
    _assert_refused_or_usable(_edited(stored, random.Random(seed), n_edits=n_edits))


@pytest.mark.slow("28 s: every value of every model file")
def test_every_value_of_a_key_is_checked(stored) -> None:
    """Each key in turn, which random edits of long lists would hardly meet."""
    edited = copy.deepcopy(stored)
    for inside in [each for each in _containers(edited) if isinstance(each, dict)]:
        for key, before in list(inside.items()):
            for value in (None, [], "x", -5, 10**30):
                inside[key] = value
                _assert_refused_or_usable(edited)
            del inside[key]
            _assert_refused_or_usable(edited)
            inside[key] = before


@pytest.mark.parametrize("name", known_rankers())
def test_every_parameter_is_declared(name: str) -> None:
    ranker = ranker_class(name)
    assert set(ranker.parameter_fields) == set(ranker().get_params(deep=False)) - {"base"}


@pytest.mark.parametrize("name", known_rankers())
def test_what_fit_refuses_is_not_loaded(name: str) -> None:
    """One declaration holds for both: each hostile value of each parameter."""
    model = _fitted(name)
    stored = model.to_dict()
    for parameter in type(model).parameter_fields:
        for value in HOSTILE:
            ranker = ranker_class(name)(**{**stored["parameters"], parameter: value})
            loads = True
            try:
                model_from_dict({**stored, "parameters": {**stored["parameters"], parameter: value}})
            except InvalidInputError:
                loads = False
            if not loads:
                with pytest.raises((InvalidInputError, ModelMismatchError)) as caught:
                    ranker.fit(DATA)
                assert len(str(caught.value).splitlines()) == 1


FOREST_EDITS = [
    (
        "left",
        10**6,
        r"learned\.forest\.left\[0\]: expected a node from 1 to 2 or a leaf from -1 to -4, each once in its",
    ),
    (
        "feature",
        9999,
        r"learned\.forest\.feature\[0\]: expected a whole number from 0 to 7, got 9999. Train the model",
    ),
    ("feature", -1, r"feature\[0\]: expected a whole number from 0 to 7, got -1"),
    ("threshold", math.nan, r"model\.json: expected a model file \(JSON\), got NaN, which is no number of JSON"),
    ("threshold", 1e300, r"threshold\[0\]: expected a number from -3\.4\d*e\+38 to 3\.4\d*e\+38, got 1e\+300"),
    ("leaf_value", 1e308, r"leaf_value\[0\]: expected a number from"),
    ("leaf_value", 3e38, "expected content of the checksum that the file names, '.*', got content of '.*'. Train"),
    ("leaf_value", "0.5", r"leaf_value\[0\]: expected a number, got '0\.5'"),
    ("missing_left", 1, r"missing_left\[0\]: expected true or false, got 1"),
    ("node_ptr", -5, r"node_ptr: expected numbers that rise from 0 to 9, got others"),
    ("node_ptr", 2, r"node_ptr: expected numbers that rise from 0 to 9, got others"),
    ("right", -1, r"expected .* a leaf from -1 to -4, each once in its tree, got -1"),
]


@pytest.mark.parametrize(("column", "value", "message"), FOREST_EDITS)
def test_an_edited_forest_is_refused_with_its_place(tmp_path: Path, column: str, value: Any, message: str) -> None:
    model = _fitted("lambdamart", min_child_weight=0.0)
    path = tmp_path / "model.json"
    model.save(path)
    stored = json.loads(path.read_text())
    stored["learned"]["forest"][column][0] = value
    path.write_text(json.dumps(stored))
    with pytest.raises(FileFormatError, match=message) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_circle_of_nodes_is_refused() -> None:
    stored = _fitted("mart").to_dict()
    forest = {
        **stored["learned"]["forest"],
        "leaf_count": None,
        "feature": [0, 0, 0],
        "threshold": [0.0, 0.0, 0.0],
        "missing_left": [True, True, True],
        "left": [-1, 2, 1],
        "right": [-2, -3, -4],
        "gain": [0.0, 0.0, 0.0],
        "leaf_value": [0.0, 1.0, 2.0, 3.0],
        "node_ptr": [0, 3],
        "leaf_ptr": [0, 4],
    }
    stored["learned"]["forest"] = forest
    with pytest.raises(InvalidInputError, match=r"forest\.left\[1\]: expected a node that its tree's root reaches"):
        model_from_dict(stored)
    stored["learned"]["forest"] = {**forest, "left": [1, 2, -3], "right": [-1, -2, -4]}
    assert model_from_dict(stored).predict(np.full((1, 8), 1.0)) == stored["learned"]["constant"]


TEXTS = {
    "[" * 501 + "]" * 501: "got brackets nested too deep",
    '{"format": ' + "1" * 5001 + "}": "got a number of thousands of digits",
    '{"format": Infinity}': "got Infinity, which is no number of JSON",
    "": r"model\.json:1: expected a model file \(JSON\), got a text that breaks off at column 1",
    "[1]": "got other JSON",
    '"x"': "got other JSON",
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_that_is_no_model_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=TEXTS[text]) as caught:
        read_model(path)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 1, 2, 10**30])
def test_another_version_is_refused(tmp_path: Path, version: Any) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"format": "rerank-model", "version": version}))
    with pytest.raises(ModelMismatchError, match=r"expected model version 4, got .*. Train the model"):
        read_model(path)


def test_a_file_cut_off_anywhere_is_refused(stored, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model_from_dict(stored).save(path)
    raw = path.read_bytes()
    for end in random.Random(1).sample(range(len(raw) - 1), 40):
        path.write_bytes(raw[:end])
        with pytest.raises(FileFormatError):
            read_model(path)


def test_a_file_with_another_number_or_bit_is_refused_or_says_the_same(stored, tmp_path: Path) -> None:
    path, pick = tmp_path / "model.json", random.Random(2)
    model_from_dict(stored).save(path)
    text = path.read_text()
    whole = text.encode()
    damaged = []
    for number in pick.sample(list(re.finditer(r"\d+", text)), 30):
        other = pick.choice([str(int(number[0]) + 1), str(int(number[0]) // 2), "1" + number[0]])
        damaged.append((text[: number.start()] + other + text[number.end() :]).encode())
    for at in pick.sample(range(len(whole)), 30):
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << pick.randrange(8)]) + whole[at + 1 :])
    for content in damaged:
        path.write_bytes(content)
        with suppress(FileFormatError, ModelMismatchError):
            assert read_model(path).to_dict() == stored


def test_a_model_that_would_not_load_is_not_saved(tmp_path: Path) -> None:
    model = _fitted("mart")
    broken = model.with_weights(np.full(len(model.weights()), np.nan))
    with pytest.raises(
        InvalidInputError, match=r"model: learned\.forest\.leaf_value\[0\]: expected a number from .* nan"
    ):
        broken.save(tmp_path / "model.json")
    with pytest.raises(InvalidInputError, match=r"model: num_leaves: expected 2 to 4096, got 1"):
        model.set_params(num_leaves=1).save(tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_parts_that_do_not_belong_together_are_refused() -> None:
    stored = _fitted("mart", base="feature:f0").to_dict()
    with pytest.raises(InvalidInputError, match="base: expected features of the model, got 'bm25'"):
        model_from_dict({**stored, "base": {"kind": "feature", "name": "bm25"}})
    other = {**stored, "feature_names": [f"g{number}" for number in range(8)], "base": {"kind": "none"}}
    with pytest.raises(InvalidInputError, match="base: expected features of the model, got 'g0'"):
        model_from_dict({**stored, "base": {"kind": "model", "model": other}})
    ensemble = _fitted("ensemble").to_dict()
    ensemble["learned"]["members"][1]["feature_names"][0] = "g"
    with pytest.raises(InvalidInputError, match=r"learned\.members\[1\]: expected the ensemble's features"):
        model_from_dict(ensemble)
    with pytest.raises(InvalidInputError, match="ranker: expected mart, got 'gbrank'"):
        ranker_class("mart").from_dict({**stored, "ranker": "gbrank"})
