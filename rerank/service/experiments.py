"""Which of two rankings a request gets, or what one list of both holds: drawn for each session, the same each time."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hashlib import blake2b

from rerank.service.faults import ServiceError

TEAM_DRAFT = "team-draft"


@dataclass(frozen=True)
class Comparison:
    """Two rankings that share one list.

    Parameters
    ----------
    names : tuple of str
        Their names.
    method : str
        How their documents are interleaved.
    session : str
        The session; lists for one query and session are equal.

    """

    names: tuple[str, str]
    method: str
    session: str

    def seed(self, query: str) -> int:
        """Return the seed of all chance in the list for a query."""
        return _number(*self.names, self.method, self.session, query)


def compared(names: str, method: str, session: str | None) -> Comparison:
    """Return the comparison of `A,B`; raises ServiceError."""
    return Comparison(_two("compare", names), method, session or secrets.token_hex(8))


def assigned(names: str, session: str | None) -> str:
    """Return which ranking of `A,B` a session gets; raises ServiceError. Without a session, it is drawn."""
    two = _two("assign", names)
    return two[_number(*two, session or secrets.token_hex(8)) % 2]


def _two(parameter: str, names: str) -> tuple[str, str]:
    first, _, second = names.partition(",")
    if not first or not second or first == second or "," in second:
        raise ServiceError(
            422, f"query.{parameter}", "two names of /models, as A,B", names[:100] or "none", "Name two models."
        )
    return first, second


def _number(*texts: str) -> int:
    """Return a number of 64 bits that looks random, the same for the same texts."""
    return int.from_bytes(blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=8).digest())
