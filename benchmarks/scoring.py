"""Scores of trees beside LightGBM and compiled trees."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rerank
from benchmarks.data import generated
from benchmarks.measuring import Times, compared, times_in_turns
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

if TYPE_CHECKING:
    import lightgbm

BATCH, MANY, SINGLES, N_TREES = 1000, 20_000, 200, 200
TOLERANCE = 1e-9
SIZES = (1, 10, 100, 1000)  # rows of a batch


def train(X: np.ndarray, labels: np.ndarray, n_leaves: int, n_trees: int) -> lightgbm.Booster:
    """Return full trees; on which loss they were grown does not matter here."""
    import lightgbm

    settings = {"objective": "regression", "num_leaves": n_leaves, "learning_rate": 0.1, "verbosity": -1}
    return lightgbm.train(settings, lightgbm.Dataset(X, labels), n_trees)


@benchmark(
    data="generated, 136 features, a tenth of every seventh missing",
    peer="LightGBM; lleaves and tl2cgen where they are installed",
    needs=("lightgbm",),
)
def scoring(options: Options) -> Iterator[Row]:
    """Milliseconds of the same LightGBM trees, 200 of 31 and of 255 leaves, one thread; a batch, one row, many rows.

    All systems must give the same scores.
    """
    from rerank.runtime.threads import kernel_threads

    X, labels, _ = generated(60_000, 1)
    sparse = X[:, ::7]
    sparse[np.random.default_rng(2).random(sparse.shape) < 0.1] = np.nan
    n_rows = options.pick(len(X), 5000)
    for n_leaves in (31, 255):
        n_trees = options.trees or options.pick(N_TREES, 20)
        booster = train(X[:n_rows], labels[:n_rows], n_leaves, n_trees)
        with tempfile.TemporaryDirectory() as folder, kernel_threads(1):
            yield from _scored(f"{n_trees} x {n_leaves}", booster, X, Path(folder), options)
        model = rerank.import_model(booster).set_params(n_jobs=2)
        rows = np.ascontiguousarray(X[:MANY])
        jobs: dict[str, Callable[[], Any]] = {
            "rerank": partial(model.predict, rows),
            "LightGBM predict": partial(booster.predict, rows, num_threads=2),
        }
        yield from compared(
            f"{n_trees} x {n_leaves}, {MANY:,} rows, 2 threads", times_in_turns(jobs, _repeats(options))
        )


def _repeats(options: Options) -> int:
    return options.repeats or options.pick(7, 2)


def _scored(name: str, booster: lightgbm.Booster, X: np.ndarray, folder: Path, options: Options) -> Iterator[Row]:
    """Yield the times of a batch by each system, of one row, and of batches of several sizes."""
    from rerank.trees.score import score_rows

    forest, rows = rerank.import_model(booster).forest_, np.ascontiguousarray(X[:BATCH])
    jobs: dict[str, Callable[[], Any]] = {"rerank": lambda: score_rows(forest, rows)}
    jobs["LightGBM predict"] = lambda: booster.predict(rows, num_threads=1)
    if name.endswith(" 31"):
        jobs |= _compiled(booster, rows, folder)
    expected = score_rows(forest, rows)
    for system, job in jobs.items():
        worst = float(np.abs(np.ravel(job()) - expected).max())
        if not worst <= TOLERANCE:
            raise BenchmarkError(f"{system} scores a row otherwise than rerank, by {worst:g}")
    yield from compared(f"{name}, {BATCH:,} rows, 1 thread", times_in_turns(jobs, 3 * _repeats(options)))
    singles = [np.ascontiguousarray(X[number : number + 1]) for number in range(SINGLES)]
    with FastSingleRow(booster, X.shape[1]) as fast:
        each: dict[str, Callable[[np.ndarray], Any]] = {
            "rerank": partial(score_rows, forest),
            "Booster.predict(row, num_threads=1)": partial(booster.predict, num_threads=1),
            "LightGBM's C call for one row": fast,
        }
        jobs = {system: partial(_one_by_one, score, singles) for system, score in each.items()}
        yield from compared(f"{name}, one row", times_in_turns(jobs, _repeats(options)), SINGLES)
    for size, times in by_size(booster, X, _repeats(options)):
        yield from compared(f"{name}, {size:,} rows at once", times, BATCH)


def by_size(booster: lightgbm.Booster, X: np.ndarray, repeats: int) -> Iterator[tuple[int, dict[str, Times]]]:
    """Yield the times of this package and of LightGBM to score some rows, so many at once."""
    from rerank.trees.score import score_rows

    forest = rerank.import_model(booster).forest_
    for size in SIZES:
        parts = [np.ascontiguousarray(X[first : first + size]) for first in range(0, BATCH, size)]
        jobs = {
            "rerank": partial(_one_by_one, partial(score_rows, forest), parts),
            "LightGBM predict": partial(_one_by_one, partial(booster.predict, num_threads=1), parts),
        }
        yield size, times_in_turns(jobs, repeats)


def _one_by_one(score: Callable[[np.ndarray], Any], rows: list[np.ndarray]) -> None:
    for row in rows:
        score(row)


def _compiled(booster: lightgbm.Booster, rows: np.ndarray, folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the compilers of trees that are installed and run here: newer llvmlites lack what lleaves uses."""
    import llvmlite.binding

    model, wide = folder / "model.txt", rows.astype(np.float64)
    booster.save_model(model)
    jobs: dict[str, Callable[[], Any]] = {}
    if importlib.util.find_spec("lleaves") and hasattr(llvmlite.binding, "PassManagerBuilder"):
        import lleaves

        trees = lleaves.Model(model_file=str(model))
        trees.compile()
        jobs["lleaves"] = lambda: trees.predict(wide, n_jobs=1)
    if importlib.util.find_spec("tl2cgen") and shutil.which("gcc"):
        import tl2cgen
        import treelite

        library, loaded = str(folder / "model.so"), treelite.frontend.load_lightgbm_model(str(model))
        tl2cgen.export_lib(loaded, toolchain="gcc", libpath=library, params={"parallel_comp": 8})
        predictor, matrix = tl2cgen.Predictor(library, nthread=1), tl2cgen.DMatrix(wide, dtype="float64")
        jobs["tl2cgen"] = lambda: predictor.predict(matrix)
    return jobs


class FastSingleRow:
    """LightGBM's LGBM_BoosterPredictForMatSingleRowFast, prepared once."""

    def __init__(self, booster: lightgbm.Booster, n_features: int) -> None:
        import lightgbm

        self._library, self._handle = lightgbm.basic._LIB, ctypes.c_void_p()  # type: ignore[attr-defined]
        self._score, self._length = (ctypes.c_double * 1)(), ctypes.c_int64()
        self._library.LGBM_BoosterPredictForMatSingleRowFastInit(
            booster._handle, 0, 0, -1, 0, ctypes.c_int32(n_features), b"num_threads=1", ctypes.byref(self._handle)
        )

    def __enter__(self) -> FastSingleRow:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.LGBM_FastConfigFree(self._handle)

    def __call__(self, row: np.ndarray) -> float:
        """Return the score of a row."""
        place = ctypes.c_void_p(row.ctypes.data)
        self._library.LGBM_BoosterPredictForMatSingleRowFast(
            self._handle, place, ctypes.byref(self._length), self._score
        )
        return self._score[0]
