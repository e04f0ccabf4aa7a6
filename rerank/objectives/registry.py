"""Objectives that need labels only, by the name that `objective=` and the command line use."""

from __future__ import annotations

from rerank.objectives.base import LabelObjective
from rerank.runtime.registry import Registry

_OBJECTIVES: Registry[type[LabelObjective]] = Registry("objective", "rerank.objectives")
register = _OBJECTIVES.register
known_objectives = _OBJECTIVES.known
objective_class = _OBJECTIVES.get
