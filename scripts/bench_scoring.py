#!/usr/bin/env python3
"""Scoring compared with LightGBM, compiled trees (tl2cgen, lleaves) and Yggdrasil's QuickScorer.

LightGBM trains forests of 31 and of 255 leaves on generated data of MSLR's shape, some of it missing; the same trees
are then scored by every system that is installed. LightGBM compares with float64 thresholds; ours are rounded down
to float32, which decides alike on every float32 value. All scores must agree before anything is timed.
Yggdrasil cannot take LightGBM's trees: it trains as many trees of the same size, and its own C++ `benchmark()` is
quoted beside its predict. LightGBM's fast call for single rows is its C function, through ctypes.

Run:  .venv/bin/python scripts/bench_scoring.py [--quick] [--output FILE]
Peers, where wanted:  pip install tl2cgen treelite lleaves ydf   (tl2cgen needs a C compiler)
"""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numba
import numpy as np
from bench_common import arguments, machine, ratio, report, seconds
from bench_training import generate

from rerank.trees.forest import Forest, Tree
from rerank.trees.quickscorer import bit_forest
from rerank.trees.score import score_rows
from rerank.types import Floats

BATCH, MANY, SINGLES, N_TREES, REPEATS = 1000, 20_000, 200, 200, 7
OTHER_SHAPES = ((31, 1000), (64, 200))  # leaves and trees of forests whose nodes are compared with those of 200 x 31
TOLERANCE = 1e-9

# Takes rows and returns a call that scores them; what a peer wants done to the rows before is not timed.
Peer = Callable[[np.ndarray], Callable[[], Any]]


