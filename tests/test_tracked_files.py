"""What git tracks works on every machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.checks.tracked import faults

ROOT = Path(__file__).resolve().parents[1]
HOME = "/" + "home/somebody"  # in two parts: this file is tracked, too


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / ".gitignore").write_text(".venv\nbuild/\n")
    return folder


def _faults(repository: Path) -> list[str]:
    subprocess.run(["git", "-C", repository, "add", "--all", "--force"], check=True)
    return faults(repository)


def test_tracked_files_of_this_checkout_work_everywhere() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("a checkout without git")
    assert faults(ROOT) == []


def test_tracked_files_may_link_within_the_repository(repository: Path) -> None:
    (repository / "docs.md").write_text("see /usr/bin/python3 and ~/work/data\n")
    (repository / "link.md").symlink_to("docs.md")
    assert _faults(repository) == []


def test_tracked_files_hold_no_link_that_leaves_the_repository(repository: Path) -> None:
    (repository / "absolute").symlink_to(repository.parent / "elsewhere")
    (repository / "relative").symlink_to("../elsewhere")
    messages = _faults(repository)
    assert [message.partition(":")[0] for message in messages] == ["absolute", "relative"]
    assert messages[1] == "relative: a link to ../elsewhere, outside of the repository"


def test_tracked_files_hold_nothing_that_is_ignored_be_it_a_link(repository: Path) -> None:
    (repository / ".venv").symlink_to(".gitignore")
    (repository / "build").mkdir()
    (repository / "build" / "log.txt").touch()
    assert _faults(repository) == [
        ".venv: tracked, though .gitignore names it",
        "build/log.txt: tracked, though .gitignore names it",
    ]


@pytest.mark.parametrize("path", [HOME + "/data", "/" + "tmp/t/dev", "C:\\" + "Users\\somebody"])
def test_tracked_files_hold_no_path_of_a_machine(repository: Path, path: str) -> None:
    (repository / "settings.toml").write_text(f'folder = "{path}"\n')
    assert _faults(repository) == [f"settings.toml: the path of a machine, {path}"]
