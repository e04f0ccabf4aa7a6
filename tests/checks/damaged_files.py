"""Damage stored files in many places: each is refused, or read with the same scores, contributions and probabilities.

    python -m tests.checks.damaged_files [--times 300] [--seed 0]

The forms are the models of all rankers, cold and from each kind of base, imported, fused, and trained from an index
(with recipe, history and calibration); a history, vectors, the arrays of an index, and ranking data. Of each, as many
bits are flipped as --times says, one at a time, as many numbers of its text are changed, and it is cut off at every 512
bytes. Prints what was refused, what was read unchanged, and what was read with another content; ends with 1 where there
is any of these.
"""

from __future__ import annotations

import argparse
import logging
import random
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

import rerank
from rerank.errors import RerankError
from rerank.lucene.arrays import read_arrays
from rerank.rankers.ranker import Ranker
from rerank.rankers.registry import known_rankers
from rerank.types import RankingData
from rerank.vectors.vectors import Vectors
from tests.examples import write_collection
from tests.fuzz.readers import model_seeds, small_data
from tests.rankers.test_learned_fusion import similar_queries

BLOCK = 512  # bytes
NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Form:
    """A stored file: its name, its bytes, and what a reader makes of it that must not change."""

    name: str
    content: bytes
    read: Callable[[Path], Any]
    ending: str = ".json"


def of_model(path: Path) -> list[Any]:
    """Return all that a model says, of rows with missing values too."""
    model = rerank.read_model(path)
    random_rows = np.random.default_rng(3)
    X = random_rows.normal(size=(40, model.n_features_in_)).astype(np.float32) * 4
    X[random_rows.random(X.shape) < 0.2] = np.nan
    ptr = np.arange(0, 41, 10)
    ids = np.array([f"d{row}" for row in range(40)])
    data = RankingData(np.array([*"abcd"]), ptr, ids, X, tuple(model.feature_names_), base_scores=np.zeros(40))
    found: list[Any] = [repr(model.to_dict()), str(rerank.model_card(model))]
    for options in ({"init_score": np.zeros(40)}, {"base": data.run(np.ones(40))}, {}):
        for compute in (model.predict, model.contributions):
            try:
                found.append(compute(data, **options).tobytes())
            except (RerankError, TypeError) as error:  # other bases, and rankers without contributions
                found.append(str(error))
    if model.calibration_ is not None:
        found += [part.tobytes() for part in model.probabilities(data)]
    return found


def models(work: Path) -> Iterator[Form]:
    """Yield the models that need no index."""
    path = work / "model.json"
    for kind in known_rankers():
        for number, content in enumerate(model_seeds(kind, work)):
            yield Form(f"{kind} {number}", content, of_model)
    runs, qrels = similar_queries(40)
    for trees in (False, True):
        rerank.learn_fusion(runs, qrels, trees=trees).save(path)
        yield Form(f"fusion, trees={trees}", path.read_bytes(), of_model)
    rerank.export_model(rerank.MART(n_estimators=3, min_child_samples=5).fit(small_data()), work / "m.txt", "lightgbm")
    rerank.import_model(work / "m.txt").save(path)
    yield Form("imported trees", path.read_bytes(), of_model)


def of_index(work: Path) -> Iterator[Form]:
    """Yield what is made with an index."""
    write_collection(work, 600, 80)
    topics, qrels = rerank.read_topics(work / "topics.tsv"), rerank.read_qrels(work / "qrels.txt")
    with rerank.Index.build(work / "docs.jsonl", work / "index", vectors=True) as index:
        rerank.History.learn(index, topics, qrels).save(work / "history.json")
        content = (work / "history.json").read_bytes()
        yield Form("history", content, lambda path: rerank.read_history(path).to_dict())

        def vectors(path: Path) -> list[Any]:
            read = Vectors.read(path, index.forward)
            return [read.checksum, *(space.term_vectors.tobytes() for space in read.spaces.values())]

        yield Form("vectors", (index.resources / "vectors").read_bytes(), vectors, "")

        def arrays(path: Path) -> list[Any]:
            path = path.rename(path.with_name("forward.npz"))
            forward = read_arrays(path.parent, again=True)
            return [
                forward.doc_ids.tolist(),
                forward.vocabulary.tolist(),
                *(
                    np.asarray(getattr(field, of.name)).tobytes()
                    for field in forward.fields.values()
                    for of in fields(field)
                ),
            ]

        yield Form("arrays of an index", (work / "index" / "rerank" / "forward.npz").read_bytes(), arrays, ".npz")

        def data(path: Path) -> list[Any]:
            read = rerank.read_data(path)
            recipe = read.recipe or made.recipe  # a table whose columns have other names has none
            return [read.X.tobytes(), read.labels.tobytes(), repr(recipe), read.doc_ids.tolist()]  # type: ignore[union-attr]

        made = index.features(index.search(topics, 20), topics, qrels)
        for ending in (".npz", ".parquet"):
            rerank.write_data(made, work / f"data{ending}")
            yield Form(f"ranking data{ending}", (work / f"data{ending}").read_bytes(), data, ending)
        trained: Any = rerank.train(index, topics, qrels, rerank.LambdaMART(n_estimators=8, num_leaves=6))
        model: Ranker = trained.model
        assert model.calibration_ is not None
        assert model.history_ is not None
        model.save(work / "trained.json")
        yield Form("trained: recipe, history, calibration", (work / "trained.json").read_bytes(), of_model)


def damages(content: bytes, times: int, pick: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield the kinds of damage and the damaged contents."""
    for _ in range(times):
        at = pick.randrange(len(content))
        yield "bit", content[:at] + bytes([content[at] ^ 1 << pick.randrange(8)]) + content[at + 1 :]
    numbers = list(NUMBER.finditer(content)) if content.startswith(b"{") else []
    for number in pick.choices(numbers, k=times if numbers else 0):
        value = number[0]
        other = pick.choice(
            [b"1" + value.lstrip(b"-"), value + b"1", b"0", b"1000000", b"-" + value.lstrip(b"-"), b"0.5"]
        )
        yield "number", content[: number.start()] + other + content[number.end() :]
    for end in range(0, len(content), BLOCK):
        yield "end", content[:end]


def outcome(form: Form, expected: Any, path: Path) -> str:
    """Return what a reader does with a damaged file."""
    try:
        return "unchanged" if form.read(path) == expected else "OTHER"
    except RerankError as error:
        return "refused" if len(str(error).splitlines()) == 1 else "LINES"
    except Exception as error:
        return f"RAISED {type(error).__name__}"


def main() -> int:
    """Run the check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logging.getLogger("rerank").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    pick = random.Random(options.seed)
    total: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for form in (form for forms in (models(work), of_index(work)) for form in forms):
            path = work / f"damaged{form.ending}"
            path.write_bytes(form.content)
            expected = form.read(path)
            for kind, content in damages(form.content, options.times, pick):
                path.write_bytes(content)
                found = "the same" if content == form.content else outcome(form, expected, path)
                total[kind, found] += 1
                if found not in ("the same", "unchanged", "refused"):
                    print(f"{form.name}: {kind}: {found}", file=sys.stderr)
    rows = [[kind, found, count] for (kind, found), count in sorted(total.items())]
    print(tabulate(rows, headers=["damage", "what the reader did", "files"]))
    return int(any(found not in ("the same", "unchanged", "refused") for _, found in total))


if __name__ == "__main__":
    sys.exit(main())