def main() -> None:
    """Train, check, time, report."""
    options, about = arguments(__doc__), versions()
    X, labels = data(60_000)
    n_training = 10_000 if options.quick else len(X)
    numba.set_num_threads(1)
    compiling = time.perf_counter()
    score_rows(Forest.of([]), X[:1])
    score_rows(Forest.of([]), X[:100])
    compiling = time.perf_counter() - compiling
    ratios, figures = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for n_leaves in (31, 255):
            n_trees = N_TREES // (8 if n_leaves > 31 else 2) if options.quick else N_TREES
            booster = train(X[:n_training], labels[:n_training], n_leaves, n_trees)
            forest = to_forest(booster)
            name = f"{forest.n_trees} x {n_leaves}"
            peers: dict[str, Peer] = {"LightGBM predict": partial(partial, booster.predict, num_threads=1)}
            if n_leaves == 31:
                small = forest
                peers |= compiled_peers(booster, Path(folder), figures)
            check(forest, peers, X)
            ratios += batches(name, forest, peers, X, n_leaves)
            ratios += single_rows(name, forest, booster, X)
            ratios += many_rows(name, forest, booster, X)
            figures |= own_figures(name, forest, X)
        for n_leaves, n_trees in OTHER_SHAPES:
            forest = to_forest(train(X[:n_training], labels[:n_training], n_leaves, n_trees))
            figures |= time_of_node(f"{n_trees} x {n_leaves}", forest, X)
        ratios += yggdrasil(X[: n_training // 10], labels[: n_training // 10], small, figures)
    report(ratios, {"machine": about, "compiled or read from cache, s": compiling, **figures}, options.output)


def data(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; a tenth of every seventh feature is missing."""
    X, labels, _ = generate(n_rows, 1)
    sparse = X[:, ::7]
    sparse[np.random.default_rng(2).random(sparse.shape) < 0.1] = np.nan
    return X, labels


def train(X: np.ndarray, labels: np.ndarray, n_leaves: int, n_trees: int) -> lightgbm.Booster:
    """Return a forest of full trees; which loss it was grown on is of no matter here."""
    parameters = {"objective": "regression", "num_leaves": n_leaves, "learning_rate": 0.1, "verbosity": -1}
    return lightgbm.train(parameters, lightgbm.Dataset(X, labels), n_trees)


def to_forest(booster: lightgbm.Booster) -> Forest:
    """Return LightGBM's trees as our record."""
    return Forest.of([_to_tree(info["tree_structure"]) for info in booster.dump_model()["tree_info"]])


def _to_tree(root: Mapping[str, Any]) -> Tree:
    nodes: list[tuple[int, float, bool, float]] = []
    children: list[tuple[int, int]] = []
    values: list[float] = []

    def add(part: Mapping[str, Any]) -> int:
        if "leaf_value" in part:
            values.append(part["leaf_value"])
            return ~(len(values) - 1)
        if part["decision_type"] != "<=" or part["missing_type"] == "Zero":
            raise SystemExit(
                f"bench_scoring: {part['decision_type']}, missing {part['missing_type']}: not in our trees"
            )
        number = len(nodes)
        nodes.append((part["split_feature"], part["threshold"], part["default_left"], part["split_gain"]))
        children.append((0, 0))
        children[number] = (add(part["left_child"]), add(part["right_child"]))
        return number

    add(root)
    feature, threshold, missing_left, gain = zip(*nodes, strict=True) if nodes else ((), (), (), ())
    left, right = zip(*children, strict=True) if children else ((), ())
    return Tree(
        np.array(feature, np.int32),
        _round_down(np.array(threshold, np.float64)),
        np.array(missing_left, np.bool_),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.array(gain, np.float64),
        np.array(values, np.float64),
    )


def _round_down(thresholds: Floats) -> np.ndarray:
    """Return the largest finite float32 that is not above the threshold: the same float32 values are <= it."""
    nearest = np.minimum(thresholds, np.finfo(np.float32).max).astype(np.float32)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def compiled_peers(booster: lightgbm.Booster, folder: Path, figures: dict[str, Any]) -> dict[str, Peer]:
    """Return the compilers of trees that are installed; the figures say which are missing or fail."""
    model = folder / "model.txt"
    booster.save_model(model)
    peers: dict[str, Peer] = {}
    for name, make in (("lleaves", _lleaves), ("tl2cgen", _tl2cgen)):
        if importlib.util.find_spec(name) is None:
            figures[name] = "not installed"
            continue
        start = time.perf_counter()
        try:
            peers[name] = make(model, folder)
        except Exception as error:  # a peer that does not run here is reported, whatever its reason
            figures[name] = f"fails: {type(error).__name__}: {str(error).splitlines()[0]}"
        else:
            figures[f"{name} compiles, s"] = time.perf_counter() - start
    return peers


def _lleaves(model: Path, folder: Path) -> Peer:
    import lleaves

    compiled = lleaves.Model(model_file=str(model))
    compiled.compile()
    return lambda rows: partial(compiled.predict, rows.astype(np.float64), n_jobs=1)


def _tl2cgen(model: Path, folder: Path) -> Peer:
    import tl2cgen
    import treelite

    if shutil.which("gcc") is None:
        raise FileNotFoundError("gcc")
    library = folder / "model.so"
    trees = treelite.frontend.load_lightgbm_model(str(model))
    tl2cgen.export_lib(trees, toolchain="gcc", libpath=str(library), params={"parallel_comp": 8})
    predictor = tl2cgen.Predictor(str(library), nthread=1)
    return lambda rows: partial(predictor.predict, tl2cgen.DMatrix(rows.astype(np.float64), dtype="float64"))


def check(forest: Forest, peers: Mapping[str, Peer], X: np.ndarray) -> None:
    """End the benchmark unless every peer gives our scores."""
    rows = X[:BATCH]
    ours = score_rows(forest, rows)
    for name, peer in peers.items():
        worst = float(np.abs(np.ravel(peer(rows)()) - ours).max())
        if not worst <= TOLERANCE:
            raise SystemExit(f"bench_scoring: {name} scores a row otherwise than we do, by {worst:g}")
    single = np.concatenate([score_rows(forest, rows[i : i + 1]) for i in range(BATCH)])
    if not np.array_equal(ours, single):
        raise SystemExit("bench_scoring: a row by itself has another score than in a batch")


def batches(name: str, forest: Forest, peers: Mapping[str, Peer], X: np.ndarray, n_leaves: int) -> list[dict[str, Any]]:
    """Time batches of 1,000 rows on one thread."""
    rows = np.ascontiguousarray(X[:BATCH])
    bars = {"LightGBM predict": 10.0 if n_leaves == 31 else 4.0, "lleaves": 2.5, "tl2cgen": 2.5}
    jobs: dict[str, Callable[[], Any]] = {"ours": lambda: score_rows(forest, rows)}
    jobs |= {name: peer(rows) for name, peer in peers.items()}
    times = seconds(jobs, REPEATS * 3)
    work = f"{name}, {BATCH:,} rows, 1 thread"
    return [ratio(work, peer, times["ours"], times[peer], bars[peer]) for peer in peers]


def single_rows(name: str, forest: Forest, booster: lightgbm.Booster, X: np.ndarray) -> list[dict[str, Any]]:
    """Time rows one by one; the figures are of one row."""
    rows = [np.ascontiguousarray(X[i : i + 1]) for i in range(SINGLES)]
    with FastSingleRow(booster, X.shape[1]) as fast:
        worst = max(abs(fast(row) - score_rows(forest, row)[0]) for row in rows)
        if worst > TOLERANCE:
            raise SystemExit(f"bench_scoring: LightGBM's fast call scores otherwise, by {worst:g}")
        times = seconds(
            {
                "ours": lambda: [score_rows(forest, row) for row in rows],
                "predict": lambda: [booster.predict(row, num_threads=1) for row in rows],
                "fast": lambda: [fast(row) for row in rows],
            },
            REPEATS,
        )
    one = {job: value / SINGLES for job, value in times.items()}
    work = f"{name}, one row"
    return [
        ratio(work, "LightGBM Booster.predict(row, num_threads=1)", one["ours"], one["predict"], 1.0),
        ratio(work, "LightGBM C call, ctypes", one["ours"], one["fast"]),
    ]


class FastSingleRow:
    """LightGBM's LGBM_BoosterPredictForMatSingleRowFast, prepared once."""

    def __init__(self, booster: lightgbm.Booster, n_features: int) -> None:
        self._library, self._handle = lightgbm.basic._LIB, ctypes.c_void_p()
        self._score, self._length = (ctypes.c_double * 1)(), ctypes.c_int64()
        self._library.LGBM_BoosterPredictForMatSingleRowFastInit(
            booster._handle, 0, 0, -1, 0, ctypes.c_int32(n_features), b"num_threads=1", ctypes.byref(self._handle)
        )

    def __enter__(self) -> FastSingleRow:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.LGBM_FastConfigFree(self._handle)

    def __call__(self, row: np.ndarray) -> float:
        position = ctypes.c_void_p(row.ctypes.data)
        self._library.LGBM_BoosterPredictForMatSingleRowFast(
            self._handle, position, ctypes.byref(self._length), self._score
        )
        return self._score[0]


def many_rows(name: str, forest: Forest, booster: lightgbm.Booster, X: np.ndarray) -> list[dict[str, Any]]:
    """Time 20,000 rows on two threads."""
    rows, threads = np.ascontiguousarray(X[:MANY]), min(2, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    score_rows(forest, rows)
    times = seconds(
        {
            "ours": lambda: score_rows(forest, rows),
            "predict": lambda: booster.predict(rows, num_threads=threads),
        },
        REPEATS,
    )
    numba.set_num_threads(1)
    work = f"{name}, {len(rows):,} rows, {threads} threads"
    return [ratio(work, "LightGBM predict", times["ours"], times["predict"])]


def own_figures(name: str, forest: Forest, X: np.ndarray) -> dict[str, float]:
    """Return what has no peer: batches of some sizes, in microseconds a row, and laying out the forest."""
    figures = {}
    for n in (1, 4, 8, 9, 64, 65, 100, 1000):
        jobs = {"ours": partial(score_rows, forest, np.ascontiguousarray(X[:n]))}
        figures[f"{name}, us a row, batch of {n:,}"] = seconds(jobs, 51)["ours"] / n * 1e6
    layout = seconds({"layout": lambda: bit_forest(forest)}, REPEATS)["layout"]
    return {**figures, **time_of_node(name, forest, X), f"{name}, laid out once, us": layout * 1e6}


def time_of_node(name: str, forest: Forest, X: np.ndarray) -> dict[str, float]:
    """Return the picoseconds of a row and a node of the forest, in a batch and on one thread."""
    jobs = {"ours": partial(score_rows, forest, np.ascontiguousarray(X[:BATCH]))}
    return {f"{name}, ps a row and node": 1e12 * seconds(jobs, 51)["ours"] / BATCH / len(forest.feature)}


def yggdrasil(X: np.ndarray, labels: np.ndarray, forest: Forest, figures: dict[str, Any]) -> list[dict[str, Any]]:
    """Time Yggdrasil's trees of up to 31 leaves, from Python and by its own benchmark."""
    if importlib.util.find_spec("ydf") is None:
        figures["ydf"] = "not installed"
        return []
    model = _train_yggdrasil(X, labels, forest.n_trees)
    figures["ydf trees"] = model.num_trees()
    figures["ydf leaves a tree"] = float(np.mean([_n_leaves(tree.root) for tree in model.iter_trees()]))
    figures["ydf engines"] = ", ".join(model.list_compatible_engines())
    given = np.ascontiguousarray(X[:BATCH])
    rows = _columns(given)
    jobs = {"ours": lambda: score_rows(forest, given), "python": lambda: model.predict(rows, num_threads=1)}
    times = seconds(jobs, REPEATS)
    # Its benchmark() runs by itself for a second each time; ours takes turns with it.
    inside: list[float] = []
    turns: list[float] = []
    for _ in range(5):
        turns.append(seconds({"ours": jobs["ours"]}, REPEATS * 3)["ours"])
        result = model.benchmark(rows | {"label": labels[:BATCH].astype(np.float32)}, 0.5, 0.2, BATCH, num_threads=1)
        inside.append(result.duration_per_example * BATCH)
    work = f"{forest.n_trees} x 31, {BATCH:,} rows, 1 thread"
    return [
        ratio(work, "Yggdrasil predict, own trees", times["ours"], times["python"]),
        ratio(work, "Yggdrasil benchmark(), own trees", float(np.median(turns)), float(np.median(inside)), 1.0),
    ]


def _train_yggdrasil(X: np.ndarray, labels: np.ndarray, n_trees: int) -> Any:
    import ydf

    ydf.verbose(0)
    learner = ydf.GradientBoostedTreesLearner(
        label="label",
        task=ydf.Task.REGRESSION,
        num_trees=n_trees,
        growing_strategy="BEST_FIRST_GLOBAL",
        max_num_nodes=31,
        max_depth=-1,
        validation_ratio=0.0,
        early_stopping="NONE",
        num_threads=2,
    )
    return learner.train(_columns(X) | {"label": labels.astype(np.float32)})


def _columns(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return the features by name, as Yggdrasil takes them."""
    return {f"f{number}": column for number, column in enumerate(np.ascontiguousarray(X.T))}


def _n_leaves(node: Any) -> int:
    return 1 if node.is_leaf else _n_leaves(node.neg_child) + _n_leaves(node.pos_child)


def versions() -> dict[str, str]:
    """Return the machine and the versions of what took part."""
    peers = [name for name in ("lleaves", "tl2cgen", "treelite", "ydf") if importlib.util.find_spec(name)]
    return machine("numpy", "numba", "llvmlite", "lightgbm", *peers)


if __name__ == "__main__":
    main()
