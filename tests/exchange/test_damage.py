"""Model files of other systems are input: a changed one is refused in one line, or it can be applied."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import rerank
from rerank.errors import FileFormatError, InvalidInputError, RerankError
from rerank.exchange.ubjson import parse_ubjson
from tests.exchange.conftest import NAMES, random_model
from tests.exchange.test_categories import model_with_sets
from tests.rankers.conftest import model_from_dict
from tests.rankers.test_damaged import HOSTILE, _edited

FORMATS = ("lightgbm", "xgboost", "xgboost-dump", "ranklib", "solr", "catboost", "ubjson")
TOKENS = [
    b"nan",
    b"inf",
    b"-1",
    b"1e400",
    b"99999999999999999999",
    b"",
    b"0",
    b"3",
    b"\xff",
    b"{",
    b"</split>",
    b"x",
    b"1_0",
]
CATBOOST = {
    "features_info": {
        "float_features": [
            {"feature_index": 0, "flat_feature_index": 0, "borders": [0.5], "nan_value_treatment": "AsIs"},
            {"feature_index": 1, "flat_feature_index": 2, "borders": [1.5], "nan_value_treatment": "AsTrue"},
        ],
        "categorical_features": [{"feature_index": 0, "flat_feature_index": 1, "values": [1435255456]}],
    },
    "oblivious_trees": [
        {
            "leaf_values": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            "splits": [
                {"border": 0.5, "float_feature_index": 0, "split_index": 0, "split_type": "FloatFeature"},
                {"border": 1.5, "float_feature_index": 1, "split_index": 1, "split_type": "FloatFeature"},
                {"cat_feature_index": 0, "split_index": 2, "split_type": "OneHotFeature", "value": 1435255456},
            ],
        }
    ],
    "scale_and_bias": [1, [0.5]],
}


def ubjson(value: object) -> bytes:
    """UBJSON of a JSON value, lists of numbers of one kind typed as XGBoost writes them."""
    if isinstance(value, dict):
        members = b"".join(
            b"L" + len(key).to_bytes(8, "big") + key.encode() + ubjson(each) for key, each in value.items()
        )
        return b"{" + members + b"}"
    if isinstance(value, list) and value and {type(each) for each in value} == {float}:
        return b"[$d#L" + len(value).to_bytes(8, "big") + np.array(value, ">f4").tobytes()
    if isinstance(value, list):
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"SL" + len(value).to_bytes(8, "big") + value.encode()
    return b"l" + int(value).to_bytes(4, "big", signed=True)  # type: ignore[call-overload]


@pytest.fixture(scope="session")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder, model, files = tmp_path_factory.mktemp("formats"), random_model(0, 3, moderate=True), {}
    for name in FORMATS[:5]:
        source = model_with_sets(0, 40) if name in ("lightgbm", "xgboost") else model
        rerank.export_model(source, folder / name, name, missing_as_zero=name == "ranklib")
        files[name] = (folder / name).read_bytes()
    files["catboost"] = json.dumps(CATBOOST).encode()
    files["ubjson"] = ubjson(json.loads(files["xgboost"]))
    return files


def _assert_refused_or_usable(content: bytes, name: str, path: Path) -> bool:
    """Read a file; True where it was refused."""
    path.write_bytes(content)
    given = NAMES if name in ("xgboost-dump", "solr") else None
    try:
        model = rerank.import_model(path, format="xgboost" if name == "ubjson" else name, feature_names=given)
    except (FileFormatError, InvalidInputError) as error:
        message = str(error)
        assert "expected" in message
        assert len(message.splitlines()) == 1
        assert len(message) < 1000
        return True
    X = np.random.default_rng(0).poisson(2.0, (20, model.n_features_in_)).astype(np.float32)  # categories, too
    assert np.isfinite(model._scores(X)).all()
    assert model_from_dict(json.loads(json.dumps(model.to_dict()))).to_dict() == model.to_dict()
    return False


@pytest.mark.parametrize("name", FORMATS)
def test_files_as_they_are_load(name: str, contents: dict[str, bytes], tmp_path: Path) -> None:
    assert not _assert_refused_or_usable(contents[name], name, tmp_path / "model")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_cut_off_is_refused(name: str, contents: dict[str, bytes], tmp_path: Path) -> None:
    whole = contents[name].rstrip()
    for end in {*range(0, len(whole), max(1, len(whole) // 40)), len(whole) - 1}:
        assert _assert_refused_or_usable(whole[:end], name, tmp_path / "model"), end


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_any_changed_bytes_are_refused_or_can_be_used(
    name: str, seed: int, contents: dict[str, bytes], tmp_path: Path
) -> None:
    pick, content = random.Random(seed), contents[name]
    for _ in range(pick.randint(1, 3)):
        position, length = pick.randrange(len(content)), pick.choice([0, 1, 1, 2, 5, 30])
        new = pick.choice([pick.choice(TOKENS), bytes([pick.randrange(256)]), content[position : position + 20]])
        content = content[:position] + new + content[position + length :]
    _assert_refused_or_usable(content, name, tmp_path / "model")


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("lightgbm", "ranklib", "ubjson")])
def test_any_value_of_json_in_place_of_any_other_is_refused_or_can_be_used(
    name: str, contents: dict[str, bytes], tmp_path: Path
) -> None:
    pick, refused, stored = random.Random(0), 0, json.loads(contents[name])
    for number in range(120):
        edited = _edited(stored, pick, HOSTILE[number % len(HOSTILE)])
        refused += _assert_refused_or_usable(json.dumps(edited).encode(), name, tmp_path / "model")
    assert refused > 20


@pytest.mark.parametrize("name", ["lightgbm", "ranklib"])
def test_any_number_in_place_of_any_other_is_refused_or_can_be_used(
    name: str, contents: dict[str, bytes], tmp_path: Path
) -> None:
    pick, refused = random.Random(0), 0
    positions = [
        position
        for position in range(1, len(contents[name]))
        if contents[name][position - 1 : position] in (b" ", b"=", b'"')
    ]
    for _ in range(200):
        position = pick.choice(positions)
        end = min(x for x in (contents[name].find(sign, position) for sign in (b" ", b"\n", b'"', b"<")) if x >= 0)
        content = contents[name][:position] + pick.choice(TOKENS) + contents[name][end:]
        refused += _assert_refused_or_usable(content, name, tmp_path / "model")
    assert refused > 50


def test_circles_and_shared_nodes_are_refused(contents: dict[str, bytes], tmp_path: Path) -> None:
    stored = json.loads(contents["xgboost"])
    tree = max(stored["learner"]["gradient_booster"]["model"]["trees"], key=lambda tree: len(tree["left_children"]))
    inner = [position for position, child in enumerate(tree["left_children"]) if child >= 0]
    for child in (0, inner[1], tree["right_children"][0]):
        before, tree["left_children"][inner[-1]] = tree["left_children"][inner[-1]], child
        assert _assert_refused_or_usable(json.dumps(stored).encode(), "xgboost", tmp_path / "model")
        tree["left_children"][inner[-1]] = before


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text("[" * 501 + '"nodeid"')
    with pytest.raises(FileFormatError, match="nested too deep"):
        rerank.import_model(path, format="xgboost-dump")
    with pytest.raises(ValueError, match="expected a UBJSON value"):
        parse_ubjson(b"[" * 501)
    with pytest.raises(ValueError, match=r"breaks off|count of what is in the file"):
        parse_ubjson(b"[$D#L" + (2**40).to_bytes(8, "big"))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), n_edits=st.integers(1, 3))
def test_a_stored_imported_model_is_refused_or_can_be_used(seed: int, n_edits: int) -> None:
    stored = json.loads(json.dumps(random_model(0, 2).to_dict()))
    edited = _edited(stored, random.Random(seed), n_edits=n_edits)
    refusal = ""
    try:
        model = model_from_dict(edited)
    except RerankError as error:
        refusal = str(error)
    if refusal:
        assert len(refusal.splitlines()) == 1
        return
    X = np.random.default_rng(0).poisson(2.0, (20, model.n_features_in_)).astype(np.float32)  # categories, too
    assert np.isfinite(model._scores(X)).all()
    assert model_from_dict(json.loads(json.dumps(model.to_dict()))).to_dict() == model.to_dict()
