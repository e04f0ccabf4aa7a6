"""Extension of mkdocstrings: a signature shows the value of a default, not the name of the constant that holds it."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Expr, ExprName, Extension, Function


class DefaultValues(Extension):
    """Replaces names of constants by their values, once all modules are loaded."""

    def on_package(self, *, pkg: Any, **_: Any) -> None:
        """Replace the defaults of all functions of a package."""
        for function in _functions(pkg):
            for parameter in function.parameters:
                parameter.default = _value(parameter.default, pkg.modules_collection)


def _functions(parent: Any) -> list[Function]:
    """Return the functions of a module or class and of all inside it."""
    found = []
    for member in parent.members.values():
        if member.is_alias:
            continue
        if isinstance(member, Function):
            found.append(member)
        elif member.is_module or member.is_class:
            found += _functions(member)
    return found


def _value(default: str | Expr | None, constants: Any) -> str | Expr | None:
    """Return the value of a constant; anything else is left as it is."""
    if not isinstance(default, ExprName):
        return default
    try:
        target = constants[default.canonical_path]
    except KeyError:
        return default
    return target.value if isinstance(target, Attribute) and isinstance(target.value, str) else default
