"""Sizes of boosted trees that are not given: they follow the number of training queries.

With few judged queries many large trees fit their noise. With many, the sizes are LightGBM's. Those of fewer than 300
queries were chosen on 8 draws of 10, 20 and 40 queries of each development collection (sweep_sizes.py of commit
a136ab03).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

FEWEST, FEW, SOME = 50, 300, 1000  # queries below which sizes are smaller
LEAST_ROWS = 20
SHARE_OF_ROWS = 25


@dataclass(frozen=True)
class Sizes:
    """Sizes of boosted trees, by the names of the rankers' parameters."""

    n_estimators: int
    num_leaves: int
    min_child_samples: int


OF_MANY = Sizes(n_estimators=500, num_leaves=31, min_child_samples=20)
BELOW = {
    FEWEST: Sizes(n_estimators=20, num_leaves=4, min_child_samples=100),
    FEW: Sizes(n_estimators=50, num_leaves=8, min_child_samples=100),
    SOME: Sizes(n_estimators=150, num_leaves=15, min_child_samples=100),
}


def by_queries(name: str) -> str:
    """Return the values of a size as the text about a parameter has them."""
    values: dict[int, int] = {}
    for below, sizes in BELOW.items():
        values = {limit: value for limit, value in values.items() if value != getattr(sizes, name)}
        values[below] = getattr(sizes, name)
    smaller = ", ".join(f"{value} below {below}" for below, value in values.items())
    return f"None: {smaller} queries, else {getattr(OF_MANY, name)}."


def sizes_of(ranker: Any, n_queries: int, n_rows: int) -> Sizes:
    """Return the sizes of trees that learn from some queries and rows; a ranker's own where they are not None."""
    sizes = next((sizes for below, sizes in BELOW.items() if n_queries < below), OF_MANY)
    most = max(n_rows // SHARE_OF_ROWS, LEAST_ROWS)
    sizes = replace(sizes, min_child_samples=min(sizes.min_child_samples, most))
    chosen = {name: getattr(ranker, name) for name in asdict(sizes) if getattr(ranker, name) is not None}
    return replace(sizes, **chosen)
