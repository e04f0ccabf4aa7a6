"""Sizes of boosted trees that are not given: they follow the number of training queries.

With few judged queries many large trees fit their noise. With many, the sizes are LightGBM's leaves and rows. They were
chosen on training queries of nfcorpus; docs/benchmarks.md has figures of other collections.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

FEW, SOME = 300, 1000  # queries
LEAST_ROWS, SHARE_OF_ROWS = 20, 25


@dataclass(frozen=True)
class Sizes:
    """Sizes of boosted trees, by the names of the rankers' parameters."""

    n_estimators: int
    num_leaves: int
    min_child_samples: int


OF_FEW = Sizes(n_estimators=50, num_leaves=8, min_child_samples=100)
OF_SOME = Sizes(n_estimators=150, num_leaves=15, min_child_samples=100)
OF_MANY = Sizes(n_estimators=500, num_leaves=31, min_child_samples=20)


def by_queries(name: str) -> str:
    """Return the values of a size as the text about a parameter has them."""
    few, some, many = (getattr(sizes, name) for sizes in (OF_FEW, OF_SOME, OF_MANY))
    if few == some:
        return f"None: {few} below {SOME} queries, else {many}."
    return f"None: {few} below {FEW} queries, {some} below {SOME}, else {many}."


def sizes_of(given: Any, n_queries: int, n_rows: int) -> Sizes:
    """Return the sizes of trees that learn from some queries and rows; a ranker's own where they are not None."""
    sizes = OF_FEW if n_queries < FEW else OF_SOME if n_queries < SOME else OF_MANY
    most = max(n_rows // SHARE_OF_ROWS, LEAST_ROWS)
    sizes = replace(sizes, min_child_samples=min(sizes.min_child_samples, most))
    chosen = {name: getattr(given, name) for name in asdict(sizes) if getattr(given, name) is not None}
    return replace(sizes, **chosen)
