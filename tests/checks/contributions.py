"""Compare what explains the same scores through Python, the command line and the service, for every number of hits.

    python -m tests.checks.contributions INDEX MODEL TOPICS [--queries 40] [--documents 25]

For the first documents of each query, as the model ranks its own candidates, the contributions of the features
(`Ranker.contributions` of the whole list) are compared with those of `rerank.explain`, of `rerank explain` (a document
of each tenth query) and of `/search`, which the page asks, too, with k = 1, 2, 20 and 1,000; and their sum with the
score. Prints the largest difference of each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import rerank
from rerank.index.bound_model import BoundModel
from tests.service.test_process import process

CANDIDATES = 1000
COUNTS = (1, 2, 20, CANDIDATES)


class Largest(dict[str, float]):
    """The largest difference of each comparison, and how many were made."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}

    def note(self, name: str, first: float, second: float) -> None:
        """Compare two numbers."""
        self[name] = max(self.get(name, 0.0), abs(first - second))
        self.counts[name] = self.counts.get(name, 0) + 1


def hits_of(client: Any, query: str, k: int) -> list[dict[str, Any]]:
    """Return the explained hits of a query."""
    body = {"query": query, "k": k, "candidates": CANDIDATES, "explain": True}
    answer = client.post("/search", json=body)
    answer.raise_for_status()
    return answer.json()["results"][0]["hits"]  # type: ignore[no-any-return]


def features_of(explanation: dict[str, Any]) -> dict[str, float]:
    """Return the contribution of each feature to the score of the first document of an explanation."""
    return {feature["name"]: feature["contributions"][0] for feature in explanation["features"]}


def compare(index: rerank.Index, arguments: argparse.Namespace, client: Any, folder: Path) -> Largest:
    """Return the largest differences."""
    model = rerank.read_model(arguments.model)
    topics = rerank.read_topics(arguments.topics)
    largest = Largest()
    bound = BoundModel.of(index, model)
    depth = bound.depth(None)
    for number, (query_id, text) in enumerate(list(topics.items())[: arguments.queries]):
        topic = rerank.Topics.of({query_id: text})
        lists = {k: hits_of(client, text, k) for k in COUNTS}
        candidates = bound.find_candidates(topic, None, depth).head(depth)
        scored = bound.scored(bound.features(candidates, topic, whole=True))
        contributions = bound.contributions(scored)
        scores = scored.scores
        own = {str(doc_id): row for row, doc_id in enumerate(scored.data.doc_ids)}
        for doc_id in [hit["id"] for hit in lists[CANDIDATES]][: arguments.documents]:
            row = own[doc_id]
            expected = dict(zip(model.feature_names_, contributions[row].tolist(), strict=False))
            total = contributions[row].sum()
            largest.note("sum of contributions, and score", total, scores[row])
            explained = rerank.explain(index, model, {query_id: text}, query_id, doc_id).to_dict()
            for name, value in features_of(explained).items():
                largest.note("rerank.explain", value, expected[name])
            largest.note("score of rerank.explain", explained["documents"][0]["score"], scores[row])
        for k, hits in lists.items():
            for hit in hits[: arguments.documents]:
                row = own[hit["id"]]
                expected = dict(zip(model.feature_names_, contributions[row].tolist(), strict=False))
                largest.note(f"score of /search, k = {k}", hit["score"], scores[row])
                for feature in hit["features"]:
                    if feature["feature"] in expected:
                        largest.note(f"/search, k = {k}", feature["contribution"], expected[feature["feature"]])
        if number % 10 == 0:
            doc_id = lists[CANDIDATES][0]["id"]
            command = [sys.executable, "-m", "rerank", "explain", arguments.index, arguments.model, arguments.topics]
            options = ["--query", query_id, "--documents", doc_id, "-o", str(folder / "why.json")]
            subprocess.run([*command, *options], check=True, capture_output=True)
            expected = dict(zip(model.feature_names_, contributions[own[doc_id]].tolist(), strict=False))
            for name, value in features_of(json.loads((folder / "why.json").read_text("utf8"))).items():
                largest.note("rerank explain", value, expected[name])
    return largest


def main() -> None:
    """Compare, and print a line for each interface."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("index", "model", "topics"):
        parser.add_argument(name)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--documents", type=int, default=25, help="of each query")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        process(arguments.index, arguments.model) as (started, client),
        rerank.Index.open(arguments.index) as index,
    ):
        started.wait("ready after")
        largest = compare(index, arguments, client, Path(folder))
    for name, difference in largest.items():
        print(f"{name:<34} {largest.counts[name]:>9,} compared, largest difference {difference:.1e}")
    if max(largest.values()) > 1e-9:
        sys.exit("contributions: expected differences of at most 1e-9.")


if __name__ == "__main__":
    main()
