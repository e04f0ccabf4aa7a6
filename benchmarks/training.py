"""Time and memory of training: beside LightGBM and XGBoost, by stage, beyond memory, compiling."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import N_FEATURES, bm25_features, generated, generated_values, qid_of
from benchmarks.measuring import Usage, forget_peak, in_process, interval, memory, run_verb, save_figure
from benchmarks.registry import Options, Row, benchmark

ROWS = 223_531
GAIN = "nDCG(dcg='exp-log2')@10"
# parameters of each system beside the common ones
RERANK: dict[str, dict[str, Any]] = {
    "rerank": {},
    "rerank-sampled": {"data_sample_strategy": "mvs", "subsample": 0.1},
    "rerank-sampled-features": {"data_sample_strategy": "mvs", "subsample": 0.1, "colsample_bytree": 0.7},
}
LIGHTGBM: dict[str, dict[str, Any]] = {
    "lightgbm": {},
    "lightgbm-row-wise": {"force_row_wise": True},
    "lightgbm-quantised-16": {"use_quantized_grad": True, "num_grad_quant_bins": 16},
    "lightgbm-quantised-64": {"use_quantized_grad": True, "num_grad_quant_bins": 64},
    "lightgbm-sampled": {"data_sample_strategy": "goss"},
}
SYSTEMS = (*RERANK, *LIGHTGBM, "xgboost")
CURVE_ROWS, CURVE_SYSTEMS = (50_000, 100_000, ROWS, 500_000, 1_000_000), ("rerank", "lightgbm-row-wise", "xgboost")


def train(system: str, data: tuple[np.ndarray, ...], n_trees: int, threads: int) -> Callable[[np.ndarray], Any]:
    """Train one system on X, labels and group sizes; return what predicts."""
    X, labels, groups = data
    if system in RERANK:
        settings = {"n_estimators": n_trees, "min_child_weight": 1e-3, "n_jobs": threads, **RERANK[system]}
        return rerank.LambdaMART(metric=GAIN, **settings).fit(X, labels, qid=qid_of(groups)).predict
    if system in LIGHTGBM:
        import lightgbm

        settings = {"n_estimators": n_trees, "num_leaves": 31, "learning_rate": 0.1, "max_bin": 255, "verbosity": -1}
        ranker = lightgbm.LGBMRanker(**settings, n_jobs=threads, **LIGHTGBM[system])
        return ranker.fit(X, labels, group=groups).predict
    import xgboost

    rows = xgboost.QuantileDMatrix(X, labels, group=groups, max_bin=255, nthread=threads)
    settings = {"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31}
    settings |= {"max_depth": 0, "eta": 0.1, "max_bin": 255, "nthread": threads}
    booster = xgboost.train(settings, rows, n_trees)
    return lambda unseen: booster.predict(xgboost.DMatrix(unseen))


def train_once(system: str, n_rows: int, n_trees: int, threads: int) -> tuple[float, float, float, np.ndarray]:
    """Return seconds, processor seconds and MB added by a training, and nDCG@10 of each unseen query."""
    train(system, generated(2000, 3), 3, threads)  # loads libraries and kernels
    data = generated(n_rows, 0)
    resident, start, processor = forget_peak(), time.perf_counter(), time.process_time()
    predict = train(system, data, n_trees, threads)
    taken = time.perf_counter() - start, time.process_time() - processor, memory("VmHWM") - resident
    X, labels, groups = generated(max(n_rows // 5, 5000), 1)
    return *taken, generated_values(np.asarray(predict(X)), labels, groups)


def trainings(options: Options, systems: Sequence[str], n_rows: int) -> Iterator[Row]:
    """Yield the medians of each system; each training is in a process of its own, in turns, binning included."""
    n_trees, threads = options.trees or options.pick(200, 10), options.threads or os.cpu_count() or 1
    runs: dict[str, list[tuple[float, float, float, np.ndarray]]] = {system: [] for system in systems}
    for _ in range(options.n_repeats()):
        for system in systems:
            runs[system].append(in_process(train_once, system, n_rows, n_trees, threads).result)
    first = runs[systems[0]]
    reference, reference_values = statistics.median(run[0] for run in first), first[-1][3]
    for system, figures in runs.items():
        seconds, processor, added = (statistics.median(column) for column in list(zip(*figures, strict=True))[:3])
        row = {"system": system, "rows": n_rows, "s": seconds, "least": min(run[0] for run in figures)}
        row |= {"greatest": max(run[0] for run in figures), "times the first": seconds / reference}
        row |= {"processor s": processor, "MB added": added, "nDCG@10": figures[-1][3].mean()}
        low, high = interval(figures[-1][3] - reference_values)
        yield {**row, "from": low, "to": high}


def _rows(options: Options) -> int:
    return options.rows or options.pick(ROWS, 20_000)


@benchmark(
    data="generated, 223,531 x 136, of MSLR-WEB10K's shape", peer="LightGBM, XGBoost", needs=("lightgbm", "xgboost")
)
def training(options: Options) -> Iterator[Row]:
    """Seconds, memory and nDCG@10 on unseen queries of 200 trees of 31 leaves; the interval is that of the difference.

    Sampled systems grow each tree on rows drawn by their gradients: a tenth, or three tenths (LightGBM's GOSS).
    """
    yield from trainings(options, options.chosen(SYSTEMS), _rows(options))


def draw_curve(rows: list[Row], path: Path) -> None:
    """Draw seconds and memory against rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axis, key, label in zip(figure.subplots(1, 2), ("s", "MB added"), ("seconds", "MB added"), strict=True):
        for system in CURVE_SYSTEMS:
            points = [(row["rows"], row[key]) for row in rows if row["system"] == system]
            axis.plot(*zip(*points, strict=True), marker="o", label=system)
        axis.set(xlabel="rows", ylabel=label, xscale="log", yscale="log")
        axis.grid(alpha=0.3)
        axis.legend()
    save_figure(figure, path)


@benchmark(
    data="generated, 50,000 to 1,000,000 x 136",
    peer="LightGBM, XGBoost",
    needs=("lightgbm", "xgboost"),
    draw=draw_curve,
)
def training_curve(options: Options) -> Iterator[Row]:
    """Seconds and memory of training against the number of rows."""
    for n_rows in CURVE_ROWS[: options.pick(len(CURVE_ROWS), 2)]:
        yield from trainings(options, CURVE_SYSTEMS, n_rows)


@benchmark(data="generated, 1,000,000 x 136, in a file", peer="LightGBM, row-wise", needs=("lightgbm",))
def beyond_memory(options: Options) -> Iterator[Row]:
    """Training from a file of features in 4 GB, in memory, and by LightGBM, each in a process of its own."""
    n_rows, n_trees = options.rows or options.pick(1_000_000, 20_000), options.trees or options.pick(20, 3)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_rows(folder / "train.npz", n_rows)
        X, labels, groups = generated(options.pick(200_000, 5000), 10_000)
        for system in options.chosen(("rerank", "rerank-mapped", "lightgbm")):
            usage = in_process(train_from_file, system, folder, n_trees, options.threads or 2)
            seconds, times = usage.result
            tree = statistics.median(np.diff(times).tolist())
            quality = generated_values(stored_predict(system, folder)(X), labels, groups).mean()
            row = {"system": system, "rows": n_rows, "s": seconds, "first tree after": times[0] - tree}
            row |= {"ns a row and tree": 1e9 * tree / n_rows, "resident MB": usage.resident}
            yield {**row, "anonymous MB": usage.anonymous, "nDCG@10": quality}
        if not options.only:
            same = (folder / "rerank").read_bytes() == (folder / "rerank-mapped").read_bytes()
            yield {"models in memory and mapped": "equal" if same else "DIFFER"}


def write_rows(path: Path, n_rows: int) -> None:
    """Write training data part by part."""
    from rerank.files.data import write_data
    from rerank.runtime.mapped_rows import RowFile, row_blocks
    from rerank.types import pointers
    from rerank.types.ids import id_array

    labels, groups, rows = [], [], RowFile("the features")
    for part, first in enumerate(range(0, n_rows, 250_000)):
        X, part_labels, part_groups = generated(min(250_000, n_rows - first), part)
        rows.append(X)
        labels.append(part_labels)
        groups.append(part_groups)
    counts = np.concatenate(groups)
    data = rerank.RankingData(
        id_array([f"q{number:07d}" for number in range(len(counts))]),
        pointers(counts),
        np.char.add("d", np.arange(n_rows).astype(np.str_)),
        np.broadcast_to(np.float32(0), (n_rows, N_FEATURES)),
        tuple(f"f{number}" for number in range(N_FEATURES)),
        labels=np.concatenate(labels),
    )
    write_data(data, path, (block for _, block in row_blocks(rows.finish(N_FEATURES))))


def train_from_file(system: str, folder: Path, n_trees: int, threads: int) -> tuple[float, list[float]]:
    """Train from the file of a folder and write the model there; return seconds, and those after which trees ended."""
    times: list[float] = []
    start = time.perf_counter()
    data = rerank.read_data(folder / "train.npz", mapped=system == "rerank-mapped")

    def note(_: object) -> None:
        times.append(time.perf_counter() - start)

    if system == "lightgbm":
        import lightgbm

        ranker = lightgbm.LGBMRanker(n_estimators=n_trees, n_jobs=threads, verbosity=-1, force_row_wise=True)
        ranker.fit(data.X, data.labels, group=np.diff(data.query_ptr), callbacks=[note])
        ranker.booster_.save_model(folder / system)
    else:
        model = rerank.LambdaMART(metric=GAIN, n_estimators=n_trees, n_jobs=threads)
        memory = "4GB" if system == "rerank-mapped" else None
        model.fit(data, callbacks=[note], memory=memory).save(folder / system)
    return time.perf_counter() - start, times


def stored_predict(system: str, folder: Path) -> Callable[[np.ndarray], Any]:
    """Return what predicts with the model that a system wrote."""
    if system == "lightgbm":
        import lightgbm

        return lightgbm.Booster(model_file=folder / system).predict
    return rerank.read_model(folder / system).predict


@benchmark(data="cranfield, 100 queries with 1,000 candidates", peer="PlackettLuce")
def auto(options: Options) -> Iterator[Row]:
    """Seconds of Auto() and of one linear member on real features."""
    (data,) = bm25_features(options, "cranfield", "", k=1000)
    some, few = data.select(range(min(options.pick(100, 20), len(data)))), data.select(range(10))
    makes: dict[str, Callable[[], Any]] = {
        "PlackettLuce(C=0.01)": lambda: rerank.PlackettLuce(C=0.01, n_jobs=options.threads),
        "PlackettLuce(C=0.1)": lambda: rerank.PlackettLuce(C=0.1, n_jobs=options.threads),
        "Auto()": lambda: rerank.Auto(n_jobs=options.threads),
    }
    for name, make in makes.items():
        make().fit(few)  # compiles
        start, processor = time.perf_counter(), time.process_time()
        make().fit(some)
        row = {"ranker": name, "rows": some.n_rows, "features": some.n_features}
        yield {**row, "s": time.perf_counter() - start, "processor s": time.process_time() - processor}


@benchmark(data="500 generated documents")
def compiling(options: Options) -> Iterator[Row]:
    """Seconds of the first compile of kernels: of `rerank compile`, of commands, and in one process by subject."""
    with tempfile.TemporaryDirectory() as name:
        folder, random = Path(name), np.random.default_rng(0)
        verbs = [run_verb("compile", NUMBA_CACHE_DIR=str(folder / str(n))) for n in range(options.n_repeats())]
        yield {"work": "rerank compile", "s": statistics.median(usage.seconds for usage in verbs)}
        words = [f"word{number}" for number in range(200)]
        texts = [" ".join(random.choice(words, 30)) for _ in range(500)]
        files = {
            "docs.jsonl": [json.dumps({"id": f"d{number}", "contents": text}) for number, text in enumerate(texts)],
            "topics.tsv": [f"q{number}\t{' '.join(random.choice(words, 3))}" for number in range(60)],
            "qrels.txt": [
                f"q{query} 0 d{doc} {doc % 3}" for query in range(60) for doc in random.choice(500, 40, replace=False)
            ],
        }
        for file, lines in files.items():
            (folder / file).write_text("\n".join(lines) + "\n")
        for line in (
            "index docs.jsonl -o index",
            "retrieve index topics.tsv -o bm25.run",
            "features index topics.tsv bm25.run --qrels qrels.txt -o data.npz",
        ):
            run_verb(*line.split(), folder=folder)
        for line in (
            "train data.npz -o model.json",
            "rerank index model.json topics.tsv -o better.run",
            "experiment index topics.tsv qrels.txt --candidates bm25 --base run -o study",
        ):
            verb = line.partition(" ")[0]
            first, second = (_with_cache(folder, verb, line) for _ in range(2))
            yield {"work": f"first {verb}, s more than the second", "s": first.seconds - second.seconds}
    for subject in (compile_training, compile_features):
        kernels = Counter(in_process(subject).result)
        yield {"work": f"{subject.__name__.replace('_', ' ')}, one process", "s": kernels.total()}
        yield from ({"work": f"of it {kernel}", "s": seconds} for kernel, seconds in kernels.most_common(6))


def _with_cache(folder: Path, verb: str, line: str) -> Usage:
    shutil.rmtree(folder / "study", ignore_errors=True)
    return run_verb(*line.split(), folder=folder, NUMBA_CACHE_DIR=str(folder / f"kernels-{verb}"))


def compile_training() -> dict[str, float]:
    """Return the compiler's seconds of each kernel of LambdaMART: cold, and warm with early stopping; scores."""
    with empty_cache() as kernels:
        random = np.random.default_rng(0)
        X = random.normal(size=(6000, 20)).astype(np.float32)
        labels, qid = random.integers(0, 3, 6000), np.repeat(np.arange(100), 60)
        model = rerank.LambdaMART(n_estimators=3).fit(X, labels, qid=qid)
        model.predict(X)
        model.predict(X[:1])
        held_out: dict[str, Any] = {"eval_set": (X, labels, qid), "eval_init_score": X[:, 0]}
        rerank.LambdaMART(n_estimators=3).fit(X, labels, qid=qid, init_score=X[:, 0], **held_out)
        return kernels()


def compile_features() -> dict[str, float]:
    """Return the compiler's seconds of each kernel of an index and of every family of features."""
    from itertools import product

    words = ("ranking", "queries", "documents", "indexes", "learning", "trees", "gradients", "measures")
    texts = [" ".join(three) for three in product(words, repeat=3)]
    with empty_cache() as kernels, tempfile.TemporaryDirectory() as folder:
        from rerank.features.family import index_family_names

        documents = ({"id": f"d{number}", "contents": text} for number, text in enumerate(texts))
        with rerank.Index.build(documents, Path(folder) / "index", vectors=False) as index:
            topics = {f"q{number}": text for number, text in enumerate(texts[:20])}
            recipe = rerank.Recipe(families=index_family_names())
            index.features(index.search(topics, 50), topics, recipe=recipe)
        return kernels()


@contextmanager
def empty_cache() -> Iterator[Callable[[], dict[str, float]]]:
    """Compile into an empty cache; yield a function that returns the compiler's seconds of each kernel.

    The block has to begin before a module with kernels is imported.
    """
    import numba
    from numba.core import event

    seconds: Counter[str] = Counter()
    waiting: list[list[Any]] = []

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            waiting.append([event.data["dispatcher"].py_func, time.perf_counter(), 0.0])

        def on_end(self, event: Any) -> None:
            function, start, inner = waiting.pop()
            took = time.perf_counter() - start
            seconds[f"{function.__module__}.{function.__name__}"] += took - inner
            if waiting:  # what is compiled inside a caller counts for itself only
                waiting[-1][2] += took

    with tempfile.TemporaryDirectory() as folder, event.install_listener("numba:compile", Listener()):
        numba.config.CACHE_DIR = folder  # type: ignore[attr-defined]
        yield lambda: dict(seconds)
