"""Packages that are installed add to registries by entry points."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rerank.errors import InvalidInputError
from rerank.rankers.registry import ranker_class

MEASURE = """
import numpy as np
from dataclasses import dataclass
from rerank.metrics.base import Measure
from rerank.metrics.registry import register
from rerank.features.family import Feature, FieldFamily, known_families, register as register_family

@register("NoGain")
@dataclass(frozen=True)
class NoGain(Measure):
    def scores(self, lists):
        return np.zeros(len(lists.query_ptr) - 1)

@register_family("brief")
class Brief(FieldFamily):
    listed = (Feature("brief", "Nothing.", "1", "none", "share", high=1.0),)

    def fill(self, block, recipe, out):
        out[:, 0] = 1.0

known_families()  # while it is imported itself
"""
PROGRAM = """
import rerank
from rerank.features.catalogue import catalogue
from rerank.features.family import default_family_names, index_family_names, known_families
from rerank.rankers.registry import known_rankers

print(rerank.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["NoGain@5"])["NoGain@5"])
print("brief" in known_families(), "brief" in {*default_family_names(), *index_family_names()})
print("lambdamart" in known_rankers())
print(next(line for line in catalogue().splitlines() if line.startswith("brief ")))
"""


def run(program: str, *folders: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*map(str, folders), str(Path(__file__).parents[2])])
    return subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )


def test_entry_points_add_what_they_register_and_a_broken_one_is_logged(tmp_path: Path) -> None:
    (tmp_path / "parts_of_others.py").write_text(MEASURE)
    (tmp_path / "broken_parts.py").write_text("raise OSError('no such device')")
    folder = tmp_path / "others-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[rerank]\na = broken_parts\nb = parts_of_others\nc = not.there\n")
    done = run(PROGRAM, tmp_path)
    assert done.stdout.splitlines() == [
        "0.0",
        "True False",
        "True",
        "brief (1 feature of every field, where a recipe names it)",
    ], done.stderr
    for text in (
        "broken_parts: expected an entry point of the group rerank that can be imported, got OSError",
        "not.there",
    ):
        assert done.stderr.count(text) == 1


@pytest.mark.parametrize("name", ["lambdamarts", "", [], None, {}])
def test_registry_refuses_what_is_no_name_it_knows(name: object) -> None:
    with pytest.raises(InvalidInputError, match="ranker: expected a known name, got"):
        ranker_class(name)
