"""The largest difference of other libraries' predictions under the changes of `invariance.py`.

    python -m tests.checks.invariance_of_peers

Needs lightgbm, xgboost and catboost. Rows go to them by query, in their order.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from tests.checks.invariance import LAWS, Arrays, largest_difference

TREES: dict[str, Any] = {"n_estimators": 8, "random_state": 0}


def lightgbm_scores(data: Arrays) -> np.ndarray:
    """Return the scores of LGBMRanker on the rows that it was trained on."""
    from lightgbm import LGBMRanker

    order, sizes = _by_query(data)
    model = LGBMRanker(**TREES, num_leaves=5, min_child_samples=2, verbose=-1, **data.parameters)
    model.fit(data.X[order], data.y[order].astype(int), group=sizes, sample_weight=data.weights[order])
    return model.predict(data.X)


def xgboost_scores(data: Arrays) -> np.ndarray:
    """Return the scores of XGBRanker on the rows that it was trained on."""
    from xgboost import XGBRanker

    order, sizes = _by_query(data)
    weights = data.weights[order][np.cumsum(sizes) - 1]
    model = XGBRanker(**TREES, max_leaves=5, **data.parameters)
    model.fit(data.X[order], data.y[order], qid=data.qid[order], sample_weight=weights)
    return model.predict(data.X)


def catboost_scores(data: Arrays) -> np.ndarray:
    """Return the scores of CatBoostRanker on the rows that it was trained on."""
    from catboost import CatBoostRanker, Pool

    order, _ = _by_query(data)
    threads = {"thread_count": data.parameters["n_jobs"]} if data.parameters else {}
    model = CatBoostRanker(**TREES, depth=3, verbose=0, allow_writing_files=False, **threads)
    model.fit(Pool(data.X[order], data.y[order], group_id=data.qid[order], group_weight=data.weights[order]))
    return model.predict(data.X)


def _by_query(data: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows by query, and the number of each query's."""
    return np.argsort(data.qid, kind="stable"), np.unique(data.qid, return_counts=True)[1]


PEERS = {"lightgbm": lightgbm_scores, "xgboost": xgboost_scores, "catboost": catboost_scores}


def main() -> None:
    """Print the table."""
    print("| change | " + " | ".join(f"{name} {version(name)}" for name in PEERS) + " |")
    print("|---" * (len(PEERS) + 1) + "|")
    for law in LAWS:
        if law not in ("labels mapped", "categories renumbered"):
            cells = (f"{largest_difference(law, 20, scores):.2g}" for scores in PEERS.values())
            print(f"| {law} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
