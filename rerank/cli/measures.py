"""The measures' names, read from their source: help must not wait for their import."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_REGISTERED = re.compile(r'^@register\(\s*"(\w+)"', re.MULTILINE)


@cache
def measure_symbols() -> tuple[str, ...]:
    """Return the names, without parameters, that the classes in `rerank.metrics` are registered by."""
    spec = find_spec("rerank.metrics")
    folders = list(spec.submodule_search_locations or []) if spec else []
    texts = (path.read_text("utf8") for folder in folders for path in Path(folder).glob("*.py"))
    return tuple(sorted({name for text in texts for name in _REGISTERED.findall(text)}, key=str.lower))
