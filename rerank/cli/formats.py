"""The names of the formats of models, read from the files that register them: help must not wait for their import."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

_REGISTERED = re.compile(r'^@register\("([\w-]+)"\)$', re.MULTILINE)


def format_names() -> list[str]:
    """Return the names of all formats, in alphabetical order."""
    spec = find_spec("rerank.exchange")
    folders = list(spec.submodule_search_locations or []) if spec else []
    texts = (path.read_text("utf8") for folder in folders for path in Path(folder).glob("*.py"))
    return sorted(name for text in texts for name in _REGISTERED.findall(text))
