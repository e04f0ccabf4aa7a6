"""The tiny collection and its index."""

from tests.indexed import collection, index, other_index

__all__ = ["collection", "index", "other_index"]
