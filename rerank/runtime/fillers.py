"""Packages that fill a registry of a package below them; `rerank/__init__.py`, which is above all, names them."""

FILLERS: dict[str, tuple[str, ...]] = {}  # by what the registry holds
