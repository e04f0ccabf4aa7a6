"""Read-only JSON values: several user-defined functions receive the same document."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NoReturn


def read_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return a read-only dict with read-only lists; for `json.loads(object_hook=...)`."""
    return _Dict({key: _List.of(value) if type(value) is list else value for key, value in values.items()})


def _refuse(self: Any, *arguments: Any, **options: Any) -> NoReturn:
    raise TypeError("a document cannot be changed; change a copy, e.g. copy.deepcopy(document)")


class _Dict(dict[str, Any]):
    """A read-only dict, whose copies can be changed."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: deepcopy(value, memo) for key, value in self.items()}

    def __copy__(self) -> dict[str, Any]:
        return dict(self)


class _List(list[Any]):
    """A read-only list, whose copies can be changed."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    @classmethod
    def of(cls, values: list[Any]) -> _List:
        """Return a list, and the lists in it, as read-only lists."""
        return cls([cls.of(value) if type(value) is list else value for value in values])

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [deepcopy(value, memo) for value in self]

    def __copy__(self) -> list[Any]:
        return list(self)
