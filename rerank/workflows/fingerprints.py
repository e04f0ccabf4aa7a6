"""Comparison of the fingerprints of indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def fingerprint_differences(
    prefix: str, trained_on: Mapping[str, Any], opened: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the dotted names of the parts in which two fingerprints differ, with both values."""
    for key in dict.fromkeys((*opened, *trained_on)):
        name, before, after = f"{prefix}{key}", trained_on.get(key), opened.get(key)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from fingerprint_differences(f"{name}.", before, after)
        elif before != after:
            yield name, before, after
