"""The environment that the scripts make."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", ROOT / "scripts" / "environment.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, for a folder that is not there, with sets of no packages."""
    monkeypatch.setenv("RERANK_VENV", str(tmp_path / "a räum" / "env"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    module = _module()
    (tmp_path / "none.txt").touch()
    (tmp_path / "unknown.txt").write_text("no-package-of-this-name==1.0\n")
    module.SETS = {"none": tmp_path / "none.txt", "unknown": tmp_path / "unknown.txt"}
    return module


def _message(raised: pytest.ExceptionInfo[SystemExit]) -> str:
    assert isinstance(raised.value.code, str)
    assert "\n" not in raised.value.code
    return raised.value.code


def test_scripts_name_the_python_that_they_need_when_it_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    with pytest.raises(SystemExit) as raised:
        _module()
    assert _message(raised) == (
        "scripts: expected Python 3.11 or later, got 3.10. Name a newer one, as in `python3.12 scripts/demo`."
    )


def test_scripts_leave_a_folder_that_is_no_environment(module: ModuleType) -> None:
    environment = module.Environment()
    environment.folder.mkdir(parents=True)
    (environment.folder / "notes.txt").write_text("mine")
    with pytest.raises(SystemExit) as raised:
        environment.install("none")
    assert _message(raised) == (
        f"scripts: {environment.folder}: expected an environment, got something without {environment.python.name}. "
        "Delete it."
    )
    assert (environment.folder / "notes.txt").read_text() == "mine"


def test_scripts_say_so_when_the_folder_is_a_link_that_leads_nowhere(module: ModuleType, tmp_path: Path) -> None:
    environment = module.Environment()
    environment.folder.parent.mkdir()
    environment.folder.symlink_to(tmp_path / "gone")
    with pytest.raises(SystemExit, match="expected an environment, got something without python"):
        environment.install("none")


def test_scripts_say_what_to_install_when_venv_is_missing(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ensurepip" else found(name))
    with pytest.raises(SystemExit) as raised:
        module.Environment().install("none")
    assert _message(raised) == (
        "scripts: expected Python's modules venv and ensurepip, got none. Install them (Debian: python3-venv)."
    )


@pytest.mark.slow("8 s: makes two environments")
def test_scripts_make_an_environment_again_that_was_interrupted(module: ModuleType) -> None:
    environment: Any = module.Environment()
    with pytest.raises(SystemExit) as raised:
        environment.install("unknown")
    assert _message(raised).startswith("scripts: expected pip to install packages, got: ERROR: ")
    assert "no-package-of-this-name" in _message(raised)
    half = environment.folder / "half-made"
    half.touch()
    environment.install("none")
    assert environment.python.is_file()
    assert not half.exists()
    half.touch()
    environment.install("none")  # once for a state of its file
    assert half.exists()
