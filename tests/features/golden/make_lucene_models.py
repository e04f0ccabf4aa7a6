"""Write lucene_models.json: Lucene's own LM and DFR scores of the awkward collection, each query term once.

Run from the checkout: python -m tests.features.golden.make_lucene_models
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jnius_config

from rerank.lucene.jvm import anserini_jar, java_home
from tests.features.awkward import QUERIES
from tests.features.golden.make_lucene_bm25 import index_searcher, scores_of

MU = 1000.0
PACKAGE = "org.apache.lucene.search.similarities"
GOLDEN = Path(__file__).with_name("lucene_models.json")


def main() -> None:
    jnius_config.add_classpath(str(anserini_jar()))
    os.environ["JAVA_HOME"] = str(java_home())
    from jnius import autoclass

    searcher = index_searcher(autoclass)
    scores = {}
    for name, similarity in similarities(autoclass).items():
        searcher.setSimilarity(similarity)
        scores[name] = {
            field: {
                query_id: scores_of(autoclass, searcher, field, sorted(set(tokens)))
                for query_id, tokens in QUERIES.items()
            }
            for field in ("title", "body", "contents")
        }
    version = autoclass("org.apache.lucene.util.Version").LATEST.toString()
    GOLDEN.write_text(json.dumps({"lucene": version, "mu": MU, "scores": scores}, indent=1) + "\n")


def similarities(autoclass: Any) -> dict[str, Any]:
    """Return Lucene's similarity for each stem of the pooled family."""

    def new(name: str, *arguments: Any) -> Any:
        return autoclass(f"{PACKAGE}.{name}")(*arguments)

    return {
        "dirichlet": new("LMDirichletSimilarity", MU),
        "dfr_gl2": new("DFRSimilarity", new("BasicModelG"), new("AfterEffectL"), new("NormalizationH2")),
        "dfr_inexpb2": new("DFRSimilarity", new("BasicModelIne"), new("AfterEffectB"), new("NormalizationH2")),
    }


if __name__ == "__main__":
    main()
