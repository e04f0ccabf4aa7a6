"""Vespa's `xgboost("NAME.json")`: the list of trees of XGBoost's dump, whose features are Vespa's rank features."""

from __future__ import annotations

import json
from typing import Any

from rerank.exchange.registry import Format, TreeModel, WriteOptions, register
from rerank.exchange.xgboost_dump import dumped_trees


@register("vespa")
class Vespa(Format):
    """Write trees for Vespa; `xgboost-dump` reads them."""

    title = "Vespa's models of XGBoost's dump"
    writes = True
    sums = "float32"
    adds_first_score = by_name = True

    def write(self, model: TreeModel, options: WriteOptions) -> bytes:
        """Return a list of trees, for the folder `models` of an application."""
        return json.dumps(dumped_trees(model, "vespa"), separators=(",", ":"), ensure_ascii=False).encode()

    def query(self, options: WriteOptions, base_field: str | None) -> dict[str, Any] | None:
        """Return the phases of a rank profile: the trees are added to the first phase's BM25."""
        field = (base_field or "").partition(".")[2] or "contents"
        trees = f'xgboost("{options.name}.json")'
        return {
            "first-phase": {"expression": f"bm25({field})"},
            "second-phase": {"expression": f"firstPhase + {trees}" if base_field else trees, "rerank-count": 1000},
        }
