"""Check the docstrings of the public names of the package, and of their public methods, with numpydoc's validation.

Run: .ci/check_docstrings.py
`[tool.numpydoc_validation]` of pyproject.toml names the checks that are left out.
"""

import inspect
import sys
import tomllib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from numpydoc.validate import ERROR_MSGS, validate

import rerank

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the faults, a line each; return 1 if there are any, else 0."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["tool"]["numpydoc_validation"]
    checks = set(ERROR_MSGS) - set(settings["checks"])
    names = sorted(set(public_names()))
    faults = [
        f"{result['file']}:{result['file_line']}: {name}: {code} {message}"
        for name in names
        for result in [validate(name)]
        for code, message in result["errors"]
        if code in checks
    ]
    print("\n".join(faults) or f"{len(names)} docstrings, {len(checks)} checks")
    return int(bool(faults))


def public_names() -> Iterator[str]:
    """Yield where each public function, class, method and property is defined."""
    for name in rerank.__all__:
        value = getattr(rerank, name)
        if not callable(value):
            continue
        yield f"{value.__module__}.{value.__qualname__}"
        for member in dir(value) if inspect.isclass(value) else ():
            function = underlying(inspect.getattr_static(value, member))
            if not member.startswith("_") and function and function.__module__.startswith("rerank."):
                yield f"{function.__module__}.{function.__qualname__}"


def underlying(member: object) -> object | None:
    """Return the function of a method or property, None for another attribute or one named by a private function."""
    if isinstance(member, property):
        member = member.fget
    elif isinstance(member, cached_property):
        member = member.func
    elif isinstance(member, classmethod | staticmethod):
        member = member.__func__
    return member if inspect.isfunction(member) and not member.__name__.startswith("_") else None


if __name__ == "__main__":
    sys.exit(main())
